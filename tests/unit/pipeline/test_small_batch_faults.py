"""A bad value among small batches that are encoded together is told as if its batch were alone; rows before it too."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pyarrow as pa
import pytest

from ticdc_emit.columnar.small_batches import BatchedColumns, ColumnBatcher
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.arrange.row_reader import change_form
from ticdc_emit.pipeline.encode import messages as small_groups
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

TS = 450_000_000_262_144_000
TABLES = ("a", "b", "c")
VALUES: dict[str, tuple[str, str, str | None]] = {  # type, a good value and a bad one
    "id": ("bigint primary key", "1", "one"),
    "n": ("tinyint", "-7", "300"),
    "e": ("enum('x','y')", "y", "z"),
    "m": ("decimal(5,2)", "1.50", "12345"),
    "j": ("json", '{"a": 1}', "{"),
    "d": ("date", "2024-05-05", "2024-13-01"),
    # the clocks of Berlin skip it, which Debezium alone refuses
    "at": ("timestamp(3) null", "2024-05-05 12:34:56.789", "2024-03-31 02:30:00.000"),
    "moment": ("datetime", "2024-05-05 12:34:56", "2024-00-00 00:00:61"),
    "clock": ("time(2)", "-12:34:56.78", "839:00:00"),
    "f": ("float", "0.25", "much"),
    "y": ("year", "2024", "1900"),
    "s": ("varchar(4) not null", "a<b", None),
    "b": ("varbinary(4)", "AAEC", "***"),
    "bits": ("bit(3)", "5", "9"),
    "v": ("vector(2)", "[1,2]", "[1]"),
}
COLUMNS, GOOD, BAD = ({name: each[place] for name, each in VALUES.items()} for place in range(3))
URIS = [
    "protocol=canal-json",
    "protocol=simple&encoding-format=avro",
    "protocol=avro",
    "protocol=debezium",
    "protocol=debezium-avro",
]


def plan_for(uri: str) -> Plan:
    config = load_changefeed(
        f"memory://topic/?{uri}",
        release="next" if uri.endswith("debezium-avro") else "classic",
        schema_registry="http://registry.invalid",
        time_zone="Europe/Berlin",
    )
    columns = ", ".join(f"`{name}` {sql}" for name, sql in COLUMNS.items())
    catalog = catalog_from_sql(";".join(f"create table s.{name} ({columns})" for name in TABLES))
    plan = make_plan(config, catalog.histories(), {config.kafka.topic: 1})
    registrar = Registrar(config, MemoryRegistry())
    for planned in list(plan.tables.values()):
        plan = registrar.register_rows(plan, planned, needed_by_all(planned))
    return plan


def batch_of(table: str, op: str, bad: dict[int, dict[str, str | None]]) -> pa.RecordBatch:
    images = [GOOD | {"id": str(row)} | bad.get(row, {}) for row in range(5)]
    struct = pa.struct([(name, pa.string()) for name in COLUMNS])
    before = [GOOD | {"id": str(row), "n": "1"} for row in range(5)]
    columns = {"op": pa.repeat(pa.scalar(op), 5), "commit_ts": pa.array(range(TS, TS + 5))}
    columns["before"] = pa.array(images if op == "d" else before, struct)
    columns["after"] = pa.array(images, struct)
    return change_form(pa.record_batch(columns), f"s.{table}")


def outcome(plan: Plan, batches: dict[str, pa.RecordBatch]) -> tuple[list[Any], Any]:
    found: list[Any] = []
    try:
        for each in encode_batches(
            [RowBatch.of(batch, plan.table("s", name)) for name, batch in batches.items()], plan
        ):
            found.append(each.encoded.whole().values.to_pylist())
    except TicdcEmitError as fault:
        alike = getattr(fault, "alike", None)
        return found, (type(fault), fault.args, fault.remedy, fault.context, alike and alike.places)
    return found, None


def alone(plan: Plan, batches: dict[str, pa.RecordBatch]) -> tuple[list[Any], Any]:
    with mock.patch.object(small_groups, "FEW_ROWS", 0):
        return outcome(plan, batches)


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize("op", ["c", "u", "d"])
@pytest.mark.parametrize("column", COLUMNS)
def test_a_bad_value_is_told_as_if_its_batch_were_alone(uri: str, op: str, column: str) -> None:
    plan = plan_for(uri)
    batches = {
        "a": batch_of("a", op, {}),
        "b": batch_of("b", op, {3: {column: BAD[column]}, 4: {column: BAD[column]}}),
        "c": batch_of("c", op, {0: {"n": "400"}}),
    }
    made, fault = outcome(plan, batches)
    assert (made, fault) == alone(plan, batches)
    assert made
    assert fault is not None


def test_a_default_that_shows_its_columns_name_is_made_alone() -> None:
    config = load_changefeed("memory://topic/?protocol=debezium")
    sql = "(id int primary key, b varbinary(4) default 'x')"
    catalog = catalog_from_sql(f"create table s.a {sql}; create table s.b {sql}")
    plan = make_plan(config, catalog.histories(), {config.kafka.topic: 1})
    struct = pa.struct([("id", pa.int32()), ("b", pa.string())])
    after = pa.array([{"id": 1, "b": None}], struct)
    batch = pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": after})
    batches = {"a": batch, "b": batch}
    assert outcome(plan, batches) == alone(plan, batches)


def test_what_a_batch_lacks_is_told_in_its_turn() -> None:
    plan = plan_for("protocol=canal-json")
    lacking = batch_of("b", "c", {}).drop_columns(["after"])
    batches = {"a": batch_of("a", "c", {1: {"n": "400"}}), "b": lacking, "c": batch_of("c", "c", {})}
    made, fault = outcome(plan, batches)
    assert (made, fault) == alone(plan, batches)
    assert "400" in str(fault)
    made, fault = outcome(plan, {**batches, "a": batch_of("a", "c", {})})
    assert len(made) == 1
    assert "after" in str(fault)


def test_columns_of_one_kind_are_made_in_one_call() -> None:
    plan = plan_for("protocol=canal-json")
    calls = []

    def render(column: Any, values: pa.Array) -> pa.Array:
        calls.append((column.name, len(values)))
        return values

    tables = [plan.table("s", name).newest for name in TABLES]

    def batched(texts: list[pa.Array]) -> list[BatchedColumns]:
        batcher = ColumnBatcher(Rendering())
        return [batcher.add([table.column("j")], {"j": text}) for table, text in zip(tables, texts, strict=True)]

    batcher = ColumnBatcher(Rendering())
    assert batcher.add([tables[0].column("m")], {"m": pa.array(["1"])}).accepted("m") is None  # one of its kind
    not_json = batched([pa.array([table.name, None]) for table in tables])
    assert [own.accepted("j") for own in not_json] == [None] * 3
    texts = [pa.array([f'"{table.name}"', None]) for table in tables]
    assert [own.rendered("j", "form", render) for own in batched(texts)] == texts
    assert calls == [("", 6)]
