"""ENUM and SET columns. In: labels or numbers. Out: ordinals (ENUM, from 1) or bit masks (SET).

A protocol prints either the number (Canal-JSON, Simple JSON) or the labels (Avro, Debezium). Distinct values are few,
so the work is done per distinct value and gathered.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, as_text
from ticdc_emit.columnar.faults import ValueFault, shown
from ticdc_emit.columnar.integers import parse_integers
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["accept_labels", "label_number", "label_text", "labels_of"]


def accept_labels(column: Column, array: pa.Array) -> pa.Array:
    """Return ordinals (ENUM) or bit masks (SET): ``uint64``, or a dictionary of it.

    Raises :class:`ValueFault` for an unknown label or number.
    """
    kind = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind):
        numbers = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
        return _checked_numbers(column, parse_integers(numbers, unsigned=True))
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or kind == pa.string_view()):
        raise TypeError(f"{kind} cannot hold a label")
    read = _number_reader(column)
    if len(array) <= FEW:
        with suppress(LookupError):  # which is told with the row
            few = [None if text is None else read(text) for text in array.to_pylist()]
            return pa.array(few, pa.uint64())
    return _by_distinct(array if pa.types.is_dictionary(array.type) else as_text(array), read)


def label_number(column: Column, text: str) -> int:
    """Return the ordinal or bit mask of one label text; ``LookupError`` for an unknown label."""
    return _number_reader(column)(text)


def label_text(column: Column, numbers: pa.Array) -> pa.Array:
    """Return the labels of ordinals or bit masks: ENUM 0 is the empty string, a SET joins its labels with commas."""
    if len(numbers) <= FEW:
        return pa.array(labels_of(column, numbers), pa.string())
    encoded = numbers if pa.types.is_dictionary(numbers.type) else numbers.dictionary_encode()
    return pa.array(labels_of(column, encoded.dictionary), pa.string()).take(encoded.indices)


def labels_of(column: Column, numbers: pa.Array) -> list[str | None]:
    """Return the labels of a few numbers, such as those of a dictionary."""

    def print_one(number: int) -> str:
        if column.type == MySQLType.ENUM:
            return column.elems[number - 1] if number else ""
        return ",".join(label for place, label in enumerate(column.elems) if number >> place & 1)

    return [None if number is None else print_one(number) for number in numbers.to_pylist()]


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
        bad = np.isin(codes, list(unknown))
        if bad.any():  # a dictionary may have values that no row uses
            index = int(bad.argmax())
            remedy = "Give one of the column's labels, or its number"
            raise ValueFault(index, unknown[int(codes[index])], remedy, bad)
    return pa.DictionaryArray.from_arrays(encoded.indices, pa.array(numbers, pa.uint64()))


def _number_reader(column: Column) -> Callable[[str], int]:
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
        bad = np.asarray(pc.greater(numbers, pa.scalar(limit, pa.uint64())).fill_null(False).to_numpy(False))
        index = int(bad.argmax())
        raise ValueFault(index, f"{numbers[index]} is beyond the column's {len(column.elems)} labels", bad=bad)
    return numbers
