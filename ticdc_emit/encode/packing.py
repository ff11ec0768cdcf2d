"""Rows of one topic-partition, joined to messages of several.

In: messages of one row each (``MESSAGE_SCHEMA``), in total order, and where control messages come among them. Out:
messages of several rows: as many as ``max-batch-size`` and ``max-message-bytes`` let into one, never from both sides of
a control message or from two batches. The bounds of what is handed in make no difference: rows that may be joined to
the next ones are kept until these come. Rule source: reference ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_encoder.go`` (AppendRowChangedEvent).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.packing import Packing, Starts
from ticdc_emit.changes.sizes import MESSAGE_OVERHEAD
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.plan.tables import Plan

__all__ = ["Packer", "packed"]

_Places = npt.NDArray[np.int64]
_NOWHERE = np.zeros(0, np.int64)


class Packer:
    """Joins the rows of one topic-partition. ``max_bytes``: of a message, the record's overhead among them."""

    def __init__(self, packing: Packing, max_bytes: int) -> None:
        self._packing = packing
        self._room = max_bytes - MESSAGE_OVERHEAD - packing.shared
        self._kept: pa.RecordBatch | None = None

    def add(self, rows: pa.RecordBatch, breaks: _Places = _NOWHERE) -> tuple[pa.RecordBatch, _Places]:
        """Return the messages that are complete, and the place of each break among them.

        ``breaks``: the places of rows, rising, before which no message continues; the number of rows is one too.
        """
        if self._kept is not None:
            breaks = breaks + self._kept.num_rows
            rows = pa.concat_batches([self._kept, rows])
            self._kept = None
        starts = self.starts(rows, breaks)
        ended = len(breaks) and breaks[-1] == rows.num_rows
        if not ended and rows.num_rows - starts[-1] < self._packing.max_rows:
            self._kept = rows.slice(int(starts[-1]))
            rows, starts = rows.slice(0, int(starts[-1])), starts[:-1]
        return self.joined(rows, starts), np.searchsorted(starts, breaks)

    def rest(self) -> pa.RecordBatch | None:
        """Return the message of the rows that are kept, ``None`` without any: no row follows."""
        kept, self._kept = self._kept, None
        return None if kept is None else self.joined(kept, np.zeros(1, np.int64))

    def starts(self, rows: pa.RecordBatch, breaks: _Places = _NOWHERE) -> Starts:
        """Return the places of the rows that begin messages, if a message begins with the first of them."""
        count, most = rows.num_rows, self._packing.max_rows
        edges = np.unique(np.append(0, breaks[breaks < count]))
        starts = np.arange(0, count, most)
        if len(edges) > 1:
            since = np.arange(count) - np.repeat(edges, np.diff(np.append(edges, count)))
            starts = np.flatnonzero(since % most == 0)
        if int(np.diff(self._before(rows, np.append(starts, count))).max(initial=0)) <= self._room:
            return starts
        return self._starts_by_size(self._before(rows, np.arange(count + 1)), np.append(edges[1:], count))

    def _before(self, rows: pa.RecordBatch, places: _Places) -> _Places:
        """Return the bytes that messages have of the rows before each of these places."""
        before = places * -self._packing.shared
        for name in ("key", "value"):
            before += text_buffers(rows.column(name)).offsets[places]
        return before

    def _starts_by_size(self, before: _Places, ends: _Places) -> Starts:
        """Return the starts where messages are full before they have all rows.

        ``before``: the bytes before each row, and of all; ``ends``: of the runs of rows.
        """
        count, places = len(before) - 1, np.arange(len(before) - 1)
        fitting = np.searchsorted(before, before[:-1] + self._room, side="right") - 1
        of_run = ends[np.searchsorted(ends, places, side="right")]
        after = np.maximum(np.minimum(np.minimum(fitting, places + self._packing.max_rows), of_run), places + 1)
        following, starts, place = after.tolist(), [], 0
        while place < count:  # once for each message
            starts.append(place)
            place = following[place]
        return np.array(starts, np.int64)

    def joined(self, rows: pa.RecordBatch, starts: Starts) -> pa.RecordBatch:
        """Return messages; each has the commit_ts of its last row."""
        if len(starts) == rows.num_rows:
            return rows
        topic, partition, keys, values, commit_ts = rows.columns
        count, lasts = len(starts), np.append(starts[1:], rows.num_rows) - 1
        joined = self._packing.joined(keys, values, starts)
        columns = [topic.slice(0, count), partition.slice(0, count), *joined, commit_ts.take(pa.array(lasts))]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)


def packed(rows: pa.RecordBatch, plan: Plan) -> pa.RecordBatch:
    """Return the messages of a whole batch of one topic, in the order of their last rows."""
    packing = plan.packing
    if packing is None or rows.num_rows <= 1:  # a row alone is a message
        return rows
    packer = Packer(packing, plan.large.max_packed_bytes)
    partitions = np.asarray(rows.column("partition"))
    if (partitions == partitions[0]).all():
        return packer.joined(rows, packer.starts(rows))
    found: list[pa.RecordBatch] = []
    lasts: list[_Places] = []
    for partition in np.unique(partitions):
        places = np.flatnonzero(partitions == partition)
        own = rows.take(pa.array(places))
        starts = packer.starts(own)
        found.append(packer.joined(own, starts))
        lasts.append(places[np.append(starts[1:], len(places)) - 1])
    return pa.concat_batches(found).take(pa.array(np.argsort(np.concatenate(lasts))))
