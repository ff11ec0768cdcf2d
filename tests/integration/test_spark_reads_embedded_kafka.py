"""Spark's ``kafka`` source reads from the embedded Kafka, in a batch and in a stream: it asks for offsets by the admin
client, which ``kafka-console-consumer`` and Flink (``consumers/test_serve_attached.py``) do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from missing_parts import java_and_jars

from ticdc_emit.testing import EmbeddedKafka

pytestmark = [pytest.mark.integration, pytest.mark.slow]

_JOB = """
import sys
from pyspark.sql import SparkSession

spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
options = {"kafka.bootstrap.servers": sys.argv[1], "subscribe": "t", "startingOffsets": "earliest"}
batch = spark.read.format("kafka").options(**options).load()
stream = spark.readStream.format("kafka").options(**options).load().writeStream.format("memory").queryName("read")
stream.trigger(availableNow=True).start().awaitTermination()
print(batch.count(), spark.table("read").count(), flush=True)
"""


def test_a_batch_and_a_stream() -> None:
    from confluent_kafka import Producer

    java, jars = java_and_jars(Path(__file__).parents[1] / "scale" / "spark_kafka")
    listed = ",".join(sorted(map(str, jars.glob("*.jar"))))
    own = {"PYSPARK_SUBMIT_ARGS": f"--master local[2] --jars {listed} pyspark-shell"}
    with EmbeddedKafka(port=0) as kafka:
        producer = Producer({"bootstrap.servers": kafka.bootstrap, "log_level": 0})
        for number in range(40):
            producer.produce("t", b"%d" % number, partition=number % 4)
        assert producer.flush(10) == 0
        answer = subprocess.run(
            [sys.executable, "-c", _JOB, kafka.bootstrap],
            env={**os.environ, **own, "JAVA_HOME": str(java.parent.parent)},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
    assert answer.stdout.split() == ["40", "40"], answer.stderr[-4000:]
