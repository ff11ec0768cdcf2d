"""A Spark 4.1 session with real Delta and Iceberg, whose jars ``lakes.lock.toml`` lists (``tox -e lakes``).

``spark_catalog`` is Delta's, ``ice`` is a catalog of Iceberg tables in a folder. No other version of Spark has both
formats, so with another pyspark the tests of this folder are not collected.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from missing_parts import java_and_jars

SUPPORTED = "4.1."

if importlib.util.find_spec("pyspark") is None or not version("pyspark").startswith(SUPPORTED):
    collect_ignore_glob = ["test_*.py"]


def lake_settings(warehouse: Path) -> dict[str, str]:
    """Return the settings of a session with both formats, whose tables are in a folder."""
    _, jars = java_and_jars(Path(__file__).parent)
    return {
        "spark.jars": ",".join(sorted(map(str, jars.glob("*.jar")))),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": str(warehouse / "ice"),
        "spark.sql.warehouse.dir": str(warehouse / "delta"),
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.shuffle.partitions": "2",
    }


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from spark_session import local_session

    session = local_session(**lake_settings(tmp_path_factory.mktemp("lakes")))
    yield session
    session.stop()
