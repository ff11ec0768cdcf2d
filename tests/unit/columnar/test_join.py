"""Fragments are joined row by row, whether all rows have one length or not."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.columnar.assemble import NULL, Fragment, join

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
