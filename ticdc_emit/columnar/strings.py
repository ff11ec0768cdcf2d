"""Character and binary columns, ENUM, SET and VECTOR: acceptance, and the labels of numbers.

UTF-8 is checked element by element, but not in latin1 columns, as in TiDB. Lengths are in characters for CHAR and
VARCHAR, in bytes otherwise. Base64 is the canonical text of binary columns.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, as_text, compact, from_bytes, null_mask, text_buffers
from ticdc_emit.columnar.escape import first_invalid_utf8
from ticdc_emit.columnar.floats import fixed_text
from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.columnar.value_errors import ValueRefused, read_each, refuse_any
from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import CHAR_TYPES, LATIN1_CHARSET, MySQLType, label_of

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_VECTOR = re.compile(rf"\s*\[\s*(?:{_NUMBER}\s*(?:,\s*{_NUMBER}\s*)*)?\]\s*", re.ASCII)


def accept_text(column: Column, array: pa.Array) -> pa.Array:
    """Return a ``string`` array of valid UTF-8 (of any bytes for latin1) within the column's length."""
    text = compact(as_text(array))
    parts = text_buffers(text)
    bad = first_invalid_utf8(parts.offsets, parts.data)
    if bad is not None and column.charset != LATIN1_CHARSET:
        raise ValueRefused(bad, "the text is not valid UTF-8", "Repair the text, or make the column binary")
    if pa.types.is_binary(text.type):
        text = from_bytes(parts.offsets, parts.data, like=text)
    if column.flen >= 0 and len(text) and int(parts.lengths.max(initial=0)) > column.flen:
        if column.type in CHAR_TYPES:
            _refuse_longer(_characters(text, are_valid=bad is None), column.flen, "characters")
        else:
            _refuse_longer(parts.lengths, column.flen, "bytes")
    return text


def _refuse_longer(lengths: npt.NDArray[np.int32], limit: int, unit: str) -> None:
    refuse_any(lengths > limit, lambda index: f"the value has {lengths[index]} {unit}, more than {limit}")


def _characters(text: pa.Array, *, are_valid: bool) -> npt.NDArray[np.int32]:
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
        refuse_any(
            wrong, lambda index: f"the vector has {sizes[index]} dimensions, not {column.flen}", nulls=null_mask(lists)
        )
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


def accept_labels(column: Column, array: pa.Array) -> pa.Array:
    """Return ordinals (ENUM) or bit masks (SET): ``uint64``, or a dictionary of it. Raises :class:`ValueRefused`."""
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        numbers = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        return _checked_numbers(column, parse_integers(numbers, unsigned=True))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()):
        raise TypeError(f"{kind} cannot hold a label")
    read = label_reader(column)
    if len(array) <= FEW:
        with suppress(LookupError):  # which is told with the row
            few = [None if text is None else read(text) for text in array.to_pylist()]
            return pa.array(few, pa.uint64())
    return _by_distinct(array if pa.types.is_dictionary(array.type) else as_text(array), read)


def label_text(column: Column, numbers: pa.Array) -> pa.Array:
    """Return the labels of ordinals or bit masks: ENUM 0 is the empty string, a SET joins its labels with commas."""
    if len(numbers) <= FEW:
        return pa.array(labels_of(column, numbers), pa.string())
    encoded = numbers if pa.types.is_dictionary(numbers.type) else numbers.dictionary_encode()
    return pa.array(labels_of(column, encoded.dictionary), pa.string()).take(encoded.indices)


def labels_of(column: Column, numbers: pa.Array) -> list[str | None]:
    """Return the labels of a few numbers, such as those of a dictionary."""
    kind, labels = column.type, column.elems
    return [None if number is None else label_of(kind, labels, number) for number in numbers.to_pylist()]


def _by_distinct(array: pa.Array, read: Callable[[str], int]) -> pa.Array:
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    numbers: list[int | None] = []
    unknown: dict[int, str] = {}
    for place, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            numbers.append(None if text is None else read(text))
        except LookupError as fault:
            numbers.append(None)
            unknown[place] = str(fault.args[0])
    if unknown:
        codes = np.asarray(encoded.indices.cast(pa.int64()).fill_null(-1))
        refuse_any(  # a dictionary may have values that no row uses
            np.isin(codes, list(unknown)),
            lambda index: unknown[int(codes[index])],
            "Give one of the column's labels, or its number",
        )
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(numbers, pa.uint64()))


def label_reader(column: Column) -> Callable[[str], int]:
    """Return what makes the ordinal or bit mask of a label text; it raises ``LookupError`` for an unknown one."""
    return _enum_number(column.elems) if column.type == MySQLType.ENUM else _set_number(column.elems)


@lru_cache(maxsize=1024)
def _enum_number(labels: tuple[str, ...]) -> Callable[[str], int]:
    ordinals = {label: place for place, label in reversed(list(enumerate(labels, 1)))}
    ordinals.setdefault("", 0)  # MySQL's mark of an invalid ENUM value

    def read(text: str) -> int:
        if text not in ordinals:
            raise LookupError(f"{shown(text)} is not a label of the ENUM")
        return ordinals[text]

    return read


@lru_cache(maxsize=1024)
def _set_number(labels: tuple[str, ...]) -> Callable[[str], int]:
    bits = {label: 1 << place for place, label in reversed(list(enumerate(labels)))}

    def read(text: str) -> int:
        if text == "":
            return 0
        number = 0
        for label in text.split(","):
            if label not in bits:
                raise LookupError(f"{shown(label)} is not a label of the SET")
            number |= bits[label]
        return number

    return read


def _checked_numbers(column: Column, numbers: pa.Array) -> pa.Array:
    limit = len(column.elems) if column.type == MySQLType.ENUM else (1 << len(column.elems)) - 1
    greatest = pc.max(numbers).as_py()
    if greatest is not None and greatest > limit:
        bad = np.asarray(pc.greater(numbers, pa.scalar(limit, pa.uint64())).fill_null(False))
        refuse_any(bad, lambda index: f"{numbers[index]} is beyond the column's {len(column.elems)} labels")
    return numbers
