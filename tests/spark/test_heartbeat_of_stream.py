"""A stream without new rows: its watermark goes on. A stream with rows that it has not read: the watermark waits."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA

from ticdc_emit.delivery.files import read_files
from ticdc_emit.spark import TicdcSink
from ticdc_emit.tso import physical_ms

pytestmark = pytest.mark.spark


@pytest.fixture
def sink(spark: Any, tmp_path: Path) -> Iterator[TicdcSink]:
    if not hasattr(spark, "_jsc"):
        pytest.skip("over Spark Connect the sink that beats is in a process of the server")
    with TicdcSink(
        f"jsonl://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=2",
        SCHEMA,
        clock="wall",
        allowed_lateness=60,
        heartbeat=0.05,
        state_uri=str(tmp_path / "state"),
    ) as sink:
        yield sink


def read_stream(spark: Any, tmp_path: Path, **options: int) -> Any:
    """Return a stream of the rows of files in a folder."""
    folder = tmp_path / "in"
    return spark.readStream.schema(spark.read.parquet(str(folder)).schema).options(**options).parquet(str(folder))


def watermarks(tmp_path: Path) -> list[int]:
    found = (json.loads(message.value or b"") for message in read_files(tmp_path / "out"))
    return [each["_tidb"]["watermarkTs"] for each in found if each["type"] == "TIDB_WATERMARK"]


def beat_ten_times(query: Any, tmp_path: Path, began: float) -> None:
    """Wait for watermarks of the clock."""
    try:
        while query.isActive and time.time() < began + 120:
            if sum(physical_ms(mark) > (began - 61) * 1000 for mark in watermarks(tmp_path)) >= 10:
                return
            query.awaitTermination(0.2)
    finally:
        query.stop()
    assert query.exception() is None
    pytest.fail("the watermark stands still")


def test_an_idle_stream_goes_on_by_the_wall_clock(
    spark: Any, changes: Callable[..., Any], tmp_path: Path, sink: TicdcSink
) -> None:
    changes(5).coalesce(1).write.parquet(str(tmp_path / "in"))
    began = time.time()
    writer = read_stream(spark, tmp_path).writeStream.foreachBatch(sink)
    beat_ten_times(writer.option("checkpointLocation", str(tmp_path / "checks")).start(), tmp_path, began)
    sink.finish()
    last = watermarks(tmp_path)[-1]
    assert began - 61 < physical_ms(last) / 1000 <= time.time() - 60
    record = json.loads((tmp_path / "state" / "batch-0.json").read_bytes())
    assert record["end_watermark"] >= last


def test_a_heartbeat_waits_until_the_stream_has_read_all(
    spark: Any, changes: Callable[..., Any], tmp_path: Path, sink: TicdcSink
) -> None:
    for part in range(3):
        changes(5, start=100 * part).coalesce(1).write.mode("append").parquet(str(tmp_path / "in"))
    began = time.time()
    writer = read_stream(spark, tmp_path, maxFilesPerTrigger=1).writeStream.foreachBatch(sink)
    writer = writer.trigger(processingTime="1 second").option("checkpointLocation", str(tmp_path / "checks"))
    beat_ten_times(writer.start(), tmp_path, began)  # a row at or below a watermark would end the query
    assert [report.rows for report in sink.reports] == [12, 12, 12]
    seen = -1
    for _ in range(60):  # the call that ran when the query ended may still send its own
        before, seen = seen, len(watermarks(tmp_path))
        if seen == before:
            break
        time.sleep(0.5)
    assert seen == before  # a query that ended reads nothing
