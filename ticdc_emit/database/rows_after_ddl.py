"""What a DDL statement makes of the rows that exist.

In: rows in canonical text, a table before and after a statement. Out: the rows as TiDB shows them afterwards. A column
is the same if it has the same id or, if MODIFY COLUMN gave it a new id, the same name. Rule sources: pingcap/tidb
``pkg/table/column.go`` (``GetColOriginDefaultValue``, ``GetZeroValue``), ``pkg/types`` (casts).
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
from collections.abc import Callable, Iterable, Iterator
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import TypeAlias

from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.defaults import float_text, time_zone_of
from ticdc_emit.schema.model import NOW, Column, TableInfo
from ticdc_emit.sql.types import (
    FLOAT_TYPES,
    FSP_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TEMPORAL_TYPES,
    TYPES,
    MySQLType,
    full_year,
)
from ticdc_emit.tso import physical_ms

Row: TypeAlias = "dict[str, str | None]"
"""The values of a row's columns in canonical text, ``None`` for NULL."""

_Cast: TypeAlias = Callable[[str], str]
_SAME_TEXT = frozenset({MySQLType.YEAR, MySQLType.JSON, MySQLType.DATE, MySQLType.NEWDATE, MySQLType.DOUBLE})
_DIGITS = Context(prec=65)  # of a DECIMAL
_REPLACEMENT = "\ufffd"  # TiDB's replacement in a default that is not UTF-8
_ZERO_DAY = "0000-00-00"


def rows_after_ddl(
    rows: Iterable[Row], before: TableInfo, after: TableInfo, time_zone: str, commit_ts: int
) -> Iterator[Row]:
    """Yield each row with the columns of ``after``, in their order. ``commit_ts``: the TSO of the statement.

    Raises :class:`SchemaError` if a column's values cannot be known and there are rows.
    """
    makers: list[tuple[str, Callable[[Row], str | None]]] | None = None
    for row in rows:
        if makers is None:
            makers = [(each.name, _maker(each, before, after, time_zone, commit_ts)) for each in after.row_columns]
        yield {name: make(row) for name, make in makers}


def _maker(column: Column, before: TableInfo, after: TableInfo, zone: str, now: int) -> Callable[[Row], str | None]:
    old = next((other for other in before.row_columns if other.id == column.id), None)
    if old is None:
        ids_after = {other.id for other in after.columns}
        gone = (other for other in before.row_columns if other.id not in ids_after)
        old = next((other for other in gone if other.name.lower() == column.name.lower()), None)
    if old is None:
        value = value_of_old_rows(column, zone, now)
        return lambda row: value
    source, cast = old.name, _cast(old, column)

    def converted(row: Row) -> str | None:
        text = row[source]
        return None if text is None else cast(text)

    return converted


# -- MODIFY COLUMN ---------------------------------------------------------------------------------------------------


def _cast(old: Column, new: Column) -> _Cast:
    """Return the conversion of a value of ``old`` to ``new``, if its text stays or only gains zeros."""
    kinds = {old.type, new.type}
    rounds = new.type in FLOAT_TYPES and new.decimal >= 0 and new.id != old.id
    if kinds <= INTEGER_TYPES or (old.type is new.type and new.type in _SAME_TEXT and not rounds):
        return _same
    if kinds <= STRING_TYPES and old.is_binary == new.is_binary:
        return _characters(new)
    if old.type is MySQLType.FLOAT and new.type in FLOAT_TYPES and not rounds:
        return _same if new.type is old.type else lambda text: float_text(_single(float(text)))
    if old.type is new.type:
        if new.type is MySQLType.NEWDECIMAL and new.decimal >= old.decimal:
            return lambda text: _with_fraction(text, new.decimal)
        if new.type in FSP_TYPES and new.fraction_digits >= old.fraction_digits:
            return lambda text: _with_fraction(text, new.fraction_digits)
        if new.type in LABEL_TYPES and new.elems[: len(old.elems)] == old.elems:
            return _same
        if new.type in (MySQLType.BIT, MySQLType.VECTOR_FLOAT32):
            return _same
    raise SchemaError(
        "existing rows get values of another kind, which the history does not contain",
        remedy="Give the column a wider type of the same kind, or the rows' new values as updates of a new column",
        column=new.name,
    )


def _same(text: str) -> str:
    return text


def _characters(new: Column) -> _Cast:
    if new.type is not MySQLType.STRING:
        return _same
    if new.is_binary:
        return lambda text: _base64(base64.b64decode(text).ljust(new.flen, b"\0"))
    return lambda text: text.rstrip(" ")  # CHAR loses trailing blanks


def _with_fraction(text: str, digits: int) -> str:
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(digits, '0')}" if digits else whole


def _single(value: float) -> float:
    single: float = struct.unpack("<f", struct.pack("<f", value))[0]
    return single


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# -- ADD COLUMN ------------------------------------------------------------------------------------------------------


def value_of_old_rows(column: Column, time_zone: str, commit_ts: int | None = None) -> str | None:
    """Return the value of a new column in existing rows: its DEFAULT, else NULL or the zero of its type.

    Times are in ``time_zone``; NOW() is the time of ``commit_ts``, a TSO, unknown without it. Raises
    :class:`SchemaError` for a default that only TiDB knows.
    """
    if column.default is None:
        return None if column.nullable else _zero(column)
    if isinstance(column.default, bytes):
        return str(int.from_bytes(column.default, "big"))
    text, kind = column.default, column.type
    if kind in INTEGER_TYPES:
        return str(int(text))
    if kind in FLOAT_TYPES:
        return float_text(float(text), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL:
        scale = Decimal(1).scaleb(-column.fraction_digits)
        return format(Decimal(text.strip()).quantize(scale, ROUND_HALF_UP, _DIGITS), "f")
    if kind is MySQLType.YEAR:
        return str(_year(text))
    if kind in TEMPORAL_TYPES and not text.lstrip("-")[:1].isdigit():
        if commit_ts is None or not (text == NOW or kind is MySQLType.DATE):
            raise _unknown(column)  # an expression: the clock of TiDB
        now = dt.datetime.fromtimestamp(physical_ms(commit_ts) / 1000, time_zone_of(time_zone))
        shown, fsp = now.strftime("%Y-%m-%d %H:%M:%S.%f"), column.fraction_digits
        return shown[:10] if kind is MySQLType.DATE else shown[: 19 + (fsp and fsp + 1)]
    if kind is MySQLType.TIMESTAMP and not text.startswith(_ZERO_DAY):
        return _in_zone(text, column.fraction_digits, time_zone)
    if kind in STRING_TYPES and column.is_binary:
        if _REPLACEMENT in text:
            raise _unknown(column)
        return _base64(text.encode())
    if kind in (MySQLType.JSON, MySQLType.VECTOR_FLOAT32):
        raise _unknown(column)
    return text


def _unknown(column: Column) -> SchemaError:
    return SchemaError(
        "existing rows get a value that only TiDB knows",
        remedy="Give the new column a constant DEFAULT or none",
        column=column.name,
    )


def _zero(column: Column) -> str:
    kind, zero = column.type, TYPES[column.type].zero
    if kind is MySQLType.ENUM:
        return column.elems[0]
    if zero is None:
        raise _unknown(column)
    if kind is MySQLType.STRING and column.is_binary:
        return _base64(bytes(column.flen))
    return _with_fraction(zero, column.fraction_digits) if kind in FSP_TYPES or kind is MySQLType.NEWDECIMAL else zero


def _year(text: str) -> int:
    """Read a YEAR default as TiDB does, which stores it as text: DEFAULT 0 is DEFAULT '0' and means 2000; only '0000'
    means 0.

    MySQL distinguishes the number from the text, and reads DEFAULT 0 as 0.
    """
    number = int(text)
    if number >= 100 or (number == 0 and len(text) == 4):
        return number
    return full_year(number)


def _in_zone(text: str, fsp: int, time_zone: str) -> str:
    clock = dt.datetime.fromisoformat(text.partition(".")[0]).replace(tzinfo=dt.timezone.utc)
    shown = clock.astimezone(time_zone_of(time_zone)).strftime("%Y-%m-%d %H:%M:%S")
    return _with_fraction(f"{shown}.{text.partition('.')[2]}", fsp)
