"""The cycle: which row of which table changes when, as short tables of numbers that repeat endlessly, without state.

Change number ``n`` is at position ``n % size`` of cycle ``n // size``; every cycle repeats the same positions with new
rows. So all of a change, and the time of the row's previous change, are looked up.

In a cycle, ``slots`` rows of a table begin, one per slot. Most rows end in their cycle; those of hot slots last
``spans`` cycles. **Anchors** are the first slots of a table that foreign keys refer to: inserted at the start of the
cycle, parents first, and never deleted. A row may refer to any anchor of its own or an earlier cycle.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import count, groupby, pairwise
from operator import itemgetter
from random import Random
from typing import NamedTuple

import numpy as np

from ticdc_emit.traffic.generate.arrays import Ints
from ticdc_emit.traffic.generate.distributions import zipf_shares
from ticdc_emit.traffic.generate.model import NO_TROUBLE, TableOptions, Trouble
from ticdc_emit.traffic.generate.statements import Life, Moment, Statements, Trades
from ticdc_emit.traffic.generate.states import States, visits
from ticdc_emit.tso import LOGICAL_BITS

HOT_SPAN = 16
"""Cycles that the life of a hot row lasts."""


@dataclass(frozen=True)
class Shape:
    """One table's part in a cycle; ``depth`` orders the births of anchors, ``still`` rows are not updated. Of parents
    and their children, rows of the first ``kept`` slots stay and the others are deleted. ``parent``: the number of the
    parents' table; rows live while those of its slots ``parents`` do. ``states``: that rows pass. ``swaps``,
    ``replaces``: whether rows have keys for these statements.
    """

    slots: int
    anchors: int = 0
    depth: int = 0
    still: bool = False
    options: TableOptions = field(default=TableOptions(), repr=False)
    kept: int | None = field(default=None, repr=False)
    parent: int = field(default=-1, repr=False)
    parents: tuple[int, ...] = field(default=(), repr=False)
    states: States | None = field(default=None, repr=False)
    swaps: bool = field(default=False, repr=False)
    replaces: bool = field(default=False, repr=False)

    @cached_property
    def siblings(self) -> list[tuple[int, int]]:
        """By slot, the row's number among the children of its parent, and how many there are."""
        return [
            (nth, len(own)) for _, group in groupby(self.parents) for own in [list(group)] for nth in range(len(own))
        ]


@dataclass(frozen=True)
class TableCycle:
    """One table's changes in a cycle, by their number among them: parallel tuples.

    ``visit``: the change's number among those of its slot, ``visits``: how many there are. ``spans``: cycles that a
    life lasts. ``deleted``: 1 if the last step deletes. ``commit``: the position of the first change with this
    commit_ts. ``sharer``: the transaction's number among those of its commit_ts. ``previous``: the commit of the row's
    previous change, negative in an earlier cycle. ``born``: that of the row's insert, in the cycle of its birth.
    ``delay``: cycles since the birth of a row with states, and its ``state``.
    """

    slots: int
    anchors: int
    position: tuple[int, ...]
    slot: tuple[int, ...]
    visit: tuple[int, ...]
    visits: tuple[int, ...]
    spans: tuple[int, ...]
    deleted: tuple[int, ...]
    commit: tuple[int, ...]
    sharer: tuple[int, ...]
    previous: tuple[int, ...]
    born: tuple[int, ...]
    delay: tuple[int, ...]
    state: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.position)

    @cached_property
    def births(self) -> Ints:
        """By slot, the commit of the row's insert."""
        births = np.zeros(self.slots, np.int64)
        births[list(self.slot)] = self.born
        return births


@dataclass(frozen=True)
class Cycle:
    """``size``: changes in a cycle, of all tables. ``shares_commits``: whether transactions may share a commit_ts.
    ``trades``: of keys, by the number of the table.
    """

    size: int
    tables: tuple[TableCycle, ...]
    shares_commits: bool = False
    trades: Mapping[int, Trades] = field(default_factory=dict, compare=False)

    def count(self, table: int, before: int) -> int:
        """Return how many of the changes numbered 0 to ``before - 1`` are of ``table``."""
        cycles, rest = divmod(before, self.size)
        own = self.tables[table]
        return cycles * own.size + bisect_left(own.position, rest)


class _Spent(NamedTuple):
    """A life's first ancestor, when its children may come and go, and when it changes."""

    first: int
    begin: float
    end: float
    times: tuple[float, ...] = ()


def lay_out(
    shapes: Sequence[Shape], seed: int, transaction_size: float = 1.0, trouble: Trouble = NO_TROUBLE, rate: float = 1.0
) -> Cycle:
    """Return the cycle. Commits that transactions share change nothing else. ``rate``: changes per second."""
    random = Random(f"{seed} {shapes!r} {_SEEDED}")
    all_lives = [life for table, shape in enumerate(shapes) for life in _lives(table, shape, random)]
    moments: list[Moment] = []
    spent: dict[tuple[int, int], _Spent] = {}  # by table and slot
    for number, life in enumerate(all_lives):
        shape, own = shapes[life.table], _Spent(number, 0.0, 1.0)
        if shape.parents:
            own = spent[shape.parent, shape.parents[life.slot]]
        times = (_moments_of_child if shape.parents else _moments)(life, shape, own, random)
        if life.path:
            times = times[:1]
        moments += ((when, number, visit) for visit, when in enumerate(times))
        end = times[-1] if life.deleted else own.end
        spent[life.table, life.slot] = _Spent(own.first, max(own.begin, times[0]), end, tuple(times))
    moments.sort()
    moments, trades = _joined(moments, all_lives, shapes, trouble, Random(f"{seed} statements"))
    delays = _walk(all_lives, moments, rate, random)
    moments.sort(key=partial(_order, all_lives))
    numbers = [number for _, number, _ in moments]
    families = [spent[all_lives[number].table, all_lives[number].slot].first for number in numbers]
    transactions = _transactions(moments, transaction_size, random)
    begins = {at for at, (when, _, _) in enumerate(moments) if when < 0}  # others may refer to these rows
    share = trouble.shared_commits
    commits, sharers = _commits(transactions, families, begins, share, Random(f"{seed} {share}"))
    places: dict[tuple[int, int], int] = {(number, visit): at for at, (_, number, visit) in enumerate(moments)}
    columns: list[list[tuple[int, ...]]] = [[] for _ in shapes]
    for at, (_, number, visit) in enumerate(moments):
        life = all_lives[number]
        before = (
            commits[places[number, visit - 1]] if visit else commits[places[number, life.visits - 1]] - len(moments)
        )
        of_life = (life.visits, life.spans, int(life.deleted))
        columns[life.table].append(
            (
                *(at, life.slot, visit, *of_life, commits[at], sharers[at], before, commits[places[number, 0]]),
                *(delays.get((number, visit), 0), life.path[visit] if life.path else 0),
            )
        )
    tables = (
        TableCycle(shape.slots, shape.anchors, *zip(*rows, strict=True))
        for shape, rows in zip(shapes, columns, strict=True)
    )
    return Cycle(len(moments), tuple(tables), share > 0, trades)


def _joined(
    moments: list[Moment], lives: Sequence[Life], shapes: Sequence[Shape], trouble: Trouble, random: Random
) -> tuple[list[Moment], dict[int, Trades]]:
    """Return the moments with statements of several rows, and the trades of keys, by the number of the table."""
    if not (trouble.multi_row or trouble.swaps or trouble.replaces):
        return moments, {}
    by_table: list[list[Moment]] = [[] for _ in shapes]
    for each in moments:
        by_table[lives[each[1]].table].append(each)
    moved, trades = list[Moment](), dict[int, Trades]()
    for table, (shape, own) in enumerate(zip(shapes, by_table, strict=True)):
        children, statements = shape.options.children, Statements(own, lives, random)
        if not (shape.states or shape.options.together or (children and children.together)):
            found = statements.join(trouble, can_swap=shape.swaps, can_replace=shape.replaces)
            trades |= {} if found is None else {table: found}
        moved += ((when, *change) for change, when in statements.times.items())
    return sorted(moved), trades


_SEEDED = "Lifetimes(updates=3.0, deletes=0.5, skew=1.0, transaction_size=1.0)"  # a seed keeps its rows


def _lives(table: int, shape: Shape, random: Random) -> list[Life]:
    if shape.states is not None:
        walks, ends = shape.states.walks(shape.slots, random), shape.states.deletes
        return [
            Life(table, slot, len(path), 1, ends and path[-1] == path[-2], path, waits)
            for slot, (path, waits) in enumerate(walks)
        ]
    lives = shape.options
    ranked = list(range(shape.slots))
    random.shuffle(ranked)
    updates = zipf_shares(0 if shape.still else round(shape.slots * lives.updates), shape.slots, lives.skew)
    mortal = [slot for slot in ranked if slot >= shape.anchors]
    if shape.kept is None:
        deleted = set(random.sample(mortal, min(len(mortal), round(shape.slots * lives.deletes))))
    else:
        deleted = set(range(shape.kept, shape.slots))
    is_free = lives == TableOptions() and shape.kept is None  # rows of more cycles have more updates than a model asks
    hot = set(mortal[: max(1, shape.slots // 64)]) if is_free else set[int]()
    return [
        Life(table, slot, 1 + count + (slot in deleted), HOT_SPAN if slot in hot and count else 1, slot in deleted)
        for slot, count in zip(ranked, updates, strict=True)
    ]


def _walk(lives: Sequence[Life], moments: list[Moment], rate: float, random: Random) -> dict[tuple[int, int], int]:
    """Add the later visits of lives with states to the moments; return the delays of these visits."""
    delays: dict[tuple[int, int], int] = {}
    if any(life.path for life in lives):
        seconds = sum(life.visits for life in lives) / rate
        known, first, at_once = np.unique([each[0] for each in moments], return_index=True, return_inverse=True)
        known, shares = np.append(known, 1.0), np.append((first + 0.5) / len(moments), 1.0)
        for born, (_, number, _) in zip(at_once.tolist(), tuple(moments), strict=True):
            if lives[number].path:
                waits = [wait / seconds for wait in lives[number].waits]
                places, cycles = visits(float(shares[born]), waits, random)
                times = np.interp(places, shares, known).tolist()
                moments += ((times[visit], number, visit) for visit in range(1, len(places)))
                delays |= {(number, visit): delay for visit, delay in enumerate(cycles)}
    return delays


def _order(lives: Sequence[Life], moment: Moment) -> tuple[float, int]:
    """Return what orders changes: of those at one time, inserts of parents come first, and their deletes last."""
    when, number, visit = moment
    is_delete = lives[number].deleted and visit == lives[number].visits - 1
    return when, -number if is_delete else number


def _moments(life: Life, shape: Shape, own: _Spent, random: Random) -> list[float]:
    """Return the times of a life's changes as fractions of the cycle, in order; negative for inserts of anchors."""
    _, begin, end, _ = own
    if life.slot < shape.anchors:
        return [-1e6 + shape.depth + random.random(), *sorted(random.random() for _ in range(life.visits - 1))]
    if life.spans > 1:
        return sorted(random.random() for _ in range(life.visits))
    begin += (end - begin) * random.random()
    length = (end - begin) * max(0.05, random.random() ** 2)
    return sorted(begin + length * random.random() for _ in range(life.visits))


_SOON = 0.05  # the part of a parent's life in which its children come, and that in which they go


def _moments_of_child(life: Life, shape: Shape, parent: _Spent, random: Random) -> list[float]:
    """Return :func:`_moments` of a child; siblings go in reverse. Those that change together with their parent have its
    times.
    """
    _, begin, end, times = parent
    if shape.options.children is not None and shape.options.children.together:
        updates, count = times[1 : len(times) - life.deleted], life.visits - 1 - life.deleted
        changes = random.sample(updates, min(count, len(updates)))
        changes += [begin + (end - begin) * random.random() for _ in range(count - len(changes))]
        return [times[0], *sorted(changes), *times[-1:] * life.deleted]
    nth, siblings = shape.siblings[life.slot]
    soon = (end - begin) * _SOON
    born, dead = (soon * (nth + 1 - random.random()) / siblings for _ in range(2))
    born, dead = begin + born, end - dead
    if life.slot < shape.anchors:
        born = -1e6 + shape.depth + (nth + random.random()) / siblings
    between = max(born, 0.0)
    changes = sorted(between + (dead - between) * random.random() for _ in range(life.visits - 1 - life.deleted))
    return [born, *changes, dead] if life.deleted else [born, *changes]


def _transactions(moments: Sequence[Moment], mean: float, random: Random) -> list[int]:
    """Return for each change the position where its transaction begins. No transaction has two changes of one row.
    ``mean``: how many it has, of which those at one time count as one.
    """
    starts: list[int] = []
    begin, room, inside = 0, 0, set[int]()
    for _, at_once in groupby(moments, key=itemgetter(0)):
        numbers = [number for _, number, _ in at_once]
        if room < 1 or not inside.isdisjoint(numbers):
            begin, inside = len(starts), set()
            room = 1 + (int(random.expovariate(1 / (mean - 1)) + 0.5) if mean > 1 else 0)
        starts += [begin] * len(numbers)
        inside.update(numbers)
        room -= 1
    return starts


_MOST_SHARERS = 8


def _commits(
    transactions: Sequence[int], families: Sequence[int], begins: set[int], share: float, random: Random
) -> tuple[list[int], list[int]]:
    """Return for each change the position whose time is its commit_ts, and its transaction's number there."""
    commits, sharers = list(transactions), [0] * len(transactions)
    starts = sorted(set(transactions))
    spans = [range(start, end) for start, end in pairwise([*starts, len(transactions)])]
    sharing = first = 0
    while first < len(spans):
        last, inside = first, {families[at] for at in spans[first]}
        if sharing < share * (first + 1) and begins.isdisjoint(spans[first]):
            wanted = min(2 + int(random.expovariate(1)), _MOST_SHARERS)
            while last + 1 < min(first + wanted, len(spans)):
                rows = {families[at] for at in spans[last + 1]}
                if not (inside.isdisjoint(rows) and begins.isdisjoint(spans[last + 1])):
                    break
                inside |= rows
                last += 1
        if last > first:
            sharing += last + 1 - first
            for nth, span in enumerate(spans[first : last + 1]):
                for at in span:
                    commits[at], sharers[at] = starts[first], nth
        first = last + 1
    return commits, sharers


_TSO_PER_SECOND = 1000 << LOGICAL_BITS
_GAP_BITS = 20  # of a gap's fraction


class _Stretch(NamedTuple):
    """From change ``first`` on, change number n commits at ``start + (n - first) * tick``, both TSO."""

    first: int
    start: int
    tick: int


@dataclass(frozen=True)
class Clock:
    """Change number n commits at ``start + n * tick``, both TSO, or later at other rates (:meth:`going_on`). Schema
    change number n is halfway between change ``(n + 1) * gap >> 20`` and the next one; ``gap`` 0: none.
    """

    start: int
    tick: int
    gap: int = 0
    later: tuple[_Stretch, ...] = ()

    @classmethod
    def at_rates(cls, start: int, rate: float, ddl_rate: float) -> Clock:
        """Return the clock of ``rate`` changes and ``ddl_rate`` schema changes per second of commit time."""
        gap = round(rate / ddl_rate * (1 << _GAP_BITS)) if ddl_rate else 0
        return cls(start, _tick(rate), gap)

    def going_on(self, first: int, start: int, rate: float) -> Clock:
        """Return the clock whose changes from number ``first`` on commit from ``start`` on, at another rate. Earlier
        changes keep their times; ``start`` is after them. Schema changes keep their places among the changes.
        """
        return replace(self, later=(*self.later, _Stretch(first, start, _tick(rate))))

    @property
    def micros(self) -> int:
        return (self.start >> LOGICAL_BITS) * 1000

    def stamp(self, changes: Ints) -> Ints:
        if not self.later:
            return self.start + changes * self.tick
        first, start, tick = self._stretches
        at = np.maximum(np.searchsorted(first, changes, side="right") - 1, 0)
        return start[at] + (changes - first[at]) * tick[at]

    def count(self, until: int) -> int:
        """Return how many changes have a time up to the TSO ``until``."""
        return int(self._newest(np.array([until]))[0]) + 1

    def schema_changes(self, rows: int | None) -> Iterator[int]:
        """Yield the commit times of schema changes, of those before the last of ``rows`` changes; ``None``: of all."""
        for number in count() if self.gap else ():
            if rows is not None and self._place(number) >= rows - 1:
                return
            yield self.schema_change(number)

    def schema_change(self, number: int) -> int:
        place = self._place(number)
        at = self._all[bisect_right(self._all, place, key=itemgetter(0)) - 1]
        return at.start + (place - at.first) * at.tick + at.tick // 2

    def schema_changes_before(self, stamps: Ints) -> Ints:
        """Return the numbers of schema changes before changes that commit at ``stamps``."""
        passed: Ints = np.maximum((self._newest(stamps) << _GAP_BITS) - 1, 0)
        return passed // self.gap

    @property
    def _all(self) -> tuple[_Stretch, ...]:
        return (_Stretch(0, self.start, self.tick), *self.later)

    @cached_property
    def _stretches(self) -> tuple[Ints, Ints, Ints]:
        first, start, tick = (np.array(column, np.int64) for column in zip(*self._all, strict=True))
        return first, start, tick

    def _place(self, number: int) -> int:
        return (number + 1) * self.gap >> _GAP_BITS

    def _newest(self, stamps: Ints) -> Ints:
        """Return the number of the last change up to each of these times; negative before the first."""
        if not self.later:
            return (stamps - self.start) // self.tick
        first, start, tick = self._stretches
        at = np.maximum(np.searchsorted(start, stamps, side="right") - 1, 0)
        last = np.append(first[1:], np.iinfo(np.int64).max) - 1
        newest: Ints = np.minimum(first[at] + (stamps - start[at]) // tick[at], last[at])
        return newest


def _tick(rate: float) -> int:
    return round(_TSO_PER_SECOND / rate)
