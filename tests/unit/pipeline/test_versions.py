"""Rows of several versions of a table, together and apart: each is encoded with the schema of its own commit_ts."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.errors import ColumnSelectorError, MissingColumnError, SchemaError, UnknownTableError
from ticdc_emit.traffic.history import History

URI = "memory://x?protocol=canal-json"
SCHEMA = "create table test.t (id int primary key, v varchar(10))"
TS = 450_000_000_262_144_000


def insert(ts: int, **image: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": ts, "after": image}


def data(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(value)["data"][0] for value in batch.column("value").to_pylist()]


def changed(*statements: str) -> Encoder:
    encoder = Encoder(URI, SCHEMA)
    for place, statement in enumerate(statements, 1):
        encoder.ddl(statement, TS + 10 * place)
    return encoder


def test_rows_before_an_added_and_a_dropped_column() -> None:
    encoder = changed("alter table test.t add column z int not null", "alter table test.t drop column v")
    rows = [insert(TS + 10, id=1, v="x"), insert(TS + 20, id=2, v="x", z=5), insert(TS + 21, id=3, z=6)]
    expected = [{"id": "1", "v": "x"}, {"id": "2", "v": "x", "z": "5"}, {"id": "3", "z": "6"}]
    assert data(encoder.encode(rows)) == expected
    assert [data(encoder.encode([row]))[0] for row in rows] == expected
    assert data(encoder.encode(pa.Table.from_pylist(rows[:1]))) == expected[:1]
    for row, lacking in ((insert(TS + 11, id=1, v="x"), "z"), (insert(TS + 10, id=1, z=1), "v")):
        for changes in ([row], pa.Table.from_pylist([row]), [rows[0], rows[1], row | {"commit_ts": row["commit_ts"]}]):
            with pytest.raises(MissingColumnError) as caught:
                encoder.encode(changes)
            assert caught.value.column == lacking


def test_rows_before_a_dropped_and_a_renamed_table() -> None:
    encoder = changed("drop table test.t")
    row = insert(TS, id=1, v="x")
    assert data(encoder.encode([row], table="test.t")) == data(encoder.encode([row])) == [{"id": "1", "v": "x"}]
    with pytest.raises(UnknownTableError, match="does not exist at this commit_ts"):
        encoder.encode([insert(TS + 11, id=1, v="x")], table="test.t")
    renamed = changed("rename table test.t to test.u")
    assert data(renamed.encode([row], table="test.t")) == [{"id": "1", "v": "x"}]
    assert data(renamed.encode([insert(TS + 11, id=1, v="x")])) == [{"id": "1", "v": "x"}]


@pytest.mark.parametrize(
    ("old", "new", "before", "after", "texts"),
    [
        ("int", "varchar(9)", 5, "five", ["5", "five"]),
        ("varchar(9)", "varbinary(9)", "a", b"\xff", ["a", "ÿ"]),
        ("enum('a','b')", "enum('b','a')", "a", "a", ["1", "2"]),
        ("enum('a','b')", "enum('x','a','b')", 1, 1, ["1", "1"]),
        ("int", "bigint unsigned", -1, (1 << 64) - 1, ["-1", str((1 << 64) - 1)]),
        ("datetime", "varchar(30)", "2024-05-05 00:00:00", "x", ["2024-05-05 00:00:00", "x"]),
    ],
)
def test_a_column_that_changed_its_type(old: str, new: str, before: Any, after: Any, texts: list[str]) -> None:
    encoder = Encoder(URI, f"create table test.t (id int primary key, c {old})")
    encoder.ddl("drop table test.t", TS + 1)
    encoder.ddl(f"create table test.t (id int primary key, c {new})", TS + 2)
    rows = [insert(TS, id=1, c=before), insert(TS + 3, id=1, c=after)]
    assert [row["c"] for row in data(encoder.encode(rows))] == texts
    assert [data(encoder.encode([row]))[0]["c"] for row in rows] == texts


def test_sql_text_is_read_in_the_zone_of_the_changefeed() -> None:
    sql = "create table test.t (id int primary key, c timestamp default '2024-05-05 08:00:00')"
    encoder = Encoder(URI, sql, time_zone="Asia/Shanghai")
    assert encoder.catalog.table("test", "t").column("c").default == "2024-05-05 00:00:00"


PARTED = (
    "create table test.t (id int primary key, v varchar(10)) partition by range (id) "
    "(partition p0 values less than (9), partition p1 values less than (19))"
)


def schema_versions(release: str, ids: list[str | None]) -> tuple[list[int], dict[str, int]]:
    """Return the schemaVersion of rows after ADD COLUMN, ADD PARTITION and TRUNCATE PARTITION p1, by the names of their
    partitions, and the versions that these statements made. Rows of "old p1" were committed before the last one.
    """
    encoder, made, physical = Encoder("memory://x?protocol=simple", PARTED, release=release), {}, {}
    statements = ("add column w int", "add partition (partition p2 values less than (29))", "truncate partition p1")
    for place, statement in enumerate(statements, 1):
        encoder.ddl(f"alter table test.t {statement}", TS + 10 * place)
        (info,) = encoder.catalog.tables()
        physical = {f"old {name}": number for name, number in physical.items() if " " not in name}
        physical |= {each.name: each.id for each in info.partitions}
        made[statement.split(" (")[0]] = info.update_ts  # of the last change of its definition, so not of TRUNCATE
    rows = []
    for number, name in enumerate(ids):
        row = insert(TS + (25 if name == "old p1" else 31), id=number, v="x", w=None)
        rows.append(row | {"physical_table_id": physical[name] if name else None})
    values = map(json.loads, encoder.encode(rows).column("value").to_pylist())
    shown = {value["data"]["id"]: value["schemaVersion"] for value in values}
    return [shown[str(number)] for number in range(len(ids))], made


def test_partitions_that_a_ddl_left_alone_keep_the_version_in_older_releases_of_next() -> None:
    names = ["p0", "p1", "p2", "old p1", None]
    for release in ("next-8.5.7", "next-26.3.4"):
        shown, made = schema_versions(release, names)
        assert shown == [
            made["add column w int"],
            made["truncate partition p1"],
            made["add partition"],
            made["add column w int"],
            made["truncate partition p1"],  # nobody knows its partition
        ]
    for release in ("next", "classic-8.5.3"):
        shown, made = schema_versions(release, names)
        newest = made["truncate partition p1"]
        assert shown == [newest, newest, newest, made["add partition"], newest]


RENAME = "rename table Shop.t to Shop.u"


@pytest.mark.parametrize("partition", ["table", "index-value", "ts"])
def test_rows_have_the_topic_of_the_name_that_they_show(partition: str) -> None:
    """Classic has a database in lower case from the RENAME of one table to the table's next statement."""
    rules = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "x_{schema}_{table}", "partition": partition}]}}
    schema = "create database Shop; create table Shop.t (id int primary key, v int)"
    encoder = Encoder(URI + "&partition-num=3", schema, changefeed=rules)
    rows = [insert(TS + place, id=place, v=1) for place in (1, 11, 12, 21)]
    first = encoder.encode(rows[:1])
    assert first.column("topic").to_pylist() == ["x_Shop_t"]
    encoder.ddl(RENAME, TS + 10)
    assert encoder.watermark(TS + 11).column("topic").to_pylist() == []
    before = encoder.encode(rows[1:3])
    assert before.column("topic").to_pylist() == ["x_shop_u", "x_shop_u"]
    encoder.ddl("alter table Shop.u add column w int", TS + 20)
    rows[3]["after"]["w"] = None
    together = encoder.encode(rows[1:], table="Shop.u")
    assert together.column("topic").to_pylist() == ["x_shop_u", "x_shop_u", "x_Shop_u"]
    assert together.slice(0, 2) == before
    assert together.slice(2) == encoder.encode(rows[3:], table="Shop.u")
    late = encoder.encode(rows[:1], table="Shop.t")
    assert late == first


def test_watermarks_reach_the_topic_of_the_name_that_rows_show() -> None:
    rules = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "x_{schema}_{table}"}]}}
    encoder = Encoder(
        "memory://m/t?protocol=canal-json&enable-tidb-extension=true&partition-num=1",
        "create database Shop; create table Shop.t (id int primary key)",
        changefeed=rules,
    )
    encoder.ddl(RENAME, TS + 10)
    encoder.ddl("alter table Shop.u comment = 'x'", TS + 20)
    for ts, topic in ((TS, "x_Shop_t"), (TS + 10, "x_shop_u"), (TS + 19, "x_shop_u"), (TS + 20, "x_Shop_u")):
        assert sorted(encoder.watermark(ts).column("topic").to_pylist()) == sorted(["ticdc", topic])


def test_a_version_that_a_column_selector_leaves_without_a_key_refuses_its_own_rows() -> None:
    rules = {"sink": {"column-selectors": [{"matcher": ["*.*"], "columns": ["*", "!a"]}]}}
    encoder = Encoder(URI, "create table test.t (id int not null, a int not null, unique key u (id))", changefeed=rules)
    encoder.ddl("alter table test.t add unique key v (a)", TS + 10)
    encoder.ddl("alter table test.t drop index u", TS + 20)
    encoder.ddl("create table test.k (a int primary key)", TS + 20)
    encoder.ddl("alter table test.t add unique key w (id)", TS + 30)
    rows = [insert(TS + place, id=place, a=1) for place in (1, 11, 21, 31)]
    expected = [{"id": "1"}, {"id": "11"}, {"id": "21"}, {"id": "31"}]
    assert data(encoder.encode(rows[:2], table="test.t")) == expected[:2]
    assert data(encoder.encode(rows[3:], table="test.t")) == expected[3:]
    for changes, table in ((rows, "test.t"), (rows[2:3], "test.t"), ([insert(TS + 21, a=1)], "test.k")):
        for _ in range(2):
            with pytest.raises(ColumnSelectorError, match="no primary key columns or unique key columns obtained"):
                encoder.encode(changes, table=table)


def test_rows_of_several_tables_of_which_one_has_no_key_left() -> None:
    config = load_changefeed(URI, {"sink": {"column-selectors": [{"matcher": ["*.*"], "columns": ["*", "!a"]}]}})
    script = "create table test.x (id int primary key); create table test.y (id int primary key)"
    rows = [{"schema": "test", "table": table, **insert(TS + 9, id=1)} for table in "xy"]
    ddl = ((TS, "create table test.k (a int primary key)"),)
    sent = [json.loads(message.value) for message in History(script, rows, ddl).messages(config)]
    assert [message["table"] for message in sent if not message["isDdl"]] == ["x", "y"]
    refused = {"schema": "test", "table": "k", **insert(TS + 9, a=1)}
    with pytest.raises(ColumnSelectorError, match=r"table: test\.k"):
        History(script, [*rows, refused], ddl).messages(config)


def without_columns(parameters: str) -> bytes:
    rules = {"sink": {"column-selectors": [{"matcher": ["test.*"], "columns": ["none"]}]}}
    encoder = Encoder(f"memory://t/?protocol={parameters}", "create database other", changefeed=rules, release="next")
    encoder.ddl("create table test.t (id int primary key, u int)", TS)
    return bytes(encoder.encode([insert(TS + 1, id=1, u=5)], table="test.t").column("value")[0].as_py())


@pytest.mark.parametrize(
    ("parameters", "end"),
    [
        ("debezium&debezium-disable-schema=true", b'"op":"c","before":null,"after":{}}}'),
        ("simple", b'"schemaVersion":450000000262144000}'),
    ],
)
def test_rows_without_columns(parameters: str, end: bytes) -> None:
    assert without_columns(parameters).endswith(end)


@pytest.mark.parametrize("protocol", ["canal-json", "open-protocol"])
def test_rows_without_columns_are_refused_where_ticdc_fails(protocol: str) -> None:
    with pytest.raises(SchemaError, match="leave no column"):
        without_columns(protocol)
