"""TSO: TiDB's 64-bit timestamp, 46 bits of physical milliseconds and 18 bits of logical counter.

Rule source: ``tikv/client-go`` ``oracle.ComposeTS``; TiCDC prints ``commit_ts >> 18`` (semantics 2.0.9).
"""

from __future__ import annotations

import datetime as dt

from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import whole_number

LOGICAL_BITS = 18
LOGICAL_PER_MICROSECOND = 262  # 999 of them stay below the 2**18 of a millisecond
MAX_TSO = (1 << 64) - 1
MAX_LONG_TSO = MAX_TSO >> 1  # what a signed long holds, as Spark has it
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc)


def compose(physical: int, logical: int = 0) -> int:
    """Return the TSO of ``physical`` milliseconds since the epoch and a ``logical`` counter (0 to 2**18 - 1)."""
    if not 0 <= logical < 1 << LOGICAL_BITS:
        raise ValueError(f"logical part {logical} is outside 0..{(1 << LOGICAL_BITS) - 1}")
    return (physical << LOGICAL_BITS) | logical


def physical_ms(tso: int) -> int:
    """Return the physical part of a TSO in milliseconds since the epoch."""
    return tso >> LOGICAL_BITS


def logical(tso: int) -> int:
    return tso & ((1 << LOGICAL_BITS) - 1)


def tso_from_datetime(moment: dt.datetime, logical: int = 0) -> int:
    """Return the TSO of an aware datetime; a naive one is refused, for its zone would be a guess."""
    if moment.tzinfo is None:
        raise ValueError("the datetime has no time zone: give it a tzinfo")
    return tso_from_micros((moment - _EPOCH) // dt.timedelta(microseconds=1)) + logical


def tso_from_micros(micros: int) -> int:
    """Return the TSO of microseconds since 1970. What is below a millisecond keeps its order as the logical part."""
    return (micros // 1000 << LOGICAL_BITS) + micros % 1000 * LOGICAL_PER_MICROSECOND


def tso_of(moment: dt.datetime | int | str, option: str = "at") -> int:
    """Return the TSO of an aware datetime or of a TSO, which may be text; else :class:`ConfigError`."""
    if isinstance(moment, dt.datetime) and moment.tzinfo is not None:
        return tso_from_datetime(moment)
    number = whole_number(moment)
    if number is not None and 0 < number <= MAX_LONG_TSO:
        return number
    raise ConfigError(
        f"{moment!r} is not a time",
        remedy="Give a datetime with a time zone, or a TSO",
        option=option,
        moment=str(moment),
    )
