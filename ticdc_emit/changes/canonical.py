"""Python values of one column, turned into values of one kind, so that they fit one Arrow array.

In: int, float, Decimal, str, bytes, bool, datetime, date, time, timedelta, list of numbers, None, mixed at will. Out:
the values themselves where one Arrow type holds them all, numbers for ENUM and SET, else the canonical text that
``columnar.values.accept`` reads for every column type (docs/types.md).
"""

from __future__ import annotations

import base64
import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.decimals import float_text
from ticdc_emit.columnar.faults import ValueFault, shown
from ticdc_emit.columnar.integers import whole_numbers
from ticdc_emit.columnar.labels import label_number, label_text
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.temporal import time_zone_of
from ticdc_emit.schema.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

__all__ = ["canonical_text", "one_kind_array"]

_WHOLE = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT}
_TEXTS = frozenset({str, bytes, bytearray, memoryview})
_INT64 = range(-(1 << 63), 1 << 63)
_UINT64 = range(1 << 64)

_Print: TypeAlias = Callable[[Column, Any, dt.tzinfo], "str | None"]


def one_kind_array(column: Column, values: Sequence[Any], zone: str) -> pa.Array:
    """Return the values as an Arrow array of a type that the column accepts; aware datetimes are moments of ``zone``.

    Raises :class:`ValueFault` with the place of the first value that the column's type cannot take.
    """
    kinds = {type(value) for value in values if value is not None}
    if any(issubclass(each, np.generic) for each in kinds):
        values = [value.item() if isinstance(value, np.number | np.bool_) else value for value in values]
        kinds = {type(value) for value in values if value is not None}
    kind = column.type
    if not kinds:
        return pa.nulls(len(values))
    if kind in LABEL_TYPES and len(kinds) > 1:
        return pa.array(_each(values, lambda value: _label_number(column, value)), pa.uint64())
    if kind in FLOAT_TYPES and kinds <= {int, float, bool}:
        return pa.array(_each(values, float), pa.float64())
    if kinds <= {int, bool} and (kind in _WHOLE or kind in LABEL_TYPES):
        return _integers(column, values, zone)
    if kinds == {dt.datetime} and all(value is None or value.tzinfo is not None for value in values):
        utc = _each(values, lambda value: value.astimezone(dt.timezone.utc))
        return pa.array(utc, pa.timestamp("us", tz="UTC"))
    zoned = any(hasattr(each, "tzinfo") for each in kinds) and any(getattr(v, "tzinfo", None) for v in values)
    if len(kinds) > 1 and kinds <= _TEXTS and kind in STRING_TYPES and not column.is_binary:
        return pa.array(_each(values, lambda value: value.encode() if isinstance(value, str) else bytes(value)))
    if len(kinds) == 1 and not zoned and (kind != MySQLType.NEWDECIMAL or kinds == {float}):
        return _plain_array(values)
    return canonical_text([column] * len(values), values, zone)


def canonical_text(columns: Sequence[Column], values: Sequence[Any], zone: str) -> pa.Array:
    """Return each value as the canonical text of its own column, for the column's type may change between the rows.

    Raises :class:`ValueFault` with the place of the first value that its column's type cannot take.
    """
    place = time_zone_of(zone)
    texts: list[str | None] = []
    for index, (column, value) in enumerate(zip(columns, values, strict=True)):
        try:
            text = None if value is None else _printer(column)(column, value, place)
        except (ValueError, OverflowError, LookupError, TypeError) as fault:
            raise ValueFault(index, _reason(fault)) from None
        if text is None and value is not None:
            raise ValueFault(index, f"the value {shown(value)} is of the Python type {type(value).__name__}")
        texts.append(text)
    return _plain_array(texts)


def _each(values: Sequence[Any], convert: Callable[[Any], Any]) -> list[Any]:
    converted = []
    for index, value in enumerate(values):
        try:
            converted.append(None if value is None else convert(value))
        except (ValueError, OverflowError, LookupError, TypeError) as fault:
            raise ValueFault(index, _reason(fault)) from None
    return converted


def _reason(fault: Exception) -> str:
    return str(fault.args[0]) if isinstance(fault, LookupError) and fault.args else str(fault)


def _plain_array(values: Sequence[Any]) -> pa.Array:
    refused = (pa.ArrowException, TypeError, ValueError, OverflowError)
    try:
        return pa.array(values)
    except refused as fault:
        for index, value in enumerate(values):
            try:
                pa.array([value])
            except refused as cause:
                raise ValueFault(index, str(cause)) from None
        raise ValueFault(0, str(fault)) from None  # each value is fine, together they are not


def _integers(column: Column, values: Sequence[Any], zone: str) -> pa.Array:
    unsigned = column.unsigned or column.type not in INTEGER_TYPES | {MySQLType.YEAR}
    allowed = _UINT64 if unsigned else _INT64
    if all(value is None or value in allowed for value in values):
        whole = [None if value is None else int(value) for value in values]
        return pa.array(whole, pa.uint64() if unsigned else pa.int64())
    if column.type in _WHOLE:  # the column's own check names the value that is too large
        return canonical_text([column] * len(values), values, zone)
    index = next(place for place, value in enumerate(values) if value is not None and value not in allowed)
    raise ValueFault(index, f"{shown(values[index])} is beyond the column's {len(column.elems)} labels")


def _label_number(column: Column, value: Any) -> int:
    if isinstance(value, str):
        return label_number(column, value)
    if isinstance(value, int) and value in _UINT64:
        return int(value)
    raise ValueError(f"{value!r} is neither a label nor its number")


# -- canonical text by column type; None: the column takes no such value ---------------------------------------------


def _printer(column: Column) -> _Print:
    kind = column.type
    if kind in _WHOLE:
        return _whole
    if kind == MySQLType.NEWDECIMAL:
        return _decimal
    if kind in FLOAT_TYPES:
        return _float
    if kind in MOMENT_TYPES:
        return _moment
    if kind in DATE_TYPES:
        return _day
    if kind == MySQLType.DURATION:
        return _duration
    if kind in LABEL_TYPES:
        return _label
    if kind == MySQLType.VECTOR_FLOAT32:
        return _vector
    return _characters if kind in STRING_TYPES or kind == MySQLType.JSON else _only_text


def _only_text(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    return value if isinstance(value, str) else None


def _characters(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
        return base64.b64encode(raw).decode() if column.is_binary else raw.decode("utf-8")
    return value if isinstance(value, str) else None


def _whole(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, bytes) and column.type == MySQLType.BIT and len(value) <= 8:
        return str(int.from_bytes(value, "big"))
    return _decimal(column, value, zone)


def _decimal(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, float):
        return _text_of_float(value, is_whole=column.type in _WHOLE)
    if isinstance(value, int):
        return str(int(value))
    return str(value) if isinstance(value, Decimal) else _only_text(column, value, zone)


def _text_of_float(value: float, *, is_whole: bool) -> str:
    number = pa.array([value], pa.float64())
    try:
        return str((whole_numbers if is_whole else float_text)(number)[0])
    except ValueFault as fault:
        raise ValueError(fault.reason) from None


def _float(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, float):
        return repr(float(value))
    return _decimal(column, value, zone)


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


def _label(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    number = _label_number(column, value)
    known = len(column.elems) if column.type == MySQLType.ENUM else (1 << len(column.elems)) - 1
    if number > known:
        raise ValueError(f"{shown(number)} is beyond the column's {len(column.elems)} labels")
    return str(label_text(column, pa.array([number], pa.uint64()))[0].as_py())


def _vector(column: Column, value: Any, zone: dt.tzinfo) -> str | None:
    if isinstance(value, list | tuple | np.ndarray):
        return "[" + ",".join(repr(float(number)) for number in value) + "]"
    return _only_text(column, value, zone)
