"""DATE, DATETIME, TIMESTAMP and TIME columns: acceptance and text with exactly ``fsp`` fraction digits.

In: Arrow dates, timestamps (with a zone: an instant, shown in the changefeed's zone; without: the wall clock as it is),
durations and times of day, or text, the only form for zero dates (``0000-00-00``, ``2024-00-00``) and for values
outside Arrow's and Spark's ranges. Out: text, because all protocols but Debezium print text (and Debezium parses
numbers from it).

:mod:`ticdc_emit.columnar.time_texts` checks and rewrites what comes as text.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, as_text, extremes, from_byte_matrix, null_mask, to_text
from ticdc_emit.columnar.faults import refuse_any
from ticdc_emit.columnar.time_texts import TIME_RANGE, date_text, datetime_text, time_text
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

__all__ = ["accept_date", "accept_datetime", "accept_time", "fsp_of"]

_UNITS = ("s", "ms", "ms", "ms", "us", "us", "us")  # the coarsest Arrow unit that holds each fsp
_UNIT_DIGITS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
_FIRST_DAY, _LAST_DAY = -719528, 2932896  # 0000-01-01 and 9999-12-31
_MAX_TIME_S = 838 * 3600 + 59 * 60 + 59
_ZERO_MOMENT = "0000-00-00 00:00:00"
_DAY_WIDTH, _SECONDS_WIDTH = len("2024-05-05"), len("2024-05-05 12:34:56")


def fsp_of(column: Column) -> int:
    """Return the column's fractional seconds precision, 0 to 6."""
    return max(column.decimal, 0)


def accept_date(array: pa.Array) -> pa.Array:
    """Return DATE values as ``YYYY-MM-DD``."""
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
    return date_text(as_text(array))


def accept_datetime(column: Column, array: pa.Array, zone: str) -> pa.Array:
    """Return DATETIME/TIMESTAMP values as ``YYYY-MM-DD HH:MM:SS[.f]``; instants are shown in ``zone``."""
    kind, fsp = array.type, fsp_of(column)
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_date(kind):
        array, kind = array.cast(pa.timestamp("ms")), pa.timestamp("ms")
    if pa.types.is_timestamp(kind):
        text = _datetime_text(_wall_clock(array, zone), fsp)
    else:
        text = datetime_text(as_text(array), fsp)
    if column.type == MySQLType.TIMESTAMP:
        _refuse_beyond_timestamp(text, zone)
    return text


@lru_cache(maxsize=32)
def _timestamp_bounds(zone: str) -> tuple[str, str]:
    """Return the first and last TIMESTAMP as ``zone`` shows them (in UTC: 1970-01-01 00:00:01, 2038-01-19 03:14:07)."""
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
    """Return the first ``width`` characters of a few days or moments as text.

    ``None`` if one is outside the years of Python's calendar, or loses digits.
    """
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


def accept_time(column: Column, array: pa.Array) -> pa.Array:
    """Return TIME values as ``[-]HH:MM:SS[.f]``; durations, times of day and text up to 838:59:59."""
    kind, fsp = array.type, fsp_of(column)
    if pa.types.is_null(kind):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        ticks = array.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()).cast(pa.int64())
        return _clock_text(ticks, 10 ** _UNIT_DIGITS[kind.unit], fsp)
    return time_text(as_text(array), fsp)


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
