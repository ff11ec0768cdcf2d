"""The content of messages in every protocol: row changes, DDL, watermarks and bootstraps.

An :class:`~ticdc_emit.decode.readers.EventReader` makes them. Images hold the values as the message has them (*wire
values*); ``EventReader.text`` turns them into canonical text (docs/types.md). ``commit_ts`` is a TSO, or ``None`` if
the message does not have it: Canal-JSON without TiDB extension, Avro without it, and every delete of Avro.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["BootstrapEvent", "DdlEvent", "Event", "Image", "RowEvent", "RowOp", "WatermarkEvent", "kind_of", "table_of"]

RowOp: TypeAlias = Literal["insert", "update", "delete"]
Image: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RowEvent:
    """One row change.

    ``before``: the row before an update or delete, as far as the message has it: only the changed columns
    (``only-output-updated-columns``), only the handle key, or ``None``. ``after``: the row after an insert or update.
    ``key``: the handle key if the message has a key (Avro, Debezium). ``commit_ms``: the physical time of the commit,
    if the message has only that. ``schema_version`` (Simple) is a TSO.

    ``handle_key_only``: the images hold only the handle key; ``claim_check``: where the whole message is stored, if it
    was not read. ``message``: the protocol's own record (``CanalRow``, ``SimpleRow``, ``AvroRow``, ``DebeziumRow``).
    """

    schema: str
    table: str
    op: RowOp
    commit_ts: int | None
    before: Image | None
    after: Image | None
    key: Image | None = None
    commit_ms: int | None = None
    schema_version: int | None = None
    handle_key_only: bool = False
    claim_check: str | None = None
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class DdlEvent:
    """A statement; ``schema`` and ``table`` are those after it, ``table`` is "" for a database."""

    query: str
    commit_ts: int | None
    schema: str
    table: str
    commit_ms: int | None = None
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class WatermarkEvent:
    """Everything up to ``commit_ts`` has been sent to this partition."""

    commit_ts: int
    message: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class BootstrapEvent:
    """The schema of a table whose rows are being sent; ``version`` is the TSO of its last change."""

    schema: str
    table: str
    version: int
    commit_ts: int | None = None
    message: Any = field(default=None, repr=False, compare=False)


Event: TypeAlias = "RowEvent | DdlEvent | WatermarkEvent | BootstrapEvent"


def kind_of(event: Event) -> str:
    """Return ``row``, ``ddl``, ``watermark`` or ``bootstrap``."""
    return type(event).__name__.removesuffix("Event").lower()


def table_of(event: Event) -> str:
    """Return ``schema.table``, only the database for a DDL without a table, and "" for a watermark."""
    if isinstance(event, WatermarkEvent):
        return ""
    return f"{event.schema}.{event.table}" if event.table else event.schema
