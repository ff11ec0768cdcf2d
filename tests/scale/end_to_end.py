"""End to end to a real Kafka broker, every protocol: the library against the two things that bound it.

    python tests/scale/end_to_end.py [--rows 1000000] [--protocol simple ...] [--tables 3] [--beside-spark] [--json]

Starts a broker of its own (Java 17; its jars come by Maven) and an embedded schema registry. Needs a quiet machine and,
for a million rows of Debezium with schemas, about 8 GiB of disk in the temporary folder. See ``bench.end_to_end`` for
what the figures mean; the bar is 0.6 of the lower. ``--beside-spark`` also measures what a user would write without
the library.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

from spark_json import connector_jars, send_as_json

from ticdc_emit.bench.end_to_end import measure_end_to_end
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.java import find_java
from ticdc_emit.spark import local_session
from ticdc_emit.testing import EmbeddedRegistry
from ticdc_emit.testing.servers import KafkaCluster, kafka_jars

PROTOCOLS = {
    "canal-json": "protocol=canal-json&enable-tidb-extension=true",
    "avro": "protocol=avro&enable-tidb-extension=true",
    "simple": "protocol=simple",
    "simple-avro": "protocol=simple&encoding-format=avro",
    "open-protocol": "protocol=open-protocol",
    "debezium": "protocol=debezium&enable-tidb-extension=true",
    "debezium-noschema": "protocol=debezium&debezium-disable-schema=true",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--table", default="orders", help="orders or sbtest")
    parser.add_argument("--tables", type=int, default=1, help="typed tables side by side")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--beside-spark", action="store_true", help="also Spark's to_json through its own connector")
    parser.add_argument("--protocol", action="append", choices=list(PROTOCOLS))
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    settings = {"spark.jars": connector_jars()} if asked.beside_spark else {}
    spark = local_session("end-to-end", spark_master="local[2]", spark_driver_memory="4g", **settings)
    found: list[dict[str, Any]] = []
    for name in asked.protocol or list(PROTOCOLS):
        with tempfile.TemporaryDirectory(prefix="ticdc-emit-e2e-") as folder, EmbeddedRegistry() as registry:
            jars = kafka_jars()
            with KafkaCluster(find_java(), jars, Path(folder) / "kafka", nodes=1) as cluster:
                uri = f"kafka://{cluster.bootstrap}/bench?{PROTOCOLS[name]}&partition-num={asked.partitions}"
                changefeed = load_changefeed(uri, schema_registry=registry.url)
                sink = KafkaSink.of(changefeed.kafka)
                others = {}
                if asked.beside_spark:
                    sink.prepare({"look-alike": asked.partitions})
                    others["spark_to_json"] = partial(
                        send_as_json, spark, brokers=cluster.bootstrap, topic="look-alike", table=asked.table
                    )
                made = measure_end_to_end(
                    spark,
                    changefeed,
                    sink,
                    Path(folder) / "rows",
                    table=asked.table,
                    rows=asked.rows,
                    tables=asked.tables,
                    rounds=asked.rounds,
                    others=others,
                )
        found.append({"protocol": name, **made.as_dict()})
        print(json.dumps(found[-1]), file=sys.stderr, flush=True)
    spark.stop()
    if asked.json:
        print(json.dumps(found, indent=2))
    return 0 if all(each["ratio_to_lower"] >= 0.6 for each in found) else 1


if __name__ == "__main__":
    sys.exit(main())
