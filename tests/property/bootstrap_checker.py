"""A random day of rows, and a judge of BOOTSTRAP schedules that shares nothing with the machine that makes them.

The judge sees what went in (:class:`Run`) and what came out (each bootstrap with the number of runs before it) and
derives from the rows alone, table by table, what had to be sent when (semantics 4.4, ``pkg/sink/codec/bootstraper.go``
of pingcap/tiflow).
"""

from __future__ import annotations

import random
from bisect import bisect_left
from collections import defaultdict
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise, repeat

from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap, BootstrapRules, Bootstraps
from ticdc_emit.schema.model import TableInfo

DAY_MS = 24 * 3_600_000
MINUTE_MS = 60_000
START_MS = 1_700_000_001_234
"""Neither rows nor ticks fall on round times of the epoch."""

Sent = tuple[int, Bootstrap]
"""How many runs were reported before, and the bootstrap."""


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


def played(schedule: Bootstraps, runs: list[Run], end_ms: int = START_MS + DAY_MS) -> list[Sent]:
    """Report every run, then let the rest of the time pass."""
    sent = [
        (place, bootstrap)
        for place, run in enumerate(runs)
        for bootstrap in schedule.rows(run.key, run.table, run.topic, run.partitions, run.ms, run.count)
    ]
    return sent + [(len(runs), bootstrap) for bootstrap in schedule.advance(end_ms)]


class Judge:
    """``AssertionError`` for any schedule but the one that the rules ask for."""

    def __init__(self, rules: BootstrapRules, runs: list[Run], end_ms: int = START_MS + DAY_MS) -> None:
        self.rules = rules
        self.end_ms = end_ms
        self.moments = [run.ms for run in runs]
        self.rows: dict[int, list[tuple[int, Run]]] = defaultdict(list)
        for place, run in enumerate(runs):
            self.rows[run.key].append((place, run))

    def check(self, sent: list[Sent]) -> None:
        """Check the whole schedule."""
        by_key: dict[int, list[Sent]] = defaultdict(list)
        for place, bootstrap in sent:
            by_key[bootstrap.key].append((place, bootstrap))
        assert by_key.keys() == self.rows.keys(), "exactly the tables that have rows are sent"
        began: dict[tuple[int, int, str], int] = {}
        for key, rows in self.rows.items():
            lives = self._lives(rows)
            turns = _split(by_key[key])
            assert len(turns) == len(lives), "a table is new once, and again after it was forgotten"
            for life, turn in zip(lives, turns, strict=True):
                self._check_life(life, turn)
                began.update({(key, bootstrap.at_ms, bootstrap.occasion): life[0][0] for _, bootstrap in turn})
        order = [
            (
                place,
                bootstrap.at_ms,
                bootstrap.occasion == "first-row",
                began[bootstrap.key, bootstrap.at_ms, bootstrap.occasion],
            )
            for place, bootstrap in sent
        ]
        assert order == sorted(order), "by time; within a tick, by the tables' first rows"

    def _lives(self, rows: list[tuple[int, Run]]) -> list[list[tuple[int, Run]]]:
        """Cut a table's rows where a GC tick finds it idle for more than the limit."""
        lives = [[rows[0]]]
        for (_, before), entry in pairwise(rows):
            last_gc = entry[1].ms - (entry[1].ms - START_MS) % self.rules.gc_ms
            if last_gc - before.ms > self.rules.idle_ms:
                lives.append([entry])
            else:
                lives[-1].append(entry)
        return lives

    def _check_life(self, life: list[tuple[int, Run]], turn: list[Sent]) -> None:
        rules, places = self.rules, [place for place, _ in life]
        (place, head), (first_place, first) = turn[0], life[0]
        assert (place, head.at_ms) == (first_place, first.ms), "immediately before the first row"
        assert head.occasion == "first-row"
        shown = _shown(life)
        counted = list(accumulate((run.count for _, run in life), initial=-1))  # the first row does not count
        last_row = life[-1][1].ms
        gc = last_row - (last_row - START_MS) % rules.gc_ms
        while gc - last_row <= rules.idle_ms:
            gc += rules.gc_ms
        end = min(gc, self.end_ms)
        last_tick = end - (end - START_MS) % rules.tick_ms

        def due(tick: int, since: int, counted_before: int) -> bool:
            rows = counted[bisect_left(places, bisect_left(self.moments, tick))] - counted_before
            return tick - since >= rules.interval_ms or rows >= rules.message_count

        since, counted_before = first.ms, 0
        for number, (place, bootstrap) in enumerate(turn):
            tick = bootstrap.at_ms
            before = bisect_left(places, place)
            source = life[before - 1][1] if number else first
            assert bootstrap.table is shown[max(before - 1, 0)], "the last row's schema, if name or update_ts are new"
            partitions = range(source.partitions if rules.to_all_partitions else 1)
            assert bootstrap.targets == tuple(zip(repeat(first.topic), partitions)), (
                "partitions of the first row's topic"
            )
            if number:
                assert bootstrap.occasion == "tick"
                assert (tick - START_MS) % rules.tick_ms == 0, "on a tick"
                assert since < tick <= last_tick, "until the table is forgotten"
                assert place == bisect_left(self.moments, tick), "before the rows of its moment"
                assert due(tick, since, counted_before), "by interval or by count"
                assert tick - rules.tick_ms <= since or not due(tick - rules.tick_ms, since, counted_before), "too late"
                since, counted_before = tick, counted[before]
        assert last_tick <= since or not due(last_tick, since, counted_before), "missing before the table is forgotten"


def _split(sent: list[Sent]) -> list[list[Sent]]:
    """Cut what was sent for a table at its first rows."""
    turns: list[list[Sent]] = []
    for place, bootstrap in sent:
        if bootstrap.occasion == "first-row":
            turns.append([])
        assert turns, "no tick sends a table before its first row"
        turns[-1].append((place, bootstrap))
    return turns


def _shown(life: list[tuple[int, Run]]) -> list[TableInfo]:
    """The schema to be shown behind each run: that of the first run since name or ``update_ts`` last changed."""
    shown = [life[0][1].table]
    for _, run in life[1:]:
        same = (run.table.name, run.table.update_ts) == (shown[-1].name, shown[-1].update_ts)
        shown.append(shown[-1] if same else run.table)
    return shown
