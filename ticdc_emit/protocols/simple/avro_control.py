"""DDL, WATERMARK and BOOTSTRAP messages of Simple Avro.

In: DDL events, tables, TSOs. Out: values. Rule sources: semantics 2.3; reference ``pingcap/tiflow:
pkg/sink/codec/simple/avro.go``. The schema is ``schemas/simple_message.avsc``: records are written field by field.
"""

from __future__ import annotations

from ticdc_emit.protocols.simple.avro_values import (
    DDL_TYPES,
    NULL_BRANCH,
    VALUE_BRANCH,
    Kind,
    avro_array,
    avro_flag,
    avro_long,
    avro_string,
    envelope,
)
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
from ticdc_emit.sql.types import INTEGER_TYPES, LABEL_TYPES, MySQLType

__all__ = ["bootstrap_avro", "ddl_avro", "watermark_avro"]

_SIGNED_TYPES = INTEGER_TYPES | {
    MySQLType.FLOAT,
    MySQLType.DOUBLE,
    MySQLType.BIT,
    MySQLType.YEAR,
    MySQLType.NEWDECIMAL,
}
"""The types with UNSIGNED and ZEROFILL."""


def watermark_avro(ts: int, build_ts: int) -> bytes:
    """Return the watermark of the TSO ``ts``; ``build_ts`` is the wall clock in ms."""
    return envelope(Kind.WATERMARK) + avro_long(VERSION) + avro_long(ts) + avro_long(build_ts)


def bootstrap_avro(table: TableInfo, build_ts: int, options: SimpleOptions) -> bytes:
    """Return the bootstrap message of a table."""
    return envelope(Kind.BOOTSTRAP) + avro_long(VERSION) + avro_long(build_ts) + _table_schema(table, options)


def ddl_avro(event: DdlEvent, build_ts: int, options: SimpleOptions) -> bytes:
    """Return a DDL's message. The statement is printed as given; a database's DDL has no schema."""
    parts = [
        envelope(Kind.DDL),
        avro_long(VERSION),
        avro_long(DDL_TYPES.index(ddl_type(event, options))),
        avro_string(event.query),
        avro_long(event.commit_ts),
        avro_long(build_ts),
    ]
    for table in (event.table_info, shown_pre_table(event, options)):
        parts.append(_optional(None if table is None else _table_schema(table, options)))
    return b"".join(parts)


def _optional(value: bytes | None) -> bytes:
    """Return a field of the union of null and one type."""
    return NULL_BRANCH if value is None else VALUE_BRANCH + value


def _table_schema(table: TableInfo, options: SimpleOptions) -> bytes:
    parts = [
        avro_string(table.schema),
        avro_string(table.name),
        avro_long(table.id),
        avro_long(table.update_ts),
        avro_array(_column(column, options) for column in shown_columns(table, options)),
        avro_array(_index(index) for index in shown_indexes(table)),
    ]
    return b"".join(parts)


def _column(column: Column, options: SimpleOptions) -> bytes:
    default = None if column.default is None else avro_string(column.default)
    return b"".join(
        (avro_string(column.name), _data_type(column, options), avro_flag(column.nullable), _optional(default))
    )


def _data_type(column: Column, options: SimpleOptions) -> bytes:
    kind = column.type
    has_fsp = kind is MySQLType.TIMESTAMP and options.switches.avro_timestamp_decimal
    has_decimal = kind is MySQLType.NEWDECIMAL or has_fsp
    labelled = kind in LABEL_TYPES
    signed = kind in _SIGNED_TYPES
    parts = [
        avro_string(type_name(kind, column.charset)),
        avro_string(column.charset),
        avro_string(column.collate),
        avro_long(column.flen),
        _optional(avro_long(column.decimal) if has_decimal else None),
        _optional(avro_array(map(avro_string, column.elems)) if labelled else None),
        _optional(avro_flag(column.unsigned) if signed else None),
        _optional(avro_flag(column.zerofill) if signed else None),
    ]
    return b"".join(parts)


def _index(index: ShownIndex) -> bytes:
    flags = map(avro_flag, (index.unique, index.primary, index.nullable))
    return b"".join((avro_string(index.name), *flags, avro_array(map(avro_string, index.columns))))
