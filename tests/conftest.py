"""One local Spark session for every test that wants one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from spark_session import local_session

    session = local_session(spark_sql_shuffle_partitions="3")
    yield session
    session.stop()
