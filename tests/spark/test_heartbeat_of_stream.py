"""A stream without new rows: its watermark goes on."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA

from ticdc_emit.delivery.files import read_files
from ticdc_emit.spark import TicdcSink
from ticdc_emit.tso import physical_ms

pytestmark = pytest.mark.spark


def test_an_idle_stream_goes_on_by_the_wall_clock(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    if not hasattr(spark, "_jsc"):
        pytest.skip("over Spark Connect the sink that beats is in a process of the server")
    folder = tmp_path / "in"
    changes(5).coalesce(1).write.parquet(str(folder))
    rows = spark.readStream.schema(changes(1).schema).parquet(str(folder))
    uri = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    sink = TicdcSink(
        f"jsonl://{tmp_path}/out?{uri}",
        SCHEMA,
        clock="wall",
        allowed_lateness=60,
        heartbeat=0.05,
        state_uri=str(tmp_path / "state"),
    )

    def marks() -> list[int]:
        found = (json.loads(message.value or b"") for message in read_files(tmp_path / "out"))
        return [each["_tidb"]["watermarkTs"] for each in found if each["type"] == "TIDB_WATERMARK"]

    query = rows.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "checks")).start()
    began = time.time()
    try:
        while len(marks()) < 10 and query.isActive and time.time() < began + 120:
            query.awaitTermination(0.2)
    finally:
        query.stop()
        sink.finish()
    assert query.exception() is None
    sent = marks()
    assert len(sent) >= 10
    assert began - 61 < physical_ms(sent[-1]) / 1000 <= time.time() - 60
    record = json.loads((tmp_path / "state" / "batch-0.json").read_bytes())
    assert record["end_watermark"] >= sent[-1]
