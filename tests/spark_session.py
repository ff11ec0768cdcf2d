"""A quiet local Spark session for tests: the library's own, or (TICDC_EMIT_TEST_CONNECT=1) one over Spark Connect."""

from __future__ import annotations

import os
import sys
from typing import Any

from ticdc_emit.spark import local_session as library_session
from ticdc_emit.testing.java import java_env

ON_CONNECT = os.environ.get("TICDC_EMIT_TEST_CONNECT") == "1"


def local_session(**settings: str) -> Any:
    """Start (or get) the session; ``settings`` are Spark's, with ``_`` for ``.``."""
    if ON_CONNECT:
        return _connect_session(settings)
    session = library_session("tests", spark_master="local[2]", **settings)
    session.sparkContext.setLogLevel("OFF")
    return session


def _connect_session(settings: dict[str, str]) -> Any:
    from pyspark.sql import SparkSession

    os.environ.update(java_env())
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.session.timeZone", "UTC")
    for name in ("host", "bindAddress"):
        builder = builder.config(f"spark.driver.{name}", "127.0.0.1")
    for name, value in settings.items():
        builder = builder.config(name.replace("_", "."), value)
    return builder.getOrCreate()
