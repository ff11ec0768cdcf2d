"""What is made of generated changes without a Spark: the sink that they go to, and when they begin."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.traffic.generate import Traffic
from ticdc_emit.traffic.generate.changes import plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.results import stream_on_spark
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.tso import tso_from_datetime

URI = "memory://zones/t?protocol=canal-json"
SQL = "create table t (id bigint primary key)"


def in_tokyo() -> Traffic:
    changes: Any = None
    return Traffic(changes, (), SQL, None, time_zone="Asia/Tokyo")


def test_the_sink_is_in_the_time_zone_of_the_texts() -> None:
    assert in_tokyo().sink(URI).config.time_zone == "Asia/Tokyo"
    assert in_tokyo().sink(URI, time_zone="Asia/Tokyo").config.time_zone == "Asia/Tokyo"
    loaded = load_changefeed(URI, time_zone="Asia/Tokyo")
    assert in_tokyo().sink(loaded).config is loaded


def test_a_sink_in_another_time_zone_is_refused() -> None:
    for arguments, options in (((load_changefeed(URI),), {}), ((URI,), {"time_zone": "UTC"})):
        with pytest.raises(ConfigError, match=r"UTC.*Asia/Tokyo") as caught:
            in_tokyo().sink(*arguments, **options)
        assert caught.value.option == "time_zone"


def test_traffic_without_end_has_no_final_tables() -> None:
    with pytest.raises(ConfigError, match="no last change") as caught:
        in_tokyo().tables()
    assert caught.value.option == "rows"


def test_a_stream_on_spark_needs_an_end_for_its_schema_changes() -> None:
    spark: Any = None
    with pytest.raises(SchemaError, match="must know its schema changes") as caught:
        stream_on_spark(spark, SQL, Settings(None, model=read_model("load.ddl_rate=1")))
    assert caught.value.option == "ddl_rate"


def first_commit(start: Any) -> int:
    plan = plan_traffic(SQL, Settings(rows=10, start=start))
    return int(plan.tables[0].typed(np.zeros(1, np.int64)).column("commit_ts")[0].as_py())


def test_a_start_is_a_moment() -> None:
    noon = dt.datetime(2025, 5, 5, 12, tzinfo=dt.timezone.utc)
    assert first_commit(noon) == first_commit(tso_from_datetime(noon)) == tso_from_datetime(noon)


@pytest.mark.parametrize("start", [dt.datetime(2024, 1, 1), -5, 0, 1 << 63, "2024-01-01", 1.5])
def test_a_start_that_is_no_moment_is_refused(start: Any) -> None:
    with pytest.raises(ConfigError, match="is not a time") as caught:
        plan_traffic(SQL, Settings(rows=10, start=start))
    assert caught.value.option == "start"
