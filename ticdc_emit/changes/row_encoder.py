"""What turns the row changes of a table version into messages: the contract of a row encoder, and what it returns.

In: :class:`~ticdc_emit.changes.model.Changes`. Out: :class:`Encoded`, one message per change in their order. Every
protocol's package has such encoders; PLAN makes them, and ENCODE uses them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.buffers import element_lengths
from ticdc_emit.columnar.cells import Piece
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.schema.model import TableInfo

__all__ = ["Encoded", "FramedRows", "ReducibleRows", "RowEncoder", "with_ends"]


@dataclass(frozen=True)
class Encoded:
    """Keys (``None``: every key is the empty byte string) and values of a batch, ``binary``, in the rows' order.

    A null value is a tombstone. ``claims``: the objects that messages name, which must be stored before they are sent,
    each with the place of its message. ``ends``: what follows each value, a dictionary of ``binary``, where a protocol
    ends all messages of a table version alike (Debezium's schema): it is put there last, for it is large.
    """

    values: pa.Array
    keys: pa.Array | None = None
    claims: tuple[tuple[int, Claim], ...] = ()
    ends: pa.DictionaryArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def lengths(self) -> npt.NDArray[np.int64]:
        """Return the bytes of each key and value."""
        sizes = element_lengths(self.values).astype(np.int64)
        if self.ends is not None:
            sizes += element_lengths(self.ends.dictionary)[np.asarray(self.ends.indices)]
        return sizes if self.keys is None else sizes + element_lengths(self.keys)

    def take(self, rows: pa.Array) -> Encoded:
        """Return the messages at these places; of claims none."""
        keys = None if self.keys is None else self.keys.take(rows)
        return Encoded(self.values.take(rows), keys, ends=None if self.ends is None else self.ends.take(rows))

    def slice(self, start: int, count: int) -> Encoded:
        """Return ``count`` messages from place ``start`` on; of claims none."""
        keys = None if self.keys is None else self.keys.slice(start, count)
        return Encoded(
            self.values.slice(start, count), keys, ends=None if self.ends is None else self.ends.slice(start, count)
        )

    def whole(self) -> Encoded:
        """Return the messages with their ends in their values."""
        if self.ends is None:
            return self
        return replace(self, values=with_ends(self.values, self.ends), ends=None)

    def filled_keys(self) -> pa.Array:
        """Return one key per message: those of zero length too."""
        return pa.repeat(pa.scalar(b"", pa.binary()), len(self.values)) if self.keys is None else self.keys


def with_ends(values: pa.Array, ends: pa.DictionaryArray) -> pa.Array:
    """Return each value with its end. The same one for all, as of one table, is not copied out first."""
    same = len(ends.dictionary) == 1 and not ends.null_count
    texts = ends.dictionary[0] if same else ends.dictionary_decode()
    return pc.binary_join_element_wise(values, texts, pa.scalar(b"", pa.binary()))


class RowEncoder(Protocol):
    """A protocol's plan for one table version: picklable, free of state, made on the driver and used on workers.

    Changes may be of several tables that are alike (``changes.peers``): what its table has beside columns, an encoder
    shows by :meth:`Changes.constant`.
    """

    table: TableInfo
    reads_old: bool
    """Whether the message of an update shows its before image; where not, updates need none."""
    refuses_large: bool
    """Whether TiCDC's encoder refuses a message beyond ``max-message-bytes``; otherwise only the producer does."""

    @property
    def overhead(self) -> int:
        """Bytes of a message that do not come from a value's own bytes, at most."""
        ...

    def check(self, changes: Changes) -> None:
        """Refuse accepted values that the protocol cannot show (the :class:`~ticdc_emit.errors.RowError` family)."""
        ...

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change."""
        ...


@runtime_checkable
class FramedRows(RowEncoder, Protocol):
    """A row encoder whose messages are what they show of columns, and around it what is constant of a table, or a
    time: of groups of rows of any tables, these frames can be put around at once (``encode.frames``).
    """

    def shown(self, changes: Changes) -> tuple[Sequence[Piece], Sequence[Piece]]:
        """Return what keys and values show of columns."""
        ...

    def framed(self, changes: Changes, key: Sequence[Piece], value: Sequence[Piece]) -> Encoded:
        """Return the messages with these contents. Of ``changes``, nothing but TSOs and constants is read."""
        ...


@runtime_checkable
class ReducibleRows(RowEncoder, Protocol):
    """A row encoder that can show a row by its handle key alone, where the whole message is too large."""

    reduces_by_any_option: bool
    """Whether TiCDC reduces messages under an option that it does not know too, or leaves them as they are."""

    def reduced(self, changes: Changes, locations: Sequence[str] | None) -> Encoded:
        """Return messages with the handle key's columns only, which say so.

        ``locations``: where each row's whole message is stored, ``None`` if it is stored nowhere.
        """
        ...
