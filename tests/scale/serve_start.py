"""``serve``: how long from its start to the first message in a consumer, over cold runs.

    python tests/scale/serve_start.py [--runs 10] [--schema bank] [--broker kafka] [--protocol canal-json] [--json]

Each run is a new process with empty ports. A consumer of this process asks for the topics from the moment at which the
command is started, without a consumer group, whose members the embedded Kafka waits for. With ``--broker kafka`` each
run also starts the broker alone: what the command adds is the difference. The bar is 2 s to the first message, of a
real broker 2 s more than the broker takes.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, TopicPartition

from ticdc_emit.java import find_java
from ticdc_emit.testing.addresses import free_ports
from ticdc_emit.testing.kraft import KraftBroker, kafka_jars

_BAR_S = 2.0
_PATIENCE_S = 120.0


def one_run(broker: str, schema: str, further: Sequence[str]) -> dict[str, float]:
    """Return seconds from the start of the command until Kafka answers and until the first message is read, and the
    command's CPU seconds until then.
    """
    port, registry = free_ports(2)
    place = ["--port", str(port), "--registry-port", str(registry), "--broker", broker]
    command = [sys.executable, "-m", "ticdc_emit", "serve", *place, "--schema", schema, "--json", *further]
    settings = {"bootstrap.servers": f"127.0.0.1:{port}", "group.id": "start", "log_level": 0}
    settings |= {"reconnect.backoff.ms": "10", "reconnect.backoff.max.ms": "20", "fetch.wait.max.ms": "20"}
    settings |= {"auto.offset.reset": "earliest", "topic.metadata.refresh.fast.interval.ms": "20"}
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        served = json.loads(process.stdout.readline())
        answered = time.monotonic() - began
        consumer = Consumer(settings)
        waiting, message = set(served["topics"]), None
        while message is None:
            assert process.poll() is None
            assert time.monotonic() - began < _PATIENCE_S
            with suppress(KafkaException):
                known = consumer.list_topics(timeout=1).topics
                fresh = waiting & known.keys()
                places = [TopicPartition(name, n, OFFSET_BEGINNING) for name in fresh for n in known[name].partitions]
                if places:
                    consumer.incremental_assign(places)
                    waiting -= fresh
            message = consumer.poll(0.02)
            message = None if message is not None and message.error() else message
        first = time.monotonic() - began
        cpu = _cpu_seconds(process.pid)
        consumer.close()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=_PATIENCE_S)
    finally:
        process.kill()
    return {"serving": round(answered, 2), "first_message": round(first, 2), "cpu": cpu}


def broker_alone() -> float:
    """Return the seconds that a broker takes until it answers, started as ``serve`` starts it."""
    java, jars = find_java(), kafka_jars()
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-start-") as folder:
        began = time.monotonic()
        with KraftBroker(java, jars, Path(folder, "kafka"), {"auto.create.topics.enable": "true"}):
            return round(time.monotonic() - began, 2)


def _cpu_seconds(pid: int) -> float:
    with suppress(OSError):
        fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()  # noqa: PTH123, SIM115
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return float("nan")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--schema", default="bank")
    parser.add_argument("--broker", default="embedded", choices=["embedded", "kafka"])
    parser.add_argument("--protocol", default="canal-json")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    runs = []
    for _ in range(asked.runs):
        run = one_run(asked.broker, asked.schema, ["--protocol", asked.protocol])
        if asked.broker == "kafka":
            run["broker"] = broker_alone()
            run["added"] = round(run["first_message"] - run["broker"], 2)
        runs.append(run)
    summary = {
        name: {
            "min": min(run[name] for run in runs),
            "median": round(statistics.median(run[name] for run in runs), 2),
            "max": max(run[name] for run in runs),
        }
        for name in runs[0]
    }
    load = round(os.getloadavg()[0], 1)
    if asked.json:
        print(json.dumps({"runs": runs, "summary": summary, "load": load}))
    else:
        for name, figures in summary.items():
            print(f"{name:<14}", *(f"{which} {value:.2f} s" for which, value in figures.items()))
        print(f"load average {load}")
    return 0 if summary["added" if asked.broker == "kafka" else "first_message"]["max"] <= _BAR_S else 1


if __name__ == "__main__":
    sys.exit(main())
