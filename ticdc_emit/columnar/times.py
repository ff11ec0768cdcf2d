"""DATE, DATETIME, TIMESTAMP and TIME: acceptance as canonical text, TIMESTAMP in the changefeed's zone.

Text in the column's layout and in the calendar, as a few checks of the whole column show, stays as it is. Other rows
are parsed one by one, so a shorter or longer fraction is accepted if no digit is lost.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, as_text, extremes, from_byte_matrix, null_mask, text_buffers, to_text
from ticdc_emit.columnar.value_errors import read_each, refuse_any
from ticdc_emit.errors import shown
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

TIME_RANGE = "a TIME lies within -838:59:59 and 838:59:59"
_DATE_LAYOUT, _CLOCK_LAYOUT = "dddd-dd-dd", "dd:dd:dd"
_DATE_TEXT = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DATETIME_TEXT = re.compile(r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_TIME_TEXT = re.compile(r"(-?)(\d{2,3}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_DAYS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _fraction_layout(fsp: int) -> str:
    return "." + "d" * fsp if fsp else ""


@lru_cache(maxsize=32)
def _layout_bounds(layout: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    low = [0x30 if mark == "d" else ord(mark) for mark in layout]
    span = [9 if mark == "d" else 0 for mark in layout]
    return np.array(low, np.uint8), np.array(span, np.uint8)


def _checked_text(text: pa.Array, layout: str, read: Callable[[str], str]) -> pa.Array:
    if pa.types.is_binary(text.type):
        raise TypeError("binary is not a time")

    def read_one(item: str) -> str:
        try:
            return read(item)
        except ValueError as fault:
            raise ValueError(f"{shown(item)}: {fault}") from None

    if len(text) <= FEW:
        rows = text.to_pylist()
        fixed = read_each(rows, read_one)
        return text if fixed == rows else pa.array(fixed, pa.string())
    parts = text_buffers(text)
    fits = parts.lengths == len(layout)
    nulls = null_mask(text)
    if nulls is not None:
        fits &= ~nulls
    cells = _cells(parts.offsets, parts.data, fits, len(layout))
    low, span = _layout_bounds(layout)
    good, in_calendar = (cells - low) <= span, _in_calendar(cells, layout)
    if len(cells) + text.null_count == len(text) and good.all() and in_calendar.all():
        return text
    good = good.all(axis=1) & in_calendar
    regular = fits.copy()
    regular[fits] = good
    odd = ~regular if nulls is None else ~regular & ~nulls
    fixed = read_each(text.filter(pa.array(odd)).to_pylist(), read_one, where=odd)
    return pc.replace_with_mask(text, pa.array(odd), pa.array(fixed, pa.string()))


def _cells(
    offsets: npt.NDArray[np.int32], data: npt.NDArray[np.uint8], fits: npt.NDArray[np.bool_], width: int
) -> npt.NDArray[np.uint8]:
    count = int(fits.sum())
    if count * width == len(data):
        return data.reshape(count, width)
    return data[offsets[:-1][fits][:, None] + np.arange(width)] if count else np.zeros((0, width), np.uint8)


def _in_calendar(cells: npt.NDArray[np.uint8], layout: str) -> npt.NDArray[np.bool_]:
    """Check month, day, hour, minute and second only by their tens digit; the rare other rows are parsed one by one."""
    clock = layout.find(":") - 2
    good = np.ones(len(cells), np.bool_)
    if layout.startswith("dddd"):
        month = cells[:, 5] * np.uint8(10) + cells[:, 6]
        day = cells[:, 8] * np.uint8(10) + cells[:, 9]
        zero = np.uint8(0x30 * 11 & 0xFF)
        good &= ((month - zero - np.uint8(1)) <= 11) & ((day - zero - np.uint8(1)) <= 27)
    if clock >= 0:
        if layout.startswith("dddd"):
            good &= (cells[:, clock] < 0x32) | ((cells[:, clock] == 0x32) & (cells[:, clock + 1] < 0x34))
        good &= (cells[:, clock + 3] < 0x36) & (cells[:, clock + 6] < 0x36)
    return good


def _date_row(text: str) -> str:
    parts = _DATE_TEXT.fullmatch(text)
    if not parts:
        raise ValueError("not a date such as 2024-05-05")
    _check_day(*map(int, parts.groups()))
    return text


def _check_day(year: int, month: int, day: int) -> None:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    if month > 12 or day > (28 if month == 2 and not leap else _DAYS[month] if month else 31):
        raise ValueError("no such day")


def _datetime_row(text: str, fsp: int) -> str:
    parts = _DATETIME_TEXT.fullmatch(text)
    if not parts:
        raise ValueError("not a moment such as 2024-05-05 12:34:56")
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    _check_day(year, month, day)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("no such time of day")
    return f"{text[:10]} {text[11:19]}{_fraction(parts[7], fsp)}"


def _time_row(text: str, fsp: int) -> str:
    parts = _TIME_TEXT.fullmatch(text)
    if not parts:
        raise ValueError("not a time such as -12:34:56")
    sign, hour, minute, second, fraction = parts.groups()
    if int(minute) > 59 or int(second) > 59:
        raise ValueError("no such time")
    shown = f"{int(hour):02d}:{minute}:{second}{_fraction(fraction, fsp)}"
    if int(hour) > 838 or (shown.startswith("838:59:59.") and shown[10:].strip("0")):
        raise ValueError(TIME_RANGE)
    return sign + shown if shown.strip("0:.") else shown


def _fraction(digits: str | None, fsp: int) -> str:
    digits = digits or ""
    if digits[fsp:].strip("0"):
        raise ValueError(f"more than the column's {fsp} fraction digits")
    return "." + digits[:fsp].ljust(fsp, "0") if fsp else ""


_UNITS = ("s", "ms", "ms", "ms", "us", "us", "us")  # the coarsest Arrow unit that holds each fsp
_UNIT_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_FIRST_DAY, _LAST_DAY = -719528, 2932896  # 0000-01-01 and 9999-12-31
_MAX_TIME_S = 838 * 3600 + 59 * 60 + 59
_ZERO_MOMENT = "0000-00-00 00:00:00"
_DAY_WIDTH, _SECONDS_WIDTH = len("2024-05-05"), len("2024-05-05 12:34:56")


def accept_date(array: pa.Array) -> pa.Array:
    kind = array.type
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind):  # a date64 is milliseconds
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            raise TypeError("a timestamp with a zone is not a day: cast it to date")
        days = array.cast(pa.date32(), safe=False)
        timed = pc.not_equal(days.cast(kind), array).fill_null(False)
        refuse_any(np.asarray(timed), "the value has a time of day", "Cast the column to date")
        array, kind = days, pa.date32()
    if pa.types.is_date32(kind):
        days = array
        if len(days) <= FEW and (texts := _few_texts(days, _DAY_WIDTH, str)) is not None:
            return texts
        _refuse_outside(days.view(pa.int32()), _FIRST_DAY, _LAST_DAY, "the year is outside 0..9999")
        return to_text(days)
    return _checked_text(as_text(array), _DATE_LAYOUT, _date_row)


def accept_datetime(column: Column, array: pa.Array, zone: str) -> pa.Array:
    """Return DATETIME/TIMESTAMP values as ``YYYY-MM-DD HH:MM:SS[.f]``; instants are shown in ``zone``."""
    kind, fsp = array.type, column.fraction_digits
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_date(kind):
        array, kind = array.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if pa.types.is_timestamp(kind):
        text = _datetime_text(_wall_clock(array, zone), fsp)
    else:
        layout = f"{_DATE_LAYOUT} {_CLOCK_LAYOUT}{_fraction_layout(fsp)}"
        text = _checked_text(as_text(array), layout, lambda row: _datetime_row(row, fsp))
    if column.type == MySQLType.TIMESTAMP:
        _refuse_beyond_timestamp(text, zone)
    return text


@lru_cache(maxsize=32)
def _timestamp_bounds(zone: str) -> tuple[str, str]:
    instants = pa.array([1, (1 << 31) - 1], pa.timestamp("s", tz="UTC"))
    first, last = _wall_clock(instants, zone).cast(pa.string()).to_pylist()
    return first, f"{last}.999999"


def _refuse_beyond_timestamp(text: pa.Array, zone: str) -> None:
    first, last = _timestamp_bounds(zone)
    bounds = extremes(text)
    if bounds is None or (bounds[0] >= first and bounds[1] <= last):
        return
    beyond = pc.or_(pc.less(text, first), pc.greater(text, last))
    beyond = pc.and_not(beyond, pc.starts_with(text, _ZERO_MOMENT)).fill_null(False)
    refuse_any(np.asarray(beyond), f"a TIMESTAMP is zero or lies in {first}..{last} ({zone})")


def _wall_clock(array: pa.Array, zone: str) -> pa.Array:
    kind = array.type
    if kind.tz is None:
        return array
    if zone == "UTC":
        return array.view(pa.timestamp(kind.unit))
    try:
        return pc.local_timestamp(array.cast(pa.timestamp(kind.unit, tz=zone)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # Arrow found no zone database on this machine
        return _wall_clock_by_row(array, zone)


def _wall_clock_by_row(array: pa.Array, zone: str) -> pa.Array:
    place, utc = ZoneInfo(zone), dt.timezone.utc
    per_second = 10 ** _UNIT_DIGITS[array.type.unit]
    ticks = array.cast(pa.int64())
    moments = np.asarray(ticks.fill_null(0))
    seconds, inverse = np.unique(moments // per_second, return_inverse=True)
    epoch = dt.datetime(1970, 1, 1, tzinfo=utc)
    local_times = [(epoch + dt.timedelta(seconds=int(at))).astimezone(place) for at in seconds]
    shift = [round((moment.utcoffset() or dt.timedelta()).total_seconds()) for moment in local_times]
    local = moments + np.array(shift, np.int64)[inverse] * per_second
    return pa.array(local, pa.int64(), mask=null_mask(array)).cast(pa.timestamp(array.type.unit))


def _few_texts(times: pa.Array, width: int, show: Callable[[Any], str]) -> pa.Array | None:
    """Return ``width`` characters per moment; ``None`` if one is outside Python's calendar, or loses digits."""
    try:
        texts = [None if each is None else show(each) for each in times.to_pylist()]
    except (OverflowError, ValueError):
        return None
    if any(text[width:].strip("0.") for text in texts if text):
        return None
    return pa.array([None if text is None else text[:width] for text in texts], pa.string())


def _datetime_text(clock: pa.Array, fsp: int) -> pa.Array:
    unit = _UNITS[fsp]
    width = _SECONDS_WIDTH + (fsp + 1 if fsp else 0)
    if len(clock) <= FEW and clock.type.unit != "ns":
        texts = _few_texts(clock, width, lambda moment: moment.isoformat(" ", "microseconds"))
        if texts is not None:
            return texts
    try:
        fitted = clock if clock.type.unit == unit else clock.cast(pa.timestamp(unit))
    except pa.ArrowInvalid:
        coarse = clock.cast(pa.timestamp(unit), safe=False)
        refuse_any(
            np.asarray(pc.not_equal(coarse.cast(clock.type), clock).fill_null(False)),
            f"more than the column's {fsp} fraction digits",
            "Round the column, as TiDB does when it stores a value",
        )
        raise
    ticks = fitted.view(pa.int64())
    per_second = 10 ** _UNIT_DIGITS[unit]
    seconds_low, seconds_high = _FIRST_DAY * 86400, (_LAST_DAY + 1) * 86400
    _refuse_outside(ticks, seconds_low * per_second, seconds_high * per_second - 1, "the year is outside 0..9999")
    text = to_text(fitted)
    surplus = _UNIT_DIGITS[unit] - fsp
    if not surplus:
        return text
    extra = np.asarray(ticks.fill_null(0)) % 10**surplus != 0
    refuse_any(extra, f"more than the column's {fsp} fraction digits", "Round the column to its fsp")
    return pc.utf8_slice_codeunits(text, 0, 20 + fsp)


def without_fraction(texts: pa.Array) -> pa.Array:
    """Return the texts of TIME without what is behind the point."""
    return pc.replace_substring_regex(texts, r"\.[0-9]+$", "")


def accept_time(column: Column, array: pa.Array) -> pa.Array:
    """Return TIME values as ``[-]HH:MM:SS[.f]``; durations, times of day and text up to 838:59:59."""
    kind, fsp = array.type, column.fraction_digits
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        ticks = array.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
        return _clock_text(ticks, 10 ** _UNIT_DIGITS[kind.unit], fsp)
    return _checked_text(as_text(array), _CLOCK_LAYOUT + _fraction_layout(fsp), lambda row: _time_row(row, fsp))


def _clock_text(ticks: pa.Array, per_second: int, fsp: int) -> pa.Array:
    values = np.asarray(ticks.fill_null(0))
    limit = _MAX_TIME_S * per_second
    refuse_any((values > limit) | (values < -limit), TIME_RANGE)
    size = np.abs(values)
    step = max(per_second // 10**fsp, 1)
    refuse_any(size % step != 0, f"more than the column's {fsp} fraction digits", "Round the column to its fsp")
    seconds, fraction = size // per_second, size % per_second * 10**6 // per_second
    width = 10 + (fsp + 1 if fsp else 0)
    cells = np.full((len(values), width), 0x30, np.uint8)
    cells[:, 0] = 0x2D
    hours = seconds // 3600
    _put_digits(cells[:, 1:4], hours)
    cells[:, 4] = cells[:, 7] = 0x3A
    _put_digits(cells[:, 5:7], seconds // 60 % 60)
    _put_digits(cells[:, 8:10], seconds % 60)
    if fsp:
        cells[:, 10] = 0x2E
        _put_digits(cells[:, 11:], fraction // 10 ** (6 - fsp))
    keep = np.ones(cells.shape, np.bool_)
    keep[:, 0] = values < 0
    keep[:, 1] = hours > 99
    nulls = null_mask(ticks)
    if nulls is not None:
        keep[nulls] = False
    return from_byte_matrix(cells, keep, like=ticks)


def _put_digits(cells: npt.NDArray[np.uint8], number: npt.NDArray[np.int64]) -> None:
    for place in range(cells.shape[1] - 1, -1, -1):
        cells[:, place] = number % 10 + 0x30
        number = number // 10


def _refuse_outside(values: pa.Array, low: int, high: int, reason: str) -> None:
    bounds = extremes(values)
    if bounds is not None and (bounds[0] < low or bounds[1] > high):
        outside = pc.or_(pc.less(values, low), pc.greater(values, high)).fill_null(False)
        refuse_any(np.asarray(outside), reason)


Seconds = npt.NDArray[np.int64]

_DAY_S = 86_400
_LAST_S = 1 << 31  # just beyond the last TIMESTAMP
_MOMENT_WIDTH = len("2024-05-05 12:34:56")


def in_utc(column: Column, texts: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP text in UTC; zero stays. Raises :class:`ValueRefused` for what clocks of ``zone`` never show."""
    if zone == "UTC":
        return texts
    zero = pc.starts_with(texts, "0000-00-00")
    heads = pc.utf8_slice_codeunits(pc.if_else(zero, None, texts), 0, _MOMENT_WIDTH)
    try:
        clock = heads.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        partly = pc.match_substring_regex(heads, "^.{4}(-00|-..-00)").fill_null(False)
        refuse_any(np.asarray(partly), f"{column.name}: a TIMESTAMP has a month and a day, or it is zero")
        raise
    local = np.asarray(clock.cast(pa.int64()).fill_null(0))
    shift = _offset_at(local - _offset_at(local, zone), zone)
    nulls = null_mask(clock)
    refuse_any(
        _offset_at(local - shift, zone) != shift,
        f"{column.name}: the clocks of {zone} skip this TIMESTAMP",
        "Give the moment in the changefeed's time zone, or as an instant",
        nulls=nulls,
    )
    moved = pa.array(local - shift, pa.int64(), mask=nulls).cast(pa.timestamp("s")).cast(pa.string())
    if column.decimal > 0:
        moved = pc.binary_join_element_wise(moved, pc.utf8_slice_codeunits(texts, _MOMENT_WIDTH), "")
    return pc.if_else(zero, texts, moved)


def _offset_at(instants: Seconds, zone: str) -> Seconds:
    since, offsets = _transitions(zone)
    offsets_then: Seconds = offsets[np.searchsorted(since, instants, side="right") - 1]
    return offsets_then


@lru_cache(maxsize=32)
def _transitions(zone: str) -> tuple[Seconds, Seconds]:
    # every day is looked at, and bisected where the offset changes: no zone has changed twice within a day
    place, epoch = ZoneInfo(zone), dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)

    def offset(at: int) -> int:
        there = (epoch + dt.timedelta(seconds=at)).astimezone(place)
        return round((there.utcoffset() or dt.timedelta()).total_seconds())

    first = -2 * _DAY_S
    since, offsets = [np.iinfo(np.int64).min], [offset(first)]
    for day in range(first, _LAST_S + 2 * _DAY_S, _DAY_S):
        if offset(day) == offsets[-1]:
            continue
        low, high = day - _DAY_S, day
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == offsets[-1] else (low, middle)
        since.append(high)
        offsets.append(offset(high))
    return np.array(since, np.int64), np.array(offsets, np.int64)
