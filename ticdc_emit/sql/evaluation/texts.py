"""Text and JSON functions: lengths, parts, case, concatenation, search; JSON paths.

In: texts, values that TiDB converts to text, JSON. Out: texts, JSON and integers. Rule source: pingcap/tidb
``pkg/expression/builtin_{string,json}.go``, ``pkg/types/json_path_expr.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.sql.evaluation.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    common_collation,
    ignores_case,
    map_values,
    null_for_null,
    to_integer,
    to_text,
)
from ticdc_emit.sql.inference.operands import Coercibility
from ticdc_emit.sql.json_document import content_of, printed

_MAX_LENGTH = 64 << 20  # the default of TiDB's max_allowed_packet

# -- lengths and letters -----------------------------------------------------------------------------------------------


@null_for_null
def length(value: Value) -> Value:
    """Return LENGTH, in bytes."""
    return Value(Kind.INT, pc.cast(pc.binary_length(to_text(value).data), pa.int64()))


@null_for_null
def char_length(value: Value) -> Value:
    """Return CHAR_LENGTH, in bytes for binary text."""
    text = to_text(value)
    return length(text) if text.is_binary else Value(Kind.INT, pc.cast(pc.utf8_length(text.data), pa.int64()))


@null_for_null
def lower(value: Value) -> Value:
    """Return LOWER; binary text stays as it is."""
    text = to_text(value)
    return text if text.is_binary else replace(text, data=pc.utf8_lower(text.data))


@null_for_null
def upper(value: Value) -> Value:
    """Return UPPER; binary text stays as it is."""
    text = to_text(value)
    return text if text.is_binary else replace(text, data=pc.utf8_upper(text.data))


# -- concatenation -----------------------------------------------------------------------------------------------------


@null_for_null
def concat(first: Value, *more: Value) -> Value:
    """Return CONCAT: NULL if any of them is."""
    texts = [to_text(value) for value in (first, *more)]
    return _join(texts, lambda parts: pc.binary_join_element_wise(*parts, ""))


def concat_ws(separator: Value, first: Value, *more: Value) -> Value:
    """Return CONCAT_WS: without those that are NULL."""
    if separator.kind is Kind.NULL or not separator.is_constant:
        raise NotExactError("CONCAT_WS() with a separator that is not a constant")
    texts = [to_text(value) for value in (first, *more) if value.kind is not Kind.NULL]
    mark = to_text(separator)
    return _join(texts, lambda parts: pc.binary_join_element_wise(*parts, mark.data, null_handling="skip"))


def _join(texts: list[Value], join: Callable[[list[Data]], Data]) -> Value:
    if not texts or any(text.is_binary for text in texts):
        raise NotExactError("CONCAT() of binary text")
    shape = reduce(_merge, texts)
    lengths = (pc.cast(pc.fill_null(pc.binary_length(text.data), 0), pa.int64()) for text in texts)
    _check_length("CONCAT", pc.max(reduce(pc.add, lengths)).as_py() or 0)
    return replace(shape, data=join([text.data for text in texts]), type=None)


def _merge(one: Value, other: Value) -> Value:
    return replace(one, collate=common_collation(one, other), strength=min(one.strength, other.strength))


def _check_length(name: str, length: int) -> None:
    """Refuse a result before it is made; nested calls would multiply the memory of one value."""
    if length > _MAX_LENGTH:
        raise EvaluationError(f"the result of {name}() has {length:,} bytes, more than {_MAX_LENGTH:,}")


# -- parts -------------------------------------------------------------------------------------------------------------


@null_for_null
def left(text: Value, count: Value) -> Value:
    """Return LEFT: characters by number, or bytes of binary text."""
    return _part(text, lambda held, count: held[: max(count, 0)], count)


@null_for_null
def right(text: Value, count: Value) -> Value:
    """Return RIGHT: characters by number, or bytes of binary text."""
    return _part(text, lambda held, count: held[len(held) - min(max(count, 0), len(held)) :], count)


@null_for_null
def substr(text: Value, start: Value, count: Value | None = None) -> Value:
    """Return SUBSTR(text, start[, count])."""
    return _part(text, _substring, start) if count is None else _part(text, _substring, start, count)


def _part(text: Value, cut: Callable[..., Any], *numbers: Value) -> Value:
    subject = to_text(text)
    parts = map_values(cut, subject.data.type, subject.data, *(to_integer(number) for number in numbers))
    return replace(subject, data=parts)


def _substring(held: Any, start: int, count: int | None = None) -> Any:
    begin = start - 1 if start > 0 else len(held) + start
    if start == 0 or begin < 0 or begin > len(held):
        return held[:0]
    return held[begin:] if count is None else held[begin : begin + max(count, 0)]


def trim(text: Value, removed: Value | None = None, sides: Value | None = None) -> Value:
    """Return TRIM; ``removed``: what to trim, ``sides``: 0 both ends, 1 the first, 2 the last."""
    return _trim("TRIM", text, removed, 0 if sides is None else int(to_integer(sides).as_py()))


def ltrim(text: Value) -> Value:
    """Return LTRIM(text)."""
    return _trim("LTRIM", text, None, 1)


def rtrim(text: Value) -> Value:
    """Return RTRIM(text)."""
    return _trim("RTRIM", text, None, 2)


@null_for_null
def _trim(name: str, value: Value, removed: Value | None, sides: int) -> Value:
    text = to_text(value)
    if text.is_binary:
        raise NotExactError(f"{name}() of binary text")

    def of(held: str, mark: str) -> str:
        start, end = 0, len(held)
        while mark and sides != 2 and held.startswith(mark, start, end):
            start += len(mark)
        while mark and sides != 1 and held.endswith(mark, start, end):
            end -= len(mark)
        return held[start:end]

    mark = pa.scalar(" ") if removed is None else to_text(removed).data
    return replace(text, data=map_values(of, pa.string(), text.data, mark))


@null_for_null
def replace_text(text: Value, old: Value, new: Value) -> Value:
    """Return REPLACE, which is case-sensitive in every collation."""
    texts = [to_text(value) for value in (text, old, new)]
    if any(text.is_binary for text in texts):
        raise NotExactError("REPLACE() of binary text")

    def of(held: str, old: str, new: str) -> str:
        if not old:
            return held
        if len(new) > len(old):
            more = len(new.encode()) - len(old.encode())
            _check_length("REPLACE", len(held.encode()) + held.count(old) * more)
        return held.replace(old, new)

    return replace(reduce(_merge, texts), data=map_values(of, pa.string(), *(text.data for text in texts)))


@null_for_null
def locate(needle: Value, haystack: Value) -> Value:
    """Return LOCATE(needle, haystack): a position from 1 on, 0 if it is not found."""
    one, other = to_text(needle), to_text(haystack)
    if one.is_binary or other.is_binary or ignores_case(common_collation(one, other)):
        raise NotExactError("LOCATE() without regard to case, or in binary text")
    return Value(Kind.INT, map_values(lambda part, held: held.find(part) + 1, pa.int64(), one.data, other.data))


def instr(haystack: Value, needle: Value) -> Value:
    """Return INSTR(haystack, needle)."""
    return locate(needle, haystack)


# -- JSON --------------------------------------------------------------------------------------------------------------

_LEG = re.compile(r'\s*(?:\.\s*(?:([A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*"))|\[\s*(\d+)\s*\])')
_NULL, _NUMBER, _STRING, _OBJECT, _ARRAY, _BOOLEAN = range(6)


def to_json(value: Value) -> Data:
    """Return a value that is compared with JSON as JSON text."""
    if value.kind is Kind.JSON:
        return value.data
    if value.kind is Kind.TEXT and not value.is_binary:
        return map_values(lambda text: json.dumps(text, ensure_ascii=False), pa.string(), value.data)
    if value.kind is Kind.INT and pa.types.is_boolean(value.data.type):
        raise NotExactError("a truth value beside JSON")
    if value.kind in (Kind.INT, Kind.DECIMAL):
        return to_text(value).data
    if value.kind is Kind.REAL:
        return map_values(repr, pa.string(), value.data)
    raise NotExactError(f"JSON beside {value.kind.value}")


def compare_json(left: str, right: str, *, ordered: bool) -> int:
    """Return a number below, equal to or above 0: the order of two JSON values, by type first."""
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


def json_extract(value: Value, path: Value) -> Value:
    """Return JSON_EXTRACT(value, path): the value at a path of names and indexes, NULL if there is none."""
    if value.kind is not Kind.JSON:
        raise NotExactError(f"JSON_EXTRACT() of {value.kind.value}")
    if path.kind is not Kind.TEXT or not path.is_constant:
        raise NotExactError("a JSON path that is not a constant")
    legs = _legs(path.data.as_py())

    def at(text: str) -> str | None:
        value_there = content_of(text)
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
        return printed(value_there)

    return Value(Kind.JSON, map_values(at, pa.string(), value.data))


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


def json_unquote(value: Value) -> Value:
    """Return JSON_UNQUOTE(value)."""
    if value.kind is not Kind.JSON:
        raise NotExactError(f"JSON_UNQUOTE() of {value.kind.value}")

    def of(text: str) -> str:
        return str(json.loads(text)) if text.startswith('"') else text

    return Value(Kind.TEXT, map_values(of, pa.string(), value.data), "utf8mb4_bin", Coercibility.COERCIBLE)


def is_object(data: Data) -> Data:
    """Return which JSON values are objects."""
    return map_values(lambda text: text.startswith("{"), pa.bool_(), data)
