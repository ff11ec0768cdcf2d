"""Rows of tables that are arranged at once have the order, the keys and the errors that each table has alone."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit import load_changefeed
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.arrange import row_sorter
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.schema.catalog import catalog_from_sql

TS = 450_000_000_262_144_000
SQL = """
    create table s.a (id bigint primary key, n int, u varchar(8), unique key (u));
    create table s.b (id bigint primary key, n int, u varchar(8), unique key (u));
    create table s.c (id bigint primary key, n int, u varchar(8), unique key (u));
    create table s.d (id bigint, n int, u varchar(8), primary key (id, n));
    create table s.e (id bigint, n int, u varchar(8), primary key (id, n));
    create table s.f (id int primary key, n int, u varchar(8));
    create table s.g (id bigint, n int, u varchar(8));
    create table s.h (id bigint, n int, u varchar(8))
"""
IMAGE = pa.struct([("id", pa.int64()), ("n", pa.int32()), ("u", pa.string())])
LATE = 3  # the TSO from which on a table exists


def plan_for(release: str) -> Plan:
    config = load_changefeed("memory://topic/?protocol=canal-json", release=release, force_replicate=True)
    catalog = catalog_from_sql(SQL)
    catalog.apply(
        "create table s.late (id bigint primary key, n int, u varchar(8), unique key (u))", commit_ts=TS + LATE
    )
    return make_plan(config, catalog.histories(), {config.kafka.topic: 1})


PLANS = {release: plan_for(release) for release in ("classic", "next")}


@st.composite
def blocks(draw: st.DrawFn) -> pa.RecordBatch:
    images = st.fixed_dictionaries(
        {"id": st.integers(0, 3), "n": st.integers(0, 2), "u": st.sampled_from(["x", "y", "z", None])}
    )
    tables = "abcdefgh" if draw(st.integers(0, 5)) else ["a", "b", "late"]
    ids = st.sampled_from(["1", "2", None, "two"][: draw(st.integers(1, 4))])
    rows = []
    for _ in range(draw(st.integers(1, 30))):
        op = draw(st.sampled_from("ccuud"))
        before, after = draw(images), draw(images)
        if draw(st.booleans()):
            after = after | {"id": before["id"], "u": before["u"]}
        rows.append(
            {
                "schema": "s",
                "table": draw(st.sampled_from(tables)),
                "op": op,
                "commit_ts": TS + draw(st.integers(0, 8)),
                "before": None if op == "c" else before,
                "after": None if op == "d" else after,
                "seq": draw(st.none() | st.integers(0, 3)),
                "physical_table_id": draw(ids),
            }
        )
    fields = [("schema", pa.string()), ("table", pa.string()), ("op", pa.string()), ("commit_ts", pa.int64())]
    fields += [("after", IMAGE)] + [("before", IMAGE)] * draw(st.sampled_from([0, 1, 1]))
    fields += [("seq", pa.int64())] * draw(st.integers(0, 1))
    fields += [("physical_table_id", pa.string())] * draw(st.integers(0, 1))
    schema = pa.schema(fields)
    if "before" not in schema.names:
        rows = [row | {"op": "c", "after": row["after"] or row["before"]} for row in rows]
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def arranged(plan: Plan, block: pa.RecordBatch, late_until: int | None) -> Any:
    """Return each table's rows and keys, and what was found out; or the error."""
    sorter = RowSorter(plan, None, "drop", late_until)
    found: dict[str, list[Any]] = {}
    try:
        for rows in sorter.gather([block]):
            for piece in (own for each in sorter.sort(rows) for own in each.by_table()):
                pairs = zip(piece.order_keys.to_pylist(), piece.batch.to_pylist(), strict=True)
                found.setdefault(piece.tables.name, []).extend(pairs)
    except TicdcEmitError as fault:
        return type(fault), str(fault)
    return found, sorter.late_rows, sorter.split_transactions


@pytest.mark.parametrize("release", PLANS)
@given(block=blocks(), late_until=st.sampled_from([None, TS - 1, TS + 2]))
@settings(max_examples=examples(150), deadline=None)
def test_alike_is_as_alone(release: str, block: pa.RecordBatch, late_until: int | None) -> None:
    with mock.patch.object(row_sorter, "by_key_shape", lambda tables, plan: [[table] for table in tables]):
        alone = arranged(PLANS[release], block, late_until)
    assert arranged(PLANS[release], block, late_until) == alone


def test_tables_with_keys_of_one_name_and_kind_are_alike() -> None:
    plan = PLANS["classic"]
    tables = [row_sorter.TablePlaces(plan.table("s", name), np.zeros(0, np.int64)) for name in "abcdefgh"]
    groups = row_sorter.by_key_shape(tables, plan)
    assert ["".join(each.table.name for each in group) for group in groups] == ["abc", "de", "f", "gh"]
