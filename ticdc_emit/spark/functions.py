"""Spark's functions as ``F`` and types as ``T``, imported where one is first used; and settings of a session."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ticdc_emit.errors import MissingDependencyError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql import types as T  # noqa: N812
else:

    class _Module:
        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module(self._name), name)

    F, T = _Module("pyspark.sql.functions"), _Module("pyspark.sql.types")

__all__ = ["ADAPTIVE_EXECUTION", "F", "T", "conf_is_true", "is_local", "repartition_by_id", "setting_off", "to_arrow"]

ADAPTIVE_EXECUTION = "spark.sql.adaptive.enabled"
"""Plans a query again while it runs; a micro-batch is planned once. A stream's batches run in a copy of the session."""


def conf_is_true(spark: SparkSession, setting: str) -> bool:
    """Return whether a setting of Spark's that is off by default is on; as Spark does, read it whatever its case."""
    return str(spark.conf.get(setting, "false")).strip().lower() == "true"


def to_arrow(df: DataFrame) -> pa.Table:
    """Return the rows of a DataFrame; Spark 3.5 has no public method for it."""
    if hasattr(type(df), "toArrow"):
        return df.toArrow()
    if not hasattr(df, "_collect_as_arrow"):
        raise MissingDependencyError("Spark Connect needs PySpark 4.0", remedy="Use a session without Connect")
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = df._collect_as_arrow()
    return pa.Table.from_batches(batches, None if batches else to_arrow_schema(df.schema))


def repartition_by_id(df: DataFrame, count: int, column: str) -> DataFrame:
    """Return the rows in ``count`` partitions, which a column numbers; before Spark 4.1 by what has their hash."""
    if hasattr(type(df), "repartitionById"):
        return df.repartitionById(count, column)
    hashes = df.sparkSession.range(0, 30 * count, 1, 1).selectExpr(f"pmod(hash(cast(id as int)), {count})").collect()
    hashed = {row[0]: number for number, row in enumerate(hashes)}
    return df.repartition(count, F.array(*(F.lit(hashed[each]) for each in range(count))).getItem(F.col(column)))


def is_local(spark: SparkSession) -> bool:
    """Return whether the tasks of a session run on the driver's machine, in its JVM."""
    return re.fullmatch(r"local(\[.*\])?", spark.conf.get("spark.master", "") or "") is not None


@contextmanager
def setting_off(spark: SparkSession, setting: str) -> Iterator[None]:
    """Run the block with a setting of Spark off that is on by default."""
    before = spark.conf.get(setting, "true")
    if before != "true":
        yield
        return
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.set(setting, before)
