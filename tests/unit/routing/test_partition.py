"""Hashes and partitions, with the numbers of TiCDC's own tests (``dispatcher/partition/*_test.go``)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import CLASSIC
from ticdc_emit.config.releases import RELEASES
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.routing.partitions import (
    PartitionRule,
    partition_of,
    partitions_of,
    table_hash,
)
from ticdc_emit.schema.catalog import Catalog


@pytest.mark.parametrize(
    ("schema", "table", "hash_value", "partition"),
    [
        ("test", "t1", 1079797119, 15),
        ("test", "t2", 3646239941, 5),
        ("test", "t3", 2924610643, 3),
    ],
)
def test_known_tables(schema: str, table: str, hash_value: int, partition: int) -> None:
    assert table_hash(schema, table) == hash_value
    assert partition_of(hash_value, 16) == partition


def test_the_hash_is_unsigned_and_over_utf8() -> None:
    assert partition_of(3646239941, 7) == 3646239941 % 7
    assert table_hash("test", "t2") > 2**31
    assert table_hash("ä", "b") == table_hash("", "äb") != table_hash("a", "b")


def spread(
    rule: PartitionRule,
    sql: str,
    rows: dict[str, pa.Array],
    *,
    commit_ts: list[int] | None = None,
    count: int = 16,
    switches: RoutingSwitches = CLASSIC.routing,
) -> int | list[int]:
    (event,) = Catalog().apply(sql, commit_ts=1)
    assert event.table_info is not None
    size = len(next(iter(rows.values())))
    numbers = pa.array(commit_ts or [1] * size, pa.uint64())
    image = Image(event.table_info, rows, Rendering())
    hashed = rule.hashed(event.table_info, switches)
    seed = table_hash(event.table_info.schema, event.table_info.name)
    found = partitions_of(rule, hashed, seed, image, numbers, count, switches)
    if isinstance(found, int):
        return found
    assert found.type == pa.int32()
    return [int(partition) for partition in found.to_pylist()]


@pytest.mark.parametrize(
    ("rule", "sql", "rows", "partitions"),
    [
        (PartitionRule("index-value"), "create table test.t1 (a int primary key, b int)", {"a": [11, 22]}, [2, 11]),
        (
            PartitionRule("index-value"),
            "create table test.t2 (a int, b int, primary key (a, b))",
            {"a": [11, 11, 11], "b": [22, 0, 33]},
            [5, 14, 2],
        ),
        (
            PartitionRule("columns", columns=("col2", "col1")),
            "create table test.t1 (col2 int not null, col1 int not null, col3 int, primary key (col2, col1))",
            {"col2": [11], "col1": [22]},
            [15],
        ),
        (
            PartitionRule("columns", columns=("col2", "col1")),
            "create table test.t1 (COL2 int not null, Col1 int not null, col3 int, primary key (COL2, Col1))",
            {"COL2": [11], "Col1": [22]},
            [5],
        ),
    ],
)
def test_known_rows(rule: PartitionRule, sql: str, rows: dict[str, list[int]], partitions: list[int]) -> None:
    assert spread(rule, sql, {name: pa.array(values) for name, values in rows.items()}) == partitions


def test_ts_is_the_remainder_of_the_tso() -> None:
    numbers = [450000000262144000, 2**63 + 5, 7]
    rows = {"a": pa.array([1, 2, 3])}
    found = spread(PartitionRule("ts"), "create table test.t (a int)", rows, commit_ts=numbers, count=7)
    assert found == [number % 7 for number in numbers]


def test_one_number_where_every_row_has_the_same() -> None:
    rows = {"a": pa.array([1, 2])}
    assert spread(PartitionRule(), "create table test.t1 (a int)", rows) == 15
    assert spread(PartitionRule("index-value"), "create table test.t1 (a int)", rows) == 15
    assert spread(PartitionRule("index-value"), "create table test.t1 (a int primary key)", rows, count=1) == 0


def test_null_is_a_text_or_nothing() -> None:
    sql, rule = "create table test.t1 (a varchar(9))", PartitionRule("columns", columns=("a",))
    rows = {"a": pa.array([None, "null", "x"])}
    as_null = spread(rule, sql, rows)
    assert isinstance(as_null, list)
    assert as_null[0] == as_null[1]
    skipped = spread(rule, sql, rows, switches=RoutingSwitches(hashed_null=None))
    assert skipped == [15, *as_null[1:]]


@pytest.mark.parametrize("kind", ["index-value", "columns"])
def test_some_releases_hash_times_without_their_fraction(kind: Any) -> None:
    sql = "create table test.t (a time(2) primary key)"
    rows = {"a": pa.array(["-11:22:33.44", "-11:22:33.00", "-00:00:00.99"])}
    rule = PartitionRule(kind, columns=("a",))
    whole = spread(rule, "create table test.t (a time primary key)", {"a": pa.array(["-11:22:33", "00:00:00"])})
    found = spread(rule, sql, rows, switches=RELEASES["next-8.5.5"].routing)
    assert isinstance(found, list)
    assert isinstance(whole, list)
    assert found[:2] == whole[:1] * 2
    assert found[2] != whole[1]  # TiDB prints the sign of less than a second
    assert spread(rule, sql, rows) != found


def test_a_column_named_twice_cancels_itself() -> None:
    rule = PartitionRule("columns", columns=("a", "A"))
    assert spread(rule, "create table test.t1 (a int)", {"a": pa.array([1, 2])}) == [15, 15]


def test_no_rows() -> None:
    rule = PartitionRule("columns", columns=("a",))
    for kind, array in (("int", pa.array([], pa.int64())), ("enum('x')", pa.array([], pa.string()))):
        assert spread(rule, f"create table test.t1 (a {kind})", {"a": array}) == []
