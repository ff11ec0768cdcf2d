"""TIMESTAMP in UTC. In: text in the changefeed's zone. Out: text of the same instant in UTC.

When clocks are set back, a local time means two instants. Go's ``time.Date`` uses the offset that applies at (wall
clock read as UTC - offset then), which gives the earlier instant west of Greenwich and the later one east of it. When
clocks are set forward, some local times do not exist, and TiDB refuses them.

Rule sources: reference ``pingcap/tidb: pkg/types/time.go`` (ConvertTimeZone), ``pkg/types/core_time.go`` (GoTime), Go's
``time.Date``.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.columnar.faults import refuse_any
from ticdc_emit.schema.model import Column

__all__ = ["in_utc"]

Seconds = npt.NDArray[np.int64]

_DAY_S = 86_400
_LAST_S = 1 << 31  # just beyond the last TIMESTAMP
_SECONDS_WIDTH = len("2024-05-05 12:34:56")


def in_utc(column: Column, texts: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP text of ``zone`` as text in UTC; the zero timestamp stays as it is.

    Raises :class:`ValueFault` for a text that the clocks of ``zone`` never show, or with a zero month or day.
    """
    if zone == "UTC":
        return texts
    zero = pc.starts_with(texts, "0000-00-00")
    heads = pc.utf8_slice_codeunits(pc.if_else(zero, None, texts), 0, _SECONDS_WIDTH)
    try:
        clock = heads.cast(pa.timestamp("s"))
    except pa.ArrowInvalid:
        partly = pc.match_substring_regex(heads, "^.{4}(-00|-..-00)").fill_null(False)
        refuse_any(np.asarray(partly), f"{column.name}: a TIMESTAMP has a month and a day, or it is zero")
        raise
    local = np.asarray(clock.cast(pa.int64()).fill_null(0))
    shift = _offset_at(local - _offset_at(local, zone), zone)
    nulls = null_mask(clock)
    skipped = _offset_at(local - shift, zone) != shift
    refuse_any(
        skipped if nulls is None else skipped & ~nulls,
        f"{column.name}: the clocks of {zone} skip this TIMESTAMP",
        "Give the moment in the changefeed's time zone, or as an instant",
    )
    moved = pa.array(local - shift, pa.int64(), mask=nulls).cast(pa.timestamp("s")).cast(pa.string())
    if column.decimal > 0:
        moved = pc.binary_join_element_wise(moved, pc.utf8_slice_codeunits(texts, _SECONDS_WIDTH), "")
    return pc.if_else(zero, texts, moved)


def _offset_at(instants: Seconds, zone: str) -> Seconds:
    """Return the zone's distance from UTC in seconds at each instant (seconds since the epoch)."""
    since, offsets = _transitions(zone)
    offsets_then: Seconds = offsets[np.searchsorted(since, instants, side="right") - 1]
    return offsets_then


@lru_cache(maxsize=32)
def _transitions(zone: str) -> tuple[Seconds, Seconds]:
    """Return the offsets and the instants from which each applies, for the years of TIMESTAMP.

    It looks at every day and bisects where the offset changes: no zone has changed twice within a day.
    """
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
