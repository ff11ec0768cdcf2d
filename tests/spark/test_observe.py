"""A stream under observation: its reports, and Spark's progress beside the report of each batch."""

from __future__ import annotations

import logging
import time
from pathlib import Path
from typing import Any

import pytest
from spark_history import tso
from spark_session import ON_CONNECT

from ticdc_emit.delivery.files import read_files
from ticdc_emit.observe import log_report
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=4"


def test_bootstraps_claims_and_the_wall_clock_are_reported(spark: Any, tmp_path: Path) -> None:
    large = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{tmp_path}/claims"}
    seen: list[RunReport] = []
    sink = TicdcSink(
        f"jsonl://{tmp_path}/out?protocol=simple&max-message-bytes=1500&partition-num=2",
        "create table test.t (id int primary key, v varchar(4000))",
        changefeed={"sink": {"kafka-config": {"large-message-handle": large}}},
        clock="wall",
        allowed_lateness=2,
        on_report=[seen.append, log_report],
    )
    rows = [("c", tso(n), (n, "a" * (3_000 if n < 2 else 3))) for n in range(6)]
    frame = spark.createDataFrame(rows, "op string, commit_ts long, after struct<id:int,v:string>")
    sink(frame, 0)
    (report,) = seen
    assert sink.reports == seen
    assert report.claims == len(list((tmp_path / "claims").iterdir())) == 2
    assert report.messages_by_kind["rows"] == 6
    assert report.messages_by_kind["bootstrap"] >= 1
    assert report.messages == sum(report.messages_by_kind.values()) == len(list(read_files(tmp_path / "out")))
    assert report.lag_ms == 2_000
    assert report.wall_lag_ms is not None
    assert report.wall_lag_ms > 0


@pytest.mark.skipif(ON_CONNECT, reason="batches run in the server's process")
def test_progress_joins_spark_s_figures_with_the_report(
    spark: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    from ticdc_emit.spark.listener import ProgressListener, log_progress

    kind = "op string, commit_ts long, after struct<id:int>"
    for part in range(2):
        rows = [("c", tso(10 * part + n), (10 * part + n,)) for n in range(5 + part)]
        spark.createDataFrame(rows, kind).coalesce(1).write.parquet(f"{tmp_path}/in/part={part}")
    seen: list[tuple[Any, Any]] = []

    def note(progress: Any, report: Any) -> None:
        log_progress(progress, report)
        seen.append((progress, report))
        raise RuntimeError("the listener's own trouble")

    sink = TicdcSink(f"jsonl://{tmp_path}/out?{URI}", "create table test.t (id int primary key)", watermark_interval=0)
    listener, stranger = ProgressListener(sink, note, query="orders"), ProgressListener(sink, note, query="other")
    spark.streams.addListener(listener)
    spark.streams.addListener(stranger)
    caplog.set_level(logging.INFO, "ticdc_emit.spark.listener")
    try:
        source = spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/in/*")
        query = (
            source.writeStream.queryName("orders")
            .option("checkpointLocation", f"{tmp_path}/checkpoint")
            .trigger(availableNow=True)
            .foreachBatch(sink)
            .start()
        )
        query.awaitTermination()
        deadline = time.monotonic() + 120
        while len(seen) < 2 and time.monotonic() < deadline:
            time.sleep(0.1)
    finally:
        spark.streams.removeListener(listener)
        spark.streams.removeListener(stranger)
    assert [report for _, report in seen] == sink.reports
    assert [progress.batchId for progress, _ in seen] == [0, 1]
    assert sorted(progress.numInputRows for progress, _ in seen) == [5, 6]
    assert [report.rows for _, report in seen] == [progress.numInputRows for progress, _ in seen]
    assert all(progress.name == "orders" and progress.durationMs["addBatch"] > 0 for progress, _ in seen)
    assert "orders: batch 0: 5 rows" in caplog.text
    assert "the callback of a progress listener failed" in caplog.text
