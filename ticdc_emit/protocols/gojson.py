"""JSON text as Go's ``encoding/json`` prints it, value by value (semantics 2.0.1, 2.0.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ticdc_emit.columnar.escape import GO_STD, quoted

__all__ = ["Json", "any_text", "float_text", "json_text"]

Json: TypeAlias = "Mapping[str, Json] | Sequence[Json] | str | int | None"

_EXPONENT_BELOW, _EXPONENT_FROM = 1e-6, 1e21


def json_text(text: str) -> str:
    """Return ``text`` as a JSON string with quotes."""
    return quoted(text, GO_STD).decode()


def float_text(value: float) -> str:
    """Return the shortest digits of a float64, with an exponent only for very small and very large values."""
    if value and not _EXPONENT_BELOW <= abs(value) < _EXPONENT_FROM:
        return repr(value).replace("e-0", "e-")
    return str(np.format_float_positional(value, unique=True, trim="-"))


def any_text(value: Json) -> str:
    """Return a value as ``json.Marshal`` prints it: the members of an object in the order of their names."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return json_text(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{json_text(name)}:{any_text(value[name])}" for name in sorted(value)) + "}"
    return "[" + ",".join(map(any_text, value)) + "]"
