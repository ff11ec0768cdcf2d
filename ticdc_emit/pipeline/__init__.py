"""The way of a row (ARCHITECTURE.md), on any engine, for the micro-batches of a changefeed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.pipeline.batch import Batch as Batch
    from ticdc_emit.pipeline.direct import ArrowBatch as ArrowBatch
    from ticdc_emit.pipeline.options import RunOptions as RunOptions
    from ticdc_emit.pipeline.report import RunReport as RunReport
    from ticdc_emit.pipeline.run import Changefeed as Changefeed

__getattr__, __dir__ = lazy(__name__)
