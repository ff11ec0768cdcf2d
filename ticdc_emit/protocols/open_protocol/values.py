"""Columns as members of a row's objects: ``"name":{"t":type,"h":true,"f":flags,"v":value}``.

In: columns and their values. Out: the constants around each value, and its text. Numbers, BIT, ENUM and SET are bare
numbers, TEXT and BLOB are base64, binary data is what Go's ``strconv.Quote`` prints, all else is a JSON string. Rule
sources: reference ``pingcap/tiflow: pkg/sink/codec/internal/column.go``, ``pingcap/ticdc:
pkg/sink/codec/open/codec.go`` (writeColumnFieldValue).
"""

from __future__ import annotations

from functools import partial

import pyarrow as pa

from ticdc_emit.columnar.binary_text import base64_text, go_quoted_json
from ticdc_emit.columnar.escape import JsonWriter
from ticdc_emit.columnar.jsoniter import number_text
from ticdc_emit.columnar.values import json_content
from ticdc_emit.config.lineages import OpenSwitches
from ticdc_emit.protocols.json_members import Members
from ticdc_emit.protocols.open_protocol.flags import column_flags
from ticdc_emit.protocols.open_protocol.options import json_string, writer_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import (
    BLOB_TYPES,
    FLOAT_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    MySQLType,
)

__all__ = ["MEMBER_BEGIN", "MEMBER_END", "members_of"]

MEMBER_BEGIN, MEMBER_END = b"{", b"}"
"""The bytes around a column's members."""

_BARE = INTEGER_TYPES | FLOAT_TYPES | LABEL_TYPES | {MySQLType.YEAR, MySQLType.BIT}


def members_of(table: TableInfo, columns: tuple[Column, ...], switches: OpenSwitches) -> Members:
    """Return these columns of a table as the members of objects, in the lineage's order."""
    if switches.column_order == "name":
        columns = tuple(sorted(columns, key=lambda column: column.name.encode()))
    names = tuple(_opening(table, column, switches) for column in columns)
    digits = 1 if switches.json == "encoding/json" else 2
    content = partial(_content, writer=writer_of(switches), exponent_digits=digits)
    return Members(columns, names, f"open-protocol, {switches.json}", content, _around, behind=MEMBER_END)


def _opening(table: TableInfo, column: Column, switches: OpenSwitches) -> bytes:
    """Return the bytes before a column's value."""
    flags = column_flags(table, column, marks_generated=switches.generated_columns == "marked")
    handle = b',"h":true' if column in table.shown_handle_key else b""
    return b'%s:%s"t":%d%s,"f":%d,"v":' % (
        json_string(column.name, switches),
        MEMBER_BEGIN,
        column.type,
        handle,
        flags,
    )


def _around(column: Column) -> tuple[bytes, bytes]:
    return (b"", b"") if column.type in _BARE else (b'"', b'"')


def _content(column: Column, values: pa.Array, *, writer: JsonWriter, exponent_digits: int) -> pa.Array:
    if column.type in BLOB_TYPES:
        return base64_text(values.view(pa.binary()))
    if column.is_binary:
        return go_quoted_json(values, writer)
    if column.type in FLOAT_TYPES:
        return number_text(values, exponent_digits=exponent_digits)
    return json_content(column, values, writer)
