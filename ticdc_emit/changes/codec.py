"""The interface of a protocol: a factory of row encoders, and the bytes of control messages.

A protocol package describes the layout of its messages and nothing else: it reads resolved options and schemas, and
never sees a partition, a clock or a network. Adding one means one package with one :class:`Codec`, a package with its
reader, and one entry in ``config/protocol.py``.

A protocol whose messages refer to schemas in a registry says which (:class:`RegisteredRows`); PLAN registers them and
gives the headers back (``plan.registration``). One whose messages can hold several rows says how they are joined
(:class:`PackingCodec`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ticdc_emit.changes.model import Op
from ticdc_emit.changes.packing import Packing
from ticdc_emit.changes.row_encoder import RowEncoder
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

__all__ = ["Codec", "ControlMessage", "PackingCodec", "RegisteredControls", "RegisteredRows", "refuse_empty"]


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
    compressed_parts: tuple[str, ...]
    """The parts of every message that ``large-message-handle-compression`` compresses, among ``key`` and ``value``."""
    refuses_large_schemas: bool
    """Whether TiCDC's encoder refuses DDL and BOOTSTRAP beyond ``max-message-bytes``; otherwise the producer does."""

    def rows(self, table: TableInfo) -> RowEncoder:
        """Return the row encoder of one table version."""
        ...

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` if the protocol sends none; ``build_ts`` is the wall clock in ms."""
        ...

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message for the TSO ``ts``, ``None`` if the protocol has none."""
        ...

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage | None:
        """Return the message that shows a table's schema, ``None`` if the protocol has none; its ``commit_ts`` is 0.

        Its null key is one of zero length where the message goes out among the rows (semantics 4.4).
        """
        ...


@runtime_checkable
class PackingCodec(Codec, Protocol):
    """A protocol whose messages can hold several rows; its encoders make rows, without what a message has once."""

    packing: Packing


@runtime_checkable
class RegisteredControls(Codec, Protocol):
    """A protocol whose control messages begin with headers that name registered schemas.

    ``headers``: those that it has, by schema text.
    """

    headers: Mapping[str, bytes]

    def control_schemas(self, event: DdlEvent | None) -> Mapping[str, str]:
        """Return the schema texts that the message of a DDL, or a watermark (``None``), refers to, by subject and in
        the order in which they are registered; none where there is no message.
        """
        ...

    def with_headers(self, headers: Mapping[str, bytes]) -> RegisteredControls:
        """Return the codec with these headers by schema text, beside those that it has."""
        ...


@runtime_checkable
class RegisteredRows(RowEncoder, Protocol):
    """A row encoder whose messages begin with a header that names a registered schema.

    ``headers``: those that it has, by part (``key``, ``value``).
    """

    headers: Mapping[str, bytes]
    registers_refused: bool
    """Whether TiCDC registers the schemas of a row before it looks at the row's values, which it may refuse."""
    names_records: bool
    """Whether every message names the records inside its schema."""
    borrowed: frozenset[str]
    """The parts whose header is that of another table's schema, with the same fields under other names."""

    def schemas(self, op: Op) -> Mapping[str, str]:
        """Return the schema texts that messages of this kind refer to, by part (``key``, ``value``), in the order in
        which they are registered. Raises :class:`~ticdc_emit.errors.SchemaError` for a table that has none.
        """
        ...

    def subject(self, topic: str, part: str) -> str:
        """Return the subject under which the schema of a part is registered."""
        ...

    def with_headers(self, headers: Mapping[str, bytes], borrowed: frozenset[str] = frozenset()) -> RegisteredRows:
        """Return the encoder with these headers by part, beside those that it has; some are ``borrowed``."""
        ...


def refuse_empty(table: TableInfo) -> None:
    """Raise :class:`~ticdc_emit.errors.SchemaError` for a table of which column selectors leave no column, where TiCDC
    fails at its rows.
    """
    if not table.data_columns:
        raise SchemaError(
            "the column selectors leave no column of the table",
            remedy="Keep its primary key in [sink] column-selectors",
            table=table.full_name,
        )
