"""A virtual day of 60 tables: the BOOTSTRAP schedule is the same however rows are cut, counted, or a run restarted.

What each rule of the schedule says is in ``tests/unit/pipeline/test_bootstrap.py``.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pytest

from ticdc_emit.pipeline.deliver.bootstrap import (
    Bootstrap,
    BootstrapRules,
    Bootstraps,
    CountedRows,
    TableRef,
    schedule_rows,
)
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import compose

RULES = BootstrapRules()
DAY_MS = 24 * 3_600_000
MINUTE_MS = 60_000
START_MS = 1_700_000_001_234
"""Neither rows nor ticks fall on round times of the epoch."""


@dataclass(frozen=True)
class Run:
    """``count`` rows of a table at one moment."""

    ms: int
    key: int
    table: TableInfo
    topic: str
    partitions: int
    count: int


def day(seed: int, tables: int) -> list[Run]:
    """A day of runs in the order of time: tables that come and go, with idle times around every limit."""
    runs = [run for key in range(tables) for run in _table_day(random.Random(f"{seed}/{key}"), 1_000 + key)]
    return sorted(runs, key=lambda run: (run.ms, run.key))


def _table_day(rng: random.Random, key: int) -> list[Run]:
    grid = rng.choice([1, 1, 5_000, 30_000])  # some tables' rows fall exactly on ticks
    table, topic, partitions = TableInfo("db", f"t{key}", key, (), version=1, update_ts=1), f"t{key}", 2
    runs: list[Run] = []
    now = _rounded(rng.randrange(0, 20 * 60 * MINUTE_MS), grid)
    while now < DAY_MS:
        for _ in range(rng.randint(1, 20)):
            if runs and rng.random() < 0.05:
                table, topic, partitions = _changed(rng, table, topic, partitions)
            count = rng.choice([1, 1, 1, 2, 50, 3_000, 9_999, 10_000, 10_001])
            runs.append(Run(START_MS + now, key, table, topic, partitions, count))
            now += _rounded(rng.choice([0, 900, 4_000, 20_000, 120_000]) * (1 + rng.random()), grid)
        half_hours = rng.choice([0.3, 0.97, 1, 1, 1.02, 4])
        now = (
            runs[-1].ms
            - START_MS
            + _rounded(half_hours * 30 * MINUTE_MS + rng.choice([-20_000, 0, 0, 0, 20_000]), grid)
        )
    return [run for run in runs if run.ms < START_MS + DAY_MS]


def _changed(rng: random.Random, table: TableInfo, topic: str, partitions: int) -> tuple[TableInfo, str, int]:
    version = table.version + 1
    match rng.choice(["alter", "rename", "exchange", "move", "grow"]):
        case "alter":
            return replace(table, version=version, update_ts=version), topic, partitions
        case "rename":
            return replace(table, version=version, name=f"{table.name}v{version}"), f"{topic}v{version}", partitions
        case "exchange":
            return replace(table, version=version), topic, partitions
        case "move":
            return replace(table, version=version, schema=f"db{version}"), topic, partitions
        case _:
            return table, topic, partitions + 1


def _rounded(ms: float, grid: int) -> int:
    return int(ms) // grid * grid


@cache
def some_tables() -> list[Run]:
    return day(seed=1, tables=60)


@cache
def sent_for_some_tables() -> list[Bootstrap]:
    schedule, sent = Bootstraps(RULES, START_MS), []
    for run in some_tables():
        sent += schedule.rows(run.key, run.table, run.topic, run.partitions, run.ms, run.count)
    return sent + schedule.advance(START_MS + DAY_MS)


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
        placed += schedule_rows(schedule, counted(committed[start : start + size], schedule))
        schedule = restarted(schedule)
    sent = [entry for _, entry in placed] + schedule.advance(START_MS + DAY_MS)
    assert sent == sent_for_some_tables()
    assert placed == sorted(placed, key=lambda entry: entry[0])
    own = {(ts, run.key) for ts, run in committed}
    assert all(
        (ts, entry.key) in own if entry.occasion == "first-row" else ts == compose(entry.at_ms) for ts, entry in placed
    )
