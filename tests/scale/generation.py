"""How fast traffic is made, and how fast it is made and encoded: generation must not be the slower half.

    python tests/scale/generation.py [--rows 10000000] [--encoded-rows N] [--schema NAME] [--table schema.name]

Two runs over the same changes, which Spark's Python workers compute from their numbers: generated and dropped (Spark's
noop sink); generated and encoded to Canal-JSON messages, which are dropped. In: how many changes. Out: rows per second
of wall time, and the greatest resident size of the JVM, the driver and any one Python worker. Linux only.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

from peak_memory import PeakMemory

from ticdc_emit.spark import local_session
from ticdc_emit.traffic.generate import Traffic, generate

_URI = "memory://generation/traffic?protocol=canal-json&enable-tidb-extension=true&partition-num=4"


def measure(
    spark: Any, schema: str, table: str | None, rows: int, encoded_rows: int, *, seed: int = 1
) -> dict[str, Any]:
    """Return rows per second of generation, and of generation with encoding, and peaks of memory in MiB."""

    def made(count: int) -> Traffic:
        return generate(spark, schema, rows=count, seed=seed, tables=[table] if table else None)

    def generated(count: int) -> list[Any]:
        return list(made(count).changes.values())

    def encoded(count: int) -> list[Any]:
        traffic = made(count)
        return [traffic.sink(_URI).messages(traffic.changes)]

    def run(what: Callable[[int], list[Any]], count: int) -> float:
        started = time.monotonic()
        for df in what(count):
            df.write.format("noop").mode("overwrite").save()
        return time.monotonic() - started

    rates: dict[str, int] = {}
    with PeakMemory() as memory:
        for name, what, count in (("generated", generated, rows), ("encoded", encoded, encoded_rows)):
            run(what, min(count, 100_000))  # the JVM compiles, the workers start and import
            rates[name] = round(count / run(what, count))
    return {
        "schema": table or schema,
        "rows": rows,
        "encoded_rows": encoded_rows,
        "generated_rows_per_s": rates["generated"],
        "generated_and_encoded_rows_per_s": rates["encoded"],
        "jvm_mib": memory.jvm >> 20,
        "driver_mib": memory.driver >> 20,
        "worker_mib": memory.worker >> 20,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=10_000_000)
    arguments.add_argument("--encoded-rows", type=int, help="how many of them are encoded too; default: all")
    arguments.add_argument("--schema", default="sysbench")
    arguments.add_argument("--table")
    given = arguments.parse_args()
    spark = local_session("generation", spark_master="local[2]", spark_driver_memory="2g")
    found = measure(spark, given.schema, given.table, given.rows, given.encoded_rows or given.rows)
    spark.stop()
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
