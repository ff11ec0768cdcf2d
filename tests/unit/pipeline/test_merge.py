"""Chunks of one topic-partition are merged in total order, whatever overlaps, and with how much memory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.base import DeliveryReport, PartitionBatch, PartitionCount
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.errors import MessageTooLargeError
from ticdc_emit.pipeline.deliver import merge
from ticdc_emit.pipeline.deliver.deliver_task import batches_of, write_rows
from ticdc_emit.pipeline.deliver.merge import Merge, MergedRows
from ticdc_emit.pipeline.encode.chunks import Chunk
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY, SortedRows, SortedRuns

Keys = list[list[bytes]]

STAMPS = st.sampled_from([1, 2, 3, 1 << 40, (1 << 64) - 1])


def key(stamp: int, table: int = 0, rest: bytes = b"") -> bytes:
    """An order key: commit_ts, the table's place, and what else there is."""
    return stamp.to_bytes(8, "big") + table.to_bytes(4, "big") + rest


def merged(chunks: Keys, limit: int) -> list[list[bytes]]:
    parts = [pa.array(sorted(keys), pa.binary()) for keys in chunks]
    places = {
        place: Chunk(part[0].as_py(), part[-1].as_py(), len(part), True, pa.py_buffer(b"%d" % place), pa.py_buffer(b""))
        for place, part in enumerate(parts)
    }

    def read(chunk: Chunk) -> pa.RecordBatch:
        return pa.record_batch({ORDER_KEY: parts[int(chunk.body.to_pybytes())]})

    in_order = sorted(places.values(), key=lambda chunk: (chunk.first, chunk.last))
    found = []
    for window in Merge(SimpleNamespace(messages=read), in_order, set(), limit).windows():
        found.append(window.column(ORDER_KEY).to_pylist())
        assert window.stamps.tolist() == [int.from_bytes(key[:8], "big") for key in found[-1]]
        pieces = [piece.column(ORDER_KEY).to_pylist() for piece in window.slices(70)]
        assert flat(pieces) == found[-1]
        assert all(len(piece) <= 4 for piece in pieces)
    return found


def flat(windows: list[list[bytes]]) -> list[bytes]:
    return [key for window in windows for key in window]


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_WINDOW_BYTES", 120)
    monkeypatch.setattr(merge, "_JOINED_ROWS", 0)


@given(
    chunks=st.lists(
        st.lists(st.builds(key, STAMPS, st.integers(0, 2), st.binary(max_size=2)), min_size=1, max_size=9),
        min_size=1,
        max_size=30,
    ),
    limit=st.sampled_from([1, 300, 1200, 1 << 20]),
    window=st.sampled_from([1, 120, 1 << 20]),
)
def test_windows_are_all_keys_in_order(chunks: Keys, limit: int, window: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merge, "_WINDOW_BYTES", window)
        assert flat(merged(chunks, limit)) == sorted(key for keys in chunks for key in keys)


def test_tables_side_by_side_need_no_files_and_are_handed_on_as_they_come(
    small_windows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(runs: SortedRuns, batch: pa.RecordBatch) -> None:
        raise AssertionError("rows that could be handed on were kept")

    monkeypatch.setattr(SortedRuns, "add", refuse)
    tables = 5
    chunks = [
        [key(place * tables + table) for place in range(start, start + 10)]
        for start in range(0, 500, 10)
        for table in range(tables)
    ]
    windows = merged(chunks, limit=4000)
    assert flat(windows) == sorted(key for keys in chunks for key in keys)
    assert len(windows) > 20


def test_a_shuffled_source_goes_to_files(small_windows: None, monkeypatch: pytest.MonkeyPatch) -> None:
    added: list[int] = []
    add = SortedRuns.add
    monkeypatch.setattr(SortedRuns, "add", lambda runs, batch: (added.append(batch.num_rows), add(runs, batch)))
    chunks = [[key(place * 40 + chunk) for place in range(50)] for chunk in range(40)]
    assert flat(merged(chunks, limit=4000)) == sorted(key for keys in chunks for key in keys)
    assert sum(added) > 1500


def test_a_shuffled_source_takes_memory_by_the_limit_not_by_its_size() -> None:
    limit, rows, chunks = 1 << 20, 256, 64  # 256 KiB a chunk, 16 MiB in all
    before, held = pa.total_allocated_bytes(), [0]

    def read(chunk: Chunk) -> pa.RecordBatch:
        held.append(pa.total_allocated_bytes() - before)
        keys = [key(place * chunks + int.from_bytes(chunk.first[:8], "big")) for place in range(rows)]
        return pa.record_batch({ORDER_KEY: pa.array(keys, pa.binary()), "value": pa.array([bytes(1024)] * rows)})

    overlapping = [
        Chunk(key(place), key((rows - 1) * chunks + place), rows, False, pa.py_buffer(b""), None)
        for place in range(chunks)
    ]
    stamps: list[int] = []
    for window in Merge(SimpleNamespace(messages=read), overlapping, set(), limit).windows():
        held.append(pa.total_allocated_bytes() - before)
        stamps += window.stamps.tolist()
    assert stamps == list(range(rows * chunks))
    assert max(held) < 4 * limit


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
    window = MergedRows.merged([SortedRows.of(part(stamps, ended)) for stamps in parts])
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
    rows = MergedRows.merged([SortedRows.of(part([3, 1, 2], False))])
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
