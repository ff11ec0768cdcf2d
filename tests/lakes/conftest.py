"""A Spark 4.1 session with real Delta and Iceberg (``tox -e lakes``).

No other version of Spark has both formats, so with another pyspark the tests of this folder are not collected.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

import pytest
from lake_session import TINY, lake_settings

SUPPORTED = "4.1."

if importlib.util.find_spec("pyspark") is None or not version("pyspark").startswith(SUPPORTED):
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from spark_session import local_session

    session = local_session(**lake_settings(tmp_path_factory.mktemp("lakes")))
    yield session
    session.stop()


@pytest.fixture
def tiny(spark: Any) -> Iterator[Any]:
    """The session with settings for a few rows."""
    own = {name: spark.conf.get(name, None) for name in TINY}
    for name, value in TINY.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in own.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
