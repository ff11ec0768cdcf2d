"""Row changes of one table version and one kind, with everything that messages show of them beside their columns.

Here is also which tables are of one shape, so that their rows may be the rows of one :class:`Changes`, and how large
messages can be, by which batches are cut so that the messages of one stay far below Arrow's 2 GiB.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, START_TS
from ticdc_emit.changes.images import BeforeImage, Image
from ticdc_emit.columnar.assemble import Fragment, gather
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.columnar.epochs import COMMIT_TS, tso_ms_text, tso_text
from ticdc_emit.columnar.packed_fields import Piece, chosen, join_pieces
from ticdc_emit.columnar.small_batches import BatchedColumns, Pieces, Render
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.schema.model import Column, TableInfo

MESSAGE_OVERHEAD = 36
"""Bytes that TiCDC adds to key and value for the size check: sarama's record overhead (semantics 2.0.7)."""

OUTPUT_BYTES = 512 * 1024 * 1024
"""How much of the messages of one Arrow batch may be constants; what values add is bounded by the input."""

_CELL = 512  # bytes that a value of fixed width and what stands around any value can add


def json_overhead(table: TableInfo, name_uses: int, label_uses: int = 1) -> int:
    """Return an encoder's ``overhead`` for JSON messages that print every column's name and labels so many times."""
    return sum(
        len(column.name.encode()) * 6 * name_uses
        + sum(len(label.encode()) for label in column.elems) * 6 * label_uses
        + _CELL
        for column in table.columns
    )


def rows_within(overhead: int, rows: int, nbytes: int, limit: int) -> int:
    """Return how many of ``rows`` rows of ``nbytes`` bytes to take at once: by input up to ``limit``, and by output."""
    return max(1, min(rows * limit // max(nbytes, 1), OUTPUT_BYTES // max(overhead, 1)))


class Op(str, Enum):
    """The kind of a row change."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"

    @classmethod
    def parse(cls, text: str) -> Op | None:
        """Return the kind for ``c``/``u``/``d`` or the full word, any case; ``None`` for anything else."""
        return _OPS.get(text.lower())


REFUSED = "!"
"""The first character of an ``op`` whose row its source refused. The rest is the reason, for the error of a bad row."""

_OPS = {op.value: op for op in Op} | {"c": Op.INSERT, "u": Op.UPDATE, "d": Op.DELETE}


class RowEncoder(Protocol):
    """A protocol's plan for one table version: picklable, free of state, made on the driver and used on workers.

    Changes may be of several tables that are alike: what a table has beside columns, :meth:`Changes.constant` shows.
    """

    refuses_large: ClassVar[bool]
    """Whether TiCDC's encoder refuses a message beyond ``max-message-bytes``; otherwise only the producer does."""

    @property
    def table(self) -> TableInfo: ...

    @property
    def reads_old(self) -> bool:
        """Whether the message of an update shows its before image; where not, updates need none."""

    @property
    def overhead(self) -> int:
        """Bytes of a message that do not come from a value's own bytes, at most."""

    def check(self, changes: Changes) -> None:
        """Refuse accepted values that the protocol cannot show (the :class:`~ticdc_emit.errors.RowError` family)."""

    def encode(self, changes: Changes) -> Encoded:
        """Return one message per change."""


@dataclass(frozen=True)
class Encoded:
    """Keys (``None``: every key is the empty byte string) and values of a batch, ``binary``, in the rows' order.

    A null value is a tombstone. ``claims``: the objects to store before, each with the place of its message. ``ends``:
    what follows each value, a dictionary of ``binary``, where all messages of a table version end alike (Debezium's
    schema): it is put there last, for it is large.
    """

    values: pa.Array
    keys: pa.Array | None = None
    claims: tuple[tuple[int, Claim], ...] = ()
    ends: pa.DictionaryArray | None = None

    def __len__(self) -> int:
        return len(self.values)

    def lengths(self) -> npt.NDArray[np.int64]:
        sizes = text_buffers(self.values).lengths.astype(np.int64)
        if self.ends is not None:
            sizes += text_buffers(self.ends.dictionary).lengths[np.asarray(self.ends.indices)]
        return sizes if self.keys is None else sizes + text_buffers(self.keys).lengths

    def take(self, rows: pa.Array) -> Encoded:
        """Return the messages at these places; of claims none."""
        return self._of(lambda array: array.take(rows))

    def slice(self, start: int, count: int) -> Encoded:
        """Return ``count`` messages from place ``start`` on; of claims none."""
        return self._of(lambda array: array.slice(start, count))

    def _of(self, some: Callable[[pa.Array], pa.Array]) -> Encoded:
        keys, ends = (None if array is None else some(array) for array in (self.keys, self.ends))
        return Encoded(some(self.values), keys, ends=ends)

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


_Made = TypeVar("_Made")


@dataclass(eq=False)
class Changes:
    """Changes of one table version and one kind. ``encoder``: of that version. ``commit_ts`` is ``uint64`` TSO.

    ``build_ts``: the message's wall clock in ms; ``None`` takes the commit time. An insert has only ``after``, a delete
    only ``before``, an update both (only ``after`` where its message does not read the other). ``tables``: where the
    rows are of several; ``table`` is one of them. ``rows``: their places in their batch; ``None`` for all of it.
    """

    encoder: RowEncoder
    op: Op
    commit_ts: pa.Array
    build_ts: int | None = None
    before: Image | None = None
    after: Image | None = None
    attributes: Mapping[str, pa.Array] = field(default_factory=dict)
    tables: TableConstants | None = None
    rows: npt.NDArray[np.int64] | None = None
    batched: BatchedColumns | None = field(default=None, init=False, repr=False)
    """Where the rows are few: the TSOs, rendered with those of other changes (``pipeline.encode.messages``)."""

    _made: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.commit_ts)

    @property
    def table(self) -> TableInfo:
        return self.encoder.table

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

    def take(self, rows: pa.Array) -> Changes:
        """Return the changes at these places, which errors name by the same keys and places."""
        after = None if self.after is None else self.after.take(rows)
        if isinstance(self.before, BeforeImage):
            assert after is not None
            before: Image | None = self.before.beside(after, rows)
        else:
            before = None if self.before is None else self.before.take(rows)
        given = {name: array.take(rows) for name, array in self.attributes.items()}
        tables = None if self.tables is None else TableConstants(self.tables.encoders, self.tables.codes[rows])
        stamps = self.commit_ts.take(rows)
        return replace(self, commit_ts=stamps, before=before, after=after, attributes=given, tables=tables, rows=None)

    def constant(self, of: Callable[[Any], bytes]) -> Fragment:
        """Return what a row encoder shows of its table: of rows of several tables, each row's own."""
        if self.tables is None:
            return of(self.encoder)
        forms = self.tables.forms(of)
        return forms[0] if len(forms) == 1 else gather(forms, self.tables.codes)

    def constant_pieces(self, of: Callable[[Any], bytes]) -> list[Piece]:
        """Return :meth:`constant` for binary formats."""
        if self.tables is None:
            return [of(self.encoder)]
        forms = self.tables.forms(of)
        return [forms[0]] if len(forms) == 1 else chosen(self.tables.codes, forms)

    def long_constant(self, of: Callable[[Any], bytes]) -> pa.DictionaryArray:
        """Return :meth:`constant` as a dictionary with an entry for each table, for what is long."""
        tables = self.tables or TableConstants((self.encoder,), np.zeros(len(self), np.int32))
        texts = pa.array([of(encoder) for encoder in tables.encoders], pa.binary())
        return pa.DictionaryArray.from_arrays(pa.array(tables.codes), texts)

    def numbers(self, of: Callable[[RowEncoder], int]) -> npt.NDArray[np.int64]:
        """Return a number that is constant of a table, of each row."""
        if self.tables is None:
            return np.full(len(self), of(self.encoder), np.int64)
        of_tables = np.array([of(encoder) for encoder in self.tables.encoders], np.int64)
        return of_tables[self.tables.codes]

    def encoders(self) -> Iterator[RowEncoder]:
        if self.tables is None:
            yield self.encoder
        else:
            yield from (self.tables.encoders[code] for code in np.unique(self.tables.codes))

    def table_of(self, row: int) -> TableInfo:
        return self.table if self.tables is None else self.tables.encoders[self.tables.codes[row]].table

    @cached_property
    def physical_table_ids(self) -> pa.Array:
        """The physical table id of each row, ``int64``: a partition's, as TiDB's own any number, or the table's."""
        own = pa.array(self.numbers(lambda encoder: encoder.table.id))
        return self._given(PHYSICAL_TABLE_ID, own)

    @cached_property
    def start_tsos(self) -> pa.Array:
        """The TSO at which each row's transaction began, ``int64``: the given one, else the one before its commit."""
        return self._given(START_TS, pc.subtract(self.commit_ts.cast(pa.int64(), safe=False), 1))

    def _given(self, name: str, otherwise: pa.Array) -> pa.Array:
        given = self.attributes.get(name)
        return otherwise if given is None else pc.coalesce(given.cast(pa.int64()), otherwise)

    def once(self, make: Callable[[Changes], _Made]) -> _Made:
        """Return what a function makes of these changes, which is made once."""
        if make not in self._made:
            self._made[make] = make(self)
        made: _Made = self._made[make]
        return made

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
        if self.batched is not None:

            def join(column: Column, stamps: pa.Array) -> pa.Array:
                return join_pieces(make(column, stamps), len(stamps))

            # a column of the table may have the same kind, but it does not hold TSOs
            made = self.batched.rendered(COMMIT_TS.name, f"{form}, of TSOs, joined", join)
            if made is not None:
                return [made]
        return make(COMMIT_TS, self.commit_ts)

    def _commit_text(self, form: str, render: Render) -> pa.Array:
        made = None if self.batched is None else self.batched.rendered(COMMIT_TS.name, form, render)
        return render(COMMIT_TS, self.commit_ts) if made is None else made


@dataclass(frozen=True)
class TableConstants:
    """The row encoders of tables of one :func:`encoding_shape`; ``codes``: of each row, the place of its own."""

    encoders: tuple[RowEncoder, ...]
    codes: npt.NDArray[np.int32]

    def forms(self, of: Callable[[Any], bytes]) -> list[bytes]:
        """Return what ``of`` says of each encoder, once where it says the same of all."""
        forms = [of(encoder) for encoder in self.encoders]
        return forms[:1] if forms.count(forms[0]) == len(forms) else forms


def encoding_shape(table: TableInfo) -> Hashable:
    """Return what tables have in common whose rows are accepted and shown alike, but for what is constant of a table.

    The order of column ids is that of checksums, the clustered primary key that of row keys; Open Protocol shows of
    each column whether it is of an index, and of each row its partition.
    """
    return _one_object(tuple(_shape(table)))


def key_shape(table: TableInfo) -> Hashable:
    """Return what tables have in common whose rows are arranged alike: their keys' columns."""
    keys = (table.whole_handle_key, table.order_columns, table.splitting_columns)
    return _one_object(tuple(tuple((column.name, column.kind) for column in columns) for columns in keys))


@lru_cache(maxsize=16384)
def _one_object(shape: Hashable) -> Hashable:
    """Return the same object for what is equal, so that it is compared and hashed in full only here."""
    return object()


def _shape(table: TableInfo) -> Iterator[Hashable]:
    yield tuple((column.name, column.kind) for column in table.columns)
    yield tuple(np.argsort([column.id for column in table.columns]).tolist())
    for columns in (
        table.shown_columns,
        table.whole_handle_key,
        table.shown_handle_key,
        table.handle_key,
        table.primary_key,
    ):
        yield tuple(column.name for column in columns)
    yield table.pk_is_handle, table.common_handle
    yield next(((index.columns, index.lengths) for index in table.indexes if index.primary), None)
    yield tuple(column.collate for column in table.whole_primary_key)
    yield tuple((index.columns, index.unique, index.primary, index.marks) for index in table.indexes)
    yield bool(table.partitions)
