"""The first stage of a batch: row changes in, chunks of messages out.

Runs where the rows are (in Spark's Python workers, inside ``mapInArrow``), but knows nothing of the engine: it is a
generator over record batches. Nothing outside is touched. What is wrong with the rows is handed on as a chunk for every
delivering task, so that none sends anything and the driver raises it with its own type; trying again would not help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from ticdc_emit.errors import RegistryError, RowError, SchemaError, TicdcEmitError
from ticdc_emit.pipeline.bad_rows import ArrowRows, Refusals, Refused, Rows, separate_bad_rows, skipped_rows
from ticdc_emit.pipeline.chunks import (
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
from ticdc_emit.pipeline.encode import encode_batches
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.row_batch import BATCH_BYTES, BATCH_ROWS, RowBatch, TableGroup
from ticdc_emit.pipeline.row_sorter import RowSorter

_HELD_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class EncodeTask:
    """The work of one input task, pickled to the workers.

    ``late``: ``error``, ``emit`` or ``drop`` for rows at or below the TSO ``late_until``. ``buckets``: which task
    delivers what. ``table``: (schema, name) of all rows, ``None`` where each names its own. ``bad_rows``: whether a bad
    one refuses the batch or is left out; ``tells_skipped``: whether chunks say what was left out, or only how much.
    ``tick_ms``: of the slots that rows are counted by (``pipeline.row_counts``); ``None`` where nothing depends on
    that. ``folder``: for messages that need not travel to the task that delivers them.
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
        """Yield batches of ``CHUNK_SCHEMA``."""
        sorter, refusals = self._sorter(), Refusals()
        of_block = self._skip_bad_rows if self.bad_rows == "skip" else self._refuse_bad_rows
        try:
            files = ChunkFiles(self.folder)
            for rows in sorter.gather(batches):
                yield from of_block(sorter, rows, refusals, files)
            if refusals.tables:
                raise refusals.error()
            for target, count in sorter.late_rows.items():
                yield side_chunk(ChunkKind.LATE, self.buckets.of(target), target, rows=count)
            for rule, count in sorter.kept_back.items():
                yield side_chunk(ChunkKind.FILTERED, 0, (rule, 0), rows=count)
            for topic, transactions in sorter.split_transactions.items():
                yield from transaction_chunks(topic, transactions, self.buckets)
            if sorter.row_counts:
                yield from count_chunks(sorter.row_counts.sums(), self.buckets)
        except (RowError, SchemaError, RegistryError) as error:
            yield from failure_chunks(error, self.buckets)

    def encoded(self, batches: Iterable[pa.RecordBatch]) -> tuple[list[EncodedRows], RowSorter]:
        """Return the messages of all rows, in this process, and what the sorter found out.

        Raises the error of the first bad row, which lists all of them.
        """
        sorter, refusals = self._sorter(), Refusals()
        made: list[EncodedRows] = []
        for rows in sorter.gather(batches):
            try:
                made += self._encoded(sorter.sort(rows))
            except RowError as fault:
                refusals.add(self._separate(rows, fault)[1])
        if refusals.tables:
            raise refusals.error()
        return made, sorter

    def _sorter(self) -> RowSorter:
        return RowSorter(self.plan, self.table, self.late, self.late_until, self.tick_ms)

    def _refuse_bad_rows(
        self, sorter: RowSorter, rows: pa.RecordBatch, refusals: Refusals, files: ChunkFiles
    ) -> Iterator[pa.RecordBatch]:
        """Yield the chunks of a block; once a row of the task was bad, the others are only looked at."""
        try:
            for chunk in self._chunks(sorter.sort(rows), files):
                if not refusals.tables:
                    yield chunk
        except RowError as fault:
            refusals.add(self._separate(rows, fault)[1])

    def _skip_bad_rows(
        self, sorter: RowSorter, rows: pa.RecordBatch, refusals: Refusals, files: ChunkFiles
    ) -> Iterator[pa.RecordBatch]:
        """Yield the chunks of a block's sound rows; of a block that has a bad one, nothing went out before."""
        own = self._sorter()
        try:
            chunks = list(self._chunks(own.sort(rows), files))
        except RowError as fault:
            rows, refused = self._separate(rows, fault)
            chunks = [*skipped_chunks(skipped_rows(refused), lines=self.tells_skipped)]
            own = self._sorter()
            chunks += self._chunks(own.sort(rows), files)
        sorter.include(own)
        yield from chunks

    def _separate(self, rows: pa.RecordBatch, fault: RowError) -> tuple[pa.RecordBatch, list[Refused]]:
        """Return the sound rows of a block, and the bad ones; raise ``fault`` where it is of no one row.

        Sorters of their own leave the counts of the task's as they are.
        """
        given = ArrowRows(rows, self.table)

        def batches(some: Rows) -> Iterator[RowBatch]:
            return self._sorter().sort(given.some(some))

        def make(some: Rows) -> None:
            for _ in self._encoded(batches(some)):
                pass

        def arrange(some: Rows) -> list[tuple[pa.RecordBatch, pa.Array]]:
            return [(each.batch, each.order_keys) for each in batches(some)]

        sound, refused = separate_bad_rows(given, arrange, make, placed=False)
        if not refused:
            raise fault
        return rows.take(pa.array(sound)), refused

    def _chunks(self, batches: Iterable[RowBatch], files: ChunkFiles) -> Iterator[pa.RecordBatch]:
        held: list[EncodedRows] = []
        size = 0
        for messages in self._encoded(batches):
            held.append(messages)
            size += messages.encoded.values.nbytes  # most of what is held
            if size > _HELD_BYTES:
                yield from message_chunks(held, self.buckets, files)
                held, size = [], 0
        yield from message_chunks(held, self.buckets, files)

    def _encoded(self, batches: Iterable[RowBatch]) -> Iterator[EncodedRows]:
        """Yield the messages of each batch; small ones are made together."""
        for together in _group_batches(batches):
            if not any(isinstance(rows.tables, TableGroup) for rows in together):
                yield from encode_batches(together, self.plan)
                continue
            try:
                messages = list(encode_batches(together, self.plan))
            except TicdcEmitError:  # which does not tell whose row it is
                by_table = (own for rows in together for own in rows.by_table())
                messages = list(encode_batches(by_table, self.plan))
            yield from messages


def _group_batches(batches: Iterable[RowBatch]) -> Iterator[list[RowBatch]]:
    """Yield the batches, bounded, small ones together: up to the rows that are encoded at once."""
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
