"""The cells of an order key: one column of a change, as bytes that compare as its values do.

In: an Arrow column that ``arrange.keys`` has made sortable. Out: a cell for each row, which ends itself and begins with
a :class:`Mark`; :func:`value_of` reads the value back for an error. :mod:`~ticdc_emit.arrange.order_key` says which
columns a key has.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import struct
from decimal import Context, Decimal
from enum import IntEnum
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import as_text, element_lengths, is_binary_like, null_mask, text_buffers
from ticdc_emit.columnar.decimals import decimal_type
from ticdc_emit.schema.model import Column

__all__ = ["Bytes", "Nulls", "big_endian", "cells_of", "number_cells", "value_of"]

Bytes: TypeAlias = npt.NDArray[np.uint8]
Nulls: TypeAlias = "npt.NDArray[np.bool_] | None"
_EXACT = Context(prec=80)
_SIGN = np.uint64(1 << 63)
_END, _ZERO = b"\x00\x00", b"\x00\xff"  # a text's end, and a zero byte inside it: in this order


class Mark(IntEnum):
    """The first byte of a cell: what its bytes are. A NULL is this byte alone, or zero bytes in the cell's width."""

    NULL = 0
    SIGNED = 1
    UNSIGNED = 2
    DECIMAL = 3
    FLOAT = 4
    DAYS = 5
    TIMESTAMP = 6
    DURATION = 7
    TEXT = 8


def cells_of(values: pa.Array, nulls: Nulls, limit: int | None) -> Bytes | pa.Array:
    """Return a column as bytes that compare as its values do: a matrix of one width, or texts that end themselves."""
    kind = values.type
    if pa.types.is_null(kind):
        return np.zeros((len(values), 1), np.uint8)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or is_binary_like(kind):
        return _texts(as_text(values).cast(pa.binary()), nulls, limit)
    if pa.types.is_decimal(kind):
        return _decimals(values, nulls)
    if pa.types.is_floating(kind):
        return _floats(values, nulls)
    if pa.types.is_date32(kind):
        return number_cells(values.cast(pa.int32()), Mark.DAYS)
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):
        return number_cells(_micros(values, pa.timestamp("us")), Mark.TIMESTAMP)
    if pa.types.is_time(kind):
        return number_cells(_micros(values, pa.time64("us")), Mark.DURATION)
    if pa.types.is_duration(kind):
        return number_cells(_micros(values, pa.duration("us")), Mark.DURATION)
    return number_cells(values.cast(pa.uint8()) if pa.types.is_boolean(kind) else values)


def _micros(values: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        kind = pa.timestamp("us", values.type.tz)
    return values.cast(kind, safe=False).cast(pa.int64())


def number_cells(values: pa.Array, mark: Mark = Mark.SIGNED) -> Bytes:
    """Return nine bytes for each integer: its mark, and the number with its sign turned round."""
    unsigned = pa.types.is_unsigned_integer(values.type)
    nulls = null_mask(values)
    filled = values if nulls is None else values.fill_null(0)
    numbers = np.asarray(filled.cast(pa.uint64() if unsigned else pa.int64())).view(np.uint64)
    return _marked(Mark.UNSIGNED if unsigned else mark, big_endian(numbers if unsigned else numbers ^ _SIGN), nulls)


def _floats(values: pa.Array, nulls: Nulls) -> Bytes:
    filled = values if nulls is None else values.fill_null(0)
    bits = (np.asarray(filled.cast(pa.float64())) + 0.0).view(np.uint64)  # -0 is 0
    # IEEE 754: the bits of positive numbers ascend, those of negative ones descend
    return _marked(Mark.FLOAT, big_endian(np.where(bits & _SIGN, ~bits, bits | _SIGN)), nulls)


def _decimals(values: pa.Array, nulls: Nulls) -> Bytes:
    """Return the unscaled number of each DECIMAL, its sign turned round: all of a column have one scale."""
    width = values.type.bit_width // 8
    data = np.frombuffer(values.buffers()[1], np.uint8, len(values) * width, values.offset * width)
    digits = data.reshape(len(values), width)[:, ::-1].copy()
    digits[:, 0] ^= 0x80
    return _marked(Mark.DECIMAL, digits, nulls)


def _marked(mark: Mark, digits: Bytes, nulls: Nulls) -> Bytes:
    """Put the mark before each value; a NULL is zero bytes only."""
    cells = np.empty((len(digits), digits.shape[1] + 1), np.uint8)
    cells[:, 0], cells[:, 1:] = mark, digits
    if nulls is not None:
        cells[nulls] = 0
    return cells


def _texts(values: pa.Array, nulls: Nulls, limit: int | None) -> pa.Array:
    if limit is not None and int(element_lengths(values).max(initial=0)) > limit:
        values = pa.array([_shortened(text, limit) for text in values.to_pylist()], pa.binary())
    if (text_buffers(values).data == 0).any():
        values = pc.replace_substring(values, b"\x00", _ZERO)
    mark, end, nothing = (pa.scalar(text, pa.binary()) for text in (bytes([Mark.TEXT]), _END, b""))
    cells = pc.binary_join_element_wise(mark, values, end, nothing)
    return cells if nulls is None else cells.fill_null(pa.scalar(b"\x00", pa.binary()))


def _shortened(text: bytes | None, limit: int) -> bytes | None:
    """Return a text by which long ones still differ; how they compare then means nothing, but never changes."""
    if text is None or len(text) <= limit:
        return text
    return text[:limit] + hashlib.sha256(text).digest()


def big_endian(numbers: npt.NDArray[np.uint64]) -> Bytes:
    return numbers.astype(">u8").view(np.uint8).reshape(len(numbers), 8)


def value_of(cells: bytes, column: Column) -> tuple[Any, bytes]:
    """Return the value of a column whose cell comes first, and the cells after it."""
    mark, rest = Mark(cells[0]), cells[1:]
    if mark is Mark.TEXT:
        text, rest = _text_end(rest)
        return (text if column.is_binary else _readable(text)), rest
    # of all cells only a DECIMAL has another width than eight bytes
    width = 8 if mark is not Mark.DECIMAL else decimal_type(column).bit_width // 8
    return _value(mark, rest[:width], column), rest[width:]


def _readable(text: bytes) -> str | bytes:
    """Return text as ``str``; latin1 columns may hold any bytes."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return text


def _text_end(cells: bytes) -> tuple[bytes, bytes]:
    """Cut the text that cells begin with."""
    end = cells.index(_END[:1])
    while cells[end : end + 2] != _END:
        end = cells.index(_END[:1], end + 2)
    return cells[:end].replace(_ZERO, b"\x00"), cells[end + 2 :]


def _value(mark: Mark, digits: bytes, column: Column) -> Any:
    number = int.from_bytes(digits, "big")
    signed = number - (1 << (8 * len(digits) - 1))
    if mark is Mark.UNSIGNED:
        return number
    if mark is Mark.DECIMAL:
        return Decimal(signed).scaleb(-max(column.decimal, 0), _EXACT)
    if mark is Mark.FLOAT:
        bits = number ^ (1 << 63) if signed >= 0 else ~number & ((1 << 64) - 1)
        return struct.unpack(">d", bits.to_bytes(8, "big"))[0]
    if mark is Mark.DAYS:
        return dt.date(1970, 1, 1) + dt.timedelta(signed)
    if mark is Mark.TIMESTAMP:
        return dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=signed)
    return dt.timedelta(microseconds=signed) if mark is Mark.DURATION else signed
