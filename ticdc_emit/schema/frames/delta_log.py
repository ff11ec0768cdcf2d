"""The log of a Delta table as data: what each of its commits did, and the columns since a version.

It works over Spark Connect, without Delta's classes, and has what Delta hides: identity columns and physical names.
Raises Spark's errors. Rule source: Delta's protocol ("Delta Log Entries", "Change Metadata", "Checkpoints").
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_METADATA = "metaData struct<schemaString string>"


def location(spark: SparkSession, table: str) -> str:
    """Return the folder of a table, which is named in SQL, or as ``delta.`` and its path in backquotes."""
    row = spark.sql(f"DESCRIBE DETAIL {table}").select("location").first()
    assert row is not None
    return str(row[0])


def commits(spark: SparkSession, folder: str, actions: str) -> DataFrame:
    """Return the actions of the commits that the log still has, and their ``version``. ``actions``: a schema as DDL."""
    from pyspark.sql import functions as F  # noqa: N812

    files = spark.read.schema(actions).option("pathGlobFilter", f"{'[0-9]' * 20}.json")
    version = F.substring("_metadata.file_name", 1, 20).cast("long")
    return files.json(_log(folder)).select("*", version.alias("version"))


def committed_schemas(spark: SparkSession, folder: str) -> dict[int, StructType]:
    """Return the schemas that commits set, by version, with the metadata that Delta's protocol gives their fields."""
    log = commits(spark, folder, _METADATA).where("metaData is not null")
    return {version: _schema(text) for version, text in log.select("version", "metaData.schemaString").collect()}


def checkpointed_schemas(spark: SparkSession, folder: str) -> dict[int, StructType]:
    """Return the schemas in the log's checkpoints, by version."""
    from pyspark.sql import functions as F  # noqa: N812

    files = spark.read.schema(_METADATA).option("pathGlobFilter", "*.checkpoint*.parquet").parquet(_log(folder))
    version = F.substring("_metadata.file_name", 1, 20).cast("long")
    rows = files.where("metaData is not null").select(version, "metaData.schemaString").collect()
    return {number: _schema(text) for number, text in rows}


def _log(folder: str) -> str:
    return f"{folder}/_delta_log"


def _schema(text: str) -> StructType:
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(text))
