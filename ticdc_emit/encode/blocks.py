"""Blocks: pieces of a sorted stream of changes, of one table or of many, checked and ready to be encoded.

In: record batches in change form (``arrange.reader``), sorted in total order within each topic-partition. A stream of
many tables has the columns ``_schema`` and ``_table`` too; its batches are gathered to about 64 k rows or 64 MiB, so
that each table's rows of a block can be encoded at once. ``_partition`` is there where a dispatcher goes by row, and
``_half`` where updates may have to be split (``arrange.transactions``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.dispatch import UNKNOWN, dispatched
from ticdc_emit.arrange.duplicates import OrderCheck
from ticdc_emit.arrange.transactions import HALF, halved, judged
from ticdc_emit.changes import sizes
from ticdc_emit.changes.tables import TABLE_NAMES, rows_by_table
from ticdc_emit.delivery.claim_check import Claim
from ticdc_emit.delivery.topics import MOST_PARTITIONS
from ticdc_emit.encode.run import Prepared, prepare
from ticdc_emit.encoder import message_batch
from ticdc_emit.errors import LateRowError
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.routing.topic import Target

__all__ = ["GATHER_ROWS", "PARTITION", "Block", "BlockReader", "Made", "gathered"]

PARTITION = "_partition"
"""``int32``: the partition of a row, or ``dispatch.UNKNOWN``."""

GATHER_ROWS = 64 * 1024
_GATHER_BYTES = 64 * 1024 * 1024
_BLOCK_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class _Share:
    """One table's rows of a block; ``rows`` is their place in it (``None``: the whole block)."""

    table: TablePlan
    prepared: Prepared
    partitions: int | pa.Array
    rows: npt.NDArray[np.int64] | None


@dataclass(frozen=True)
class Block:
    """A checked piece of the stream; ``raw`` is what it was read from."""

    raw: pa.RecordBatch
    commit_ts: pa.Array
    shares: tuple[_Share, ...]

    def messages(self) -> tuple[pa.RecordBatch, tuple[Claim, ...]]:
        """Return the block's messages (``MESSAGE_SCHEMA``) in the rows' order, and the objects that they refer to."""
        made: list[pa.RecordBatch] = []
        claims: list[Claim] = []
        for share in self.shares:
            encoded = share.prepared.messages()
            stamps = self.commit_ts if share.rows is None else self.commit_ts.take(pa.array(share.rows))
            made.append(message_batch(encoded, share.table.topic, share.partitions, stamps))
            claims += encoded.claims
        if len(made) == 1:
            return made[0], tuple(claims)
        order = np.empty(self.raw.num_rows, np.int64)
        places = np.concatenate([share.rows for share in self.shares if share.rows is not None])
        order[places] = np.arange(len(order))
        return pa.concat_batches(made).take(pa.array(order)), tuple(claims)

    def targets(self) -> Iterator[tuple[Target, int, int]]:
        """Yield (topic-partition, start, length) of the runs that go to one topic-partition."""
        first = self.shares[0]
        if len(self.shares) == 1 and isinstance(first.partitions, int):
            yield (first.table.topic, first.partitions), 0, self.raw.num_rows
            return
        topics = list(dict.fromkeys(share.table.topic for share in self.shares))
        numbers = {topic: number for number, topic in enumerate(topics)}
        codes = np.empty(self.raw.num_rows, np.int64)
        for share in self.shares:
            place = slice(None) if share.rows is None else share.rows
            codes[place] = numbers[share.table.topic] * MOST_PARTITIONS + np.asarray(share.partitions, np.int64)
        starts = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
            topic, partition = divmod(int(codes[start]), MOST_PARTITIONS)
            yield (topics[topic], partition), start, end - start


@dataclass(frozen=True)
class Made:
    """A block whose messages are made; what it was read from is let go."""

    batch: pa.RecordBatch
    claims: tuple[Claim, ...]
    runs: tuple[tuple[Target, int, int], ...]

    @classmethod
    def of(cls, block: Block) -> Made:
        """Make the messages of a block."""
        return cls(*block.messages(), tuple(block.targets()))

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        return int(self.batch.nbytes) + sum(len(claim.content) for claim in self.claims)

    def messages(self) -> tuple[pa.RecordBatch, tuple[Claim, ...]]:
        """Return what :meth:`Block.messages` does."""
        return self.batch, self.claims

    def targets(self) -> Iterator[tuple[Target, int, int]]:
        """Yield what :meth:`Block.targets` does."""
        return iter(self.runs)


class BlockReader:
    """Reads a task's batches into blocks: drops or refuses late rows, checks order and values.

    ``late``: ``error``, ``emit`` or ``drop`` for rows at or below ``late_until``; ``late_rows`` counts the dropped
    ones.
    """

    def __init__(self, plan: Plan, table: tuple[str, str] | None, late: str, late_until: int | None) -> None:
        self._plan = plan
        self._table = None if table is None else plan.table(*table)
        self._late = late
        self._late_until = late_until
        self._orders: dict[tuple[str, str], OrderCheck] = {}
        self.late_rows: dict[Target, int] = {}

    def blocks(self, batches: Iterator[pa.RecordBatch]) -> Iterator[Block]:
        """Yield checked blocks. Raises the :class:`~ticdc_emit.errors.RowError` family."""
        for batch in batches if self._table is not None else gathered(batches):
            if batch.num_rows:
                for piece in self._bounded(self._halved(self._without_late(batch))):
                    if piece.num_rows:
                        yield self.read(piece, check_order=True)

    def read(self, batch: pa.RecordBatch, *, check_order: bool = False) -> Block:
        """Check one batch and make a block of it."""
        shares = []
        for table, rows in self._by_table(batch):
            part = batch if rows is None else batch.take(pa.array(rows))
            if check_order:
                self._orders.setdefault((table.schema, table.name), OrderCheck(table)).check(part)
            prepared = prepare(part, table, self._plan)
            shares.append(_Share(table, prepared, _partitions(part, prepared, table), rows))
        return Block(batch, batch.column("commit_ts"), tuple(shares))

    def _halved(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Settle which updates are split, where rows came in halves."""
        if HALF not in batch.schema.names:
            return batch
        marks = np.full(batch.num_rows, "", "U1")
        if batch.column(HALF).null_count < batch.num_rows:
            for table, rows in self._by_table(batch):
                part = batch if rows is None else batch.take(pa.array(rows))
                marks[slice(None) if rows is None else rows] = judged(part, table, self._plan)
        return halved(batch.drop_columns([HALF]), marks)

    def _bounded(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Cut a batch into pieces of bounded input and output: messages are larger than rows, and Arrow ends at 2 GiB.

        Each row counts with its own table's overhead, for one wide table among many may have few rows or none.
        """
        overheads = np.zeros(batch.num_rows, np.int64)
        for table, places in self._by_table(batch) if batch.num_rows else ():
            overheads[slice(None) if places is None else places] = table.overhead
        rows = sizes.rows_within(0, batch.num_rows, batch.nbytes, _BLOCK_BYTES)
        filled = np.cumsum(overheads)
        start = 0
        while start < batch.num_rows:
            before = int(filled[start - 1]) if start else 0
            fitting = int(np.searchsorted(filled, before + sizes.OUTPUT_BYTES, side="right")) - start
            length = max(1, min(rows, fitting))
            yield batch.slice(start, length)
            start += length

    def _by_table(self, batch: pa.RecordBatch) -> list[tuple[TablePlan, npt.NDArray[np.int64] | None]]:
        if self._table is not None:
            return [(self._table, None)]
        groups = rows_by_table(*(batch.column(name) for name in TABLE_NAMES))
        if len(groups) == 1:
            return [(self._plan.table(*groups[0][0]), None)]
        return [(self._plan.table(*name), rows) for name, rows in groups]

    def _without_late(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self._late_until is None or self._late == "emit":
            return batch
        stamps = batch.column("commit_ts").to_numpy(zero_copy_only=False)
        late = stamps <= self._late_until
        if not late.any():
            return batch
        if self._late == "error":
            index = int(late.argmax())
            table = next(table for table, rows in self._by_table(batch) if rows is None or index in rows)
            raise LateRowError(
                f"a row's commit_ts is at or below {self._late_until}, up to which a watermark or DDL was already sent",
                remedy="Allow lateness (allowed_lateness), or choose late='drop' or late='emit'",
                table=f"{table.schema}.{table.name}",
                commit_ts=int(stamps[index]),
            )
        for table, rows in self._by_table(batch):
            part = batch.filter(pa.array(late)) if rows is None else batch.take(pa.array(rows[late[rows]]))
            given = _given_partitions(part, table)
            numbers = [given] * part.num_rows if isinstance(given, int) else given.to_pylist()
            for number, count in Counter(numbers).items():
                target = (table.topic, max(number, 0))  # one that could not be told is as good as any
                self.late_rows[target] = self.late_rows.get(target, 0) + count
        return batch.filter(pa.array(~late))


def _given_partitions(part: pa.RecordBatch, table: TablePlan) -> int | pa.Array:
    return part.column(PARTITION) if table.partition is None else table.partition


def _partitions(part: pa.RecordBatch, prepared: Prepared, table: TablePlan) -> int | pa.Array:
    given = _given_partitions(part, table)
    if isinstance(given, int) or pc.min(given).as_py() != UNKNOWN:
        return given
    return dispatched(prepared.parts, table, prepared.rows)  # raises what kept the row from having one


def gathered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of about 64 k rows or 64 MiB; of empty ones none."""
    held: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        if batch.num_rows == 0:
            continue
        held.append(batch)
        rows, size = rows + batch.num_rows, size + batch.nbytes
        if rows >= GATHER_ROWS or size >= _GATHER_BYTES:
            yield pa.concat_batches(held)
            held, rows, size = [], 0, 0
    if held:
        yield pa.concat_batches(held)
