"""JSON: a value at a path, its text without quotes, and the order of two.

In: canonical JSON texts. Out: the same, or texts and orders. Rule source: pingcap/tidb ``pkg/types/json_*.go``
(CompareBinaryJSON, ExtractBinaryJSON).
"""

from __future__ import annotations

import json
import re
from typing import Any

import pyarrow as pa

from ticdc_emit.columnar.json_text import normalise
from ticdc_emit.filtering.expressions.values import Data, EvaluationError, Kind, NotExactError, Value, mapped, to_text
from ticdc_emit.schema.inference.operands import Coercibility

__all__ = ["compare_json", "extract", "is_object", "to_json", "unquote"]

_LEG = re.compile(r'\s*(?:\.\s*(?:([A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*"))|\[\s*(\d+)\s*\])')
_NULL, _NUMBER, _STRING, _OBJECT, _ARRAY, _BOOLEAN = range(6)


def to_json(value: Value) -> Data:
    """Return a value that is compared with JSON as JSON text."""
    if value.kind is Kind.JSON:
        return value.data
    if value.kind is Kind.TEXT and not value.is_binary:
        return mapped(lambda text: json.dumps(text, ensure_ascii=False), pa.string(), value.data)
    if value.kind is Kind.INT and pa.types.is_boolean(value.data.type):
        raise NotExactError("a truth value beside JSON")
    if value.kind in (Kind.INT, Kind.DECIMAL):
        return to_text(value).data
    if value.kind is Kind.REAL:
        return mapped(repr, pa.string(), value.data)
    raise NotExactError(f"JSON beside {value.kind.value}")


def compare_json(left: str, right: str, *, ordered: bool) -> int:
    """Return a number below, equal to or above 0: the order of two JSON values."""
    one, other = json.loads(left), json.loads(right)
    ranks = _rank(one), _rank(other)
    if ranks[0] != ranks[1]:
        return ranks[0] - ranks[1]
    if ranks[0] == _NULL:
        return 0
    if ranks[0] in (_OBJECT, _ARRAY):
        if ordered:
            raise EvaluationError("the order of JSON arrays and objects is known only to TiDB")
        return 0 if one == other else 1
    if ranks[0] == _STRING:
        one, other = one.encode(), other.encode()
    return int(one > other) - int(one < other)


def _rank(value: Any) -> int:
    if value is None:
        return _NULL
    if isinstance(value, bool):
        return _BOOLEAN
    if isinstance(value, int | float):
        return _NUMBER
    return _STRING if isinstance(value, str) else _OBJECT if isinstance(value, dict) else _ARRAY


def extract(value: Value, path: Value) -> Value:
    """Return JSON_EXTRACT(value, path): the value at a path of names and indexes, NULL if there is none."""
    if value.kind is not Kind.JSON:
        raise NotExactError(f"JSON_EXTRACT() of {value.kind.value}")
    if path.kind is not Kind.TEXT or not path.is_constant:
        raise NotExactError("a JSON path that is not a constant")
    legs = _legs(path.data.as_py())

    def at(text: str) -> str | None:
        value_there = json.loads(text)
        for leg in legs:
            if isinstance(leg, str):
                if not (isinstance(value_there, dict) and leg in value_there):
                    return None
                value_there = value_there[leg]
            elif isinstance(value_there, list):
                if leg >= len(value_there):
                    return None
                value_there = value_there[leg]
            elif leg:  # element 0 of a value that is not an array is the value itself
                return None
        return normalise(json.dumps(value_there, ensure_ascii=False))

    return Value(Kind.JSON, mapped(at, pa.string(), value.data))


def _legs(path: str) -> list[str | int]:
    text = path.strip()
    if not text.startswith("$"):
        raise NotExactError(f"the JSON path {path!r}")
    legs: list[str | int] = []
    place = 1
    while place < len(text):
        leg = _LEG.match(text, place)
        if leg is None:
            raise NotExactError(f"the JSON path {path!r}")
        name, quoted, index = leg.groups()
        legs.append(int(index) if index is not None else name if name is not None else json.loads(quoted))
        place = leg.end()
    return legs


def unquote(value: Value) -> Value:
    """Return JSON_UNQUOTE(value)."""
    if value.kind is not Kind.JSON:
        raise NotExactError(f"JSON_UNQUOTE() of {value.kind.value}")

    def text_of(text: str) -> str:
        return str(json.loads(text)) if text.startswith('"') else text

    return Value(Kind.TEXT, mapped(text_of, pa.string(), value.data), "utf8mb4_bin", Coercibility.COERCIBLE)


def is_object(data: Data) -> Data:
    """Return which JSON values are objects."""
    return mapped(lambda text: text.startswith("{"), pa.bool_(), data)
