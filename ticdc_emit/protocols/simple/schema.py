"""Tables and DDL in Simple's messages, as both encodings and their decoder know them. Rule sources: protocol document
"DDL Event"; semantics 2.2; ``pingcap/tiflow: pkg/sink/codec/simple/message.go`` (newTableSchema).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.protocols.canonical_text import BINARY_TYPES
from ticdc_emit.protocols.events import DecodeError, member, objects, texts, tso
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.types import BINARY_CHARSET, TYPES, ColumnFlag, MySQLType, type_name

VERSION = 1
DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
DML_TYPES = ("INSERT", "UPDATE", "DELETE")
"""The types of messages, in the order of the symbols in ``simple_message.avsc``."""


def named_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in bytewise order of their names: that of ``data`` and ``old``."""
    return tuple(sorted(columns, key=lambda column: column.name.encode()))


class SimpleIndex(NamedTuple):
    """An index, its members in the order of JSON; ``nullable``: one of its columns can be NULL."""

    name: str
    unique: bool
    primary: bool
    nullable: bool
    columns: tuple[str, ...]


def described_table(members: Mapping[str, Any]) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one."""
    indexes = tuple(
        Index(
            number,
            member(index, "name", str),
            texts(index, "columns"),
            unique=member(index, "unique", bool),
            primary=member(index, "primary", bool),
        )
        for number, index in enumerate(objects(members, "indexes"), 1)
    )
    primary = {name for index in indexes if index.primary for name in index.columns}
    version = tso(members, "version")
    return TableInfo(
        member(members, "schema", str),
        member(members, "table", str),
        member(members, "tableID", int),
        tuple(_column(number, column, primary) for number, column in enumerate(objects(members, "columns"), 1)),
        indexes,
        version=version,
        update_ts=version,
    )


def _column(number: int, members: Mapping[str, Any], primary: set[str]) -> Column:
    kind, default = member(members, "dataType", dict), members.get("default")
    if isinstance(default, bool) or not isinstance(default, str | int | None):
        raise DecodeError("a default is neither text nor number", part="value", member="default")
    name, type_text = member(members, "name", str), member(kind, "mysqlType", str)
    flags = ColumnFlag.NONE if member(members, "nullable", bool) else ColumnFlag.NOT_NULL
    flags |= ColumnFlag.UNSIGNED if member(kind, "unsigned", bool, False) else ColumnFlag.NONE
    flags |= ColumnFlag.PRIMARY_KEY if name in primary else ColumnFlag.NONE
    charset, collate = member(kind, "charset", str), member(kind, "collate", str)
    if type_text in BINARY_TYPES:
        charset = collate = "binary"
    return Column(
        number,
        name,
        _TYPES.get(type_text, MySQLType.UNSPECIFIED),
        member(kind, "length", int, 0),
        member(kind, "decimal", int, 0),
        charset=charset or "utf8mb4",
        collate=collate or "utf8mb4_bin",
        flags=flags,
        elems=texts(kind, "elements") if "elements" in kind else (),
        default=None if default is None else str(default),
    )


_TYPES = {
    type_name(kind, charset): kind
    for charset in (BINARY_CHARSET, "utf8mb4")
    for kind, facts in TYPES.items()
    if facts.avro
}
_EXCHANGE_PARTITION = "exchange partition"


def shown_columns(table: TableInfo, switches: SimpleSwitches) -> tuple[Column, ...]:
    """Return every column, including virtual and hidden ones, by column id or in table order."""
    if switches.column_order == "table":
        return table.columns
    return tuple(sorted(table.columns, key=lambda column: column.id))


def shown_indexes(table: TableInfo) -> tuple[SimpleIndex, ...]:
    """Return the table's indexes and, if none of them is the primary key, the key used as one."""
    shown = [
        SimpleIndex(
            index.name,
            index.unique,
            index.primary,
            any(table.column(name).nullable for name in index.columns),
            index.columns,
        )
        for index in table.indexes
    ]
    if not any(index.primary for index in shown):
        key = table.tidb_primary_key
        if key:
            shown.append(SimpleIndex("primary", unique=True, primary=True, nullable=False, columns=key))
    return tuple(shown)


def ddl_type(event: DdlEvent, switches: SimpleSwitches) -> str:
    """Return the type of a DDL message: ``CREATE``, ``ALTER`` ... or ``QUERY``."""
    return switches.exchange_partition if event.action == _EXCHANGE_PARTITION else ACTIONS[event.action].kind


def shown_pre_table(event: DdlEvent, switches: SimpleSwitches) -> TableInfo | None:
    everything = switches.pre_table_schema == "all" or event.action == _EXCHANGE_PARTITION
    return event.pre_table_info if everything else None
