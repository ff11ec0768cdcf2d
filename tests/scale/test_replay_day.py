"""The day of taxi history (``replay_day.py``), small and into files: its tables come out as they went in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from replay_day import DDL, SCHEMA, differences, expected, folded, history, make_source

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.files import read_files
from ticdc_emit.traffic.replay.run import replay

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_small_day_ends_as_its_source_does(spark: Any, tmp_path: Path) -> None:
    source = make_source(spark, tmp_path / "source", 20_000)
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
    config = load_changefeed(uri, {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}})
    report = replay(spark, config, history(source), SCHEMA, ddl=DDL, slice=43_200, speed=1e9)
    assert (report.slices, report.finished, report.total.ddl_events) == (2, True, 2)
    wanted = expected(source)
    assert sum(map(len, wanted.values())) > 6_000
    consumer, _ = folded(list(read_files(tmp_path / "out")), config)
    assert differences(consumer, wanted) == 0
    next(iter(wanted["city", "rides"].values()))["state"] = "asked"
    assert differences(consumer, wanted) == 1
