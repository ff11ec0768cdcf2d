"""The first stage of a batch: row changes in, chunks of messages out, where the rows are.

What is wrong with the rows is handed on as a chunk for every delivering task, so that none sends anything and the
driver raises it with its own type; trying again would not help.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

import pyarrow as pa

from ticdc_emit.delivery.base import Target
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.errors import RegistryError, RowError, SchemaError, TicdcEmitError
from ticdc_emit.pipeline.arrange.row_batch import BATCH_BYTES, BATCH_ROWS, RowBatch, TableGroup
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.encode.bad_rows import (
    ArrowRows,
    BadRow,
    InputRows,
    Refusals,
    Refused,
    Rows,
    separate_bad_rows,
    skipped_rows,
)
from ticdc_emit.pipeline.encode.chunks import (
    Buckets,
    ChunkFiles,
    ChunkFolder,
    ChunkKind,
    EncodedRows,
    chunks_for_all,
    message_chunks,
    messages_by_target,
    side_chunk,
    skipped_chunks,
    to_ipc,
    transaction_chunks,
)
from ticdc_emit.pipeline.encode.error_json import error_as_json
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.table_plans import Plan

_HELD_BYTES = 8 * 1024 * 1024
_Packed = TypeVar("_Packed")


class HeldRows:
    """The messages of all rows of a batch in one process, as a ``ChunkStore`` has those of chunks."""

    failures: Sequence[TicdcEmitError] = ()
    returns_counts = True

    def __init__(self, made: list[EncodedRows], sorter: RowSorter, bad_rows: list[BadRow]) -> None:
        self._made, self._row_counts, self._bad_rows = made, sorter.row_counts, bad_rows
        self.transactions = sorter.split_transactions
        self.late_rows, self.filtered = sorter.late_rows, sorter.kept_back
        self.skipped = Counter(f"{row.schema}.{row.table}" for row in bad_rows)
        self.changes = sum((Counter(each.changes) for each in made), Counter[str]())

    def messages(self) -> Iterator[tuple[Target, pa.RecordBatch]]:
        """Yield the messages of each topic-partition (:func:`messages_by_target`)."""
        return messages_by_target(self._made) if self._made else iter(())

    def claims(self, target: Target) -> Iterator[list[Claim]]:
        """Yield the objects that messages of a topic-partition name."""
        yield [claim for each in self._made for place, claim in each.encoded.claims if each.target(place) == target]

    def skipped_lines(self) -> Iterator[bytes]:
        """Yield the lines of JSON for skipped rows, in the rows' order."""
        return (row.line() for row in sorted(self._bad_rows, key=lambda row: row.order))

    def counts(self) -> Iterator[pa.RecordBatch]:
        """Yield what was counted (``pipeline.arrange.row_counts``)."""
        if self._row_counts:
            yield self._row_counts.sums()


@dataclass(frozen=True)
class EncodeTask:
    """The work of one input task, pickled to the workers.

    ``late``: ``error``, ``emit`` or ``drop`` for rows at or below the TSO ``late_until``. ``table``: ``None`` where
    each row names its own. ``tells_skipped``: whether chunks say what was left out, or only how much. ``tick_ms``: of
    the slots of counts, ``None`` where nothing depends on them. ``folder``: for messages that need not travel.
    """

    plan: Plan
    late: str
    late_until: int | None
    buckets: Buckets
    table: tuple[str, str] | None = None
    bad_rows: Literal["refuse", "skip"] = "refuse"
    tells_skipped: bool = False
    tick_ms: int | None = None
    folder: ChunkFolder | None = None

    def of_table(self, table: tuple[str, str] | None) -> EncodeTask:
        """Return the task for one table's rows, with what they need of the plan, or for rows that name theirs."""
        return self if table is None else replace(self, table=table, plan=self.plan.of_table(*table))

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sorter, files = self._sorter(), ChunkFiles(self.folder)
        skipped = partial(skipped_chunks, lines=self.tells_skipped)
        try:
            yield from self._blocks(batches, sorter, partial(self._chunks, files=files), skipped)
            if sorter.late_rows:
                yield side_chunk(ChunkKind.LATE, 0, ("", 0), rows=sorter.late_rows)
            for rule, count in sorter.kept_back.items():
                yield side_chunk(ChunkKind.FILTERED, 0, (rule, 0), rows=count)
            for topic, transactions in sorter.split_transactions.items():
                yield from transaction_chunks(topic, transactions, self.buckets)
            if sorter.row_counts:
                yield from chunks_for_all(ChunkKind.COUNTS, to_ipc(sorter.row_counts.sums()), self.buckets)
        except (RowError, SchemaError, RegistryError) as error:
            yield from chunks_for_all(ChunkKind.FAILURE, error_as_json(error), self.buckets)

    def held(self, batches: Iterable[pa.RecordBatch]) -> HeldRows:
        """Return the messages of all rows, in this process; raises the error of the first bad one, which lists all."""
        sorter, bad_rows = self._sorter(), list[BadRow]()

        def skip(rows: list[BadRow]) -> Iterator[EncodedRows]:
            bad_rows.extend(rows)
            return iter(())

        return HeldRows(list(self._blocks(batches, sorter, iter, skip)), sorter, bad_rows)

    def _sorter(self) -> RowSorter:
        return RowSorter(self.plan, self.table, self.late, self.late_until, self.tick_ms)

    def _blocks(
        self,
        batches: Iterable[pa.RecordBatch],
        sorter: RowSorter,
        pack: Callable[[Iterable[EncodedRows]], Iterator[_Packed]],
        skip: Callable[[list[BadRow]], Iterator[_Packed]],
    ) -> Iterator[_Packed]:
        """Yield each block's messages and skipped rows; after a bad row, others are looked at for the error only."""
        refusals = Refusals()
        for rows in sorter.gather(batches):
            own = self._sorter() if self.bad_rows == "skip" else sorter
            packed = pack(self._encoded(own.sort(rows)))
            try:
                if own is not sorter:  # of a block that has a bad row, nothing goes out before
                    packed = iter(list(packed))
                    sorter.include(own)
                for each in packed:
                    if not refusals.tables:
                        yield each
            except RowError as fault:
                sound, refused = self.separated(ArrowRows(rows, self.table), placed=False)
                if not refused:  # the fault is of no one row
                    raise fault
                rows = rows.take(pa.array(sound))
                if own is sorter:
                    refusals.add(refused)
                else:
                    yield from skip(skipped_rows(refused))
                    yield from pack(self._encoded(sorter.sort(rows)))
        if refusals.tables:
            raise refusals.error()

    def separated(self, given: InputRows, *, placed: bool) -> tuple[Rows, list[Refused]]:
        """Return the numbers of sound rows, and the bad ones; sorters of their own leave the task's counts alone."""

        def batches(some: Rows) -> Iterator[RowBatch]:
            return self._sorter().sort(given.some(some))

        def make(some: Rows) -> None:
            with suppress(RegistryError):  # a schema may not be registered: every value is checked before
                for _ in self._encoded(batches(some)):
                    pass

        def arrange(some: Rows) -> list[tuple[pa.RecordBatch, pa.Array]]:
            return [(each.batch, each.order_keys) for each in batches(some)]

        return separate_bad_rows(given, arrange, make, placed=placed)

    def _chunks(self, made: Iterable[EncodedRows], files: ChunkFiles) -> Iterator[pa.RecordBatch]:
        held: list[EncodedRows] = []
        size = 0
        for messages in made:
            held.append(messages)
            size += messages.encoded.values.nbytes  # most of what is held
            if size > _HELD_BYTES:
                yield from message_chunks(held, self.buckets, files)
                held, size = [], 0
        yield from message_chunks(held, self.buckets, files)

    def _encoded(self, batches: Iterable[RowBatch]) -> Iterator[EncodedRows]:
        for together in _group_batches(batches):
            if not any(isinstance(rows.tables, TableGroup) for rows in together):
                yield from encode_batches(together, self.plan, counts=True)
                continue
            try:
                messages = list(encode_batches(together, self.plan, counts=True))
            except TicdcEmitError:  # which does not tell whose row it is
                by_table = (own for rows in together for own in rows.by_table())
                messages = list(encode_batches(by_table, self.plan, counts=True))
            yield from messages


def _group_batches(batches: Iterable[RowBatch]) -> Iterator[list[RowBatch]]:
    held: list[RowBatch] = []
    count = size = 0
    for whole in batches:
        for rows in whole.bounded():
            if held and (count + rows.length > BATCH_ROWS or size + rows.nbytes > BATCH_BYTES):
                yield held
                held, count, size = [], 0, 0
            held.append(rows)
            count, size = count + rows.length, size + rows.nbytes
    if held:
        yield held
