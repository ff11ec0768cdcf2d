"""Encode batches of one table, or of siblings, each: check them, then make their messages, in the rows' order.

Two steps, so that a caller can refuse bad values before it sends anything: :func:`prepare` reads and checks (cheap:
every value is accepted, nothing is rendered), :meth:`Prepared.messages` renders and joins. Both are pure functions of
plan and batch. Several batches are prepared together where they are small (:func:`prepare_all`): their columns are
accepted and rendered as one (``columnar.pool``), with the messages and the errors that each has alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.alike import Siblings
from ticdc_emit.arrange.block import BlockRows, FieldNames
from ticdc_emit.arrange.reader import Part, read_parts
from ticdc_emit.changes.attributes import SPLIT
from ticdc_emit.changes.before_image import BeforeImage
from ticdc_emit.changes.integrity import check_given
from ticdc_emit.changes.row_encoder import Encoded
from ticdc_emit.columnar.pool import ColumnPool
from ticdc_emit.encode.frames import Frames
from ticdc_emit.errors import BatchTooLargeError, TicdcEmitError
from ticdc_emit.plan.large import LargeMessages
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.plan.tables import Plan

__all__ = ["POOLED_ROWS", "Prepared", "prepare", "prepare_all"]

POOLED_ROWS = 2_000
"""A group of more rows gains nothing by being made with others."""

_ARROW_LIMIT = (1 << 31) - 1
_NO_FRAMES = Frames([])


@dataclass(frozen=True)
class Prepared:
    """A checked batch; ``rows`` counts its changes."""

    parts: tuple[Part, ...]
    rows: int
    large: LargeMessages
    frames: Frames

    def messages(self) -> Encoded:
        """Return keys and values in the rows' order, and what must be stored before they are sent.

        Raises :class:`MessageTooLargeError`, and :class:`BatchTooLargeError` where one Arrow array cannot hold them.
        """
        encoded = [self.large.encode(part.encoder, part.changes, self.frames.encoded(part)) for part in self.parts]
        if not encoded:
            return Encoded(pa.array([], pa.binary()))
        if len(encoded) == 1 and self.parts[0].rows is None:
            return encoded[0]
        order = np.empty(self.rows, np.int64)
        places = np.concatenate([part.rows for part in self.parts if part.rows is not None])
        order[places] = np.arange(self.rows)
        index = pa.array(order)
        size = sum(int(each.lengths().sum()) for each in encoded)
        if size > _ARROW_LIMIT:
            raise BatchTooLargeError(
                f"the messages of {self.rows} rows take {size} bytes, and an Arrow array holds 2 GiB",
                remedy="Encode fewer rows at a time",
                table=self.parts[0].changes.table.full_name,
            )
        values = pa.concat_arrays([each.values for each in encoded])
        keys = None
        if any(each.keys is not None for each in encoded):
            keys = pa.concat_arrays([each.filled_keys() for each in encoded]).take(index)
        ends = None if encoded[0].ends is None else pa.concat_arrays([each.ends for each in encoded]).take(index)
        in_order = bool((places[1:] > places[:-1]).all())
        claims = tuple(
            (int(part.rows[place]) if part.rows is not None else place, claim)
            for part, each in zip(self.parts, encoded, strict=True)
            for place, claim in each.claims
        )
        return Encoded(values if in_order else values.take(index), keys, claims, ends)


def prepare(rows: BlockRows | pa.RecordBatch, table: TablePlan | Siblings, plan: Plan) -> Prepared:
    """Read one table's batch (see ``arrange.reader``) and check every value and image.

    Raises the :class:`~ticdc_emit.errors.RowError` family; a message that is too large is refused when it is made.
    """
    return next(prepare_all([(rows, table)], plan))


def prepare_all(
    batches: Iterable[tuple[BlockRows | pa.RecordBatch, TablePlan | Siblings]], plan: Plan, sizes: Iterable[int] = ()
) -> Iterator[Prepared]:
    """Yield each batch prepared. What is wrong with one is raised in its turn, when those before it are done with.

    Errors name the table of a row only where a batch is of one. ``sizes``: the bytes of each batch, where known.
    """
    read: list[tuple[Part, ...]] = []
    fault, names = None, FieldNames()
    known = iter(sizes)
    for rows, tables in batches:
        try:
            read.append(_read(rows, tables, plan, names, next(known, None)))
        except TicdcEmitError as error:
            fault = error
            break
    small = [part for parts in read for part in parts if len(part.changes) <= POOLED_ROWS]
    frames = _NO_FRAMES
    if len(small) > 1:
        frames = Frames(small)
        pool = ColumnPool(plan.rendering)
        for part in small:
            part.changes.join(pool, framed=frames.suit(part))
    for parts in read:
        for part in parts:
            _check(part, plan)
        yield Prepared(parts, sum(len(part.changes) for part in parts), plan.large, frames)
    if fault is not None:
        raise fault


def _read(
    rows: BlockRows | pa.RecordBatch, tables: TablePlan | Siblings, plan: Plan, names: FieldNames, nbytes: int | None
) -> tuple[Part, ...]:
    table = tables.eldest if isinstance(tables, Siblings) else tables
    if not isinstance(rows, BlockRows):
        rows = BlockRows.of(rows, f"{table.schema}.{table.name}", names)
    if SPLIT in rows.block.columns and plan.transactions.split_checksums == "kept":
        rows = BlockRows.of(rows.batch.drop_columns([SPLIT]), f"{table.schema}.{table.name}", names)
    parts = read_parts(rows, table, plan.rendering, plan.build_ts, nbytes)
    if not isinstance(tables, Siblings):
        return tuple(parts)
    return tuple(_of_siblings(part, tables) for part in parts)


def _of_siblings(part: Part, tables: Siblings) -> Part:
    peers = tables.peers(slice(None) if part.rows is None else part.rows)
    return replace(part, changes=replace(part.changes, peers=peers))


def _check(part: Part, plan: Plan) -> None:
    changes = part.changes
    changes.current.check()
    if isinstance(changes.before, BeforeImage):
        changes.old.check()
    if plan.integrity.enabled and changes.given_checksum:
        check_given(changes, refuse_corrupted=plan.integrity.corruption_handle_level == "error")
    part.encoder.check(changes)
