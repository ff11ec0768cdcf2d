"""DECIMAL columns: acceptance at the column's precision and scale, and the text of the nearest doubles."""

from __future__ import annotations

import re
from decimal import Context, Decimal, InvalidOperation

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import as_text, null_mask, text_buffers
from ticdc_emit.columnar.floats import PRECISIONS, floats_to_decimal_text, number_text
from ticdc_emit.columnar.value_errors import read_each, refuse_any
from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.evaluation.values import decimal_text

_EXACT = Context(prec=120)
_NUMBER_TEXT = re.compile(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*", re.ASCII)
_ARROW_DIGITS = 38
_QUOTE = "'"
_FIXED_SCALE = 6  # up to this scale no decimal but zero is below 1e-6


def decimal_type(column: Column) -> pa.DataType:
    precision = column.flen if column.flen > 0 else 10
    scale = column.fraction_digits
    return pa.decimal128(precision, scale) if precision <= 38 else pa.decimal256(precision, scale)


def accept_decimal(column: Column, array: pa.Array) -> pa.Array:
    """Return the values at the column's precision and scale; ``ValueRefused`` where digits would be lost."""
    kind = decimal_type(column)
    values = array if array.type == kind else _converted(array, kind)
    if column.unsigned:
        negative = pc.less(values, pa.scalar(Decimal(0), kind)).fill_null(False)
        refuse_any(np.asarray(negative), lambda index: f"{values[index].as_py()} is negative")
    _refuse_overflow(values, kind)
    return values


def _converted(array: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_floating(array.type):
        array = floats_to_decimal_text(array)
    if pa.types.is_null(array.type):
        return pa.nulls(len(array), kind)
    if pa.types.is_integer(array.type):
        array = array.cast(pa.decimal128(20, 0))
    if pa.types.is_decimal(array.type):
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            return _by_row(array.to_pylist(), kind)
    text = as_text(array)
    if pa.types.is_binary(text.type):
        raise TypeError("binary is not a number")
    # Arrow silently misreads some exponents, and numbers that overflow while being scaled
    longest = int(text_buffers(text).lengths.max(initial=0))
    if longest + kind.scale <= _ARROW_DIGITS and not pc.any(pc.match_substring_regex(text, "[eE]")).as_py():
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            pass
    return _by_row(text.to_pylist(), kind)


def _by_row(items: list[Decimal | str | None], kind: pa.DataType) -> pa.Array:
    step, limit = Decimal(1).scaleb(-kind.scale), Decimal(10) ** (kind.precision - kind.scale)

    def read(item: Decimal | str) -> Decimal:
        if isinstance(item, str) and not _NUMBER_TEXT.fullmatch(item):
            raise ValueError(f"{shown(item)} is not a decimal number")
        try:
            value = Decimal(item)
            exact = value.quantize(step, context=_EXACT)
        except InvalidOperation:  # more digits than any column has, or an exponent that no decimal has
            value = exact = limit
        if exact != value or exact.copy_abs() >= limit:
            raise ValueError(f"{shown(str(item)).strip(_QUOTE)} does not fit")
        return exact if exact else exact.copy_abs()

    return pa.array(read_each(items, read), kind)


def _refuse_overflow(values: pa.Array, kind: pa.DataType) -> None:
    """Refuse values with more digits than their type allows: a buffer can hold them, but TiDB cannot store them."""
    if kind.precision > 18 or len(values) == values.null_count:
        return
    words = np.frombuffer(values.buffers()[1], np.int64, len(values) * 2, values.offset * 16)
    low, high = words[0::2], words[1::2]
    bad = (high != low >> 63) | (np.abs(low) >= 10**kind.precision)
    refuse_any(bad, "the value has more digits", nulls=null_mask(values))


def decimal_as_double(values: pa.Array) -> pa.Array:
    """Return the nearest doubles as json-iterator writes them: TiCDC's Debezium makes a double of a DECIMAL."""
    text = decimal_text(values)
    # as few digits as a double keeps are its shortest form
    if values.type.precision > PRECISIONS[8].digits or values.type.scale > _FIXED_SCALE:
        return number_text(text.cast(pa.float64()))
    if values.type.scale == 0:
        return text
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
