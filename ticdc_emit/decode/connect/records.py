"""The content of messages of the Debezium protocol.

Rule source: "TiCDC Debezium Protocol" (message format). ``ts_ms`` of a message is the wall clock of the encoder in ms,
``source.ts_ms`` the physical part of ``source.commit_ts`` (TSO) in ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

__all__ = [
    "DebeziumColumn",
    "DebeziumDdl",
    "DebeziumField",
    "DebeziumMessage",
    "DebeziumRow",
    "DebeziumSource",
    "DebeziumTable",
    "DebeziumTableChange",
    "DebeziumWatermark",
]


@dataclass(frozen=True)
class DebeziumSource:
    """The source of a message. ``name`` and ``cluster_id`` are TiCDC's cluster id.

    ``db`` and ``table`` are empty for a watermark, ``table`` for the DDL of a database. Members that only MySQL has
    (``server_id``, ``gtid``, ``file``, ``pos``, ``row``, ``thread``, ``query``) is 0, empty or ``None``. ``start_ts``
    (TSO): only in rows, with ``debezium-include-start-ts``.
    """

    version: str
    connector: str
    name: str
    ts_ms: int
    snapshot: str | None
    db: str
    table: str
    commit_ts: int
    cluster_id: str
    server_id: int = 0
    gtid: str | None = None
    file: str = ""
    pos: int = 0
    row: int = 0
    thread: int | None = 0
    query: str | None = None
    start_ts: int | None = None


@dataclass(frozen=True)
class DebeziumField:
    """A column in the schema of a row or key.

    ``type`` is Kafka Connect's, ``semantic_type`` Debezium's name of its meaning (``io.debezium.time.Date``), or
    ``None``. ``parameters``: the ``length`` of BIT, the ``allowed`` labels of ENUM and SET. ``default`` is as the
    message has it: a number of days, base64, text ...; ``None`` for none.
    """

    name: str
    type: str
    optional: bool
    semantic_type: str | None = None
    parameters: Mapping[str, str] = field(default_factory=dict)
    default: Any = None
    tidb_type: str | None = None


@dataclass(frozen=True)
class DebeziumRow:
    """A row change. ``op``: ``c``, ``u`` or ``d``.

    ``key``: the handle key's columns, empty for a table without. ``before`` is ``None`` for an insert, and for an
    update with ``output-old-value = false``; ``after`` for a delete. ``key_fields`` and ``fields`` are their schemas,
    ``None`` without (``debezium-disable-schema``); virtual generated columns are in ``fields``, but in no row.
    """

    op: str
    source: DebeziumSource
    ts_ms: int
    key: Mapping[str, Any]
    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    key_fields: tuple[DebeziumField, ...] | None = None
    fields: tuple[DebeziumField, ...] | None = None


@dataclass(frozen=True)
class DebeziumColumn:
    """A column of a table. ``enum_values`` are SQL literals, quotes included; ``position`` begins with 1."""

    name: str
    jdbc_type: int
    type_name: str
    type_expression: str
    position: int
    optional: bool
    native_type: int | None = None
    comment: str | None = None
    default_value_expression: str | None = None
    enum_values: tuple[str, ...] | None = None
    charset_name: str | None = None
    length: int | None = None
    scale: int | None = None
    auto_incremented: bool = False
    generated: bool = False


@dataclass(frozen=True)
class DebeziumTable:
    """A table after a DDL."""

    default_charset_name: str
    primary_key_column_names: tuple[str, ...]
    columns: tuple[DebeziumColumn, ...]
    comment: str | None = None


@dataclass(frozen=True)
class DebeziumTableChange:
    """The effect of a DDL on a table. ``type``: ``CREATE``, ``ALTER`` or ``DROP``; ``id``: its quoted name, both for a
    rename. ``table`` is ``None`` once it is dropped.
    """

    type: str
    id: str
    table: DebeziumTable | None


@dataclass(frozen=True)
class DebeziumDdl:
    """A statement. ``table_changes`` is empty for the DDL of a database and for TRUNCATE TABLE."""

    source: DebeziumSource
    ts_ms: int
    database_name: str
    ddl: str
    table_changes: tuple[DebeziumTableChange, ...]
    schema_name: str | None = None


@dataclass(frozen=True)
class DebeziumWatermark:
    """Everything up to ``source.commit_ts`` has been sent to this partition."""

    source: DebeziumSource
    ts_ms: int


DebeziumMessage: TypeAlias = "DebeziumRow | DebeziumDdl | DebeziumWatermark"
