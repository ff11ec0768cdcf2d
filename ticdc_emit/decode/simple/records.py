"""The content of messages of the Simple protocol, the same for both encodings.

Rule source: "TiCDC Simple Protocol" (message format, TableSchema, Column, Index definitions). ``commit_ts`` is a TSO,
``build_ts`` the wall clock of the encoder in ms. A ``version`` of a table is the TSO of its last schema change; rows
name it as ``schema_version``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ticdc_emit.decode.errors import DecodeError

__all__ = [
    "SimpleBootstrap",
    "SimpleChecksum",
    "SimpleColumn",
    "SimpleDdl",
    "SimpleIndex",
    "SimpleMessage",
    "SimpleRow",
    "SimpleTableSchema",
    "SimpleTimestamp",
    "SimpleWatermark",
]


@dataclass(frozen=True)
class SimpleTimestamp:
    """A TIMESTAMP: its text in the time zone ``location``."""

    location: str
    value: str


@dataclass(frozen=True)
class SimpleChecksum:
    """The CRC32 of a row: ``current`` of its data, ``previous`` of its old values, 0 where there are none."""

    version: int
    corrupted: bool
    current: int
    previous: int


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


@dataclass(frozen=True)
class SimpleRow:
    """A row change. ``op``: ``INSERT``, ``UPDATE`` or ``DELETE``; ``data`` is the row after it, ``old`` before it.

    Values are those of the encoding; :func:`~ticdc_emit.decode.simple.values.row_values` reads them by the table's
    schema. JSON: text, :class:`SimpleTimestamp` or ``None``. Avro: numbers, text, bytes, :class:`SimpleTimestamp` or
    ``None``.

    ``handle_key_only``: the message was too large and has only the handle key's columns; ``claim_check`` is where the
    whole one is stored, if it is.
    """

    database: str
    table: str
    table_id: int
    op: str
    commit_ts: int
    build_ts: int
    schema_version: int
    checksum: SimpleChecksum | None = None
    data: Mapping[str, Any] | None = None
    old: Mapping[str, Any] | None = None
    handle_key_only: bool = False
    claim_check: str | None = None


@dataclass(frozen=True)
class SimpleDdl:
    """A statement. ``type``: ``CREATE``, ``RENAME``, ``CINDEX``, ``DINDEX``, ``ERASE``, ``TRUNCATE``, ``ALTER`` or
    ``QUERY``. Both schemas are ``None`` for a database's DDL, ``pre_table_schema`` for a table that is new.
    """

    type: str
    sql: str
    commit_ts: int
    build_ts: int
    table_schema: SimpleTableSchema | None = None
    pre_table_schema: SimpleTableSchema | None = None


@dataclass(frozen=True)
class SimpleWatermark:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    build_ts: int


@dataclass(frozen=True)
class SimpleBootstrap:
    """The schema of a table whose rows are being sent."""

    build_ts: int
    table_schema: SimpleTableSchema


SimpleMessage: TypeAlias = "SimpleRow | SimpleDdl | SimpleWatermark | SimpleBootstrap"
