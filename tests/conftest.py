"""One local Spark session for every test that wants one (over Spark Connect with TICDC_EMIT_TEST_CONNECT=1)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from pyspark.sql import SparkSession

    from ticdc_emit.java import java_env

    os.environ.update(java_env())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if os.environ.get("TICDC_EMIT_TEST_CONNECT") == "1":
        builder = SparkSession.builder.remote("local[2]")
    else:
        builder = SparkSession.builder.master("local[2]")
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "3")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    if os.environ.get("TICDC_EMIT_TEST_CONNECT") != "1":
        session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
