"""Text functions: length, substrings, case and concatenation.

In: texts, and values that TiDB converts to text. Out: texts and integers. Rule source: pingcap/tidb
``pkg/expression/builtin_string.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.filtering.expressions.collations import common_collation, ignores_case
from ticdc_emit.filtering.expressions.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    mapped,
    null,
    to_integer,
    to_text,
)

__all__ = ["concat", "concat_ws", "length", "letters", "locate", "part", "replaced", "trimmed"]

_MAX_LENGTH = 64 << 20  # the default of TiDB's max_allowed_packet


def length(value: Value, *, characters: bool) -> Value:
    """Return CHAR_LENGTH or LENGTH."""
    if value.kind is Kind.NULL:
        return null()
    text = to_text(value)
    if characters and not text.is_binary:
        return Value(Kind.INT, pc.cast(pc.utf8_length(text.data), pa.int64()))
    return Value(Kind.INT, pc.cast(pc.binary_length(text.data), pa.int64()))


def letters(value: Value, name: str) -> Value:
    """Return LOWER or UPPER; binary text stays as it is."""
    if value.kind is Kind.NULL:
        return null()
    text = to_text(value)
    if text.is_binary:
        return text
    return replace(text, data=(pc.utf8_lower if name == "lower" else pc.utf8_upper)(text.data))


def concat(values: Sequence[Value]) -> Value:
    """Return CONCAT: NULL if any of them is."""
    if any(value.kind is Kind.NULL for value in values):
        return null()
    return _joined([to_text(value) for value in values], lambda parts: pc.binary_join_element_wise(*parts, ""))


def concat_ws(separator: Value, values: Sequence[Value]) -> Value:
    """Return CONCAT_WS: without those that are NULL."""
    if separator.kind is Kind.NULL or not separator.is_constant:
        raise NotExactError("CONCAT_WS() with a separator that is not a constant")
    texts = [to_text(value) for value in values if value.kind is not Kind.NULL]
    mark = to_text(separator)
    return _joined(texts, lambda parts: pc.binary_join_element_wise(*parts, mark.data, null_handling="skip"))


def _joined(texts: list[Value], join: Callable[[list[Data]], Data]) -> Value:
    if not texts or any(text.is_binary for text in texts):
        raise NotExactError("CONCAT() of binary text")
    shape = reduce(lambda one, other: _merged(one, other), texts)
    lengths = (pc.cast(pc.fill_null(pc.binary_length(text.data), 0), pa.int64()) for text in texts)
    longest = pc.max(reduce(pc.add, lengths)).as_py()
    _check_length("CONCAT", longest or 0)
    return replace(shape, data=join([text.data for text in texts]), column=None)


def _merged(one: Value, other: Value) -> Value:
    return replace(one, collate=common_collation(one, other), strength=min(one.strength, other.strength))


def part(name: str, values: Sequence[Value]) -> Value:
    """Return LEFT, RIGHT or SUBSTR: characters by number, or bytes of binary text."""
    if any(value.kind is Kind.NULL for value in values):
        return null()
    text, *numbers = values
    subject = to_text(text)
    cut: dict[str, Callable[..., Any]] = {
        "left": lambda held, count: held[: max(count, 0)],
        "right": lambda held, count: held[len(held) - min(max(count, 0), len(held)) :],
        "substr": _substring,
    }
    parts = mapped(cut[name], subject.data.type, subject.data, *(to_integer(number) for number in numbers))
    return replace(subject, data=parts)


def _substring(held: Any, start: int, count: int | None = None) -> Any:
    begin = start - 1 if start > 0 else len(held) + start
    if start == 0 or begin < 0 or begin > len(held):
        return held[:0]
    return held[begin:] if count is None else held[begin : begin + max(count, 0)]


def trimmed(name: str, values: Sequence[Value]) -> Value:
    """Return TRIM, LTRIM or RTRIM; ``values``: the text, what to trim, and which ends (0 both, 1 first, 2 last)."""
    if any(value.kind is Kind.NULL for value in values):
        return null()
    text = to_text(values[0])
    if text.is_binary:
        raise NotExactError(f"{name.upper()}() of binary text")
    mark = to_text(values[1]).data if len(values) > 1 else pa.scalar(" ")
    ends = int(to_integer(values[2]).as_py()) if len(values) > 2 else {"trim": 0, "ltrim": 1, "rtrim": 2}[name]

    def of(held: str, removed: str) -> str:
        start, end = 0, len(held)
        while removed and ends != 2 and held.startswith(removed, start, end):
            start += len(removed)
        while removed and ends != 1 and held.endswith(removed, start, end):
            end -= len(removed)
        return held[start:end]

    return replace(text, data=mapped(of, pa.string(), text.data, mark))


def replaced(values: Sequence[Value]) -> Value:
    """Return REPLACE, which is case-sensitive in every collation."""
    if any(value.kind is Kind.NULL for value in values):
        return null()
    texts = [to_text(value) for value in values]
    if any(text.is_binary for text in texts):
        raise NotExactError("REPLACE() of binary text")

    def of(held: str, old: str, new: str) -> str:
        if not old:
            return held
        if len(new) > len(old):
            more = len(new.encode()) - len(old.encode())
            _check_length("REPLACE", len(held.encode()) + held.count(old) * more)
        return held.replace(old, new)

    return replace(reduce(_merged, texts), data=mapped(of, pa.string(), *(text.data for text in texts)))


def _check_length(name: str, length: int) -> None:
    """Refuse a result before it is made; nested calls would multiply the memory of one value."""
    if length > _MAX_LENGTH:
        raise EvaluationError(f"the result of {name}() has {length:,} bytes, more than {_MAX_LENGTH:,}")


def locate(needle: Value, haystack: Value) -> Value:
    """Return LOCATE(needle, haystack): a position from 1 on, 0 if it is not found."""
    if Kind.NULL in (needle.kind, haystack.kind):
        return null()
    one, other = to_text(needle), to_text(haystack)
    if one.is_binary or other.is_binary or ignores_case(common_collation(one, other)):
        raise NotExactError("LOCATE() without regard to case, or in binary text")
    return Value(Kind.INT, mapped(lambda part, held: held.find(part) + 1, pa.int64(), one.data, other.data))
