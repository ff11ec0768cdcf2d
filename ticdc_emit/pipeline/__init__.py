"""The way of a row: PLAN, ARRANGE, ENCODE, DELIVER and REPORT, on any engine, for the micro-batches of a changefeed."""

from __future__ import annotations

from ticdc_emit.pipeline.batch import ArrowBatch, Batch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed

__all__ = ["ArrowBatch", "Batch", "Changefeed", "RunOptions", "RunReport"]
