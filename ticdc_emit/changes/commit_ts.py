"""The commit_ts of changes, a TSO in 1..2^64-1: checked, or made from ``commit_time``.

TSOs of unlikely times are accepted with a warning, as what they do can be undone. A changefeed refuses rows after 2099:
they would raise its watermark beyond all rows that come later, for ever.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.columnar.buffers import null_mask
from ticdc_emit.errors import (
    InvalidValueError,
    MissingColumnError,
    RowError,
    TicdcEmitWarning,
    UnsupportedTypeError,
    shown,
    warn_caller,
)
from ticdc_emit.tso import LOGICAL_BITS, MAX_TSO, physical_ms, tso_from_datetime, tso_from_micros

logger = logging.getLogger(__name__)

_EPOCH = dt.datetime(1970, 1, 1)
COUNTS = range(10**9, 1_262_304_000_000 << LOGICAL_BITS)
"""TSOs from before 2010 that look like a count since 1970; smaller numbers are accepted, because tests use them."""

_SECONDS_OF_2100 = 4_102_444_800
_TSO_OF_2100 = _SECONDS_OF_2100 * 1000 << LOGICAL_BITS
_PER_SECOND = {"seconds": 1, "milliseconds": 10**3, "microseconds": 10**6, "a count": 10**9}
_TSO_REMEDY = "A TSO is a whole number in 0..2^64-1"
_NO_COMMIT = "0 is not the TSO of a commit"
_COMMIT_REMEDY = "The TSO of a commit is a whole number in 1..2^64-1"


_FAR_REMEDY = (
    "Give TSOs of the years before 2100, such as ticdc_emit.tso.compose(milliseconds), or give commit_time instead"
)


class CommitTsWarning(TicdcEmitWarning):
    """A commit_ts is of a time before 2010 or after 2099: it looks like a count since 1970, not like a TSO."""


def warn_unlikely(commit_ts: int) -> bool:
    """Warn if a commit_ts looks like seconds, ms, us or ns since 1970; return whether it does."""
    if is_far(commit_ts):
        message = f"{_far(commit_ts)}. {_FAR_REMEDY}"
        logger.info(message)
        warn_caller(message, CommitTsWarning)
        return True
    if commit_ts not in COUNTS:
        return False
    unit = next(unit for unit, per_second in _PER_SECOND.items() if commit_ts < per_second * _SECONDS_OF_2100)
    remedy = {
        "seconds": "tso.compose(seconds * 1000)",
        "milliseconds": "tso.compose(milliseconds)",
        "microseconds": "tso.tso_from_micros(microseconds)",
    }.get(unit, "tso.tso_from_datetime(moment)")
    message = (
        f"commit_ts={commit_ts} is a TSO of {_day_of(commit_ts)}: it looks like {unit} since 1970. "
        f"Give TSOs, such as ticdc_emit.{remedy}, or give commit_time instead"
    )
    logger.info(message)
    warn_caller(message, CommitTsWarning)
    return True


def is_far(commit_ts: int) -> bool:
    """Return whether a TSO is of a time after 2099."""
    return commit_ts >= _TSO_OF_2100


def refuse_far(stamps: pa.Array, table: str) -> None:
    """Raise :class:`InvalidValueError` for rows whose commit_ts (``uint64``) is of a time after 2099."""
    values = np.asarray(stamps)
    far = values >= np.uint64(_TSO_OF_2100)
    if far.any():
        what = "{}: its watermark would make all later rows late"
        raise _refused(np.flatnonzero(far), lambda row: what.format(_far(int(values[row]))), _FAR_REMEDY, table)


def _refused(
    rows: Iterable[int], what: Callable[[int], str], remedy: str, table: str, column: str = "commit_ts"
) -> RowError:
    places = [int(row) for row in rows]

    def error(number: int) -> InvalidValueError:
        place = {"position": places[number]}
        return InvalidValueError(what(places[number]), remedy=remedy, table=table, column=column, row=place)

    return RowError.first(places, error)


def _far(commit_ts: int) -> str:
    looks = commit_ts < 10**9 * _SECONDS_OF_2100
    hint = ", and looks like nanoseconds since 1970" if looks else ""
    return f"commit_ts={commit_ts} is a TSO of {_day_of(commit_ts)}{hint}"


def _day_of(commit_ts: int) -> str:
    return (_EPOCH + dt.timedelta(milliseconds=physical_ms(commit_ts))).date().isoformat()


def check_tso(value: Any, **place: Any) -> int:
    """Return ``value`` as a TSO; :class:`InvalidValueError` with the given place for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 0 <= value <= MAX_TSO:
        raise InvalidValueError(f"{shown(value)} is not a TSO", remedy=_TSO_REMEDY, **place)
    return int(value)


def missing_commit_ts(
    table: str | None = None, *, moment: str = "a timestamp with a zone", row: dict[str, object] | None = None
) -> MissingColumnError:
    """Return the error of changes, or of one ``row``, without a time; ``moment``: what ``commit_time`` has to be."""
    return MissingColumnError(
        f"{'the changes have' if row is None else 'a change has'} neither commit_ts nor commit_time",
        remedy=f"Add commit_ts (TSO) or commit_time ({moment})",
        table=table,
        column="commit_ts",
        row=row,
    )


def commit_ts_of(row: Mapping[str, Any], position: int, table: str) -> int:
    """Return the commit_ts of a row, or the TSO of its ``commit_time`` (an aware datetime)."""
    stamp, moment = row.get("commit_ts"), row.get("commit_time")
    place: dict[str, object] = {"position": position}
    if stamp is not None:
        return _commit(stamp, table, "commit_ts", position)
    if moment is None:
        raise missing_commit_ts(table, moment="a datetime with a tzinfo", row=place)
    if not isinstance(moment, dt.datetime) or moment.tzinfo is None:
        is_moment = isinstance(moment, dt.datetime)
        raise InvalidValueError(
            "commit_time has no time zone" if is_moment else f"commit_time is {shown(moment)}, not a datetime",
            remedy="Give commit_time as a datetime with a tzinfo, or commit_ts as a TSO",
            table=table,
            column="commit_time",
            row=place,
        )
    return _commit(tso_from_datetime(moment), table, "commit_time", position)


def _commit(value: Any, table: str, column: str, position: int) -> int:
    """Return the TSO of a commit, which is not 0: nothing is committed before every version of every table."""
    stamp = check_tso(value, table=table, column=column, row={"position": position})
    if not stamp:
        raise _refused([position], lambda _: _NO_COMMIT, _COMMIT_REMEDY, table, column)
    return stamp


def commit_ts_array(batch: pa.RecordBatch, table: str) -> pa.Array:
    """Return the commit_ts of a batch as ``uint64``, or the TSO of its ``commit_time`` (a timestamp with a zone)."""
    if "commit_ts" in batch.schema.names:
        stamps = batch.column("commit_ts")
        if not (pa.types.is_integer(stamps.type) or pa.types.is_decimal(stamps.type) or pa.types.is_null(stamps.type)):
            raise UnsupportedTypeError(
                f"commit_ts is {stamps.type}, not a whole number",
                remedy="Give commit_ts as int64 or uint64, or commit_time as a timestamp with a zone",
                table=table,
                column="commit_ts",
            )
        _refuse_null(stamps, table, "commit_ts")
        if stamps.type == pa.uint64():
            return _without_zero(stamps, table, "commit_ts")
        try:
            return _without_zero(stamps.cast(pa.uint64()), table, "commit_ts")
        except pa.ArrowInvalid:
            _refuse_beyond(stamps.to_pylist(), table, "commit_ts")
            raise
    if "commit_time" not in batch.schema.names:
        raise missing_commit_ts(table)
    return _from_moments(batch.column("commit_time"), table)


def _from_moments(moments: pa.Array, table: str) -> pa.Array:
    if not pa.types.is_timestamp(moments.type) or moments.type.tz is None:
        raise UnsupportedTypeError(
            f"commit_time is {moments.type}, which has no time zone",
            remedy="Give commit_time as a timestamp with a zone, or commit_ts as a TSO",
            table=table,
            column="commit_time",
        )
    _refuse_null(moments, table, "commit_time")
    try:
        micros = moments.cast(pa.timestamp("us", tz="UTC"), safe=moments.type.unit != "ns").cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid as fault:
        raise InvalidValueError(
            f"a commit_time is out of range: {fault}",
            remedy="Give moments of the years 1970 to 4199",
            table=table,
            column="commit_time",
        ) from None
    distinct, places = np.unique(micros, return_inverse=True)
    stamps = [tso_from_micros(moment) for moment in distinct.tolist()]
    if stamps and not 0 <= stamps[0] <= stamps[-1] <= MAX_TSO:
        _refuse_beyond([stamps[place] for place in places.tolist()], table, "commit_time")
    return _without_zero(pa.array(stamps, pa.uint64()).take(pa.array(places)), table, "commit_time")


def _without_zero(stamps: pa.Array, table: str, column: str) -> pa.Array:
    values = stamps.to_numpy()
    if np.count_nonzero(values) < len(values):  # a call of "all" takes longer, and most batches are small
        raise _refused(np.flatnonzero(values == 0), lambda _: _NO_COMMIT, _COMMIT_REMEDY, table, column)
    return stamps


def _refuse_null(values: pa.Array, table: str, column: str) -> None:
    nulls = null_mask(values)
    if nulls is not None:
        remedy = "Give every change its commit time, or leave those rows out"
        raise _refused(np.flatnonzero(nulls), lambda _: f"a {column} is null", remedy, table, column)


def _refuse_beyond(stamps: list[Any], table: str, column: str) -> None:
    rows = [row for row, stamp in enumerate(stamps) if stamp != stamp // 1 or not 0 <= stamp <= MAX_TSO]
    if rows:
        raise _refused(rows, lambda row: f"{shown(stamps[row])} is not a TSO", _TSO_REMEDY, table, column)


_UTC = pa.timestamp("us", "UTC")
_ZONE = r":[0-9.]+(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"


def utc_timestamps(column: pa.Array) -> pa.Array:
    """Return times in UTC: of a timestamp, or of text, with a zone or in UTC, whose further digits are cut off."""
    if not pa.types.is_string(column.type):
        return column.cast(_UTC, safe=False)
    text = pc.replace_substring_regex(column, r"(\.[0-9]{6})[0-9]+", r"\1")
    has_zone = pc.match_substring_regex(text, _ZONE)
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(has_zone, text, nothing).cast(_UTC)
    return pc.coalesce(with_zone, pc.if_else(has_zone, nothing, text).cast(pa.timestamp("us")).cast(_UTC))
