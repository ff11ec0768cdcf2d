"""Files of row changes, or of plain rows, in the typed form: a DataFrame; for small files an Arrow table without Spark.

In: Parquet, CSV or JSON (one object per line). **Change form** is data with an ``op`` column: beside it ``commit_ts``
or ``commit_time``, and the images as ``before`` and ``after`` structs; CSV, which has no structs, writes them as
columns ``before.<name>`` and ``after.<name>``. **Plain rows** have the table's columns and become inserts, at
the time in ``commit_time_column`` or all in one transaction.

Parquet brings its own types. CSV and JSON are read as text, because inferred types would turn ``12345678901234567.89``
into a double. The text must be canonical for its column (``docs/types.md``); binary columns are base64. Columns that
the table does not have are refused, or left out with one warning. What this process does not read exactly as Spark
does, it leaves to Spark.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ticdc_emit.caller import warn_caller
from ticdc_emit.cli.local_files import NeedsSparkError, csv_columns, json_columns
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
    "changes_here",
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
    rows = _read_frame(spark, path, format_of(path, input_format), info, ignore_unknown=ignore_unknown)
    if is_changes(rows.columns, info):
        return _changes_of_frame(rows, info, ignore_unknown=ignore_unknown)
    check_columns_of_rows(rows.columns, info, commit_time_column, ignore_unknown=ignore_unknown)
    check_moment(rows.columns, info, commit_time_column)
    return _inserts_of_frame(rows, info, commit_time_column, commit_ts)


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


def _read_frame(spark: SparkSession, path: str, given: str, info: TableInfo, *, ignore_unknown: bool) -> DataFrame:
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


def _changes_of_frame(changes: DataFrame, info: TableInfo, *, ignore_unknown: bool) -> DataFrame:
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
            columns.append(F.when(F.col(image).isNotNull(), _struct_of_frame(source, info)).alias(image))
        elif any(name.startswith(f"{image}.") for name in changes.columns):
            names = _flat(changes, image)
            check_known(names, info, ignore_unknown=ignore_unknown)
            named = {name: F.col(quoted(f"{image}.{name}")) for name in names}
            columns.append(_struct_of_frame(named, info).alias(image))
    return changes.select(*columns)


def _flat(changes: DataFrame, image: str) -> list[str]:
    return [name.removeprefix(f"{image}.") for name in changes.columns if name.startswith(f"{image}.")]


def _inserts_of_frame(rows: DataFrame, info: TableInfo, commit_time_column: str | None, commit_ts: int) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812

    source = {name: F.col(quoted(name)) for name in rows.columns}
    return rows.select(
        F.lit("c").alias("op"),
        _moment_of_frame(rows, commit_time_column, commit_ts),
        _struct_of_frame(source, info).alias("after"),
    )


def _moment_of_frame(rows: DataFrame, column: str | None, commit_ts: int) -> Column:
    from pyspark.sql import functions as F  # noqa: N812

    if column is None:
        return F.lit(commit_ts).cast("long").alias("commit_ts")
    if rows.schema[column].dataType.typeName() in ("long", "integer"):
        return F.col(quoted(column)).alias("commit_ts")
    return F.col(quoted(column)).cast("timestamp").alias("commit_time")


def _struct_of_frame(source: dict[str, Any], info: TableInfo) -> Column:
    """Return the table's columns as a struct. Columns that the source lacks are missing; later checks report them."""
    from pyspark.sql import functions as F  # noqa: N812

    names = [column.name for column in info.data_columns if column.name in source]
    return F.struct(*(source[name].alias(name) for name in names))


_ENDINGS = {"parquet": (".parquet",), "csv": (".csv",), "json": (".json", ".jsonl", ".ndjson")}
_INTEGER = r"-?[0-9]{1,18}"
_MOMENT = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z?"
_UTC = pa.timestamp("us", "UTC")
_SAME = (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.bool_(), pa.float32(), pa.float64(), pa.string(),
         pa.binary(), pa.date32())  # fmt: skip


def changes_here(
    files: Sequence[Path] | None,
    info: TableInfo,
    *,
    input_format: str,
    commit_time_column: str | None,
    commit_ts: int,
    most_rows: int,
    ignore_unknown: bool = False,
) -> pa.Table | None:
    """Return the changes; ``None`` if Spark has to read them, or if there are more than ``most_rows``.

    The other arguments are those of ``input_data.read_changes``. Raises
    :class:`~ticdc_emit.errors.MissingColumnError` for missing columns, :class:`~ticdc_emit.errors.SchemaError` for
    unknown ones.
    """
    endings = _ENDINGS[input_format]
    if not files or any(not file.is_file() or file.suffix not in endings or file.name[0] in "._" for file in files):
        return None
    try:
        columns_by_name = _read_arrow(files, input_format, info, most_rows, ignore_unknown=ignore_unknown)
        if is_changes(list(columns_by_name), info):
            return _changes_of_arrow(columns_by_name, info, ignore_unknown=ignore_unknown)
        if not columns_by_name or any(image in columns_by_name for image in IMAGES):
            return None
        check_columns_of_rows(list(columns_by_name), info, commit_time_column, ignore_unknown=ignore_unknown)
        check_moment(list(columns_by_name), info, commit_time_column)
        return _inserts_of_arrow(columns_by_name, info, commit_time_column, commit_ts)
    except (NeedsSparkError, pa.ArrowException, UnicodeEncodeError, OSError):
        return None


_Columns = Mapping[str, pa.Array]


def _read_arrow(
    files: Sequence[Path], input_format: str, info: TableInfo, most_rows: int, *, ignore_unknown: bool
) -> _Columns:
    if input_format == "parquet":
        opened = [pq.ParquetFile(file) for file in files]
        rows = sum(file.metadata.num_rows for file in opened)
        if rows > most_rows:
            raise NeedsSparkError(f"{rows:,} rows")
        tables = [file.read() for file in opened]
        if any(table.schema != tables[0].schema for table in tables):
            raise NeedsSparkError("files of several schemas")
        whole = pa.concat_tables(tables).combine_chunks()
        columns_by_name = {name: _as_spark(_chunk(whole, place)) for place, name in enumerate(whole.schema.names)}
        if len({name.lower() for name in columns_by_name}) < len(whole.schema.names):
            raise NeedsSparkError("two columns of one name")
        return columns_by_name
    columns = csv_columns(files) if input_format == "csv" else json_columns(files, IMAGES)
    if any(len(values) > most_rows for values in columns.values()):
        raise NeedsSparkError(f"more than {most_rows:,} rows")
    image = pa.struct([(column.name, pa.string()) for column in info.data_columns])
    is_json = input_format == "json"
    for name in IMAGES if is_json and is_changes(list(columns), info) else ():
        held = {column: None for row in columns.get(name, ()) for column in row or ()}
        check_known(list(held), info, ignore_unknown=ignore_unknown)
    return {
        name: pa.array(values, image if is_json and name in IMAGES else pa.string()) for name, values in columns.items()
    }


def _chunk(table: pa.Table, place: int) -> pa.Array:
    column = table.column(place)
    return column.chunk(0) if column.num_chunks else pa.nulls(0, column.type)


def _as_spark(column: pa.Array) -> pa.Array:
    """Return a Parquet column in the type in which Spark hands it to a worker."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        return _as_spark(column.dictionary_decode())
    if pa.types.is_large_string(kind):
        return column.cast(pa.string())
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return column.cast(pa.binary())
    if pa.types.is_timestamp(kind) and kind.unit in ("ms", "us"):
        return column.cast(_UTC if kind.tz is not None else pa.timestamp("us"))
    if pa.types.is_struct(kind):
        fields = [_as_spark(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, [field.name for field in kind], mask=column.is_null())
    if kind in _SAME or pa.types.is_decimal128(kind):
        return column
    raise NeedsSparkError(f"a column of {kind}")


def _changes_of_arrow(columns_by_name: _Columns, info: TableInfo, *, ignore_unknown: bool) -> pa.Table:
    columns = {"op": columns_by_name["op"]}
    if "commit_ts" in columns_by_name:
        columns["commit_ts"] = _integers(columns_by_name["commit_ts"])
    elif "commit_time" in columns_by_name:
        columns["commit_time"] = _moments_of_arrow(columns_by_name["commit_time"])
    if "seq" in columns_by_name:
        columns["seq"] = _integers(columns_by_name["seq"])
    for image in IMAGES:
        prefix = f"{image}."
        if image in columns_by_name:
            whole = columns_by_name[image]
            if not pa.types.is_struct(whole.type):
                raise NeedsSparkError(f"an image that is {whole.type}")
            check_known([field.name for field in whole.type], info, ignore_unknown=ignore_unknown)
            source = dict(zip((field.name for field in whole.type), whole.flatten(), strict=True))
            columns[image] = _struct_of_arrow(source, info, whole.is_null())
        elif any(name.startswith(prefix) for name in columns_by_name):
            named = {
                name.removeprefix(prefix): columns_by_name[name] for name in columns_by_name if name.startswith(prefix)
            }
            check_known(list(named), info, ignore_unknown=ignore_unknown)
            columns[image] = _struct_of_arrow(named, info)
    return pa.table(columns)


def _inserts_of_arrow(
    columns_by_name: _Columns, info: TableInfo, commit_time_column: str | None, commit_ts: int
) -> pa.Table:
    rows = len(next(iter(columns_by_name.values())))
    columns = {"op": pa.repeat("c", rows)}
    if commit_time_column is None:
        columns["commit_ts"] = pa.repeat(pa.scalar(commit_ts, pa.int64()), rows)
    elif columns_by_name[commit_time_column].type in (pa.int32(), pa.int64()):
        columns["commit_ts"] = columns_by_name[commit_time_column]
    else:
        columns["commit_time"] = _moments_of_arrow(columns_by_name[commit_time_column])
    return pa.table({**columns, "after": _struct_of_arrow(columns_by_name, info)})


def _struct_of_arrow(source: _Columns, info: TableInfo, is_null: pa.Array | None = None) -> pa.StructArray:
    names = [column.name for column in info.data_columns if column.name in source]
    if not names:
        raise NeedsSparkError("an image without columns of the table")
    return pa.StructArray.from_arrays([source[name] for name in names], names, mask=is_null)


def _integers(column: pa.Array) -> pa.Array:
    """Return what Spark casts to bigint."""
    if not pa.types.is_integer(column.type):
        _only(column, _INTEGER)
    return column.cast(pa.int64())


def _moments_of_arrow(column: pa.Array) -> pa.Array:
    """Return what Spark casts to a timestamp of a session in UTC."""
    if pa.types.is_timestamp(column.type):
        return column.cast(_UTC)
    _only(column, _MOMENT)
    return pc.utf8_rtrim(column, "Z").cast(pa.timestamp("us")).cast(_UTC)


def _only(column: pa.Array, pattern: str) -> None:
    if not pa.types.is_string(column.type):
        raise NeedsSparkError(f"a cast from {column.type}")
    shape = re.compile(pattern)
    if not all(text is None or shape.fullmatch(text) for text in column.to_pylist()):
        raise NeedsSparkError("text that Spark casts in its own way")
