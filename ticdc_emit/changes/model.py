"""Row changes of one table version and one kind, as the row encoders of every protocol take them.

In: images, TSOs and the optional columns of the input. Out: :class:`Changes`, and what row encoders read of it. What a
row encoder is: ``changes.row_encoder``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.attributes import CHECKSUM, PHYSICAL_TABLE_ID, START_TS, physical_table_ids, start_tsos
from ticdc_emit.changes.before_image import BeforeImage
from ticdc_emit.changes.images import Image
from ticdc_emit.changes.integrity import Checksums, checksums_of, read_given
from ticdc_emit.changes.peers import Peers
from ticdc_emit.changes.row_keys import row_ids_of, row_keys_of
from ticdc_emit.columnar.assemble import Fragment
from ticdc_emit.columnar.cells import Piece, join_pieces
from ticdc_emit.columnar.pool import ColumnPool, Pieces, Pooled, Render
from ticdc_emit.columnar.stamps import COMMIT_TS, tso_ms_text, tso_text
from ticdc_emit.schema.model import Column, TableInfo

__all__ = ["Changes", "Op"]


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
