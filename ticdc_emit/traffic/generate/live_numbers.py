"""The numbers of changes in wall time: a Spark source that follows the traffic's own clock.

In: the commit time of change 0 and the distance between changes, both as TSO. Out: a stream of numbers in the column
``value``. A number appears as soon as the wall clock reaches the change's commit time. Spark's own ``rate`` source is
not used, because it counts whole seconds from a start that only Spark knows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from ticdc_emit.tso import compose

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from ticdc_emit.traffic.generate.cycle import Clock

_ROWS_PER_TASK = 25_000
_BATCH_ROWS = 10_000
_OFFSET = "changes"


def live_numbers(spark: SparkSession, clock: Clock, rows: int | None, rows_per_batch: int) -> DataFrame:
    """Return the numbers of changes as a streaming DataFrame; ``rows``: the number of changes, ``None`` for no end."""
    spark.dataSource.register(LiveNumbers)
    settings = {"start": clock.start, "tick": clock.tick, "rows": -1 if rows is None else rows, "most": rows_per_batch}
    return spark.readStream.format(LiveNumbers.name()).options(**settings).load()


class LiveNumbers(DataSource):  # type: ignore[misc]
    """Options: ``start`` and ``tick`` as TSO, ``rows`` (-1: no end), ``most`` in a micro-batch."""

    @classmethod
    def name(cls) -> str:
        return "ticdc-live-numbers"

    def schema(self) -> str:
        return "value bigint"

    def streamReader(self, schema: StructType) -> LiveReader:  # noqa: N802 - Spark's name
        return LiveReader(*(int(self.options[name]) for name in ("start", "tick", "rows", "most")))


@dataclass
class _Span(InputPartition):  # type: ignore[misc]
    first: int
    last: int


class LiveReader(DataSourceStreamReader):  # type: ignore[misc]
    """An offset is the number of changes made so far. ``rows`` below 0: no end."""

    def __init__(self, start: int, tick: int, rows: int, most: int) -> None:
        self._start, self._tick, self._rows, self._most = start, tick, rows, most
        self._reached: int | None = None  # after a restart, what Spark has already read is not known yet

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        self._reached = 0
        return {_OFFSET: 0}

    def latestOffset(self) -> dict[str, Any]:  # noqa: N802
        """Return the number of changes made by now; a backlog is read in several batches."""
        now = compose(time.time_ns() // 1_000_000)
        changes = max(0, (now - self._start) // self._tick + 1)
        if self._rows >= 0:
            changes = min(changes, self._rows)
        return {_OFFSET: changes if self._reached is None else min(changes, self._reached + self._most)}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        first, last = start[_OFFSET], end[_OFFSET]
        self._reached = last
        return [_Span(at, min(at + _ROWS_PER_TASK, last)) for at in range(first, last, _ROWS_PER_TASK)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the numbers of a span; runs on executors."""
        assert isinstance(partition, _Span)
        for at in range(partition.first, partition.last, _BATCH_ROWS):
            numbers = range(at, min(at + _BATCH_ROWS, partition.last))
            yield pa.record_batch({"value": pa.array(numbers, pa.int64())})
