"""Native Spark types of columns, and SQL that converts a number to them.

In: SQL of a bigint. Out: SQL of the column's native type: ints, decimal, date, timestamp_ntz for DATETIME, timestamp
for TIMESTAMP, binary, else string (see docs/types.md).
"""

from __future__ import annotations

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES, STRING_TYPES, MySQLType
from ticdc_emit.traffic.generate.sql import EPOCH

__all__ = ["moment", "native_type", "padded", "scaled"]

_MAX_NATIVE_DIGITS = 38


def native_type(column: Column) -> str:
    """Return the Spark type of a column's values; :class:`UnsupportedTypeError` for a type that has none."""
    kind = column.type
    if kind in INTEGER_TYPES:
        return "bigint" if kind is MySQLType.LONGLONG or (kind is MySQLType.LONG and column.unsigned) else "int"
    if kind is MySQLType.NEWDECIMAL:
        return f"decimal({column.flen},{max(column.decimal, 0)})" if column.flen <= _MAX_NATIVE_DIGITS else "string"
    if kind in STRING_TYPES:
        return "binary" if column.is_binary else "string"
    named = {
        MySQLType.FLOAT: "float",
        MySQLType.DOUBLE: "double",
        MySQLType.YEAR: "int",
        MySQLType.BIT: "bigint",
        MySQLType.DATE: "date",
        MySQLType.DATETIME: "timestamp_ntz",
        MySQLType.TIMESTAMP: "timestamp",
        MySQLType.DURATION: "string",
        MySQLType.ENUM: "string",
        MySQLType.SET: "string",
        MySQLType.JSON: "string",
        MySQLType.VECTOR_FLOAT32: "string",
    }
    if kind not in named:
        raise UnsupportedTypeError(
            f"cannot generate values for type {kind.name}", remedy="Leave the column out", column=column.name
        )
    return named[kind]


def scaled(column: Column, unscaled: str, varied: int) -> str:
    """Return a decimal from a bigint, with the last ``varied`` digits after the point."""
    scale = max(column.decimal, 0)
    if column.flen <= _MAX_NATIVE_DIGITS:
        point = f"{10**varied}BD" if varied else ""
        exact = f"cast({unscaled} as decimal(20,0))"
        shifted = f"{exact} * 0.{'1'.rjust(varied, '0')}BD" if point else exact
        return f"cast({shifted} as {native_type(column)})"
    digits = (
        f"lpad(cast(abs({unscaled}) as string), {varied + 1}, '0')" if varied else f"cast(abs({unscaled}) as string)"
    )
    whole = f"cast({unscaled} div {10**varied}L as string)"
    sign = f"if({unscaled} < 0L and {unscaled} > -{10**varied}L, '-', '')"
    if not scale:
        return whole
    return f"concat({sign}, {whole}, '.', rpad(right({digits}, {varied}), {scale}, '0'))"


def padded(column: Column, value: str, width: int) -> str:
    """Pad a BINARY with zero bytes, as TiDB stores it."""
    short = column.type is MySQLType.STRING and column.flen > width
    return f"rpad({value}, {column.flen}, X'00')" if short else value


def moment(column: Column, micros: str) -> str:
    """Return DATETIME or TIMESTAMP of a moment, cut to the column's fraction digits."""
    fsp = max(column.decimal, 0)
    unit = 10 ** (6 - fsp)
    cut = micros if unit == 1 else f"({micros} div {unit}L * {unit}L)"
    if column.type is MySQLType.TIMESTAMP:
        return f"timestamp_micros({cut})"
    return f"timestampadd(MICROSECOND, {cut}, {EPOCH})"
