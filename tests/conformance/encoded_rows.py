"""The messages of one table's rows in change form, for tests of encoders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from ticdc_emit.columnar.values import Rendering
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.large_messages import LargeMessages
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.routing.topics import Router
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo


def encode_rows(rows: pa.RecordBatch, table: TablePlan, plan: Plan) -> EncodedRows:
    return next(encode_batches([RowBatch.of(rows, table)], plan))


def table_of(sql: str) -> TableInfo:
    """Return the only table of a script."""
    (info,) = catalog_from_sql(sql).tables()
    return info


def encode_changes(
    table: str | TableInfo, changes: Iterable[Mapping[str, Any]], codec: Any, zone: str, *more: Any
) -> EncodedRows:
    """Return changes encoded as one batch; ``more``: what a plan has after its settings for large messages."""
    info = table_of(table) if isinstance(table, str) else table
    planned = TablePlan(info.schema, info.name, (0,), (codec.rows(info),), "topic", 0)
    tables, router = {(info.schema, info.name): planned}, Router("topic", {"topic": 1})
    plan = Plan(codec, tables, router, Rendering(zone), LargeMessages(), *more)
    return encode_rows(rows_to_batch(changes, info), planned, plan)
