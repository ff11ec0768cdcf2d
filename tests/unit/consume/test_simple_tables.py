"""The reference consumer of Simple knows tables from messages alone, wherever it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pytest
from recorded import recorded

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.config import Protocol
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols import codec_for
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.traffic.history import History

URI = "memory://t?protocol=simple&partition-num=1"
AT = 450_000_000_262_144_000
TABLE = "create table d.t (id int primary key, a int, v int as (a + 1) virtual, unique (v))"
Sent = list[tuple[bytes | None, bytes | None]]


def sent(*steps: Any, base: str = "create database d") -> tuple[Encoder, list[Sent]]:
    """Return what each step sends: SQL, or (table, op, before, after); one commit each."""
    encoder = Encoder(URI, base, force_replicate=True)
    found = []
    for number, step in enumerate(steps):
        stamp = AT + number
        if isinstance(step, str):
            batch = encoder.ddl(step, stamp)
        else:
            table, op, before, after = step
            change = {"op": op, "commit_ts": stamp, "before": before, "after": after}
            batch = encoder.encode([change], table=table)
        found.append([(message["key"], message["value"]) for message in batch.to_pylist()])
    return encoder, found


def bootstrap(encoder: Encoder) -> Sent:
    made = [codec_for(encoder.config).bootstrap(info, 1) for info in encoder.catalog.tables()]
    return [(message.key, message.value) for message in made if message is not None]


def consumer_of(parts: Iterable[Sent], **options: Any) -> ReferenceConsumer:
    consumer = ReferenceConsumer(URI, **options)
    for part in parts:
        for key, value in part:
            consumer.take(Message("t", 0, 0, key, value))
    consumer.finish()
    return consumer


def row(number: int, a: int | None = 5, **more: Any) -> dict[str, Any]:
    return {"id": number, "a": a, "v": None if a is None else a + 1, **more}


def insert(number: int, table: str = "d.t", **more: Any) -> tuple[Any, ...]:
    return table, "c", None, row(number, **more)


def update(number: int, before: Any, after: Any, table: str = "d.t", **more: Any) -> tuple[Any, ...]:
    return table, "u", row(number, before, **more), row(number, after, **more)


def texts(consumer: ReferenceConsumer) -> dict[str, list[tuple[str | None, ...]]]:
    return {f"{schema}.{table}": [*map(_values, rows.values())] for (schema, table), rows in consumer.tables.items()}


def _values(image: dict[str, str | None]) -> tuple[str | None, ...]:
    return tuple(value for name, value in image.items() if name != "v")


def test_from_the_beginning_without_a_catalog() -> None:
    _, steps = sent(TABLE, insert(1), insert(2), update(1, 5, 6))
    assert texts(consumer_of(steps)) == {"d.t": [("1", "6"), ("2", "5")]}


def test_rows_of_a_version_that_no_message_has_shown_are_skipped() -> None:
    encoder, steps = sent(TABLE, insert(1), "alter table d.t add column b int", insert(2, b=7))
    later = consumer_of(steps[3:])
    assert (later.tables, later.skipped) == ({}, 1)
    shown = consumer_of([bootstrap(encoder), steps[3]])
    assert (texts(shown), shown.skipped) == ({"d.t": [("2", "5", "7")]}, 0)
    waited = consumer_of([steps[3], bootstrap(encoder)])
    assert (texts(waited), waited.skipped) == ({"d.t": [("2", "5", "7")]}, 0), "rows wait for their schema"
    old = consumer_of([bootstrap(encoder), steps[1]])
    assert (old.tables, old.skipped) == ({}, 1)


@pytest.mark.parametrize(
    ("statement", "name", "image"),
    [
        ("alter table d.t add column b varchar(3) default 'x'", "d.t", ("1", "5", "x")),
        ("alter table d.t rename column id to number", "d.t", ("1", "5")),
        ("alter table d.t modify a varchar(9)", "d.t", ("1", "5")),
        ("rename table d.t to d.u", "d.u", ("1", "5")),
        ("rename table d.t to e.t", "e.t", ("1", "5")),
    ],
)
def test_statements_from_the_middle(statement: str, name: str, image: tuple[str, ...]) -> None:
    table = "create table d.t (id int primary key, a int)"
    first = ("d.t", "c", None, {"id": 1, "a": 5})
    encoder, (_, shown, *_) = sent(table, first, base="create database d; create database e")
    known = bootstrap(encoder)
    _, (_, _, altered) = sent(table, first, statement, base="create database d; create database e")
    consumer = consumer_of([known, shown, altered])
    assert (texts(consumer), consumer.skipped) == ({name: [image]}, 0)
    assert name in texts(consumer_of([altered])), "the statement alone shows the table before it"


@pytest.mark.parametrize("statement", ["truncate table d.t", "drop table d.t", "drop database d"])
def test_what_is_gone(statement: str) -> None:
    _, steps = sent(TABLE, insert(1), statement)
    left = texts(consumer_of(steps))
    assert left == ({"d.t": []} if "truncate" in statement else {})
    assert texts(consumer_of(steps[2:])) == left


def test_tables_without_a_key_are_multisets_from_the_middle_too() -> None:
    table = "create table d.t (a int, b int)"
    same = {"a": 1, "b": None}
    encoder, steps = sent(table, *[("d.t", "c", None, same)] * 3, ("d.t", "d", same, None))
    consumer = consumer_of([bootstrap(encoder), *steps[1:], *steps[1:]])
    assert texts(consumer) == {"d.t": [("1", None)] * 2}
    assert consumer.duplicates == 4


PARTS = "create table d.t (id int primary key, a int) partition by range (id) (partition p values less than (9))"


def test_partitions_that_messages_do_not_show() -> None:
    more = "alter table d.t add partition (partition q values less than (19))"
    rows = [("d.t", "c", None, {"id": 1, "a": 5}), ("d.t", "c", None, {"id": 11, "a": 6})]
    encoder, _ = sent(PARTS)
    known = bootstrap(encoder)
    _, (_, first, added, second, emptied) = sent(PARTS, rows[0], more, rows[1], "alter table d.t truncate partition q")
    assert texts(consumer_of([known, first, added, second])) == {"d.t": [("1", "5"), ("11", "6")]}
    assert texts(consumer_of([known, emptied])) == {"d.t": []}
    with pytest.raises(DecodeError, match="which rows are in a partition"):
        consumer_of([known, first, emptied])


def test_a_catalog_is_believed_where_one_is_given() -> None:
    _, steps = sent(TABLE, insert(1))
    assert texts(consumer_of(steps[1:], catalog=TABLE)) == {"d.t": [("1", "5")]}


_SENT = list(recorded(Protocol.SIMPLE))


def _recorded(case: str, encoding: str) -> tuple[ReferenceConsumer, Counter[tuple[str, str]]]:
    """Return who has read what was sent, and how many rows the recorded events leave in each table."""
    found = [each for each in _SENT if (each.case.name, each.variant.id) == (case, f"simple-{encoding}")]
    uri = f"memory://t?protocol=simple&encoding-format={encoding}&partition-num=1"
    consumer = ReferenceConsumer(load_changefeed(uri, time_zone=found[0].case.time_zone if found else "UTC"))
    left: Counter[tuple[str, str]] = Counter()
    for message in found:
        if message.event["kind"] != "watermark":  # the recorded ones are of another time
            consumer.take(Message("t", 0, 0, message.key, message.value))
        if message.event["kind"] == "row":
            change = (message.event["after"] is not None) - (message.event["before"] is not None)
            left[message.event["schema"], message.event["table"]] += change
    consumer.finish()
    return consumer, left


# their DDL move rows, or take them away
_MOVING = {
    *("ddl_lifecycle", "ddl_partitions", "ddl_more"),
    *("adv_names", "adv_names_case", "adv_partitions", "adv_rename_chain"),
}
_CASES = sorted({message.case.name for message in _SENT} - _MOVING)


@pytest.mark.parametrize("encoding", ["json", "avro"])
def test_recorded_histories(encoding: str) -> None:
    rows = 0
    for case in _CASES:
        consumer, left = _recorded(case, encoding)
        assert {name: len(held) for name, held in consumer.tables.items() if held} == dict(+left), case
        assert consumer.skipped == 0
        rows += sum(left.values())
    assert rows > 100


def test_recorded_ddl() -> None:
    assert _recorded("adv_names_case", "json")[0].tables == {}  # renamed, truncated, dropped: in three spellings
    assert _recorded("ddl_lifecycle", "json")[0].tables == {}
    assert _recorded("rename_tables", "avro")[0].tables == {
        ("d2", "n1"): {("1",): {"id": "1"}},
        ("d2", "m2"): {("1",): {"id": "1", "a": "1"}},
    }
    with pytest.raises(DecodeError, match="which rows are in a partition"):
        _recorded("ddl_partitions", "json")


def test_a_virtual_column_stays_one_where_the_text_of_a_statement_cannot_be_read() -> None:
    # TiDB prints a backslash in a label as it is, and what follows is no SQL
    table = r"create table s.t (id int primary key, z enum('\\'), v int as (id + 1) virtual)"
    history = History(
        table,
        [{"schema": "s", "table": "t", "op": "insert", "commit_ts": 10, "after": {"id": "1", "z": "\\"}}],
        [(20, r"alter table s.t modify column z enum('\\','last')")],
    )
    config = load_changefeed("memory://virtual?protocol=simple&partition-num=1")
    consumer = ReferenceConsumer(config, history.catalog())
    consumer.take_all(history.messages(config))
    consumer.finish()
    assert consumer.tables == history.tables()
    assert consumer.tables["s", "t"] == {("1",): {"id": "1", "z": "\\"}}
