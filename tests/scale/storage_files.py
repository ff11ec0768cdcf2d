"""What it costs to write encoded rows to the files of a storage sink, beside pyarrow that writes the same bytes.

    python tests/scale/storage_files.py [--rows 1000000] [--protocol csv] [--table orders] [--flush 10m] [--rounds 7]
                                        [--skip-spark] [--json]

Every line writes the same files to the same file system: ``pyarrow.fs`` from memory, each file with one call; DELIVER's
writing of merged rows; the whole of a delivering task, which reads chunks, checks and merges them: chunks in files, as
in a local session, compressed ones, as after a shuffle, and chunks that all overlap. Each is measured in turns with
pyarrow, so a busy machine slows both alike, and the best round of each counts. The goal is 0.8 for the writing.
``end to end``: rows of Parquet through Spark (``local[2]``) to files, and to ``noop://``, with the CPU time of the JVM
and its workers.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds benchmarks
import pyarrow as pa
import pyarrow.fs
from cpu_time import cpu_seconds
from many_tables import write_rows
from stages import in_random_order, input_batches

from benchmarks.inputs import table_sql
from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, read_results
from ticdc_emit.pipeline.deliver.file_delivery import write_files
from ticdc_emit.pipeline.deliver.merge import Merge, MergedRows
from ticdc_emit.pipeline.encode.chunks import Buckets, ChunkFolder, ChunkStore
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.run import Changefeed

_LIMIT = 1 << 30


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--protocol", default="csv", choices=["csv", "canal-json"])
    parser.add_argument("--table", default="orders", choices=["orders", "sbtest"])
    parser.add_argument(
        "--flush", default="10m", help="the flush interval: of commit time, in which 3,000 rows are 1 s"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where files are written; else a temporary folder")
    parser.add_argument("--skip-spark", action="store_true")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-files-", dir=asked.folder) as name:
        folder = Path(name)
        found = of_tasks(folder, asked.table, asked.protocol, asked.flush, asked.rows, asked.rounds)
        if not asked.skip_spark:
            found |= of_spark(folder, asked.table, asked.protocol, asked.flush, asked.rows, asked.rounds)
    for name, value in found.items():
        print(json.dumps({name: value}) if asked.json else f"{name:64} {value:>14,.2f}")


def of_tasks(folder: Path, table: str, protocol: str, flush: str, rows: int, rounds: int) -> dict[str, float]:
    """Write the same rows in every way, round by round."""
    target = folder / "out"
    config = _config(target, protocol, flush)
    sink, feed = StorageSink.of(config), Changefeed(config, StorageSink.of(config), table_sql(table))
    plan = feed.outline
    (key,) = plan.tables
    kept = ChunkFolder(str(folder / "chunks"), 1 << 40)
    Path(kept.path).mkdir()
    encode = EncodeTask(plan, "error", None, Buckets(plan.targets, 1), key)
    deliver = DeliverTask(plan, ControlSchedule(), sink)
    in_order = list(input_batches(table, rows))
    shuffled = list(in_random_order(in_order))
    in_files = list(replace(encode, folder=kept)(iter(in_order)))
    overlapping = list(replace(encode, folder=kept)(iter(shuffled)))
    compressed = list(encode(iter(in_order)))
    merged = list(_merged(in_files, kept))

    def task(chunks: list[pa.RecordBatch], **more: Any) -> Callable[[], object]:
        return lambda: read_results(replace(deliver, **more)(iter(chunks)))

    place = plan.tables[key].topic, 0
    write_files(sink, plan, {place: iter(merged)})
    files = _content(target)
    file_system = pyarrow.fs.LocalFileSystem()

    def plain() -> None:
        for parent in {path.parent for path in files}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, content in files.items():
            with file_system.open_output_stream(str(path)) as stream:
                stream.write(content)

    ways: dict[str, Callable[[], object]] = {
        "write merged rows": lambda: write_files(sink, plan, {place: iter(merged)}),
        "task, chunks in files": task(in_files, folder=kept),
        "task, chunks of a shuffle": task(compressed),
        "task, chunks that all overlap": task(overlapping, folder=kept),
    }
    size = sum(map(len, files.values())) / 1e6
    found = {"files": float(len(files)), "MB": size}
    for way, work in ways.items():
        spent: dict[str, list[tuple[float, float]]] = {"pyarrow": [], way: []}
        for number in range(rounds + 1):
            for name, act in (("pyarrow", plain), (way, work)):
                shutil.rmtree(target)
                before = time.process_time(), time.perf_counter()
                act()
                taken = time.process_time() - before[0], time.perf_counter() - before[1]
                if number:  # the first round loads what is loaded once
                    spent[name].append(taken)
                elif _content(target) != files:
                    raise AssertionError(f"{name} writes other files")
        least = {name: tuple(map(min, zip(*each, strict=True))) for name, each in spent.items()}
        for name, (cpu, wall) in least.items():
            beside = "" if name == way else f", beside it {name}"
            found[f"{way}{beside}: MB per CPU-s"] = size / cpu
            found[f"{way}{beside}: MB/s"] = size / wall
        found[f"{way}: times pyarrow, CPU"] = least["pyarrow"][0] / least[way][0]
        found[f"{way}: times pyarrow, wall"] = least["pyarrow"][1] / least[way][1]
    return found


def of_spark(folder: Path, table: str, protocol: str, flush: str, rows: int, rounds: int) -> dict[str, float]:
    """Rows from Parquet to files and, in turns, to nowhere: what is left is what files cost."""
    from ticdc_emit.spark import TicdcSink, local_session

    spark = local_session("files", spark_master="local[2]", spark_driver_memory="4g")
    source = folder / "rows"
    write_rows(source, table, rows)
    changes = spark.read.parquet(str(source))
    target = folder / "spark"
    ways = {"files": _config(target, protocol, flush), "noop": _config(None, protocol, flush)}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    size = 0
    for number in range(rounds + 1):
        for name, config in ways.items():
            shutil.rmtree(target, ignore_errors=True)
            sink = TicdcSink(config, table_sql(table))
            before = cpu_seconds(), time.perf_counter()
            size = sink.write(changes).bytes
            taken = cpu_seconds() - before[0], time.perf_counter() - before[1]
            if number:  # the first round starts Spark's workers
                spent[name].append(taken)
    found = {}
    for name, each in spent.items():
        cpu, wall = map(min, zip(*each, strict=True))
        found[f"end to end to {name}: us of CPU per row"] = cpu / rows * 1e6
        found[f"end to end to {name}: rows/s"] = rows / wall
        found[f"end to end to {name}: MB/s"] = size / 1e6 / wall
    spark.stop()
    return found


def _config(folder: Path | None, protocol: str, flush: str) -> ChangefeedConfig:
    place = "noop://" if folder is None else f"file://{folder}"
    extension = "&enable-tidb-extension=true" if protocol == "canal-json" else ""
    return load_changefeed(f"{place}?protocol={protocol}&flush-interval={flush}{extension}")


def _merged(chunks: list[pa.RecordBatch], folder: ChunkFolder) -> Iterator[MergedRows]:
    """Yield the rows of chunks, which are in order, in memory."""
    store = ChunkStore(_LIMIT, folder)
    for batch in chunks:
        store.add(batch)
    ((_, own),) = store.chunks()
    for rows in Merge(store, own, set(), _LIMIT).windows():
        parts = [
            pa.RecordBatch.from_arrays([_copied(each) for each in part.columns], part.schema.names)
            for part in rows.parts
        ]
        yield MergedRows(parts, rows.stamps, rows.order)


def _copied(array: pa.Array) -> pa.Array:
    return pa.concat_arrays([array, array.slice(0, 0)])


def _content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


if __name__ == "__main__":
    main()
