"""What a protocol is to the rest of the library: a factory of row encoders, and the bytes of control messages.

A protocol package describes the layout of its messages and nothing else: it reads resolved options and schemas, and
never sees a topic, a partition, a clock or a network. Adding one means one package with one :class:`Codec`, and one
line in ``protocols/__init__.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ticdc_emit.encode.changes import RowEncoder
from ticdc_emit.schema.model import TableInfo

__all__ = ["Codec", "ControlMessage", "DdlLike"]


class DdlLike(Protocol):
    """The part of a DDL event that messages show (``schema.catalog.DdlEvent`` is one)."""

    @property
    def action(self) -> str: ...
    @property
    def query(self) -> str: ...
    @property
    def schema(self) -> str: ...
    @property
    def table(self) -> str: ...
    @property
    def table_info(self) -> TableInfo | None: ...
    @property
    def pre_table_info(self) -> TableInfo | None: ...
    @property
    def commit_ts(self) -> int: ...


@dataclass(frozen=True)
class ControlMessage:
    """A DDL, watermark or bootstrap message; a null key is null on Kafka too. ``commit_ts`` is its TSO."""

    key: bytes | None
    value: bytes
    commit_ts: int


class Codec(Protocol):
    """A protocol with its options resolved: picklable, free of state."""

    ddl_to_all_partitions: bool
    """Whether a DDL goes to every partition of its topic, or to partition 0 only."""

    def rows(self, table: TableInfo) -> RowEncoder:
        """Return the row encoder of one table version."""
        ...

    def ddl(self, event: DdlLike, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` if the protocol sends none; ``build_ts`` is the wall clock in ms."""
        ...

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the message that says that everything up to the TSO ``ts`` was sent, ``None`` if there is none."""
        ...
