"""The common part of Debezium's messages: the ``source`` block, and the payloads of DDL and watermarks.

An element of ``tableChanges`` shows the stored columns of a table after its statement, but some facts of a column are
the statement's. Rule sources: protocol document "Payload"; semantics 2.4; ``pingcap/tiflow:
pkg/sink/codec/debezium/codec.go`` (EncodeValue, EncodeDDLEvent, parseColumns, EncodeCheckpointEvent).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from ticdc_emit.columnar.escape import JSONITER, quoted
from ticdc_emit.columnar.floats import general_text
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.debezium_common.schema import CONNECTOR, SIGNLESS_TYPES, VERSION, jdbc_type
from ticdc_emit.protocols.json_values import Json, json_value
from ticdc_emit.schema.defaults import go_utf8
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.nodes.alter import AddColumn, ChangeColumn, SetColumnDefault
from ticdc_emit.sql.nodes.expressions import DefaultExpression, Literal
from ticdc_emit.sql.nodes.statements import AlterTable, CreateTable, OtherStatement, Statement
from ticdc_emit.sql.nodes.tables import ColumnDef
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    FLOAT_TYPES,
    FSP_TYPES,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TYPES,
    ColumnFlag,
    MySQLType,
    type_name,
)
from ticdc_emit.tso import physical_ms

_REREAD = frozenset({MySQLType.DATETIME, MySQLType.DURATION, MySQLType.TIMESTAMP, MySQLType.YEAR})
_NOTHING = "<nil>"
"""TiCDC's text of ``DEFAULT NULL``, which it prints as null."""


def redefined_columns(table: TableInfo, query: str) -> tuple[Column, ...]:
    """Return the columns for ``query``. Raises :class:`SchemaError` for one the table then lacks (TiCDC panics)."""
    shown = {column.name: column for column in table.columns}
    for name, definition in _named(parse_ddl(query)):
        if name not in shown:
            raise SchemaError(
                "the statement defines a column that the table does not have after it",
                remedy="Write the column's name as the table has it, or split the statement",
                table=table.full_name,
                column=name,
            )
        column = shown[name] if definition is None else _reread(shown[name], definition)
        shown[name] = replace(column, comment="")
    return tuple(shown.values())


def _named(statement: Statement | OtherStatement) -> Iterator[tuple[str, ColumnDef | None]]:
    if isinstance(statement, CreateTable):
        yield from ((column.name, column) for column in statement.columns)
    if isinstance(statement, AlterTable):
        for spec in statement.specs:
            if isinstance(spec, AddColumn | ChangeColumn):
                yield spec.column.name, spec.column
            elif isinstance(spec, SetColumnDefault):
                yield spec.column, None


def _reread(column: Column, definition: ColumnDef) -> Column:
    kind = definition.type.type
    if kind not in _REREAD:
        return column
    default = column.default
    for option in definition.options:
        if option.kind == "default" and isinstance(option.value, Literal | DefaultExpression):
            default = _literal_text(option.value, default)
    if kind is MySQLType.YEAR:
        return replace(column, flen=definition.type.flen, default=default)
    return replace(column, decimal=definition.type.decimal, default=default)


def _literal_text(value: Literal | DefaultExpression, stored: str | bytes | None) -> str | bytes | None:
    if isinstance(value, DefaultExpression):
        if value.kind == "call":
            return value.text.split("(", 1)[0].strip()
        return "CURRENT_TIMESTAMP" if value.kind == "now" else "CURRENT_DATE"
    if value.kind == "null":
        return _NOTHING
    if isinstance(value.value, bytes):
        return "0x" + value.value.hex() if value.value else ""
    if isinstance(value.value, str):
        return value.value
    assert value.value is not None
    if value.value < 0:
        return stored
    if isinstance(value.value, float):
        return str(general_text(pa.array([value.value]))[0].as_py())
    return f"{value.value:f}" if isinstance(value.value, Decimal) else str(value.value)


_WITH_CHARSET = (
    (STRING_TYPES - {MySQLType.VAR_STRING})
    | LABEL_TYPES
    | {MySQLType.TIMESTAMP, MySQLType.DURATION, MySQLType.NEWDECIMAL}
)
_LENGTH_UNLESS_DEFAULT = (
    FLOAT_TYPES
    | INTEGER_TYPES
    | {MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.VAR_STRING, MySQLType.VECTOR_FLOAT32}
)
_WIDER_WITH_SIGN = INTEGER_TYPES - {MySQLType.LONGLONG}
_WITH_SCALE = FLOAT_TYPES | {MySQLType.NEWDECIMAL}
_BITS = 8


def _description(column: Column, position: int) -> Json:
    name, expression = _type_texts(column)
    counted = bool(column.flags & ColumnFlag.AUTO_INCREMENT)
    counted |= bool(column.flags & ColumnFlag.ON_UPDATE_NOW) and column.type is MySQLType.TIMESTAMP
    return {
        "name": column.name,
        "jdbcType": jdbc_type(column),
        "nativeType": None,
        "comment": column.comment or None,
        "defaultValueExpression": _default(column),
        "enumValues": [f"'{label}'" for label in column.elems] or None,
        "typeName": name,
        "typeExpression": expression,
        "charsetName": column.charset if column.charset != BINARY_CHARSET and column.type in _WITH_CHARSET else None,
        "length": _length(column),
        "scale": column.decimal if column.type in _WITH_SCALE and column.decimal >= 0 else None,
        "position": position,
        "optional": column.nullable,
        "autoIncremented": counted,
        "generated": counted,
    }


def _default(column: Column) -> Json:
    default = column.default
    if default is None or default == _NOTHING:
        return None
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        raw = go_utf8(raw).encode()  # TiDB also stores it as text
        first, rest = f"{raw[0]:0{column.flen % _BITS}b}" if raw else "", (f"{byte:08b}" for byte in raw[1:])
        return first + "".join(rest)
    if isinstance(default, str) and default.upper() == "CURRENT_TIMESTAMP":
        return "1970-01-01 00:00:00"
    return default if isinstance(default, str) else go_utf8(default)


def _type_texts(column: Column) -> tuple[str, str]:
    name = type_name(column.type, column.charset).upper()
    if column.type in SIGNLESS_TYPES:
        return name, name
    sign = " UNSIGNED ZEROFILL" if column.zerofill else " UNSIGNED" if column.unsigned else ""
    return name + sign, name + _type_length(column) + sign


def _type_length(column: Column) -> str:
    if column.type is MySQLType.DOUBLE and column.decimal > 0:
        return f"({column.length},{column.decimal})"
    return f"({column.flen})" if column.type is MySQLType.VECTOR_FLOAT32 and column.flen >= 0 else ""


def _length(column: Column) -> int | None:
    kind = column.type
    if kind in _LENGTH_UNLESS_DEFAULT:
        return None if column.flen in (_usual_length(column), -1) else column.flen
    if kind is MySQLType.SET:
        return 2 * len(column.elems) - 1
    if kind is MySQLType.ENUM:
        return 1
    length = -1
    if kind in FSP_TYPES:
        length = column.decimal
    elif kind in (MySQLType.YEAR, MySQLType.NEWDECIMAL):
        length = column.flen
    return None if length < 0 else length


def _usual_length(column: Column) -> int:
    usual = TYPES[column.type].length
    if column.unsigned and column.type in _WIDER_WITH_SIGN:
        usual -= 1
    return usual + 1 if column.type is MySQLType.TINY and column.zerofill else usual


def table_change(event: DdlEvent, kind: str) -> bytes:
    """Return the only element of ``tableChanges``; databases and truncations have none. Raises :class:`SchemaError`."""
    if not event.table or event.action == "truncate table":
        return b""
    table: Json = None
    if event.action != "drop table":
        if event.table_info is None:
            raise SchemaError(
                "the DDL event has no table",
                remedy="Give the event its table_info",
                table=f"{event.schema}.{event.table}",
            )
        columns = enumerate(redefined_columns(event.table_info, event.query), 1)
        table = {
            "defaultCharsetName": event.table_info.charset,
            "primaryKeyColumnNames": event.table_info.tidb_primary_key,
            "columns": [_description(column, position) for position, column in columns if not column.hidden],
            "comment": None,
        }
    return json_value({"type": kind, "id": _identity(event), "table": table}, JSONITER)


def _identity(event: DdlEvent) -> str:
    now = f'"{event.schema}"."{event.table}"'
    before, after = event.pre_table_info, event.table_info
    if event.action == "exchange partition" and after is not None:  # whichever of the two the event has
        return f'"{after.schema}"."{after.name}"'
    if event.action != "rename table":
        return now
    if before is None:
        raise SchemaError(
            "the DDL event lacks the table before it was renamed",
            remedy="Give the event its pre_table_info",
            table=f"{event.schema}.{event.table}",
        )
    return f'"{before.schema}"."{before.name}",{now}'


def source_parts(cluster_id: str, schema: str, table: str) -> tuple[bytes, bytes, bytes]:
    """Return the text before the commit time (ms), before the TSO, and before the message's time (ms)."""
    cluster = quoted(cluster_id, JSONITER)
    return (
        b'{"source":{"version":%s,"connector":%s,"name":%s,"ts_ms":'
        % (quoted(VERSION, JSONITER), quoted(CONNECTOR, JSONITER), cluster),
        b',"snapshot":"false","db":%s,"table":%s,"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":' % (quoted(schema, JSONITER), quoted(table, JSONITER)),
        b',"cluster_id":%s},"ts_ms":' % cluster,
    )


def _opening(cluster_id: str, schema: str, table: str, ts: int, build_ts: int) -> bytes:
    first, second, third = source_parts(cluster_id, schema, table)
    return first + b"%d" % physical_ms(ts) + second + b"%d" % ts + third + b"%d" % build_ts


def is_sent(event: DdlEvent) -> bool:
    return bool(ACTIONS[event.action].debezium)


def ddl_payloads(event: DdlEvent, build_ts: int, cluster_id: str) -> tuple[bytes, bytes] | None:
    """Return key and value of a DDL, ``None`` if it is not sent; ``build_ts`` is ms. Raises :class:`SchemaError`."""
    kind = ACTIONS[event.action].debezium
    if not kind:
        return None
    # DROP TABLE names the database as its table did, which RENAME may have put in lower case
    dropped = event.pre_table_info if event.action == "drop table" else None
    database = json_value({"databaseName": dropped.schema if dropped else event.schema}, JSONITER)
    value = _opening(cluster_id, event.schema, event.table, event.commit_ts, build_ts)
    value += b",%s," % database[1:-1]
    value += b'"schemaName":null,"ddl":%s,"tableChanges":[%s]}' % (
        quoted(event.query, JSONITER),
        table_change(event, kind),
    )
    return database, value


def watermark_payloads(ts: int, build_ts: int, cluster_id: str) -> tuple[bytes, bytes]:
    """Return key and value of the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return b"{}", _opening(cluster_id, "", "", ts, build_ts) + b',"transaction":null,"op":"m"}'
