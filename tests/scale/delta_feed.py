"""The change feed of a Delta table: rows per second read alone, paired to changes, and replayed; memory of each.

    python tests/scale/delta_feed.py [--changes 10000000] [--commits 20] [--json]

Needs pyspark 4.1 (``tests/lakes`` has Delta's jars). Half of the changes are inserts, three in ten are updates, two in
ten are deletes, in about so many commits. ``read``: Spark hands the rows of the feed to workers that drop them.
``changes``: the same with the changes of the feed. ``replay``: to Canal-JSON in three partitions, as TiCDC's default
is, into a sink that only counts. The rate is rows of the feed per second, and per second of CPU time: an update has
two. ``to_read`` compares the latter with ``read``. The memory is the greatest resident size of the driver's Python and
of one worker, in MB; it must not grow with the changes.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds benchmarks
from cpu_time import cpu_seconds
from many_tables import CountingSink, handed_over
from peak_memory import PeakMemory

ROOT = Path(__file__).parents[2]
SCHEMA = """create table shop.orders (
  id bigint primary key, customer int, state varchar(10), price decimal(10,2), note varchar(40), seen datetime(6)
)"""
_ROW = """
  id, cast(id % 90000 as int) customer, '{state}' state, cast(id % 100000 / 100 as decimal(10,2)) price,
  concat('note ', id) note, timestamp_ntz'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, id % 86400) seen
"""


def make_table(spark: Any, name: str, changes: int, commits: int) -> None:
    """Make the table and its history."""
    each = max(commits // 10, 1)
    inserts = changes // 2
    spark.sql(
        f"create table {name} (id bigint, customer int, state string, price decimal(10,2), note string, "
        "seen timestamp_ntz) using delta tblproperties (delta.enableChangeDataFeed = true)"
    )
    for start in range(5 * each):
        bounds = f"{inserts * start // (5 * each)}, {inserts * (start + 1) // (5 * each)}"
        spark.sql(f"insert into {name} select {_ROW.format(state='new')} from range({bounds})")
    for number in range(3 * each):
        spark.sql(f"update {name} set state = 'sent', price = price + 1 where id % {5 * each} = {number}")
    for number in range(2 * each):
        spark.sql(f"delete from {name} where id % {5 * each} = {3 * each + number}")


def measure(spark: Any, name: str, rows: int) -> dict[str, dict[str, float]]:
    from ticdc_emit import from_changes, read_changes, replay
    from ticdc_emit.spark import TicdcSink

    def replayed() -> int:
        uri = "memory://x/t?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
        sink = TicdcSink(uri, SCHEMA, sink=CountingSink())
        return replay(spark, sink, {"shop.orders": read_changes(spark, name)}).total.rows

    ways: dict[str, Callable[[], int]] = {
        "read": lambda: handed_over(read_changes(spark, name)),
        "changes": lambda: handed_over(from_changes(read_changes(spark, name), "id")),
        "replay": replayed,
    }
    figures: dict[str, dict[str, float]] = {}
    for way, run in ways.items():
        started, before = time.monotonic(), cpu_seconds()
        with PeakMemory() as memory:
            done = run()
        seconds, cpu = time.monotonic() - started, cpu_seconds() - before
        figures[way] = {
            "rows": done,
            "seconds": round(seconds, 1),
            "feed_rows_per_s": round(rows / seconds),
            "feed_rows_per_cpu_s": round(rows / cpu),
            "cpu_s": round(cpu, 1),
            "to_read": round(figures["read"]["cpu_s"] / cpu, 2) if figures else 1.0,
            "driver_mb": round(memory.driver / 1e6),
            "worker_mb": round(memory.worker / 1e6),
        }
    return figures


def main() -> None:
    sys.path[:0] = [str(ROOT / "tests" / "lakes"), str(ROOT / "tests")]
    from lake_session import lake_settings

    from ticdc_emit.spark import local_session

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--changes", type=int, default=10_000_000)
    parser.add_argument("--commits", type=int, default=20)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-feed-") as folder:
        own = {"spark.driver.memory": "4g", "spark.master": asked.master, "spark.sql.shuffle.partitions": "8"}
        spark = local_session("delta-feed", **(lake_settings(Path(folder)) | own))
        make_table(spark, "warm", 20_000, 10)
        measure(spark, "warm", 20_000)
        make_table(spark, "orders", asked.changes, asked.commits)
        rows = spark.read.option("readChangeFeed", True).option("startingVersion", 0).table("orders").count()
        figures = measure(spark, "orders", rows)
        spark.stop()
    if asked.json:
        print(json.dumps(figures, indent=2))
        return
    for way, of_way in figures.items():
        print(f"{way:<8}", "  ".join(f"{name} {value:,}" for name, value in of_way.items()))


if __name__ == "__main__":
    main()
