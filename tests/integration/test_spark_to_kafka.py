"""The main job on real parts: a Spark stream into a real Kafka topic, read back by a consumer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.routing.partitions import table_hash
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing.kraft import KraftBroker

pytestmark = [pytest.mark.integration, pytest.mark.spark]

SCHEMA = "create table test.t (id int primary key, v varchar(20), n decimal(6,2))"
OPTIONS = "protocol=canal-json&enable-tidb-extension=true&partition-num=4&replication-factor=1"
FIRST = 450_000_000_262_144_000


def _history(spark: Any, folder: Path) -> Any:
    """Write a history of three files and return it as a stream of one file per batch."""
    for step in range(3):
        rows = spark.range(step * 200, step * 200 + 200).selectExpr(
            "'c' as op",
            f"{FIRST} + id * (1L << 18) as commit_ts",
            "struct(cast(id as int) as id, concat('<', id, '>') as v, cast(id / 8 as decimal(6,2)) as n) as after",
        )
        rows.coalesce(1).write.mode("append").parquet(str(folder))
    kind = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _run(stream: Any, sink: TicdcSink, checkpoint: Path) -> None:
    query = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()


def _contents(messages: list[Message]) -> dict[int, list[tuple[bytes | None, bytes | None]]]:
    found: dict[int, list[tuple[bytes | None, bytes | None]]] = {}
    for message in messages:
        found.setdefault(message.partition, []).append((message.key, message.value))
    return found


def test_a_stream_arrives_on_kafka_byte_for_byte(spark: Any, kraft: KraftBroker, tmp_path: Path) -> None:
    stream = _history(spark, tmp_path / "source")
    sink = TicdcSink(f"kafka://{kraft.bootstrap}/stream?{OPTIONS}", SCHEMA)
    _run(stream, sink, tmp_path / "kafka")
    _run(stream, TicdcSink(f"jsonl://{tmp_path}/out?{OPTIONS}&topic=stream", SCHEMA), tmp_path / "files")

    settings = KafkaSink((kraft.bootstrap,)).connection_settings()
    arrived = _contents(read_topic(settings, "stream"))
    assert arrived == _contents(list(read_files(tmp_path / "out")))
    home = table_hash("test", "t") % 4
    rows = [(key, json.loads(value or b"")) for key, value in arrived[home]]
    stamps = [row["_tidb"]["commitTs"] for key, row in rows if row["type"] == "INSERT"]
    assert stamps == [FIRST + n * (1 << 18) for n in range(600)]
    assert {key for key, row in rows if row["type"] == "INSERT"} == {b""}
    assert {key for key, row in rows if row["type"] == "TIDB_WATERMARK"} == {None}
    for partition in range(4):
        marks = [json.loads(value or b"")["_tidb"].get("watermarkTs") for _, value in arrived[partition]]
        marks = [mark for mark in marks if mark is not None]
        assert marks == sorted(marks)
        assert len(marks) == 3
