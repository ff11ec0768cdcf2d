"""What the reference consumer survives, one thing at a time. Every test fails if the guard that it is for is gone."""

from __future__ import annotations

import json
from typing import Any

import pytest
from delivered import config_of, messages_of

from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.history import History

WAITS = config_of("protocol=canal-json&enable-tidb-extension=true", time_zone="UTC")
ARRIVES = config_of("protocol=canal-json", time_zone="UTC")
SCHEMA = "create table test.t (id int primary key, v varchar(20)); create table test.n (v varchar(20))"
T, N = ("test", "t"), ("test", "n")


def _message(members: dict[str, Any], commit: int, partition: int, topic: str, *, waits: bool) -> Message:
    envelope = {"database": "test", "es": commit, "ts": 0, "isDdl": False, "mysqlType": {}, "sqlType": {}, **members}
    if not waits:
        envelope.pop("_tidb")
    return Message(topic, partition, 0, b"", json.dumps(envelope).encode())


class Stream:
    """Makes messages of a changefeed with or without watermarks; commits are small numbers."""

    def __init__(self, *, waits: bool = True, partition: int = 0, topic: str = "topic") -> None:
        self._place = {"partition": partition, "topic": topic, "waits": waits}

    def _made(self, commit: int, **members: Any) -> Message:
        return _message({**members, "_tidb": {"commitTs": commit}}, commit, **self._place)

    def insert(self, commit: int, row: dict[str, Any], table: str = "t") -> Message:
        return self._made(commit, type="INSERT", table=table, data=[row], old=None)

    def update(self, commit: int, old: dict[str, Any], row: dict[str, Any], table: str = "t") -> Message:
        return self._made(commit, type="UPDATE", table=table, data=[row], old=[old])

    def delete(self, commit: int, row: dict[str, Any], table: str = "t") -> Message:
        return self._made(commit, type="DELETE", table=table, data=[row], old=None)

    def put(self, commit: int, value: str | None, key: str = "1", table: str = "t") -> Message:
        return self.insert(commit, {"id": key, "v": value}, table)

    def ddl(self, commit: int, sql: str, table: str = "t") -> Message:
        return self._made(commit, type="ALTER", table=table, isDdl=True, sql=sql, data=None, old=None)

    def watermark(self, ts: int) -> Message:
        members = {"type": "TIDB_WATERMARK", "table": "", "database": "", "_tidb": {"watermarkTs": ts}}
        return _message(members, ts, **self._place)


P, Q = Stream(), Stream(partition=1)
AP, AQ = Stream(waits=False), Stream(waits=False, partition=1)


def _consumer(config: Any = WAITS, partitions: Any = 1, schema: str = SCHEMA) -> ReferenceConsumer:
    return ReferenceConsumer(config, schema, partitions=partitions)


def _row(value: str | None, key: str = "1") -> dict[tuple[str], dict[str, str | None]]:
    return {(key,): {"id": key, "v": value}}


# --- redelivery -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "stream"), [(WAITS, P), (ARRIVES, AP)])
def test_an_older_commit_does_not_overwrite_a_newer_one(config: Any, stream: Stream) -> None:
    consumer = _consumer(config)
    consumer.take_all([stream.put(1, "a"), stream.put(2, "b"), stream.put(3, "c"), stream.put(2, "b")])
    consumer.finish()
    assert consumer.tables[T] == _row("c")


@pytest.mark.parametrize(("config", "stream"), [(WAITS, P), (ARRIVES, AP)])
def test_a_deleted_row_does_not_come_back(config: Any, stream: Stream) -> None:
    consumer = _consumer(config)
    consumer.take_all([stream.put(1, "a"), stream.delete(2, {"id": "1", "v": "a"}), stream.put(1, "a")])
    consumer.finish()
    assert consumer.tables[T] == {}


def test_rows_behind_their_watermark_are_known() -> None:
    consumer = _consumer()
    messages = [P.put(1, "a"), P.insert(1, {"v": "x"}, "n"), P.watermark(1)]
    consumer.take_all([*messages, *messages])
    assert (consumer.tables[T], len(consumer.tables[N]), consumer.duplicates) == (_row("a"), 1, 3)


@pytest.mark.parametrize(("config", "stream"), [(WAITS, P), (ARRIVES, AP)])
def test_rows_without_key_are_told_from_equal_ones(config: Any, stream: Stream) -> None:
    equal = [stream.insert(1, {"v": "x"}, "n"), stream.insert(1, {"v": "x"}, "n")]
    later = [stream.insert(2, {"v": "x"}, "n"), stream.delete(3, {"v": "x"}, "n")]
    consumer = _consumer(config)
    consumer.take_all([*equal, *later, *equal, *later, *later])
    consumer.finish()
    assert sorted(consumer.tables[N]) == [("x", 0), ("x", 1)]
    assert consumer.duplicates == 6


def test_a_row_behind_its_watermark_tells_that_the_rows_after_it_come_again() -> None:
    consumer = _consumer()
    messages = [P.put(1, "a"), P.watermark(1), P.insert(2, {"v": "x"}, "n")]
    consumer.take_all([*messages, *messages])
    consumer.finish()
    assert list(consumer.tables[N]) == [("x", 0)]


def test_updates_of_rows_without_key() -> None:
    consumer = _consumer()
    rows = [{"v": value} for value in ("a", "b", "c")]
    consumer.take_all([P.insert(1, rows[0], "n"), P.insert(1, rows[1], "n")])
    consumer.take_all([P.update(2, rows[0], rows[1], "n"), P.update(2, rows[1], rows[2], "n")])
    consumer.finish()
    assert sorted(consumer.tables[N]) == [("b", 0), ("c", 0)]


def test_updates_of_rows_without_key_that_show_the_changed_columns_alone() -> None:
    consumer = _consumer(schema="create table test.n (v varchar(20), w int)")
    consumer.take_all([P.insert(1, {"v": "a", "w": "1"}, "n"), P.update(2, {"v": "a"}, {"v": "b", "w": "1"}, "n")])
    consumer.finish()
    assert list(consumer.tables[N]) == [("b", "1", 0)]


def test_a_row_without_key_of_which_nothing_is_shown() -> None:
    history = History("create table test.n (v int)", [_put(10, "n", v="1")])
    change = {**_put(20, "n", v="2"), "op": "u", "before": {"v": "1"}}
    history = History(history.schema, [*history.rows, change])
    file = "[sink.debezium]\noutput-old-value = false\n"
    config = config_of(
        "protocol=debezium&enable-tidb-extension=true", file, time_zone="UTC", partitions=1, force_replicate=True
    )
    messages, _ = messages_of(history, config)
    consumer = ReferenceConsumer(config, history.catalog())
    consumer.take_all(messages)
    consumer.finish()
    assert (list(consumer.tables[N]), consumer.skipped) == ([("1", 0)], 1)


def test_an_update_of_a_row_without_key_that_changes_nothing() -> None:
    consumer = _consumer()
    consumer.take_all([P.insert(1, {"v": "a"}, "n"), P.update(2, {}, {"v": "a"}, "n")])
    consumer.finish()
    assert (list(consumer.tables[N]), consumer.skipped) == ([("a", 0)], 0)


@pytest.mark.parametrize(("first", "last"), [("0", "-0"), ("-0", "0")])
def test_a_key_of_floats_that_changes_its_sign_at_zero_is_the_same_key(first: str, last: str) -> None:
    consumer = _consumer(ARRIVES, schema="create table test.t (f double, v varchar(20), primary key (f, v))")
    consumer.take(P.insert(1, {"f": first, "v": "a"}))
    consumer.take(P.update(3, {}, {"f": last, "v": "a"}))  # to TiCDC, nothing has changed
    consumer.take(P.update(2, {}, {"f": first, "v": "a"}))  # an older one, which arrives later
    consumer.finish()
    assert list(consumer.tables[T]) == [(last, "a")]
    consumer.take(P.delete(5, {"f": first, "v": "a"}))
    assert consumer.tables[T] == {}


# --- watermarks -------------------------------------------------------------------------------------------------------


def test_nothing_is_applied_before_every_watermark_has_passed_it() -> None:
    consumer = _consumer(partitions={"topic": 2, "second": 1})
    consumer.take_all([P.put(5, "a"), P.watermark(9), Q.watermark(4)])
    assert consumer.tables[T] == {}
    consumer.take(Q.watermark(7))
    assert consumer.tables[T] == {}  # no message of the second topic yet
    consumer.take(Stream(topic="second").watermark(4))
    assert consumer.tables[T] == {}
    consumer.take(Stream(topic="second").watermark(5))
    assert consumer.tables[T] == _row("a")
    assert consumer.watermarks == {("topic", 0): 9, ("topic", 1): 7, ("second", 0): 5}


def test_every_partition_of_a_topic_is_waited_for_though_it_has_sent_nothing() -> None:
    consumer = _consumer(partitions=2)
    consumer.take_all([P.put(5, "a"), P.watermark(9)])
    assert consumer.tables[T] == {}
    consumer.take(Q.watermark(5))
    assert consumer.tables[T] == _row("a")


def test_a_watermark_that_goes_back_means_nothing() -> None:
    consumer = _consumer()
    consumer.take_all([P.insert(7, {"v": "x"}, "n"), P.watermark(9), P.watermark(9), P.watermark(5)])
    assert (consumer.watermarks, consumer.duplicates) == ({("topic", 0): 9}, 2)
    consumer.take_all([P.insert(7, {"v": "x"}, "n"), P.watermark(9)])
    assert list(consumer.tables[N]) == [("x", 0)]


def test_a_partition_that_is_met_late() -> None:
    """Its rows are applied even if the others' watermarks have passed them, but not over later commits."""
    consumer = _consumer()
    late = Stream(topic="late")
    consumer.take_all([P.put(5, "new"), P.watermark(9), late.put(3, "old"), late.put(4, "other", key="2")])
    assert consumer.tables[T] == _row("new") | _row("other", "2")


# --- partitions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("config", "first", "second"), [(WAITS, P, Q), (ARRIVES, AP, AQ)])
def test_a_row_that_moves_to_another_partition(config: Any, first: Stream, second: Stream) -> None:
    consumer = _consumer(config, 2)
    consumer.take_all([first.put(1, "a"), second.put(3, "b"), first.delete(3, {"id": "1", "v": "a"})])
    consumer.finish()
    assert consumer.tables[T] == _row("b")


def test_partitions_are_put_in_order_of_commit() -> None:
    consumer = _consumer(partitions=2)
    consumer.take_all([Q.update(4, {"id": "1", "v": "a"}, {"id": "2", "v": "a"}), P.put(2, "a")])
    consumer.finish()
    assert consumer.tables[T] == _row("a", "2")


def test_a_partition_that_the_topic_does_not_have() -> None:
    with pytest.raises(DecodeError, match="1 partitions"):
        _consumer().take(Q.put(1, "a"))
    with pytest.raises(DecodeError, match="0 partitions"):
        _consumer(partitions={"other": 3}).take(P.put(1, "a"))


def test_tombstones_are_nothing() -> None:
    consumer = _consumer()
    consumer.take_all([P.put(1, "a"), Message("topic", 0, 1, b"", None), Message("topic", 0, 2, None, None)])
    consumer.finish()
    assert (consumer.tables[T], consumer.skipped) == (_row("a"), 2)


# --- DDL --------------------------------------------------------------------------------------------------------------

_ADD = "alter table test.t add column w int not null default 7"


@pytest.mark.parametrize(("config", "stream"), [(WAITS, P), (ARRIVES, AP)])
@pytest.mark.parametrize("watermarks", [True, False])
def test_ddl_takes_effect_once(config: Any, stream: Stream, watermarks: bool) -> None:
    added, emptied = stream.ddl(5, _ADD), stream.ddl(7, "truncate table test.n", "n")
    stamps = [stream.watermark(7)] if watermarks and config is WAITS else []
    consumer = _consumer(config)
    consumer.take_all([stream.put(1, "a"), stream.insert(1, {"v": "x"}, "n"), added, added, emptied, *stamps])
    consumer.take_all([stream.insert(8, {"v": "y"}, "n"), added, emptied])
    consumer.finish()
    assert consumer.tables == {T: {("1",): {"id": "1", "v": "a", "w": "7"}}, N: {("y", 0): {"v": "y"}}}


def test_the_same_statement_at_another_commit_is_another_one() -> None:
    consumer = _consumer()
    empty = "truncate table test.t"
    consumer.take_all([P.put(1, "a"), P.ddl(2, empty), P.put(3, "b"), P.ddl(4, empty)])
    consumer.finish()
    assert consumer.tables[T] == {}


@pytest.mark.parametrize("count", [1_000, 5_000])
def test_ddl_of_thousands_of_operators_is_taken_or_refused(count: int) -> None:
    consumer = _consumer()
    consumer.take_all(
        [
            P.put(1, "a"),
            P.ddl(2, f"alter table test.t add column w int as (id{' + 1' * count}) stored"),
            P.ddl(3, f"create view test.w as select * from t where t.id = 1{' or t.id = 1' * count}", "w"),
        ]
    )
    for column in ("id" + " is null" * count, "not " * count + "id", "abs(" * count + "id" + ")" * count):
        consumer = _consumer()
        taken = [P.put(1, "a"), P.ddl(2, f"alter table test.t add column w int as ({column})"), P.watermark(2)]
        with pytest.raises(SchemaError, match="nested too deeply") as caught:
            consumer.take_all(taken)
        assert len(str(caught.value)) < 1_000


def test_ddl_of_several_tables_comes_in_any_order() -> None:
    consumer = _consumer(partitions=2)
    consumer.take_all(
        [
            Q.ddl(6, "create table test.t (id int primary key, v varchar(20), w int)"),
            Q.insert(7, {"id": "1", "v": "new", "w": None}),
            Q.ddl(5, "rename table test.t to test.moved", "moved"),
            P.ddl(3, "alter table test.n add column w int default 1", "n"),
            P.put(2, "old"),
            P.insert(4, {"v": "x", "w": "2"}, "n"),
        ]
    )
    consumer.finish()
    assert consumer.tables == {
        ("test", "moved"): _row("old"),
        T: {("1",): {"id": "1", "v": "new", "w": None}},
        N: {("x", "2", 0): {"v": "x", "w": "2"}},
    }


def test_cross_table_ddl_out_of_order_as_it_arrives() -> None:
    consumer = _consumer(ARRIVES, 2)
    consumer.take_all([AQ.ddl(6, "alter table test.n add column w int", "n"), AP.ddl(5, _ADD), AP.put(4, "a")])
    assert consumer.tables[T] == {("1",): {"id": "1", "v": "a", "w": "7"}}


def test_a_row_in_the_millisecond_of_a_ddl_is_behind_it() -> None:
    consumer = _consumer(ARRIVES)
    consumer.take_all([AP.ddl(5, _ADD), AP.insert(5, {"id": "1", "v": "a", "w": "8"})])
    assert consumer.tables[T] == {("1",): {"id": "1", "v": "a", "w": "8"}}


def test_an_older_commit_is_told_behind_a_ddl_too() -> None:
    consumer = _consumer(ARRIVES)
    consumer.take_all([AP.put(5, "new"), AP.ddl(6, _ADD), AP.put(4, "old")])
    assert consumer.tables[T] == {("1",): {"id": "1", "v": "new", "w": "7"}}


def test_rows_that_arrive_before_their_ddl() -> None:
    consumer = _consumer(ARRIVES, 2)
    consumer.take_all([AQ.insert(6, {"id": "1", "v": "a", "w": "8"}), AQ.insert(6, {"id": "9"}, "fresh")])
    assert consumer.tables[T] == {}
    consumer.take_all([AP.ddl(4, "create table test.fresh (id int primary key)", "fresh"), AP.ddl(5, _ADD)])
    assert consumer.tables[T] == {("1",): {"id": "1", "v": "a", "w": "8"}}
    assert consumer.tables["test", "fresh"] == {("9",): {"id": "9"}}


def test_rows_that_arrive_behind_the_ddl_that_followed_them() -> None:
    consumer = _consumer(ARRIVES, 2)
    consumer.take_all(
        [
            AP.ddl(5, _ADD),
            AP.ddl(6, "rename table test.t to test.moved", "moved"),
            AP.ddl(7, "alter table test.moved rename column v to u", "moved"),
            AP.ddl(7, "drop table test.n", "n"),
            AQ.put(3, "a"),
            AQ.insert(4, {"v": "gone"}, "n"),
        ]
    )
    consumer.finish()
    assert consumer.tables == {("test", "moved"): {("1",): {"id": "1", "u": "a", "w": "7"}}}
    assert consumer.skipped == 0


@pytest.mark.parametrize("config", [WAITS, ARRIVES])
def test_ddl_that_is_ahead_of_another_topic(config: Any) -> None:
    waits = config is WAITS
    old, new = Stream(waits=waits), Stream(waits=waits, topic="moved")
    consumer = _consumer(config)
    consumer.take_all([old.put(1, "a"), *([old.watermark(9)] if waits else [])])
    consumer.take_all(
        [new.ddl(6, "alter table test.moved drop column v", "moved"), new.insert(7, {"id": "2"}, "moved")]
    )
    consumer.take(
        old.ddl(5, "rename table test.t to test.moved", "moved")
        if not waits
        else new.ddl(5, "rename table test.t to test.moved", "moved")
    )
    consumer.finish()
    assert set(consumer.tables["test", "moved"]) >= {("1",)}
    consumer = _consumer(ARRIVES)
    consumer.take(AP.ddl(3, "alter table test.nothing drop column v", "nothing"))
    with pytest.raises(SchemaError):
        consumer.finish()


def test_rows_of_unknown_tables_are_counted() -> None:
    for config, stream in ((WAITS, P), (ARRIVES, AP)):
        consumer = _consumer(config)
        consumer.take_all([stream.put(1, "a", table="nobody"), stream.insert(1, {"id": "1", "nothing": "x"})])
        consumer.finish()
        assert (consumer.tables, consumer.skipped) == ({T: {}, N: {}}, 2)


def test_rows_of_a_partition_cannot_be_told() -> None:
    schema = "create table test.t (id int primary key) partition by range (id) (partition p values less than (9))"
    drop = P.ddl(3, "alter table test.t truncate partition p")
    consumer = _consumer(schema=schema)
    consumer.take_all([drop])
    consumer.finish()
    consumer = _consumer(schema=schema)
    consumer.take_all([P.insert(1, {"id": "1"}), drop])
    with pytest.raises(DecodeError, match="which rows are in a partition"):
        consumer.finish()


def test_a_statement_that_cannot_be() -> None:
    consumer = _consumer()
    consumer.take(P.ddl(3, "alter table test.t drop column nothing"))
    with pytest.raises(SchemaError):
        consumer.finish()


def test_the_callers_catalog_is_left_alone() -> None:
    catalog = catalog_from_sql(SCHEMA)
    consumer = ReferenceConsumer(WAITS, catalog)
    consumer.take(P.ddl(3, _ADD))
    consumer.finish()
    assert [column.name for column in catalog.table("test", "t")] == ["id", "v"]


# --- Avro -------------------------------------------------------------------------------------------------------------

_AVRO = config_of("protocol=avro&enable-tidb-extension=true", time_zone="UTC", partitions=1)
_PLAIN_AVRO = config_of("protocol=avro", time_zone="UTC", partitions=1)


def _put(commit: int, table: str = "t", **row: str | None) -> dict[str, Any]:
    return {"schema": "test", "table": table, "op": "c", "commit_ts": commit, "before": None, "after": row}


@pytest.mark.parametrize("config", [_AVRO, _PLAIN_AVRO])
def test_avro_rows_take_the_columns_of_the_newest_schema(config: Any) -> None:
    ddl = ((15, "alter table test.t add column w int not null default 7"), (25, "alter table test.t drop column v"))
    rows = [_put(10, id="1", v="a"), _put(20, id="2", v="b", w="9"), _put(30, id="3", w="1"), _put(31, id="4", w="1")]
    rows.append({**_put(32), "op": "d", "before": {"id": "4", "w": "1"}, "after": None})
    history = History("create table test.t (id int primary key, v varchar(20))", rows, ddl)
    messages, schemas = messages_of(history, config)
    expected = {("test", "t"): {(key,): {"id": key, "w": w} for key, w in (("1", "7"), ("2", "9"), ("3", "1"))}}
    assert history.tables() == expected
    deliveries = [messages, [*messages, *messages[2:], *messages[1:]]]
    if config is _AVRO:
        deliveries.append([*messages, messages[0]])
    for sent in deliveries:
        consumer = ReferenceConsumer(config, history.catalog(), schemas=schemas)
        consumer.take_all(sent)
        consumer.finish()
        assert consumer.tables == expected


def test_avro_does_not_let_an_older_row_overwrite() -> None:
    history = History("create table test.t (id int primary key)", [_put(10, id="1")])
    newer = History("create table test.t (id int primary key)", [_put(20, id="1")])
    (first,), schemas = messages_of(history, _AVRO)
    (second,), _ = messages_of(newer, _AVRO)
    consumer = ReferenceConsumer(_AVRO, history.catalog(), schemas=schemas)
    consumer.take_all([second, first])
    assert consumer.duplicates == 1


def test_avro_names_are_those_of_the_catalog() -> None:
    schema = "create table test.`a-b` (`1 id` int, `v.w` varchar(9), primary key (`1 id`))"
    history = History(schema, [_put(10, "a-b", **{"1 id": "1", "v.w": "x"})])
    messages, schemas = messages_of(history, _AVRO)
    for catalog, name, row in ((schema, "a-b", {"1 id": "1", "v.w": "x"}), ("", "a_b", {"_1_id": "1", "v_w": "x"})):
        consumer = ReferenceConsumer(_AVRO, catalog, schemas=schemas)
        consumer.take_all(messages)
        consumer.finish()
        assert consumer.tables == {("test", name): {("1",): row}}


def test_avro_sends_ddl_and_watermarks_for_tests() -> None:
    config = config_of(
        "protocol=avro&enable-tidb-extension=true&avro-enable-watermark=true", time_zone="UTC", partitions=1
    )
    ddl = ((15, "rename table test.t to test.u"),)
    history = History("create table test.t (id int primary key)", [_put(10, id="1"), _put(20, "u", id="2")], ddl)
    messages, schemas = messages_of(history, config)
    consumer = ReferenceConsumer(config, history.catalog(), schemas=schemas)
    consumer.take_all(messages)
    consumer.finish()
    assert consumer.tables == history.tables() == {("test", "u"): {("1",): {"id": "1"}, ("2",): {"id": "2"}}}
    assert max(consumer.watermarks.values()) >= 20
