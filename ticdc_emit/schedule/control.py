"""Control messages in their place among the rows of each topic-partition.

A **place** is a TSO: a control message comes after all rows up to it and before every later one. A DDL's place is its
own commit_ts; a watermark ``T`` comes after every row that may still come at or below it, so its place is
``T + allowed_lateness``; a BOOTSTRAP's was planned with the batch (``schedule.bootstrap_replay``). The worker that
writes a topic-partition merges them into its sorted rows, and whatever comes after the last row is sent afterwards by
whoever knows that no row is left: each asks for its own stretch of places (:meth:`Controls.due`), and the whole is the
same wherever it is cut.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import groupby
from typing import TypeAlias

from ticdc_emit.errors import ConfigError
from ticdc_emit.schedule.bootstrap import Bootstrap
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import LOGICAL_BITS, compose, physical_ms

__all__ = ["Control", "Controls", "Event", "Watermark"]

_MAX_TICKS = 1_000_000
_DDL_RANK, _BOOTSTRAP_RANK, _WATERMARK_RANK = 0, 1, 2


@dataclass(frozen=True)
class Watermark:
    """Everything up to the TSO ``ts`` was sent."""

    ts: int


Event: TypeAlias = "DdlEvent | Bootstrap | Watermark"


@dataclass(frozen=True)
class Control:
    """``event`` comes after the rows up to the TSO ``place``; at one place the lower ``rank`` comes first."""

    place: int
    rank: int
    event: Event


@dataclass(frozen=True)
class Controls:
    """What may have to be sent: DDL events by commit_ts, and watermarks every ``interval_ms`` of commit time (0: none).

    ``sent_until`` is the TSO up to which earlier batches have sent DDL; ``watermark`` the last watermark, if any.
    ``bootstraps`` are the batch's own, with their places, in sending order. ``marks``: TSOs of further watermarks,
    those right behind a DDL, ascending.
    """

    ddls: tuple[DdlEvent, ...] = ()
    interval_ms: int = 0
    lateness_ms: int = 0
    sent_until: int = -1
    watermark: int | None = None
    bootstraps: tuple[tuple[int, Bootstrap], ...] = ()
    marks: tuple[int, ...] = ()

    @property
    def lateness(self) -> int:
        """How far after the rows watermarks stay, as a difference of TSO."""
        return self.lateness_ms << LOGICAL_BITS

    @property
    def late_until(self) -> int | None:
        """A row at or below this TSO is late: the last watermark, or the last DDL that earlier batches have sent."""
        ddls, places = self._placed_ddls
        sent = bisect_right(places, self.sent_until)
        marks = [None if sent == 0 else ddls[sent - 1].commit_ts, self.watermark]
        return max((mark for mark in marks if mark is not None), default=None)

    def unsent_ddl(self) -> tuple[DdlEvent, ...]:
        """Return the DDL that earlier batches have not sent."""
        ddls, places = self._placed_ddls
        return ddls[bisect_right(places, self.sent_until) :]

    def sent_ddl(self, until: int) -> list[int]:
        """Return the commit_ts of the DDL up to ``until`` that earlier batches have not sent."""
        _, places = self._placed_ddls
        return places[bisect_right(places, self.sent_until) : bisect_right(places, until)]

    def due(self, after: int, until: int, first_row: int, *, ticks_until: int | None = None) -> list[Control]:
        """Return what has its place from ``after`` to ``until``, both included, in order.

        ``first_row`` is the commit_ts of the topic-partition's first row: without an earlier watermark, ticks begin
        after it. ``ticks_until`` bounds the places of ticks at the end of a batch, where more rows may come; bootstraps
        are the batch's own, and there are none behind it.
        """
        ddls, places = self._placed_ddls
        stretch = slice(bisect_left(places, max(after, self.sent_until + 1)), bisect_right(places, until))
        controls = [Control(event.commit_ts, _DDL_RANK, event) for event in ddls[stretch]]
        bootstraps, places = self._placed_bootstraps
        end = bisect_right(places, until) if ticks_until is None else len(places)
        stretch = slice(bisect_left(places, after), end)
        controls += [Control(place, _BOOTSTRAP_RANK, bootstrap) for place, bootstrap in bootstraps[stretch]]
        last = until if ticks_until is None else ticks_until
        controls += [
            Control(tick + self.lateness, _WATERMARK_RANK, Watermark(tick))
            for tick in self._ticks(first_row, after - self.lateness, last - self.lateness)
        ]
        return sorted(controls, key=lambda control: (control.place, control.rank))

    @cached_property
    def _placed_ddls(self) -> tuple[tuple[DdlEvent, ...], list[int]]:
        """The DDL in order of place, and the places."""
        ddls = tuple(sorted(self.ddls, key=lambda event: event.commit_ts))
        return ddls, [event.commit_ts for event in ddls]

    @cached_property
    def _placed_bootstraps(self) -> tuple[tuple[tuple[int, Bootstrap], ...], list[int]]:
        """The bootstraps in order of place, those of one place in sending order, and the places."""
        bootstraps = tuple(sorted(self.bootstraps, key=lambda placed: placed[0]))
        return bootstraps, [place for place, _ in bootstraps]

    def is_tick(self, ts: int, first_row: int) -> bool:
        """Return whether :meth:`due` gives a watermark of exactly ``ts``, in any stretch."""
        return any(True for _ in self._ticks(first_row, ts, ts))

    def _ticks(self, first_row: int, start: int, until: int) -> Iterator[int]:
        """Yield the watermarks of ``start`` to ``until``: marks, and the ticks after what is sent or the first row."""
        first, last = bisect_left(self.marks, start), bisect_right(self.marks, until)
        sent = -1 if self.watermark is None else self.watermark
        marks = [mark for mark in self.marks[first:last] if mark > sent]
        yield from (ts for ts, _ in groupby(merge(marks, self._interval_ticks(first_row, start, until))))

    def _interval_ticks(self, first_row: int, start: int, until: int) -> Iterator[int]:
        step = self.interval_ms
        if not step:
            return
        behind = first_row if self.watermark is None else self.watermark
        number = max(physical_ms(behind) // step + 1, physical_ms(max(start, 0)) // step)
        if (physical_ms(max(until, 0)) // step) - number > _MAX_TICKS:
            raise ConfigError(
                f"watermark_interval={step / 1000} would put more than {_MAX_TICKS} watermarks between two rows",
                remedy="Choose a longer interval for a history with such gaps",
                option="watermark_interval",
            )
        while (tick := compose(number * step)) <= until:
            if tick >= start:
                yield tick
            number += 1
