"""Messages of small groups of rows of any tables, put together at once.

In: groups of rows whose columns are made together (``columnar.pool``). Out: their keys and values. What encoders show
of columns is laid out for each group, what is around it for all groups at once: it is constant of a table, or a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import cast

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.reader import Part
from ticdc_emit.changes.model import Changes, Op
from ticdc_emit.changes.peers import Peers
from ticdc_emit.changes.row_encoder import Encoded, FramedRows, RowEncoder
from ticdc_emit.columnar.cells import Piece, join_pieces
from ticdc_emit.columnar.faults import ValueFault
from ticdc_emit.errors import TicdcEmitError

__all__ = ["Frames"]

_BINARY = pa.binary()


class Frames:
    """The messages of some parts, made when the first is asked for."""

    def __init__(self, parts: Sequence[Part]) -> None:
        encoders = {type(part.encoder): part.encoder for part in parts}
        self._types = {each for each, encoder in encoders.items() if isinstance(encoder, FramedRows)}
        kinds: dict[tuple[type, Op], list[Part]] = {}
        for part in filter(self.suit, parts):
            kinds.setdefault((type(part.encoder), part.changes.op), []).append(part)
        self._waiting = {id(part): own for own in kinds.values() if len(own) > 1 for part in own}
        self._framed: dict[int, Encoded] = {}

    def suit(self, part: Part) -> bool:
        """Return whether the messages of a part are framed rows."""
        return type(part.encoder) in self._types

    def encoded(self, part: Part) -> Encoded | None:
        """Return a part's messages; ``None`` if it has to be encoded alone, as where one of its kind is refused."""
        own = self._waiting.get(id(part))
        if own is not None:
            for each in own:
                del self._waiting[id(each)]
            with suppress(TicdcEmitError, ValueFault, pa.ArrowException):
                self._framed.update(_all_framed(own))
        return self._framed.pop(id(part), None)


def _all_framed(parts: Sequence[Part]) -> dict[int, Encoded]:
    """Return the messages of parts of one kind."""
    encoders = [cast("FramedRows", part.encoder) for part in parts]
    shown = [encoder.shown(part.changes) for encoder, part in zip(encoders, parts, strict=True)]
    counts = [len(part.changes) for part in parts]
    keys, values = (_together(each, counts) for each in zip(*shown, strict=True))
    first = parts[0].changes
    stamps = pa.concat_arrays([part.changes.commit_ts for part in parts])
    whole = Changes(first.table, first.op, stamps, first.build_ts, peers=_peers(parts))
    framed = encoders[0].framed(whole, [keys], [values])
    ends = np.cumsum(counts).tolist()
    return {id(part): framed.slice(end - count, count) for part, end, count in zip(parts, ends, counts, strict=True)}


def _together(shown: Sequence[Sequence[Piece]], counts: Sequence[int]) -> pa.Array:
    arrays = [piece for pieces in shown for piece in pieces if isinstance(piece, pa.Array) and piece.type == _BINARY]
    if len(arrays) == len(shown) == sum(map(len, shown)):  # each group has one, as where its rows are laid out already
        whole = pa.concat_arrays(arrays)
        if whole.null_count == 0:
            return whole
    return pa.concat_arrays([join_pieces(pieces, count) for pieces, count in zip(shown, counts, strict=True)])


def _peers(parts: Sequence[Part]) -> Peers:
    encoders: list[RowEncoder] = []
    codes = []
    for part in parts:
        peers, first = part.changes.peers, np.int32(len(encoders))
        codes.append(np.full(len(part.changes), first) if peers is None else peers.codes + first)
        encoders += (part.encoder,) if peers is None else peers.encoders
    return Peers(tuple(encoders), np.concatenate(codes))
