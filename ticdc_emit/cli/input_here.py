"""Files of row changes, or of plain rows, as an Arrow table in the typed form: ``input_data`` without Spark.

In: local Parquet, CSV or JSON files. Out: a table of the columns and types that Spark would hand to a worker, or
``None`` if Spark has to read them: folders, compressed text, types that it reads in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ticdc_emit.cli.input_data import IMAGES, check_columns_of_rows, check_known, check_moment, is_changes
from ticdc_emit.cli.text_files import csv_columns, json_columns
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["changes_here"]

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
        columns_by_name = _read(files, input_format, info, most_rows, ignore_unknown=ignore_unknown)
        if is_changes(list(columns_by_name), info):
            return _changes(columns_by_name, info, ignore_unknown=ignore_unknown)
        if not columns_by_name or any(image in columns_by_name for image in IMAGES):
            return None
        check_columns_of_rows(list(columns_by_name), info, commit_time_column, ignore_unknown=ignore_unknown)
        check_moment(list(columns_by_name), info, commit_time_column)
        return _inserts(columns_by_name, info, commit_time_column, commit_ts)
    except (NeedsSparkError, pa.ArrowException, UnicodeEncodeError, OSError):
        return None


_Columns = Mapping[str, pa.Array]


def _read(
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


def _changes(columns_by_name: _Columns, info: TableInfo, *, ignore_unknown: bool) -> pa.Table:
    columns = {"op": columns_by_name["op"]}
    if "commit_ts" in columns_by_name:
        columns["commit_ts"] = _integers(columns_by_name["commit_ts"])
    elif "commit_time" in columns_by_name:
        columns["commit_time"] = _moments(columns_by_name["commit_time"])
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
            columns[image] = _struct(source, info, whole.is_null())
        elif any(name.startswith(prefix) for name in columns_by_name):
            named = {
                name.removeprefix(prefix): columns_by_name[name] for name in columns_by_name if name.startswith(prefix)
            }
            check_known(list(named), info, ignore_unknown=ignore_unknown)
            columns[image] = _struct(named, info)
    return pa.table(columns)


def _inserts(columns_by_name: _Columns, info: TableInfo, commit_time_column: str | None, commit_ts: int) -> pa.Table:
    rows = len(next(iter(columns_by_name.values())))
    columns = {"op": pa.repeat("c", rows)}
    if commit_time_column is None:
        columns["commit_ts"] = pa.repeat(pa.scalar(commit_ts, pa.int64()), rows)
    elif columns_by_name[commit_time_column].type in (pa.int32(), pa.int64()):
        columns["commit_ts"] = columns_by_name[commit_time_column]
    else:
        columns["commit_time"] = _moments(columns_by_name[commit_time_column])
    return pa.table({**columns, "after": _struct(columns_by_name, info)})


def _struct(source: _Columns, info: TableInfo, is_null: pa.Array | None = None) -> pa.StructArray:
    names = [column.name for column in info.data_columns if column.name in source]
    if not names:
        raise NeedsSparkError("an image without columns of the table")
    return pa.StructArray.from_arrays([source[name] for name in names], names, mask=is_null)


def _integers(column: pa.Array) -> pa.Array:
    """Return what Spark casts to bigint."""
    if not pa.types.is_integer(column.type):
        _only(column, _INTEGER)
    return column.cast(pa.int64())


def _moments(column: pa.Array) -> pa.Array:
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
