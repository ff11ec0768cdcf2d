"""Statements that change several rows of a table: UPDATE of many rows, swaps of keys, and REPLACE, which deletes a row
and inserts one with its unique key. Of the changes of a table, some come earlier: at the time of another one, so in its
transaction. Those of one row keep their order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

import numpy as np

from ticdc_emit.traffic.generate.arrays import Ints
from ticdc_emit.traffic.generate.model import Trouble

Moment = tuple[float, int, int]
"""When a change comes, as a fraction of the cycle, the number of its life, and its own among those of the life."""


@dataclass(frozen=True)
class Life:
    """The row of a slot: it changes ``visits`` times in each of its cycles, as many as ``spans``, and in the end it is
    ``deleted`` or stays. ``path``, ``waits``: its states, and the seconds that each lasts.
    """

    table: int
    slot: int
    visits: int
    spans: int
    deleted: bool
    path: Sequence[int] = ()
    waits: Sequence[float] = ()


_CHANGE_BITS = 32


@dataclass(frozen=True)
class Owners:
    """Whose keys rows have. From change ``since`` of a slot on, that is ``slot << 32 | number``, up to the next one of
    the slot, its row has the key that was first that of the slot ``owner`` of its cycle. The first one is of no slot.
    """

    since: Ints
    owner: Ints

    def of(self, rows: Ints, steps: Ints, slots: int) -> Ints:
        """Return the numbers of the rows whose first keys these rows have after these steps."""
        slot = rows % slots
        at = np.searchsorted(self.since, slot << _CHANGE_BITS | np.maximum(steps, 0), side="right") - 1
        return np.where(self.since[at] >> _CHANGE_BITS == slot, rows - slot + self.owner[at], rows)


class Trades(NamedTuple):
    """``swapped``: owners of keys that swaps exchange; ``replaced``: of those that REPLACE hands over, too; ``slots``
    of rows that take part, and the share of updates that are of ``others``.
    """

    swapped: Owners
    replaced: Owners
    slots: Ints
    others: float


_AHEAD = 200  # changes among which others for a statement are looked for
_MEAN_ROWS = 3.0  # of a statement, beyond the two that it has at least


class Statements:
    """Makes statements of the ``moments`` of a table, in order; :attr:`times` are those of its changes afterwards."""

    def __init__(self, moments: Sequence[Moment], lives: Sequence[Life], random: Random) -> None:
        self._lives, self._random = lives, random
        self.times = {(number, visit): when for when, number, visit in moments}
        self._free = [each for each in moments if each[0] >= 0]  # the others are inserts that come first
        self._joined = set[tuple[int, int]]()

    def join(self, trouble: Trouble, *, can_swap: bool, can_replace: bool) -> Trades | None:
        """Let the shares of changes be in statements; return whose keys rows then have, if not always their own."""
        lives = self._lives
        is_delete = {number: lives[number].visits - 1 if lives[number].deleted else -1 for _, number, _ in self._free}
        updates = [each for each in self._free if each[2] and each[2] != is_delete[each[1]]]
        swaps, replaces = list[list[Moment]](), list[list[Moment]]()
        if can_replace and trouble.replaces:
            short = [each for each in self._free if lives[each[1]].spans == 1]
            deletes = [each for each in short if each[2] == is_delete[each[1]]]
            inserts = [each for each in short if each[2] == 0]
            replaces = self._statements(deletes, inserts, 2 * trouble.replaces * len(deletes), lambda: 2)
        if can_swap and trouble.swaps:
            short = [each for each in updates if lives[each[1]].spans == 1]
            swaps = self._statements(short, short, trouble.swaps * len(updates), lambda: 2)
        if trouble.multi_row:
            draw = self._random.expovariate
            self._statements(updates, updates, trouble.multi_row * len(updates), lambda: 2 + int(draw(1 / _MEAN_ROWS)))
        return self._trades(swaps, replaces, updates) if swaps or replaces else None

    def _statements(
        self, firsts: Sequence[Moment], others: Sequence[Moment], wanted: float, size: Callable[[], int]
    ) -> list[list[Moment]]:
        """Let others come at the time of some of the ``firsts``, up to so many changes in all; return them together."""
        times, found = [when for when, _, _ in others], list[list[Moment]]()
        for when, number, visit in self._random.sample(firsts, len(firsts)):
            if wanted <= 0:
                break
            if (number, visit) not in self._joined:
                together, most = {number: visit}, max(2, min(size(), round(wanted)))
                begin = bisect_right(times, when)
                for _, other, nth in others[begin : begin + _AHEAD]:
                    is_free = other not in together and (other, nth) not in self._joined
                    if is_free and self.times.get((other, nth - 1), -1.0) < when:
                        together[other] = nth
                        if len(together) == most:
                            break
                if len(together) > 1:
                    self._joined.update(together.items())
                    self.times |= dict.fromkeys(together.items(), when)
                    found.append([(when, *each) for each in together.items()])
                    wanted -= len(together)
        return found

    def _trades(
        self, swaps: Collection[list[Moment]], replaces: Collection[list[Moment]], updates: Sequence[Moment]
    ) -> Trades:
        owners: tuple[dict[int, int], ...] = {}, {}  # of keys that only swaps exchange, and of the others
        changes: tuple[list[tuple[int, int]], ...] = [], []
        for pair, is_swap in sorted([*((each, True) for each in swaps), *((each, False) for each in replaces)]):
            slots = [self._lives[number].slot for _, number, _ in pair]
            for owner, changed in tuple(zip(owners, changes, strict=True))[not is_swap :]:
                keys = [owner.get(slot, slot) for slot in slots]
                owner |= zip(slots, reversed(keys), strict=True)
                changed += (
                    (slot << _CHANGE_BITS | visit, owner[slot]) for slot, (_, _, visit) in zip(slots, pair, strict=True)
                )
        swapped, replaced = (Owners(*np.array([(-1, 0), *sorted(each)], np.int64).T) for each in changes)
        traders = {self._lives[number].slot for pair in (*swaps, *replaces) for _, number, _ in pair}
        others = sum(self._lives[number].slot not in traders for _, number, _ in updates) / max(len(updates), 1)
        return Trades(swapped, replaced, np.array(sorted(traders), np.int64), others)
