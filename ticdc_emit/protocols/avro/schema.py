"""The schemas of TiCDC's Avro messages, which are flat records: their fields, and reading them.

A message's schema is foreign input, and Avro schemas can refer to themselves, nest without limit and contain lists of
zero-size items, so a few bytes can become gigabytes. So any schema but TiCDC's is refused before a decoder sees it:
fields of plain types, each nullable or not, and the row before the change. Rule sources: semantics 2.1;
``pingcap/tiflow: pkg/sink/codec/avro/avro.go`` (columnToAvroSchema, getAvroNamespace).
"""

from __future__ import annotations

import json
import re
from base64 import b64decode
from collections.abc import Collection, Mapping
from decimal import Decimal
from typing import Any

from ticdc_emit.protocols.canonical_text import WORD, Convert, raw_text
from ticdc_emit.protocols.events import OTHER_SCHEMAS, DecodeError
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.protocols.registered_avro import check_field, only_type, plain_type, record_of
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.json_depth import parsed
from ticdc_emit.sql.types import TYPES, ColumnFlag, MySQLType

NAMESPACE = "default."
"""The changefeed's part of a record's namespace; the database follows."""
EXTENSION_FIELDS = (
    ("_tidb_op", "string", '""'),
    ("_tidb_commit_ts", "long", "0"),
    ("_tidb_commit_physical_time", "long", "0"),
)
CHECKSUM_FIELDS = (
    ("_tidb_row_level_checksum", "string", '""'),
    ("_tidb_corrupted", "boolean", "false"),
    ("_tidb_checksum_version", "int", "0"),
)
"""The fields after the columns: their names, types and defaults."""
BEFORE = "_ticdc_before"
DDL, WATERMARK, DELETE_MARK = b"\x01", b"\x02", b"\x03"
"""The first bytes of values without a schema; a TSO of eight bytes follows, or a DDL as JSON."""


def read_schema(text: str) -> dict[str, Any]:
    """Return a schema of TiCDC's. Raises :class:`DecodeError` for any other text."""
    try:
        schema = record_of(parsed(text.encode()))
        for field in schema["fields"]:
            before = _before(field)
            for each in [field] if before is None else before["fields"]:
                check_field(each)
    except ValueError as fault:
        raise DecodeError(f"the schema does not describe a table: {fault}", remedy=OTHER_SCHEMAS) from fault
    return schema


def before_schema(schema: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the schema of the row before the change; ``None`` if messages do not have it."""
    return next((before for field in schema["fields"] if (before := _before(field)) is not None), None)


def plain_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a decoder needs: names and plain types. Decimals are read as bytes (:func:`decimals`)."""
    kinds = [
        plain_type(field["type"]) if (before := _before(field)) is None else ["null", plain_schema(before)]
        for field in schema["fields"]
    ]
    fields = [{"name": field["name"], "type": kind} for field, kind in zip(schema["fields"], kinds, strict=True)]
    return {"type": "record", "name": schema["name"], "namespace": schema.get("namespace", ""), "fields": fields}


def _before(field: Any) -> Mapping[str, Any] | None:
    """Return the record in the field of the previous row. Raises ``ValueError`` for one that is not TiCDC's."""
    if not isinstance(field, Mapping) or field.get("name") != BEFORE:
        return None
    record = only_type(field.get("type"))
    if not isinstance(record, Mapping) or record.get("type") != "record":
        return None  # a column may have this name
    return record_of(record)


def column_fields(schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the fields of a record's schema that are columns; those of the TiDB extension come after them."""
    fields: list[Mapping[str, Any]] = schema["fields"]
    names = [field["name"] for field in fields]
    if before_schema(schema) is not None:
        return fields[: names.index(BEFORE)]
    extension = [name for name, _, _ in EXTENSION_FIELDS]
    first = next((at for at in range(len(names)) if names[at : at + len(extension)] == extension), len(names))
    return fields[:first]


LABELS = re.compile(r"(?<!\\),")
_TYPES = {facts.avro_name: (kind, False) for kind, facts in TYPES.items() if facts.avro_name} | {
    "INT": (MySQLType.LONG, False),  # of any size
    "INT UNSIGNED": (MySQLType.LONG, True),
    "BIGINT UNSIGNED": (MySQLType.LONGLONG, True),
    "TEXT": (MySQLType.LONG_BLOB, False),
    "BLOB": (MySQLType.LONG_BLOB, False),
}


def avro_names(table: TableInfo) -> dict[str, str]:
    """Return a table's column names by their Avro names, where these differ."""
    return {shown: column.name for column in table.columns if (shown := sanitize(column.name)) != column.name}


def avro_virtual(table: TableInfo) -> frozenset[str]:
    return frozenset(sanitize(column.name) for column in table.columns if column.is_virtual)


def avro_convert(field: Mapping[str, Any]) -> Convert | None:
    """Return what makes canonical text of a field. Raises :class:`DecodeError` for a field without type."""
    tidb_type, kind = parameters_of(field)["tidb_type"], only_type(field["type"])["type"]
    if tidb_type == "BIGINT UNSIGNED":
        return lambda value: value if isinstance(value, str) else str(value & WORD)
    if tidb_type in ("FLOAT", "DOUBLE"):
        single = tidb_type == "FLOAT"
        return lambda value: float_text(value, single=single)
    if tidb_type == "DECIMAL" and kind == "bytes":
        return lambda value: format(value, "f")
    if tidb_type == "BIT":
        return lambda value: str(int.from_bytes(value, "big"))
    if kind == "bytes":
        return raw_text
    return None if kind == "string" else str


def avro_default(field: Mapping[str, Any]) -> str | None:
    """Return a new field's text in existing rows: its default, or its type's zero where the schema has none."""
    tidb_type, default = parameters_of(field)["tidb_type"], field.get("default")
    if default is None:
        return None if isinstance(field["type"], list) else _zero(field, tidb_type)
    if tidb_type in ("BIT", "BLOB"):
        return str(default) if tidb_type == "BLOB" else str(int.from_bytes(b64decode(default), "big"))
    convert = avro_convert(field)
    return default if convert is None else convert(default)


def _zero(field: Mapping[str, Any], tidb_type: str) -> str | None:
    if tidb_type in ("TEXT", "BLOB", "SET"):
        return ""
    if tidb_type == "DECIMAL" and "scale" in field["type"]:
        return format(Decimal(0).scaleb(-int(field["type"]["scale"])), "f")
    if tidb_type == "ENUM":
        return _labels(parameters_of(field))[0]
    if tidb_type == "JSON":
        return json.dumps(None)
    return "0" if tidb_type in ("INT", "INT UNSIGNED", "BIGINT", "BIGINT UNSIGNED", "FLOAT", "DOUBLE", "BIT") else None


def avro_table(schema: Mapping[str, Any], key: Collection[str], namespace: str) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one; ``key``: the handle key."""
    fields = column_fields(schema)
    columns = tuple(_column(number, field, field["name"] in key) for number, field in enumerate(fields, 1))
    return TableInfo(namespace, schema["name"], 0, columns)


def _column(number: int, field: Mapping[str, Any], keyed: bool) -> Column:
    kind, parameters = only_type(field["type"]), parameters_of(field)
    tidb_type = parameters["tidb_type"]
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
        int(parameters.get("length", kind.get("precision", -1))),
        int(kind.get("scale", -1)),
        charset="utf8mb4" if text else "binary",
        collate="utf8mb4_bin" if text else "binary",
        flags=flags,
        elems=_labels(parameters),
    )


def parameters_of(field: Mapping[str, Any]) -> Mapping[str, str]:
    """Return what a field says of its column. Raises :class:`DecodeError` for a field without type."""
    try:
        parameters: Mapping[str, str] = only_type(field["type"])["connect.parameters"]
        parameters["tidb_type"]
    except (LookupError, TypeError):
        raise DecodeError(
            "the schema does not show the column's type", remedy=OTHER_SCHEMAS, field=field.get("name")
        ) from None
    return parameters


def _labels(parameters: Mapping[str, str]) -> tuple[str, ...]:
    allowed = parameters.get("allowed")
    return () if allowed is None else tuple(part.replace("\\,", ",") for part in LABELS.split(allowed))
