"""Values of whole columns in Avro's binary encoding, each behind the branch of its union.

Numbers are zigzag varints (:func:`varints`): groups of seven bits are spread over the bytes of one word by shifts and
masks, in the smallest word that holds the column's largest number. Rule source: Avro's specification; pingcap/tiflow
``pkg/sink/codec/avro/avro.go`` for the types of MySQL's values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.buffers import fixed_values, from_byte_matrix, from_bytes, null_mask, text_buffers, valid_mask
from ticdc_emit.columnar.packed_fields import WORDS, Lengths, PackedField, Piece, chosen
from ticdc_emit.columnar.strings import labels_of
from ticdc_emit.columnar.value_errors import refuse_any
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

Words: TypeAlias = "npt.NDArray[np.uint64]"
_GROUP = 7
# How to spread groups of seven bits to bytes, by word size: (mask of moved bits, shift, mask of kept bits).
_SPREADS = {
    1: (),
    2: ((0x3F80, 1, 0x7F),),
    4: ((0x0FFFC000, 2, 0x3FFF), (0x3F803F80, 1, 0x007F007F)),
    8: (
        (0x00FFFFFFF0000000, 4, 0x0FFFFFFF),
        (0x0FFFC0000FFFC000, 2, 0x00003FFF00003FFF),
        (0x3F803F803F803F80, 1, 0x007F007F007F007F),
    ),
}
_SMALL = tuple(bytes([2 * number]) for number in range(64))
_WORD_BITS = 56  # the bits that eight bytes hold
_PACKED_TEXT = 32  # bytes; a column whose texts all have one length up to this is cheaper to pack than to join
_WORD_DIGITS = 18  # decimals of this many digits fit the low word
INT64_END = 1 << 63


def zigzag(numbers: npt.NDArray[np.int64], valid: Mask | None = None) -> Words:
    """Return 0, 1, 2, 3 ... for 0, -1, 1, -2 ...; where not ``valid``, that of some other number."""
    folded = (numbers << 1) ^ (numbers >> 63)
    if valid is not None:  # which is as long as most are
        folded = np.where(valid, folded, folded[valid.argmax()])
    return folded.view(np.uint64)


def wrapped(number: int) -> int:
    """Return a number as Go converts it to ``int64``: from 2^63 on it is negative."""
    return number if number < INT64_END else number - 2 * INT64_END


def zigzag_bytes(number: int) -> bytes:
    if 0 <= number < len(_SMALL):
        return _SMALL[number]
    rest = (number << 1) ^ (number >> 63)
    made = bytearray()
    while rest > 0x7F:
        made.append(rest & 0x7F | 0x80)
        rest >>= _GROUP
    made.append(rest)
    return bytes(made)


def byte_counts(numbers: Words, bits: int) -> Lengths:
    """Return how many groups of ``bits`` bits each number needs, at least one; a single count if all need the same."""
    if len(numbers) == 0:
        return 1
    least, most = (max(1, -(-int(bound).bit_length() // bits)) for bound in (numbers.min(), numbers.max()))
    if least == most:
        return least
    counts = np.full(len(numbers), least, np.uint8)
    for groups in range(least, most):
        counts += numbers >= np.uint64(1 << bits * groups)
    return counts


def varints(numbers: Words) -> list[PackedField]:
    """Return the varints of folded numbers (:func:`zigzag`): one cell, or two from 2^56 on."""
    lengths = byte_counts(numbers, _GROUP)
    most = lengths if isinstance(lengths, int) else int(lengths.max())
    if most <= 8:
        size = next(size for size in _SPREADS if size >= most)
        return [PackedField(_spread(numbers, size) | _more(size).take(lengths), lengths)]
    low = _spread(numbers & np.uint64((1 << _WORD_BITS) - 1), 8)
    high = _spread(numbers >> np.uint64(_WORD_BITS), 2)
    counts = np.asarray(lengths, np.uint8)
    first, second = np.minimum(counts, 8), np.maximum(counts, 8) - np.uint8(8)
    if isinstance(lengths, int):
        return [PackedField(low | _more(8)[9], 8), PackedField(high | _more(2)[lengths - 8], lengths - 8)]
    return [PackedField(low | _more(8).take(counts), first), PackedField(high | _more(2).take(second), second)]


def _spread(numbers: Words, size: int) -> npt.NDArray[Any]:
    kind = np.dtype(f"<u{size}")
    words = numbers.astype(kind)
    for moved, shift, kept in _SPREADS[size]:
        words = (words & kind.type(moved)) << kind.type(shift) | words & kind.type(kept)
    return words


@lru_cache(maxsize=8)
def _more(size: int) -> npt.NDArray[Any]:
    masks = [int.from_bytes(b"\x80" * min(length - 1, size), "little") if length else 0 for length in range(11)]
    return np.array(masks, f"<u{size}")


@dataclass(frozen=True)
class Union:
    """The branches of a value, as the bytes of their indexes; ``first``: the beginning of every value but null."""

    value: int
    null: int
    first: bytes = b""

    @classmethod
    def null_at(cls, index: int) -> Union:
        """Return the union of two branches whose ``null`` is at ``index``."""
        return cls(2 * (1 - index), 2 * index)

    @property
    def lead(self) -> bytes:
        return bytes([self.value]) + self.first


def branched(cells: Sequence[PackedField], union: Union | None, valid: Mask | None) -> list[Piece]:
    """Return cells behind their branch; nothing for a null without a union. ``valid``: where not null, or ``None``."""
    if valid is None:
        return [*([] if union is None else [union.lead]), *cells]
    shown = [PackedField(cell.data, np.multiply(cell.length, valid, dtype=np.uint8)) for cell in cells]
    if union is None:
        return [*shown]
    if union.first:
        return [*chosen(valid.view(np.uint8), [bytes([union.null]), union.lead]), *shown]
    return [*prepend_byte(np.where(valid, np.uint8(union.value), np.uint8(union.null)), shown)]


def prepend_byte(byte: npt.NDArray[np.uint8], cells: Sequence[PackedField]) -> list[PackedField]:
    """Return cells with one more byte before them: in the word of the first one if it has room."""
    if not cells or cells[0].data.dtype.kind != "u":
        return [PackedField(byte, 1), *cells]
    first, *others = cells
    most = first.length if isinstance(first.length, int) else int(first.length.max(initial=0))
    size = next((size for size in WORDS if size > most), None)
    if size is None:
        return [PackedField(byte, 1), *cells]
    word = np.dtype(f"<u{size}")
    data = first.data.astype(word)
    data <<= word.type(8)
    data |= byte
    return [PackedField(data, first.length + 1), *others]


def _of_one(content: bytes | None, union: Union | None) -> list[Piece]:
    """Return the only value of a column, which costs less as a constant than as a column."""
    if content is None:
        return [] if union is None else [bytes([union.null])]
    return [content] if union is None else [union.lead + content]


def sized_bytes(content: bytes) -> bytes:
    return zigzag_bytes(len(content)) + content


def long_pieces(values: pa.Array, union: Union | None = None) -> list[Piece]:
    """Return ``int``/``long`` values of integers of 32 or 64 bits; ``uint64`` is read as ``int64``, so it may wrap."""
    if len(values) == 1:
        number = values[0].as_py()
        return _of_one(None if number is None else zigzag_bytes(wrapped(number)), union)
    valid = valid_mask(values)
    held = np.int32 if values.type == pa.int32() else np.int64
    numbers = zigzag(fixed_values(values, held).astype(np.int64, copy=False), valid)
    return branched(varints(numbers), union, valid)


def float_pieces(values: pa.Array, union: Union | None = None) -> list[Piece]:
    size = values.type.bit_width // 8
    valid = valid_mask(values)
    return branched([PackedField(fixed_values(values, f"<u{size}"), size)], union, valid)


def bit_flag_pieces(values: pa.Array, union: Union | None = None) -> list[Piece]:
    valid = valid_mask(values)
    flags = (fixed_values(values, np.uint64) != 0).view(np.uint8)
    return branched([PackedField(flags, 1)], union, valid)


def text_pieces(text: pa.Array, union: Union | None = None) -> list[Piece]:
    """Return ``string``/``bytes`` values of a plain string or binary array: the length and the bytes."""
    if len(text) == 1:
        content = text[0].as_buffer()
        return _of_one(None if content is None else sized_bytes(content.to_pybytes()), union)
    valid = valid_mask(text)
    parts = text_buffers(text)
    lengths, shown, size = parts.lengths, len(text), len(parts.data)
    if valid is not None:
        lengths = lengths * valid
        shown, size = int(valid.sum()), int(lengths.sum())
    longest = int(lengths.max(initial=0))
    if shown and size == longest * shown:
        return _texts_of_one_length(text, longest, shown, union, valid)
    return [*branched(varints(lengths.astype(np.uint64) << np.uint64(1)), union, valid), _empty_for_null(text, size)]


def _empty_for_null(text: pa.Array, size: int) -> pa.Array:
    if not text.null_count:
        return text
    parts = text_buffers(text)
    return text if len(parts.data) > size else from_bytes(parts.offsets, parts.data, binary=True)


def _texts_of_one_length(
    text: pa.Array, width: int, shown: int, union: Union | None, valid: Mask | None
) -> list[Piece]:
    lead = (b"" if union is None else union.lead) + zigzag_bytes(width)
    null = b"" if union is None else bytes([union.null])
    parts = text_buffers(text)
    if not 0 < width <= _PACKED_TEXT or len(parts.data) != width * shown:  # bytes under a null
        return [
            lead if valid is None else chosen(valid.view(np.uint8), [null, lead])[0],
            _empty_for_null(text, width * shown),
        ]
    if valid is None:
        return [lead, PackedField(parts.data.view(f"V{width}"), width)]
    whole = len(lead) + width
    rows = np.frombuffer(bytearray(lead + bytes(width)) * shown, f"V{whole}")
    np.ndarray(shown, f"V{width}", rows, len(lead), whole)[:] = parts.data.view(f"V{width}")
    data = np.full(len(text), np.frombuffer(null.ljust(whole, b"\0"), rows.dtype))
    data[valid] = rows
    return [PackedField(data, np.where(valid, np.uint8(whole), np.uint8(len(null))))]


def choice_pieces(codes: pa.Array, forms: Sequence[bytes], union: Union | None) -> list[Piece]:
    """Return few forms of values: row i is ``forms[codes[i]]``, null where its code is."""
    led = [(b"" if union is None else union.lead) + form for form in forms]
    if codes.null_count == 0:
        return chosen(np.asarray(codes), led or [b""])
    null = b"" if union is None else bytes([union.null])
    return chosen(np.asarray(codes.cast(pa.int32()).fill_null(len(led))), [*led, null])


def label_pieces(column: Column, numbers: pa.Array, union: Union | None = None) -> list[Piece]:
    """Return the labels of ENUM and SET values as ``string``. The ENUM value 0 is the empty string."""
    if len(numbers) == 1:
        (label,) = labels_of(column, numbers)
        return _of_one(None if label is None else sized_bytes(label.encode()), union)
    encoded = numbers if pa.types.is_dictionary(numbers.type) else numbers.dictionary_encode()
    forms = [sized_bytes((text or "").encode()) for text in labels_of(column, encoded.dictionary)]
    return choice_pieces(encoded.indices, forms, union)


def number_pieces(numbers: pa.Array, union: Union | None = None) -> list[Piece]:
    """Return ``long`` values of ``uint64`` or a dictionary of it: ENUM and SET as numbers, which may wrap."""
    if not pa.types.is_dictionary(numbers.type):
        return long_pieces(numbers, union)
    known = numbers.dictionary.fill_null(0).cast(pa.int64(), safe=False)
    return choice_pieces(numbers.indices, [zigzag_bytes(number) for number in known.to_pylist()], union)


def refuse_enum_zero(
    column: Column, numbers: pa.Array, *, reason: str = "the ENUM's number is 0, which has no label"
) -> None:
    """Raise :class:`ValueRefused` for the ENUM value 0, MySQL's mark of an invalid value, which has no label."""
    if column.type is not MySQLType.ENUM:
        return
    known = numbers.dictionary if pa.types.is_dictionary(numbers.type) else numbers
    if pc.min(known).as_py() != 0:
        return
    plain = numbers.dictionary_decode() if pa.types.is_dictionary(numbers.type) else numbers
    zero = np.asarray(pc.equal(plain, 0).fill_null(False).to_numpy(zero_copy_only=False))
    refuse_any(zero, reason, "Give one of the column's labels")


def bit_pieces(values: pa.Array, union: Union | None = None, *, width: int | None = None) -> list[Piece]:
    """Return the ``bytes`` of BIT values: big-endian, by default as few as the value needs (one for 0)."""
    valid = valid_mask(values)
    numbers = fixed_values(values, np.uint64).astype(np.uint64, copy=False)
    if valid is not None:
        numbers = numbers * valid
    size = byte_counts(numbers, 8) if width is None else width
    return _big_endian(numbers, size, union, valid)


def little_endian_pieces(values: pa.Array, width: int, union: Union | None = None) -> list[Piece]:
    """Return BIT values as ``bytes``: ``width`` of them, little-endian."""
    if len(values) == 1:
        number = values[0].as_py()
        return _of_one(None if number is None else sized_bytes(number.to_bytes(8, "little")[:width]), union)
    valid = valid_mask(values)
    numbers = fixed_values(values, np.uint64).astype(np.uint64, copy=False)
    return branched(
        prepend_byte(np.full(len(numbers), 2 * width, np.uint8), [PackedField(numbers, width)]), union, valid
    )


def _big_endian(numbers: npt.NDArray[np.uint64], size: Lengths, union: Union | None, valid: Mask | None) -> list[Piece]:
    shift = np.uint64(64) - np.asarray(size, np.uint64) * np.uint64(8)
    data = (numbers << shift).byteswap()
    if isinstance(size, int) and valid is None:
        return [(b"" if union is None else union.lead) + zigzag_bytes(size), PackedField(data, size)]
    lead = np.multiply(size, 2, dtype=np.uint8) + np.zeros(len(numbers), np.uint8)
    return branched(prepend_byte(lead, [PackedField(data, size)]), union, valid)


def decimal_pieces(values: pa.Array, union: Union | None = None) -> list[Piece]:
    """Return the ``bytes`` of decimals: the unscaled number in two's complement, big-endian, as short as possible."""
    if len(values) == 1:
        return _of_one(None if values.null_count else sized_bytes(_signed_bytes(values)), union)
    valid = valid_mask(values)
    if values.type.precision > _WORD_DIGITS:
        return [*branched([], union, valid), _wide_decimals(values)]
    numbers = np.ascontiguousarray(_words(values)[:, 0])
    if valid is not None:
        numbers *= valid
    size = byte_counts((numbers ^ numbers >> 63).view(np.uint64) << np.uint64(1), 8)
    return _big_endian(numbers.view(np.uint64), size, union, valid)


def _signed_bytes(values: pa.Array) -> bytes:
    number = int.from_bytes(_words(values).tobytes(), "little", signed=True)
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _words(values: pa.Array) -> npt.NDArray[np.int64]:
    width = values.type.bit_width // 64
    data = values.buffers()[1]
    if data is None:
        return np.zeros((len(values), width), np.int64)
    return np.frombuffer(data, np.int64, len(values) * width, values.offset * 8 * width).reshape(-1, width)


def _wide_decimals(values: pa.Array) -> pa.Array:
    words = _words(values)
    width = words.shape[1] * 8
    cells = words.view(np.uint8).reshape(len(values), width)[:, ::-1]
    sign = (words[:, -1] >> 63).astype(np.uint8)
    telling = cells != sign[:, None]
    first = np.where(telling.any(axis=1), telling.argmax(axis=1), width - 1)
    lead = cells[np.arange(len(cells)), first]
    first -= (lead ^ sign) > 0x7F  # the previous byte has the sign
    size = (width - first).astype(np.uint8)
    rows = np.column_stack([size * np.uint8(2), cells])
    keep = np.column_stack([np.ones(len(cells), np.bool_), np.arange(width) >= first[:, None]])
    nulls = null_mask(values)
    if nulls is not None:
        keep[nulls] = False
    return from_byte_matrix(rows, keep, binary=True)
