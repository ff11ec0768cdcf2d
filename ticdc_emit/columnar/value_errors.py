"""Values and types that their column cannot hold: the errors, by row number, and their remedies. Renderers know neither
name nor key of a column; the encoder makes ``InvalidValueError`` of :class:`ValueRefused`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column, sql_type
from ticdc_emit.sql.types import (
    CHAR_TYPES,
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    INTEGERS_AND_YEAR,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
    integer_range,
    type_name,
)

_Read = TypeVar("_Read")
_MOST_LABELS = 8
_PLAIN_NAMES = INTEGERS_AND_YEAR | LABEL_TYPES
_CASTS = {
    **dict.fromkeys(INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT}, "Cast it to an integer type first"),
    **dict.fromkeys(DATE_TYPES, "Cast it to date first"),
    **dict.fromkeys(MOMENT_TYPES, "Cast it to timestamp first"),
    MySQLType.NEWDECIMAL: "Cast it to decimal first",
    MySQLType.FLOAT: "Cast it to float first",
    MySQLType.DOUBLE: "Cast it to double first",
    MySQLType.DURATION: "Cast it to duration, or to text such as 12:34:56, first",
    MySQLType.ENUM: "Cast it to string (a label) or to an integer type (its number) first",
    MySQLType.SET: "Cast it to string (labels with commas) or to an integer type (the bit mask) first",
    MySQLType.JSON: "Cast it to the text of a JSON document first",
    MySQLType.VECTOR_FLOAT32: "Cast it to a list of floats, or to text such as [1,2.5], first",
}


class ValueRefused(Exception):  # noqa: N818 - not an error that users see
    """The column's type refuses the value of row ``index``. ``bad``: all such rows; ``None`` if only it is known."""

    def __init__(self, index: int, reason: str, remedy: str = "", bad: npt.NDArray[np.bool_] | None = None) -> None:
        super().__init__(reason)
        self.index = index
        self.reason = reason
        self.remedy = remedy
        self.bad = bad

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.index, self.reason, self.remedy, self.bad)


def bad_places(
    values: pa.Array | pa.RecordBatch, fault: ValueRefused, check: Callable[[Any], object]
) -> npt.NDArray[np.int64]:
    """Return the rows that ``check`` refuses; if ``fault`` does not name them, by checking halves again and again."""
    if fault.bad is not None:
        return np.flatnonzero(fault.bad)
    places: list[int] = []

    def search(start: int, length: int) -> None:
        try:
            check(values.slice(start, length))
        except ValueRefused:
            if length == 1:
                places.append(start)
                return
            half = length // 2
            search(start, half)
            search(start + half, length - half)

    search(0, len(values))
    return np.array(places or [fault.index], np.int64)


def fault_at(
    values: pa.Array | pa.RecordBatch, place: int, fault: ValueRefused, check: Callable[[Any], object]
) -> ValueRefused:
    """Return the error of ``check`` for one value. ``fault``: the error for all values together."""
    if place != fault.index:
        try:
            check(values.slice(place, 1))
        except ValueRefused as own:
            return own
    return fault


def read_each(
    items: Iterable[Any], read: Callable[[Any], _Read], remedy: str = "", *, where: npt.NDArray[np.bool_] | None = None
) -> list[_Read | None]:
    """Return ``read`` of each value that is not ``None``. It raises ``ValueError`` with a reason for those that
    :class:`ValueRefused` lists. ``where``: the row numbers of the values.
    """
    values: list[_Read | None] = []
    bad: list[int] = []
    reason = ""
    for number, item in enumerate(items):
        try:
            values.append(None if item is None else read(item))
        except ValueError as fault:
            reason = reason if bad else str(fault)
            bad.append(number)
            values.append(None)
    if bad:
        rows = np.arange(len(values)) if where is None else np.flatnonzero(where)
        mask = np.zeros(len(values) if where is None else len(where), np.bool_)
        mask[rows[bad]] = True
        raise ValueRefused(int(rows[bad[0]]), reason, remedy, mask)
    return values


def refuse_any(
    bad: npt.NDArray[np.bool_],
    reason: str | Callable[[int], str],
    remedy: str = "",
    *,
    nulls: npt.NDArray[np.bool_] | None = None,
) -> None:
    """Raise :class:`ValueRefused` for ``bad`` without ``nulls``. ``reason``: also made of the first row's number."""
    if nulls is not None:
        bad = bad & ~nulls
    if bad.any():
        index = int(bad.argmax())
        raise ValueRefused(index, reason if isinstance(reason, str) else reason(index), remedy, bad)


def user_type(column: Column) -> str:
    """Return the column's type as in its DDL: ``TEXT``, ``DECIMAL(6,2)``, ``BIGINT UNSIGNED``, ``ENUM``."""
    is_plain = column.type in _PLAIN_NAMES  # without display width or labels
    name = (type_name(column.type, column.charset) if is_plain else sql_type(column)).upper()
    return f"{name} UNSIGNED" if column.unsigned and column.type not in (MySQLType.YEAR, MySQLType.BIT) else name


def mismatch(column: Column, kind: object) -> str:
    return f"Column `{column.name}` is {user_type(column)}, but the input is {kind}"


def cast_remedy(column: Column) -> str:
    """Return the remedy for an Arrow type that cannot hold the column's values."""
    if column.type in STRING_TYPES:
        return "Cast it to binary first" if column.is_binary else "Cast it to string first"
    return _CASTS.get(column.type, "See the types in docs/types.md")


def value_remedy(column: Column) -> str:
    """Return the values that the column accepts, as an instruction."""
    kind, size = column.type, column.flen
    if kind in INTEGER_TYPES:
        low, high = integer_range(kind, unsigned=column.unsigned)
        return f"Give a whole number in {low}..{high}"
    if kind == MySQLType.YEAR:
        return "Give 0 or a year in 1901..2155"
    if kind == MySQLType.BIT:
        return f"Give a whole number in 0..{(1 << max(size, 1)) - 1}, or its bytes"
    if kind == MySQLType.NEWDECIMAL:
        scale = column.fraction_digits
        most = "9" * ((size if size > 0 else 10) - scale) or "0"
        digits = " without a fraction"
        if scale:
            most, digits = f"{most}.{'9' * scale}", f" with at most {scale} digits after the point"
        return f"Give a number in {'0' if column.unsigned else f'-{most}'}..{most}{digits}"
    if kind in FLOAT_TYPES:
        return "Give a finite number from 0 on" if column.unsigned else "Give a finite number"
    if kind in STRING_TYPES:
        return _text_remedy(column)
    if kind in LABEL_TYPES:
        known = ", ".join(map(shown, column.elems[:_MOST_LABELS])) + (", ..." if column.elems[_MOST_LABELS:] else "")
        limit = len(column.elems) if kind == MySQLType.ENUM else (1 << len(column.elems)) - 1
        return f"Give {'one' if kind == MySQLType.ENUM else 'any'} of {known}, or a number in 0..{limit}"
    moment = "2024-05-05 12:34:56" + ("." + "123456"[: column.decimal] if column.decimal > 0 else "")
    return {
        MySQLType.DATE: "Give a day such as 2024-05-05",
        MySQLType.NEWDATE: "Give a day such as 2024-05-05",
        MySQLType.DATETIME: f"Give a moment such as {moment}",
        MySQLType.TIMESTAMP: f"Give a moment such as {moment}, from 1970 to 2038-01-19 03:14:07 UTC",
        MySQLType.DURATION: f"Give a time within 838:59:59, such as -{moment[11:]}",
        MySQLType.JSON: 'Give a JSON document such as {"a": 1}',
        MySQLType.VECTOR_FLOAT32: f"Give {size if size > 0 else 'a list of'} finite numbers, such as [1,2.5]",
    }.get(kind, "")


def _text_remedy(column: Column) -> str:
    unit = "characters" if column.type in CHAR_TYPES and not column.is_binary else "bytes"
    limit = f" of at most {column.flen} {unit}" if column.flen >= 0 else ""
    return f"Give binary data (or its base64 text){limit}" if column.is_binary else f"Give UTF-8 text{limit}"
