"""A JSON document as TiDB prints it; ``columnar/json_text.py`` does it for whole columns.

``", "`` and ``": "`` between items, object keys sorted bytewise, the last of equal keys, and doubles in one of two
forms (:data:`Doubles`). Rule source for doubles: pingcap/tidb ``pkg/types/json_binary.go`` (marshalFloat64To).
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Literal, TypeAlias

import numpy as np

from ticdc_emit.errors import shown
from ticdc_emit.sql.json_depth import DEEPEST, check_depth, too_deep

_MOST_DIGITS = 21  # characters of an integer in TiDB's JSON, including the sign

Doubles: TypeAlias = Literal["new", "old"]
"""How TiDB prints a double.

``new``: with at least one fraction digit, and an exponent only from 1e15 and below 1e-15: ``10.0``, ``1e27``. ``old``:
as Go's encoding/json: ``10``, and an exponent, with its sign, from 1e21 and below 1e-6: ``1e+27``.
"""


def normalise(text: str, doubles: Doubles = "new") -> str:
    """Return one JSON document as TiDB prints it; ``ValueError`` if it is not JSON, as NaN and Infinity."""
    try:
        whole = _integer if doubles == "new" else _old_integer
        content = json.loads(text, parse_constant=_refuse, parse_int=whole, parse_float=_double)
    except RecursionError:
        raise too_deep() from None
    if text.count("[") + text.count("{") > DEEPEST:
        check_depth(content, text.encode("utf-8", "surrogatepass"))
    return printed(content, doubles)


class _Digits(str):
    """A double in TiDB's text."""


def content_of(text: str) -> Any:
    """Return the content of a document in TiDB's text, of which :func:`printed` prints each part as it is there."""
    return json.loads(text, parse_float=_Digits)


def printed(value: Any, doubles: Doubles = "new") -> str:
    if isinstance(value, _Digits):
        return value
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, dict):
        items = sorted((key.encode("utf-8", "surrogatepass"), key, item) for key, item in value.items())
        return "{" + ", ".join(f"{_quoted(key)}: {printed(item, doubles)}" for _, key, item in items) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(printed(item, doubles) for item in value) + "]"
    if isinstance(value, float):
        return _double_text(value, doubles)
    return (
        {None: "null", True: "true", False: "false"}[value] if value is None or isinstance(value, bool) else str(value)
    )


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON value")


def _integer(text: str) -> int | float:
    """TiDB keeps an integer in int64, else uint64, else as a double (``types/json_binary.go`` appendBinaryNumber)."""
    if len(text) > _MOST_DIGITS:  # Python does not convert numbers of thousands of digits
        return _double(text)
    value = int(text)
    return value if -(1 << 63) <= value < 1 << 64 else _double(text)


def _old_integer(text: str) -> int | float:
    """In the old form, -0 is the text of a double."""
    return -0.0 if text == "-0" else _integer(text)


def _double(text: str) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{shown(text)} is beyond a double")
    return value


_FIXED = {"new": (1e-15, 1e15, ""), "old": (1e-6, 1e21, "+d")}
"""From which size on, and below which, a double has Go's 'f' form; how the exponent prints in the 'e' form."""


def _double_text(value: float, doubles: Doubles) -> str:
    low, high, form = _FIXED[doubles]
    if value and not low <= abs(value) < high:
        mantissa, _, exponent = np.format_float_scientific(value, unique=True, trim="-").partition("e")
        return f"{mantissa}e{int(exponent):{form}}"
    fixed = str(np.format_float_positional(value, unique=True, trim="-"))
    return fixed if "." in fixed or doubles == "old" else fixed + ".0"


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}
_SPECIAL = re.compile('["\\\\\x00-\x1f\u2028\u2029]')
_SURROGATE = re.compile("[\ud800-\udfff]")


def _quoted(text: str) -> str:
    """Go's encoding/json string without HTML escaping; a lone surrogate becomes U+FFFD, as Go decodes it."""
    clean = _SURROGATE.sub("\ufffd", text)
    return '"' + _SPECIAL.sub(lambda match: _ESCAPES.get(match[0]) or f"\\u{ord(match[0]):04x}", clean) + '"'
