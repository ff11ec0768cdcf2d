"""Canonical text of Canal-JSON's values.

Every value is text, and most are canonical as they are. ENUM and SET are numbers, binary columns are one character per
byte (ISO-8859-1). Without a table, the type comes from ``mysqlType``, which has labels only with
``content-compatible``. Without labels the numbers stay. Rule source: "TiCDC Canal-JSON Protocol" (data types).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ticdc_emit.decode.text_values import BINARY_TYPES, Convert, enum_label, raw_text, set_labels
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["canal_convert", "canal_type_convert", "canal_type_converts"]

# the only float whose shortest digits are a tie, which Go does not round to even
_GO_TIE = {"0.00024414063": "0.00024414062", "-0.00024414063": "-0.00024414062"}
_NAME = re.compile(r"[a-z_]+")
_LABEL = re.compile(r"'((?:[^'\\]|''|\\.)*)'", re.DOTALL)
_ESCAPES = {"''": "'", "\\0": "\0", "\\n": "\n", "\\r": "\r"}
_ESCAPE = re.compile(r"''|\\[0nr]")


def canal_convert(column: Column) -> Convert | None:
    """Return a function that converts a column's values to canonical text; ``None`` if they already are."""
    if column.type is MySQLType.ENUM:
        return enum_label(column)
    if column.type is MySQLType.SET:
        return set_labels(column)
    if column.type is MySQLType.FLOAT:
        return _single
    return _binary if column.is_binary else None


def canal_type_convert(mysql_type: str) -> Convert | None:
    """Return the same for a column, if only the message's ``mysqlType`` is known."""
    name = _NAME.match(mysql_type)
    kind = "" if name is None else name[0]
    if kind in ("enum", "set") and "(" in mysql_type:
        labels = tuple(_ESCAPE.sub(lambda found: _ESCAPES[found[0]], text) for text in _LABEL.findall(mysql_type))
        column = Column(0, "", MySQLType.ENUM if kind == "enum" else MySQLType.SET, -1, -1, elems=labels)
        return enum_label(column) if kind == "enum" else set_labels(column)
    if kind == "float":
        return _single
    return _binary if kind in BINARY_TYPES else None


def canal_type_converts(types: Mapping[str, Any]) -> dict[str, Convert]:
    """Return the conversions for a message's ``mysqlType``."""
    return {name: convert for name, kind in types.items() if (convert := canal_type_convert(kind)) is not None}


def _single(value: str) -> str:
    return _GO_TIE.get(value, value)


def _binary(value: str) -> str:
    return raw_text(value.encode("latin-1"))
