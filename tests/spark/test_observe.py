"""What a batch's report says of messages, claims and lags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark_history import tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.observe.reports import log_report
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark


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
