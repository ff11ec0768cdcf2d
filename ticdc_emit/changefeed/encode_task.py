"""The first stage of a batch: row changes in, chunks of messages out.

Runs where the rows are (in Spark's Python workers, inside ``mapInArrow``), but knows nothing of the engine: it is a
generator over record batches. Nothing outside is touched. What is wrong with the rows is handed on as a chunk for every
delivering task, so that none sends anything and the driver raises it with its own type; trying again would not help.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.dispatch import dispatched
from ticdc_emit.arrange.reader import POSITION
from ticdc_emit.encode.chunks import Buckets, ChunkKind, Made, chunks_of, failures, note
from ticdc_emit.encode.first_fault import first_fault
from ticdc_emit.encode.pieces import Arranger, Piece
from ticdc_emit.encode.run import prepare
from ticdc_emit.errors import RegistryError, RowError, SchemaError
from ticdc_emit.plan.tables import Plan

__all__ = ["EncodeTask"]

_HELD_BYTES = 8 * 1024 * 1024


@dataclass(frozen=True)
class EncodeTask:
    """The work of one input task, pickled to the workers.

    ``late``: ``error``, ``emit`` or ``drop`` for rows at or below the TSO ``late_until``. ``buckets``: which task
    delivers what. ``table``: (schema, name) of all rows, ``None`` where each names its own.
    """

    plan: Plan
    late: str
    late_until: int | None
    buckets: Buckets
    table: tuple[str, str] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield batches of ``CHUNK_SCHEMA``."""
        arranger = Arranger(self.plan, self.table, self.late, self.late_until)
        try:
            for rows in arranger.gathered(batches):
                try:
                    yield from self._chunks(arranger.pieces(rows))
                except RowError as fault:
                    raise first_fault(fault, partial(self._check, rows)) from None
            yield from self._notes(arranger)
        except (RowError, SchemaError, RegistryError) as error:
            yield from failures(error, self.buckets)

    def _check(self, rows: pa.RecordBatch, count: int) -> None:
        """Check those of a block's rows that are among the first ``count`` of the task."""
        arranger = Arranger(self.plan, self.table, self.late, self.late_until)
        for piece in arranger.pieces(rows.filter(pc.less(rows.column(POSITION), count))):
            self._made(piece)

    def _chunks(self, pieces: Iterable[Piece]) -> Iterator[pa.RecordBatch]:
        held: list[Made] = []
        size = 0
        for piece in pieces:
            for part in piece.bounded():
                made = self._made(part)
                held.append(made)
                size += made.nbytes
                if size > _HELD_BYTES:
                    yield from chunks_of(held, self.buckets)
                    held, size = [], 0
        yield from chunks_of(held, self.buckets)

    def _made(self, piece: Piece) -> Made:
        prepared = prepare(piece.rows, piece.table, self.plan)
        partitions = dispatched(prepared.parts, piece.table, prepared.rows)
        return Made(piece.table, partitions, piece.keys, prepared.messages())

    def _notes(self, arranger: Arranger) -> Iterator[pa.RecordBatch]:
        for target, rows in arranger.late_rows.items():
            yield note(ChunkKind.LATE, self.buckets.of(target), target, rows=rows)
        for topic, transactions in arranger.split_transactions.items():
            for bucket in self.buckets.of_topic(topic):
                yield note(ChunkKind.TRANSACTIONS, bucket, (topic, 0), transactions)
