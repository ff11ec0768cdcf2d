"""1,000 tables over a virtual day: every rule of the BOOTSTRAP schedule holds, and none can be switched off unseen."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from bootstrap_checker import DAY_MS, START_MS, Judge, Run, day, played

from ticdc_emit.pipeline.deliver import bootstrap as machine
from ticdc_emit.pipeline.deliver.bootstrap import (
    Bootstrap,
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_replay,
)
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose

RULES = BootstrapRules()
Machine = Callable[[BootstrapRules], Bootstraps]


@cache
def the_day() -> list[Run]:
    return day(seed=1, tables=1_000)


@cache
def some_tables() -> list[Run]:
    """The same day as 60 of its tables saw it."""
    return [run for run in the_day() if run.key < 1_060]


@cache
def few_tables() -> list[Run]:
    """Enough to see each single rule switched off."""
    return [run for run in the_day() if run.key < 1_030]


@cache
def sent_for_some_tables() -> list[Bootstrap]:
    return [bootstrap for _, bootstrap in played(Bootstraps(RULES, START_MS), some_tables())]


def test_every_rule_holds_for_1000_tables_over_a_day() -> None:
    sent = played(Bootstraps(RULES, START_MS), the_day())
    Judge(RULES, the_day()).check(sent)
    assert len({run.key for run in the_day()}) == 1_000
    firsts = sum(bootstrap.occasion == "first-row" for _, bootstrap in sent)
    assert firsts > 3_000, "tables are forgotten and come again"
    assert len(sent) > 20 * firsts


@pytest.mark.parametrize(
    "rules",
    [
        replace(RULES, to_all_partitions=False),
        replace(RULES, interval_ms=37_000, message_count=3),
        replace(RULES, interval_ms=3_600_000, message_count=1),
    ],
)
def test_every_rule_holds_under_other_options(rules: BootstrapRules) -> None:
    Judge(rules, some_tables()).check(played(Bootstraps(rules, START_MS), some_tables()))


class CountsFirstRow(Bootstraps):
    def rows(self, key: int, *args: Any) -> list[Bootstrap]:
        *where, count = args
        return super().rows(key, *where, count if key in self._active else count + 1)


class SilentFirstRow(Bootstraps):
    def rows(self, *args: Any) -> list[Bootstrap]:
        return [bootstrap for bootstrap in super().rows(*args) if bootstrap.occasion != "first-row"]


class FirstRowBeforeTicks(Bootstraps):
    def rows(self, *args: Any) -> list[Bootstrap]:
        return sorted(super().rows(*args), key=lambda bootstrap: bootstrap.occasion != "first-row")


class TicksBehindRowsOfTheirMoment(Bootstraps):
    def advance(self, now_ms: int) -> list[Bootstrap]:
        return super().advance(now_ms - 1)


class RenameUnnoticed(Bootstraps):
    @staticmethod
    def _changed(known: TableInfo, table: TableInfo) -> bool:
        return known.update_ts != table.update_ts


class AlterUnnoticed(Bootstraps):
    @staticmethod
    def _changed(known: TableInfo, table: TableInfo) -> bool:
        return known.name != table.name


class AnyVersionNoticed(Bootstraps):
    @staticmethod
    def _changed(known: TableInfo, table: TableInfo) -> bool:
        return known.version != table.version


class DatabaseNoticed(Bootstraps):
    @staticmethod
    def _changed(known: TableInfo, table: TableInfo) -> bool:
        return known.full_name != table.full_name or known.update_ts != table.update_ts


class ChangeSendsAtOnce(Bootstraps):
    def rows(self, key: int, table: TableInfo, *args: Any) -> list[Bootstrap]:
        known = self._active.get(key)
        changed = known is not None and self._changed(known.table, table)
        due = super().rows(key, table, *args)
        active = self._active[key]
        return [*due, self._send(key, active, args[2], "tick")] if changed and active is known else due


class CountSendsAtOnce(Bootstraps):
    def rows(self, key: int, *args: Any) -> list[Bootstrap]:
        due, active = super().rows(key, *args), self._active[key]
        return [*due, self._send(key, active, args[3], "tick")] if active.rows >= self.rules.message_count else due


class CounterGoesOn(Bootstraps):
    def _send(self, key: int, active: Any, *args: Any) -> Bootstrap:
        rows = active.rows % self.rules.message_count
        sent = super()._send(key, active, *args)
        active.rows = rows
        return sent


class CountLeavesInterval(Bootstraps):
    def _send(self, key: int, active: Any, *args: Any) -> Bootstrap:
        since = active.sent_ms if active.rows >= self.rules.message_count else None
        sent = super()._send(key, active, *args)
        if since is not None and args[0] - since < self.rules.interval_ms:
            active.sent_ms = since
            self._enter(key, active)
        return sent


class RowsPutIntervalOff(Bootstraps):
    def rows(self, key: int, *args: Any) -> list[Bootstrap]:
        due, active = super().rows(key, *args), self._active[key]
        active.sent_ms = args[3]
        self._enter(key, active)
        return due


class BootstrapsKeepAlive(Bootstraps):
    def _send(self, key: int, active: Any, now_ms: int, occasion: Any) -> Bootstrap:
        active.last_row_ms = now_ms
        return super()._send(key, active, now_ms, occasion)


class RowsDoNotKeepAlive(Bootstraps):
    def rows(self, key: int, *args: Any) -> list[Bootstrap]:
        known = self._active.get(key)
        last_row_ms = known.last_row_ms if known else None
        due = super().rows(key, *args)
        if known is self._active[key] and last_row_ms is not None:
            known.last_row_ms = last_row_ms
        return due


class TopicFollowsRows(Bootstraps):
    def rows(self, key: int, table: TableInfo, topic: str, partitions: int, *args: Any) -> list[Bootstrap]:
        due = super().rows(key, table, topic, partitions, *args)
        self._active[key].targets = self._targets(topic, partitions)
        return due


class PartitionsStay(Bootstraps):
    def rows(self, key: int, table: TableInfo, topic: str, partitions: int, *args: Any) -> list[Bootstrap]:
        known = self._active.get(key)
        return super().rows(key, table, topic, known.partitions if known else partitions, *args)


class AnyOrderInATick(Bootstraps):
    def advance(self, now_ms: int) -> list[Bootstrap]:
        return sorted(super().advance(now_ms), key=lambda bootstrap: (bootstrap.at_ms, -bootstrap.key))


def ruled(**other: Any) -> Machine:
    """A machine that goes by other rules than the judge."""
    return lambda rules: Bootstraps(replace(rules, **other), START_MS)


def mutant(kind: type[Bootstraps]) -> Machine:
    return lambda rules: kind(rules, START_MS)


MUTANTS: dict[str, Machine] = {
    "no interval": ruled(interval_ms=10 * DAY_MS),
    "no count": ruled(message_count=10**12),
    "more than the interval": ruled(interval_ms=RULES.interval_ms + 1),
    "more than the count": ruled(message_count=RULES.message_count + 1),
    "never forgotten": ruled(idle_ms=10 * DAY_MS),
    "forgotten after just 30 minutes": ruled(idle_ms=RULES.idle_ms - 1),
    "forgotten between GC ticks": ruled(gc_ms=RULES.tick_ms),
    "looked at every second": ruled(tick_ms=1_000),
    "looked at every 10 s": ruled(tick_ms=10_000),
    "first partition only": ruled(to_all_partitions=False),
    "switched off": ruled(interval_ms=0),
    **{
        kind.__name__: mutant(kind)
        for kind in (
            CountsFirstRow,
            SilentFirstRow,
            FirstRowBeforeTicks,
            TicksBehindRowsOfTheirMoment,
            RenameUnnoticed,
            AlterUnnoticed,
            AnyVersionNoticed,
            DatabaseNoticed,
            ChangeSendsAtOnce,
            CountSendsAtOnce,
            CounterGoesOn,
            CountLeavesInterval,
            RowsPutIntervalOff,
            BootstrapsKeepAlive,
            RowsDoNotKeepAlive,
            TopicFollowsRows,
            PartitionsStay,
            AnyOrderInATick,
        )
    },
}


@pytest.mark.parametrize("name", MUTANTS)
def test_no_rule_can_be_switched_off_unseen(name: str) -> None:
    sent = played(MUTANTS[name](RULES), few_tables())
    with pytest.raises(AssertionError):
        Judge(RULES, few_tables()).check(sent)


def test_tables_forgotten_before_the_tick_sends_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_FORGET", machine._SEND - 1)
    with pytest.raises(AssertionError, match="before the table is forgotten"):
        Judge(RULES, some_tables()).check(played(Bootstraps(RULES, START_MS), some_tables()))


def test_all_partitions_where_only_the_first_is_asked_for_are_seen() -> None:
    sent = played(Bootstraps(RULES, START_MS), some_tables())
    with pytest.raises(AssertionError):
        Judge(replace(RULES, to_all_partitions=False), some_tables()).check(sent)


@cache
def schemas() -> dict[TableRef, TableInfo]:
    return {TableRef.of(run.table): run.table for run in some_tables()}


def restarted(schedule: Bootstraps) -> Bootstraps:
    """The machine as a restart finds it: from JSON, with the schemas that the history has."""
    return Bootstraps.from_state(RULES, json.loads(json.dumps(schedule.state())), schemas().__getitem__)


@pytest.mark.parametrize("largest", [1, 3_000])
def test_the_schedule_does_not_depend_on_how_rows_are_cut_into_batches(largest: int) -> None:
    """Runs reported in pieces, ticks told in vain between them, and restarts, give the same schedule."""
    rng, schedule, sent = random.Random(largest), Bootstraps(RULES, START_MS), []
    for run in some_tables():
        left = run.count
        while left:
            piece = min(left, rng.randint(left // 3 + 1, left + largest))
            sent += schedule.rows(run.key, run.table, run.topic, run.partitions, run.ms, piece)
            left -= piece
        if rng.random() < 0.2:
            sent += schedule.advance(run.ms + rng.choice([-1_000, 0]))
        if rng.random() < 0.01:
            schedule = restarted(schedule)
    sent += schedule.advance(START_MS + DAY_MS)
    assert sent == sent_for_some_tables()


def counted(runs: list[tuple[int, Run]], schedule: Bootstraps) -> list[CountedRows]:
    """Count rows per table version and slot, as a grouped count over a DataFrame does, in any order."""
    groups: dict[Any, tuple[int, int]] = {}
    for ts, run in runs:
        group = (run.key, run.table, run.topic, run.partitions, schedule.slot(run.ms))
        first_ts, count = groups.get(group, (ts, 0))
        groups[group] = min(first_ts, ts), count + run.count
    entries = [CountedRows(*group[:4], first_ts, count) for group, (first_ts, count) in groups.items()]
    random.Random(len(entries)).shuffle(entries)
    return entries


@pytest.mark.parametrize("size", [500, 1_000_000])
def test_counted_slots_give_the_schedule_of_the_rows(size: int) -> None:
    schedule, placed = Bootstraps(RULES, START_MS), []
    committed = [(compose(run.ms, place), run) for place, run in enumerate(some_tables())]
    for start in range(0, len(committed), size):
        placed += schedule_replay(schedule, counted(committed[start : start + size], schedule))
        schedule = restarted(schedule)
    sent = [entry for _, entry in placed] + schedule.advance(START_MS + DAY_MS)
    assert sent == sent_for_some_tables()
    assert placed == sorted(placed, key=lambda entry: entry[0])
    own = {(ts, run.key) for ts, run in committed}
    assert all(
        (ts, entry.key) in own if entry.occasion == "first-row" else ts == compose(entry.at_ms) for ts, entry in placed
    )
