"""Character, binary, JSON and VECTOR columns: acceptance.

Character columns take strings (or UTF-8 bytes) and are checked for UTF-8 element by element; binary columns take
bytes, or base64 as their canonical text. TiDB does not check latin1 text, so a latin1 column takes any bytes.
Lengths are checked against the column: characters for CHAR and VARCHAR, bytes otherwise.
"""

from __future__ import annotations

import base64
import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import as_text, compact, from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.escape import first_invalid_utf8
from ticdc_emit.columnar.faults import ValueFault, read_each, refuse_any, shown
from ticdc_emit.columnar.floats import fixed_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import LATIN1_CHARSET, MySQLType

__all__ = ["accept_binary", "accept_text", "accept_vector"]

_COUNTED_IN_CHARACTERS = {MySQLType.VARCHAR, MySQLType.VAR_STRING, MySQLType.STRING}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VECTOR = re.compile(rf"\s*\[\s*(?:{_NUMBER}\s*(?:,\s*{_NUMBER}\s*)*)?\]\s*", re.ASCII)


def accept_text(column: Column, array: pa.Array) -> pa.Array:
    """Return a ``string`` array of valid UTF-8 (of any bytes for latin1) within the column's length."""
    text = compact(as_text(array))
    parts = text_buffers(text)
    bad = first_invalid_utf8(parts.offsets, parts.data)
    if bad is not None and column.charset != LATIN1_CHARSET:
        raise ValueFault(bad, "the text is not valid UTF-8", "Repair the text, or make the column binary")
    if pa.types.is_binary(text.type):
        text = from_bytes(parts.offsets, parts.data, like=text)
    if column.flen >= 0 and len(text) and int(parts.lengths.max(initial=0)) > column.flen:
        if column.type in _COUNTED_IN_CHARACTERS:
            _refuse_longer(_characters(text, are_valid=bad is None), column.flen, "characters")
        else:
            _refuse_longer(parts.lengths, column.flen, "bytes")
    return text


def _refuse_longer(lengths: npt.NDArray[np.int32], limit: int, unit: str) -> None:
    longer = lengths > limit
    if longer.any():
        index = int(longer.argmax())
        raise ValueFault(index, f"the value has {lengths[index]} {unit}, more than {limit}", bad=longer)


def _characters(text: pa.Array, *, are_valid: bool) -> npt.NDArray[np.int32]:
    """Return the lengths in characters; a byte that is not UTF-8 counts as one."""
    if are_valid:
        return np.asarray(pc.utf8_length(text).fill_null(0))
    elements = text.view(pa.binary()).to_pylist()
    return np.array([len((element or b"").decode(errors="surrogateescape")) for element in elements], np.int32)


def accept_binary(column: Column, array: pa.Array) -> pa.Array:
    """Return a ``binary`` array; text is read as base64, and BINARY(n) is padded with zero bytes as TiDB stores it."""
    data = as_text(array)
    if pa.types.is_string(data.type):
        data = _from_base64(data)
    data = compact(data)
    lengths = text_buffers(data).lengths
    if column.flen < 0 or len(data) == 0:
        return data
    _refuse_longer(lengths, column.flen, "bytes")
    if column.type == MySQLType.STRING and int(lengths.min(initial=column.flen)) < column.flen:
        data = _padded(data, column.flen)
    return data


def _from_base64(text: pa.Array) -> pa.Array:
    def read(item: str) -> bytes:
        try:
            return base64.b64decode(item, validate=True)
        except ValueError:
            raise ValueError("the text is not base64") from None

    return pa.array(read_each(text.to_pylist(), read, "Give the column as binary data instead"), pa.binary())


def _padded(data: pa.Array, width: int) -> pa.Array:
    parts = text_buffers(data)
    cells = np.zeros((len(data), width), np.uint8)
    cells[np.arange(width) < parts.lengths[:, None]] = parts.data
    nulls = null_mask(data)
    lengths = np.full(len(data), width, np.int32)
    if nulls is not None:
        lengths[nulls] = 0
        cells = cells[~nulls]
    offsets = np.zeros(len(data) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return from_bytes(offsets, cells.ravel(), like=data, binary=True)


def accept_vector(column: Column, array: pa.Array) -> pa.Array:
    """Return the text ``[1,2.5,-3]`` of VECTOR values, given as lists of floats or text; dimensions are checked."""
    kind = array.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        if not (pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type)):
            raise TypeError(f"a list of {kind.value_type} is not a VECTOR")
        lists = array.cast(pa.list_(pa.float32()), safe=False)
    else:
        lists = _parsed_vectors(as_text(array))
    items = lists.flatten()
    numbers = np.asarray(items.fill_null(np.float32("nan")))
    sizes = pc.list_value_length(lists).fill_null(0)
    if not np.isfinite(numbers).all():
        owners = np.searchsorted(np.cumsum(np.asarray(sizes)), np.flatnonzero(~np.isfinite(numbers)), side="right")
        refuse_any(np.isin(np.arange(len(lists)), owners), "a number of the vector is not a finite float32")
    if column.flen > 0:
        wrong = np.asarray(sizes) != column.flen
        if not column.nullable:  # stored by an INSERT without the column, if the SQL mode permits
            wrong &= np.asarray(sizes) != 0
        nulls = null_mask(lists)
        if nulls is not None:
            wrong &= ~nulls
        if wrong.any():
            index = int(wrong.argmax())
            dimensions = np.asarray(sizes)[index]
            raise ValueFault(index, f"the vector has {dimensions} dimensions, not {column.flen}", bad=wrong)
    offsets = np.zeros(len(lists) + 1, np.int32)
    np.cumsum(np.asarray(sizes), out=offsets[1:])
    texts = pa.ListArray.from_arrays(pa.array(offsets), fixed_text(items))
    body = pc.binary_join(texts, ",")
    joined = pc.binary_join_element_wise("[", body, "]", "")
    return pc.if_else(pc.is_valid(lists), joined, pa.scalar(None, pa.string()))


def _parsed_vectors(text: pa.Array) -> pa.Array:
    if pa.types.is_binary(text.type):
        raise TypeError("binary is not a vector")

    def read(item: str) -> list[float]:
        if not _VECTOR.fullmatch(item):
            raise ValueError(f"{shown(item)} is not a vector such as [1,2.5]")
        return [float(number) for number in item.strip(" []").split(",") if number.strip()]

    return pa.array(read_each(text.to_pylist(), read), pa.list_(pa.float64())).cast(pa.list_(pa.float32()), safe=False)
