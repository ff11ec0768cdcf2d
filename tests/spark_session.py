"""A quiet local Spark session for tests, classic or (with TICDC_EMIT_TEST_CONNECT=1) over Spark Connect."""

from __future__ import annotations

import os
import sys
from typing import Any

from ticdc_emit.java import java_env

__all__ = ["local_session"]


def local_session(**settings: str) -> Any:
    """Start (or get) the session; ``settings`` are Spark's, with ``_`` for ``.``."""
    from pyspark.sql import SparkSession

    os.environ.update(java_env())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    connect = os.environ.get("TICDC_EMIT_TEST_CONNECT") == "1"
    builder = SparkSession.builder.remote("local[2]") if connect else SparkSession.builder.master("local[2]")
    builder = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
    )
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    session = builder.getOrCreate()
    if not connect:
        session.sparkContext.setLogLevel("OFF")
    return session
