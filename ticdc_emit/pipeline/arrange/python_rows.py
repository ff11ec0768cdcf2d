"""Changes as Python mappings, read as a batch in change form (:func:`rows_to_batch`).

Images may mix the types of values. Each of their columns becomes an Arrow array of the canonical text that
``columnar.values.accept`` reads (docs/types.md).
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.commit_ts import commit_ts_of
from ticdc_emit.changes.images import refused_value
from ticdc_emit.columnar.floats import floats_to_decimal_text, floats_to_integers
from ticdc_emit.columnar.nested_json import document
from ticdc_emit.columnar.strings import label_reader
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.errors import InvalidValueError, MissingColumnError, UnsupportedTypeError, shown
from ticdc_emit.pipeline.arrange.row_reader import unknown_column
from ticdc_emit.pipeline.plan.table_plans import TablePlan
from ticdc_emit.schema.defaults import time_zone_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    NUMBER_TYPES,
    STRING_TYPES,
    WHOLE_TYPES,
    MySQLType,
)

_BYTES = frozenset({bytes, bytearray, memoryview})
_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)

_Print: TypeAlias = Callable[[Column, Any, dt.tzinfo], "str | None"]
_Image = Mapping[str, Any]
_IMAGES = ("before", "after")


def rows_to_batch(rows: Iterable[Mapping[str, Any]], table: TableInfo | TablePlan, zone: str = "UTC") -> pa.RecordBatch:
    """Return the rows as one batch in change form; ``zone``: whose wall clock aware datetimes are shown in.

    A row may give ``commit_time`` (an aware datetime) instead of ``commit_ts``. Raises the
    :class:`~ticdc_emit.errors.RowError` family, and ``UnknownTableError`` for a row of no version.
    """
    reader = _MappingReader(table, zone)
    if not isinstance(rows, Iterable):
        raise UnsupportedTypeError(
            f"{type(rows).__name__} is not a collection of changes",
            remedy="Give a list of mappings",
            table=reader.table.full_name,
        )
    changes = [reader.mapping(row, "change", position) for position, row in enumerate(rows)]
    stamps = [commit_ts_of(row, position, reader.table.full_name) for position, row in enumerate(changes)]
    columns: dict[str, pa.Array] = {
        "op": pa.array([reader.op(row.get("op"), position) for position, row in enumerate(changes)], pa.string()),
        "commit_ts": pa.array(stamps, pa.uint64()),
    }
    if any(row.get("seq") is not None for row in changes):
        seq = [reader.seq(row.get("seq"), position) for position, row in enumerate(changes)]
        columns["seq"] = pa.array(seq, pa.int64())
    columns |= {
        name: reader.attribute(name, [row.get(name) for row in changes])
        for name in ATTRIBUTES
        if any(row.get(name) is not None for row in changes)
    }
    at = {stamp: reader.version(stamp) for stamp in dict.fromkeys(stamps)}
    versions = [at[stamp] for stamp in stamps]
    images = {name: [reader.image(row, name, position) for position, row in enumerate(changes)] for name in _IMAGES}
    columns |= reader.image_columns(images, versions)
    return pa.record_batch(columns)


def require_mapping(value: Any, what: str, *, remedy: str, **place: Any) -> Mapping[str, Any]:
    """Return a change or an image; :class:`~ticdc_emit.errors.InvalidValueError` for what is not a mapping."""
    if isinstance(value, Mapping):
        return value
    raise InvalidValueError(f"{what} is of type {type(value).__name__}, not a mapping", remedy=remedy, **place)


@dataclass(frozen=True)
class _MappingReader:
    table: TableInfo | TablePlan
    zone: str

    def version(self, commit_ts: int) -> TableInfo:
        return self.table if isinstance(self.table, TableInfo) else self.table.encoder_at(commit_ts).table

    def mapping(self, value: Any, what: str, position: int, column: str | None = None) -> _Image:
        remedy = "Give each change as {'op': ..., 'commit_ts': ..., 'before': {...}, 'after': {...}}"
        return require_mapping(value, f"a {what}", remedy=remedy, **self.place(column, position))

    def place(self, column: str | None, position: int) -> dict[str, Any]:
        return {"table": self.table.full_name, "column": column, "row": {"position": position}}

    def op(self, value: Any, position: int) -> str | None:
        if value is None or isinstance(value, str):
            return value
        remedy = "Use c, u, d or insert, update, delete"
        raise InvalidValueError(f"{shown(value)} is not an operation", remedy=remedy, **self.place("op", position))

    def seq(self, value: Any, position: int) -> int | None:
        if value is None:
            return None
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) in _INT64:
            return int(value)
        what = f"seq is {value!r}, not a whole number of 64 bits"
        raise InvalidValueError(what, remedy="Give an int", **self.place("seq", position))

    def attribute(self, name: str, given: Sequence[Any]) -> pa.Array:
        values = [dict(value) if isinstance(value, Mapping) else value for value in given]
        try:
            return pa.array(values, ATTRIBUTES[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as fault:
            raise InvalidValueError(
                f"the {name} of a change cannot be read: {fault}",
                remedy=f"It is of the form {ATTRIBUTES[name]}",
                table=self.table.full_name,
                column=name,
            ) from None

    def image(self, row: _Image, name: str, position: int) -> _Image | None:
        given = row.get(name)
        return None if given is None else self.mapping(given, f"{name} image", position, name)

    def image_columns(
        self, images: Mapping[str, Sequence[_Image | None]], versions: Sequence[TableInfo]
    ) -> dict[str, pa.Array]:
        given = {name: rows for name, rows in images.items() if any(row is not None for row in rows)}
        used = {id(info): info for info in versions}
        needed = {key: {column.name: column for column in info.data_columns} for key, info in used.items()}
        for rows in given.values():
            self._check_names(rows, [needed[id(info)] for info in versions])
        readings = {key: _carried(info, needed[key], given.values(), versions) for key, info in used.items()}
        names = list(dict.fromkeys(name for reading in readings.values() for name in reading))
        of_row = [readings[id(info)] for info in versions]
        fields = [
            self._field(name, list(given.values()), [columns.get(name) for columns in of_row], list(readings.values()))
            for name in names
        ]
        count = len(versions)
        return {
            name: pa.StructArray.from_arrays(
                [field.slice(place * count, count) for field in fields],
                names,
                mask=pa.array([row is None for row in rows], pa.bool_()),
            )
            for place, (name, rows) in enumerate(given.items())
        }

    def _check_names(self, rows: Sequence[_Image | None], of_row: Sequence[Mapping[str, Column]]) -> None:
        if isinstance(self.table, TableInfo):
            known = frozenset(column.name for column in self.table.columns)
        else:
            known = self.table.column_names
        for position, (row, columns) in enumerate(zip(rows, of_row, strict=True)):
            if row is None or (row.keys() >= columns.keys() and row.keys() <= known):
                continue
            missing = next((name for name in columns if name not in row), None)
            unknown = next((name for name in row if name not in known), None)
            if unknown is not None:
                raise unknown_column(self.table.full_name, known, unknown, {"position": position})
            if missing is not None:
                raise MissingColumnError(
                    "a row's image lacks a column of the table",
                    remedy="An image holds every column; NULL is None",
                    **self.place(missing, position),
                )

    def _field(
        self,
        name: str,
        images: Sequence[Sequence[_Image | None]],
        columns: Sequence[Column | None],
        readings: Sequence[Mapping[str, Column]],
    ) -> pa.Array:
        values = [
            None if row is None or column is None else row[name]
            for rows in images
            for row, column in zip(rows, columns, strict=True)
        ]
        known = next(reading[name] for reading in readings if name in reading)
        filled = [column or known for column in columns]
        try:
            return column_array(filled * len(images), values, self.zone)
        except ValueRefused as fault:
            position = fault.index % len(columns)
            raise refused_value(fault, filled[position], self.table.full_name, {"position": position}) from None


def _carried(
    info: TableInfo,
    needed: Mapping[str, Column],
    images: Iterable[Sequence[_Image | None]],
    versions: Sequence[TableInfo],
) -> Mapping[str, Column]:
    """Return a version's columns that every image has: keys and dispatchers may use those that selectors drop."""
    if info.selected is None:
        return needed
    own = [row for rows in images for row, version in zip(rows, versions, strict=True) if version is info and row]
    return {
        column.name: column
        for column in info.row_columns
        if column.name in needed or all(column.name in row for row in own)
    }


def column_array(columns: Sequence[Column], values: Sequence[Any], zone: str) -> pa.Array:
    """Return each value as the canonical text of its own column; its type may change between the rows.

    Numbers alone stay numbers, as errors show them; moments stay, for a wall clock may show a time twice; labels become
    numbers, for a label may be empty, as number 0 is. Raises :class:`ValueRefused` with the place of the first bad
    value.
    """
    kinds, types = {type(value) for value in values if value is not None}, {column.type for column in columns}
    if any(issubclass(kind, np.generic) for kind in kinds):
        values = [value.item() if isinstance(value, np.generic) else value for value in values]
        kinds = {type(value) for value in values if value is not None}
    with suppress(pa.ArrowException, OverflowError):  # what one Arrow type does not hold goes as text
        if kinds == {int} and types <= WHOLE_TYPES:
            return pa.array(values, pa.uint64() if columns[0].unsigned else pa.int64())
        if kinds and kinds <= {int, float} and types <= FLOAT_TYPES:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        if kinds == {dt.datetime} and types <= MOMENT_TYPES and all(value is None or value.tzinfo for value in values):
            return pa.array(values, pa.timestamp("us", tz="UTC"))
        if not kinds.isdisjoint(_BYTES) and types <= STRING_TYPES and not any(each.is_binary for each in columns):
            return pa.array([value.encode() if isinstance(value, str) else value for value in values], pa.binary())
    if types and types <= LABEL_TYPES:
        return pa.array(_each(columns, values, _label_number), pa.uint64())
    clock = time_zone_of(zone)
    texts = _each(columns, values, lambda column, value: _PRINTERS.get(column.type, _only_text)(column, value, clock))
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:  # half a surrogate pair
        for index, text in enumerate(texts):
            try:
                (text or "").encode()
            except UnicodeEncodeError as fault:
                raise ValueRefused(index, str(fault)) from None
        raise


def _each(columns: Sequence[Column], values: Sequence[Any], read: Callable[[Column, Any], Any]) -> list[Any]:
    found: list[Any] = []
    for index, (column, value) in enumerate(zip(columns, values, strict=True)):
        if value is None:
            found.append(None)
            continue
        try:
            own = read(column, value)
        except (ValueError, OverflowError, LookupError, TypeError) as fault:
            reason = fault.args[0] if isinstance(fault, LookupError) and fault.args else fault
            raise ValueRefused(index, str(reason)) from None
        if own is None:
            raise ValueRefused(index, f"the value {shown(value)} is of the Python type {type(value).__name__}")
        found.append(own)
    return found


def _label_number(column: Column, value: Any) -> int:
    if isinstance(value, str):
        return label_reader(column)(value)
    if isinstance(value, int) and value in _UINT64:
        return int(value)
    raise ValueError(f"{value!r} is neither a label nor its number")


# -- canonical text by column type; None: the column takes no such value ---------------------------------------------


def _only_text(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    return value if isinstance(value, str) else None


def _characters(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return base64.b64encode(raw).decode() if column.is_binary else raw.decode("utf-8")
    return value if isinstance(value, str) else None


def _document(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, Mapping | list | tuple):
        return document(dict(value) if isinstance(value, Mapping) else value)
    return _characters(column, value, zone)


def _number(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, bytes) and column.type == MySQLType.BIT and len(value) <= 8:
        return str(int.from_bytes(value, "big"))
    if isinstance(value, float):
        return repr(float(value)) if column.type in FLOAT_TYPES else _text_of_float(column, value)
    if isinstance(value, int):
        return str(int(value))
    return str(value) if isinstance(value, Decimal) else _only_text(column, value, zone)


def _text_of_float(column: Column, value: float) -> str:
    exact = floats_to_integers if column.type in WHOLE_TYPES else floats_to_decimal_text
    try:
        return str(exact(pa.array([value], pa.float64()))[0])
    except ValueRefused as fault:
        raise ValueError(fault.reason) from None


def _moment(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, dt.datetime):
        clock = value if value.tzinfo is None else value.astimezone(zone)
        return clock.replace(tzinfo=None).isoformat(" ", "microseconds")
    return f"{value.isoformat()} 00:00:00" if isinstance(value, dt.date) else _only_text(column, value, zone)


def _day(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, dt.datetime):
        if value.tzinfo is not None:
            raise ValueError("a moment with a time zone is not a day")
        if value.time() != dt.time():
            raise ValueError("the value has a time of day")
        return value.date().isoformat()
    return value.isoformat() if isinstance(value, dt.date) else _only_text(column, value, zone)


def _duration(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, dt.timedelta):
        seconds, micros = divmod(abs(value) // dt.timedelta(microseconds=1), 10**6)
        sign = "-" if value < dt.timedelta() else ""
        return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{micros:06d}"
    if isinstance(value, dt.time):
        if value.tzinfo is not None:
            raise ValueError("a TIME has no zone")
        return value.isoformat("microseconds")
    return _only_text(column, value, zone)


def _vector(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ",".join(repr(float(number)) for number in value) + "]"
    return _only_text(column, value, zone)


_PRINTERS: dict[MySQLType, _Print] = {
    **dict.fromkeys(STRING_TYPES, _characters),
    **dict.fromkeys(NUMBER_TYPES, _number),
    **dict.fromkeys(MOMENT_TYPES, _moment),
    **dict.fromkeys(DATE_TYPES, _day),
    MySQLType.DURATION: _duration,
    MySQLType.VECTOR_FLOAT32: _vector,
    MySQLType.JSON: _document,
}
