"""Packing: the messages of one topic-partition, where one may hold several rows.

Messages have as many rows as ``max-batch-size`` and ``max-message-bytes`` let into one, never from both sides of a
control message or from two batches; the bounds of what is handed in make no difference. Rule source: ``pingcap/tiflow:
pkg/sink/codec/open/open_protocol_encoder.go`` (AppendRowChangedEvent).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.codec import Packing, Starts, one_row_messages
from ticdc_emit.changes.model import MESSAGE_OVERHEAD, Encoded
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.pipeline.encode.messages import message_batch
from ticdc_emit.pipeline.plan.table_plans import Plan

_Places = npt.NDArray[np.int64]
_NOWHERE = np.zeros(0, np.int64)


class MessagePacker:
    """Joins the rows of one topic-partition. ``max_bytes``: of a message, the record's overhead among them."""

    def __init__(self, packing: Packing, max_bytes: int) -> None:
        self._packing = packing
        self._room = max_bytes - MESSAGE_OVERHEAD - packing.shared
        self._kept: pa.RecordBatch | None = None

    @classmethod
    def of(cls, plan: Plan) -> MessagePacker | None:
        """Return what joins the rows of one topic-partition, ``None`` if each row is a message as it is."""
        packing = plan.large.packing
        return None if packing is None else cls(packing, plan.large.max_packed_bytes)

    def add(self, rows: pa.RecordBatch, breaks: _Places = _NOWHERE) -> tuple[pa.RecordBatch, _Places]:
        """Return the messages that are complete, and the place of each break among them.

        ``breaks``: the places of rows, rising, before which no message continues; the number of rows is one too.
        """
        if self._kept is not None:
            breaks = breaks + self._kept.num_rows
            rows = pa.concat_batches([self._kept, rows])
            self._kept = None
        starts = self._starts(rows.column("key"), rows.column("value"), breaks)
        ended = len(breaks) and breaks[-1] == rows.num_rows
        if not ended and rows.num_rows - starts[-1] < self._packing.max_rows:
            self._kept = rows.slice(int(starts[-1]))
            rows, starts = rows.slice(0, int(starts[-1])), starts[:-1]
        return self._join(rows, starts), np.searchsorted(starts, breaks)

    def rest(self) -> pa.RecordBatch | None:
        """Return the message of the rows that are kept, ``None`` without any: no row follows."""
        kept, self._kept = self._kept, None
        return None if kept is None else self._join(kept, np.zeros(1, np.int64))

    def whole(self, rows: Encoded) -> tuple[Encoded, _Places]:
        """Return the messages of rows that no other follows, and the place of the last row of each."""
        keys, values = rows.filled_keys(), rows.values
        starts = self._starts(keys, values, _NOWHERE)
        keys, values = self._packing.joined(keys, values, starts)
        return Encoded(values, keys), _last_rows(starts, len(rows))

    def _join(self, rows: pa.RecordBatch, starts: Starts) -> pa.RecordBatch:
        topic, partition, keys, values, commit_ts = rows.columns
        count, lasts = len(starts), pa.array(_last_rows(starts, rows.num_rows))
        joined = self._packing.joined(keys, values, starts)
        columns = [topic.slice(0, count), partition.slice(0, count), *joined, commit_ts.take(lasts)]
        return pa.RecordBatch.from_arrays(columns, schema=rows.schema)

    def _starts(self, keys: pa.Array, values: pa.Array, breaks: _Places) -> Starts:
        count, most = len(keys), self._packing.max_rows
        starts = np.arange(0, count, most)
        edges = breaks[(breaks > 0) & (breaks < count)] if most > 1 else _NOWHERE
        if len(edges):
            edges = np.unique(np.append(0, edges))
            since = np.arange(count) - np.repeat(edges, np.diff(np.append(edges, count)))
            starts = np.flatnonzero(since % most == 0)
        if int(np.diff(_bytes_before(keys, values, np.append(starts, count))).max(initial=0)) <= self._room:
            return starts
        return self._starts_by_size(_bytes_before(keys, values, slice(None)), np.append(edges[1:], count))

    def _starts_by_size(self, before: _Places, ends: _Places) -> Starts:
        """Return where messages are full before they have all rows; ``before``: bytes before each row."""
        count, places = len(before) - 1, np.arange(len(before) - 1)
        fitting = np.searchsorted(before, before[:-1] + self._room, side="right") - 1
        of_run = ends[np.searchsorted(ends, places, side="right")]
        after = np.maximum(np.minimum(np.minimum(fitting, places + self._packing.max_rows), of_run), places + 1)
        following, starts, place = after.tolist(), [], 0
        while place < count:  # once for each message
            starts.append(place)
            place = following[place]
        return np.array(starts, np.int64)


def packed_messages(
    encoded: Encoded, topic: str, partition: int | pa.Array, commit_ts: pa.Array, plan: Plan
) -> pa.RecordBatch:
    """Return the messages of a whole batch of one topic, in the order of their last rows."""
    packer = MessagePacker.of(plan)
    if packer is None or len(encoded) <= 1:  # a row alone is a message
        return message_batch(one_row_messages(encoded, plan.large.packing), topic, partition, commit_ts)
    if isinstance(partition, int):
        messages, lasts = packer.whole(encoded)
        return message_batch(messages, topic, partition, commit_ts.take(pa.array(lasts)))
    numbers = np.asarray(partition)
    batches: list[pa.RecordBatch] = []
    ends: list[_Places] = []
    for number in np.unique(numbers):
        places = np.flatnonzero(numbers == number)
        messages, lasts = packer.whole(encoded.take(pa.array(places)))
        ends.append(places[lasts])
        batches.append(message_batch(messages, topic, int(number), commit_ts.take(pa.array(ends[-1]))))
    return pa.concat_batches(batches).take(pa.array(np.argsort(np.concatenate(ends))))


def _bytes_before(keys: pa.Array, values: pa.Array, places: _Places | slice) -> _Places:
    of_keys, of_values = (text_buffers(each).offsets[places].astype(np.int64) for each in (keys, values))
    return of_keys + of_values


def _last_rows(starts: Starts, count: int) -> _Places:
    return np.append(starts, count)[1:] - 1
