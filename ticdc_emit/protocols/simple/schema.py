"""Tables and DDL in Simple's messages, as both encodings and their decoder know them.

In: a table version, or the columns and indexes of a message's schema. Out: what a message shows of the table, or the
table that it describes. Rule sources: protocol document "DDL Event"; semantics 2.2; reference ``pingcap/tiflow:
pkg/sink/codec/simple/message.go`` (newTableSchema).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ticdc_emit.config.switches import SimpleSwitches
from ticdc_emit.protocols.canonical_text import BINARY_TYPES
from ticdc_emit.protocols.events import DecodeError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    TYPES,
    ColumnFlag,
    MySQLType,
    type_name,
)

VERSION = 1
"""The protocol's version, which every message has."""
DDL_TYPES = ("CREATE", "ALTER", "ERASE", "RENAME", "TRUNCATE", "CINDEX", "DINDEX", "QUERY")
DML_TYPES = ("INSERT", "UPDATE", "DELETE")
"""The types of messages, in the order of the symbols in ``simple_message.avsc``."""


def named_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in bytewise order of their names: that of ``data`` and ``old``."""
    return tuple(sorted(columns, key=lambda column: column.name.encode()))


@dataclass(frozen=True)
class SimpleColumn:
    """A column. ``decimal``: digits of a DECIMAL's fraction (JSON: also those of a time); ``elements``: labels.

    ``default``: as TiDB stores it; ``None`` for none; a number for BIT.
    """

    name: str
    mysql_type: str
    charset: str
    collate: str
    nullable: bool
    default: str | int | None
    length: int = 0
    decimal: int = 0
    elements: tuple[str, ...] = ()
    unsigned: bool = False
    zerofill: bool = False


@dataclass(frozen=True)
class SimpleIndex:
    """An index; ``nullable``: one of its columns can be NULL."""

    name: str
    unique: bool
    primary: bool
    nullable: bool
    columns: tuple[str, ...]


@dataclass(frozen=True)
class SimpleTableSchema:
    """A table at one version. ``table_id`` is the table's own id, even if rows have that of their partition."""

    schema: str
    table: str
    table_id: int
    version: int
    columns: tuple[SimpleColumn, ...]
    indexes: tuple[SimpleIndex, ...]

    def column(self, name: str) -> SimpleColumn:
        """Return the column of that name; :class:`DecodeError` if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise DecodeError(
            "the table's schema has no such column",
            remedy="Give the schema of the version that the row names",
            table=f"{self.schema}.{self.table}",
            field=name,
        )


def simple_table(schema: SimpleTableSchema) -> TableInfo:
    """Return the table that a message's schema describes, for readers without another one."""
    primary = {name for index in schema.indexes if index.primary for name in index.columns}
    return TableInfo(
        schema.schema,
        schema.table,
        schema.table_id,
        tuple(_column(number, column, primary) for number, column in enumerate(schema.columns, 1)),
        tuple(
            Index(number, index.name, index.columns, unique=index.unique, primary=index.primary)
            for number, index in enumerate(schema.indexes, 1)
        ),
        version=schema.version,
        update_ts=schema.version,
    )


def _column(number: int, column: SimpleColumn, primary: set[str]) -> Column:
    flags = ColumnFlag.NONE if column.nullable else ColumnFlag.NOT_NULL
    flags |= ColumnFlag.UNSIGNED if column.unsigned else ColumnFlag.NONE
    flags |= ColumnFlag.PRIMARY_KEY if column.name in primary else ColumnFlag.NONE
    binary = column.mysql_type in BINARY_TYPES
    return Column(
        number,
        column.name,
        _TYPES.get(column.mysql_type, MySQLType.UNSPECIFIED),
        column.length,
        column.decimal,
        charset="binary" if binary else column.charset or "utf8mb4",
        collate="binary" if binary else column.collate or "utf8mb4_bin",
        flags=flags,
        elems=column.elements,
        default=None if column.default is None else str(column.default),
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
    """Return the table for ``preTableSchema``."""
    everything = switches.pre_table_schema == "all" or event.action == _EXCHANGE_PARTITION
    return event.pre_table_info if everything else None
