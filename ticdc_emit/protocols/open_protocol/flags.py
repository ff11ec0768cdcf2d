"""The flags of each column in a message.

In: a table. Out: a number per column: the sum of :class:`Flag`. Rule sources: reference ``pingcap/tiflow:
cdc/model/schema_storage.go`` (initColumnsFlag), ``pingcap/ticdc: pkg/sink/codec/open/message.go`` (initColumnFlags).
TiDB marks the first column of an index; TiCDC marks the others too.
"""

from __future__ import annotations

from enum import IntFlag

from ticdc_emit.schema.model import Column, Index, TableInfo
from ticdc_emit.sql.types import BINARY_CHARSET

__all__ = ["Flag", "column_flags"]


class Flag(IntFlag):
    """The flags of a column."""

    NONE = 0
    BINARY = 1
    HANDLE_KEY = 2
    GENERATED = 4
    PRIMARY_KEY = 8
    UNIQUE_KEY = 16
    MULTIPLE_KEY = 32
    NULLABLE = 64
    UNSIGNED = 128


def column_flags(table: TableInfo, column: Column, *, marks_generated: bool) -> int:
    """Return a column's flags.

    ``marks_generated``: whether TiCDC also marks generated columns, or keeps TiDB's marks.
    """
    of_tidb = column.generated is not None and not marks_generated
    flags = Flag.NONE
    if column.charset == BINARY_CHARSET:
        flags |= Flag.BINARY
    if column.generated is not None:
        flags |= Flag.GENERATED
    if column.is_primary_key:
        flags |= Flag.PRIMARY_KEY
    if column in table.shown_handle_key and not (of_tidb and not table.pk_is_handle):
        flags |= Flag.HANDLE_KEY
    if column.nullable:
        flags |= Flag.NULLABLE
    if column.unsigned:
        flags |= Flag.UNSIGNED
    for index in table.indexes:
        flags |= _of_first(index, column)
        if not of_tidb:
            flags |= _of_any(index, column)
    return int(flags)


def _of_first(index: Index, column: Column) -> Flag:
    """Return TiDB's marks: the first column of an index."""
    if index.primary or not index.marks or index.columns[0] != column.name:
        return Flag.NONE
    return Flag.UNIQUE_KEY if index.unique and len(index.columns) == 1 else Flag.MULTIPLE_KEY


def _of_any(index: Index, column: Column) -> Flag:
    """Return TiCDC's marks: every column of an index."""
    if column.name not in index.columns:
        return Flag.NONE
    flags = Flag.UNIQUE_KEY if index.unique and not index.primary else Flag.NONE
    return flags | Flag.MULTIPLE_KEY if len(index.columns) > 1 else flags
