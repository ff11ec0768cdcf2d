"""Every renderer of Avro's binary form against a plain one that encodes value by value."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from column_samples import column
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.columnar.avro import (
    Union,
    bit_flag_pieces,
    bit_pieces,
    choice_pieces,
    decimal_pieces,
    float_pieces,
    label_pieces,
    little_endian_pieces,
    long_pieces,
    refuse_enum_zero,
    text_pieces,
    zigzag_bytes,
)
from ticdc_emit.columnar.packed_fields import Piece, join_pieces
from ticdc_emit.columnar.value_errors import ValueRefused

UNIONS = st.sampled_from([None, Union.null_at(0), Union.null_at(1)])
INT64 = st.one_of(st.integers(-70, 70), st.integers(-20_000, 20_000), st.integers(-(1 << 63), (1 << 63) - 1))
UINT64 = st.one_of(st.integers(0, 300), st.integers(0, (1 << 64) - 1))


def varint(number: int) -> bytes:
    folded = number * 2 if number >= 0 else -number * 2 - 1
    groups = [folded & 0x7F]
    while folded := folded >> 7:
        groups.append(folded & 0x7F)
    return bytes(group | 0x80 for group in groups[:-1]) + bytes(groups[-1:])


def counted(raw: bytes) -> bytes:
    return varint(len(raw)) + raw


def plain(values: list[Any], union: Union | None, encode: Callable[[Any], bytes]) -> list[bytes]:
    value_branch = b"" if union is None else varint(union.value // 2)
    null_branch = b"" if union is None else varint(union.null // 2)
    return [null_branch if value is None else value_branch + encode(value) for value in values]


def columns(values: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[list[Any], Union | None]]:
    """Columns of any length, with nulls where there is a union; some of values of one size."""
    return UNIONS.flatmap(
        lambda union: st.tuples(
            st.lists(values if union is None else st.one_of(st.none(), values), max_size=20), st.just(union)
        )
    )


def rendered(pieces: list[Piece], count: int) -> list[bytes]:
    """Join the pieces alone, and between constants: both must show the same bytes."""
    alone: list[bytes] = join_pieces(pieces, count).to_pylist()
    framed = join_pieces([b"<", *pieces, b"", *pieces, b">"], count).to_pylist()
    assert framed == [b"<" + row * 2 + b">" for row in alone]
    return alone


def sliced(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Return the array as a slice of a longer one with other values on both sides."""
    edge = [value for value in values if value is not None][:1]
    return pa.array([*edge, None, *values, *edge], kind).slice(len(edge) + 1, len(values))


@given(columns(INT64))
def test_longs(case: tuple[list[Any], Union | None]) -> None:
    values, union = case
    assert rendered(long_pieces(sliced(values, pa.int64()), union), len(values)) == plain(values, union, varint)


@pytest.mark.parametrize("size", range(1, 11))
def test_longs_of_every_size(size: int) -> None:
    least = 0 if size == 1 else 1 << 7 * (size - 1)
    folded = [least, min((1 << 7 * size) - 1, (1 << 64) - 1)]
    values = [number >> 1 if number % 2 == 0 else -(number >> 1) - 1 for number in folded]
    assert rendered(long_pieces(pa.array(values, pa.int64())), 2) == [varint(value) for value in values]
    assert {len(varint(value)) for value in values} == {size}


def test_unsigned_longs_wrap() -> None:
    values = pa.array([0, (1 << 63) - 1, 1 << 63, (1 << 64) - 1], pa.uint64())
    assert rendered(long_pieces(values), 4) == [varint(n) for n in (0, (1 << 63) - 1, -(1 << 63), -1)]


@given(columns(st.floats(allow_nan=False, width=32)))
def test_floats_and_doubles(case: tuple[list[Any], Union | None]) -> None:
    values, union = case
    for kind, form in ((pa.float32(), "<f"), (pa.float64(), "<d")):
        got = rendered(float_pieces(sliced(values, kind), union), len(values))
        assert got == plain(values, union, lambda value, form=form: struct.pack(form, value))


@given(columns(st.one_of(st.binary(max_size=5), st.binary(max_size=200), st.just(b"one width"))))
def test_bytes_and_strings(case: tuple[list[Any], Union | None]) -> None:
    values, union = case
    assert rendered(text_pieces(sliced(values, pa.binary()), union), len(values)) == plain(values, union, counted)


@pytest.mark.parametrize("width", [0, 1, 8, 23, 32, 33, 63, 64, 9000])
@pytest.mark.parametrize("nulls", [False, True])
def test_texts_of_one_width(width: int, nulls: bool) -> None:
    values = [bytes([65 + place]) * width for place in range(5)] + [None] * nulls
    union = Union.null_at(1)
    assert rendered(text_pieces(pa.array(values, pa.binary()), union), len(values)) == plain(values, union, counted)


def test_bytes_under_a_null_are_not_shown() -> None:
    offsets = pa.py_buffer(np.array([0, 2, 4, 6], np.int32))
    text = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), offsets, pa.py_buffer(b"abXXcd")])
    assert rendered(text_pieces(text, Union.null_at(0)), 3) == [b"\x02\x04ab", b"\x00", b"\x02\x04cd"]


def twos_complement(number: int) -> bytes:
    size = 1
    while not -(1 << 8 * size - 1) <= number < 1 << 8 * size - 1:
        size += 1
    return counted(number.to_bytes(size, "big", signed=True))


@pytest.mark.parametrize(("precision", "scale"), [(5, 0), (10, 2), (18, 18), (19, 4), (38, 30), (65, 30)])
@given(data=st.data())
def test_decimals(precision: int, scale: int, data: st.DataObject) -> None:
    numbers = st.integers(0, precision).flatmap(lambda digits: st.integers(-(10**digits) + 1, 10**digits - 1))
    values, union = data.draw(columns(numbers))
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    array = sliced([None if n is None else Decimal(f"{n}e-{scale}") for n in values], kind)
    assert rendered(decimal_pieces(array, union), len(values)) == plain(values, union, twos_complement)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("1.20", "78"), ("-1.28", "80"), ("0.00", "00"), ("1.27", "7f"), ("1.28", "0080"), ("-327.68", "8000")],
)
@pytest.mark.parametrize("precision", [10, 30])
def test_decimals_are_as_short_as_can_be(text: str, shown: str, precision: int) -> None:
    array = pa.array([Decimal(text)], pa.decimal128(precision, 2))
    assert rendered(decimal_pieces(array), 1) == [counted(bytes.fromhex(shown))]


@given(columns(UINT64))
def test_bits(case: tuple[list[Any], Union | None]) -> None:
    values, union = case
    array = sliced(values, pa.uint64())

    def minimal(number: int) -> bytes:
        return counted(number.to_bytes(max(1, -(-number.bit_length() // 8)), "big"))

    assert rendered(bit_pieces(array, union), len(values)) == plain(values, union, minimal)
    fixed = rendered(bit_pieces(array, union, width=8), len(values))
    assert fixed == plain(values, union, lambda number: counted(number.to_bytes(8, "big")))


@pytest.mark.parametrize("longest", [0, 3, 6, 20, 62, 300])
@pytest.mark.parametrize("union", [None, Union.null_at(0)])
def test_choices(longest: int, union: Union | None) -> None:
    texts = [b"x" * (longest * place // 3) for place in range(4)]
    codes = np.array([3, 0, 1, 2, 3, 3], np.int32)
    valid = None if union is None else np.array([True, True, False, True, False, True])
    values = [None if valid is not None and not valid[row] else texts[code] for row, code in enumerate(codes)]
    given = pa.array(codes, mask=None if valid is None else ~valid)
    got = rendered(choice_pieces(given, list(map(counted, texts)), union), len(codes))
    assert got == plain(values, union, counted)


ENUM, SET = (column(f"{kind}('a','中','c')") for kind in ("enum", "set"))


def test_labels() -> None:
    plain_numbers = pa.array([1, None, 2, 3], pa.uint64())
    shown = [b"\x02\x02a", b"\x00", b"\x02\x06\xe4\xb8\xad", b"\x02\x02c"]
    for numbers in (plain_numbers, plain_numbers.dictionary_encode()):
        assert rendered(label_pieces(ENUM, numbers, Union.null_at(0)), 4) == shown
    sets = label_pieces(SET, pa.array([0, 5, 7], pa.uint64()))
    assert rendered(sets, 3) == [b"\x00", counted(b"a,c"), counted("a,中,c".encode())]


def test_an_enum_of_zero_has_no_label() -> None:
    used = pa.array([1, None, 0], pa.uint64())
    for numbers in (used, used.dictionary_encode()):
        with pytest.raises(ValueRefused, match="the ENUM's number is 0") as caught:
            refuse_enum_zero(ENUM, numbers)
        assert caught.value.index == 2
        assert rendered(label_pieces(ENUM, numbers, Union.null_at(0)), 3) == [b"\x02\x02a", b"\x00", b"\x02\x00"]
    unused = pa.DictionaryArray.from_arrays(pa.array([1, 1], pa.int32()), pa.array([0, 2], pa.uint64()))
    refuse_enum_zero(ENUM, unused)
    assert rendered(label_pieces(ENUM, unused), 2) == [counted("中".encode())] * 2


def test_bits_of_connect() -> None:
    numbers, flags = pa.array([0x0102, None, 0], pa.uint64()), pa.array([1, None, 0], pa.uint64())
    union = Union.null_at(0)
    assert rendered(little_endian_pieces(numbers, 2, union), 3) == [b"\2\4\2\1", b"\0", b"\2\4\0\0"]
    assert rendered(bit_flag_pieces(flags, union), 3) == [b"\2\1", b"\0", b"\2\0"]


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_a_single_varint(number: int) -> None:
    assert zigzag_bytes(number) == varint(number)
