"""Numbers as json-iterator writes them (semantics 2.0.2): the JSON library of Debezium messages.

In: floats and decimals. Out: text in fixed notation, with an exponent of two digits below 1e-6 and from 1e21 on. Go's
``encoding/json`` writes the same, but with one digit if that is enough. A DECIMAL becomes a double first, so it loses
precision, as in TiCDC.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import fixed_values, null_mask
from ticdc_emit.columnar.decimals import decimal_text
from ticdc_emit.columnar.floats import fixed_text

__all__ = ["decimal_as_double", "number_text"]

_EXPONENT_BELOW, _EXPONENT_FROM = 1e-6, 1e21
_EXACT_DIGITS = 15  # this many digits survive a double, so they are the shortest form
_FIXED_SCALE = 6  # up to this scale no decimal but zero is below 1e-6


def number_text(values: pa.Array, *, exponent_digits: int = 2) -> pa.Array:
    """Return the text of ``float32``/``float64`` values; nulls stay null. ``exponent_digits``: at least so many."""
    text = fixed_text(values)
    kind = np.float32 if pa.types.is_float32(values.type) else np.float64
    numbers = fixed_values(values, kind)
    size = np.abs(numbers)
    odd = ((size < kind(_EXPONENT_BELOW)) & (size > 0)) | (size >= kind(_EXPONENT_FROM))
    nulls = null_mask(values)
    if nulls is not None:
        odd &= ~nulls
    if not odd.any():
        return text
    digits = exponent_digits
    shown = [np.format_float_scientific(number, unique=True, trim="-", exp_digits=digits) for number in numbers[odd]]
    return pc.replace_with_mask(text, pa.array(odd), pa.array(shown, pa.string()))


def decimal_as_double(values: pa.Array) -> pa.Array:
    """Return the text of the doubles nearest to decimals; nulls stay null."""
    text = decimal_text(values)
    if values.type.precision > _EXACT_DIGITS or values.type.scale > _FIXED_SCALE:
        return number_text(text.cast(pa.float64()))
    if values.type.scale == 0:
        return text
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
