"""Chunks cross a shuffle in short rows, and come out of it as they went in."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from ticdc_emit.errors import DeliveryError
from ticdc_emit.pipeline.chunks import CHUNK_SCHEMA
from ticdc_emit.spark.batch import (
    SEGMENT_BYTES,
    SEGMENT_SCHEMA,
    join_chunks,
    split_chunks,
)

SIZES = (0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES, 5 * SEGMENT_BYTES + 7)


def _chunks(bodies: list[bytes | None]) -> pa.RecordBatch:
    rows = [
        {"bucket": n % 3, "kind": 5, "topic": f"t{n}", "partition": n, "rows": n, "first": b"%d" % n, "body": body}
        for n, body in enumerate(bodies)
    ]
    return pa.RecordBatch.from_pylist(rows, CHUNK_SCHEMA)


def _drawn(numbers: random.Random) -> pa.RecordBatch:
    bodies: list[bytes | None] = [numbers.randbytes(size) for size in SIZES]
    return _chunks([*bodies, None])


def _rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return sorted(
        (row for batch in batches for row in batch.to_pylist()), key=lambda row: (row["partition"], row["body"] or b"")
    )


def test_segments_are_short_and_stay_in_their_bucket() -> None:
    chunks = _drawn(random.Random(1))
    [segments] = split_chunks([chunks])
    assert segments.schema == SEGMENT_SCHEMA
    assert max(len(body or b"") for body in segments.column("body").to_pylist()) == SEGMENT_BYTES
    counted = {row["topic"]: (row["bucket"], row["segments"]) for row in segments.to_pylist() if row["topic"]}
    assert counted == {f"t{n}": (n % 3, max(1, -(-size // SEGMENT_BYTES))) for n, size in enumerate((*SIZES, 0))}
    buckets = {row["name"]: row["bucket"] for row in segments.to_pylist() if row["topic"]}
    assert all(buckets[row["name"]] == row["bucket"] for row in segments.to_pylist() if not row["topic"])


@pytest.mark.parametrize("rows_of_a_batch", [1, 2, 1000])
@pytest.mark.parametrize("shuffled", [False, True])
def test_chunks_come_back_whole(rows_of_a_batch: int, shuffled: bool) -> None:
    numbers = random.Random(2)
    given = [_drawn(numbers), _chunks([b"small"])]
    moved = pa.Table.from_batches(split_chunks(given))
    if shuffled:
        moved = moved.take(pa.array(numbers.sample(range(moved.num_rows), moved.num_rows)))
    came = list(join_chunks(moved.combine_chunks().to_batches(max_chunksize=rows_of_a_batch)))
    assert all(batch.schema == CHUNK_SCHEMA for batch in came)
    assert _rows(came) == _rows(given)


def test_a_chunk_keeps_no_bytes_of_the_rows_that_came_with_it() -> None:
    chunks = _chunks([bytes(2 * SEGMENT_BYTES)] * 9)
    keys = pa.array([bytes(SEGMENT_BYTES)] * 9, pa.binary())
    [segments] = split_chunks(
        [chunks.set_column(CHUNK_SCHEMA.get_field_index("order_keys"), CHUNK_SCHEMA.field("order_keys"), keys)]
    )
    assert all(chunk.get_total_buffer_size() < 4 * SEGMENT_BYTES for chunk in join_chunks([segments]))


def test_a_lost_segment_is_an_error() -> None:
    [segments] = split_chunks([_drawn(random.Random(3))])
    kept = segments.filter(pa.array([row["segment"] != 2 for row in segments.to_pylist()]))
    with pytest.raises(DeliveryError, match="segments of 2 chunks are missing"):
        list(join_chunks([kept]))
