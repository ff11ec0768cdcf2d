"""NULL in nullable columns with a DEFAULT: Debezium's messages have the default instead, read in one of two ways.

In: a column with the default that TiDB stores. Out: the value that replaces NULL, or JSON text. ``classic`` prints the
default's text, ``next`` reads it as TiDB's types do, like a value of the row: a TIMESTAMP's default, stored in UTC, is
read in the changefeed's time zone. Rule sources: semantics 2.4, 1.3 (D1); reference ``pingcap/tiflow`` and
``pingcap/ticdc: pkg/sink/codec/debezium`` (writeDebeziumFieldValue, getValueFromDefault).
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.epochs import EARLIEST_ZONED, datetime_ticks, zoned_text
from ticdc_emit.columnar.jsoniter import number_text
from ticdc_emit.columnar.value_errors import ValueFault, refuse_any
from ticdc_emit.protocols.connect import defaults
from ticdc_emit.protocols.connect.jsontext import json_content, json_string
from ticdc_emit.protocols.connect.reading import Reading
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

__all__ = ["Value", "null_content", "null_value", "refused_at"]

Value: TypeAlias = "int | float | Decimal | str | bytes | None"

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_TEXTS = STRING_TYPES | LABEL_TYPES | {MySQLType.JSON}
_INT64 = 1 << 63
_READABLE_BYTES = 2  # length of a binary default; classic panics for longer ones


def null_value(column: Column, reading: Reading) -> Value:
    """Return the value that replaces NULL in ``next``; ``None`` is NULL itself.

    A BIT is a number, binary data ``bytes``, labels and text are text as it is stored, a DATETIME is ms or us, a
    TIMESTAMP is text in UTC without the closing ``Z``. Raises :class:`ValueFault` (of row 0) for a default that is not
    a value of the column, such as an expression, and if TiCDC panics.
    """
    kind = column.type
    if column.default is None:
        return None
    if kind is MySQLType.BIT:
        return defaults.bit_number(column)
    if kind in _TEXTS:
        return _raw(column.default) if column.is_binary else column.default
    if kind in MOMENT_TYPES:
        return _moment(column, reading.zone)
    if kind in DATE_TYPES or kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind is MySQLType.DURATION:
        return 0
    return _number(column, defaults.as_text(column))


def _number(column: Column, text: str) -> Value:
    """Return a number; 0 for text that TiDB does not read as one."""
    if column.type in INTEGER_TYPES or column.type is MySQLType.YEAR:
        number = int(text) if _INTEGER.fullmatch(text) else 0
        return number if -_INT64 <= number < _INT64 else 0
    if not defaults.NUMBER.fullmatch(text):
        return 0
    return float(text) if column.type in FLOAT_TYPES else Decimal(text)


def _moment(column: Column, zone: str) -> int | str | None:
    if defaults.as_text(column) == defaults.NOW:
        return 0 if column.type is MySQLType.DATETIME else None
    moment = defaults.moment_of(column)
    if moment is None:
        raise _no_value(column)
    if column.type is MySQLType.DATETIME:
        ticks: int | None = datetime_ticks(column, moment)[0].as_py()
        return ticks
    zoned: str = zoned_text(column, moment, zone)[0].as_py()
    return None if zoned == EARLIEST_ZONED else zoned


def null_content(column: Column, reading: Reading) -> bytes | None:
    """Return the replacement of NULL in a JSON message, without quotes; ``None`` is ``null``.

    Raises the errors of :func:`null_value`.
    """
    if column.default is None:
        return None
    if reading.switches.null_default == "value":
        return _shown_value(column, null_value(column, reading))
    return _shown_text(column, reading)


@contextmanager
def refused_at(nulls: pa.Array) -> Iterator[None]:
    """If there is no value to replace NULL, refuse the rows that are NULL (a boolean for each row)."""
    try:
        yield
    except ValueFault as fault:
        refuse_any(np.asarray(nulls.to_numpy(zero_copy_only=False)), fault.reason, fault.remedy)
        raise


def _shown_value(column: Column, value: Value) -> bytes | None:
    if value is None:
        return None
    if column.type is MySQLType.BIT:
        return defaults.bit_content(column)
    if isinstance(value, bytes) and column.is_binary:
        return base64.b64encode(value)
    if isinstance(value, str | bytes):
        return json_content(value)
    if isinstance(value, int):
        return b"%d" % value
    width = pa.float32() if column.type is MySQLType.FLOAT else pa.float64()
    return defaults.printed(number_text(pa.array([float(value)], width)))


def _shown_text(column: Column, reading: Reading) -> bytes | None:
    default, kind = column.default, column.type
    assert default is not None
    if kind is MySQLType.BIT:
        if not default:
            raise _no_value(column)
        return defaults.bit_content(column)
    if column.is_binary:
        return _twice(column, _raw(default))
    if kind is MySQLType.VECTOR_FLOAT32:
        raise _no_value(column)
    if kind in _TEXTS:
        return json_content(default)
    if kind is MySQLType.YEAR:
        return json_string(defaults.as_text(column))
    if kind in DATE_TYPES:
        return defaults.days_of(column)
    if kind in MOMENT_TYPES:
        moment = _moment(column, reading.zone)
        return None if moment is None else str(moment).encode()
    return _shown_number(column)


def _shown_number(column: Column) -> bytes:
    shown: bytes | None
    if column.type in INTEGER_TYPES:
        shown = _integer(defaults.as_text(column))
    elif column.type is MySQLType.DURATION:
        shown = defaults.duration(column)
    else:
        shown = defaults.number(column)
    if shown is None:
        raise _no_value(column)
    return shown


def _integer(text: str) -> bytes | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return b"%d" % (number - 2 * _INT64 if number >= _INT64 else number)


def _twice(column: Column, raw: bytes) -> bytes:
    """Return ``classic``'s form of binary data: the member twice, first as a value, then as in the schema."""
    if len(raw) > _READABLE_BYTES:
        raise _no_value(column)
    if not column.name:
        raise TypeError("this default shows its column's name, which columns of one kind do not share")
    return base64.b64encode(raw) + b'",%s:"%s' % (json_string(column.name), json_content(raw))


def _raw(default: str | bytes) -> bytes:
    return default.encode() if isinstance(default, str) else default


def _no_value(column: Column) -> ValueFault:
    return ValueFault(
        0,
        f"Debezium messages show the default in place of NULL, and {column.default!r} is not a value",
        "Give the column a literal default, or no NULL",
    )
