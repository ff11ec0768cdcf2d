"""TiDB's column-level row checksum: a CRC32 over the values of a row, in the order of column ids.

In: the data columns of a table with their accepted arrays (``columnar.values``), and the changefeed's time zone. Out:
one ``uint32`` per row. NULL adds nothing; every other value adds these bytes:

=====================================  =================================================================
integers, YEAR, BIT, ENUM, SET         64 bits, little-endian; signed values are sign-extended
FLOAT, DOUBLE                          the bits of the double, little-endian
VECTOR                                 number of dimensions (32 bits), then float32 values, little-endian
everything else                        length in bytes (32 bits, little-endian), then text or bytes
=====================================  =================================================================

TIMESTAMP is taken in UTC. It comes as text in the changefeed's zone, and where clocks are set back that text means two
instants: Go's ``time.Date`` takes the offset that holds at (wall clock read as UTC - offset then), so it is the earlier
instant west of Greenwich and the later one east of it.

Rule sources: semantics 3.2; reference ``pingcap/tidb: pkg/util/rowcodec/common.go`` (appendDatumForChecksum),
``pkg/types/time.go`` (ConvertTimeZone), ``pkg/types/core_time.go`` (GoTime), Go's ``time.Date``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import lru_cache
from zlib import crc32
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.assemble import join
from ticdc_emit.columnar.buffers import element_lengths, fixed_values, from_bytes, null_mask
from ticdc_emit.columnar.faults import refuse_any
from ticdc_emit.columnar.values import plain_text
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.types import INTEGER_TYPES, MySQLType

__all__ = ["row_crc"]

Seconds = npt.NDArray[np.int64]

_WORDS = INTEGER_TYPES | {MySQLType.YEAR, MySQLType.BIT, MySQLType.ENUM, MySQLType.SET}
_FLOATS = {MySQLType.FLOAT, MySQLType.DOUBLE}
_DAY_S = 86_400
_LAST_S = 1 << 31  # just beyond the last TIMESTAMP
_SECONDS_WIDTH = len("2024-05-05 12:34:56")


def row_crc(columns: Sequence[tuple[Column, pa.Array]], zone: str) -> npt.NDArray[np.uint32]:
    """Return the checksum of every row. ``columns``: every data column of the table, in any order.

    Raises :class:`ValueFault` for a TIMESTAMP that the clocks of ``zone`` never show.
    """
    if not columns:
        return np.zeros(0, np.uint32)
    count = len(columns[0][1])
    in_order = sorted(columns, key=lambda pair: pair[0].id)
    rows = join((part for column, values in in_order for part in _parts(column, values, zone)), count)
    return np.fromiter(map(crc32, rows.to_numpy(zero_copy_only=False)), np.uint32, count)


def _parts(column: Column, values: pa.Array, zone: str) -> Iterator[pa.Array]:
    kind = column.type
    if kind in _WORDS:
        yield _fixed(values.dictionary_decode() if pa.types.is_dictionary(values.type) else values, 8)
    elif kind in _FLOATS:
        yield _fixed(values.cast(pa.float64()), 8)
    elif kind == MySQLType.VECTOR_FLOAT32:
        yield from _vector_parts(values)
    else:
        text = _in_utc(column, values, zone) if kind == MySQLType.TIMESTAMP else plain_text(column, values)
        yield _words32(element_lengths(text), values)
        yield text


def _fixed(values: pa.Array, width: int) -> pa.Array:
    """Return the little-endian bytes of fixed-width values."""
    ends = np.arange(0, (len(values) + 1) * width, width, dtype=np.int32)
    return from_bytes(ends, fixed_values(values, np.dtype((np.void, width))).view(np.uint8), like=values, binary=True)


def _words32(numbers: npt.NDArray[np.int32], like: pa.Array) -> pa.Array:
    """Return numbers as four bytes each, null where ``like`` is."""
    return _fixed(pa.array(numbers, pa.int32(), mask=null_mask(like)), 4)


def _vector_parts(texts: pa.Array) -> Iterator[pa.Array]:
    inner = pc.utf8_slice_codeunits(texts, 1, -1)
    items = pc.split_pattern(inner, ",")
    sizes = pc.if_else(pc.equal(inner, ""), 0, pc.list_value_length(items)).fill_null(0).cast(pa.int32())
    numbers = items.flatten()
    numbers = numbers.filter(pc.not_equal(numbers, "")).cast(pa.float32())  # the one item of [] is empty
    yield _words32(sizes.to_numpy(), texts)
    ends = np.zeros(len(texts) + 1, np.int32)
    np.cumsum(sizes.to_numpy() * 4, out=ends[1:])
    yield from_bytes(ends, fixed_values(numbers, np.float32).view(np.uint8), binary=True)


def _in_utc(column: Column, texts: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP text of ``zone`` as text in UTC; the zero timestamp stays as it is."""
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
    found: Seconds = offsets[np.searchsorted(since, instants, side="right") - 1]
    return found


@lru_cache(maxsize=32)
def _transitions(zone: str) -> tuple[Seconds, Seconds]:
    """Return from which instant on which offset holds, for the years of TIMESTAMP.

    Found by asking for every day and halving where the answer changes: no zone ever changed twice within a day.
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
