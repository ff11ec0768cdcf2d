"""Debezium through Spark: envelopes in order, DDL and watermarks on every partition."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA, tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.encoder import Encoder
from ticdc_emit.protocols.debezium.decoder import DebeziumReader
from ticdc_emit.protocols.events import DdlEvent, RowEvent, WatermarkEvent
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

URI = "protocol=debezium&enable-tidb-extension=true&partition-num=3"


def test_the_sink_and_the_plain_encoder_agree(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(changes(25))
    plain = Encoder(f"memory://x?{URI}", SCHEMA).encode(changes(25).toArrow()).to_pylist()
    reader = DebeziumReader()
    found = [(message, reader.read(message.key, message.value)) for message in read_files(tmp_path)]
    rows = [(message.key, message.value) for message, said in found if isinstance(said, RowEvent)]
    assert rows == [(row["key"], row["value"]) for row in plain]
    assert sum(isinstance(said, WatermarkEvent) for _, said in found) == 3


def test_ddl_reaches_every_partition(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    ddl = [(tso(5), "alter table test.account add column tag int")]
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, ddl=ddl).write(changes(1))
    reader = DebeziumReader()
    said = [(message.partition, reader.read(message.key, message.value)) for message in read_files(tmp_path)]
    assert [place for place, each in said if isinstance(each, DdlEvent)] == [0, 1, 2]
