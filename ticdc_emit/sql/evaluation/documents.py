"""JSON functions over canonical text: paths, documents made and changed, the order of values.

Rule source: pingcap/tidb ``pkg/expression/builtin_json.go``, ``pkg/types/{json_path_expr,json_binary_functions}.go``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from ticdc_emit.sql.evaluation.values import Data, EvaluationError, Kind, NotExactError, Value, map_values, to_text
from ticdc_emit.sql.inference.operands import Coercibility
from ticdc_emit.sql.json_document import content_of, printed
from ticdc_emit.sql.types import MySQLType

_LEG = re.compile(r'\s*(?:\.\s*(?:([A-Za-z_$][\w$]*)|("(?:[^"\\]|\\.)*"))|\[\s*(\d+)\s*\])')
_MOST_JSON = 1 << 20  # its work grows faster than its length where documents hold documents
_IN_DOCUMENTS = (Kind.NULL, Kind.JSON, Kind.INT, Kind.REAL, Kind.TEXT)
_ABSENT = object()
_NULL, _NUMBER, _STRING, _OBJECT, _ARRAY, _BOOLEAN = range(6)


def to_json(value: Value) -> Data:
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
    document, legs = _document(value, "JSON_EXTRACT"), _legs(path)

    def at(text: str) -> str | None:
        found = _at(content_of(text), legs)
        return None if found is _ABSENT else printed(found)

    return Value(Kind.JSON, map_values(at, pa.string(), document))


def _legs(path: Value) -> list[str | int]:
    if path.kind is not Kind.TEXT or not path.is_constant:
        raise NotExactError("a JSON path that is not a constant")
    text = path.data.as_py().strip()
    if not text.startswith("$"):
        raise NotExactError(f"the JSON path {text!r}")
    legs: list[str | int] = []
    place = 1
    while place < len(text):
        leg = _LEG.match(text, place)
        if leg is None:
            raise NotExactError(f"the JSON path {text!r}")
        name, quoted, index = leg.groups()
        legs.append(int(index) if index is not None else name if name is not None else json.loads(quoted))
        place = leg.end()
    return legs


def json_unquote(value: Value) -> Value:
    if value.kind is not Kind.JSON:
        raise NotExactError(f"JSON_UNQUOTE() of {value.kind.value}")

    def of(text: str) -> str:
        return str(json.loads(text)) if text.startswith('"') else text

    return Value(Kind.TEXT, map_values(of, pa.string(), value.data), "utf8mb4_bin", Coercibility.COERCIBLE)


def is_object(data: Data) -> Data:
    return map_values(lambda text: text.startswith("{"), pa.bool_(), data)


def json_object(*members: Value) -> Value:
    if len(members) % 2:
        raise NotExactError("JSON_OBJECT() of an odd number of arguments")
    names = [to_text(name) for name in members[::2]]
    if any(name.is_binary for name in names):
        raise NotExactError("JSON_OBJECT() with names that are not text")

    def of(*items: Any) -> str:
        return printed(dict(zip(items[: len(names)], items[len(names) :], strict=True)))

    return Value(Kind.JSON, _rows_of(of, (*names, *members[1::2])))


def json_array(*items: Value) -> Value:
    return Value(Kind.JSON, _rows_of(lambda *values: printed(list(values)), items))


def _rows_of(function: Callable[..., str], values: Sequence[Value]) -> Data:
    count = next((len(value.data) for value in values if not value.is_constant), None)
    columns = [_contents(value) * ((count or 1) if value.is_constant else 1) for value in values]
    rows = [function(*row) for row in zip(*columns, strict=True)] if columns else [function()]
    return pa.scalar(rows[0], pa.string()) if count is None else pa.array(rows, pa.string())


def _contents(value: Value) -> list[Any]:
    is_known = value.kind in _IN_DOCUMENTS and not value.is_binary
    if not is_known or (value.type is not None and value.type.type in (MySQLType.YEAR, MySQLType.FLOAT)):
        raise NotExactError(f"{value.kind.value} in JSON")
    items = [value.data.as_py()] if value.is_constant else value.data.to_pylist()
    return [_small_content(item) if value.kind is Kind.JSON and item is not None else item for item in items]


def _small_content(text: str) -> Any:
    if len(text) > _MOST_JSON:
        raise EvaluationError(f"a document with {len(text):,} characters in another (at most {_MOST_JSON:,})")
    return content_of(text)


def json_remove(value: Value, first: Value, *more: Value) -> Value:
    """Return JSON_REMOVE(value, path, ...); a path to nothing removes nothing."""
    paths = [_constant_path(path, "JSON_REMOVE") for path in (first, *more)]

    def of(text: str) -> str:
        content = content_of(text)
        for *parents, last in paths:
            holder = _at(content, parents)
            if isinstance(last, str) and isinstance(holder, dict):
                holder.pop(last, None)
            elif isinstance(last, int) and isinstance(holder, list):
                del holder[last : last + 1]
            elif isinstance(last, int):
                raise NotExactError("JSON_REMOVE() with an index in a value that is not an array")
        return printed(content)

    return Value(Kind.JSON, map_values(of, pa.string(), _document(value, "JSON_REMOVE")))


def json_write(name: str, value: Value, *pairs: Value) -> Value:
    """Return JSON_SET, JSON_INSERT or JSON_REPLACE(value, path, new, ...); the new values are constants."""
    if len(pairs) % 2 or not pairs or not all(new.is_constant for new in pairs[1::2]):
        raise NotExactError(f"{name.upper()}() with values that are not constants")
    paths = [_constant_path(path, name) for path in pairs[::2]]
    news = [_contents(new)[0] for new in pairs[1::2]]

    def of(text: str) -> str:
        content = content_of(text)
        for (*parents, last), new in zip(paths, news, strict=True):
            holder = _at(content, parents)
            if isinstance(last, str) and isinstance(holder, dict):
                exists = last in holder
                if name == "json_set" or exists is (name == "json_replace"):
                    holder[last] = new
            elif isinstance(last, int):
                raise NotExactError(f"{name.upper()}() of an element")
        return printed(content)

    return Value(Kind.JSON, map_values(of, pa.string(), _document(value, name)))


def _document(value: Value, name: str) -> Data:
    if value.kind is not Kind.JSON:
        raise NotExactError(f"{name.upper()}() of {value.kind.value}")
    return value.data


def _constant_path(path: Value, name: str) -> list[str | int]:
    legs = _legs(path)
    if not legs:
        raise NotExactError(f"{name.upper()}() of a whole document")
    return legs


def _at(content: Any, legs: Sequence[str | int]) -> Any:
    for leg in legs:
        if isinstance(leg, str):
            content = content.get(leg, _ABSENT) if isinstance(content, dict) else _ABSENT
        elif isinstance(content, list):
            content = content[leg] if leg < len(content) else _ABSENT
        elif leg:  # element 0 of a value that is not an array is the value itself
            return _ABSENT
    return content
