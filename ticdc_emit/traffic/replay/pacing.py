"""Wall-clock pacing: when each slice of event time is due, and how late a replay is.

In: a speed (seconds of event time per second of wall time; ``None``: no waiting) and a clock. Out: waiting. Pauses in
the history are kept, shortened by the speed like everything else. A replay that is late does not wait until it has
caught up.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from ticdc_emit.errors import ConfigError

__all__ = ["Pace"]

_NAP_S = 0.2  # the longest time until a request to stop is noticed


class Pace:
    """A schedule that starts when the first slice is waited for, at that slice's event time.

    ``clock`` returns seconds and never goes back, ``sleep`` waits that many. Raises :class:`ConfigError` for a speed
    that is not above 0.
    """

    def __init__(
        self,
        speed: float | None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if speed is not None and not 0 < speed < math.inf:
            raise ConfigError(
                f"speed={speed!r} is not a speed",
                remedy="Give seconds of history per second (1440: a day in a minute), or None for no waiting",
                option="speed",
            )
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self._zero: float | None = None  # when the event time of offset 0 is due

    def wait(self, offset_ms: int, stop: Callable[[], bool] = lambda: False) -> bool:
        """Wait until the event time ``offset_ms`` after the beginning is due; return ``False`` if ``stop`` returned
        true.

        The first call does not wait: the schedule begins at its offset.
        """
        if self._speed is None:
            return not stop()
        ahead = offset_ms / 1000 / self._speed
        if self._zero is None:
            self._zero = self._clock() - ahead
        while not stop():
            left = self._zero + ahead - self._clock()
            if left <= 0:
                return True
            self._sleep(min(left, _NAP_S))
        return False

    def lag(self, offset_ms: int) -> float | None:
        """Return how many seconds ago the event time ``offset_ms`` after the beginning was due; ``None`` without a
        speed.
        """
        if self._speed is None or self._zero is None:
            return None
        return self._clock() - self._zero - offset_ms / 1000 / self._speed
