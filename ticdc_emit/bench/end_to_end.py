"""End to end: Spark to Kafka, against the two things that bound it.

Three rates over the same rows, in wall-clock seconds: the Spark plan of the sink with an identity ``mapInArrow`` in the
place of encoding and delivery; a plain confluent-kafka producer that sends the very same messages from memory; and the
library. In: a Spark session and a place in Kafka. The rows are read from Parquet files that are written first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ticdc_emit.bench.inputs import change_batch, commit_stamps, make_rows, table_sql
from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.encoder import Encoder

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["EndToEnd", "measure_end_to_end"]

_FILE_ROWS = 50_000
_WARM_UP_ROWS = 100_000
_FLUSH_S = 300.0


@dataclass(frozen=True)
class EndToEnd:
    """Rows per second of wall time."""

    table: str
    rows: int
    library: float
    spark_identity: float
    raw_produce: float

    @property
    def ratio_to_lower(self) -> float:
        """The library's rate over the lower of the two bounds."""
        return self.library / min(self.spark_identity, self.raw_produce)

    def as_dict(self) -> dict[str, Any]:
        """Return the machine-readable form."""
        return {
            "table": self.table,
            "rows": self.rows,
            "rows_per_s": round(self.library),
            "spark_identity_rows_per_s": round(self.spark_identity),
            "raw_produce_rows_per_s": round(self.raw_produce),
            "ratio_to_lower": round(self.ratio_to_lower, 2),
        }


def measure_end_to_end(
    spark: SparkSession,
    changefeed: ChangefeedConfig,
    sink: KafkaSink,
    folder: Path,
    *,
    table: str,
    rows: int,
    rounds: int = 1,
) -> EndToEnd:
    """Insert ``rows`` rows of a bench table in three ways, in ``rounds`` that interleave them; each one's median.

    ``folder`` takes the Parquet files. The caller's ``sink`` must lead to the topic of ``changefeed``. Raises the
    :class:`~ticdc_emit.errors.DeliveryError` family.
    """
    from ticdc_emit.spark import TicdcSink

    small, full = folder / "warm-up", folder / "rows"
    _write_rows(small, table, min(rows, _WARM_UP_ROWS))
    _write_rows(full, table, rows)

    def library(source: Path) -> None:
        TicdcSink(changefeed, table_sql(table), sink=sink).write(spark.read.parquet(str(source)))

    def identity(source: Path) -> None:
        _identity(spark.read.parquet(str(source)), changefeed, table)

    rates: dict[Callable[[Path], None], list[float]] = {identity: [], library: []}
    raw = []
    for run in rates:
        run(small)  # the JVMs compile, the workers start and import
    for _ in range(rounds):
        for run, found in rates.items():
            started = time.monotonic()
            run(full)
            found.append(rows / (time.monotonic() - started))
        raw.append(_raw_produce(full, changefeed, sink, table))
    return EndToEnd(table, rows, median(rates[library]), median(rates[identity]), median(raw))


def _write_rows(folder: Path, table: str, rows: int) -> None:
    folder.mkdir(parents=True)
    made = make_rows(table, min(rows, _FILE_ROWS)).columns
    keys = made["id"]
    for start in range(0, rows, _FILE_ROWS):
        size = min(_FILE_ROWS, rows - start)
        columns = {name: array.slice(0, size) for name, array in made.items()}
        columns["id"] = pa.array(np.arange(start, start + size)).cast(keys.type)
        stamps = pa.array(commit_stamps(rows).slice(start, size)).cast(pa.int64())
        batch = change_batch(Op.INSERT, stamps, after=columns)
        pq.write_table(pa.Table.from_batches([batch]), folder / f"{start:09}.parquet")


def _identity(df: DataFrame, changefeed: ChangefeedConfig, table: str) -> None:
    from ticdc_emit.spark.frame import change_columns

    changes = change_columns(df, table)
    changes.mapInArrow(lambda batches: batches, changes.schema).write.format("noop").mode("overwrite").save()


def _raw_produce(source: Path, changefeed: ChangefeedConfig, sink: KafkaSink, table: str) -> float:
    """Send the messages of all files; their encoding is not timed.

    Every file's messages are awaited: a producer that goes on sending while the next ones are encoded would be given
    that time.
    """
    from confluent_kafka import Producer

    encoder = Encoder(changefeed, table_sql(table), partitions=1)
    topic = changefeed.kafka.topic
    producer = Producer(sink.producer_settings(sink.message_limit([topic])))
    spent, count = 0.0, 0
    for batch in _batches(source):
        messages = encoder.encode(batch)
        keys, values = messages.column("key").to_pylist(), messages.column("value").to_pylist()
        started = time.monotonic()
        _send(producer, topic, keys, values)
        producer.flush(_FLUSH_S)
        spent += time.monotonic() - started
        count += len(values)
    return count / spent


def _send(producer: Producer, topic: str, keys: list[bytes], values: list[bytes]) -> None:
    for key, value in zip(keys, values, strict=True):
        while True:
            try:
                producer.produce(topic, value, key, 0)
                break
            except BufferError:
                producer.poll(0.05)
    producer.poll(0)


def _batches(source: Path) -> Iterator[pa.RecordBatch]:
    for file in sorted(source.glob("*.parquet")):
        yield from pq.read_table(file).to_batches()
