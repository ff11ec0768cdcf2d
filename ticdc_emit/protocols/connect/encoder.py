"""The common part of Debezium's messages: the ``source`` block, and the payloads of DDL and watermarks.

In: a DDL event or a TSO. Out: JSON payloads, which Debezium-Avro encodes by their schemas. Rule sources: protocol
document "Payload"; semantics 2.4; reference ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (EncodeValue,
EncodeDDLEvent, EncodeCheckpointEvent).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TypeAlias

import numpy as np

from ticdc_emit.columnar.escape import JSONITER
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.connect.schema import CONNECTOR, VERSION, jdbc_type
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

Json: TypeAlias = "str | bytes | bool | int | Sequence[Json] | Mapping[str, Json] | None"
_ESCAPED = re.compile(rb'["\\\x00-\x1f]')


def json_content(text: str | bytes) -> bytes:
    """Return text as the content of a JSON string."""
    raw = text.encode() if isinstance(text, str) else text
    return _ESCAPED.sub(lambda match: JSONITER.replacement(match[0][0]), raw)


def json_string(text: str | bytes) -> bytes:
    """Return text as a JSON string with quotes."""
    return b'"%s"' % json_content(text)


def json_text(value: Json) -> bytes:
    """Return any value as JSON text."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return json_string(value)
    if value is None:
        return b"null"
    if isinstance(value, bool):
        return b"true" if value else b"false"
    if isinstance(value, int):
        return b"%d" % value
    if isinstance(value, Mapping):
        return json_object(*value.items())
    return b"[" + b",".join(map(json_text, value)) + b"]"


def json_object(*members: tuple[str, Json]) -> bytes:
    """Return an object of members, in this order."""
    return b"{" + b",".join(json_string(name) + b":" + json_text(value) for name, value in members) + b"}"


def source_parts(cluster_id: str, schema: str, table: str) -> tuple[bytes, bytes, bytes]:
    """Return the text before the commit time (ms), before the TSO, and before the message's time (ms)."""
    cluster = json_string(cluster_id)
    return (
        b'{"source":{"version":%s,"connector":%s,"name":%s,"ts_ms":'
        % (json_string(VERSION), json_string(CONNECTOR), cluster),
        b',"snapshot":"false","db":%s,"table":%s,"server_id":0,"gtid":null,"file":"","pos":0,"row":0,"thread":0,'
        b'"query":null,"commit_ts":' % (json_string(schema), json_string(table)),
        b',"cluster_id":%s},"ts_ms":' % cluster,
    )


def _opening(cluster_id: str, schema: str, table: str, ts: int, build_ts: int) -> bytes:
    """Return the payload of a control message up to its time; ``ts`` is its TSO, ``build_ts`` its time in ms."""
    first, second, third = source_parts(cluster_id, schema, table)
    return first + b"%d" % physical_ms(ts) + second + b"%d" % ts + third + b"%d" % build_ts


_REREAD = frozenset({MySQLType.DATETIME, MySQLType.DURATION, MySQLType.TIMESTAMP, MySQLType.YEAR})
_EXPONENT_BELOW, _EXPONENT_FROM = 1e-4, 1e6
_NOTHING = "<nil>"
"""TiCDC's text of ``DEFAULT NULL``, which it prints as null."""


def redefined_columns(table: TableInfo, query: str) -> tuple[Column, ...]:
    """Return the table's columns for the message of ``query``.

    Raises :class:`SchemaError` for a statement that defines a column which the table lacks after it (TiCDC panics), and
    :class:`~ticdc_emit.errors.DdlError` for one that cannot be parsed.
    """
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
    """Yield the columns that a statement defines; SET and DROP DEFAULT name one without its definition."""
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
    """Return a default as Go prints the parser's value; with a sign it is an expression: ``stored``."""
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
        return _float_text(value.value)
    return f"{value.value:f}" if isinstance(value.value, Decimal) else str(value.value)


def _float_text(value: float) -> str:
    """Return the shortest digits as Go's ``%v`` prints them: with an exponent below 1e-4 and from 1e6 on."""
    text = np.format_float_scientific(value, unique=True, trim="-", exp_digits=2)
    if value >= _EXPONENT_FROM or 0 < value < _EXPONENT_BELOW:
        return text
    return np.format_float_positional(value, unique=True, trim="-")


_BARE_NAMES = frozenset({MySQLType.YEAR, MySQLType.BIT, MySQLType.VARCHAR, MySQLType.STRING, MySQLType.NEWDECIMAL})
_WITH_CHARSET = (
    (STRING_TYPES - {MySQLType.VAR_STRING})
    | LABEL_TYPES
    | {
        MySQLType.TIMESTAMP,
        MySQLType.DURATION,
        MySQLType.NEWDECIMAL,
    }
)
_LENGTH_UNLESS_DEFAULT = (
    FLOAT_TYPES
    | INTEGER_TYPES
    | {
        MySQLType.BIT,
        MySQLType.VARCHAR,
        MySQLType.STRING,
        MySQLType.VAR_STRING,
        MySQLType.VECTOR_FLOAT32,
    }
)
_WIDER_WITH_SIGN = INTEGER_TYPES - {MySQLType.LONGLONG}
_BITS = 8


def table_description(table: TableInfo, query: str) -> bytes:
    """Return ``table`` as JSON text. Raises the errors of ``redefined_columns``."""
    columns = enumerate(redefined_columns(table, query), 1)
    return json_object(
        ("defaultCharsetName", table.charset),
        ("primaryKeyColumnNames", table.tidb_primary_key),
        ("columns", [_description(column, place) for place, column in columns if not column.hidden]),
        ("comment", None),
    )


def _description(column: Column, position: int) -> bytes:
    name, expression = _type_texts(column)
    counted = bool(column.flags & ColumnFlag.AUTO_INCREMENT)
    counted |= bool(column.flags & ColumnFlag.ON_UPDATE_NOW) and column.type is MySQLType.TIMESTAMP
    return json_object(
        ("name", column.name),
        ("jdbcType", jdbc_type(column)),
        ("nativeType", None),
        ("comment", column.comment or None),
        ("defaultValueExpression", _default(column)),
        ("enumValues", [f"'{label}'" for label in column.elems] or None),
        ("typeName", name),
        ("typeExpression", expression),
        ("charsetName", column.charset if _shows_charset(column) else None),
        ("length", _length(column)),
        ("scale", _scale(column)),
        ("position", position),
        ("optional", column.nullable),
        ("autoIncremented", counted),
        ("generated", counted),
    )


def _default(column: Column) -> Json:
    default = column.default
    if default is None or default == "<nil>":
        return None
    if column.type is MySQLType.BIT:
        raw = default.encode() if isinstance(default, str) else default
        return _binary_digits(go_utf8(raw).encode(), column.flen)  # TiDB also stores it as text
    if isinstance(default, str) and default.upper() == "CURRENT_TIMESTAMP":
        return "1970-01-01 00:00:00"
    return default if isinstance(default, str) else go_utf8(default)


def _binary_digits(raw: bytes, bits: int) -> str:
    if not raw:
        return ""
    return f"{raw[0]:0{bits % _BITS}b}" + "".join(f"{byte:08b}" for byte in raw[1:])


def _type_texts(column: Column) -> tuple[str, str]:
    """Return ``typeName`` and ``typeExpression``."""
    name = type_name(column.type, column.charset).upper()
    if column.type in _BARE_NAMES:
        return name, name
    sign = " UNSIGNED ZEROFILL" if column.zerofill else " UNSIGNED" if column.unsigned else ""
    return name + sign, name + _type_length(column) + sign


def _type_length(column: Column) -> str:
    if column.type is MySQLType.DOUBLE and column.decimal > 0:
        return f"({column.length},{column.decimal})"
    return f"({column.flen})" if column.type is MySQLType.VECTOR_FLOAT32 and column.flen >= 0 else ""


def _shows_charset(column: Column) -> bool:
    return column.charset != BINARY_CHARSET and column.type in _WITH_CHARSET


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


def _scale(column: Column) -> int | None:
    has_scale = column.type is MySQLType.NEWDECIMAL or column.type in FLOAT_TYPES
    return column.decimal if has_scale and column.decimal >= 0 else None


def is_sent(event: DdlEvent) -> bool:
    """Return whether a kind of DDL has a message."""
    return bool(ACTIONS[event.action].debezium)


def ddl_payloads(event: DdlEvent, build_ts: int, cluster_id: str) -> tuple[bytes, bytes] | None:
    """Return key and value of a DDL, ``None`` if its kind is not sent; ``build_ts`` is the wall clock in ms.

    Raises :class:`SchemaError` where TiCDC fails at the statement.
    """
    kind = ACTIONS[event.action].debezium
    if not kind:
        return None
    database = json_object(("databaseName", event.schema))
    value = _opening(cluster_id, event.schema, event.table, event.commit_ts, build_ts)
    value += b",%s," % database[1:-1]
    value += b'"schemaName":null,"ddl":%s,"tableChanges":[%s]}' % (json_string(event.query), _change(event, kind))
    return database, value


def watermark_payloads(ts: int, build_ts: int, cluster_id: str) -> tuple[bytes, bytes]:
    """Return key and value of the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return b"{}", _opening(cluster_id, "", "", ts, build_ts) + b',"transaction":null,"op":"m"}'


def _change(event: DdlEvent, kind: str) -> bytes:
    """Return the only element of ``tableChanges``; databases and truncations have none."""
    if not event.table or event.action == "truncate table":
        return b""
    table = None
    if event.action != "drop table":
        if event.table_info is None:
            raise SchemaError(
                "the DDL event has no table",
                remedy="Give the event its table_info",
                table=f"{event.schema}.{event.table}",
            )
        table = table_description(event.table_info, event.query)
    return json_object(("type", kind), ("id", _identity(event)), ("table", table))


def _identity(event: DdlEvent) -> str:
    """Return the table's quoted name; for a renamed table, after the old one."""
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
