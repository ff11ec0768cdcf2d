"""The messages of one table's rows in change form, for tests of encoders."""

from __future__ import annotations

import pyarrow as pa

from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.encode.chunks import EncodedRows
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan


def encode_rows(rows: pa.RecordBatch, table: TablePlan, plan: Plan) -> EncodedRows:
    return next(encode_batches([RowBatch.of(rows, table)], plan))
