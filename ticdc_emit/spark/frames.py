"""DataFrames of row changes as the columns that an encoding task reads, and what a batch finds out before its jobs.

In: a **typed** DataFrame, of one table, or a **generic** one, of many (``changes.arrow_input``). Nothing here shuffles,
collects or caches rows, but DDL and the names of tables.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, TypeVar

from ticdc_emit.changes.arrow_input import DDL_OP, GENERIC_NAMES, check_columns, is_generic
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.commit_ts import missing_commit_ts
from ticdc_emit.columnar.value_errors import cast_remedy, mismatch
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.pipeline.batch import null_in_ddl
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.spark.functions import F, T
from ticdc_emit.sql.types import BLOB_TYPES, MySQLType
from ticdc_emit.sql.words import quoted
from ticdc_emit.tso import LOGICAL_BITS, LOGICAL_PER_MICROSECOND

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructField, StructType


_Part = TypeVar("_Part")
_IMAGES = ("before", "after")


def without_ddl(df: DataFrame) -> DataFrame:
    """Return the row changes of a DataFrame that may hold DDL rows (``op = 'ddl'`` with ``query``)."""
    return df.filter(~F.lower("op").eqNullSafe(DDL_OP)) if "query" in df.columns else df


def change_columns(df: DataFrame, where: str) -> DataFrame:
    """Return the columns of row changes. ``where``: the table for errors."""
    check_columns(df.columns, where)
    df = variants_as_json(df)
    names = [*(GENERIC_NAMES if is_generic(df.columns) else ()), *ATTRIBUTES, "before", "after"]
    others = [name for name in names if name in df.columns]
    longs = [name for name in ("commit_ts", "seq") if (name, "bigint") in df.dtypes]
    if "commit_ts" in longs and df.columns == ["op", *longs, *others]:
        return df  # Spark analyses and compiles each projection anew, for each table
    seq = [F.col("seq").cast("long").alias("seq")] if "seq" in df.columns else []
    return df.select("op", commit_ts_column(df).alias("commit_ts"), *seq, *others)


def variants_as_json(df: DataFrame) -> DataFrame:
    """Return row changes with JSON text for VARIANT, of which a worker would get two binary values.

    A VARIANT ``null`` is JSON's, NULL stays NULL.
    """
    images: dict[str, Column] = {}
    for image, name in variants(df.schema):
        text = F.to_json(F.col(image)[name])
        images[image] = images.get(image, F.col(image)).withField(quoted(name), text)
    return df.withColumns(images) if images else df


def variants(schema: StructType) -> Iterator[tuple[str, str]]:
    """Yield the VARIANT columns of images, each with the name of its image first."""
    return ((image, field.name) for image, field in _image_fields(schema) if _is_variant(field))


def variants_checked(schema: StructType, versions: Iterable[TableInfo], where: str) -> StructType:
    """Return the images as :func:`variants_as_json` makes them; a VARIANT must be the value of a JSON column."""
    tables = list(versions)
    images: list[T.StructField] = []
    for image in (each for each in schema if each.name in _IMAGES):
        kind = image.dataType
        if isinstance(kind, T.StructType):
            refused = {field.name for field in kind if _is_variant(field)}
            for column in (column for table in tables for column in table if column.name in refused):
                if column.type != MySQLType.JSON:
                    cause, remedy = mismatch(column, "VARIANT"), cast_remedy(column)
                    raise UnsupportedTypeError(cause, remedy=remedy, table=where, column=column.name)
            texts = (T.StructField(each.name, T.StringType()) if _is_variant(each) else each for each in kind)
            kind = T.StructType(list(texts))
        elif "variant" in kind.simpleString():
            raise UnsupportedTypeError(
                f"the image {image.name!r} is {kind.simpleString()}, not a struct of the table's columns",
                remedy=f"Make a struct of it first: F.variant_get({image.name!r}, '$', 'struct<id: bigint, ...>')",
                table=where,
                column=image.name,
            )
        images.append(T.StructField(image.name, kind))
    return T.StructType(images)


def balanced_reduce(join: Callable[[_Part, _Part], _Part], parts: Sequence[_Part]) -> _Part:
    """Join parts in their order, neighbours first: a tree of little depth, which Spark walks at each step."""
    while len(parts) > 1:
        parts = [reduce(join, parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return parts[0]


_MOST_READS = 8
"""Sources that one stage reads. A task gets the reads of all sources of its stage, each with Hadoop's configuration, so
what tasks take in is the square of the sources. After a shuffle each source has a stage of its own."""


def union_of_reads(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of several sources, by the names of columns; NULL where a source lacks one."""
    if len(parts) > _MOST_READS:
        parts = [part.hint("rebalance") for part in parts]
    return balanced_reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)


def commit_ts_column(df: DataFrame) -> Column:
    """Return the TSO column; ``commit_time`` is converted like in ``tso.tso_from_micros``."""
    if "commit_ts" in df.columns:
        kind = df.schema["commit_ts"].dataType
        if not isinstance(kind, T.IntegralType | T.DecimalType):
            raise UnsupportedTypeError(
                f"commit_ts is {kind.simpleString()}, not a whole number",
                remedy="Give commit_ts as long, or commit_time as timestamp",
                column="commit_ts",
            )
        return F.col("commit_ts").cast("long")
    if "commit_time" not in df.columns:
        raise missing_commit_ts(moment="a timestamp")
    micros = F.unix_micros(F.col("commit_time").cast("timestamp"))
    physical = F.floor(micros / F.lit(1000)).cast("long")
    return physical * F.lit(1 << LOGICAL_BITS) + (micros - physical * F.lit(1000)) * F.lit(LOGICAL_PER_MICROSECOND)


logger = logging.getLogger(__name__)

LONGEST_ROW_BYTES = 16 * 1024
"""Bytes of text and binary values of a row's images."""

_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_UNLIMITED = str((1 << 31) - 1)
_MOST_ROWS = 10_000
_MOST_FIELDS = 100
_LONG_TYPES = {*BLOB_TYPES, MySQLType.GEOMETRY, MySQLType.VECTOR_FLOAT32} - {MySQLType.TINY_BLOB}
_MARK = "ticdc_emit: a row is long, so the batch runs again and Spark measures its rows"
_Result = TypeVar("_Result")


class RowLengths:
    """What one sink knows of the rows that it is given: whether a long one has been among them."""

    def __init__(self) -> None:
        self._long = False

    def run(self, session: SparkSession, job: Callable[[bool], _Result]) -> _Result:
        """Return what ``job`` returns, without the limit of bytes if no row is long; it gets whether to fail at one."""
        from pyspark.errors import PySparkException

        rows = int(session.conf.get(_ROWS, str(_MOST_ROWS)) or 0)
        if not self._long and 0 < rows <= _MOST_ROWS and hasattr(session, "_jsparkSession"):
            try:
                with _without_byte_limit(session):
                    return job(True)
            except PySparkException as error:
                if _MARK not in str(error):
                    raise
                self._long = True
                logger.warning(
                    "a row has more than %d bytes of text or binary data, so Spark's last job failed before it sent "
                    "anything. This is expected. The batch runs again, and Spark measures this sink's rows from now on",
                    LONGEST_ROW_BYTES,
                )
        return job(False)


def are_short(df: DataFrame, versions: Iterable[TableInfo]) -> bool:
    """Return whether a typed DataFrame's rows are short, as far as types tell: JSON and VARCHAR may be long.

    Rows of many fields are not: Spark's optimizer would move the test of :func:`refuse_long_rows` below the projection
    that makes the images, where each text in it becomes a copy of its image with all its fields.
    """
    fields = [field for _, field in _image_fields(df.schema)]
    return (
        all(each.dataType.typeName() == "struct" for each in df.schema if each.name in _IMAGES)
        and len(fields) <= _MOST_FIELDS
        and not any(column.type in _LONG_TYPES for table in versions for column in table)
        and all(
            type(field.dataType).__name__ not in ("ArrayType", "MapType", "StructType", "VariantType")
            for field in fields
        )
    )


def refuse_long_rows(df: DataFrame) -> DataFrame:
    """Return the rows of a typed DataFrame; a job that meets one of more than :data:`LONGEST_ROW_BYTES` bytes fails."""
    lengths = [
        f"coalesce(octet_length({quoted(image, field.name)}), 0)"
        for image, field in _image_fields(df.schema)
        if field.dataType.typeName() in ("string", "binary")
    ]
    if not lengths:
        return df
    # as text, because each function of a Column takes a dozen calls into the JVM
    length = balanced_reduce(lambda one, other: f"({one} + {other})", lengths)
    return df.filter(f"if({length} > {LONGEST_ROW_BYTES}, cast(raise_error('{_MARK}') as boolean), true)")


def _image_fields(schema: StructType) -> Iterator[tuple[str, StructField]]:
    for image in schema:
        if image.name in _IMAGES and isinstance(image.dataType, T.StructType):
            yield from ((image.name, field) for field in image.dataType)


def _is_variant(field: StructField) -> bool:
    return bool(field.dataType.typeName() == "variant")


@contextmanager
def _without_byte_limit(session: SparkSession) -> Iterator[None]:
    context = session.sparkContext
    before = context.getLocalProperty(_BYTES)
    context.setLocalProperty(_BYTES, _UNLIMITED)
    try:
        yield
    finally:
        context.setLocalProperty(_BYTES, before)


def collect_ddl(frames: Sequence[DataFrame], database: str) -> list[DdlStatement]:
    """Return the DDL of DataFrames in order, by one job; ``database``: for statements without one."""
    statements: list[DdlStatement] = []
    ddl = balanced_reduce(lambda one, other: one.union(other), list(map(_ddl_of, frames)))
    for schema, commit_ts, query, time in ddl.collect():
        if commit_ts is None or query is None:
            raise null_in_ddl(time if commit_ts is None else "query", commit_ts, query)
        statements.append((commit_ts, schema or database, query))
    return sorted(statements)


def table_names(df: DataFrame) -> DataFrame:
    return without_ddl(df).select("schema", "table").distinct().dropna()


def _ddl_of(df: DataFrame) -> DataFrame:
    for column in {"schema", "query"} & set(df.columns):
        kind = df.schema[column].dataType
        if not isinstance(kind, T.StringType | T.CharType | T.VarcharType | T.NullType):
            raise UnsupportedTypeError(
                f"the {column} of DDL rows is {kind.simpleString()}, not text",
                remedy=f"Cast {column} to string first",
                column=column,
            )
    schema = F.col("schema") if "schema" in df.columns else F.lit(None)
    time = "commit_ts" if "commit_ts" in df.columns else "commit_time"
    ddl = df.filter(F.lower("op") == F.lit(DDL_OP))
    return ddl.select(schema.cast("string"), commit_ts_column(df), F.col("query").cast("string"), F.lit(time))
