"""What a protocol is to the pipeline: a codec, a row encoder for each table version, and the messages they make.

In: :class:`~ticdc_emit.changes.model.Changes`, DDL, watermarks, tables. Out: :class:`Encoded`, and
:class:`ControlMessage`. Every protocol is a :class:`Codec` with a :class:`RowEncoder`. What only some have is a
contract of its own, which the pipeline asks for: keys alone for rows that are too large (:class:`ReducibleRows`), the
beginning of files (:class:`HeadedRows`), schemas that are registered (:class:`RegisteredRows`,
:class:`RegisteredControls`) or sent (:class:`BootstrapCodec`), frames that many small groups share
(:class:`FramedRows`), and messages of several rows (:class:`PackingCodec`). Of these, an encoder makes the rows; which
rows come together does not depend on the protocol, and ``pipeline.encode.message_packing`` decides it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.model import Changes, Encoded, Op, RowEncoder
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo


class Codec(Protocol):
    """A protocol with its options resolved: picklable, free of state."""

    compressed_parts: tuple[str, ...]
    """The parts of every message that ``large-message-handle-compression`` compresses, among ``key`` and ``value``."""
    refuses_large_schemas: bool
    """Whether TiCDC's encoder refuses DDL and BOOTSTRAP beyond ``max-message-bytes``; otherwise the producer does."""

    def rows(self, table: TableInfo) -> RowEncoder:
        """Return the row encoder of one table version."""

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` if the protocol sends none; ``build_ts`` is the wall clock in ms."""

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message for the TSO ``ts``, ``None`` if the protocol has none."""


@dataclass(frozen=True)
class ControlMessage:
    """A DDL, watermark or bootstrap message; a null key is null on Kafka too. ``commit_ts`` is its TSO."""

    key: bytes | None
    value: bytes
    commit_ts: int


@runtime_checkable
class FramedRows(RowEncoder, Protocol):
    """A row encoder whose messages are what they show of columns, and around it what is constant of a table, or a
    time: of groups of rows of any tables, these frames can be put around at once (``pipeline.encode.messages``).
    """

    def shown(self, changes: Changes) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return what keys and values show of columns."""

    def framed(self, changes: Changes, key: Sequence[Piece], value: Sequence[Piece]) -> Encoded:
        """Return the messages with these contents. Of ``changes``, nothing but TSOs and constants is read."""


@runtime_checkable
class HeadedRows(RowEncoder, Protocol):
    """A row encoder for files that begin with something else than a row."""

    @property
    def header(self) -> bytes:
        """The beginning of each file; it may be empty."""


@runtime_checkable
class ReducibleRows(RowEncoder, Protocol):
    """A row encoder that can show a row by its handle key alone, where the whole message is too large."""

    reduces_by_any_option: bool
    """Whether TiCDC reduces messages under an option that it does not know too, or leaves them as they are."""

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with the handle key's columns only, which say so.

        ``locations``: where each row's whole message is stored, ``None`` if it is stored nowhere.
        """


@runtime_checkable
class RegisteredRows(RowEncoder, Protocol):
    """A row encoder whose messages begin with a header that names a registered schema.

    ``headers``: those that it has, by part (``key``, ``value``).
    """

    headers: Mapping[str, bytes]
    names_records: bool
    """Whether every message names the records inside its schema."""
    borrowed: frozenset[str]
    """The parts whose header is that of another table's schema, with the same fields under other names."""

    def schemas(self, op: Op) -> Mapping[str, str]:
        """Return the schema texts that messages of this kind refer to, by part (``key``, ``value``), in the order in
        which they are registered. Raises :class:`~ticdc_emit.errors.SchemaError` for a table that has none.
        """

    def registered_for(self, op: Op, column: str) -> Sequence[str]:
        """Return the parts whose schemas TiCDC registers of a row that it refuses for the value of this column."""

    def stand_in(self, part: str) -> tuple[str, str] | None:
        """Return another part of the same subject, with its schema, which serves for this part if it was registered
        before; ``None`` if there is none.
        """

    def subject(self, topic: str, part: str) -> str:
        """Return the subject under which the schema of a part is registered."""

    def with_headers(self, headers: Mapping[str, bytes], borrowed: frozenset[str] = frozenset()) -> RegisteredRows:
        """Return the encoder with these headers by part, beside those that it has; some are ``borrowed``."""


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

    def with_headers(self, headers: Mapping[str, bytes]) -> RegisteredControls:
        """Return the codec with these headers by schema text, beside those that it has."""


@runtime_checkable
class BootstrapCodec(Codec, Protocol):
    """A protocol with messages that show a table's schema."""

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage:
        """Return the BOOTSTRAP of a table; its ``commit_ts`` is 0.

        Its null key is one of zero length where the message goes out among the rows (semantics 4.4).
        """


@runtime_checkable
class PackingCodec(Codec, Protocol):
    """A protocol whose messages can hold several rows; its encoders make rows, without what a message has once."""

    packing: Packing


Starts = npt.NDArray[np.int64]
"""The places of the rows that begin messages, rising, the first one 0."""


class Packing(Protocol):
    """Picklable, free of state. ``max_rows``: of one message. ``shared``: the bytes that a message has, in key and
    value together, beside those of its rows.
    """

    max_rows: int
    shared: int

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return the values of rows (``binary``), what each says of its row changed; nothing said stays so.

        What stands around that, such as its length, follows.
        """

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the keys and values of messages, each of the rows from one of ``starts`` to the next."""


def one_row_messages(rows: Encoded, packing: Packing | None) -> Encoded:
    """Return each row as a message of its own; without a ``packing`` it is one as it is."""
    if packing is None:
        return rows
    keys, values = packing.joined(rows.filled_keys(), rows.values, np.arange(len(rows)))
    return Encoded(values, keys, rows.claims)


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
