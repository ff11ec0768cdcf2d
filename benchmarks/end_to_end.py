"""Measure Spark to Kafka end to end, against its upper bounds.

Rates over the same rows, in wall-clock seconds: Spark with an identity ``mapInArrow`` instead of encoding and delivery,
once where the rows are, and once with the rows of the topic-partition brought into one task and into order, as a sink
needs that shuffles rows; a plain confluent-kafka producer that sends the same messages from memory; and the library. A
batch sends nothing before all of its rows are encoded, so ``in_turn`` gives the bound of reading and producing one
after the other, neither of which encodes. In: a Spark session and a Kafka topic. The rows are read from Parquet files
that are written first. Other ways to send to Kafka can be measured in the same run.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.encoder import Encoder

from .inputs import change_batch, commit_stamps, make_rows, table_sql

if TYPE_CHECKING:
    from confluent_kafka import Producer
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["EndToEnd", "measure_end_to_end"]

_FILE_ROWS = 50_000
_WARM_UP_ROWS = 100_000
_FLUSH_S = 300.0


@dataclass(frozen=True)
class EndToEnd:
    """Rows per second of wall time. ``tables``: over how many typed tables the library's rows were spread.

    ``spark_identity``: every core reads rows. ``spark_ordered``: one task gets them, in order.
    """

    table: str
    tables: int
    rows: int
    library: float
    spark_identity: float
    spark_ordered: float
    raw_produce: float

    @property
    def in_turn(self) -> float:
        """The rate of reading all rows and then producing all messages, each at its upper bound."""
        return 1 / (1 / self.spark_identity + 1 / self.raw_produce)

    @property
    def ratio_to_lower(self) -> float:
        """The library's rate divided by the lower of ``spark_ordered`` and ``raw_produce``."""
        return self.library / min(self.spark_ordered, self.raw_produce)

    @property
    def ratio_to_identity(self) -> float:
        """The library's rate divided by the lower of ``spark_identity`` and ``raw_produce``."""
        return self.library / min(self.spark_identity, self.raw_produce)

    def as_dict(self) -> dict[str, Any]:
        """Return the machine-readable form."""
        return {
            "table": self.table,
            "tables": self.tables,
            "rows": self.rows,
            "rows_per_s": round(self.library),
            "spark_identity_rows_per_s": round(self.spark_identity),
            "spark_ordered_rows_per_s": round(self.spark_ordered),
            "raw_produce_rows_per_s": round(self.raw_produce),
            "ratio_to_lower": round(self.ratio_to_lower, 2),
            "ratio_to_identity": round(self.ratio_to_identity, 2),
            "ratio_to_in_turn": round(self.library / self.in_turn, 2),
        }


def measure_end_to_end(
    spark: SparkSession,
    changefeed: ChangefeedConfig,
    sink: KafkaSink,
    folder: Path,
    *,
    table: str,
    rows: int,
    tables: Sequence[int] = (1,),
    rounds: int = 1,
) -> list[EndToEnd]:
    """Insert ``rows`` rows of a bench table in all ways, interleaved over ``rounds``. Return the medians.

    ``tables``: the numbers of typed tables with the same columns over which the library's rows are spread, each a way
    of its own beside the same bounds, and a result of its own. ``folder``: where the Parquet files are written.
    The caller's ``sink`` must write to the topic of
    ``changefeed``. Raises the :class:`~ticdc_emit.errors.DeliveryError` family.
    """
    from ticdc_emit.spark import TicdcSink

    small, full = folder / "warm-up", folder / "rows"
    for source, count in ((small, min(rows, _WARM_UP_ROWS)), (full, rows)):
        _write_rows(source, table, count, min(_FILE_ROWS, -(-count // max(tables))))  # at least one file per table

    def library(count: int, source: Path) -> None:
        names = [table] if count == 1 else [f"{table}_{number:02}" for number in range(count)]
        schema = ";".join(table_sql(table).replace(f"test.{table}", f"test.{name}") for name in names)
        files = sorted(map(str, source.glob("*.parquet")))
        frames = {f"test.{name}": spark.read.parquet(*files[part::count]) for part, name in enumerate(names)}
        TicdcSink(changefeed, schema, sink=sink).write(frames)

    def identity(source: Path) -> None:
        _identity(spark.read.parquet(str(source)), table)

    def ordered(source: Path) -> None:
        rows = spark.read.parquet(str(source))
        _identity(rows.repartition(1).sortWithinPartitions("commit_ts", "after.id"), table)

    side_by_side = {f"{count} tables": partial(library, count) for count in tables}
    ways: dict[str, Callable[[Path], None]] = {"identity": identity, "ordered": ordered, **side_by_side}
    rates: dict[str, list[float]] = {name: [] for name in ways}
    raw = []
    for run in ways.values():
        run(small)  # the first run compiles in the JVM and starts the workers
    for _ in range(rounds):
        for name, run in ways.items():
            started = time.monotonic()
            run(full)
            rates[name].append(rows / (time.monotonic() - started))
        raw.append(_raw_produce(full, changefeed, sink, table))
    middle = {name: median(found) for name, found in rates.items()}
    bounds = middle["identity"], middle["ordered"], median(raw)
    library_rates = zip(tables, (middle[name] for name in side_by_side), strict=True)
    return [EndToEnd(table, count, rows, rate, *bounds) for count, rate in library_rates]


def _write_rows(folder: Path, table: str, rows: int, file_rows: int) -> None:
    folder.mkdir(parents=True)
    made_columns = make_rows(table, file_rows).columns
    keys = made_columns["id"]
    for start in range(0, rows, file_rows):
        size = min(file_rows, rows - start)
        columns = {name: array.slice(0, size) for name, array in made_columns.items()}
        columns["id"] = pa.array(np.arange(start, start + size)).cast(keys.type)
        stamps = pa.array(commit_stamps(rows).slice(start, size)).cast(pa.int64())
        batch = change_batch(Op.INSERT, stamps, after=columns)
        pq.write_table(pa.Table.from_batches([batch]), folder / f"{start:09}.parquet")


def _identity(df: DataFrame, table: str) -> None:
    from ticdc_emit.spark.frames import change_columns

    changes = change_columns(df, table)
    changes.mapInArrow(lambda batches: batches, changes.schema).write.format("noop").mode("overwrite").save()


def _raw_produce(source: Path, changefeed: ChangefeedConfig, sink: KafkaSink, table: str) -> float:
    """Send the messages of all files; their encoding is not timed.

    It waits for the delivery of each file's messages. Otherwise sending during the next file's encoding would not be
    timed.
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
        count += batch.num_rows  # a message may hold several
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
