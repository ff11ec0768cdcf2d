"""The lines of the benchmark: what each encodes, from which batch, and the rate of TiCDC's Go encoder for it.

A line is a closure without arguments that returns a message batch. Its input, an Arrow batch in change form, is made
beforehand. The closure does what a worker does with such a batch: read and check it, encode it, lay out the messages
for the sink.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.model import Op
from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import parse_protocol_name
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.encode.chunks import Buckets
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.encode.message_packing import packed_messages
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import Plan, make_plan, topics_of
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql

from .inputs import (
    BUILD_TS,
    TABLES,
    change_batch,
    commit_stamps,
    golden_catalog,
    golden_row,
    golden_value,
    make_rows,
    make_update,
    relative_sql,
    sibling_sql,
)

__all__ = ["CHUNK", "MIXED_BAR", "ONE_TABLE_BAR", "VARIANTS", "BenchError", "Line", "bench_lines", "check_golden"]

CHUNK = 10_000
"""Rows per batch."""

VARIANTS = {
    "canal-json-ext": "protocol=canal-json&enable-tidb-extension=true",
    "avro-ext": "protocol=avro&enable-tidb-extension=true",
    "simple-json": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "debezium": "protocol=debezium",
    "debezium-noschema": "protocol=debezium&debezium-disable-schema=true",
}
"""The variants of ``reference.json`` that this version encodes, as parameters of a sink URI."""

_UNMEASURED = {
    "debezium-avro": "protocol=debezium-avro&avro-bigint-unsigned-handling-mode=string",
    "open-protocol": "protocol=open-protocol",
    "csv": "protocol=csv",
}
"""Variants without a Go figure."""

_REGISTRY = "http://registry.invalid"  # schemas are registered in memory
ONE_TABLE_BAR, MIXED_BAR = 2.0, 0.7
"""The least acceptable multiple of the Go figure: for rows of one table, and for rows of many tables mixed."""

_GROUPS = 60
_GROUP_ROWS = 10_000
_OPS = (Op.INSERT, Op.UPDATE)


class BenchError(TicdcEmitError, AssertionError):
    """The encoder's bytes differ from TiCDC's, so its rate means nothing. ``line`` names what was compared."""


@dataclass(frozen=True)
class Line:
    """``run`` encodes ``rows`` rows. ``go`` is the Go encoder's rate in units, ``None`` for a line without a bar.

    ``bar``: the least acceptable multiple of ``go``.
    """

    name: str
    rows: int
    run: Callable[[], object]
    go: float | None
    bar: float = ONE_TABLE_BAR


@cache
def _go_rates() -> dict[str, float]:
    reference = json.loads(Path(__file__).with_name("reference.json").read_text(encoding="utf-8"))
    return {name: rate["x_unit"] for name, rate in reference["rates"].items()}


def _plan(variant: str, catalog: Catalog, partitions: int = 1) -> Plan:
    parameters = {**VARIANTS, **_UNMEASURED}[variant]
    protocol, _ = parse_protocol_name(parse_qs(parameters)["protocol"][0])
    (lineage, *_) = protocol.releases
    sink = "memory://bench/" if protocol.spec.queued else "noop://bench/"
    config = load_changefeed(f"{sink}?{parameters}", release=lineage, schema_registry=_REGISTRY)
    topics = topics_of(config, catalog.histories())
    plan = make_plan(config, catalog.histories(), dict.fromkeys(topics, partitions), build_ts=BUILD_TS)
    registrar = Registrar(config, MemoryRegistry())
    for table in list(plan.tables.values()):
        plan = registrar.register_rows(plan, table, needed_by_all(table))
    return plan


def _encode(batch: pa.RecordBatch, plan: Plan, table: str) -> Callable[[], pa.RecordBatch]:
    planned = plan.table("test", table)

    def run() -> pa.RecordBatch:
        encoded = next(encode_batches([RowBatch.of(batch, planned)], plan)).encoded
        return packed_messages(encoded, planned.topic, planned.partition, batch.column("commit_ts"), plan)

    return run


def _batch(table: str, op: Op, rows: int, *, all_changed: bool = False) -> pa.RecordBatch:
    made = make_rows(table, rows)
    before = make_update(made, all_changed=all_changed) if op is Op.UPDATE else None
    return change_batch(op, commit_stamps(rows), after=made.columns, before=before)


def check_golden() -> list[str]:
    """Encode the recorded row of every line with a bar; return the lines' names. Raises :class:`BenchError`."""
    checked = []
    for variant in VARIANTS:
        for table in TABLES:
            plan = _plan(variant, golden_catalog(table))
            for op in _OPS:
                name = f"{variant}/{table}/{op.value}"
                value = _encode(golden_row(table, op), plan, table)().column("value")[0].as_py()
                if value != golden_value(name):
                    raise BenchError("the encoder's bytes differ from TiCDC's", line=name)
                checked.append(name)
    return checked


def bench_lines() -> list[Line]:
    """Return all lines: first those with a bar (one table, named as in ``reference.json``), then those without."""
    barred: list[Line] = []
    free: list[Line] = []
    for variant in (*VARIANTS, *_UNMEASURED):
        measured = barred if variant in VARIANTS else free
        for table in TABLES:
            plan = _plan(variant, golden_catalog(table))
            for op in _OPS:
                name = f"{variant}/{table}/{op.value}"
                measured.append(
                    Line(name, CHUNK, _encode(_batch(table, op, CHUNK), plan, table), _go_rates().get(name))
                )
            changed = _encode(_batch(table, Op.UPDATE, CHUNK, all_changed=True), plan, table)
            free.append(Line(f"{variant}/{table}/update, every cell changed", CHUNK, changed, None))
            free.append(
                Line(
                    f"{variant}/{table}/insert, a batch of one",
                    1,
                    _encode(_batch(table, Op.INSERT, 1), plan, table),
                    None,
                )
            )
        measured.append(_many_tables(variant, f"{_GROUPS} tables mixed", sibling_sql))
        measured.append(_many_tables(variant, f"{_GROUPS} tables of other columns mixed", relative_sql))
    return barred + free


def _many_tables(variant: str, which: str, sql: Callable[[str, int], str]) -> Line:
    """Encode the inserts of many tables in one stream that alternates between them row by row, as an encoding task gets
    it.

    Go's encoders take one row at a time, whatever its table, so the figure for one table applies.
    """
    catalog = catalog_from_sql(";".join(sql("orders", number) for number in range(_GROUPS)))
    batch = _batch("orders", Op.INSERT, _GROUP_ROWS)
    order = np.random.default_rng(3).integers(0, _GROUPS, _GROUP_ROWS)
    stream = {
        "schema": pa.repeat(pa.scalar("test"), _GROUP_ROWS),
        "table": pa.array([table.name for table in catalog.tables()]).take(pa.array(order)),
    } | {name: batch.column(name) for name in batch.schema.names}
    mixed = pa.record_batch(stream)
    plan = _plan(variant, catalog)
    task = EncodeTask(plan, "emit", None, Buckets(plan.targets, 1))
    name = f"{variant}/orders/insert"
    return Line(f"{name}, {which}", _GROUP_ROWS, lambda: list(task(iter([mixed]))), _go_rates().get(name), MIXED_BAR)
