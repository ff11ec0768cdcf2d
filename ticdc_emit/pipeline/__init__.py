"""The way of a row: PLAN, ARRANGE, ENCODE, DELIVER and REPORT, on any engine, for the micro-batches of a changefeed.

The forms of a row, each with the module that makes it:

- the input: a Spark row, an Arrow batch, a mapping (``python_rows``, ``changes.arrow_input``)
- ``RowBatch``: read, checked for shape, filtered, updates split, in total order with order keys (``row_sorter``)
- ``Changes``: those of one table version and one kind; images by column, all values checked (``row_reader``)
- ``Encoded``: the keys and values that a protocol made, as Arrow binary (``protocols``)
- ``EncodedRows``: these in the order of their ``RowBatch``, with order keys and targets (``encode``)
- ``Chunk``: one topic-partition's messages as an Arrow IPC body or a file (``chunks``); crosses the shuffle
- ``MergedRows``: a topic-partition's messages in total order, control messages among them (``merge``)
- ``PartitionBatch``: these as Python objects, for the producer (``merge``, ``delivery.base``)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ticdc_emit.exports import lazy

if TYPE_CHECKING:
    from ticdc_emit.pipeline.batch import Batch
    from ticdc_emit.pipeline.direct import ArrowBatch
    from ticdc_emit.pipeline.options import RunOptions
    from ticdc_emit.pipeline.report import RunReport
    from ticdc_emit.pipeline.run import Changefeed

__all__ = ["ArrowBatch", "Batch", "Changefeed", "RunOptions", "RunReport"]

# an encoder needs none of these
_HOMES = {
    "ArrowBatch": "direct",
    "Batch": "batch",
    "Changefeed": "run",
    "RunOptions": "options",
    "RunReport": "report",
}

__getattr__, __dir__ = lazy(__name__, _HOMES)
