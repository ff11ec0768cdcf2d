"""The TSO and the times of rows in binary formats: of the rows of a block, whatever their tables, made once."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.avro import long_pieces, zigzag_bytes
from ticdc_emit.columnar.epochs import commit_times
from ticdc_emit.columnar.packed_fields import Piece
from ticdc_emit.schema.model import Column

__all__ = ["build_time_pieces", "commit_ts_pieces"]


def commit_ts_pieces(changes: Changes) -> Sequence[Piece]:
    """Return the TSO of each change as a ``long``."""
    return changes.commit_pieces("binary commit_ts", _stamps)


def build_time_pieces(changes: Changes) -> Sequence[Piece]:
    """Return the time, in ms, at which the messages are made; by default each change's commit time."""
    if changes.build_ts is not None:
        return [zigzag_bytes(changes.build_ts)]
    return changes.commit_pieces("binary build times", _times)


def _times(column: Column, stamps: pa.Array) -> list[Piece]:
    return long_pieces(commit_times(stamps))


def _stamps(column: Column, stamps: pa.Array) -> list[Piece]:
    return long_pieces(stamps)
