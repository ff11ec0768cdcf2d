"""Canonical text of Open Protocol's values.

CHAR, DECIMAL, times, JSON and VECTOR are already canonical. Numbers, ENUM and SET are JSON numbers, TEXT and BLOB are
base64, BINARY and VARBINARY are printed by Go's ``strconv.Quote``. Without a table, the message's types and flags are
used; they have no labels, so those numbers stay.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

from ticdc_emit.decode.open_protocol.records import OpenColumn
from ticdc_emit.decode.text_values import Convert, enum_label, raw_text, set_labels
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import BLOB_TYPES, INTEGER_TYPES, MySQLType

__all__ = ["open_convert", "open_type_convert", "unquoted"]

_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|([abtnvfr"\\])|)')
_LETTERS = {"a": b"\a", "b": b"\b", "t": b"\t", "n": b"\n", "v": b"\v", "f": b"\f", "r": b"\r", '"': b'"', "\\": b"\\"}
_CHARACTERS = frozenset({MySQLType.VARCHAR, MySQLType.VAR_STRING, MySQLType.STRING})
_WHOLE = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT}


def open_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type is MySQLType.ENUM:
        return enum_label(column)
    if column.type is MySQLType.SET:
        return set_labels(column)
    return _convert(column.type, is_binary=column.is_binary)


def open_type_convert(column: OpenColumn) -> Convert | None:
    """Return the same for a column that is known only from a message."""
    if column.type in (MySQLType.ENUM, MySQLType.SET):
        return str
    return _convert(column.type, is_binary=column.is_binary)


def _convert(kind: int, *, is_binary: bool) -> Convert | None:
    if kind in _WHOLE:
        return _whole
    if kind in (MySQLType.FLOAT, MySQLType.DOUBLE):
        return _single if kind == MySQLType.FLOAT else _double
    if kind in BLOB_TYPES:
        return _blob if is_binary else _base64_text
    return _binary if kind in _CHARACTERS and is_binary else None


def _whole(value: Any) -> str:
    if type(value) is not int:
        raise ValueError("not a whole number")
    return str(value)


def _single(value: Any) -> str:
    return float_text(float(value), single=True)


def _double(value: Any) -> str:
    return float_text(float(value))


def _blob(value: Any) -> str:
    return raw_text(b64decode(value, validate=True))


def _base64_text(value: Any) -> str:
    return b64decode(value, validate=True).decode()


def _binary(value: Any) -> str:
    return raw_text(unquoted(value))


def unquoted(text: str) -> bytes:
    """Return the bytes that ``strconv.Quote`` printed (without the quotes); ``ValueError`` for any other text."""
    if "\\" not in text:
        return text.encode()
    parts, end = [], 0
    for escape in _ESCAPE.finditer(text):
        parts.append(text[end : escape.start()].encode())
        byte, short, long, letter = escape.groups()
        if byte:
            parts.append(bytes.fromhex(byte))
        elif letter:
            parts.append(_LETTERS[letter])
        elif short or long:
            parts.append(chr(int(short or long, 16)).encode())
        else:
            raise ValueError("a backslash without an escape")
        end = escape.end()
    return b"".join([*parts, text[end:].encode()])
