"""End to end to a real Kafka broker, every protocol: the library against what bounds it.

    python tests/scale/end_to_end.py [--rows 1000000] [--protocol simple ...] [--table orders] [--tables 1 3]

Without options it measures every protocol, both tables of the benchmark, and three typed tables side by side, and
prints a line of JSON for each. Starts a broker of its own for each (Java 17; its jars come by Maven) and an embedded
schema registry. Needs a quiet machine and 4 GiB of disk in the temporary folder: the broker soon forgets. The bar is
0.6 of the lower of two bounds: Spark that brings the rows into order, and a producer of messages that are there
already. A batch sends nothing before it is encoded, so ``ratio_to_in_turn`` compares with reading on every core and
producing, one after the other; ``ratio_to_identity`` is stricter than either, and compares with the lower of these two.
See ``bench.end_to_end`` for the figures.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import checkout  # noqa: F401 - finds benchmarks

from benchmarks.end_to_end import EndToEnd, measure_end_to_end
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.spark import local_session
from ticdc_emit.testing import EmbeddedRegistry
from ticdc_emit.testing.java import find_java
from ticdc_emit.testing.kraft import KraftBroker, kafka_jars

PROTOCOLS = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true",
    "avro": "protocol=avro&enable-tidb-extension=true",
    "simple": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "open-protocol": "protocol=open-protocol",
    "debezium": "protocol=debezium&enable-tidb-extension=true",
    "debezium-noschema": "protocol=debezium&debezium-disable-schema=true",
    "debezium-avro": "protocol=debezium-avro&avro-bigint-unsigned-handling-mode=string",
}
_ONLY_IN_NEXT = {"debezium-avro"}
_TOPIC_OF_TABLE = {"avro", "debezium-avro"}  # a topic has the schema of one table
_BAR = 0.6
_FORGETFUL = {
    "log.retention.bytes": 1 << 29,
    "log.segment.bytes": 1 << 27,
    "log.retention.check.interval.ms": 2_000,
    "log.initial.task.delay.ms": 2_000,
    "log.segment.delete.delay.ms": 1_000,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--protocol", nargs="+", default=list(PROTOCOLS), choices=list(PROTOCOLS))
    parser.add_argument("--table", nargs="+", default=["orders", "sbtest"], choices=["orders", "sbtest"])
    parser.add_argument("--tables", nargs="+", type=int, default=[1, 3], help="typed tables side by side")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    asked = parser.parse_args()
    spark = local_session("end-to-end", spark_master="local[2]", spark_driver_memory="4g")
    holds = True
    for protocol in asked.protocol:
        for table in asked.table:
            for made in measure(spark, protocol, table, asked):
                holds &= made.ratio_to_lower >= _BAR
                print(json.dumps({"protocol": protocol, **made.as_dict()}), flush=True)
    spark.stop()
    return 0 if holds else 1


def measure(spark: Any, protocol: str, table: str, asked: argparse.Namespace) -> list[EndToEnd]:
    """Measure one protocol and table on a broker of their own."""
    with (
        tempfile.TemporaryDirectory(prefix="ticdc-emit-e2e-") as folder,
        EmbeddedRegistry() as registry,
        KraftBroker(find_java(), kafka_jars(), Path(folder) / "kafka", _FORGETFUL) as broker,
    ):
        uri = f"kafka://{broker.bootstrap}/bench?{PROTOCOLS[protocol]}&partition-num={asked.partitions}"
        release = "next" if protocol in _ONLY_IN_NEXT else None
        topics = [{"matcher": ["*.*"], "topic": "{schema}_{table}"}] if protocol in _TOPIC_OF_TABLE else []
        tables = {"sink": {"dispatchers": topics}}
        changefeed = load_changefeed(uri, tables, release=release, schema_registry=registry.url)
        return measure_end_to_end(
            spark,
            changefeed,
            KafkaSink.of(changefeed.kafka),
            Path(folder) / "rows",
            table=table,
            rows=asked.rows,
            tables=asked.tables,
            rounds=asked.rounds,
        )


if __name__ == "__main__":
    sys.exit(main())
