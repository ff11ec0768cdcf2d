"""Chunks of one topic-partition are merged in total order, whatever overlaps, and with how much memory."""

from __future__ import annotations

from types import SimpleNamespace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.pipeline.deliver import merge
from ticdc_emit.pipeline.deliver.merge import Merge
from ticdc_emit.pipeline.encode.chunks import Chunk
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY, SortedRuns

Keys = list[list[bytes]]

STAMPS = st.sampled_from([1, 2, 3, 1 << 40, (1 << 64) - 1])


def key(stamp: int, table: int = 0, rest: bytes = b"") -> bytes:
    """An order key: commit_ts, the table's place, and what else there is."""
    return stamp.to_bytes(8, "big") + table.to_bytes(4, "big") + rest


def merged(chunks: Keys, limit: int) -> list[list[bytes]]:
    """The keys of each window, as its parts in its order have them and as a column has."""
    parts = [pa.array(sorted(keys), pa.binary()) for keys in chunks]
    places = {
        place: Chunk(part[0].as_py(), part[-1].as_py(), len(part), True, pa.py_buffer(b"%d" % place), pa.py_buffer(b""))
        for place, part in enumerate(parts)
    }

    def read(chunk: Chunk) -> pa.RecordBatch:
        assert isinstance(chunk.body, pa.Buffer)
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
