"""A changefeed of many tables beside one of one table: rows per CPU-second and per second, to a sink that only counts.

    python tests/scale/many_tables.py [--rows 1000000] [--tables 1 3 20 60] [--protocol canal-json] [--times 1]

Rows are read from Parquet. ``typed``: one DataFrame of each table, side by side; ``generic``: one of all, with maps of
text made by plain casts; ``spark``: no changefeed, Spark hands the rows to workers that drop them. CPU time is that of
the JVM, its Python workers and this process; ``us_per_row`` is its split (``cpu_time``). With more ``--times`` in one
session, the later ones have less for the JVM to compile.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds benchmarks
import pyarrow as pa
import pyarrow.parquet as pq
from cpu_time import PARTS, cpu_seconds_by_part

from benchmarks.inputs import change_batch, commit_stamps, make_rows, table_sql
from ticdc_emit.changes.model import Op
from ticdc_emit.delivery.base import PartitionBatch, TaskWriter
from ticdc_emit.spark import TicdcSink, local_session

_FILE_ROWS = 50_000
_URIS = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true",
    "simple": "protocol=simple",
    "debezium": "protocol=debezium",
    "debezium-noschema": "protocol=debezium&debezium-disable-schema=true",
}


@dataclass(frozen=True)
class CountingSink:
    """A :class:`~ticdc_emit.delivery.base.Sink` that counts."""

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return {topic: asked or 1 for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        return 10 * 1024 * 1024

    def open(self, max_message_bytes: int) -> TaskWriter:
        return _Counter(max_message_bytes)


class _Counter(TaskWriter):
    def check_target(self, topic: str, partition: int) -> None:
        pass

    def enqueue(self, batch: PartitionBatch) -> None:
        pass

    def settle(self) -> None:
        pass

    def release(self, failed: bool) -> None:
        pass


def write_rows(folder: Path, table: str, rows: int) -> None:
    folder.mkdir(parents=True)
    columns = make_rows(table, min(rows, _FILE_ROWS)).columns
    stamps = commit_stamps(rows)
    for start in range(0, rows, _FILE_ROWS):
        size = min(_FILE_ROWS, rows - start)
        keys = pa.array(range(start, start + size)).cast(columns["id"].type)
        part = {name: values.slice(0, size) for name, values in columns.items()} | {"id": keys}
        batch = change_batch(Op.INSERT, stamps.slice(start, size).cast(pa.int64()), after=part)
        pq.write_table(pa.Table.from_batches([batch]), folder / f"{start:09}.parquet")


def as_generic(df: Any, name: str) -> Any:
    from pyspark.sql import functions as F  # noqa: N812

    def text(field: Any) -> Any:
        value = F.col("after")[field.name]
        return F.base64(value) if field.dataType.simpleString() == "binary" else value.cast("string")

    fields = df.schema["after"].dataType.fields
    after = F.create_map(*(part for each in fields for part in (F.lit(each.name), text(each))))
    named = [F.lit("test").alias("schema"), F.lit(name).alias("table")]
    return df.select(*named, "op", "commit_ts", after.alias("after"))


def measure(spark: Any, folder: Path, table: str, count: int, rows: int, form: str, protocol: str) -> dict[str, Any]:
    names = [f"{table}_{number:02}" for number in range(count)]
    schema = ";".join(table_sql(table).replace(f"test.{table}", f"test.{name}") for name in names)
    source = folder / f"{table}-{rows // count}"
    if not source.exists():
        write_rows(source, table, rows // count)
    frames = {f"test.{name}": spark.read.parquet(str(source)) for name in names}
    changes = frames
    if form == "generic":
        changes = reduce(lambda one, two: one.union(two), (as_generic(df, name[5:]) for name, df in frames.items()))
    sink = TicdcSink(f"memory://x/t?{_URIS[protocol]}&partition-num=1", schema, sink=CountingSink())
    before, started = cpu_seconds_by_part(), time.monotonic()
    done = sum(map(handed_over, frames.values())) if form == "spark" else sink.write(changes).rows
    seconds, after = time.monotonic() - started, cpu_seconds_by_part()
    cpu = {part: after[part] - before[part] for part in PARTS}
    return {
        "table": table,
        "tables": count,
        "form": form,
        "protocol": protocol,
        "rows": done,
        "rows_per_cpu_s": round(done / sum(cpu.values())),
        "rows_per_s": round(done / seconds),
        "us_per_row": {part: round(1e6 * taken / done, 2) for part, taken in cpu.items()},
    }


def handed_over(df: Any) -> int:
    """Return how many rows Spark hands to workers that do nothing with them."""

    def dropped(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            yield pa.record_batch({"rows": pa.array([batch.num_rows], pa.int64())})

    return sum(row[0] for row in df.mapInArrow(dropped, "rows long").collect())


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 3, 20, 60])
    parser.add_argument("--table", nargs="+", default=["orders", "sbtest"])
    parser.add_argument("--form", nargs="+", default=["typed", "generic"], choices=["typed", "generic", "spark"])
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--protocol", nargs="+", default=["canal-json"], choices=list(_URIS))
    parser.add_argument("--master", default="local[2]")
    asked = parser.parse_args()
    spark = local_session("many-tables", spark_master=asked.master, spark_driver_memory="4g")
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-many-") as folder:
        for protocol in asked.protocol:
            for table in asked.table:
                for form in asked.form:
                    measure(spark, Path(folder), table, 1, 100_000, form, protocol)  # the JVM compiles
                    for count in asked.tables * asked.times:
                        made = measure(spark, Path(folder), table, count, asked.rows, form, protocol)
                        print(json.dumps(made), file=sys.stdout, flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
