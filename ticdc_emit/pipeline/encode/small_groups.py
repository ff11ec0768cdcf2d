"""What makes groups of few rows fast: their columns, and what stands around them, are made together.

In: the changes of some table versions and kinds, as they were read, before anything of them is checked. Out: their
images and TSOs, which then find their columns made already (``columnar.small_batches``), and the messages of those
whose encoders can put their frames around rows of any tables at once (``changes.codec.FramedRows``). Whatever cannot be
made together is made alone, as it is without all this, so that errors name their rows. Images and layouts know no more
of it than that their rows are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import FramedRows
from ticdc_emit.changes.images import BeforeImage
from ticdc_emit.changes.model import Changes, Encoded, Op, RowEncoder, TableConstants
from ticdc_emit.columnar.epochs import COMMIT_TS
from ticdc_emit.columnar.packed_fields import Piece, join_pieces
from ticdc_emit.columnar.small_batches import ColumnBatcher
from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import TicdcEmitError

FEW_ROWS = 2_000
"""A group of more rows gains nothing by being made with others."""

_BINARY = pa.binary()


class SmallGroups:
    """Those of some groups that have few rows; nothing, where there is but one."""

    def __init__(self, groups: Sequence[Changes], how: Rendering) -> None:
        self._waiting: dict[int, list[Changes]] = {}
        self._framed: dict[int, Encoded] = {}
        small = [changes for changes in groups if len(changes) <= FEW_ROWS]
        if len(small) < 2:
            return
        encoders = {type(changes.encoder): changes.encoder for changes in small}
        framing = {kind for kind, encoder in encoders.items() if isinstance(encoder, FramedRows)}
        by_kind: dict[tuple[type, Op], list[Changes]] = {}
        batcher = ColumnBatcher(how)
        for changes in small:
            is_framed = type(changes.encoder) in framing
            if is_framed:
                by_kind.setdefault((type(changes.encoder), changes.op), []).append(changes)
            _batch_columns(changes, batcher, is_framed=is_framed)
        self._waiting = {id(changes): own for own in by_kind.values() if len(own) > 1 for changes in own}

    def encoded(self, changes: Changes) -> Encoded | None:
        """Return the messages of a group; ``None`` if it has to be encoded alone, as where one of its kind is refused.

        To be asked for once, after the group was checked.
        """
        own = self._waiting.get(id(changes))
        if own is not None:
            for each in own:
                del self._waiting[id(each)]
            with suppress(TicdcEmitError, ValueRefused, pa.ArrowException):
                self._framed.update(_all_framed(own))
        return self._framed.pop(id(changes), None)


def _batch_columns(changes: Changes, batcher: ColumnBatcher, *, is_framed: bool) -> None:
    columns = changes.table.data_columns
    if not is_framed:
        changes.batched = batcher.add([COMMIT_TS], {COMMIT_TS.name: changes.commit_ts})
    if changes.after is not None:
        changes.after.batched = batcher.add(columns, changes.after.arrays)
    if isinstance(changes.before, BeforeImage):
        whole, parts = changes.before.own_values()
        changes.before.batched = batcher.add(columns, whole)
        changes.before.batched_parts = batcher.add(columns, parts)
        return  # the images of updates share what they show
    if changes.before is not None:
        changes.before.batched = batcher.add(columns, changes.before.arrays)
    if is_framed and changes.current.batched is not None:
        changes.current.batched.join_rows(columns)
        changes.current.batched.join_rows(changes.table.shown_handle_key)


def _all_framed(groups: Sequence[Changes]) -> dict[int, Encoded]:
    encoders = [cast("FramedRows", changes.encoder) for changes in groups]
    shown = [encoder.shown(changes) for encoder, changes in zip(encoders, groups, strict=True)]
    counts = [len(changes) for changes in groups]
    keys, values = (_together(each, counts) for each in zip(*shown, strict=True))
    first = groups[0]
    stamps = pa.concat_arrays([changes.commit_ts for changes in groups])
    whole = Changes(first.encoder, first.op, stamps, first.build_ts, tables=_constants(groups))
    framed = encoders[0].framed(whole, [keys], [values])
    ends = np.cumsum(counts).tolist()
    return {id(own): framed.slice(end - count, count) for own, end, count in zip(groups, ends, counts, strict=True)}


def _together(shown: Sequence[Sequence[Piece]], counts: Sequence[int]) -> pa.Array:
    arrays = [piece for pieces in shown for piece in pieces if isinstance(piece, pa.Array) and piece.type == _BINARY]
    if len(arrays) == len(shown) == sum(map(len, shown)):  # each group has one, as where its rows are laid out already
        whole = pa.concat_arrays(arrays)
        if whole.null_count == 0:
            return whole
    return pa.concat_arrays([join_pieces(pieces, count) for pieces, count in zip(shown, counts, strict=True)])


def _constants(groups: Sequence[Changes]) -> TableConstants:
    encoders: list[RowEncoder] = []
    codes = []
    for changes in groups:
        tables, first = changes.tables, np.int32(len(encoders))
        codes.append(np.full(len(changes), first) if tables is None else tables.codes + first)
        encoders += (changes.encoder,) if tables is None else tables.encoders
    return TableConstants(tuple(encoders), np.concatenate(codes))
