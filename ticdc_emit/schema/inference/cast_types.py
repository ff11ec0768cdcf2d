"""The type after CAST ... AS and in CONVERT: tokens in, a :class:`CastType` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CastType``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.inference.cursor import Cursor
from ticdc_emit.schema.inference.syntax import CastType
from ticdc_emit.schema.types import MySQLType

__all__ = ["cast_type"]

_FIXED_TYPES = {
    "DATE": CastType(MySQLType.DATE),
    "YEAR": CastType(MySQLType.YEAR),
    "JSON": CastType(MySQLType.JSON),
    "SIGNED": CastType(MySQLType.LONGLONG),
    "UNSIGNED": CastType(MySQLType.LONGLONG, is_unsigned=True),
    "DOUBLE": CastType(MySQLType.DOUBLE),
    "REAL": CastType(MySQLType.DOUBLE),
}
_MAX_FLOAT_DIGITS = 24


def cast_type(cursor: Cursor, *, may_be_array: bool) -> CastType:
    """Step over a type; ``may_be_array``: ARRAY may follow it."""
    word = cursor.token.text if cursor.token.kind == "word" else ""
    cursor.advance()
    spec = _named_type(cursor, word)
    if may_be_array and cursor.accept("ARRAY"):
        return replace(spec, is_array=True)
    return spec


def _named_type(cursor: Cursor, word: str) -> CastType:
    if word in _FIXED_TYPES:
        if word in ("SIGNED", "UNSIGNED"):
            cursor.accept_any("INT", "INTEGER")
        return _FIXED_TYPES[word]
    match word:
        case "CHAR" | "CHARACTER" | "NCHAR":
            return CastType(MySQLType.VAR_STRING, cursor.length(), charset=_charset(cursor))
        case "BINARY":
            flen = cursor.length()
            return CastType(MySQLType.VAR_STRING if flen < 0 else MySQLType.STRING, flen, charset="binary")
        case "DATETIME":
            return CastType(MySQLType.DATETIME, decimal=cursor.length())
        case "TIME":
            return CastType(MySQLType.DURATION, decimal=cursor.length())
        case "DECIMAL" | "DEC" | "NUMERIC" | "FIXED":
            return _decimal(cursor)
        case "FLOAT":
            return CastType(MySQLType.DOUBLE if cursor.length() > _MAX_FLOAT_DIGITS else MySQLType.FLOAT)
    return cursor.fail(f"the type {word} in CAST is not known")


def _charset(cursor: Cursor) -> str:
    if cursor.accept("CHARSET") or (cursor.accept_any("CHARACTER", "CHAR") and cursor.accept("SET")):
        return cursor.charset_name()
    return ""


def _decimal(cursor: Cursor) -> CastType:
    if not cursor.accept("("):
        return CastType(MySQLType.NEWDECIMAL)
    precision, scale = cursor.integer(), 0
    if cursor.accept(","):
        scale = cursor.integer()
    cursor.expect(")")
    return CastType(MySQLType.NEWDECIMAL, precision, scale)
