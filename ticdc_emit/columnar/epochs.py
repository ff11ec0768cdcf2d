"""Dates and times as Debezium counts them: DATE days, DATETIME ms or us, TIME signed us; TIMESTAMP stays text, in UTC.

A date with a zero month or day becomes null. A TIMESTAMP that is zero in part is refused; a DATETIME only on request.
Years below 100 are read as two digits (0018 is 2018, 0070 is 1970), unless they are wanted as they are. Rule sources:
semantics 2.4; ``pingcap/tiflow: pkg/sink/codec/debezium/codec.go`` (writeDebeziumFieldValue), ``pingcap/tidb:
pkg/types/core_time.go`` (GoTime).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import cache
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import FEW, compact, from_bytes, text_buffers, to_text
from ticdc_emit.columnar.times import in_utc
from ticdc_emit.columnar.value_errors import refuse_any
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import ColumnFlag, MySQLType
from ticdc_emit.tso import LOGICAL_BITS

EARLIEST_ZONED = "1970-01-01T00:00:00"
"""The value for every TIMESTAMP before the first one, including the zero timestamp."""
Years: TypeAlias = Literal["completed", "as-given"]
"""How years below 100 are read: as two digits, or as they are."""

_FIRST_TIMESTAMP = "1970-01-01 00:00:01"
_ZERO_DATE = "0000-00-00"
_ZERO_PART = "-00"  # matches only a zero month or day, because the time of day has no hyphen
_MILLIS_FSP = 3
_ZERO = 0x30
_EPOCH = dt.datetime(1970, 1, 1)
_FOUR_DIGIT_YEAR = 100
_CENTURY, _MONTH, _DAY = (0, 1), (5, 6), (8, 9)  # places of two digits in YYYY-MM-DD
_CLOCK_WIDTH = len(":MM:SS")
_DAY_WIDTH = len("YYYY-MM-DD")


def date_days(texts: pa.Array, years: Years = "completed") -> pa.Array:
    """Return DATE text as days since the epoch, ``int32``."""
    if len(texts) <= FEW and (moments := _few_moments(texts)) is not None:
        return pa.array([None if moment is None else (moment - _EPOCH).days for moment in moments], pa.int32())
    return _dates(compact(texts), years).cast(pa.date32()).view(pa.int32())


def datetime_ticks(
    column: Column, texts: pa.Array, partly_zero: Literal["refused", "null"] = "refused", years: Years = "completed"
) -> pa.Array:
    """Return DATETIME as ms since the epoch, from fsp 4 on as us. Raises :class:`ValueRefused` where ``refused``."""
    unit = "ms" if column.fraction_digits <= _MILLIS_FSP else "us"
    if len(texts) <= FEW and (moments := _few_moments(texts)) is not None:
        tick = dt.timedelta(**{"milliseconds" if unit == "ms" else "microseconds": 1})
        return pa.array([None if moment is None else (moment - _EPOCH) // tick for moment in moments], pa.int64())
    texts = compact(texts)
    if partly_zero == "refused":
        _refuse_partly_zero(texts)
    return _dates(texts, years).cast(pa.timestamp(unit)).view(pa.int64())


def _few_moments(texts: pa.Array) -> list[dt.datetime | None] | None:
    """Return the moments of a few texts, ``None`` if the year of one is below 100 or one is not a moment."""
    try:
        moments = [None if text is None else dt.datetime.fromisoformat(text) for text in texts.to_pylist()]
    except ValueError:
        return None
    return moments if all(moment is None or moment.year >= _FOUR_DIGIT_YEAR for moment in moments) else None


def _refuse_partly_zero(texts: pa.Array) -> None:
    if _has_zero_part(texts):
        partly = pc.and_not(pc.match_substring(texts, _ZERO_PART), pc.starts_with(texts, _ZERO_DATE))
        reason = "no month or no day: TiCDC refuses it unless the date is all zero"
        refuse_any(np.asarray(partly.fill_null(False)), reason)


def _dates(texts: pa.Array, years: Years) -> pa.Array:
    if _has_zero_part(texts):
        texts = compact(pc.if_else(pc.match_substring(texts, _ZERO_PART), pa.scalar(None, pa.string()), texts))
    if years == "as-given" or not _has_zeros(texts, _CENTURY):
        return texts
    century = pc.if_else(pc.less(texts, "0070"), "20", "19")
    full = pc.binary_join_element_wise(century, pc.utf8_slice_codeunits(texts, 2), "")
    return pc.if_else(pc.starts_with(texts, "00"), full, texts)


def _has_zero_part(texts: pa.Array) -> bool:
    return _has_zeros(texts, _MONTH, _DAY)


def _has_zeros(texts: pa.Array, *pairs: tuple[int, int]) -> bool:
    if len(texts) <= FEW:
        return any(text[first : second + 1] == "00" for text in texts.to_pylist() if text for first, second in pairs)
    parts = text_buffers(texts)
    width = int(parts.lengths.max(initial=0))
    if not width:
        return False
    data = parts.data
    return any(int((data[first::width] | data[second::width]).min()) == _ZERO for first, second in pairs)


def clock_micros(texts: pa.Array) -> pa.Array:
    """Return TIME text, ``[-]HH:MM:SS[.f]`` with up to three digits of hours, as us, ``int64``."""
    if len(texts) <= FEW:
        return pa.array([None if text is None else _micros(text) for text in texts.to_pylist()], pa.int64())
    parts = text_buffers(compact(texts))
    filled = parts.lengths > 0
    if not filled.any():
        return pa.nulls(len(texts), pa.int64())
    first = int(filled.argmax())
    text = parts.data[parts.offsets[first] : parts.offsets[first + 1]].tobytes()
    colon = len(text) - text.index(b":")  # the rest has the same width in every row
    data, starts = parts.data, parts.offsets[:-1][filled]
    negative = data[starts] == ord("-")
    if len(starts) * len(text) == len(data) and (parts.lengths[filled] == len(text)).all():
        clock = data.reshape(-1, len(text))[:, -colon - 2 :]
    else:
        clock = data[parts.offsets[1:][filled, None] + np.arange(-colon - 2, 0)]
    amount = _number(clock, 0, 2)
    hundreds = parts.lengths[filled] - negative > colon + 2
    amount[hundreds] += 100 * _number(data[starts[hundreds] + negative[hundreds], None], 0, 1)
    micros = (amount * 3600 + _number(clock, 3, 2) * 60 + _number(clock, 6, 2)) * 1_000_000
    fsp = max(colon - _CLOCK_WIDTH - 1, 0)
    if fsp:
        micros += _number(clock, 9, fsp) * 10 ** (6 - fsp)
    filled_micros = np.zeros(len(texts), np.int64)
    filled_micros[filled] = np.where(negative, -micros, micros)
    return pa.array(filled_micros, mask=None if filled.all() else ~filled)


def _micros(text: str) -> int:
    hours, minutes, seconds = text.removeprefix("-").split(":")
    whole, _, fraction = seconds.partition(".")
    micros = (int(hours) * 3600 + int(minutes) * 60 + int(whole)) * 1_000_000 + int(fraction.ljust(6, "0"))
    return -micros if text.startswith("-") else micros


def _number(rows: npt.NDArray[np.uint8], start: int, digits: int) -> npt.NDArray[np.int64]:
    number = rows[:, start] - np.uint8(_ZERO)
    if digits > 2:  # which a byte does not hold
        number = number.astype(np.int64)
    for place in range(start + 1, start + digits):
        number = number * number.dtype.type(10) + (rows[:, place] - np.uint8(_ZERO))
    whole: npt.NDArray[np.int64] = number.astype(np.int64)
    return whole


def zoned_text(
    column: Column, texts: pa.Array, zone: str, end: str = "", *, early: Literal["epoch", "as-given"] = "epoch"
) -> pa.Array:
    """Return TIMESTAMP text of ``zone`` as ``YYYY-MM-DDTHH:MM:SS[.f]`` in UTC, and ``end``. Below 1970-01-01 00:00:01
    it is :data:`EARLIEST_ZONED`, or, as given, only zero differs: null, or the epoch in a NOT NULL column.
    """
    texts = compact(texts)
    _refuse_partly_zero(texts)
    if early == "as-given":
        return _zoned_as_given(column, texts, zone, end)
    moved = in_utc(column, texts, zone)
    if moved is not texts:
        moved = compact(moved)
    if len(texts) <= FEW:
        pairs = zip(texts.to_pylist(), moved.to_pylist(), strict=True)
        moments = ((text, EARLIEST_ZONED if text and text < _FIRST_TIMESTAMP else to) for text, to in pairs)
        return pa.array([text and to.replace(" ", "T") + end for text, to in moments], pa.string())
    parts = text_buffers(moved)
    width = int(parts.lengths.max(initial=0))  # of every text
    if not width:
        return texts
    longer = width + len(end)
    rows = np.frombuffer(bytearray(bytes(width) + end.encode()) * (len(parts.data) // width), np.uint8)
    kind = np.dtype(f"V{width}")
    np.ndarray(len(rows) // longer, kind, rows, 0, longer)[:] = parts.data.view(kind)
    rows[_DAY_WIDTH::longer] = ord("T")
    moved = from_bytes(parts.offsets // width * longer, rows, like=texts)
    data = text_buffers(texts).data
    years = np.ndarray(len(data) // width, ">u4", data, 0, width)
    if years.min() > int.from_bytes(_FIRST_TIMESTAMP[:4].encode(), "big"):
        return moved
    return pc.if_else(pc.less(texts, _FIRST_TIMESTAMP), EARLIEST_ZONED + end, moved)


def _zoned_as_given(column: Column, texts: pa.Array, zone: str, end: str) -> pa.Array:
    moved = pc.replace_substring(in_utc(column, texts, zone), " ", "T")
    fraction = f".{'0' * column.fraction_digits}" if column.fraction_digits else ""
    zero = pa.scalar(None if column.nullable else EARLIEST_ZONED + fraction, pa.string())
    moved = pc.if_else(pc.starts_with(texts, _ZERO_DATE), zero, moved)
    return pc.binary_join_element_wise(moved, end, "")


COMMIT_TS = Column(0, "commit_ts", MySQLType.LONGLONG, 20, 0, flags=ColumnFlag.UNSIGNED | ColumnFlag.NOT_NULL)
"""TSOs as a column, so that ``columnar.small_batches`` can render them like a table's columns."""

_SHARED = 0.6  # from this share of rows that begin a transaction, each TSO is printed by itself


@cache
def _logical_bits() -> pa.Scalar:
    return pa.scalar(LOGICAL_BITS, pa.uint64())  # not at import: the first scalar of Arrow imports pandas


def commit_times(stamps: pa.Array) -> pa.Array:
    if len(stamps) <= FEW:
        return pa.array([stamp >> LOGICAL_BITS for stamp in stamps.to_pylist()], pa.uint64())
    return pc.call_function("shift_right", [stamps, _logical_bits()])


def tso_text(column: Column, stamps: pa.Array) -> pa.Array:
    return _by_runs(stamps, to_text)


def tso_ms_text(column: Column, stamps: pa.Array) -> pa.Array:
    return _by_runs(stamps, lambda distinct: to_text(commit_times(distinct)))


def _by_runs(stamps: pa.Array, show: Callable[[pa.Array], pa.Array]) -> pa.Array:
    numbers = stamps.to_numpy()
    if len(numbers) < 2:
        return show(stamps)
    starts = np.append(True, numbers[1:] != numbers[:-1])
    if np.count_nonzero(starts) > _SHARED * len(starts):
        return show(stamps)
    return show(pa.array(numbers[starts])).take(pa.array(np.cumsum(starts, dtype=np.int32) - 1))
