"""What both encodings of Simple share: options, the order of columns, table schemas, types of DDL messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.config.lineages import SimpleSwitches
from ticdc_emit.protocols.names import ddl_kind
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import Column, Index, TableInfo

__all__ = [
    "ENVELOPE_BYTES",
    "VERSION",
    "ShownIndex",
    "SimpleOptions",
    "constant_of",
    "ddl_type",
    "named_columns",
    "shown_columns",
    "shown_indexes",
    "shown_pre_table",
]


VERSION = 1
"""The protocol's version, which every message has."""


@dataclass(frozen=True)
class SimpleOptions:
    """Options of both encodings. ``location``: the changefeed's time zone, which every TIMESTAMP names."""

    encoding: Literal["json", "avro"] = "json"
    location: str = "UTC"
    enable_row_checksum: bool = False
    switches: SimpleSwitches = SimpleSwitches()


ENVELOPE_BYTES = 512
"""The maximum bytes of a row message besides the table's names and the images: numbers, a checksum."""


def named_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return columns in bytewise order of their names: that of ``data`` and ``old``."""
    return tuple(sorted(columns, key=lambda column: column.name.encode()))


def constant_of(numbers: pa.Array) -> int | None:
    """Return the only distinct number in an integer array without nulls; ``None`` if there are several."""
    bounds = pc.min_max(numbers)
    least: int | None = bounds["min"].as_py()
    return least if least == bounds["max"].as_py() else None


_EXCHANGE_PARTITION = "exchange partition"


@dataclass(frozen=True)
class ShownIndex:
    """One index of a table schema."""

    name: str
    unique: bool
    primary: bool
    nullable: bool
    columns: tuple[str, ...]


def shown_columns(table: TableInfo, options: SimpleOptions) -> tuple[Column, ...]:
    """Return every column, including virtual and hidden ones, by column id or in table order."""
    if options.switches.column_order == "table":
        return table.columns
    return tuple(sorted(table.columns, key=lambda column: column.id))


def shown_indexes(table: TableInfo) -> tuple[ShownIndex, ...]:
    """Return the table's indexes and, if none of them is the primary key, the key used as one."""
    shown = [
        ShownIndex(
            index.name,
            index.unique,
            index.primary,
            any(table.column(name).nullable for name in index.columns),
            index.columns,
        )
        for index in table.indexes
    ]
    if not any(index.primary for index in shown):
        key = _unlisted_primary_key(table)
        if key:
            shown.append(ShownIndex("primary", unique=True, primary=True, nullable=False, columns=key))
    return tuple(shown)


def _unlisted_primary_key(table: TableInfo) -> tuple[str, ...]:
    """Return the integer primary key that is the row's handle, else the columns of the first unique NOT NULL index."""
    if table.pk_is_handle:
        return tuple(column.name for column in table.whole_primary_key)
    return next((index.columns for index in table.indexes if _is_implicit_key(index, table)), ())


def _is_implicit_key(index: Index, table: TableInfo) -> bool:
    columns = [table.column(name) for name in index.columns]
    return index.unique and not any(column.nullable or column.hidden for column in columns)


def ddl_type(event: DdlEvent, options: SimpleOptions) -> str:
    """Return the type of a DDL message: ``CREATE``, ``ALTER`` ... or ``QUERY``."""
    return options.switches.exchange_partition if event.action == _EXCHANGE_PARTITION else ddl_kind(event.action)


def shown_pre_table(event: DdlEvent, options: SimpleOptions) -> TableInfo | None:
    """Return the table for ``preTableSchema``."""
    everything = options.switches.pre_table_schema == "all" or event.action == _EXCHANGE_PARTITION
    return event.pre_table_info if everything else None
