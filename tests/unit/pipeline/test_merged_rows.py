"""Rows with control messages among them: the same messages for every writer, whatever the rows' parts are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.base import DeliveryReport, PartitionBatch, PartitionCount
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.deliver.deliver_task import batches_of, write_rows
from ticdc_emit.pipeline.deliver.merge import MergedRows
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY, SortedRun

TARGET = ("t", 0)
STAMPS = st.integers(1, 9)


def part(stamps: list[int], ended: bool) -> pa.RecordBatch:
    rows = sorted(stamps)
    columns = {
        ORDER_KEY: pa.array([stamp.to_bytes(8, "big") + bytes(4) for stamp in rows], pa.binary()),
        "key": pa.array([b"k" * (stamp % 3) for stamp in rows], pa.binary()),
        "value": pa.array([None if stamp == 9 else b"%d" % stamp for stamp in rows], pa.binary()),
    }
    if ended:
        ends = [b"-" * (stamp % 2) for stamp in rows]
        columns["end"] = pa.array(ends, pa.binary()).dictionary_encode()
    return pa.record_batch(columns)


@given(
    parts=st.lists(st.lists(STAMPS, min_size=1, max_size=9), min_size=1, max_size=5),
    ended=st.booleans(),
    data=st.data(),
)
def test_a_run_has_the_messages_of_a_batch(parts: list[list[int]], ended: bool, data: st.DataObject) -> None:
    window = MergedRows.merged([SortedRun.of(part(stamps, ended)) for stamps in parts])
    stamps = sorted(stamp for stamps in parts for stamp in stamps)
    whole = [
        (b"k" * (stamp % 3), None if stamp == 9 else b"%d" % stamp + b"-" * (stamp % 2 * ended)) for stamp in stamps
    ]
    found = []
    for rows in window.slices(data.draw(st.sampled_from([20, 200]))):
        expected, whole = whole[: rows.num_rows], whole[rows.num_rows :]
        places = sorted(data.draw(st.lists(st.integers(0, rows.num_rows), max_size=3)))
        due = [ControlMessage(None if place % 2 else b"c", b"%d" % place, 5) for place in places]
        rows.due, rows.places = due, np.array(places, np.int64)
        for message, place in reversed(list(zip(due, places, strict=True))):
            expected.insert(place, (message.key, message.value))
        run, batch = rows.partition_batch(TARGET), rows.batch(TARGET, None)
        assert list(zip(run.keys, run.values, strict=True)) == expected
        assert list(zip(*(batch.column(name).to_pylist() for name in ("key", "value")), strict=True)) == expected
        assert run.sizes.tolist() == [len(key or b"") + len(value or b"") for key, value in expected]
        found += rows.stamps.tolist()
    assert (found, whole) == (stamps, [])


class Other:
    """A writer that takes record batches only."""

    def __init__(self) -> None:
        self.rows: list[tuple[bytes, bytes]] = []

    def write(self, batch: pa.RecordBatch) -> None:
        self.rows += zip(batch.column("key").to_pylist(), batch.column("value").to_pylist(), strict=True)

    def flush(self) -> DeliveryReport:
        return DeliveryReport()

    def close(self) -> None:
        pass

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *raised: object) -> None:
        pass


def test_any_writer_gets_the_messages() -> None:
    sink, other = MemorySink("placed"), Other()
    sink.prepare({"t": 1})
    rows = MergedRows.merged([SortedRun.of(part([3, 1, 2], False))])
    with sink.open() as writer:
        write_rows(TARGET, [rows], None, writer)
        write_rows(TARGET, [rows], None, other)
        assert writer.flush().per_partition == {TARGET: PartitionCount(6 // 2, 3 + 3)}
    assert other.rows == [(message.key, message.value) for message in messages("placed")]
    assert [batch.num_rows for batch in batches_of(TARGET, [rows], None)] == [3]
    clear("placed")


def test_a_run_with_a_message_that_is_too_large_is_refused_whole() -> None:
    sink = MemorySink("refused", max_message_bytes=5)
    sink.prepare({"t": 1})
    writer = sink.open()
    with pytest.raises(MessageTooLargeError, match="has 6 bytes"):
        writer.write_partition(PartitionBatch("t", 0, [b"", b"k"], [b"ok", b"large"], np.array([2, 6])))
    writer.close()
    assert messages("refused") == []
    clear("refused")
