"""Dates, moments and times of day that come as text: checked, and rewritten in the column's own layout.

In: a string column. Out: the same text, if every row has the layout (``dddd-dd-dd dd:dd:dd.dddddd``, with the column's
fraction digits) and lies in the calendar, which columns of bytes tell. Other rows are parsed one by one and rewritten,
so a shorter or longer fraction is accepted if no digit is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, null_mask, text_buffers
from ticdc_emit.columnar.faults import read_each, shown

__all__ = ["TIME_RANGE", "date_text", "datetime_text", "time_text"]

TIME_RANGE = "a TIME lies within -838:59:59 and 838:59:59"
_DATE_LAYOUT, _CLOCK_LAYOUT = "dddd-dd-dd", "dd:dd:dd"
_DATE_TEXT = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_DATETIME_TEXT = re.compile(r"(\d{4})-(\d{2})-(\d{2})[ T](\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_TIME_TEXT = re.compile(r"(-?)(\d{2,3}):(\d{2}):(\d{2})(?:\.(\d+))?", re.ASCII)
_DAYS = (0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def date_text(text: pa.Array) -> pa.Array:
    """Return text as dates (``YYYY-MM-DD``); zero dates are dates."""
    return _checked_text(text, _DATE_LAYOUT, _date_row)


def datetime_text(text: pa.Array, fsp: int) -> pa.Array:
    """Return text as moments (``YYYY-MM-DD HH:MM:SS[.f]``) with ``fsp`` fraction digits."""
    layout = f"{_DATE_LAYOUT} {_CLOCK_LAYOUT}{_fraction_layout(fsp)}"
    return _checked_text(text, layout, lambda row: _datetime_row(row, fsp))


def time_text(text: pa.Array, fsp: int) -> pa.Array:
    """Return text as times (``[-]HH:MM:SS[.f]``) with ``fsp`` fraction digits."""
    return _checked_text(text, _CLOCK_LAYOUT + _fraction_layout(fsp), lambda row: _time_row(row, fsp))


def _fraction_layout(fsp: int) -> str:
    return "." + "d" * fsp if fsp else ""


@lru_cache(maxsize=32)
def _layout_bounds(layout: str) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8]]:
    low = [0x30 if mark == "d" else ord(mark) for mark in layout]
    span = [9 if mark == "d" else 0 for mark in layout]
    return np.array(low, np.uint8), np.array(span, np.uint8)


def _checked_text(text: pa.Array, layout: str, read: Callable[[str], str]) -> pa.Array:
    """Return ``text`` if every row has the layout and lies in the calendar; rewrite the other rows one by one."""
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
