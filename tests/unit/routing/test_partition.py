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
from ticdc_emit.routing.partitions import PartitionRule, partitions_of, table_hash
from ticdc_emit.schema.catalog import Catalog


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
    assert isinstance(found, list)
    assert isinstance(whole, list)
    assert found[:2] == whole[:1] * 2
    assert found[2] != whole[1]  # TiDB prints the sign of less than a second
    assert spread(rule, sql, rows) != found


def test_no_rows() -> None:
    rule = PartitionRule("columns", columns=("a",))
    for kind, array in (("int", pa.array([], pa.int64())), ("enum('x')", pa.array([], pa.string()))):
        assert spread(rule, f"create table test.t1 (a {kind})", {"a": array}) == []
