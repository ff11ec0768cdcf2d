"""The first stage of a batch: row changes in, chunks of messages out, where the rows are.

What is wrong with the rows is handed on as a chunk for every delivering task, so that none sends anything and the
driver raises it with its own type; trying again would not help.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeVar

import pyarrow as pa

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
    count_by_table,
    separate_bad_rows,
    skipped_rows,
)
from ticdc_emit.pipeline.encode.chunks import (
    Buckets,
    ChunkFiles,
    ChunkFolder,
    ChunkKind,
    EncodedRows,
    count_chunks,
    failure_chunks,
    message_chunks,
    side_chunk,
    skipped_chunks,
    transaction_chunks,
)
from ticdc_emit.pipeline.encode.messages import encode_batches
from ticdc_emit.pipeline.plan.table_plans import Plan

_HELD_BYTES = 8 * 1024 * 1024
_Packed = TypeVar("_Packed")


class Held(NamedTuple):
    """What all rows of a batch made in one process; ``told``: skipped rows, ``skipped``: their number by table."""

    made: list[EncodedRows]
    sorter: RowSorter
    told: list[BadRow]
    skipped: Mapping[str, int]


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

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sorter, files = self._sorter(), ChunkFiles(self.folder)

        def chunks(made: Iterable[EncodedRows]) -> Iterator[pa.RecordBatch]:
            return self._chunks(made, files)

        def skipped(rows: list[BadRow]) -> Iterator[pa.RecordBatch]:
            return skipped_chunks(rows, lines=self.tells_skipped)

        try:
            yield from self._blocks(batches, sorter, chunks, skipped)
            if sorter.late_rows:
                yield side_chunk(ChunkKind.LATE, 0, ("", 0), rows=sorter.late_rows)
            for rule, count in sorter.kept_back.items():
                yield side_chunk(ChunkKind.FILTERED, 0, (rule, 0), rows=count)
            for topic, transactions in sorter.split_transactions.items():
                yield from transaction_chunks(topic, transactions, self.buckets)
            if sorter.row_counts:
                yield from count_chunks(sorter.row_counts.sums(), self.buckets)
        except (RowError, SchemaError, RegistryError) as error:
            yield from failure_chunks(error, self.buckets)

    def held(self, batches: Iterable[pa.RecordBatch]) -> Held:
        """Return the messages of all rows, in this process; raises the error of the first bad one, which lists all."""
        sorter, bad_rows = self._sorter(), list[BadRow]()

        def skip(rows: list[BadRow]) -> Iterator[EncodedRows]:
            bad_rows.extend(rows)
            return iter(())

        made = list(self._blocks(batches, sorter, iter, skip))
        return Held(made, sorter, bad_rows if self.tells_skipped else [], count_by_table(bad_rows))

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
