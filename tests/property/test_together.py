"""Rows, and small batches of many tables, that are encoded together have the messages that each has alone.

Random tables (each twice, by two names, so that columns of one kind meet), random rows, inserts, updates and deletes
mixed, every protocol. The same of tables alike that are encoded as one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_tables import COMMIT_TS, RandomTable, quoted_name, random_tables

from ticdc_emit import load_changefeed
from ticdc_emit.errors import RowError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.arrange.row_batch import RowBatch, TableGroup
from ticdc_emit.pipeline.arrange.row_reader import change_form
from ticdc_emit.pipeline.encode import messages as small_groups
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

URIS = [
    "protocol=canal-json&enable-tidb-extension=true",
    "protocol=canal-json&only-output-updated-columns=true",
    "protocol=simple",
    "protocol=simple&encoding-format=avro",
    "protocol=avro&enable-tidb-extension=true",
    "protocol=debezium",
    "protocol=debezium-avro&avro-bigint-unsigned-handling-mode=string",
    "protocol=debezium&debezium-disable-schema=true",
    "protocol=open-protocol",
    "protocol=open-protocol&only-output-updated-columns=true",
]


def changes_of(made: RandomTable) -> list[dict[str, Any]]:
    """Return the changes in order; an update keeps its key and, of the row before it, every second column."""
    found = []
    for place, (op, row) in enumerate(made.rows):
        other = made.rows[place - 1][1]
        kept = {name: row[name] for number, name in enumerate(made.names) if name in made.key or number % 2}
        before = made.given({**other, **kept})
        images = {"c": (None, made.given(row)), "u": (before, made.given(row)), "d": (made.given(row), None)}[op]
        found.append({"op": op, "commit_ts": COMMIT_TS + place, "before": images[0], "after": images[1]})
    return found


def twin(made: RandomTable) -> RandomTable:
    """Return the same table by another name, its changes the other way round."""
    old = f"create table {quoted_name(made.schema)}."
    assert made.sql.startswith(old)
    schema = made.schema + "2"
    sql = f"create table {quoted_name(schema)}.{made.sql.removeprefix(old)}"
    return replace(made, schema=schema, sql=sql, rows=made.rows[::-1])


@st.composite
def table_mixes(draw: st.DrawFn) -> list[RandomTable]:
    tables = draw(st.lists(random_tables(), min_size=1, max_size=3))
    zone = tables[0].zone
    mixed = [replace(each, zone=zone) for table in tables for each in (table, twin(table))]
    assume(len({(table.schema.lower(), table.table.lower()) for table in mixed}) == len(mixed))
    return mixed


def plan_for(uri: str, tables: list[RandomTable]) -> Plan:
    config = load_changefeed(
        f"memory://topic/?{uri}",
        release="next" if "debezium-avro" in uri else "classic",
        schema_registry="http://registry.invalid",
        time_zone=tables[0].zone,
    )
    catalog = catalog_from_sql(";".join(table.sql for table in tables), time_zone=tables[0].zone)
    plan = make_plan(config, catalog.histories(), {config.kafka.topic: 1})
    registrar = Registrar(config, MemoryRegistry())
    for planned in list(plan.tables.values()):
        plan = registrar.register_rows(plan, planned, needed_by_all(planned))
    return plan


def batches_for(plan: Plan, tables: list[RandomTable]) -> list[tuple[pa.RecordBatch, Any]]:
    found = []
    for table in tables:
        planned = plan.table(table.schema, table.table)
        batch = rows_to_batch(changes_of(table), planned, table.zone)
        found.append((change_form(batch, table.table), planned))
    return found


def messages(plan: Plan, batches: list[tuple[pa.RecordBatch, Any]]) -> list[list[tuple[bytes, bytes | None]]]:
    made = [each.encoded.whole() for each in encode_batches([RowBatch.of(*each) for each in batches], plan)]
    return [list(zip(each.filled_keys().to_pylist(), each.values.to_pylist(), strict=True)) for each in made]


@pytest.mark.parametrize("uri", URIS)
@given(tables=table_mixes())
@settings(max_examples=examples(40), deadline=None)
def test_together_is_as_alone(uri: str, tables: list[RandomTable]) -> None:
    plan = plan_for(uri, tables)
    batches = batches_for(plan, tables)
    expected = alone(plan, batches)
    assert outcome(plan, batches) == expected
    if isinstance(expected, list):
        rows, planned = batches[0]
        assert [messages(plan, [(rows.slice(at, 1), planned)])[0][0] for at in range(rows.num_rows)] == expected[0]
        for place in range(0, len(batches), 2):
            assert of_twins(plan, batches[place : place + 2]) == expected[place : place + 2]


def of_twins(plan: Plan, batches: list[tuple[pa.RecordBatch, Any]]) -> list[list[tuple[bytes, bytes | None]]]:
    """Return the messages of each of two tables, whose rows are encoded as those of one, in turn."""
    (one, first), (other, second) = batches
    assert first.encoding_shape == second.encoding_shape
    codes = np.repeat(np.array([0, 1], np.int32), [one.num_rows, other.num_rows])
    order = np.argsort(np.arange(len(codes)) * 7919 % len(codes), kind="stable")
    rows = pa.Table.from_batches([one, other.cast(one.schema)]).combine_chunks().to_batches()[0].take(pa.array(order))
    (made,) = messages(plan, [(rows, TableGroup((first, second), codes[order]))])
    found = [made[place] for place in np.argsort(order)]
    return [found[: one.num_rows], found[one.num_rows :]]


def alone(plan: Plan, batches: list[tuple[pa.RecordBatch, Any]]) -> Any:
    with mock.patch.object(small_groups, "FEW_ROWS", 0):
        return outcome(plan, batches)


def outcome(plan: Plan, batches: list[tuple[pa.RecordBatch, Any]]) -> Any:
    """Return the messages, or the error of an ENUM's 0 or of a moment that the zone's clocks skip."""
    try:
        return messages(plan, batches)
    except RowError as fault:
        return str(fault)
