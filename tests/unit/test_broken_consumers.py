"""The pages' tests of consumers find broken consumers: each page's own code, with one line changed, must fail.

A :class:`Mutation` changes the text of a page's Python blocks. They run in order, and the block that the mutation names
must fail as it says; the page's own text must not.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import fastavro
import pytest
from documented import Block, blocks_of, text_of
from hypothesis import Phase, settings
from hypothesis_profiles import load_profile

from ticdc_emit import History, scenario
from ticdc_emit.registry.base import MemoryRegistry

TUTORIAL, TESTING = "docs/tutorial.md", "docs/testing.md"
OPEN_PROTOCOL = "docs/cookbook.md#open-protocol"
PAGE_TESTS = {
    TUTORIAL: ("tables_of(FirstTry(), messages)", "class Consumer(FirstTry)", "def my_tables", "@given",
               "swap = ", "EmbeddedKafka("),
    TESTING: ("def my_tables", "def tables_of"),
    OPEN_PROTOCOL: ("def frames",),
    "README.md": ("def my_tables",),
}  # fmt: skip
"""The blocks that test a consumer, each by a text that no other block of its page has."""


@dataclass(frozen=True)
class Mutation:
    """``changed``: texts of the page, and what replaces each. ``block``: the test that must fail, by a text in it.
    ``message``: what it fails with, as a regular expression; "" if the test cannot find the bug, as the page says.
    """

    name: str
    page: str
    block: str
    changed: tuple[tuple[str, str], ...]
    message: str


_NOT_EQUAL = "^AssertionError.*(Falsifying example|Failing test case): "
_FIRST_TRY = ("tables_of(Consumer(), messages)", "tables_of(FirstTry(), messages)")
_ONE_PARTITION = ('"partition-num=4"', '"partition-num=1"')
_OLDER_ONLY = ('["commitTs"] < self', '["commitTs"] <= self')
_KEEPS_FIRST = ("rows[key] = row", "rows.setdefault(key, row)")
_FORGETS = ('self.newest[table, key] = change["_tidb"]["commitTs"]', "self.newest[table, key] = 0")
_NO_DELETES = ("rows.pop(key, None)", "pass")
_ONE_READ = ("consumer.take_all(messages)", "consumer.take_all(each for each in messages if each.partition == 0)")
_NULL_IS_EMPTY = (
    "return consumer.tables",
    "return {name: {key: {each: text or '' for each, text in row.items()} for key, row in rows.items()}"
    " for name, rows in consumer.tables.items()}",
)
_LAST_LOST = (
    "consumer.take_all(messages)",
    "consumer.take_all([each for each in messages if b'WATERMARK' not in each.value][:-1])",
)

MUTATIONS = (
    Mutation("FirstTry", TUTORIAL, "class Consumer(FirstTry)",
             (("tables_of(Consumer(), case", "tables_of(FirstTry(), case"),), "scans is '2', must be '3'"),
    Mutation("FirstTry", TUTORIAL, "def my_tables",
             (("tables_of(Consumer(), arrival", "tables_of(FirstTry(), arrival"),),
             "wandering-key shop.parcels 1: region is 'south', must be 'america'"),
    Mutation("FirstTry", TUTORIAL, "@given", (_FIRST_TRY,), _NOT_EQUAL),
    Mutation("FirstTry, in one partition", TUTORIAL, "@given", (_FIRST_TRY, _ONE_PARTITION), ""),
    *(Mutation("<= for <", TUTORIAL, test, (_OLDER_ONLY,), "")
      for test in ("class Consumer(FirstTry)", "def my_tables", "@given")),
    Mutation("<= for <", TUTORIAL, "swap = ", (_OLDER_ONLY,), "^printed False"),
    Mutation("keeps the first row of a key", TUTORIAL, "tables_of(FirstTry(), messages)", (_KEEPS_FIRST,),
             "^printed False"),
    Mutation("keeps the first row of a key", TUTORIAL, "@given", (_KEEPS_FIRST,), _NOT_EQUAL),
    Mutation("forgets commit times", TUTORIAL, "class Consumer(FirstTry)", (_FORGETS,),
             "scans is '2', must be '3'"),
    Mutation("forgets commit times", TUTORIAL, "@given", (_FORGETS,), _NOT_EQUAL),
    Mutation("ignores deletes", TUTORIAL, "@given", (_NO_DELETES,), _NOT_EQUAL),
    Mutation("keeps the first row of a key", TUTORIAL, "EmbeddedKafka(", (_KEEPS_FIRST,), "^printed True.*must be"),
    *(Mutation(name, page, block, (change,), _NOT_EQUAL)
      for page, block in (("README.md", "def my_tables"), (TESTING, "def tables_of"))
      for name, change in (("reads one partition", _ONE_READ), ("NULL is an empty text", _NULL_IS_EMPTY),
                           ("loses the last row", _LAST_LOST))),
    Mutation("reads one partition", TESTING, "def my_tables",
             (("take_all(arrival", "take_all(each for each in arrival"),
              ("messages)\n    consumer.finish", "messages if each.partition == 0)\n    consumer.finish")),
             "the row is missing"),
    Mutation("drops repetitions of equal bytes", TESTING, "def my_tables",
             (("take_all(arrival.messages)", "take_all({each.value: each for each in arrival.messages}.values())"),),
             "^AssertionError"),
    Mutation("NULL is an empty text", TESTING, "def my_tables", (_NULL_IS_EMPTY,), "takes NULL for an empty text"),
    Mutation("key without its version", OPEN_PROTOCOL, "def frames", (("frames(key, 8)", "frames(key)"),),
             "^(JSONDecodeError|ValueError)"),
    Mutation("one row of each message", OPEN_PROTOCOL, "def frames",
             (("in events(key, value):", "in list(events(key, value))[:1]:"),), "'total': '9.90'"),
    Mutation("TEXT without base64", OPEN_PROTOCOL, "def frames", (("base64.b64decode(value)", "value.encode()"),),
             "'note': 'bsOp'"),
    Mutation("BLOB for TEXT", OPEN_PROTOCOL, "def frames", (('& BINARY', '& 64'),), r"'note': b'n\\xc3\\xa9'"),
    Mutation("ignores deletes", OPEN_PROTOCOL, "def frames", (("rows.pop(handle, None)", "pass"),), r"\(2,\):"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _without_shrinking() -> Iterator[None]:
    """Let Hypothesis stop at the first history that fails: making it small takes most of the time."""
    settings.register_profile("first failure", settings.get_profile("fixed"), phases=[Phase.generate])
    settings.load_profile("first failure")
    yield
    load_profile()


def outcome(page: str, block: str, changed: tuple[tuple[str, str], ...] = ()) -> str:
    """Return how a block fails in a page with changed texts, "" if it does not; the blocks before it may fail, too."""
    blocks = [each for each in blocks_of(page) if each.language == "python"]
    (last,) = (place for place, each in enumerate(blocks) if block in each.code)
    needed = blocks[last:] if page == "README.md" else blocks[: last + 1]
    codes = [each.code for each in needed]
    for old, new in changed:
        assert any(old in code for code in codes), f"{page} has no {old!r} any more"
        codes = [code.replace(old, new) for code in codes]
    names: dict[str, object] = {"__name__": page}
    message = ""
    for each, code in zip(needed, codes, strict=True):
        if each is blocks[last] or "verdict = check(" not in code:
            message = _run(each, code, names)
        if each is blocks[last]:
            break
    return message


def _run(block: Block, code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(code, block.place, "exec"), names)
    except Exception as fault:
        notes = " ".join(getattr(fault, "__notes__", ()))
        return f"{type(fault).__name__}: {fault} {notes}"
    return "" if block.printed in (None, printed.getvalue()) else f"printed {printed.getvalue()}"


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: f"{Path(each.page).name}: {each.name}, {each.block}")
def test_a_broken_consumer_fails_where_the_page_tests_it(mutation: Mutation) -> None:
    message = outcome(mutation.page, mutation.block, mutation.changed)
    assert bool(message) is bool(mutation.message), message
    assert re.search(mutation.message, message, re.DOTALL), message


@pytest.mark.parametrize(("page", "block"), [(page, block) for page, tests in PAGE_TESTS.items() for block in tests])
def test_the_consumer_of_the_page_passes_and_a_broken_one_does_not(page: str, block: str) -> None:
    assert outcome(page, block) == ""
    assert any(each.message for each in MUTATIONS if (each.page, each.block) == (page, block))


@pytest.mark.parametrize(
    ("name", "message"),
    [("wandering-key", "scans is '2', must be '3'"), ("added-default", "the column priority is missing")],
)
def test_the_parser_of_open_protocol_lacks_what_its_page_says(name: str, message: str) -> None:
    (block,) = (each for each in blocks_of(OPEN_PROTOCOL) if each.language == "python")
    names: dict[str, Any] = {}
    assert _run(block, block.code, names) == ""
    case, tables = scenario(name, protocol="open-protocol", seed=7), dict[Any, Any]()
    for each in case.messages:
        names["apply"](tables, each.key, each.value)
    texts = {table: [{column: None if value is None else str(value) for column, value in row.items()}
                     for row in rows.values()] for table, rows in tables.items()}  # fmt: skip
    assert message in " ".join(str(each) for each in case.check(texts))


@pytest.mark.parametrize(("mode", "message"), [("precise", "No default value for field"), ("string", "")])
def test_an_added_decimal_stops_a_reader_of_avro_as_its_page_says(mode: str, message: str) -> None:
    page = " ".join(text_of("docs/cookbook.md#confluent").split())
    assert f"An added DECIMAL that is NOT NULL** stops this reader: `{message}" in page or not message
    assert "Set `avro-decimal-handling-mode=string` in the sink URI" in page
    start, place = 450_000_000_262_144_000, {"schema": "shop", "table": "orders"}
    after = [{"id": "1"}, {"id": "2", "price": "9.90"}]
    rows = [{**place, "op": "insert", "commit_ts": start + 2 * step, "after": row} for step, row in enumerate(after)]
    ddl = ((start + 1, "alter table shop.orders add column price decimal(5,2) not null default 1"),)
    sink = {"schema-registry": "http://a", "dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}
    registry = MemoryRegistry()
    sent = History("create table shop.orders (id int primary key)", rows, ddl).messages(
        f"memory://any?protocol=avro&avro-decimal-handling-mode={mode}", changefeed={"sink": sink}, registry=registry
    )
    texts = {post.id: post.schema for post in registry.posts}
    values = [each.value for each in sent if each.value]
    schemas = [fastavro.parse_schema(json.loads(texts[int.from_bytes(value[1:5], "big")])) for value in values]
    old = io.BytesIO(values[0][5:])
    if message:
        with pytest.raises(Exception, match=message):
            fastavro.schemaless_reader(old, *schemas)
    else:
        assert fastavro.schemaless_reader(old, *schemas) == {"id": 1, "price": "1"}
