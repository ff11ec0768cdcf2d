"""``generate --live`` to a real Kafka broker: how long after its commit a change arrives.

    python tests/scale/live.py [--seconds 60] [--rate 500] [--schema sysbench] [--protocol canal-json] [--json]

Runs the command in a process of its own and reads the topic beside it. A change's latency is from its ``commit_ts`` to
the moment at which a consumer has its message, both by this machine's clock; a watermark's is how old it is on arrival.
Starts a broker of its own (Java 17; its jars come by Maven). The bar is a median latency of 1.5 s.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer

from ticdc_emit.java import find_java
from ticdc_emit.testing.kraft import KafkaCluster, kafka_jars
from ticdc_emit.tso import physical_ms

_BAR_S = 1.5
_WINDOW_S = 10
_PATIENCE_S = 120.0


def arrivals(
    bootstrap: str, topic: str, seconds: float, running: subprocess.Popen[str]
) -> list[tuple[float, float, bool]]:
    """Return when each message arrived, how old its TSO was then, and whether it is a change, of so many seconds."""
    settings = {"bootstrap.servers": bootstrap, "group.id": "live", "auto.offset.reset": "earliest"}
    settings |= {"topic.metadata.refresh.interval.ms": "200", "fetch.wait.max.ms": "10"}
    consumer = Consumer(settings)
    consumer.subscribe([topic])
    found: list[tuple[float, float, bool]] = []
    until = time.time() + _PATIENCE_S
    try:
        while time.time() < until and running.poll() is None:
            message = consumer.poll(0.1)
            if message is None or message.error():
                continue
            now, told = time.time(), json.loads(message.value())
            if not any(is_change for *_, is_change in found):
                until = now + seconds  # the first change: from here on it is measured
            extension = told["_tidb"]
            is_change = "watermarkTs" not in extension
            stamp = extension["commitTs"] if is_change else extension["watermarkTs"]
            found.append((now, now - physical_ms(stamp) / 1000, is_change))
    finally:
        consumer.close()
    return found


def quantiles(ages: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(ages, n=100, method="inclusive")
    return {
        "median": round(cuts[49], 3),
        "p90": round(cuts[89], 3),
        "p99": round(cuts[98], 3),
        "max": round(max(ages), 3),
    }


def measure(rate: float, seconds: float, schema: str, further: list[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-live-") as folder:
        jars = kafka_jars()
        with KafkaCluster(find_java(), jars, Path(folder), nodes=1) as cluster:
            uri = f"kafka://{cluster.bootstrap}/live?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
            program = [
                sys.executable,
                "-m",
                "ticdc_emit",
                "generate",
                "--schema",
                schema,
                "--live",
                "--endless",
                "--json",
            ]
            program += ["--rate", str(rate), "--sink-uri", uri, *further]
            running = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
            try:
                found = arrivals(cluster.bootstrap, "live", seconds, running)
                running.send_signal(signal.SIGINT)
                told, _ = running.communicate(timeout=_PATIENCE_S)
            finally:
                running.kill()
    changes = [(at, age) for at, age, is_change in found if is_change]
    began = changes[0][0]
    windows = {}
    for start in range(0, round(seconds), _WINDOW_S):
        ages = [age for at, age in changes if start <= at - began < start + _WINDOW_S]
        if len(ages) > 1:
            windows[f"{start} s"] = {"changes": len(ages), **quantiles(ages)}
    marks = [age for _, age, is_change in found if not is_change]
    return {
        "rate": rate,
        "changes_per_s": round(len(changes) / (changes[-1][0] - began)),
        "latency_s": quantiles([age for _, age in changes]),
        "watermark_age_s": quantiles(marks),
        "windows": windows,
        "batches": json.loads(told)["batches"],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--schema", default="sysbench")
    parser.add_argument("further", nargs="*", help="after --: further options of the command")
    asked = parser.parse_args()
    made = measure(asked.rate, asked.seconds, asked.schema, asked.further)
    print(json.dumps(made, indent=2))
    return 0 if made["latency_s"]["median"] < _BAR_S else 1


if __name__ == "__main__":
    sys.exit(main())
