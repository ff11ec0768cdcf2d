"""Row changes of one table version and one kind, as the row encoders of every protocol take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import CHECKSUM, PHYSICAL_TABLE_ID, START_TS, physical_table_ids, start_tsos
from ticdc_emit.changes.before_image import BeforeImage
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.integrity import Checksums, checksums_of, read_given
from ticdc_emit.changes.peers import Peers
from ticdc_emit.changes.row_keys import row_ids_of, row_keys_of
from ticdc_emit.columnar.assemble import Fragment
from ticdc_emit.columnar.buffers import element_lengths
from ticdc_emit.columnar.cells import Piece, join_pieces
from ticdc_emit.columnar.pool import ColumnPool, Pieces, Pooled, Render
from ticdc_emit.columnar.stamps import COMMIT_TS, tso_ms_text, tso_text
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.schema.model import Column, TableInfo

__all__ = ["Changes", "Encoded", "FramedRows", "Op", "ReducibleRows", "RowEncoder", "with_ends"]


_Encoder = TypeVar("_Encoder")


class Op(str, Enum):
    """The kind of a row change."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"

    @classmethod
    def parse(cls, text: str) -> Op | None:
        """Return the kind for ``c``/``u``/``d`` or the full word, any case; ``None`` for anything else."""
        return _OPS.get(text.lower())


_OPS = {op.value: op for op in Op} | {"c": Op.INSERT, "u": Op.UPDATE, "d": Op.DELETE}


@dataclass(frozen=True)
class Changes:
    """Changes of one table version and one kind. ``commit_ts`` is ``uint64`` TSO.

    ``build_ts`` is the wall clock of the message in ms; ``None`` takes each row's commit time instead. An insert has
    only ``after``, a delete only ``before``, an update both (only ``after`` where its message does not read the
    other). ``attributes``: the optional columns that the input has (``changes.attributes``). ``peers``: where the rows
    are of several tables, which; ``table`` is one of them.
    """

    table: TableInfo
    op: Op
    commit_ts: pa.Array
    build_ts: int | None = None
    before: Image | None = None
    after: Image | None = None
    attributes: Mapping[str, pa.Array] = field(default_factory=dict)
    peers: Peers | None = None
    _pooled: dict[str, Pooled] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.commit_ts)

    @property
    def current(self) -> Image:
        """The image that describes the row now, or last: after, or before for a delete."""
        image = self.after if self.after is not None else self.before
        assert image is not None
        return image

    @property
    def old(self) -> BeforeImage:
        """The before image of an update."""
        assert isinstance(self.before, BeforeImage)
        return self.before

    def join(self, pool: ColumnPool, *, framed: bool = False) -> None:
        """Have the TSOs and the images' columns made by the pool, with those of other changes.

        ``framed``: by an encoder of :class:`FramedRows`. Instead of TSOs, whole rows are made.
        """
        pooled = None if framed else pool.add(COMMIT_TS, self.commit_ts)
        if pooled is not None:
            self._pooled["commit_ts"] = pooled
        for image in (self.after, self.before):
            if image is not None:
                image.join(pool)
        if framed and not isinstance(self.before, BeforeImage):  # the images of updates share what they show
            self.current.join_rows(pool)

    def take(self, rows: pa.Array) -> Changes:
        """Return the changes at these places, which errors name by the same keys and places."""
        after = None if self.after is None else self.after.take(rows)
        if isinstance(self.before, BeforeImage):
            assert after is not None
            before: Image | None = self.before.beside(after, rows)
        else:
            before = None if self.before is None else self.before.take(rows)
        given = {name: array.take(rows) for name, array in self.attributes.items()}
        peers = None if self.peers is None else self.peers.take(np.asarray(rows))
        stamps = self.commit_ts.take(rows)
        return replace(self, commit_ts=stamps, before=before, after=after, attributes=given, peers=peers)

    def constant(self, encoder: _Encoder, of: Callable[[_Encoder], bytes]) -> Fragment:
        """Return what a row encoder shows of its table: of rows of several tables, each row's own."""
        return of(encoder) if self.peers is None else self.peers.constant(of)

    def constant_pieces(self, encoder: _Encoder, of: Callable[[_Encoder], bytes]) -> list[Piece]:
        """Return :meth:`constant` for binary formats."""
        return [of(encoder)] if self.peers is None else self.peers.pieces(of)

    def long_constant(self, encoder: _Encoder, of: Callable[[_Encoder], bytes]) -> pa.DictionaryArray:
        """Return :meth:`constant` as a dictionary with an entry for each table, for what is long."""
        if self.peers is not None:
            return self.peers.dictionary(of)
        codes = pa.array(np.zeros(len(self), np.int32))
        return pa.DictionaryArray.from_arrays(codes, pa.array([of(encoder)], pa.binary()))

    def table_of(self, row: int) -> TableInfo:
        """Return the table of a row."""
        return self.table if self.peers is None else self.peers.encoders[self.peers.codes[row]].table

    @cached_property
    def given_checksum(self) -> Mapping[str, pa.Array]:
        """The given checksums, by member. Raises what ``changes.integrity.read_given`` does."""
        column = self.attributes.get(CHECKSUM)
        return {} if column is None else read_given(column, self.table.full_name)

    @cached_property
    def physical_table_ids(self) -> pa.Array:
        """The physical table id of each row, ``int64``: a partition's, or the table's own where none is given.

        Raises :class:`UnsupportedTypeError`.
        """
        own = pa.repeat(pa.scalar(self.table.id, pa.int64()), len(self))
        if self.peers is not None:
            own = pa.array(self.peers.numbers(lambda encoder: encoder.table.id))
        return physical_table_ids(self.attributes.get(PHYSICAL_TABLE_ID), self.table.full_name, own)

    @cached_property
    def row_keys(self) -> pa.Array:
        """The key of each row in TiKV, ``binary``. Raises what ``changes.row_keys.row_keys_of`` does."""
        return row_keys_of(self)

    @cached_property
    def row_ids(self) -> pa.Array:
        """The handle of each row where it is an integer that is known, ``int64``; null elsewhere.

        Raises what ``changes.row_keys.row_ids_of`` does.
        """
        return row_ids_of(self)

    @cached_property
    def start_tsos(self) -> pa.Array:
        """The TSO at which each row's transaction began, ``int64``. Raises :class:`UnsupportedTypeError`."""
        return start_tsos(self.attributes.get(START_TS), self.commit_ts, self.table.full_name)

    @cached_property
    def checksums(self) -> Checksums:
        """The row checksums, computed when they are asked for: an encoder that shows them does so in its check."""
        return checksums_of(self)

    @cached_property
    def commit_ts_text(self) -> pa.Array:
        """The TSO of each row as decimal text."""
        return self._commit_text("text of TSOs", tso_text)

    @cached_property
    def commit_ms_text(self) -> pa.Array:
        """The physical time of each commit, in ms since the epoch, as decimal text."""
        return self._commit_text("times of TSOs", tso_ms_text)

    @property
    def build_ms_text(self) -> pa.Array | bytes:
        """The wall clock of each message in ms, as text: one constant, or the commit times."""
        return self.commit_ms_text if self.build_ts is None else b"%d" % self.build_ts

    def commit_pieces(self, form: str, make: Pieces) -> Sequence[Piece]:
        """Return pieces of the TSOs, for binary formats; ``form`` names them."""
        pooled = self._pooled.get("commit_ts")

        def join(column: Column, stamps: pa.Array) -> pa.Array:
            return join_pieces(make(column, stamps), len(stamps))

        # a column of the table may be of the kind of TSOs, but is no TSO
        together = None if pooled is None else pooled.rendered(f"{form}, of TSOs, joined", join)
        return make(COMMIT_TS, self.commit_ts) if together is None else [together]

    def _commit_text(self, form: str, render: Render) -> pa.Array:
        pooled = self._pooled.get("commit_ts")
        together = None if pooled is None else pooled.rendered(form, render)
        return render(COMMIT_TS, self.commit_ts) if together is None else together


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
