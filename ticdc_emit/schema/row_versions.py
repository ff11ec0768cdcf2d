"""Rows from one version of a table to another, in canonical text.

A column is the same if it has the same id or, if MODIFY COLUMN gave it a new id, the same name. A new column has its
DEFAULT; without one, NULL or its type's zero. A value that only TiDB knows (DEFAULT CURRENT_TIMESTAMP, one that is not
UTF-8, MODIFY COLUMN to another kind of type) is missing until the row changes. Rule sources: pingcap/tidb
``pkg/ddl/column.go``, ``pkg/table/column.go`` (``GetColOriginDefaultValue``, ``GetZeroValue``), ``pkg/types``.
"""

from __future__ import annotations

import base64
import datetime as dt
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Final, TypeAlias

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
_DIGITS = Context(prec=66)  # of a DECIMAL, whose nearest double, as Debezium sends it, may have one more
_REPLACEMENT = "\ufffd"  # TiDB's replacement in a default that is not UTF-8
_ZERO_DAY = "0000-00-00"
_UNKNOWN: Final = object()


class RowConversion:
    """``zone``: of TIMESTAMP values. ``commit_ts``: the TSO of the statement, which NOW() in a DEFAULT stands for."""

    def __init__(self, before: TableInfo, after: TableInfo, zone: str, commit_ts: int | None = None) -> None:
        self.table = after.full_name
        self._kept: list[tuple[str, str, bool, _Cast | None]] = []
        self._added: Row = {}
        self._order = [column.name for column in after.row_columns]
        lost = {column.id for column in before.columns} - {column.id for column in after.columns}
        for column in after.row_columns:
            old = _source(column, before, lost)
            if old is not None:
                self._kept.append((old.name, column.name, *_cast(old, column)))
                continue
            value = _in_old_rows(column, zone, commit_ts)
            if value is None or isinstance(value, str):
                self._added[column.name] = value

    def row(self, row: Mapping[str, str | None]) -> Row:
        """Return a whole row, its columns in table order."""
        values = self._added | self.part(row)
        return {name: values[name] for name in self._order if name in values}

    def part(self, row: Mapping[str, str | None]) -> Row:
        values: Row = {}
        for old, new, known, cast in self._kept:
            if old in row:
                text = row[old]
                if text is None or known:
                    values[new] = text if text is None or cast is None else self.converted(text, new, cast)
        return values

    def converted(self, text: str, name: str, cast: _Cast) -> str:
        """Return a value of the column ``name``; raises what Python raises for a text that is not one."""
        return cast(text)


def rows_after_ddl(
    rows: Iterable[Row], before: TableInfo, after: TableInfo, zone: str, commit_ts: int
) -> Iterator[Row]:
    """Yield each row with the columns of ``after``; ``commit_ts``: the statement's TSO. Raises :class:`SchemaError`."""
    conversion = None
    for row in rows:
        if conversion is None:
            _check_known(before, after, zone, commit_ts)
            conversion = RowConversion(before, after, zone, commit_ts)
        yield conversion.row(row)


def _check_known(before: TableInfo, after: TableInfo, zone: str, commit_ts: int) -> None:
    lost = {column.id for column in before.columns} - {column.id for column in after.columns}
    for column in after.row_columns:
        old = _source(column, before, lost)
        if old is None:
            value_of_old_rows(column, zone, commit_ts)
        elif not _is_same_kind(old, column) or not _cast(old, column)[0]:
            raise SchemaError(
                "existing rows get values of another kind, which the history does not contain",
                remedy="Give the column a wider type of the same kind, or the rows' new values as updates of a new"
                " column",
                column=column.name,
            )


def _is_same_kind(old: Column, new: Column) -> bool:
    kinds = {old.type, new.type}
    if kinds <= STRING_TYPES:
        return old.is_binary == new.is_binary
    return len(kinds) == 1 or kinds <= INTEGER_TYPES or (old.type, new.type) == (MySQLType.FLOAT, MySQLType.DOUBLE)


def _source(column: Column, before: TableInfo, lost: set[int]) -> Column | None:
    named = None
    for old in before.row_columns:
        if old.id == column.id:
            return old
        if old.id in lost and old.name.lower() == column.name.lower():
            named = old
    return named


# -- MODIFY COLUMN ---------------------------------------------------------------------------------------------------


def _cast(old: Column, new: Column) -> tuple[bool, _Cast | None]:
    kind, digits, more = new.type, new.fraction_digits, new.fraction_digits - old.fraction_digits
    if old.type in INTEGER_TYPES and (kind in INTEGER_TYPES or (kind in STRING_TYPES and not new.is_binary)):
        return True, None
    if old.type in STRING_TYPES and kind in STRING_TYPES:
        return _characters(old, new)
    if kind in FLOAT_TYPES and old.type in FLOAT_TYPES:
        if new.decimal >= 0 and new.id != old.id:
            return False, None  # rounded
        if kind is old.type:
            return True, None
        return True, lambda text: float_text(_single(float(text)), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL and old.type in INTEGER_TYPES | {kind} and more >= 0:
        return True, lambda text: _decimal(text, digits)
    if kind is not old.type or kind is MySQLType.NEWDECIMAL:
        return False, None
    if kind in FSP_TYPES:
        return more >= 0, (lambda text: _with_fraction(text, digits)) if more else None
    return kind not in LABEL_TYPES or new.elems[: len(old.elems)] == old.elems, None


def _characters(old: Column, new: Column) -> tuple[bool, _Cast | None]:
    """BINARY is padded with zero bytes; CHAR loses trailing blanks."""
    if not new.is_binary:
        return not old.is_binary, (lambda text: text.rstrip(" ")) if new.type is MySQLType.STRING else None
    width = new.flen if new.type is MySQLType.STRING else 0
    if old.is_binary:
        return True, (lambda text: _base64(base64.b64decode(text).ljust(width, b"\0"))) if width else None
    return True, lambda text: _base64(text.encode().ljust(width, b"\0"))


def _single(value: float) -> float:
    return float(struct.unpack("<f", struct.pack("<f", value))[0])


def _decimal(text: str, scale: int) -> str:
    return format(Decimal(text.strip()).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _DIGITS), "f")


def _with_fraction(text: str, digits: int) -> str:
    whole, _, fraction = text.partition(".")
    return f"{whole}.{fraction.ljust(digits, '0')}" if digits else whole


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


# -- ADD COLUMN ------------------------------------------------------------------------------------------------------


def value_of_old_rows(column: Column, zone: str, commit_ts: int | None = None) -> str | None:
    """Return the value of a new column in existing rows: its DEFAULT (NOW() at ``commit_ts``, a TSO), else NULL or the
    zero of its type. Raises :class:`SchemaError` for a default that only TiDB knows.
    """
    value = _in_old_rows(column, zone, commit_ts)
    if value is None or isinstance(value, str):
        return value
    raise SchemaError(
        "existing rows get a value that only TiDB knows",
        remedy="Give the new column a constant DEFAULT or none",
        column=column.name,
    )


def _in_old_rows(column: Column, zone: str, commit_ts: int | None) -> object:
    text, kind = column.default, column.type
    if text is None:
        return None if column.nullable else _zero(column)
    if isinstance(text, bytes) or kind is MySQLType.BIT:
        raw = text if isinstance(text, bytes) else text.encode()
        return str(int.from_bytes(raw, "big")) if kind is MySQLType.BIT else _base64(raw)
    if kind in STRING_TYPES and column.is_binary:
        return _UNKNOWN if _REPLACEMENT in text else _base64(text.encode())
    if kind in (MySQLType.JSON, MySQLType.VECTOR_FLOAT32):
        return _UNKNOWN
    try:
        return _number_or_time(column, text, zone, commit_ts)
    except (ValueError, ArithmeticError):
        return _UNKNOWN  # an expression


def _number_or_time(column: Column, text: str, zone: str, commit_ts: int | None) -> object:
    kind, fsp = column.type, column.fraction_digits
    if kind in INTEGER_TYPES:
        return str(int(text))
    if kind in FLOAT_TYPES:
        return float_text(float(text), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL:
        return _decimal(text, fsp)
    if kind is MySQLType.YEAR:  # 0 means 2000, only '0000' means 0; MySQL reads 0 as 0
        year = int(text)
        return str(year if year >= 100 or (year == 0 and len(text) == 4) else full_year(year))
    if kind in TEMPORAL_TYPES and not text.lstrip("-")[:1].isdigit():
        if commit_ts is None or not (text == NOW or kind is MySQLType.DATE):
            return _UNKNOWN  # an expression: the clock of TiDB
        now = dt.datetime.fromtimestamp(physical_ms(commit_ts) / 1000, time_zone_of(zone))
        shown = now.strftime("%Y-%m-%d %H:%M:%S.%f")
        return shown[:10] if kind is MySQLType.DATE else shown[: 19 + (fsp and fsp + 1)]
    if kind is MySQLType.TIMESTAMP and not text.startswith(_ZERO_DAY):
        clock, _, fraction = text.partition(".")
        utc = dt.datetime.fromisoformat(clock).replace(tzinfo=dt.timezone.utc)
        return _with_fraction(f"{utc.astimezone(time_zone_of(zone)):%Y-%m-%d %H:%M:%S}.{fraction}", fsp)
    return text


def _zero(column: Column) -> object:
    kind, zero = column.type, TYPES[column.type].zero
    if kind is MySQLType.ENUM:
        return column.elems[0]
    if zero is None:
        return _UNKNOWN
    if kind is MySQLType.STRING and column.is_binary:
        return _base64(bytes(column.flen))
    return _with_fraction(zero, column.fraction_digits) if kind in FSP_TYPES or kind is MySQLType.NEWDECIMAL else zero
