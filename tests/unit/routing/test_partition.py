"""What each partition rule hashes of a table, by release, what it refuses, and the partitions that follow."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import CLASSIC, NEXT, RELEASES
from ticdc_emit.config.changefeed import DispatchRule
from ticdc_emit.config.releases import Release
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import DispatcherError
from ticdc_emit.routing.partitions import PartitionRule, partitions_of, table_hash
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo


def spread(
    rule: PartitionRule,
    sql: str,
    rows: dict[str, pa.Array],
    *,
    commit_ts: list[int] | None = None,
    count: int = 16,
    switches: RoutingSwitches = CLASSIC.routing,
) -> int | list[int]:
    info = table(sql)
    size = len(next(iter(rows.values())))
    numbers = pa.array(commit_ts or [1] * size, pa.uint64())
    image = Image(info, rows, Rendering())
    hashed = rule.hashed(info, switches)
    seed = table_hash(info.schema, info.name)
    found = partitions_of(rule, hashed, seed, image, numbers, count, switches)
    if isinstance(found, int):
        return found
    assert found.type == pa.int32()
    return [int(partition) for partition in found.to_pylist()]


def test_one_number_where_every_row_has_the_same() -> None:
    rows = {"a": pa.array([1, 2])}
    assert spread(PartitionRule(), "create table test.t1 (a int)", rows) == 15
    assert spread(PartitionRule("index-value"), "create table test.t1 (a int)", rows) == 15
    assert spread(PartitionRule("index-value"), "create table test.t1 (a int primary key)", rows, count=1) == 0


@pytest.mark.parametrize("kind", ["index-value", "columns"])
def test_some_releases_hash_times_without_their_fraction(kind: Any) -> None:
    sql = "create table test.t (a time(2) primary key)"
    rows = {"a": pa.array(["-11:22:33.44", "-11:22:33.00", "-00:00:00.99"])}
    rule = PartitionRule(kind, columns=("a",))
    whole = spread(rule, "create table test.t (a time primary key)", {"a": pa.array(["-11:22:33", "00:00:00"])})
    found = spread(rule, sql, rows, switches=RELEASES["next-8.5.5"].routing)
    assert found[:2] == whole[:1] * 2
    assert found[2] != whole[1]  # TiDB prints the sign of less than a second
    assert spread(rule, sql, rows) != found


def test_no_rows() -> None:
    rule = PartitionRule("columns", columns=("a",))
    for kind, array in (("int", pa.array([], pa.int64())), ("enum('x')", pa.array([], pa.string()))):
        assert spread(rule, f"create table test.t1 (a {kind})", {"a": array}) == []


COLUMNS = (
    "create table test.t (Id int, v int as (Id) virtual, a int, b int, primary key (Id), unique uk (b, a), key k (v))"
)


def table(sql: str = COLUMNS) -> TableInfo:
    return catalog_from_sql(sql).tables()[0]


def named(rule: PartitionRule, release: Release, info: TableInfo | None = None) -> list[tuple[str, str]]:
    return [(name.decode(), column.name) for name, column in rule.hashed(info or table(), release.routing)]


@pytest.mark.parametrize(
    ("text", "kind", "by_value"),
    [
        ("", "table", False),
        ("default", "table", False),
        ("Table", "table", False),
        ("TS", "ts", False),
        ("index-value", "index-value", True),
        ("RowID", "index-value", True),
        ("columns", "columns", True),
    ],
)
def test_kinds_in_any_case(text: str, kind: str, by_value: bool, caplog: pytest.LogCaptureFixture) -> None:
    rule = PartitionRule.of(DispatchRule(("*.*",), partition=text, index="i", columns=("c",)))
    assert (rule.kind, rule.by_value, rule.index, rule.columns) == (kind, by_value, "i", ("c",))
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert not caplog.records


def test_beyond_the_end_of_the_row_classic_refuses_where_ticdc_crashes() -> None:
    rule = PartitionRule("index-value", index="UK")
    assert named(rule, NEXT) == [("b", "b"), ("a", "a")]
    with pytest.raises(DispatcherError, match="offset 3 of the table, and a row has 3 values") as refused:
        named(rule, CLASSIC)
    assert refused.value.code == "CDC:ErrDispatcherFailed"


def test_next_hashes_nothing_of_a_virtual_column() -> None:
    assert named(PartitionRule("index-value", index="k"), NEXT) == []
    mixed = table(
        "create table test.t (id int primary key, a int, v int as (a) virtual, unique uk (v, a), unique e ((a + 1)))"
    )
    assert named(PartitionRule("index-value", index="uk"), NEXT, mixed) == [("a", "a")]
    assert named(PartitionRule("index-value", index="e"), NEXT, mixed) == []  # an expression is a hidden virtual column


def test_what_ticdc_verifies_when_a_changefeed_is_made() -> None:
    for valid in (PartitionRule(), PartitionRule("index-value"), PartitionRule("index-value", index="uk")):
        valid.verify(table(), CLASSIC.routing)
    for rule, text in (
        (PartitionRule("index-value", index="k"), "index is not unique when verify the table, table: test.t, index: k"),
        (PartitionRule("index-value", index="x"), "index not found when verify the table, table: test.t, index: x"),
        (
            PartitionRule("columns", columns=("x",)),
            "columns not found when dispatch event, table: t, columns: [x], column: x",
        ),
    ):
        with pytest.raises(DispatcherError) as refused:
            rule.verify(table(), CLASSIC.routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text}"


@pytest.mark.parametrize(
    ("release", "hashed"),
    [
        ("classic-7.5.7", [("Id", "Id"), ("b", "b"), ("a", "a")]),
        ("classic-8.1.2", [("Id", "Id"), ("a", "b"), ("v", "a")]),  # with the names of the dispatcher
        ("classic-8.5.2", [("Id", "Id"), ("a", "b"), ("v", "a")]),
        ("classic-8.5.3", [("Id", "Id"), ("b", "b"), ("a", "a")]),
    ],
)
def test_older_releases_hash_another_column_for_a_virtual_one(release: str, hashed: list[tuple[str, str]]) -> None:
    assert named(PartitionRule("columns", columns=("Id", "a", "v")), RELEASES[release]) == hashed


@pytest.mark.parametrize("release", ["classic-8.1.2", "classic-8.5.0", "classic-8.5.1", "classic-8.5.2"])
def test_releases_that_match_names_with_case(release: str) -> None:
    routing = RELEASES[release].routing
    PartitionRule("index-value", index="uk").verify(table(), routing)
    for rule, text in (
        (PartitionRule("columns", columns=("Id", "A")), "columns not found when {}, columns: [Id A]"),
        (PartitionRule("index-value", index="UK"), "index not found when {}, index: UK"),
    ):
        with pytest.raises(DispatcherError) as refused:
            rule.hashed(table(), routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('dispatch event, table: t')}"
        with pytest.raises(DispatcherError) as refused:
            rule.verify(table(), routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('verify the table, table: test.t')}"


def test_errors_for_rows_name_the_database_too_in_7_5() -> None:
    for rule, text in (
        (PartitionRule("columns", columns=("Nope",)), "columns not found {}, table: test.t, columns: [Nope]"),
        (PartitionRule("index-value", index="Nope"), "index not found {}, table: test.t, index: Nope"),
    ):
        with pytest.raises(DispatcherError) as refused:
            named(rule, RELEASES["classic-7.5.7"])
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('when dispatch event')}"
