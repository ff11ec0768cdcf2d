"""Text functions: length, substrings, case and concatenation.

In: texts, and values that TiDB converts to text. Out: texts and integers. Rule source: pingcap/tidb
``pkg/expression/builtin_string.go``.
"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.json_text import normalise
from ticdc_emit.errors import shown
from ticdc_emit.expressions.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    common_collation,
    ignores_case,
    mapped,
    null,
    to_integer,
    to_text,
)
from ticdc_emit.sql.inference.operands import Coercibility

__all__ = [
    "comparable_moments",
    "compare_json",
    "concat",
    "concat_ws",
    "date_format",
    "day_of",
    "extract",
    "is_object",
    "length",
    "letters",
    "locate",
    "moment_of",
    "parsed_duration",
    "part",
    "part_of",
    "replaced",
    "to_json",
    "trimmed",
    "unquote",
]


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


_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?")
_DURATION = re.compile(r"(-?)(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?")
_DATE_WIDTH = 10
_MIDNIGHT = " 00:00:00"
_PARTS: dict[str, tuple[int, int]] = {
    "year": (0, 4),
    "month": (5, 7),
    "dayofmonth": (8, 10),
    "hour": (11, 13),
    "minute": (14, 16),
    "second": (17, 19),
}


def comparable_moments(left: Value, right: Value) -> tuple[Data, Data]:
    """Return two dates, or a date and a constant, as texts of equal width."""
    one, other = _as_moment(left), _as_moment(right)
    fsp = max(one.fsp, other.fsp)
    return _widened(one, fsp), _widened(other, fsp)


def _as_moment(value: Value) -> Value:
    if value.kind is Kind.DATETIME:
        return value
    if value.is_constant and value.kind is Kind.TEXT and not value.is_literal:
        return _parsed(value.data.as_py())
    if value.is_constant and value.kind is Kind.INT:
        return _of_number(str(value.data.as_py()))
    raise NotExactError(f"a date beside {value.kind.value}")


def _parsed(text: str) -> Value:
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise NotExactError(f"the date {text!r}")
    year, month, day, hour, minute, second, fraction = match.groups()
    date = f"{year}-{month:0>2}-{day:0>2}"
    if hour is None:
        return _checked(date, -1)
    clock = f"{date} {hour:0>2}:{minute:0>2}:{second or '0':0>2}"
    return _checked(f"{clock}.{fraction}" if fraction else clock, len(fraction or ""))


def _of_number(digits: str) -> Value:
    if len(digits) == 8:
        return _checked(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}", -1)
    if len(digits) == 14:
        clock = f"{digits[8:10]}:{digits[10:12]}:{digits[12:]}"
        return _checked(f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {clock}", 0)
    raise NotExactError(f"a date beside the number {digits}")


def _checked(text: str, fsp: int) -> Value:
    if not text.startswith("0000-00-00"):
        try:
            dt.datetime.fromisoformat(text.partition(".")[0])
        except ValueError:
            raise NotExactError(f"the date {text!r}") from None
    return Value(Kind.DATETIME, pa.scalar(text, pa.string()), strength=Coercibility.COERCIBLE, fsp=fsp)


def _widened(value: Value, fsp: int) -> Data:
    missing = ""
    if value.fsp < 0 <= fsp:
        missing = _MIDNIGHT
    digits = fsp - max(value.fsp, 0)
    if digits > 0:
        missing += ("" if value.fsp > 0 else ".") + "0" * digits
    return pc.binary_join_element_wise(value.data, missing, "") if missing else value.data


def parsed_duration(text: str) -> int:
    """Return a time as microseconds; :class:`NotExactError` for a text without hours and minutes."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise NotExactError(f"the time {text!r}")
    sign, hours, minutes, seconds, fraction = match.groups()
    whole = (int(hours) * 60 + int(minutes)) * 60 + int(seconds or 0)
    if int(minutes) > 59 or int(seconds or 0) > 59:
        raise NotExactError(f"the time {text!r}")
    return (-1 if sign else 1) * (whole * 1_000_000 + int((fraction or "").ljust(6, "0")))


def moment_of(text: str) -> Value:
    """Return the date in a text."""
    return _parsed(text)


def _moment(value: Value) -> Value:
    if value.kind is Kind.TEXT and value.is_constant:
        return _parsed(value.data.as_py())
    if value.kind is not Kind.DATETIME:
        raise NotExactError(f"a date function of {value.kind.value}")
    return value


def part_of(name: str, value: Value) -> Value:
    """Return a part of a date as an integer."""
    if name in ("hour", "minute", "second") and value.kind is Kind.DURATION:
        raise NotExactError(f"{name.upper()}() of a TIME")
    moment = _moment(value)
    if name in _PARTS:
        start, stop = _PARTS[name]
        if start > _DATE_WIDTH and moment.fsp < 0:
            return Value(Kind.INT, pc.if_else(pc.is_null(moment.data), None, pa.scalar(0, pa.int64())))
        return Value(Kind.INT, pc.cast(pc.utf8_slice_codeunits(moment.data, start, stop), pa.int64()))
    return Value(Kind.INT, mapped(_DAY_PARTS[name], pa.int64(), moment.data))


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text[:_DATE_WIDTH])
    except ValueError:
        raise EvaluationError(f"Incorrect datetime value: {shown(text)}") from None


_DAY_PARTS: dict[str, Callable[[str], int]] = {
    "quarter": lambda text: (int(text[5:7]) + 2) // 3,
    "dayofweek": lambda text: _day(text).isoweekday() % 7 + 1,
    "weekday": lambda text: _day(text).weekday(),
    "dayofyear": lambda text: _day(text).timetuple().tm_yday,
}


def day_of(value: Value) -> Value:
    """Return DATE(value)."""
    moment = _moment(value)
    return Value(Kind.DATETIME, pc.utf8_slice_codeunits(moment.data, 0, _DATE_WIDTH), fsp=-1)


_FORMATS: dict[str, Callable[[str], str]] = {
    "Y": lambda text: text[:4],
    "y": lambda text: text[2:4],
    "m": lambda text: text[5:7],
    "c": lambda text: str(int(text[5:7])),
    "d": lambda text: text[8:10],
    "e": lambda text: str(int(text[8:10])),
    "H": lambda text: text[11:13] or "00",
    "k": lambda text: str(int(text[11:13] or 0)),
    "i": lambda text: text[14:16] or "00",
    "s": lambda text: text[17:19] or "00",
    "S": lambda text: text[17:19] or "00",
    "T": lambda text: text[11:19] or "00:00:00",
    "f": lambda text: text[20:].ljust(6, "0"),
    "j": lambda text: f"{_day(text).timetuple().tm_yday:03d}",
    "w": lambda text: str(_day(text).isoweekday() % 7),
    "W": lambda text: _day(text).strftime("%A"),
    "a": lambda text: _day(text).strftime("%a"),
    "M": lambda text: _day(text).strftime("%B"),
    "b": lambda text: _day(text).strftime("%b"),
    "%": lambda text: "%",
}


def date_format(value: Value, layout: Value) -> Value:
    """Return DATE_FORMAT(value, layout); the layout must be a constant."""
    if layout.kind is not Kind.TEXT or not layout.is_constant:
        raise NotExactError("DATE_FORMAT() with a format that is not a constant")
    moment = _moment(value)
    parts: list[Callable[[str], str]] = []
    chars = iter(layout.data.as_py())
    for char in chars:
        code = next(chars, "") if char == "%" else ""
        if char != "%":
            parts.append(lambda text, char=char: char)  # type: ignore[misc]
        elif code in _FORMATS:
            parts.append(_FORMATS[code])
        else:
            raise NotExactError(f"%{code} in DATE_FORMAT()")
    texts = mapped(lambda text: "".join(part(text) for part in parts), pa.string(), moment.data)
    return Value(Kind.TEXT, texts, "utf8mb4_bin", Coercibility.COERCIBLE)
