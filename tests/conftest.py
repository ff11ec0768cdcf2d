"""One local Spark session for every test that wants one, and one hypothesis profile for all.

The profile gives the same examples on every machine and has no time limits that a busy one would miss;
``HYPOTHESIS_PROFILE=explore`` looks for new examples instead.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

_HEALTHY = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("fixed", derandomize=True, deadline=None, database=None, suppress_health_check=_HEALTHY)
settings.register_profile("explore", deadline=None, suppress_health_check=_HEALTHY)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from spark_session import local_session

    session = local_session(spark_sql_shuffle_partitions="3")
    yield session
    session.stop()
