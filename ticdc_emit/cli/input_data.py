"""Files of row changes, or of plain rows, as a DataFrame in the typed form; ``input_here`` reads small ones alike.

In: Parquet, CSV or JSON (one object per line). **Change form** is data with an ``op`` column: beside it ``commit_ts``
or ``commit_time``, and the images as ``before`` and ``after`` structs; CSV, which has no structs, writes them as
columns ``before.<name>`` and ``after.<name>``. **Plain rows** have the table's columns and become inserts, at
the time in ``commit_time_column`` or all in one transaction.

Parquet brings its own types. CSV and JSON are read as text, because inferred types would turn ``12345678901234567.89``
into a double. The text must be canonical for its column (``docs/types.md``); binary columns are base64.

Columns that the table does not have are refused, or left out with one warning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ticdc_emit.caller import warn_caller
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.errors import ConfigError, MissingColumnError, SchemaError
from ticdc_emit.hints import did_you_mean
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.replay.sources import csv_options
from ticdc_emit.traffic.replay.sources import format_of as source_format

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = [
    "FORMATS",
    "IMAGES",
    "check_columns_of_rows",
    "check_known",
    "check_moment",
    "format_of",
    "is_changes",
    "read_changes",
]

FORMATS = ("parquet", "csv", "json")
IMAGES = ("before", "after")


def read_changes(
    spark: SparkSession,
    path: str,
    info: TableInfo,
    *,
    input_format: str | None,
    commit_time_column: str | None,
    commit_ts: int,
    ignore_unknown: bool = False,
) -> DataFrame:
    """Return the changes. ``commit_ts`` is the TSO of plain rows without a ``commit_time_column``. ``ignore_unknown``:
    leave out columns that the table does not have.

    Raises :class:`ConfigError` for an unknown format, :class:`MissingColumnError` for missing columns,
    :class:`SchemaError` for unknown ones.
    """
    rows = _read(spark, path, format_of(path, input_format), info, ignore_unknown=ignore_unknown)
    if is_changes(rows.columns, info):
        return _changes(rows, info, ignore_unknown=ignore_unknown)
    check_columns_of_rows(rows.columns, info, commit_time_column, ignore_unknown=ignore_unknown)
    check_moment(rows.columns, info, commit_time_column)
    return _inserts(rows, info, commit_time_column, commit_ts)


def is_changes(names: Sequence[str], info: TableInfo) -> bool:
    """Return whether columns of these names are in the change form."""
    return "op" in names and "op" not in {column.name for column in info.data_columns}


def check_columns_of_rows(
    names: Sequence[str], info: TableInfo, commit_time_column: str | None, *, ignore_unknown: bool
) -> None:
    """Check the columns of plain rows: :class:`MissingColumnError` unless they have all of the table's, and the errors
    of :func:`check_known`.
    """
    missing = [column.name for column in info.data_columns if column.name not in names]
    known = {column.name for column in info.columns}
    if missing:
        hint = did_you_mean(missing[0], [name for name in names if name not in known])
        raise MissingColumnError(
            f"the input lacks columns of the table: {', '.join(missing)}",
            remedy=f"{hint}It has: {', '.join(names)}; names are case-sensitive. Row changes need a column op",
            table=info.full_name,
            column=missing[0],
        )
    check_known([name for name in names if name != commit_time_column], info, ignore_unknown=ignore_unknown)


def check_known(names: Sequence[str], info: TableInfo, *, ignore_unknown: bool) -> None:
    """Raise :class:`SchemaError` for columns that the table does not have; with ``ignore_unknown`` warn of them."""
    known = [column.name for column in info.columns]
    unknown = [name for name in names if name not in known]
    if not unknown:
        return
    listed = ", ".join(unknown)
    if ignore_unknown:
        warn_caller(f"columns that {info.full_name} does not have are left out: {listed}", ConfigWarning)
        return
    others = [name for name in known if name not in names]
    raise SchemaError(
        f"the input has columns that the table does not have: {listed}",
        remedy=f"{did_you_mean(unknown[0], others)}Complete the schema file, or leave them out with "
        "--ignore-unknown-columns",
        table=info.full_name,
        column=unknown[0],
    )


def check_moment(names: Sequence[str], info: TableInfo, column: str | None) -> None:
    """Raise :class:`MissingColumnError` unless the commit time column is among the names, or is not given."""
    if column is not None and column not in names:
        raise MissingColumnError(
            "the input lacks the commit time column",
            remedy=f"Choose one of its columns with --commit-time-column: {', '.join(names)}",
            table=info.full_name,
            column=column,
        )


def format_of(path: str, input_format: str | None) -> str:
    """Return the format of an input: the one given, else that of its name or its files.

    Raises :class:`ConfigError` for an unknown one.
    """
    given = input_format or _guess(path)
    if given not in FORMATS:
        raise ConfigError(
            f"unknown input format {given!r}", remedy=f"Use one of: {', '.join(FORMATS)}", option="format"
        )
    return given


def _guess(path: str) -> str:
    known = source_format(path)
    if known is None:
        raise ConfigError(
            "cannot tell the input's format from its name or its files",
            remedy=f"Add --format {' or '.join(FORMATS)}",
            option="format",
        )
    return known


def _read(spark: SparkSession, path: str, given: str, info: TableInfo, *, ignore_unknown: bool) -> DataFrame:
    from pyspark.sql.types import StructType

    if given == "parquet":
        return spark.read.parquet(path)
    if given == "csv":
        return spark.read.csv(path, **csv_options())
    inferred = spark.read.option("primitivesAsString", True).json(path).schema
    names = inferred.names
    if is_changes(names, info):
        for kind in (inferred[image].dataType for image in IMAGES if image in names):
            if isinstance(kind, StructType):
                check_known(kind.names, info, ignore_unknown=ignore_unknown)
    # fields that are read as strings keep the digits of numbers and the text of nested objects
    return spark.read.schema(", ".join(_json_field(name, info) for name in names)).json(path)


def _json_field(name: str, info: TableInfo) -> str:
    if name not in IMAGES:
        return f"{quoted(name)} string"
    columns = ", ".join(f"{quoted(column.name)}: string" for column in info.data_columns)
    return f"{name} struct<{columns}>"


def _changes(changes: DataFrame, info: TableInfo, *, ignore_unknown: bool) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    columns = [F.col("op")]
    if "commit_ts" in changes.columns:
        columns.append(F.col("commit_ts").cast("long").alias("commit_ts"))
    elif "commit_time" in changes.columns:
        columns.append(F.col("commit_time").cast("timestamp").alias("commit_time"))
    if "seq" in changes.columns:
        columns.append(F.col("seq").cast("long").alias("seq"))
    for image in IMAGES:
        if image in changes.columns:
            kind: Any = changes.schema[image].dataType
            check_known(kind.fieldNames(), info, ignore_unknown=ignore_unknown)
            source = {name: F.col(image)[name] for name in kind.fieldNames()}
            columns.append(F.when(F.col(image).isNotNull(), _struct(source, info)).alias(image))
        elif any(name.startswith(f"{image}.") for name in changes.columns):
            names = _flat(changes, image)
            check_known(names, info, ignore_unknown=ignore_unknown)
            named = {name: F.col(quoted(f"{image}.{name}")) for name in names}
            columns.append(_struct(named, info).alias(image))
    return changes.select(*columns)


def _flat(changes: DataFrame, image: str) -> list[str]:
    return [name.removeprefix(f"{image}.") for name in changes.columns if name.startswith(f"{image}.")]


def _inserts(rows: DataFrame, info: TableInfo, commit_time_column: str | None, commit_ts: int) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    source = {name: F.col(quoted(name)) for name in rows.columns}
    return rows.select(
        F.lit("c").alias("op"),
        _moment(rows, commit_time_column, commit_ts),
        _struct(source, info).alias("after"),
    )


def _moment(rows: DataFrame, column: str | None, commit_ts: int) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if column is None:
        return F.lit(commit_ts).cast("long").alias("commit_ts")
    if rows.schema[column].dataType.typeName() in ("long", "integer"):
        return F.col(quoted(column)).alias("commit_ts")
    return F.col(quoted(column)).cast("timestamp").alias("commit_time")


def _struct(source: dict[str, Any], info: TableInfo) -> Column:
    """Return the table's columns as a struct. Columns that the source lacks are missing; later checks report them."""
    from pyspark.sql import functions as F  # noqa: N812

    names = [column.name for column in info.data_columns if column.name in source]
    return F.struct(*(source[name].alias(name) for name in names))
