"""DECIMAL as TiDB prints it: plain notation, exactly the digits of its scale, no negative zero.

In: an Arrow decimal array, a column or the value of an expression. Out: its text, which all protocols show but those
that make it a double (``columnar/decimals.py``) or binary. Rule source: semantics 2.0.3.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

_PLAIN_SCALE = 6  # Arrow prints decimals near zero with an exponent from the next scale on
_AS_TEXT = pc.CastOptions.safe(pa.string())


def decimal_text(values: pa.Array) -> pa.Array:
    """Return TiDB's text of a decimal array; nulls stay null."""
    text, scale = pc.call_function("cast", [values], _AS_TEXT), values.type.scale
    if scale <= _PLAIN_SCALE:
        return text
    scientific = pc.match_substring(text, "E")
    if not pc.any(scientific).as_py():
        return text
    plain = [f"{value:.{scale}f}" for value in values.filter(scientific).to_pylist() if value is not None]
    return pc.replace_with_mask(text, scientific.fill_null(False), pa.array(plain, pa.string()))
