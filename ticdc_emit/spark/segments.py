"""Chunks as short rows, for the way through a shuffle.

Spark hands a task 10,000 rows at once, or fewer where it measures them (``short_rows``); 10,000 chunks may be more than
an Arrow array holds. So a chunk crosses the shuffle in segments of at most :data:`SEGMENT_BYTES`: a row with its first
bytes, and rows with the others alone. They come together again by a name, for a shuffle promises no order.

In and out: batches of ``CHUNK_SCHEMA`` (``pipeline.chunks``), and of :data:`SEGMENT_SCHEMA` between.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ticdc_emit.errors import DeliveryError
from ticdc_emit.pipeline.chunks import CHUNK_SCHEMA

__all__ = ["SEGMENT_BYTES", "SEGMENT_SCHEMA", "in_segments", "rejoined"]

SEGMENT_BYTES = 32 * 1024
SEGMENT_SCHEMA = pa.schema(
    [*CHUNK_SCHEMA, ("name", pa.binary()), ("segment", pa.int32()), ("segments", pa.int32())],
)
"""A chunk's row, the number of its segments, and its name if there are several. Rows with the segments after the first
have a bucket, a body, a name and the segment's number."""

_NAME_BYTES = 12
_BODY = CHUNK_SCHEMA.get_field_index("body")


def in_segments(chunks: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the chunks cut into segments."""
    return map(_cut, chunks)


def rejoined(segments: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the chunks, each when its last segment has come.

    Raises :class:`DeliveryError` if some never come.
    """
    open_chunks: dict[bytes, _Open] = {}
    for batch in segments:
        counts = np.asarray(batch.column("segments").fill_null(0))
        whole = counts == 1
        if whole.any():
            yield _of_chunk(batch if whole.all() else batch.filter(pa.array(whole)))
        for row in np.flatnonzero(~whole).tolist():
            name = batch.column("name")[row].as_py()
            chunk = open_chunks.setdefault(name, _Open())
            if counts[row]:
                # copied, for the rows that came with it are let go once their chunks are whole
                chunk.head, chunk.count = _of_chunk(batch).take(pa.array([row])), int(counts[row])
            chunk.bodies[batch.column("segment")[row].as_py()] = batch.column("body")[row].as_buffer()
            if len(chunk.bodies) == chunk.count:
                yield open_chunks.pop(name).whole()
    if open_chunks:
        raise DeliveryError(
            f"segments of {len(open_chunks)} chunks are missing after the shuffle",
            remedy="Run the batch again: nothing of it was sent. If it happens again, look at Spark's shuffle service",
        )


@dataclass
class _Open:
    """A chunk of which some segments have come: its row without the others' bytes, and all bytes so far by number."""

    head: pa.RecordBatch | None = None
    count: int = 0
    bodies: dict[int, pa.Buffer] = field(default_factory=dict)

    def whole(self) -> pa.RecordBatch:
        assert self.head is not None
        body = b"".join(self.bodies[number] for number in range(self.count))
        offsets = np.array([0, len(body)], np.int32)
        column = pa.BinaryArray.from_buffers(pa.binary(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(body)])
        return self.head.set_column(_BODY, CHUNK_SCHEMA.field(_BODY), column)


def _of_chunk(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.select(CHUNK_SCHEMA.names)


def _cut(batch: pa.RecordBatch) -> pa.RecordBatch:
    rows: list[int] = []
    bodies: list[memoryview | None] = []
    names: list[bytes | None] = []
    numbers: list[int] = []
    counts: list[int | None] = []
    for row, body in enumerate(batch.column("body")):
        parts = _parts(body)
        name = os.urandom(_NAME_BYTES) if len(parts) > 1 else None
        for number, part in enumerate(parts):
            rows.append(row)
            bodies.append(part)
            names.append(name)
            numbers.append(number)
            counts.append(None if number else len(parts))
    first = pa.array([None if number else row for row, number in zip(rows, numbers, strict=True)], pa.int64())
    columns = dict(zip(CHUNK_SCHEMA.names, batch.take(first).columns, strict=True))
    columns["bucket"] = batch.column("bucket").take(pa.array(rows, pa.int64()))
    columns["body"] = pa.array(bodies, pa.binary())
    columns |= {"name": pa.array(names, pa.binary()), "segment": pa.array(numbers, pa.int32())}
    columns["segments"] = pa.array(counts, pa.int32())
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=SEGMENT_SCHEMA)


def _parts(body: pa.Scalar) -> list[memoryview | None]:
    if not body.is_valid:
        return [None]
    content = memoryview(body.as_buffer())
    return [content[start : start + SEGMENT_BYTES] for start in range(0, len(content), SEGMENT_BYTES)] or [content]
