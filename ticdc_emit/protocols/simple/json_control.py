"""DDL, WATERMARK and BOOTSTRAP messages of Simple JSON.

In: DDL events, tables, TSOs. Out: values; members that are empty or zero are left out where Go's ``omitempty`` does.
Rule sources: protocol document "Message format", "Table schema"; semantics 2.2; reference ``pingcap/tiflow:
pkg/sink/codec/simple/message.go`` (message, TableSchema, newColumnSchema).
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.columnar.escape import GO_STD, quoted
from ticdc_emit.protocols.simple.options import VERSION, SimpleOptions
from ticdc_emit.protocols.simple.table_schema import (
    ShownIndex,
    ddl_type,
    shown_columns,
    shown_indexes,
    shown_pre_table,
)
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.type_names import type_name
from ticdc_emit.sql.types import FLOAT_TYPES, MySQLType

__all__ = ["bootstrap_json", "ddl_json", "json_string", "watermark_json"]


def json_string(text: str) -> bytes:
    """Return ``text`` as a JSON string with quotes, as Go's ``encoding/json`` writes it."""
    return quoted(text, GO_STD)


def watermark_json(ts: int, build_ts: int) -> bytes:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return _message("WATERMARK", ts, build_ts)


def bootstrap_json(table: TableInfo, build_ts: int, options: SimpleOptions) -> bytes:
    """Return the bootstrap message of a table, which has no commit time."""
    return _message("BOOTSTRAP", 0, build_ts, (b"tableSchema", _table_schema(table, options)))


def ddl_json(event: DdlEvent, build_ts: int, options: SimpleOptions) -> bytes:
    """Return a DDL's message. The statement is printed as given; a database's DDL has no schema."""
    schemas = []
    for name, table in ((b"tableSchema", event.table_info), (b"preTableSchema", shown_pre_table(event, options))):
        if table is not None:
            schemas.append((name, _table_schema(table, options)))
    return _message(ddl_type(event, options), event.commit_ts, build_ts, *schemas, sql=event.query)


def _message(kind: str, commit_ts: int, build_ts: int, *schemas: tuple[bytes, bytes], sql: str = "") -> bytes:
    members = [(b"version", b"%d" % VERSION), (b"type", json_string(kind))]
    if sql:
        members.append((b"sql", json_string(sql)))
    return _object(*members, (b"commitTs", b"%d" % commit_ts), (b"buildTs", b"%d" % build_ts), *schemas)


def _table_schema(table: TableInfo, options: SimpleOptions) -> bytes:
    return _object(
        (b"schema", json_string(table.schema)),
        (b"table", json_string(table.name)),
        (b"tableID", b"%d" % table.id),
        (b"version", b"%d" % table.update_ts),
        (b"columns", _array(_column(column) for column in shown_columns(table, options))),
        (b"indexes", _array(_index(index) for index in shown_indexes(table))),
    )


def _column(column: Column) -> bytes:
    return _object(
        (b"name", json_string(column.name)),
        (b"dataType", _data_type(column)),
        (b"nullable", _flag(column.nullable)),
        (b"default", _default(column)),
    )


def _data_type(column: Column) -> bytes:
    members = [
        (b"mysqlType", json_string(type_name(column.type, column.charset))),
        (b"charset", json_string(column.charset)),
        (b"collate", json_string(column.collate)),
    ]
    if column.flen:
        members.append((b"length", b"%d" % column.flen))
    if column.decimal and column.type not in FLOAT_TYPES:
        members.append((b"decimal", b"%d" % column.decimal))
    if column.elems:
        members.append((b"elements", _array(map(json_string, column.elems))))
    if column.unsigned:
        members.append((b"unsigned", b"true"))
    if column.zerofill:
        members.append((b"zerofill", b"true"))
    return _object(*members)


def _default(column: Column) -> bytes:
    """Return the default as TiDB stores it; the bytes of a BIT as a number."""
    default = column.default
    if default is None:
        return b"null"
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        return b"%d" % int.from_bytes(raw, "big")
    # TiDB itself stores U+FFFD for invalid UTF-8
    return json_string(default if isinstance(default, str) else default.decode(errors="replace"))


def _index(index: ShownIndex) -> bytes:
    return _object(
        (b"name", json_string(index.name)),
        (b"unique", _flag(index.unique)),
        (b"primary", _flag(index.primary)),
        (b"nullable", _flag(index.nullable)),
        (b"columns", _array(map(json_string, index.columns))),
    )


def _flag(value: bool) -> bytes:
    return b"true" if value else b"false"


def _array(items: Iterable[bytes]) -> bytes:
    return b"[" + b",".join(items) + b"]"


def _object(*members: tuple[bytes, bytes]) -> bytes:
    return b"{" + b",".join(b'"%s":%s' % member for member in members) + b"}"
