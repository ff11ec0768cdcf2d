"""Text functions. Rule source: pingcap/tidb ``pkg/expression/builtin_{string,encryption}.go``."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import partial, reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.sql.evaluation.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    check_bytes,
    common_collation,
    ignores_case,
    map_values,
    null_for_null,
    to_integer,
    to_text,
)
from ticdc_emit.sql.inference.operands import Coercibility

_EXACT = Context(prec=160)
_MAX_LENGTH = 64 << 20  # the default of TiDB's max_allowed_packet

# -- lengths and letters -----------------------------------------------------------------------------------------------


@null_for_null
def length(value: Value) -> Value:
    return Value(Kind.INT, pc.cast(pc.binary_length(to_text(value).data), pa.int64()))


@null_for_null
def char_length(value: Value) -> Value:
    text = to_text(value)
    return length(text) if text.is_binary else Value(Kind.INT, pc.cast(pc.utf8_length(text.data), pa.int64()))


@null_for_null
def lower(value: Value) -> Value:
    text = to_text(value)
    return text if text.is_binary else replace(text, data=pc.utf8_lower(text.data))


@null_for_null
def upper(value: Value) -> Value:
    text = to_text(value)
    return text if text.is_binary else replace(text, data=pc.utf8_upper(text.data))


# -- concatenation -----------------------------------------------------------------------------------------------------


@null_for_null
def concat(first: Value, *more: Value) -> Value:
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
    lengths = reduce(pc.add, (pc.cast(pc.fill_null(pc.binary_length(text.data), 0), pa.int64()) for text in texts))
    _check_length("CONCAT", pc.max(lengths).as_py() or 0)
    check_bytes("a result", pc.sum(lengths).as_py() or 0)
    return replace(shape, data=join([text.data for text in texts]), type=None)


def _merge(one: Value, other: Value) -> Value:
    return replace(one, collate=common_collation(one, other), strength=min(one.strength, other.strength))


def _check_length(name: str, length: int) -> None:
    """Refuse a result before it is made; nested calls would multiply the memory of one value."""
    if length > _MAX_LENGTH:
        raise EvaluationError(f"the result of {name}() has {length:,} bytes, more than {_MAX_LENGTH:,}")


# -- parts -------------------------------------------------------------------------------------------------------------


def _plain_text(name: str, value: Value) -> Value:
    text = to_text(value)
    if text.is_binary:
        raise NotExactError(f"{name}() of binary text")
    return text


@null_for_null
def left(text: Value, count: Value) -> Value:
    return _part(text, lambda held, count: held[: max(count, 0)], count)


@null_for_null
def right(text: Value, count: Value) -> Value:
    return _part(text, lambda held, count: held[len(held) - min(max(count, 0), len(held)) :], count)


@null_for_null
def substr(text: Value, start: Value, count: Value | None = None) -> Value:
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
    return _trim("LTRIM", text, None, 1)


def rtrim(text: Value) -> Value:
    return _trim("RTRIM", text, None, 2)


@null_for_null
def _trim(name: str, value: Value, removed: Value | None, sides: int) -> Value:
    text = _plain_text(name, value)

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
    texts = [_plain_text("REPLACE", value) for value in (text, old, new)]

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
    return locate(needle, haystack)


# -- edits -------------------------------------------------------------------------------------------------------------


@null_for_null
def reverse(value: Value) -> Value:
    text = to_text(value)
    return replace(text, data=map_values(lambda held: held[::-1], text.data.type, text.data))


@null_for_null
def repeat_text(value: Value, count: Value) -> Value:
    text = _plain_text("REPEAT", value)

    def of(held: str, times: int) -> str:
        _check_length("REPEAT", len(held.encode()) * max(times, 0))
        return held * max(times, 0)

    return replace(text, data=map_values(of, pa.string(), text.data, to_integer(count)))


@null_for_null
def pad(name: str, value: Value, width: Value, mark: Value) -> Value:
    """Return LPAD or RPAD(value, width, mark): NULL for a negative width, or nothing to pad with."""
    text, padding = _plain_text(name, value), _plain_text(name, mark)

    def of(held: str, wide: int, mark: str) -> str | None:
        missing = wide - len(held)
        if wide < 0 or (missing > 0 and not mark):
            return None
        _check_length(name, 4 * wide)
        more = (mark * (missing // len(mark) + 1))[:missing] if missing > 0 else ""
        return (more + held if name == "LPAD" else held + more)[:wide] if missing > 0 else held[:wide]

    data = map_values(of, pa.string(), text.data, to_integer(width), padding.data)
    return replace(_merge(text, padding), data=data, type=None)


@null_for_null
def substring_index(value: Value, mark: Value, count: Value) -> Value:
    """Return SUBSTRING_INDEX: what is before a number of marks, counted from the end if it is negative."""
    text, delimiter = _plain_text("SUBSTRING_INDEX", value), _plain_text("SUBSTRING_INDEX", mark)

    def of(held: str, by: str, wanted: int) -> str:
        if not by or not wanted:
            return ""
        parts = held.split(by)
        return by.join(parts[:wanted] if wanted > 0 else parts[wanted:] if -wanted < len(parts) else parts)

    data = map_values(of, pa.string(), text.data, delimiter.data, to_integer(count))
    return replace(text, data=data)


@null_for_null
def insert_text(value: Value, start: Value, count: Value, new: Value) -> Value:
    text, other = _plain_text("INSERT", value), _plain_text("INSERT", new)

    def of(held: str, place: int, width: int, put: str) -> str:
        if place < 1 or place > len(held):
            return held
        rest = len(held) - place + 1
        width = rest if width < 0 or width > rest else width
        return held[: place - 1] + put + held[place - 1 + width :]

    data = map_values(of, pa.string(), text.data, to_integer(start), to_integer(count), other.data)
    return replace(_merge(text, other), data=data, type=None)


@null_for_null
def find_in_set(value: Value, labels: Value) -> Value:
    """Return FIND_IN_SET(value, labels): a position from 1 on, 0 if it is not among them."""
    one, other = _plain_text("FIND_IN_SET", value), _plain_text("FIND_IN_SET", labels)
    collate = common_collation(one, other)
    if ignores_case(collate):
        raise NotExactError("FIND_IN_SET() without regard to case")
    pads = collate not in ("binary", "utf8mb4_0900_bin")

    def of(part: str, listed: str) -> int:
        parts = [each.rstrip(" ") if pads else each for each in listed.split(",")] if listed else []
        wanted = part.rstrip(" ") if pads else part
        return parts.index(wanted) + 1 if wanted in parts else 0

    return Value(Kind.INT, map_values(of, pa.int64(), one.data, other.data))


# -- numbers and bytes as text -----------------------------------------------------------------------------------------

_OF_NUMBERS = partial(Value, Kind.TEXT, collate="utf8mb4_bin", strength=Coercibility.COERCIBLE)
_GROUP = re.compile(r"(?<=\d)(?=(?:\d{3})+$)")


@null_for_null
def hex_text(value: Value) -> Value:
    if value.kind in (Kind.INT, Kind.BIT):
        numbers = to_integer(value)
        return _OF_NUMBERS(map_values(lambda number: f"{number & (1 << 64) - 1:X}", pa.string(), numbers))
    if value.kind not in (Kind.TEXT, Kind.LABEL):
        raise NotExactError(f"HEX() of {value.kind.value}")
    return _OF_NUMBERS(map_values(lambda held: _bytes_of(held).hex().upper(), pa.string(), to_text(value).data))


@null_for_null
def unhex(value: Value) -> Value:
    """Return UNHEX of a text: NULL if it has a character that is not a digit."""
    if value.kind is not Kind.TEXT:
        raise NotExactError(f"UNHEX() of {value.kind.value}")

    def of(held: Any) -> bytes | None:
        digits = _bytes_of(held)
        try:
            return bytes.fromhex((digits if len(digits) % 2 == 0 else b"0" + digits).decode("ascii"))
        except ValueError:
            return None

    data = map_values(of, pa.binary(), value.data)
    return Value(Kind.TEXT, data, strength=Coercibility.COERCIBLE)


@null_for_null
def digest(name: str, value: Value) -> Value:
    """Return MD5, SHA1 of a text's bytes as digits in lower case."""
    if value.kind not in (Kind.TEXT, Kind.LABEL, Kind.INT, Kind.DECIMAL):
        raise NotExactError(f"{name.upper()}() of {value.kind.value}")
    make = partial(hashlib.new, name, usedforsecurity=False)
    return _OF_NUMBERS(map_values(lambda held: make(_bytes_of(held)).hexdigest(), pa.string(), to_text(value).data))


def _bytes_of(held: Any) -> bytes:
    return held if isinstance(held, bytes) else held.encode()


@null_for_null
def format_number(value: Value, digits: Value) -> Value:
    """Return FORMAT(value, digits) of an integer or a decimal: rounded, with a comma after each third digit."""
    if value.kind not in (Kind.INT, Kind.DECIMAL):
        raise NotExactError(f"FORMAT() of {value.kind.value}")

    def of(number: Any, wanted: int) -> str:
        step = Decimal(1).scaleb(-min(max(wanted, 0), 30))
        rounded = Decimal(number).quantize(step, ROUND_HALF_UP, _EXACT)
        whole, point, fraction = format(abs(rounded), "f").partition(".")
        return ("-" if rounded < 0 else "") + _GROUP.sub(",", whole) + point + fraction

    data = to_integer(value) if value.kind is Kind.INT else value.data
    return _OF_NUMBERS(map_values(of, pa.string(), data, to_integer(digits)))
