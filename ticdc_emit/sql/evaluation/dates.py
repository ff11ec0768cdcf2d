"""Dates (canonical text) and times (microseconds). Rule source: pingcap/tidb
``pkg/{expression/builtin_time,types/time}.go``.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import shown
from ticdc_emit.sql.evaluation.values import (
    Data,
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    map_values,
    null_for_null,
    parse_duration,
)
from ticdc_emit.sql.inference.operands import Coercibility

_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,6}))?)?)?")
_DATE_WIDTH = 10
_MIDNIGHT = " 00:00:00"

# -- constants ---------------------------------------------------------------------------------------------------------


def parse_date(text: str) -> Value:
    """Return the date, with or without a time, in a text; :class:`NotExactError` if it is not one."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        raise NotExactError(f"the date {text!r}")
    year, month, day, hour, minute, second, fraction = match.groups()
    day_text = f"{year}-{month:0>2}-{day:0>2}"
    if hour is None:
        return _existing_date(day_text, -1)
    clock = f"{day_text} {hour:0>2}:{minute:0>2}:{second or '0':0>2}"
    return _existing_date(f"{clock}.{fraction}" if fraction else clock, len(fraction or ""))


def _number_date(digits: str) -> Value:
    if len(digits) == 8:
        return _existing_date(f"{digits[:4]}-{digits[4:6]}-{digits[6:]}", -1)
    if len(digits) == 14:
        clock = f"{digits[8:10]}:{digits[10:12]}:{digits[12:]}"
        return _existing_date(f"{digits[:4]}-{digits[4:6]}-{digits[6:8]} {clock}", 0)
    raise NotExactError(f"a date beside the number {digits}")


def _existing_date(text: str, fsp: int) -> Value:
    if not text.startswith("0000-00-00"):
        try:
            dt.datetime.fromisoformat(text.partition(".")[0])
        except ValueError:
            raise NotExactError(f"the date {text!r}") from None
    return Value(Kind.DATETIME, pa.scalar(text, pa.string()), strength=Coercibility.COERCIBLE, fsp=fsp)


# -- comparison --------------------------------------------------------------------------------------------------------


def comparable_dates(left: Value, right: Value) -> tuple[Data, Data]:
    """Return two dates, or a date and a constant, as texts of equal width."""
    one, other = _beside_date(left), _beside_date(right)
    fsp = max(one.fsp, other.fsp)
    return _widen(one, fsp), _widen(other, fsp)


def _beside_date(value: Value) -> Value:
    if value.kind is Kind.DATETIME:
        return value
    if value.is_constant and value.kind is Kind.TEXT and not value.is_literal:
        return parse_date(value.data.as_py())
    if value.is_constant and value.kind is Kind.INT:
        return _number_date(str(value.data.as_py()))
    raise NotExactError(f"a date beside {value.kind.value}")


def _widen(value: Value, fsp: int) -> Data:
    missing = _MIDNIGHT if value.fsp < 0 <= fsp else ""
    digits = fsp - max(value.fsp, 0)
    if digits > 0:
        missing += ("" if value.fsp > 0 else ".") + "0" * digits
    return pc.binary_join_element_wise(value.data, missing, "") if missing else value.data


# -- functions ---------------------------------------------------------------------------------------------------------


def _date_argument(value: Value) -> Value:
    if value.kind is Kind.TEXT and value.is_constant:
        return parse_date(value.data.as_py())
    if value.kind is not Kind.DATETIME:
        raise NotExactError(f"a date function of {value.kind.value}")
    return value


def _day(text: str) -> dt.date:
    try:
        return dt.date.fromisoformat(text[:_DATE_WIDTH])
    except ValueError:
        raise EvaluationError(f"Incorrect datetime value: {shown(text)}") from None


CUT_PARTS: Mapping[str, tuple[int, int]] = {
    "year": (0, 4),
    "month": (5, 7),
    "dayofmonth": (8, 10),
    "hour": (11, 13),
    "minute": (14, 16),
    "second": (17, 19),
}
COMPUTED_PARTS: Mapping[str, Callable[[str], int]] = {
    "quarter": lambda text: (int(text[5:7]) + 2) // 3,
    "dayofweek": lambda text: _day(text).isoweekday() % 7 + 1,
    "weekday": lambda text: _day(text).weekday(),
    "dayofyear": lambda text: _day(text).timetuple().tm_yday,
    "to_days": lambda text: _day(text).toordinal() + 365,
}


@null_for_null
def date_part(name: str, value: Value) -> Value:
    if name in ("hour", "minute", "second") and value.kind is Kind.DURATION:
        raise NotExactError(f"{name.upper()}() of a TIME")
    moment = _date_argument(value)
    if name in COMPUTED_PARTS:
        return Value(Kind.INT, map_values(COMPUTED_PARTS[name], pa.int64(), moment.data))
    start, stop = CUT_PARTS[name]
    if start > _DATE_WIDTH and moment.fsp < 0:
        return Value(Kind.INT, pc.if_else(pc.is_null(moment.data), None, pa.scalar(0, pa.int64())))
    return Value(Kind.INT, pc.cast(pc.utf8_slice_codeunits(moment.data, start, stop), pa.int64()))


def date(value: Value) -> Value:
    return Value(Kind.DATETIME, pc.utf8_slice_codeunits(_date_argument(value).data, 0, _DATE_WIDTH), fsp=-1)


_FORMATS: Mapping[str, Callable[[str], str]] = {
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
    if layout.kind is not Kind.TEXT or not layout.is_constant:
        raise NotExactError("DATE_FORMAT() with a format that is not a constant")
    moment = _date_argument(value)
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
    texts = map_values(lambda text: "".join(part(text) for part in parts), pa.string(), moment.data)
    return Value(Kind.TEXT, texts, "utf8mb4_bin", Coercibility.COERCIBLE)


# -- arithmetic --------------------------------------------------------------------------------------------------------

_SECONDS: Mapping[str, int] = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400, "WEEK": 604_800}
_MONTHS: Mapping[str, int] = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_MICROS = 1_000_000
_LONGEST_TIME = 838 * 3600 + 59 * 60 + 59


@null_for_null
def shifted(sign: int, moment: Value, amount: Value, unit: Value) -> Value:
    """Return DATE_ADD (``sign`` 1) or DATE_SUB(moment, INTERVAL amount unit)."""
    name = str(unit.data.as_py())
    if name not in _SECONDS and name not in _MONTHS:
        raise NotExactError(f"INTERVAL in units of {name}")
    if amount.kind is not Kind.INT:
        raise NotExactError(f"INTERVAL of {amount.kind.value}")
    date_value = _date_argument(moment)
    is_day = date_value.fsp < 0 and (name in _MONTHS or name in ("DAY", "WEEK"))
    fsp = -1 if is_day else max(date_value.fsp, 0)

    def of(text: str, count: int) -> str:
        start = _moment(text)
        try:
            if name in _MONTHS:
                end = _months_later(start, sign * count * _MONTHS[name])
            else:
                end = start + dt.timedelta(seconds=sign * count * _SECONDS[name])
        except (OverflowError, ValueError):
            raise NotExactError("a date beyond the year 9999") from None
        return _moment_text(end, fsp)

    data = map_values(of, pa.string(), date_value.data, pc.cast(amount.data, pa.int64()))
    return Value(Kind.DATETIME, data, fsp=fsp)


def _moment(text: str) -> dt.datetime:
    try:
        return dt.datetime.fromisoformat(text.ljust(19) if len(text) > _DATE_WIDTH and "." not in text else text)
    except ValueError:
        raise NotExactError(f"the date {text!r}") from None


def _moment_text(moment: dt.datetime, fsp: int) -> str:
    if fsp < 0:
        return f"{moment.year:04}-{moment.month:02}-{moment.day:02}"
    text = f"{moment.year:04}-{moment.month:02}-{moment.day:02} {moment:%H:%M:%S}"
    return text + f".{moment.microsecond:06}"[: fsp + 1] if fsp else text


def _months_later(start: dt.datetime, months: int) -> dt.datetime:
    year, month = divmod(start.year * 12 + start.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return start.replace(year=year, month=month + 1, day=min(start.day, last))


@null_for_null
def datediff(left: Value, right: Value) -> Value:
    one, other = _date_argument(left), _date_argument(right)
    return Value(Kind.INT, map_values(lambda a, b: (_day(a) - _day(b)).days, pa.int64(), one.data, other.data))


@null_for_null
def timestampdiff(unit: Value, start: Value, end: Value) -> Value:
    """Return TIMESTAMPDIFF(unit, start, end): whole units from ``start`` to ``end``."""
    name = str(unit.data.as_py())
    if name != "MICROSECOND" and name not in _SECONDS and name not in _MONTHS:
        raise NotExactError(f"TIMESTAMPDIFF() in units of {name}")

    def of(first: str, last: str) -> int:
        one, other = _moment(first), _moment(last)
        sign = -1 if other < one else 1
        early, late = (other, one) if sign < 0 else (one, other)
        if name in _MONTHS:
            months = (late.year - early.year) * 12 + late.month - early.month
            is_short = (late.day, late.time()) < (early.day, early.time())
            return sign * ((months - is_short) // _MONTHS[name])
        micros = (late - early) // dt.timedelta(microseconds=1)
        return sign * (micros // (1 if name == "MICROSECOND" else _SECONDS[name] * _MICROS))

    one, other = _date_argument(start), _date_argument(end)
    return Value(Kind.INT, map_values(of, pa.int64(), one.data, other.data))


@null_for_null
def last_day(value: Value) -> Value:
    def of(text: str) -> str:
        day = _day(text)
        return day.replace(day=calendar.monthrange(day.year, day.month)[1]).isoformat()

    return Value(Kind.DATETIME, map_values(of, pa.string(), _date_argument(value).data), fsp=-1)


@null_for_null
def time_to_sec(value: Value) -> Value:
    """Return TIME_TO_SEC of a TIME, without its fraction."""
    if value.kind is not Kind.DURATION:
        raise NotExactError(f"TIME_TO_SEC() of {value.kind.value}")
    seconds = map_values(lambda micros: abs(micros) // _MICROS * (-1 if micros < 0 else 1), pa.int64(), value.data)
    return Value(Kind.INT, seconds)


@null_for_null
def time_sum(name: str, value: Value, amount: Value) -> Value:
    if value.kind is not Kind.DURATION:
        raise NotExactError(f"{name}() of {value.kind.value}")
    sign, fsp, other = -1 if name == "SUBTIME" else 1, amount.fsp, amount.data
    if amount.kind is Kind.TEXT and amount.is_constant and not amount.is_literal:
        text = amount.data.as_py()
        fsp, other = len(text.partition(".")[2]), pa.scalar(parse_duration(text), pa.int64())
    elif amount.kind is not Kind.DURATION:
        raise NotExactError(f"{name}() of a TIME and {amount.kind.value}")

    def of(micros: int, more: int) -> int:
        result = micros + sign * more
        if abs(result) > _LONGEST_TIME * _MICROS:
            raise NotExactError("a TIME beyond 838 hours")
        return result

    return Value(Kind.DURATION, map_values(of, pa.int64(), value.data, other), fsp=max(value.fsp, fsp))


_READ_PARTS: Mapping[str, tuple[str, str]] = {
    "Y": ("year", r"\d{4}"),
    "m": ("month", r"\d{1,2}"),
    "c": ("month", r"\d{1,2}"),
    "d": ("day", r"\d{1,2}"),
    "e": ("day", r"\d{1,2}"),
    "H": ("hour", r"\d{1,2}"),
    "k": ("hour", r"\d{1,2}"),
    "i": ("minute", r"\d{1,2}"),
    "s": ("second", r"\d{1,2}"),
    "S": ("second", r"\d{1,2}"),
}


@null_for_null
def str_to_date(value: Value, layout: Value) -> Value:
    """Return STR_TO_DATE(value, layout) of a text that has the constant layout, with a whole date."""
    if value.kind is not Kind.TEXT or layout.kind is not Kind.TEXT or not layout.is_constant:
        raise NotExactError("STR_TO_DATE() with a format that is not a constant")
    pattern, fsp = _pattern_of(layout.data.as_py())

    def of(text: str) -> str:
        found = pattern.fullmatch(text)
        if found is None:
            raise NotExactError(f"STR_TO_DATE() of {text!r}")
        try:
            parts = {name: int(digits) for name, digits in found.groupdict().items()}
            hour, minute, second = (parts.get(name, 0) for name in ("hour", "minute", "second"))
            return _moment_text(dt.datetime(parts["year"], parts["month"], parts["day"], hour, minute, second), fsp)
        except ValueError:
            raise NotExactError(f"STR_TO_DATE() of {text!r}") from None

    return Value(Kind.DATETIME, map_values(of, pa.string(), value.data), fsp=fsp)


def _pattern_of(layout: str) -> tuple[re.Pattern[str], int]:
    pattern, names = "", list[str]()
    chars = iter(layout)
    for char in chars:
        code = next(chars, "") if char == "%" else ""
        if char != "%":
            pattern += re.escape(char)
            continue
        if code not in _READ_PARTS or _READ_PARTS[code][0] in names:
            raise NotExactError(f"%{code} in STR_TO_DATE()")
        name, digits = _READ_PARTS[code]
        names.append(name)
        pattern += f"(?P<{name}>{digits})"
    if not {"year", "month", "day"} <= set(names):
        raise NotExactError("STR_TO_DATE() without a year, month and day")
    return re.compile(pattern, re.ASCII), 0 if len(names) > 3 else -1
