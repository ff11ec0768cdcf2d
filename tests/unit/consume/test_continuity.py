"""A change that is missing between others is found, and nothing is found where nothing is missing."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.invariants import Finding
from ticdc_emit.consume.verify import Verifier, verify
from ticdc_emit.delivery.base import Message
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.traffic.history import History

CREATE = "CREATE TABLE s.t (id INT PRIMARY KEY, v VARCHAR(9), w INT)"
ROW = "INSERT INTO s.t VALUES (1, 'a', 1)"
FIRST, SECOND, THIRD = (f"UPDATE s.t SET v = '{text}' WHERE id = 1" for text in "bcd")
DELETE = "DELETE FROM s.t WHERE id = 1"
CANAL = "canal-json&enable-tidb-extension=true"
OTHERS = (
    "simple",
    "simple&encoding-format=avro",
    "debezium&enable-tidb-extension=true",
    "open-protocol&max-batch-size=1",
)


def sent(*statements: str, protocol: str = CANAL, partitions: int = 1, schema: str = "CREATE DATABASE s",
         **document: Any) -> tuple[list[Message], Any, Any]:  # fmt: skip
    config = load_changefeed(f"memory://t?protocol={protocol}&partition-num={partitions}", document,
                             own_registry=True)  # fmt: skip
    registry = MemoryRegistry()
    messages = History.from_sql(";".join(statements), schema=schema).messages(
        config, registry=registry, watermark_interval=60
    )
    return messages, config, {post.id: post.schema for post in registry.posts}


def rows(messages: list[Message]) -> list[int]:
    """Return the places of Canal-JSON's row changes."""
    return [at for at, each in enumerate(messages) if b'"type":"TIDB_WATERMARK"' not in (each.value or b"")
            and b'"isDdl":false' in (each.value or b"")]  # fmt: skip


def without(at: int, messages: list[Message], config: Any, **options: Any) -> list[Finding]:
    """Remove a row's message, and number the others anew."""
    left = [each for place, each in enumerate(messages) if place != rows(messages)[at]]
    ends: dict[int, int] = {}
    arrived = []
    for each in left:
        ends[each.partition] = ends.get(each.partition, -1) + 1
        arrived.append(each._replace(offset=ends[each.partition]))
    return verify(arrived, config, **options)


@pytest.mark.parametrize(
    ("statements", "at", "text"),
    [
        ((CREATE, ROW, FIRST, SECOND), 1, "the row before it is not the row after"),
        ((CREATE, ROW, FIRST, DELETE), 1, "the row before it is not the row after"),
        ((CREATE, ROW, FIRST), 0, "the key's first change is an UPDATE"),
        ((CREATE, ROW, DELETE), 0, "the key's first change is a DELETE"),
        ((CREATE, ROW, FIRST, DELETE, ROW), 2, "an INSERT of a key that is there"),
        ((CREATE, ROW, DELETE, ROW, FIRST), 2, "an UPDATE of a key that is gone"),
        ((CREATE, ROW, DELETE, ROW, DELETE), 2, "a DELETE of a key that is gone"),
        ((CREATE, ROW, FIRST, "ALTER TABLE s.t ADD COLUMN x INT DEFAULT 1", SECOND), 1, "in v"),
        ((CREATE, ROW, FIRST, "ALTER TABLE s.t ADD INDEX i (v)", SECOND), 1, "in v"),
        ((CREATE, ROW, "TRUNCATE TABLE s.t", ROW, FIRST, SECOND), 2, "in v"),
        ((CREATE, ROW, DELETE, "TRUNCATE s.t", ROW, FIRST), 2, "first change is an UPDATE, though its table was empty"),
        ((CREATE, ROW, "UPDATE s.t SET id = 2", "UPDATE s.t SET v = 'z'", "DELETE FROM s.t"), 3, "in v"),
    ],
)
def test_a_missing_change_is_found(statements: tuple[str, ...], at: int, text: str) -> None:
    messages, config, _ = sent(*statements)
    assert verify(messages, config) == []
    (finding,) = without(at, messages, config)
    assert finding.invariant == "continuity"
    assert text in finding.text
    assert finding.table == "s.t"


@pytest.mark.parametrize(
    ("statements", "at", "why"),
    [
        ((CREATE, ROW, FIRST), 1, "the last change of its key"),
        ((CREATE, ROW, FIRST, "ALTER TABLE s.t MODIFY COLUMN v VARCHAR(20)", SECOND), 1, "MODIFY names the column"),
        ((CREATE, ROW, DELETE, "TRUNCATE TABLE s.t", ROW, FIRST), 1, "TRUNCATE removes the row"),
        ((CREATE, "ALTER TABLE s.t ADD COLUMN id2 INT AFTER id", ROW.replace("VALUES", "(id, v, w) VALUES"), FIRST), 0,
         "the statement names the key"),
    ],
)  # fmt: skip
def test_what_the_messages_cannot_show_is_no_finding(statements: tuple[str, ...], at: int, why: str) -> None:
    messages, config, _ = sent(*statements)
    assert verify(messages, config) == [] == without(at, messages, config), why


@pytest.mark.parametrize("protocol", [CANAL, *OTHERS, f"{CANAL}&only-output-updated-columns=true"])
@pytest.mark.parametrize("dispatch", ["ts", "index-value"])
def test_each_protocol_with_old_values_shows_it(protocol: str, dispatch: str) -> None:
    sink = {"dispatchers": [{"matcher": ["*.*"], "partition": dispatch}]}
    messages, config, _ = sent(CREATE, ROW, FIRST, SECOND, THIRD, protocol=protocol, partitions=3, sink=sink)
    assert verify(messages, config, partitions=3) == []
    verifier, missing = Verifier(config), first_update(messages, config)
    verifier.see_all(each for each in messages if each is not missing)
    found = {each.invariant for each in verifier.finish(3)}
    assert "continuity" in found
    assert found <= {"continuity", "offsets"}


def first_update(messages: list[Message], config: Any) -> Message:
    found: list[tuple[Any, Message]] = []

    def watch(message: Message, seen: Any) -> None:
        if seen is not None and seen.row is not None and seen.row.op == "update":
            found.append((seen.row.commit_ts, message))

    Verifier(config, watch=watch).see_all(messages)
    return min(found)[1]


@pytest.mark.parametrize(
    "ddl", ["MODIFY v CHAR(9)", "DROP COLUMN w; ALTER TABLE s.t ADD COLUMN w INT DEFAULT 5", "a loss"]
)
def test_a_statement_that_is_not_sent_looks_like_a_loss(ddl: str) -> None:
    """The schema in the registry is the same."""
    sink = {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}
    between = FIRST if ddl == "a loss" else f"ALTER TABLE s.t {ddl}"
    messages, config, schemas = sent(CREATE, ROW.replace("'a'", "'a '"), between, SECOND, sink=sink,
                                     protocol="debezium-avro", **{"ticdc-emit": {"release": "next"}})  # fmt: skip
    verifier = Verifier(config, schemas=schemas)
    verifier.see_all((messages[0], messages[-1]._replace(offset=1)))
    assert verifier.finish() == []
    assert "changes or DDL before 1 change from s_t/0@1 on" in verifier.proof().not_shown[0]


def test_the_oldest_messages_may_be_gone() -> None:
    messages, config, _ = sent(CREATE, ROW, FIRST, SECOND, THIRD)
    verifier = Verifier(config)
    verifier.see_all(messages[rows(messages)[1] :])
    assert verifier.finish() == []
    proof = verifier.proof()
    assert "messages of ticdc/0 before offset" in proof.not_shown[0]
    assert "2 changes that continue the last one of their key" in proof.proved


def test_the_offsets_show_a_gap() -> None:
    messages, config, _ = sent(CREATE, ROW, FIRST)
    gap = [*messages[: rows(messages)[-1]], *messages[rows(messages)[-1] + 1 :]]
    (finding,) = verify(gap, config)
    assert (finding.invariant, finding.offset) == ("offsets", messages[rows(messages)[-1]].offset + 1)


def test_tables_may_be_told_to_begin_empty() -> None:
    messages, config, _ = sent(ROW, FIRST, schema=f"CREATE DATABASE s;{CREATE}")
    for empty, expected in ((False, []), (True, ["continuity"])):
        verifier = Verifier(config, empty_source=empty)
        at = rows(messages)[0]
        verifier.see_all(
            each._replace(offset=place) for place, each in enumerate([*messages[:at], *messages[at + 1 :]])
        )
        assert [each.invariant for each in verifier.finish()] == expected


@pytest.mark.parametrize(
    "document", [{"filter": {"event-filters": [{"matcher": ["s.*"], "ignore-event": ["update"]}]}}, {"bdr-mode": True}]
)
def test_a_changefeed_that_leaves_changes_out_is_not_judged(document: dict[str, Any]) -> None:
    messages, _, _ = sent(CREATE, ROW, FIRST, SECOND)
    config = load_changefeed(f"memory://t?protocol={CANAL}&partition-num=1", document)
    assert without(1, messages, config) == []


@pytest.mark.parametrize(("wrong", "column"), [("old", "u"), ("data", "v")])
def test_another_name_of_a_column_is_found(wrong: str, column: str) -> None:
    messages, config, _ = sent(CREATE, ROW, FIRST, SECOND)
    head, start, rest = (messages[at := rows(messages)[1]].value or b"").partition(f'"{wrong}":'.encode())
    messages[at] = messages[at]._replace(value=head + start + rest.replace(b'"v"', b'"u"', 1))
    assert [each.text[-5:] for each in verify(messages, config)] == [f" in {column}"]


def test_a_transaction_deletes_a_key_before_it_inserts_it() -> None:
    row, commit = {"id": "1", "v": "a", "w": "1"}, 446710992338944000
    changes = [{"schema": "s", "table": "t", "op": op, "commit_ts": commit + (at > 0), "seq": at, image: row}
               for at, (op, image) in enumerate((("c", "after"), ("d", "before"), ("c", "after")))]  # fmt: skip
    config = load_changefeed(f"memory://t?protocol={CANAL}&partition-num=1")
    first, delete, insert, *_ = History(f"CREATE DATABASE s;{CREATE}", changes).messages(config)
    assert verify([first, delete, insert], config) == []
    swapped = [first, insert._replace(offset=1), delete._replace(offset=2)]
    assert {each.invariant for each in verify(swapped, config)} == {"key-order"}


def test_a_shared_millisecond_has_no_order() -> None:
    moment = "/* ticdc-emit: commit_ts=446710992338944000 */ "
    messages, config, _ = sent(CREATE, moment + ROW, moment.replace("0 */", "1 */") + DELETE, protocol="canal-json")
    assert verify(messages, config) == []
    table = {"schema": "s", "table": "t"}
    commit = 1_700_000_000_000 << 18
    images = [{"id": "1", "v": text, "w": "1"} for text in ("a", "b", "a", "b", "c")]
    changes = [{**table, "op": "c", "commit_ts": commit, "before": None, "after": images[0]}]
    for at in range(1, 5):  # the third update is the first one again, and the fourth a millisecond later
        stamp = commit + (at if at < 4 else 1 << 18)
        changes.append({**table, "op": "u", "commit_ts": stamp, "before": images[at - 1], "after": images[at]})
    config = load_changefeed("memory://t/t?protocol=canal-json")
    assert verify(History(f"CREATE DATABASE s;{CREATE}", changes).messages(config), config) == []
