"""Schema changes in Debezium's messages, in any encoding. In: a payload. Out: a record with its content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ticdc_emit.decode.connect.records import (
    DebeziumColumn,
    DebeziumDdl,
    DebeziumSource,
    DebeziumTable,
    DebeziumTableChange,
)
from ticdc_emit.decode.members import member, objects, texts

__all__ = ["ddl_record", "nullable"]

_T = TypeVar("_T")


def nullable(members: Mapping[str, Any], name: str, kind: type[_T], part: str = "value") -> _T | None:
    """Return a member that may be null."""
    return None if name in members and members[name] is None else member(members, name, kind, part=part)


def ddl_record(payload: Mapping[str, Any], source: DebeziumSource, ts_ms: int) -> DebeziumDdl:
    """Return the content of a schema change's payload. Raises :class:`DecodeError` for another payload."""
    return DebeziumDdl(
        source,
        ts_ms,
        member(payload, "databaseName", str),
        member(payload, "ddl", str),
        tuple(_table_change(change) for change in objects(payload, "tableChanges")),
        nullable(payload, "schemaName", str),
    )


def _table_change(members: Mapping[str, Any]) -> DebeziumTableChange:
    table = nullable(members, "table", dict)
    return DebeziumTableChange(
        member(members, "type", str), member(members, "id", str), None if table is None else _table(table)
    )


def _table(members: Mapping[str, Any]) -> DebeziumTable:
    return DebeziumTable(
        member(members, "defaultCharsetName", str),
        texts(members, "primaryKeyColumnNames"),
        tuple(_column(column) for column in objects(members, "columns")),
        nullable(members, "comment", str),
    )


def _column(members: Mapping[str, Any]) -> DebeziumColumn:
    return DebeziumColumn(
        name=member(members, "name", str),
        jdbc_type=member(members, "jdbcType", int),
        type_name=member(members, "typeName", str),
        type_expression=member(members, "typeExpression", str),
        position=member(members, "position", int),
        optional=member(members, "optional", bool),
        native_type=nullable(members, "nativeType", int),
        comment=nullable(members, "comment", str),
        default_value_expression=nullable(members, "defaultValueExpression", str),
        enum_values=None if nullable(members, "enumValues", list) is None else texts(members, "enumValues"),
        charset_name=nullable(members, "charsetName", str),
        length=nullable(members, "length", int),
        scale=nullable(members, "scale", int),
        auto_incremented=member(members, "autoIncremented", bool),
        generated=member(members, "generated", bool),
    )
