"""What Simple Avro adds to the pieces: unions with a prefix, numbers of labels, entries that two images share."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.columnar.avro import Union, number_pieces, text_pieces, zigzag_bytes
from ticdc_emit.columnar.packed_fields import PackedField, join_pieces, share_pieces

LOCATED = Union(value=12, null=0, first=b"\x06UTC")


@pytest.mark.parametrize("texts", [["a", "bcd", ""], ["ab", "cd", "ef"], ["x" * 40] * 3])
@pytest.mark.parametrize("nulls", [(), (1,), (0, 1, 2)])
def test_a_prefix_stands_before_every_value_but_null(texts: list[str], nulls: tuple[int, ...]) -> None:
    values = [None if place in nulls else text for place, text in enumerate(texts)]
    expected = [
        b"\x00" if text is None else b"\x0c\x06UTC" + zigzag_bytes(len(text)) + text.encode() for text in values
    ]
    array = pa.array(values, pa.string())
    assert join_pieces(text_pieces(array, LOCATED), 3).to_pylist() == expected
    assert join_pieces(text_pieces(array, Union(12, 0, b"\x7e" + b"z" * 63)), 3)[2].as_py() == (
        b"\x00" if values[2] is None else b"\x0c\x7e" + b"z" * 63 + expected[2][5:]
    )


NUMBERS = [0, None, 1, 64, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, 0]


@pytest.mark.parametrize("encoded", [False, True])
def test_numbers_of_labels_wrap_into_int64(encoded: bool) -> None:
    plain = pa.array(NUMBERS, pa.uint64())
    array = plain.dictionary_encode() if encoded else plain
    expected = [
        b"\0" if number is None else b"\x02" + zigzag_bytes(number - (number >> 63 << 64)) for number in NUMBERS
    ]
    assert join_pieces(number_pieces(array, Union(2, 0)), len(NUMBERS)).to_pylist() == expected
    assert join_pieces(number_pieces(array.slice(1, 3), Union(2, 0)), 3).to_pylist() == expected[1:4]


def test_nothing_but_null_labels() -> None:
    nothing = pa.array([None, None], pa.uint64()).dictionary_encode()
    assert join_pieces(number_pieces(nothing, Union(2, 0)), 2).to_pylist() == [b"\0", b"\0"]


def test_entries_that_both_have_are_joined_once() -> None:
    def entry(value: int) -> list[bytes | PackedField]:
        return [b"n", PackedField(np.array([value, value + 1], np.uint8), 1)]

    first, second, third, constant = entry(10), entry(20), entry(30), [b"c"]
    one, other = share_pieces(
        [constant, entry(1), first, second, entry(2), third], [constant, entry(3), first, second, entry(4), third], 2
    )
    assert join_pieces(one, 2).to_pylist() == [b"cn\x01n\x0an\x14n\x02n\x1e", b"cn\x02n\x0bn\x15n\x03n\x1f"]
    assert join_pieces(other, 2).to_pylist() == [b"cn\x03n\x0an\x14n\x04n\x1e", b"cn\x04n\x0bn\x15n\x05n\x1f"]
    arrays = [[piece for piece in side if isinstance(piece, pa.Array)] for side in (one, other)]
    assert len(arrays[0]) == 2
    assert all(left is right for left, right in zip(*arrays, strict=True))
