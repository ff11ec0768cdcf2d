"""Event time cut into slices, each of which is one batch of a replayed changefeed, and their pace. Slices begin at
whole multiples of their width (UTC). Empty ones count: slice ``n`` is batch ``n``, also after a restart.
"""

from __future__ import annotations

import datetime as dt
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

from ticdc_emit.errors import ConfigError, shown
from ticdc_emit.tso import compose, physical_ms

MAX_SLICES = 1_000_000
_WALL_SECONDS = 2.0  # default wall time of a slice; if it is much shorter, Spark's overhead per batch dominates


@dataclass(frozen=True)
class Slice:
    """Rows from ``start`` on and before ``end`` (TSO; ``None``: without bound). ``offset_ms``: after the first slice.
    ``until``: the TSO up to which no later slice has rows; ``None`` for the last one, which ends with its rows.
    """

    number: int
    start: int | None = None
    end: int | None = None
    offset_ms: int = 0

    @property
    def until(self) -> int | None:
        return None if self.end is None else self.end - 1

    def holds(self, commit_ts: int) -> bool:
        return (self.start is None or commit_ts >= self.start) and (self.end is None or commit_ts < self.end)


@dataclass(frozen=True)
class Slices:
    """The slices from ``first_ts`` to ``last_ts``, each ``width_ms`` of commit time. Raises :class:`ConfigError`."""

    first_ts: int
    last_ts: int
    width_ms: int

    def __post_init__(self) -> None:
        if len(self) > MAX_SLICES:
            raise ConfigError(
                f"the history would have {len(self):,} slices", remedy="Choose a longer slice", option="slice"
            )

    def __len__(self) -> int:
        return physical_ms(self.last_ts) // self.width_ms - physical_ms(self.first_ts) // self.width_ms + 1

    @property
    def begin_ms(self) -> int:
        """The beginning of the first slice, in ms since the epoch."""
        return physical_ms(self.first_ts) // self.width_ms * self.width_ms

    def __getitem__(self, number: int) -> Slice:
        offset = number * self.width_ms
        begin = self.begin_ms + offset
        last = number == len(self) - 1
        return Slice(
            number, compose(begin) if number else None, None if last else compose(begin + self.width_ms), offset
        )


def slice_ms(width: dt.timedelta | float | None, speed: float | None) -> int | None:
    """Return a slice's ms of commit time, ``None`` for all of it; by default two seconds at ``speed``."""
    if width is None and speed is None:
        return None
    seconds = width.total_seconds() if isinstance(width, dt.timedelta) else width
    if seconds is None:
        assert speed is not None
        seconds = max(_WALL_SECONDS * speed, 0.001)
    if not (_is_number(seconds) and 0.001 <= seconds < math.inf):
        raise ConfigError(f"a slice of {shown(seconds)} seconds", remedy="Give 0.001 seconds or more", option="slice")
    return round(seconds * 1000)


def _is_number(given: object) -> bool:
    return isinstance(given, Real)


_NAP_S = 0.2  # the longest time until a request to stop is noticed


class Pace:
    """A schedule that starts at the first slice. Raises :class:`ConfigError` for a value that is not a speed."""

    def __init__(self, speed: float | None) -> None:
        if speed is not None and not (_is_number(speed) and 0 < speed < math.inf):
            raise ConfigError(
                f"speed={shown(speed)} is not a speed",
                remedy="Give seconds of history per second (1440: a day in a minute), or None for no waiting",
                option="speed",
            )
        self._speed = speed
        self._zero: float | None = None  # when the event time of offset 0 is due

    def wait(self, offset_ms: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Wait until an event time is due, the first call not at all; return ``False`` if ``stop`` returned true."""
        if self._speed is None:
            return not stop()
        ahead = offset_ms / 1000 / self._speed
        if self._zero is None:
            self._zero = time.monotonic() - ahead
        while not stop():
            left = self._zero + ahead - time.monotonic()
            if left <= 0:
                return True
            time.sleep(min(left, _NAP_S))
        return False

    def lag(self, offset_ms: int) -> float | None:
        """Return how many seconds ago the event time ``offset_ms`` was due; ``None`` without a speed."""
        if self._speed is None or self._zero is None:
            return None
        return time.monotonic() - self._zero - offset_ms / 1000 / self._speed
