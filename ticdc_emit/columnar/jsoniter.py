"""Numbers as json-iterator writes them (semantics 2.0.2): the JSON library of Debezium messages.

In: floats and decimals. Out: text in fixed notation, with an exponent of two digits below 1e-6 and from 1e21 on. Go's
``encoding/json`` writes the same, but with one digit if that is enough. A DECIMAL becomes a double first, so it loses
precision, as in TiCDC.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.decimals import decimal_text
from ticdc_emit.columnar.floats import positional, shortest_text

__all__ = ["decimal_as_double", "number_text"]

_EXPONENT_BELOW, _EXPONENT_FROM = 1e-6, 1e21
_EXACT_DIGITS = 15  # this many digits survive a double, so they are the shortest form
_FIXED_SCALE = 6  # up to this scale no decimal but zero is below 1e-6


def number_text(values: pa.Array, *, exponent_digits: int = 2) -> pa.Array:
    """Return the text of ``float32``/``float64`` values; nulls stay null. ``exponent_digits``: at least so many."""

    def printed(number: np.floating[Any]) -> str:
        kind = type(number)
        if kind(_EXPONENT_BELOW) <= abs(number) < kind(_EXPONENT_FROM):
            return positional(number)
        return np.format_float_scientific(number, unique=True, trim="-", exp_digits=exponent_digits)

    return shortest_text(values, printed)


def decimal_as_double(values: pa.Array) -> pa.Array:
    """Return the text of the doubles nearest to decimals; nulls stay null."""
    text = decimal_text(values)
    if values.type.precision > _EXACT_DIGITS or values.type.scale > _FIXED_SCALE:
        return number_text(text.cast(pa.float64()))
    if values.type.scale == 0:
        return text
    return pc.ascii_rtrim(pc.ascii_rtrim(text, "0"), ".")
