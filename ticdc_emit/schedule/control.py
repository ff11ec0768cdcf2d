"""Control messages in their place among the rows of each topic-partition.

A DDL stands behind the rows of its own commit_ts; a watermark ``T`` behind every row that may still come at or below
it, that is behind the rows up to ``T + allowed_lateness``. Both are known from TSO alone, so the worker that writes a
topic-partition merges them into its sorted rows (:meth:`Cursor.due`), and whatever stands behind its last row is sent
afterwards by whoever knows that no row is left (:meth:`Cursor.due` again, with the end of the batch). The sequence of
a topic-partition is the same whichever of the two sends a message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ticdc_emit.encode.plan import Plan
from ticdc_emit.errors import ConfigError
from ticdc_emit.protocols.base import ControlMessage
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.tso import LOGICAL_BITS, compose, physical_ms

__all__ = ["Controls", "Cursor"]

_MAX_TICKS = 1_000_000


@dataclass(frozen=True)
class Controls:
    """What may have to be sent: DDL events by commit_ts, and watermarks every ``interval_ms`` of commit time (0: none).

    ``sent_until`` is the TSO up to which earlier batches have sent DDL; ``watermark`` the last watermark, if any.
    """

    ddls: tuple[DdlEvent, ...] = ()
    interval_ms: int = 0
    lateness_ms: int = 0
    sent_until: int = -1
    watermark: int | None = None

    @property
    def late_until(self) -> int | None:
        """A row at or below this TSO is late: the last watermark, or the last DDL that earlier batches have sent."""
        sent = [*self.sent_ddl(self.sent_until, after=-1), *([] if self.watermark is None else [self.watermark])]
        return max(sent, default=None)

    def sent_ddl(self, until: int, after: int | None = None) -> list[int]:
        """Return the commit_ts of the DDL up to ``until``, behind what earlier batches have sent (or ``after``)."""
        behind = self.sent_until if after is None else after
        return [event.commit_ts for event in self.ddls if behind < event.commit_ts <= until]

    def start(self) -> Cursor:
        """Return the place of a topic-partition at the beginning of the batch."""
        return Cursor(self.sent_until, self.watermark)


@dataclass(frozen=True)
class Cursor:
    """How far the control messages of one topic-partition have been sent: DDL up to a TSO, the last watermark."""

    ddl_until: int
    watermark: int | None

    def due(
        self, controls: Controls, plan: Plan, target: tuple[str, int], first_row: int, until: int, ticks_until: int = 0
    ) -> tuple[list[tuple[int, ControlMessage]], Cursor]:
        """Return the messages that stand before a row committed at ``until``, with the TSO behind whose rows they
        stand.

        ``first_row`` is the commit_ts of the topic-partition's first row: without an earlier watermark, ticks begin
        after it. ``ticks_until`` (default ``until``) bounds the ticks where more rows may come at the end of the batch.
        """
        found: list[tuple[int, int, ControlMessage]] = []
        ddl_targets = plan.router.ddl_targets(all_partitions=plan.codec.ddl_to_all_partitions)
        if target in ddl_targets:
            for event in controls.ddls:
                if self.ddl_until < event.commit_ts < until:
                    message = plan.codec.ddl(event, plan.clock(event.commit_ts))
                    if message is not None:
                        found.append((event.commit_ts, 0, message))
        last = self.watermark
        for tick in self._ticks(controls, first_row, ticks_until or until):
            last = tick
            message = plan.codec.watermark(tick, plan.clock(tick))
            if message is not None:
                found.append((tick + (controls.lateness_ms << LOGICAL_BITS), 1, message))
        found.sort(key=lambda entry: entry[:2])
        moved = replace(self, ddl_until=max(self.ddl_until, until - 1), watermark=last)
        return [(place, message) for place, _, message in found], moved

    def _ticks(self, controls: Controls, first_row: int, until: int) -> Iterator[int]:
        step = controls.interval_ms
        if not step:
            return
        last = first_row if self.watermark is None else self.watermark
        number = physical_ms(last) // step + 1
        if (physical_ms(until) // step) - number > _MAX_TICKS:
            raise ConfigError(
                f"watermark_interval={step / 1000} would put more than {_MAX_TICKS} watermarks between two rows",
                remedy="Choose a longer interval for a history with such gaps",
                option="watermark_interval",
            )
        lateness = controls.lateness_ms << LOGICAL_BITS
        while (tick := compose(number * step)) + lateness < until:
            yield tick
            number += 1
