"""A changefeed: everything between the encoders and a consumer, for the micro-batches of any engine.

In: batches of row changes and DDL (:class:`~ticdc_emit.changefeed.batch.Batch`), with ids that a restarted source
gives again. Out: messages of all tables in commit order on every topic-partition, control messages in their places,
per-batch state, and a :class:`RunReport` per batch. Knows neither Spark nor Kafka: ``spark`` brings batches that are
DataFrames, ``delivery`` the places where messages go.
"""

from __future__ import annotations

from ticdc_emit.changefeed.arrow_batch import ArrowBatch
from ticdc_emit.changefeed.batch import Batch
from ticdc_emit.changefeed.options import RunOptions
from ticdc_emit.changefeed.report import RunReport
from ticdc_emit.changefeed.run import Changefeed

__all__ = ["ArrowBatch", "Batch", "Changefeed", "RunOptions", "RunReport"]
