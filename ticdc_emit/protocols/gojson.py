"""JSON text as Go's ``encoding/json`` prints it, value by value (semantics 2.0.1, 2.0.2)."""

from __future__ import annotations

import numpy as np

from ticdc_emit.columnar.escape import GO_STD, quoted

__all__ = ["float_text", "json_text"]

_EXPONENT_BELOW, _EXPONENT_FROM = 1e-6, 1e21


def json_text(text: str) -> str:
    """Return ``text`` as a JSON string with quotes."""
    return quoted(text, GO_STD).decode()


def float_text(value: float) -> str:
    """Return the shortest digits of a float64, with an exponent for the very small and the very large only."""
    if value and not _EXPONENT_BELOW <= abs(value) < _EXPONENT_FROM:
        return repr(value).replace("e-0", "e-")
    return str(np.format_float_positional(value, unique=True, trim="-"))
