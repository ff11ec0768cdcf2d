"""Packing of cells, constants and arrays into messages."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.columnar.packed_fields import PackedField, join_pieces

WORDS = np.array([0x0807060504030201, 0x1817161514131211], "<u8")


@pytest.mark.parametrize("length", range(9))
def test_cells_of_one_length_show_their_first_bytes(length: int) -> None:
    shown = [word.tobytes()[:length] for word in WORDS]
    assert join_pieces([PackedField(WORDS, length), b"|"], 2).to_pylist() == [row + b"|" for row in shown]


def test_lengths_by_row() -> None:
    cells = [PackedField(WORDS, np.array([3, 0], np.uint8)), PackedField(WORDS.astype("<u2"), 1), b"--"]
    assert join_pieces(cells, 2).to_pylist() == [b"\x01\x02\x03\x01--", b"\x11--"]


def test_raw_bytes_are_shown_whole_or_not_at_all() -> None:
    raw = PackedField(np.frombuffer(b"abcdef", "V3"), np.array([3, 0], np.uint8))
    assert join_pieces([b"<", raw, b">"], 2).to_pylist() == [b"<abc>", b"<>"]


@pytest.mark.parametrize("kind", ["<u8", "V8", "<u4", "<u2", "u1"])
def test_a_row_ends_where_the_next_begins(kind: str) -> None:
    raw = np.frombuffer(WORDS.tobytes(), kind)
    lengths = np.arange(len(raw), dtype=np.uint8)[::-1] % (raw.dtype.itemsize + 1)
    shown = [bytes(each.tobytes()[:length]) for each, length in zip(raw, lengths, strict=True)]
    assert join_pieces([PackedField(raw, lengths)], len(raw)).to_pylist() == shown
    assert join_pieces([b"abc", PackedField(raw, lengths)], len(raw)).to_pylist() == [b"abc" + row for row in shown]


def test_one_element_serves_all_rows() -> None:
    assert join_pieces([PackedField(np.frombuffer(b"ab", "V2"), 2), PackedField(WORDS, 1)], 2).to_pylist() == [
        b"ab\x01",
        b"ab\x11",
    ]


def test_arrays_stand_between_cells_and_their_nulls_are_empty() -> None:
    text = pa.array(["long text", None])
    assert join_pieces([PackedField(WORDS, 1), text, b"!"], 2).to_pylist() == [b"\x01long text!", b"\x11!"]
    assert join_pieces([text], 2).to_pylist() == [b"long text", b""]


def test_nothing_to_show() -> None:
    assert join_pieces([b"a", b"b"], 2).to_pylist() == [b"ab", b"ab"]
    assert join_pieces([], 2).to_pylist() == [b"", b""]
    assert join_pieces([PackedField(WORDS, 0)], 2).to_pylist() == [b"", b""]
    for pieces in ([b"a"], [PackedField(WORDS[:0], 4), b"a"], [PackedField(WORDS[:0], np.zeros(0, np.uint8))]):
        assert join_pieces(pieces, 0).to_pylist() == []


def test_the_result_is_binary() -> None:
    for pieces in (
        [pa.array(["a", "b"])],
        [PackedField(WORDS, 2)],
        [b"x"],
        [PackedField(WORDS, 1), pa.array(["a", "b"])],
    ):
        assert join_pieces(pieces, 2).type == pa.binary()
