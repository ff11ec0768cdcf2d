"""Fragments are joined row by row, whether all rows have one length or not; marks are put around and into texts."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.columnar.assemble import NULL, Fragment, enclosed, join
from ticdc_emit.columnar.buffers import inserted

COUNT = 300  # so many that lengths are looked at


def columns(text: st.SearchStrategy[bytes | None]) -> st.SearchStrategy[pa.Array]:
    """Arrays whose elements begin behind the beginning of a buffer."""
    rows = st.lists(text, min_size=3, max_size=3)
    return rows.map(lambda found: pa.array([b"before", *found * (COUNT // 3)], pa.binary()).slice(1))


ONE_LENGTH = st.integers(0, 3).flatmap(lambda length: columns(st.binary(min_size=length, max_size=length)))
FRAGMENTS = st.one_of(st.binary(max_size=3), ONE_LENGTH, columns(st.none() | st.binary(max_size=3)))


@given(st.lists(st.one_of(st.binary(max_size=3), ONE_LENGTH), max_size=4) | st.lists(FRAGMENTS, max_size=4))
def test_rows_are_what_each_fragment_has_of_them(fragments: list[Fragment]) -> None:
    each = [
        [fragment] * COUNT
        if isinstance(fragment, bytes)
        else [NULL if text is None else text for text in fragment.to_pylist()]
        for fragment in fragments
    ]
    wanted = [b"".join(parts) for parts in zip(*each, strict=True)] if each else [b""] * COUNT
    for count in (COUNT, 3, 1):
        cut = [fragment if isinstance(fragment, bytes) else fragment[:count] for fragment in fragments]
        assert join(cut, count, NULL).to_pylist() == wanted[:count]


@given(
    st.lists(st.none() | st.binary(max_size=3), min_size=1, max_size=6), st.binary(max_size=2), st.binary(max_size=2)
)
def test_texts_are_enclosed(texts: list[bytes | None], opening: bytes, closing: bytes) -> None:
    for times in (1, 600 // len(texts)):
        array = pa.array([b"before", *texts * times], pa.binary()).slice(1)
        shown = [None if text is None else opening + text + closing for text in texts * times]
        assert enclosed(array, (opening, closing)).to_pylist() == shown


@given(st.binary(max_size=9), st.lists(st.integers(0, 9)), st.binary(min_size=1, max_size=2))
def test_bytes_are_inserted(data: bytes, places: list[int], what: bytes) -> None:
    rising = sorted(min(place, len(data)) for place in places)
    bounds = [0, *rising, len(data)]
    shown = what.join(data[start:end] for start, end in pairwise(bounds))
    assert inserted(np.frombuffer(data, np.uint8), np.array(rising, np.int64), what).tobytes() == shown
