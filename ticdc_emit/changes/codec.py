"""What a protocol is to the pipeline: a codec, a row encoder for each table version, and the messages they make.

What only some protocols have is a contract of its own, which the pipeline asks for: keys alone for rows that are too
large, the beginning of files, schemas that are registered or sent, frames that many small groups share, and messages of
several rows. Which rows come together ``pipeline.encode.message_packing`` decides.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.model import Changes, Encoded, Op, RowEncoder
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.errors import RegistryError, SchemaError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo


class Codec(Protocol):
    """A protocol with its options resolved: picklable, free of state."""

    compressed_parts: ClassVar[tuple[str, ...]] = ()
    """The parts of every message that ``large-message-handle-compression`` compresses, among ``key`` and ``value``."""
    refuses_large_schemas: ClassVar[bool] = False
    """Whether TiCDC's encoder refuses DDL and BOOTSTRAP beyond ``max-message-bytes``; otherwise the producer does."""

    def rows(self, table: TableInfo) -> RowEncoder:
        """Return the row encoder of one table version."""

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the message of a DDL, ``None`` if the protocol sends none; ``build_ts`` is the wall clock in ms."""
        return None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage | None:
        """Return the watermark message for the TSO ``ts``, ``None`` if the protocol has none."""
        return None


@dataclass(frozen=True)
class ControlMessage:
    """A DDL, watermark or bootstrap message; a null key is null on Kafka too. ``commit_ts`` is its TSO."""

    key: bytes | None
    value: bytes
    commit_ts: int


@runtime_checkable
class FramedRows(RowEncoder, Protocol):
    """A row encoder whose messages are columns in a frame, which can be put around rows of any tables at once."""

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
        """Return messages of handle keys only; ``locations``: where whole messages are stored, ``None`` if nowhere."""


_Rows = TypeVar("_Rows", bound="RegisteredRows")


@dataclass(frozen=True)
class RegisteredRows(ABC):
    """A row encoder whose messages begin with headers that name registered schemas; ``headers``: by part (``key``,
    ``value``). ``borrowed``: those that name another table's schema, with the same fields under other names.
    """

    table: TableInfo
    headers: Mapping[str, bytes] = field(default_factory=dict, kw_only=True)
    borrowed: frozenset[str] = field(default=frozenset(), kw_only=True)
    names_records: ClassVar[bool]
    """Whether every message names the records inside its schema."""

    @abstractmethod
    def schemas(self, op: Op) -> Mapping[str, Callable[[], str]]:
        """Return what makes the schemas of this kind of messages, by part, in order of registration: a key's is
        registered before an invalid one of a value raises.
        """

    @abstractmethod
    def registered_for(self, op: Op, column: str) -> Sequence[str]:
        """Return the parts whose schemas TiCDC registers of a row that it refuses for the value of this column."""

    @abstractmethod
    def subject(self, topic: str, part: str) -> str:
        """Return the subject under which the schema of a part is registered."""

    def stand_in(self, part: str) -> tuple[str, str] | None:
        """Return another part of the subject and its schema, which serves for this part if it was registered before."""
        return None

    @property
    def shape(self) -> Hashable:
        """What the encoders of tables have in common, beside their columns, whose rows are encoded together."""
        return None

    def with_headers(self: _Rows, headers: Mapping[str, bytes], borrowed: frozenset[str] = frozenset()) -> _Rows:
        """Return the encoder with these additional headers by part, some of them ``borrowed``."""
        return replace(self, headers={**self.headers, **headers}, borrowed=(self.borrowed - headers.keys()) | borrowed)

    def header(self, part: str) -> bytes:
        """Return the header of a part; :class:`RegistryError` if its schema is not registered."""
        try:
            return self.headers[part]
        except KeyError:
            raise RegistryError(
                f"the {part} schema is not registered",
                remedy="Register the schemas that the batch needs before it is encoded",
                table=self.table.full_name,
                version=self.table.version,
            ) from None


@runtime_checkable
class RegisteredControls(Codec, Protocol):
    """A protocol whose control messages begin with headers that name schemas; ``headers``: by schema text."""

    headers: Mapping[str, bytes]

    def control_schemas(self, event: DdlEvent | None) -> Mapping[str, str]:
        """Return the schemas of a DDL's message, or a watermark's (``None``), by subject, in registration order."""

    def with_headers(self, headers: Mapping[str, bytes]) -> RegisteredControls:
        """Return the codec with these headers by schema text, beside those that it has."""


@runtime_checkable
class BootstrapCodec(Codec, Protocol):
    """A protocol with messages that show a table's schema."""

    def bootstrap(self, table: TableInfo, build_ts: int) -> ControlMessage:
        """Return a table's BOOTSTRAP; ``commit_ts`` is 0. Among rows its null key has zero length (semantics 4.4)."""


@runtime_checkable
class PackingCodec(Codec, Protocol):
    """A protocol whose messages can hold several rows; its encoders make rows, without what a message has once."""

    packing: Packing


Starts = npt.NDArray[np.int64]
"""The places of the rows that begin messages, rising, the first one 0."""


class Packing(Protocol):
    """Picklable, free of state. ``max_rows``: of a message. ``shared``: its bytes of key and value beside its rows."""

    max_rows: int
    shared: int

    def changed(self, values: pa.Array, change: Callable[[pa.Array], pa.Array]) -> pa.Array:
        """Return the values with what each says of its row changed, and what depends on that, such as its length."""

    def joined(self, keys: pa.Array, values: pa.Array, starts: Starts) -> tuple[pa.Array, pa.Array]:
        """Return the keys and values of messages, each of the rows from one of ``starts`` to the next."""


def one_row_messages(rows: Encoded, packing: Packing | None) -> Encoded:
    """Return each row as a message of its own; without a ``packing`` it is one as it is."""
    if packing is None:
        return rows
    keys, values = packing.joined(rows.filled_keys(), rows.values, np.arange(len(rows)))
    return Encoded(values, keys, rows.claims)


def refuse_empty(table: TableInfo) -> None:
    """Refuse a table of which column selectors leave no column: TiCDC fails at its rows."""
    if not table.data_columns:
        raise SchemaError(
            "the column selectors leave no column of the table",
            remedy="Keep its primary key in [sink] column-selectors",
            table=table.full_name,
        )
