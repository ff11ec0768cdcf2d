"""Canonical text of Avro's values, by the schema that a message names.

In: a record's schema, values as fastavro reads them. Out: text. Each field's ``tidb_type`` defines its values, so no
table is needed. Names are Avro's, with ``_`` for characters that it does not allow, unless a table has the original
ones. Rule source: "TiCDC Avro Protocol" (data type mapping, TiDB type and Avro type).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from ticdc_emit.decode.avro.reader import column_fields
from ticdc_emit.decode.errors import OTHER_SCHEMAS, DecodeError
from ticdc_emit.decode.text_values import Convert, raw_text
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType

__all__ = ["avro_convert", "avro_default", "avro_name", "avro_names", "avro_table", "avro_virtual"]

_WORD = (1 << 64) - 1
_OTHER = re.compile(r"[^A-Za-z0-9_]")
_LABELS = re.compile(r"(?<!\\),")
_TYPES = {
    "INT": (MySQLType.LONG, False),
    "INT UNSIGNED": (MySQLType.LONG, True),
    "BIGINT": (MySQLType.LONGLONG, False),
    "BIGINT UNSIGNED": (MySQLType.LONGLONG, True),
    "FLOAT": (MySQLType.FLOAT, False),
    "DOUBLE": (MySQLType.DOUBLE, False),
    "BIT": (MySQLType.BIT, False),
    "DECIMAL": (MySQLType.NEWDECIMAL, False),
    "TEXT": (MySQLType.LONG_BLOB, False),
    "BLOB": (MySQLType.LONG_BLOB, False),
    "ENUM": (MySQLType.ENUM, False),
    "SET": (MySQLType.SET, False),
    "JSON": (MySQLType.JSON, False),
    "DATE": (MySQLType.DATE, False),
    "DATETIME": (MySQLType.DATETIME, False),
    "TIMESTAMP": (MySQLType.TIMESTAMP, False),
    "TIME": (MySQLType.DURATION, False),
    "YEAR": (MySQLType.YEAR, False),
    "TiDBVECTORFloat32": (MySQLType.VECTOR_FLOAT32, False),
}


def avro_name(name: str) -> str:
    """Return a name in Avro's form."""
    clean = _OTHER.sub("_", name)
    return "_" + clean if clean[:1].isdigit() else clean


def avro_names(table: TableInfo) -> dict[str, str]:
    """Return a table's column names by their Avro names, where these differ."""
    return {shown: column.name for column in table.columns if (shown := avro_name(column.name)) != column.name}


def avro_virtual(table: TableInfo) -> frozenset[str]:
    """Return the Avro names of a table's virtual columns."""
    return frozenset(avro_name(column.name) for column in table.columns if column.is_virtual)


def avro_convert(field: Mapping[str, Any]) -> Convert | None:
    """Return a function that converts a field's values to canonical text. Raises :class:`DecodeError` for a field
    without type.
    """
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    if tidb_type == "BIGINT UNSIGNED":
        return lambda value: value if isinstance(value, str) else str(value & _WORD)
    if tidb_type in ("FLOAT", "DOUBLE"):
        single = tidb_type == "FLOAT"
        return lambda value: float_text(value, single=single)
    if tidb_type == "DECIMAL" and kind["type"] == "bytes":
        return _decimal
    if tidb_type == "BIT":
        return lambda value: str(int.from_bytes(value, "big"))
    if kind["type"] == "bytes":
        return raw_text
    return None if kind["type"] == "string" else str


def avro_default(field: Mapping[str, Any]) -> str | None:
    """Return the value of a new field in existing rows: its default as text, or its type's zero.

    The schema has no default of a DECIMAL, and only the type of a NOT NULL column without one.
    """
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    default = field.get("default")
    if default is None:
        return None if isinstance(field["type"], list) else _zero(tidb_type, kind)
    if tidb_type in ("BIT", "BLOB"):
        return str(default) if tidb_type == "BLOB" else _bit_default(default)
    convert = avro_convert(field)
    return default if convert is None else convert(default)


def avro_table(schema: Mapping[str, Any], key: Collection[str], namespace: str) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one; ``key``: the handle key."""
    fields = column_fields(schema)
    columns = tuple(_column(number, field, field["name"] in key) for number, field in enumerate(fields, 1))
    return TableInfo(namespace, schema["name"], 0, columns)


def _column(number: int, field: Mapping[str, Any], keyed: bool) -> Column:
    kind = _kind(field)
    tidb_type = _tidb_type(field, kind)
    mysql_type, unsigned = _TYPES.get(tidb_type, (MySQLType.UNSPECIFIED, False))
    nullable = isinstance(field["type"], list)
    flags = ColumnFlag.UNSIGNED if unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.NONE if nullable else ColumnFlag.NOT_NULL
    flags |= ColumnFlag.PRIMARY_KEY if keyed else ColumnFlag.NONE
    text = tidb_type == "TEXT"
    return Column(
        number,
        field["name"],
        mysql_type,
        int(kind["connect.parameters"].get("length", kind.get("precision", -1))),
        int(kind.get("scale", -1)),
        charset="utf8mb4" if text else "binary",
        collate="utf8mb4_bin" if text else "binary",
        flags=flags,
        elems=_labels(kind),
    )


def _kind(field: Mapping[str, Any]) -> Mapping[str, Any]:
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    mapping = next((kind for kind in kinds if isinstance(kind, Mapping)), None)
    if mapping is None:
        raise DecodeError("the schema does not show the column's type", remedy=OTHER_SCHEMAS, field=field.get("name"))
    return mapping


def _tidb_type(field: Mapping[str, Any], kind: Mapping[str, Any]) -> str:
    try:
        name: str = kind["connect.parameters"]["tidb_type"]
    except (LookupError, TypeError):
        raise DecodeError(
            "the schema does not show the column's type", remedy=OTHER_SCHEMAS, field=field.get("name")
        ) from None
    return name


def _labels(kind: Mapping[str, Any]) -> tuple[str, ...]:
    allowed = kind["connect.parameters"].get("allowed")
    return () if allowed is None else tuple(part.replace("\\,", ",") for part in _LABELS.split(allowed))


def _decimal(value: Decimal) -> str:
    return format(value, "f")


def _bit_default(text: str) -> str:
    return str(int.from_bytes(b64decode(text), "big"))


def _zero(tidb_type: str, kind: Mapping[str, Any]) -> str | None:
    if tidb_type in ("TEXT", "BLOB", "SET"):
        return ""
    if tidb_type == "DECIMAL" and "scale" in kind:
        return format(Decimal(0).scaleb(-int(kind["scale"])), "f")
    if tidb_type == "ENUM":
        return _labels(kind)[0]
    if tidb_type == "JSON":
        return json.dumps(None)
    return "0" if tidb_type in ("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE", "BIT") else None
