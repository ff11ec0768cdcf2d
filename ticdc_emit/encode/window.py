"""Messages of one topic-partition in total order, which stay where they were read until somebody takes them.

In: rows of chunks, each chunk in order, and the order of all of them. Out: the messages as Python objects or as Arrow
arrays. Objects are made where the messages are and only references to them change places; arrays are copied in pieces
that a processor's cache holds. So rows of many chunks cost little more than those of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.merged import Places, SortedRows, merged_order
from ticdc_emit.changes.row_encoder import with_ends
from ticdc_emit.columnar.buffers import element_lengths
from ticdc_emit.delivery.batches import Run
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA
from ticdc_emit.routing.topic import Target

__all__ = ["Cells", "Window"]


class Cells(NamedTuple):
    """Keys or values as Python objects. ``lengths``: their bytes, -1 for ``None``."""

    objects: list[bytes | None]
    lengths: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Window:
    """Rows in total order: those of ``parts``, one part after the other, taken in ``order`` (``None``: as they are).

    The rows of one part keep their order. Columns are those of a chunk, or some of them. ``stamps``: the commit_ts of
    each row, in order.
    """

    parts: Sequence[pa.RecordBatch]
    stamps: npt.NDArray[np.uint64]
    order: Places | None = None

    @classmethod
    def merged(cls, parts: Sequence[SortedRows]) -> Window:
        """Return the rows of all parts in order."""
        order = merged_order(parts)
        stamps = parts[0].stamps if len(parts) == 1 else np.concatenate([part.stamps for part in parts])
        return cls([part.rows for part in parts], stamps if order is None else stamps[order], order)

    @classmethod
    def joined(cls, windows: Sequence[Window]) -> Window:
        """Return windows that follow each other as one."""
        if len(windows) == 1:
            return windows[0]
        parts = [part for window in windows for part in window.parts]
        stamps = np.concatenate([window.stamps for window in windows])
        if all(window.order is None for window in windows):
            return cls(parts, stamps)
        starts = np.cumsum([0, *(window.num_rows for window in windows)]).tolist()
        orders = [window._places() + start for window, start in zip(windows, starts, strict=False)]
        return cls(parts, stamps, np.concatenate(orders))

    @property
    def num_rows(self) -> int:
        return len(self.stamps)

    @cached_property
    def nbytes(self) -> int:
        """The bytes of the columns as they are."""
        return sum(part.nbytes for part in self.parts)

    def pieces(self, size: int) -> Iterator[Window]:
        """Yield the rows in windows of about ``size`` bytes, ends of values among them."""
        end = max(_longest_end(part) for part in self.parts)
        rows = max(1, self.num_rows * size // (self.nbytes + self.num_rows * end + 1))
        if rows >= self.num_rows:
            yield self
            return
        counts = [part.num_rows for part in self.parts]
        numbers = np.repeat(np.arange(len(counts)), counts)  # the part of each row, by its place
        taken, first, order = np.zeros(len(counts), np.int64), np.cumsum([0, *counts[:-1]]), self._places()
        for start in range(0, self.num_rows, rows):
            places = order[start : start + rows]
            number = numbers[places]
            wanted = np.bincount(number, minlength=len(counts))
            # rows of a part keep their order: these are the next ones of it, and lie in it side by side
            parts = [
                self.parts[part].slice(int(taken[part]), int(wanted[part])) for part in np.flatnonzero(wanted).tolist()
            ]
            moved = np.cumsum(wanted) - wanted - first - taken
            taken += wanted
            own = None if len(parts) == 1 else places + moved[number]
            yield Window(parts, self.stamps[start : start + rows], own)

    def column(self, name: str) -> pa.Array:
        """Return a column in order: a copy, unless one part is all."""
        columns = [part.column(name) for part in self.parts]
        column = columns[0] if len(columns) == 1 else pa.concat_arrays(columns)
        return column if self.order is None else column.take(pa.array(self.order))

    def batch(self, target: Target) -> pa.RecordBatch:
        """Return the messages in ``MESSAGE_SCHEMA``."""
        topic, partition = target
        value = self.column("value")
        columns = [
            pa.repeat(pa.scalar(topic, pa.string()), self.num_rows),
            pa.repeat(pa.scalar(partition, pa.int32()), self.num_rows),
            self.column("key"),
            with_ends(value, self.column("end")) if self._ended else value,
            pa.array(self.stamps.view(np.int64)),
        ]
        return pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)

    def run(self, target: Target) -> Run:
        """Return the messages as a writer takes them."""
        keys, values = self.keys, self.values
        sizes = np.maximum(keys.lengths, 0) + np.maximum(values.lengths, 0)
        return Run(*target, keys.objects, values.objects, sizes)

    @cached_property
    def keys(self) -> Cells:
        return self._cells([part.column("key") for part in self.parts])

    @cached_property
    def values(self) -> Cells:
        if not self._ended:
            return self._cells([part.column("value") for part in self.parts])
        return self._cells([with_ends(part.column("value"), part.column("end")) for part in self.parts])

    def _cells(self, columns: list[pa.Array]) -> Cells:
        column = pa.chunked_array(columns)
        objects: npt.NDArray[Any] = column.to_numpy()
        lengths = pc.fill_null(pc.binary_length(column), -1).to_numpy().astype(np.int64)
        if self.order is not None:
            objects, lengths = objects[self.order], lengths[self.order]
        return Cells(objects.tolist(), lengths)

    def _places(self) -> Places:
        return np.arange(self.num_rows) if self.order is None else self.order

    @property
    def _ended(self) -> bool:
        return "end" in self.parts[0].schema.names


def _longest_end(part: pa.RecordBatch) -> int:
    """Return the bytes of the longest end of values that is kept apart."""
    if "end" not in part.schema.names:
        return 0
    return int(element_lengths(part.column("end").dictionary).max(initial=0))
