"""Convert rows from one version of a table to another, in canonical text.

In: two versions of a table, rows of the first. Out: the same rows with the columns of the second. A column is the same
if it has the same id or, if MODIFY COLUMN gave it a new id, the same name. A new column has its DEFAULT; without one,
NULL or its type's zero. A value that only TiDB knows (DEFAULT CURRENT_TIMESTAMP, a DEFAULT that is not UTF-8, MODIFY
COLUMN to another kind of type) is missing in the row until the row changes. Rule sources: reference ``pingcap/tidb:
pkg/ddl/column.go`` (generateOriginDefaultValue), ``pkg/table/column.go`` (GetZeroValue).
"""

from __future__ import annotations

import struct
from base64 import b64decode
from collections.abc import Callable, Mapping

from ticdc_emit.decode.errors import FAULTS, OTHER_TABLES, DecodeError
from ticdc_emit.decode.table_rows import Row
from ticdc_emit.decode.text_values import clock_text, decimal_text, fsp_of, in_zone, raw_text
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    DATE_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MOMENT_TYPES,
    STRING_TYPES,
    MySQLType,
)

__all__ = ["Carrier", "value_in_old_rows"]

_CLOCKS = MOMENT_TYPES | {MySQLType.DURATION}
_REPLACEMENT = "\ufffd"  # TiDB's replacement in a default that is not UTF-8
_ZERO_MOMENT = "0000-00-00 00:00:00"
_UNKNOWN = object()


class Carrier:
    """Converts rows from the version ``before`` to the version ``after``. ``zone``: the time zone of TIMESTAMP
    values.
    """

    def __init__(self, before: TableInfo, after: TableInfo, zone: str) -> None:
        self._kept: list[tuple[str, str, bool, Callable[[str], str] | None]] = []
        self._added: Row = {}
        self._table = after.full_name
        self._order = [column.name for column in after.row_columns]
        lost = {column.id for column in before.columns} - {column.id for column in after.columns}
        for column in after.row_columns:
            old = _source(column, before, lost)
            if old is None:
                value = value_in_old_rows(column, zone)
                if value is None or isinstance(value, str):
                    self._added[column.name] = value
                continue
            self._kept.append((old.name, column.name, *_conversion(old, column)))

    def row(self, row: Mapping[str, str | None]) -> Row:
        """Return a whole row, its columns in table order."""
        values = self._added | self.part(row)
        return {name: values[name] for name in self._order if name in values}

    def part(self, row: Mapping[str, str | None]) -> Row:
        """Return some columns of a row. Raises :class:`DecodeError` for text that is not a value of its column."""
        values: Row = {}
        for old, new, known, convert in self._kept:
            if old in row:
                text = row[old]
                if text is None or known:
                    values[new] = text if text is None or convert is None else self._converted(text, new, convert)
        return values

    def _converted(self, text: str, name: str, convert: Callable[[str], str]) -> str:
        try:
            return convert(text)
        except FAULTS as fault:
            raise DecodeError(
                f"{text!r:.100} is not a value of the column: {type(fault).__name__}",
                remedy=OTHER_TABLES,
                table=self._table,
                field=name,
            ) from fault


def value_in_old_rows(column: Column, zone: str) -> object:
    """Return the value of a new column in existing rows: text or ``None``; otherwise only TiDB knows it.

    ``zone``: the changefeed's, for TIMESTAMP.
    """
    default, kind = column.default, column.type
    if default is None:
        return None if column.nullable else _zero(column)
    if isinstance(default, bytes):
        return str(int.from_bytes(default, "big")) if kind is MySQLType.BIT else raw_text(default)
    if kind is MySQLType.BIT:
        return str(int.from_bytes(default.encode(), "big"))
    if kind in STRING_TYPES:
        if not column.is_binary:
            return default
        return _UNKNOWN if _REPLACEMENT in default else raw_text(default.encode())
    if kind in LABEL_TYPES or kind is MySQLType.JSON:
        return default
    try:
        return _number_or_time(column, default, zone)
    except (ValueError, ArithmeticError):
        return _UNKNOWN  # an expression


def _number_or_time(column: Column, text: str, zone: str) -> str | object:
    kind = column.type
    if kind in INTEGER_TYPES:
        return str(int(text))
    if kind in FLOAT_TYPES:
        return float_text(float(text), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL:
        return decimal_text(text.strip(), fsp_of(column))
    if kind is MySQLType.YEAR:
        year = int(text)
        return str(year + (2000 if year < 70 else 1900) if 0 < year < 100 or (year == 0 and len(text) != 4) else year)
    if not text.lstrip("-")[:1].isdigit():
        return _UNKNOWN  # an expression
    return in_zone(text, "UTC", zone) if kind is MySQLType.TIMESTAMP else text


def _zero(column: Column) -> str | object:
    kind, fraction = column.type, "." + "0" * fsp_of(column) if fsp_of(column) else ""
    if kind in INTEGER_TYPES or kind in FLOAT_TYPES or kind in (MySQLType.BIT, MySQLType.YEAR):
        return "0"
    if kind is MySQLType.NEWDECIMAL:
        return decimal_text("0", fsp_of(column))
    if kind in STRING_TYPES:
        return raw_text(bytes(column.flen)) if column.is_binary and kind is MySQLType.STRING else ""
    if kind in DATE_TYPES:
        return _ZERO_MOMENT[:10]
    if kind in MOMENT_TYPES:
        return _ZERO_MOMENT + fraction
    if kind is MySQLType.DURATION:
        return clock_text(0, fsp_of(column))
    if kind is MySQLType.ENUM:
        return column.elems[0]
    return {MySQLType.SET: "", MySQLType.JSON: "null"}.get(kind, _UNKNOWN)


def _source(column: Column, before: TableInfo, lost: set[int]) -> Column | None:
    named = None
    for old in before.row_columns:
        if old.id == column.id:
            return old
        if old.id in lost and old.name.lower() == column.name.lower():
            named = old
    return named


def _conversion(old: Column, new: Column) -> tuple[bool, Callable[[str], str] | None]:
    """Return whether values of ``old`` are known in ``new``, and the conversion if their text changes."""
    kind = new.type
    if old.type in INTEGER_TYPES and (kind in INTEGER_TYPES or (kind in STRING_TYPES and not new.is_binary)):
        return True, None
    if old.type in STRING_TYPES and kind in STRING_TYPES:
        return _characters(old, new)
    if kind in FLOAT_TYPES and old.type in FLOAT_TYPES:
        if kind is old.type:
            return True, None
        single = MySQLType.FLOAT in (old.type, kind)
        return True, lambda text: float_text(_single(text) if single else float(text), single=kind is MySQLType.FLOAT)
    if kind is MySQLType.NEWDECIMAL and old.type in INTEGER_TYPES | {kind} and fsp_of(new) >= max(fsp_of(old), 0):
        return True, lambda text: decimal_text(text, fsp_of(new))
    if kind is not old.type:
        return False, None
    if kind in _CLOCKS:
        return fsp_of(new) >= fsp_of(old), None if fsp_of(new) == fsp_of(old) else _finer(fsp_of(new))
    if kind is MySQLType.NEWDECIMAL:
        return False, None
    return kind not in LABEL_TYPES or new.elems[: len(old.elems)] == old.elems, None


def _single(text: str) -> float:
    return float(struct.unpack("<f", struct.pack("<f", float(text)))[0])


def _finer(fsp: int) -> Callable[[str], str]:
    def finer(text: str) -> str:
        whole, _, fraction = text.partition(".")
        return f"{whole}.{fraction.ljust(fsp, '0')}"

    return finer


def _characters(old: Column, new: Column) -> tuple[bool, Callable[[str], str] | None]:
    """BINARY is padded with zero bytes; CHAR loses trailing blanks."""
    if not new.is_binary:
        return not old.is_binary, (lambda text: text.rstrip(" ")) if new.type is MySQLType.STRING else None
    width = new.flen if new.type is MySQLType.STRING else 0
    if old.is_binary:
        return True, (lambda text: raw_text(b64decode(text).ljust(width, b"\0"))) if width else None
    return True, lambda text: raw_text(text.encode().ljust(width, b"\0"))
