"""The settings of a Spark 4.1 session with real Delta and Iceberg, whose jars ``lakes.lock.toml`` lists.

``spark_catalog`` is Delta's, ``ice`` is a catalog of Iceberg tables in a folder.
"""

from __future__ import annotations

from pathlib import Path

from missing_parts import java_and_jars

TINY = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.stats.collect": "false",
}
"""Settings for writing and reading a few rows: they leave out what costs more than it gives there."""


def lake_settings(warehouse: Path) -> dict[str, str]:
    """Return the settings of a session with both formats, whose tables are in a folder."""
    _, jars = java_and_jars(Path(__file__).parent)
    return {
        "spark.driver.memory": "4g",
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
