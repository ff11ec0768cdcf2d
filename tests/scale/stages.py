"""What each stage of a batch costs: the figures that docs/scale.md reckons with.

    python tests/scale/stages.py [--rows 200000] [--protocol canal-json] [--table orders] [--skip-spark] [--json]
                                 [--whole 10.6] [--produce 1.6]

CPU time, of this process for what is pure Python and Arrow (arrange, encode, chunk, merge, plan), of the JVM
and its workers for what is Spark's (rows to Arrow, the shuffle of chunks). One line for each: microseconds for each
row, and nanoseconds for each byte of messages, or what the line names. At the end, what the page reckons from them: E,
D and rows per second. Two costs in it are measured elsewhere: producing to a broker (``--produce``, the CPU time of a
delivering task of ``end_to_end.py`` less the merging), and a whole batch (``--whole``, from ``many_tables.py``), whose
rest, Spark's own, is counted in E.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds benchmarks
import numpy as np
import pyarrow as pa
from cpu_time import cpu_seconds
from many_tables import CountingSink, write_rows

from benchmarks.inputs import change_batch, commit_stamps, make_rows, table_sql
from ticdc_emit.changes.model import Op
from ticdc_emit.config import load_changefeed
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.chunks import Buckets, ChunkFolder, ChunkKind
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.run import Changefeed

_BATCH_ROWS = 10_000  # what Spark hands to a worker at once
_ROUNDS = 3
_MOST_PER_PARTITION = 350_000  # messages of 1 KB a second that one topic-partition takes
_PLACES = ((1, 1), (2, 1), (10, 1), (10, 10), (1_000, 1), (1_000, 1_000))
_READ = "Parquet to rows to Arrow to Python: us/row"
_SHUFFLE = "chunks from Python through the shuffle to Python: ns/byte"
_CHUNK, _HAND = "chunk (sort, cut, compress)", "merge and hand to a writer (Python bytes)"
_CHUNK_BYTES = "bytes of a message in a chunk"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--protocol", default="canal-json", choices=["canal-json", "simple", "debezium"])
    parser.add_argument("--table", default="orders", choices=["orders", "sbtest"])
    parser.add_argument("--skip-spark", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--whole", type=float, default=10.6, help="us for each row of a batch to a sink that counts")
    parser.add_argument("--produce", type=float, default=1.6, help="us for each row, to a broker")
    asked = parser.parse_args()
    found = {
        **of_rows(asked.table, asked.protocol, asked.rows),
        **of_plans(asked.protocol),
        **of_places(asked.protocol),
    }
    if not asked.skip_spark:
        found |= of_spark(asked.table, 5 * asked.rows)
        found |= reckoned(found, asked.whole, asked.produce)
    for name, value in found.items():
        print(json.dumps({name: value}) if asked.json else f"{name:64} {value:>14,.2f}")


def of_rows(table: str, protocol: str, rows: int) -> dict[str, float]:
    """The stages that see rows: what each adds, over inserts in order, and over the same ones shuffled."""
    feed = _feed(table_sql(table), protocol)
    plan = feed.outline
    (key,) = plan.tables
    task = EncodeTask(plan, "error", None, Buckets(plan.targets, 1), key)
    in_order = list(input_batches(table, rows))

    def arrange() -> None:
        sorter = RowSorter(plan, key, "error", None)
        for block in sorter.gather(in_order):
            for _ in sorter.sort(block):
                pass

    def messages() -> int:
        sorter, size = RowSorter(plan, key, "error", None), 0
        for block in sorter.gather(in_order):
            for rows in sorter.sort(block):
                for made in encode_batches(rows.bounded(), plan):
                    size += made.encoded.values.nbytes + made.encoded.filled_keys().nbytes
        return size

    def deliver(chunks: list[pa.RecordBatch]) -> None:
        for _ in DeliverTask(plan, ControlSchedule(), CountingSink())(iter(chunks)):
            pass

    shuffled = list(in_random_order(in_order))
    chunks, mixed = list(task(iter(in_order))), list(task(iter(shuffled)))
    size = messages()
    arranged = _least(arrange)
    encoded = _least(messages)
    chunked = _least(lambda: list(task(iter(in_order))))
    filed = _least(lambda: _in_files(task, in_order))
    cost = {
        "arrange": arranged,
        "encode": encoded - arranged,
        _CHUNK: chunked - encoded,
        "chunk, kept in a file": filed - encoded,
        _HAND: _least(lambda: deliver(chunks)),
        "the same, chunks that all overlap": _least(lambda: deliver(mixed)),
    }
    found: dict[str, float] = {}
    for name, seconds in cost.items():
        found[f"{name}: us/row"] = seconds / rows * 1e6
        found[f"{name}: ns/byte"] = seconds / size * 1e9
    bodies = sum(each.nbytes for each in chunks)
    count = sum(each.column("kind").to_pylist().count(ChunkKind.MESSAGES) for each in chunks)
    return {
        "bytes of a message": size / rows,
        _CHUNK_BYTES: bodies / rows,
        "rows of a chunk": rows / count,
        **found,
    }


def _in_files(task: EncodeTask, batches: list[pa.RecordBatch]) -> None:
    """Make the chunks of one machine, with the files that they leave."""
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-stages-") as folder:
        for _ in replace(task, folder=ChunkFolder(folder, 1 << 34))(iter(batches)):
            pass


def of_plans(protocol: str) -> dict[str, float]:
    """What the driver does for each table, and what every task is sent of it."""
    found = {}
    for count in (100, 1_000, 5_000):
        schema = ";".join(_renamed(table_sql("orders"), number) for number in range(count))
        started = time.process_time()
        feed = _feed(schema, protocol)
        plan = feed.outline
        found[f"plan of {count} tables: ms/table"] = (time.process_time() - started) / count * 1e3
        task = pickle.dumps(EncodeTask(plan, "error", None, Buckets(plan.targets, 1)))
        found[f"plan of {count} tables in a task: bytes/table"] = len(task) / count
        started = time.process_time()
        pickle.loads(task)
        found[f"plan of {count} tables, read by a task: ms/table"] = (time.process_time() - started) / count * 1e3
    return found


def of_places(protocol: str) -> dict[str, float]:
    """What a topic-partition and a chunk cost, whatever is in them."""
    batch = ArrowBatch(list(input_batches("orders", 2_000)))
    times = {}
    for partitions in (1, 1_001):
        feeds = [_feed(table_sql("orders"), protocol, partitions) for _ in range(_ROUNDS)]
        times[partitions] = _least(lambda feeds=feeds: feeds.pop().run(batch, 0, final=True))
    return {
        "a batch of 2,000 rows to one partition: ms": times[1] * 1e3,
        "each further partition that has 2 of the rows: ms": times[1_001] - times[1],
    }


def of_spark(table: str, rows: int) -> dict[str, float]:
    """Rows to a Python worker, and chunks through the shuffle."""
    from ticdc_emit.spark import local_session

    body = os.urandom(500_000)

    def counted(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": pa.array([sum(batch.num_rows for batch in batches)])})

    def as_chunks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _ in range(max(1, batch.num_rows // 2_500)):
                yield pa.record_batch({"bucket": pa.array([0], pa.int32()), "body": pa.array([body], pa.binary())})

    spark = local_session("stages", spark_master="local[2]", spark_driver_memory="4g")
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-stages-") as folder:
        write_rows(Path(folder, "rows"), table, rows)
        changes = spark.read.parquet(str(Path(folder, "rows")))
        chunks = changes.mapInArrow(as_chunks, "bucket int, body binary")
        jobs: dict[str, Callable[[], Any]] = {
            "nothing": lambda: spark.range(2).mapInArrow(counted, "n long").toArrow(),
            "rows": lambda: changes.mapInArrow(counted, "n long").toArrow(),
            "chunks": lambda: chunks.repartitionById(1, "bucket").mapInArrow(counted, "n long").toArrow(),
        }
        cost = {name: min(_cpu(job) for _ in range(_ROUNDS + 2)) for name, job in jobs.items()}
        limit = "spark.sql.execution.arrow.maxBytesPerBatch"
        given = spark.conf.get(limit)
        spark.conf.set(limit, str((1 << 31) - 1))
        cost["unlimited"] = min(_cpu(jobs["rows"]) for _ in range(_ROUNDS))
        spark.conf.set(limit, given or "")
    spark.stop()
    sent = rows // 2_500 * len(body)
    return {
        "a Spark job of two stages: ms": cost["nothing"] * 1e3,
        _READ: (cost["rows"] - cost["nothing"]) / rows * 1e6,
        f"the same without {limit}: us/row": (cost["unlimited"] - cost["nothing"]) / rows * 1e6,
        _SHUFFLE: (cost["chunks"] - cost["rows"]) / sent * 1e9,
    }


def reckoned(found: dict[str, float], whole: float, produce: float) -> dict[str, float]:
    """What a row costs before and behind the shuffle, and the rows per second of a large batch that follow from it."""
    shuffle = found[_SHUFFLE] * found[_CHUNK_BYTES] / 1e3
    before = found[_READ] + sum(found[f"{name}: us/row"] for name in ("arrange", "encode", _CHUNK))
    behind = found[f"{_HAND}: us/row"]
    encode = before + shuffle / 2 + max(0.0, whole - before - shuffle - behind)
    deliver = behind + shuffle / 2 + produce
    made = {"shuffle: us/row": shuffle, "E: us/row": encode, "D: us/row": deliver}
    for cores, partitions in _PLACES:
        row = encode / cores + max(deliver / cores, 1e6 / _MOST_PER_PARTITION / partitions)
        made[f"{cores:,} cores, {partitions:,} topic-partitions: rows/s"] = 1e6 / row
    return made


def _feed(schema: str, protocol: str, partitions: int = 1) -> Changefeed:
    extension = "" if protocol == "simple" else "&enable-tidb-extension=true"
    dispatchers = [{"matcher": ["*.*"], "partition": "index-value"}]
    uri = f"memory://x/t?protocol={protocol}{extension}&partition-num={partitions}"
    return Changefeed(
        load_changefeed(uri, {"sink": {"dispatchers": dispatchers if partitions > 1 else []}}), CountingSink(), schema
    )


def input_batches(table: str, rows: int) -> Iterator[pa.RecordBatch]:
    """Yield inserts of a table of the benchmarks, in the batches in which Spark hands them to a worker."""
    columns = make_rows(table, min(rows, 50_000)).columns
    stamps = commit_stamps(rows)
    for start in range(0, rows, _BATCH_ROWS):
        size = min(_BATCH_ROWS, rows - start)
        keys = pa.array(np.arange(start, start + size)).cast(columns["id"].type)
        part = {name: values.slice(start % 50_000, size) for name, values in columns.items()} | {"id": keys}
        yield change_batch(Op.INSERT, stamps.slice(start, size).cast(pa.int64()), after=part)


def in_random_order(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of batches in random order."""
    whole = pa.Table.from_batches(batches)
    order = np.random.default_rng(1).permutation(whole.num_rows)
    yield from whole.take(pa.array(order)).combine_chunks().to_batches(max_chunksize=_BATCH_ROWS)


def _renamed(sql: str, number: int) -> str:
    return sql.replace("test.orders", f"test.orders_{number:06}")


def _least(work: Callable[[], Any]) -> float:
    """Return the CPU seconds of this process of the quickest of some rounds."""
    times = []
    for _ in range(_ROUNDS):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def _cpu(work: Callable[[], Any]) -> float:
    started = cpu_seconds()
    work()
    return cpu_seconds() - started


if __name__ == "__main__":
    main()
