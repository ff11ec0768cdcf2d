"""When TiCDC sends BOOTSTRAP messages of the Simple protocol: a state machine over a clock that the caller gives.

Equal calls give equal schedules. Rule source: ``pkg/sink/codec/bootstraper.go`` and ``cdc/owner/ddl_manager.go`` of
pingcap/tiflow (semantics 4.4). Where TiCDC leaves the order to chance, it is fixed here: a tick stands before the rows
of its own millisecond, tables of one tick follow each other in the order of their first rows, and a tick sends before
it forgets idle tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from typing import Any, Literal, NamedTuple

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import StateError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose, physical_ms

_SEND, _FORGET = 0, 1


@dataclass(frozen=True)
class BootstrapRules:
    """The schedule's constants; ``interval_ms`` or ``message_count`` at zero or less: no BOOTSTRAP.

    ``idle_ms``: how long a table may be without a row; ``tick_ms`` and ``gc_ms``: how often tables are looked at to
    send, and to forget. The first and the last are multiples of ``tick_ms``.
    """

    interval_ms: int = 120_000
    message_count: int = 10_000
    to_all_partitions: bool = True
    at_start: bool = False
    idle_ms: int = 30 * 60_000
    tick_ms: int = 5_000
    gc_ms: int = 30_000

    @classmethod
    def of(cls, config: ChangefeedConfig) -> BootstrapRules:
        """Return the rules of a changefeed; those of one whose protocol is not ``simple`` are not enabled."""
        on = config.bootstrap_enabled
        return cls(
            interval_ms=config.send_bootstrap_interval_in_sec * 1_000 if on else 0,
            message_count=config.send_bootstrap_in_msg_count if on else 0,
            to_all_partitions=config.send_bootstrap_to_all_partition,
            at_start=config.send_all_bootstrap_at_start,
        )

    @cached_property
    def enabled(self) -> bool:
        """Whether any BOOTSTRAP is sent at all, at the start included."""
        return self.interval_ms > 0 and self.message_count > 0


@dataclass(frozen=True)
class Bootstrap:
    """One BOOTSTRAP: the schema that it shows, the (topic, partition) targets in sending order, the moment in ms.

    ``occasion``: ``start`` goes out like a DDL (null key), ``first-row`` immediately before that row and ``tick`` among
    the rows (both with a key of zero length).
    """

    key: int
    table: TableInfo
    targets: tuple[Target, ...]
    at_ms: int
    occasion: Literal["start", "first-row", "tick"]


class TableRef(NamedTuple):
    """Names one version of a table in a stored state, in place of its whole schema."""

    schema: str
    name: str
    id: int
    version: int
    update_ts: int

    @classmethod
    def of(cls, table: TableInfo) -> TableRef:
        """Return the name of this version."""
        return cls(table.schema, table.name, table.id, table.version, table.update_ts)


@dataclass
class _Active:
    """A table that had a row of late. ``number`` counts tables in the order of their first rows."""

    number: int
    table: TableInfo
    topic: str
    partitions: int
    targets: tuple[Target, ...]
    last_row_ms: int
    sent_ms: int
    rows: int = 0
    due_ms: int = -1


class Bootstraps:
    """The schedule of one config. Picklable. Ticks are ``rules.tick_ms`` apart, from ``start_ms`` on.

    With a ``start_ms`` of 0, two runs over one history agree. A moment before the last tick counts as that tick's.
    """

    def __init__(self, rules: BootstrapRules, start_ms: int = 0) -> None:
        self.rules = rules
        self._start_ms = start_ms
        self._passed_ms = start_ms  # the last tick that has passed
        self._started = False
        self._numbered = 0
        self._active: dict[int, _Active] = {}
        # (tick in ms, _SEND or _FORGET, number, key): when to look at a table again. It may be looked at in vain, never
        # too late, so that a tick at which nothing can be due costs nothing.
        self._agenda: list[tuple[int, int, int, int]] = []

    def at_start(self, tables: Iterable[tuple[TableInfo, str, int]], now_ms: int) -> list[Bootstrap]:
        """Return what goes out before any event: each (schema, topic, partitions) but views, to all partitions."""
        if self._started or not (self.rules.at_start and self.rules.enabled):
            return []
        self._started = True
        return [
            Bootstrap(table.id, table, tuple((topic, partition) for partition in range(partitions)), now_ms, "start")
            for table, topic, partitions in tables
            if not table.is_view
        ]

    def rows(
        self, key: int, table: TableInfo, topic: str, partitions: int, now_ms: int, count: int = 1
    ) -> list[Bootstrap]:
        """Report ``count`` rows of a table; return what ticks up to ``now_ms`` send, then the table's own at its first
        row.

        Rows of one version that no tick parts (:meth:`slot`) may be reported together, at the first's moment. ``key``
        is the physical table id in TiCDC, ``table`` the schema of these rows. A split update counts as two.
        """
        if not self.rules.enabled or count <= 0:
            return []
        due = self.advance(now_ms)
        now_ms = max(now_ms, self._passed_ms)
        active = self._active.get(key)
        if active is None:
            active = self._add(key, table, topic, partitions, now_ms)
            due.append(self._send(key, active, now_ms, "first-row"))
            count -= 1  # the message counter starts anew with the BOOTSTRAP, behind the row that asked for it
        elif self._changed(active.table, table):
            active.table = table
        if partitions != active.partitions:
            active.partitions, active.targets = partitions, self._targets(active.topic, partitions)
        active.last_row_ms = max(active.last_row_ms, now_ms)
        active.rows += count
        if active.rows >= self.rules.message_count:
            self._enter(key, active)
        return due

    def advance(self, now_ms: int) -> list[Bootstrap]:
        """Let the ticks up to and with ``now_ms`` pass; return what they send, in order."""
        due = []
        while self._agenda and self._agenda[0][0] <= now_ms:
            tick_ms, action, number, key = heappop(self._agenda)
            active = self._active.get(key)
            if active is None or active.number != number:
                continue
            if action == _SEND:
                if active.due_ms == tick_ms:
                    due.append(self._send(key, active, tick_ms, "tick"))
            elif (until_ms := self._forgotten_at(active)) <= tick_ms:
                del self._active[key]
            else:  # rows have come since
                heappush(self._agenda, (until_ms, _FORGET, number, key))
        if now_ms >= self._passed_ms + self.rules.tick_ms:
            self._passed_ms = self._tick_from(now_ms - self.rules.tick_ms + 1)
        return due

    def slot(self, ms: int) -> int:
        """Return the number of ticks up to a moment: no tick parts rows of equal slots."""
        return (ms - self._start_ms) // self.rules.tick_ms

    def state(self) -> dict[str, Any]:
        """Return what a restart needs, of JSON types."""
        return {
            "start_ms": self._start_ms,
            "passed_ms": self._passed_ms,
            "started": self._started,
            "tables": [
                {
                    "key": key,
                    "table": list(TableRef.of(active.table)),
                    "topic": active.topic,
                    "partitions": active.partitions,
                    "last_row_ms": active.last_row_ms,
                    "sent_ms": active.sent_ms,
                    "rows": active.rows,
                }
                for key, active in self._active.items()
            ],
        }

    @classmethod
    def from_state(
        cls, rules: BootstrapRules, state: Mapping[str, Any], tables: Callable[[TableRef], TableInfo]
    ) -> Bootstraps:
        """Continue where :meth:`state` was taken; ``tables`` returns a reference's schema, or raises ``LookupError``.

        Raises :class:`StateError` for a state that cannot be read or that names an unknown table version.
        """
        try:
            bootstraps = cls(rules, state["start_ms"])
            bootstraps._passed_ms, bootstraps._started = state["passed_ms"], state["started"]
            for entry in state["tables"]:
                key, last_row_ms = entry["key"], entry["last_row_ms"]
                ref = TableRef(*entry["table"])
                active = bootstraps._add(key, tables(ref), entry["topic"], entry["partitions"], last_row_ms)
                active.sent_ms, active.rows = entry["sent_ms"], entry["rows"]
                bootstraps._enter(key, active)
        except (LookupError, TypeError) as fault:
            raise StateError(
                f"the bootstrap schedule cannot be restored: {fault!r}",
                remedy="Restore the state and the table history that it was taken with, or start anew",
            ) from fault
        return bootstraps

    @staticmethod
    def _changed(known: TableInfo, table: TableInfo) -> bool:
        # RENAME TABLE leaves update_ts as it is. Nothing else is compared, so that a table that only moves to another
        # database goes on under the old one.
        return known.name != table.name or known.update_ts != table.update_ts

    def _add(self, key: int, table: TableInfo, topic: str, partitions: int, now_ms: int) -> _Active:
        self._numbered += 1
        targets = self._targets(topic, partitions)
        active = _Active(self._numbered, table, topic, partitions, targets, last_row_ms=now_ms, sent_ms=now_ms)
        self._active[key] = active
        heappush(self._agenda, (self._forgotten_at(active), _FORGET, active.number, key))
        return active

    def _send(self, key: int, active: _Active, now_ms: int, occasion: Literal["first-row", "tick"]) -> Bootstrap:
        active.sent_ms, active.rows = now_ms, 0
        self._enter(key, active)
        return Bootstrap(key, active.table, active.targets, now_ms, occasion)

    def _targets(self, topic: str, partitions: int) -> tuple[Target, ...]:
        return tuple((topic, partition) for partition in range(partitions if self.rules.to_all_partitions else 1))

    def _enter(self, key: int, active: _Active) -> None:
        due_ms = self._passed_ms + self.rules.tick_ms
        if active.rows < self.rules.message_count:  # under a longer interval before a restart, its tick may have passed
            due_ms = max(self._tick_from(active.sent_ms + self.rules.interval_ms), due_ms)
        if due_ms != active.due_ms:
            active.due_ms = due_ms
            heappush(self._agenda, (due_ms, _SEND, active.number, key))

    def _forgotten_at(self, active: _Active) -> int:
        """The GC tick that forgets the table, if no further row comes: idle for strictly longer than ``idle_ms``."""
        idle_ms = active.last_row_ms + self.rules.idle_ms - self._start_ms
        return self._start_ms + (idle_ms // self.rules.gc_ms + 1) * self.rules.gc_ms

    def _tick_from(self, ms: int) -> int:
        return self._start_ms - (self._start_ms - ms) // self.rules.tick_ms * self.rules.tick_ms


@dataclass(frozen=True)
class CountedRows:
    """``count`` rows of one version in one slot, the first committed at ``first_ts`` (TSO); a split update is two."""

    key: int
    table: TableInfo
    topic: str
    partitions: int
    first_ts: int
    count: int


def schedule_rows(
    bootstraps: Bootstraps, counted: Iterable[CountedRows], now_ms: int | None = None
) -> list[tuple[int, Bootstrap]]:
    """Report counted rows; return (TSO, bootstrap) entries, each before every row that is committed at or above its
    TSO.

    Tables whose first rows share a TSO follow each other by ``key``. ``now_ms``: of a live run, in which all rows come
    at one moment. In a replay, ticks after the last row are left to later calls.
    """
    in_order = sorted(counted, key=lambda rows: (rows.first_ts, rows.key))
    placed: list[tuple[int, Bootstrap]] = []
    if now_ms is not None and in_order:
        placed = [(in_order[0].first_ts, bootstrap) for bootstrap in bootstraps.advance(now_ms)]
    for rows in in_order:
        moment = physical_ms(rows.first_ts) if now_ms is None else now_ms
        for bootstrap in bootstraps.rows(rows.key, rows.table, rows.topic, rows.partitions, moment, rows.count):
            # A first row may be late, so that its BOOTSTRAP's moment is that of a later tick; its place is its own.
            at_tick = now_ms is None and bootstrap.occasion == "tick"
            placed.append((compose(bootstrap.at_ms) if at_tick else rows.first_ts, bootstrap))
    return placed
