"""Rows that walk through states: which states a slot's rows pass, how long they stay, and where a change stands then.

In: the states of a column and what follows each, with shares, and how long each lasts. A slot of the cycle has one
**walk**, which the rows of all cycles repeat. Paths have exactly their shares of the slots, and the stays in a state
are the quantiles of its distribution.

A state that lasts longer than a cycle is left ``delay`` cycles after the row's birth. In the first cycles of the
traffic there are no such rows yet: an update without a change of state takes that place, of the slot's newest row.
A row's steps are then its insert, the visits within its cycle, these updates, and the visits of later cycles.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from ticdc_emit.traffic.generate.arrays import Ints, Mask
from ticdc_emit.traffic.generate.distributions import PARAMETERS, quantiles
from ticdc_emit.traffic.generate.model import is_number

_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_MOST_VISITS = 64
_POINTS = 1 << 53

Stay = tuple[str, tuple[float, ...]]
"""A distribution and its parameters: seconds, and the deviation of the logarithm (lognormal)."""


@dataclass(frozen=True)
class States:
    """``following``: by state, the numbers of others with their shares, none for an end. ``stays``: by state; ``None``
    for an end that rows never leave, else they are deleted then.
    """

    names: tuple[str, ...]
    following: tuple[tuple[tuple[int, float], ...], ...]
    stays: tuple[Stay | None, ...]

    @classmethod
    def read(cls, states: Mapping[str, Any], after: Mapping[str, Any]) -> States:
        """Return the states of a model, the first of which rows begin with. ``ValueError`` says what is wrong."""
        if not isinstance(states, Mapping) or not all(isinstance(each, Mapping) and each for each in states.values()):
            raise ValueError("write what follows each state, with shares: {new = {paid = 0.9, void = 0.1}}")
        names = tuple(dict.fromkeys([*states, *(name for each in states.values() for name in each)]))
        if not isinstance(after, Mapping) or (unknown := sorted(after.keys() - set(names))):
            what = (
                f"{unknown[0]!r} is not a state of the column" if isinstance(after, Mapping) else "it is not a mapping"
            )
            raise ValueError(f"after: {what}")
        following = []
        for name in names:
            shares = states.get(name, {})
            if not all(is_number(share) and 0 < share < 1e9 for share in shares.values()):
                raise ValueError(f"{name}: shares are numbers above 0")
            total = sum(shares.values())
            following.append(tuple((names.index(each), share / total) for each, share in shares.items()))
        default = ("exponential", (1.0,))
        stays = [
            _stay(name, after[name]) if name in after else default if follows else None
            for name, follows in zip(names, following, strict=True)
        ]
        return cls(names, tuple(following), tuple(stays))

    @property
    def deletes(self) -> bool:
        return any(stay and not follows for stay, follows in zip(self.stays, self.following, strict=True))

    def walks(self, slots: int, random: Random) -> list[tuple[list[int], list[float]]]:
        """Return for each slot the states that its rows pass, and the seconds from birth to each; a row that is deleted
        passes its last state twice.
        """
        paths = [self._path((number + 0.5) / slots) for number in range(slots)]
        random.shuffle(paths)
        lasts: list[list[float]] = [[0.0] * len(path) for path in paths]
        for state, stay in enumerate(self.stays):
            places = [(slot, at) for slot, path in enumerate(paths) for at, each in enumerate(path) if each == state]
            random.shuffle(places)
            shares = (np.arange(len(places)) + 0.5) / max(len(places), 1)
            for (slot, at), seconds in zip(places, _seconds(stay, shares) if stay else (), strict=False):
                lasts[slot][at] = seconds
        return [(path, [0.0, *np.cumsum(last[:-1]).tolist()]) for path, last in zip(paths, lasts, strict=True)]

    def _path(self, share: float) -> list[int]:
        """Return the path of a share from 0 to 1, so that equal steps of it give the paths their shares."""
        path = [0]
        while (follows := self.following[path[-1]]) and len(path) < _MOST_VISITS:
            for state, part in follows:
                if share < part or state == follows[-1][0]:
                    break
                share -= part
            path.append(state)
            share = min(share / part, 0.999_999)
        return path if self.stays[path[-1]] is None else [*path, path[-1]]

    def changes(self) -> float:
        """Return how many changes a row has on average."""
        return sum(len(self._path((number + 0.5) / 1000)) for number in range(1000)) / 1000


def _stay(name: str, given: Any) -> Stay:
    if not isinstance(given, Mapping):
        return "uniform", (_duration(name, given), _duration(name, given))
    known = {name: PARAMETERS[name] for name in ("exponential", "lognormal")} | {"uniform": ("range",)}
    distribution = given.get("distribution", "uniform")
    if distribution not in known or {"distribution", *known[distribution]} < given.keys() | {"distribution"}:
        raise ValueError(f"after {name}: write a time, or a distribution: exponential, lognormal or uniform")
    if missing := [each for each in known[distribution] if each not in given]:
        raise ValueError(f"after {name}: {distribution} needs {missing[0]}")
    if distribution == "lognormal":
        sigma = given["sigma"]
        if not is_number(sigma) or not 0 < sigma <= 5:
            raise ValueError(f"after {name}: sigma is a number above 0, up to 5")
        return distribution, (_duration(name, given["median"]), float(sigma))
    times = [given["mean"]] if distribution == "exponential" else given["range"]
    if not isinstance(times, Sequence) or len(times) != (1 if distribution == "exponential" else 2):
        raise ValueError(f"after {name}: range is a pair of times")
    return distribution, tuple(_duration(name, each) for each in times)


def _duration(name: str, given: Any) -> float:
    found = _DURATION.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ValueError(f"after {name}: {given!r} is not a time: write 500ms, 30s, 15m, 2h or 1.5d")
    return float(found[1]) * _SECONDS[found[2]]


def _seconds(stay: Stay, shares: np.ndarray[Any, np.dtype[np.float64]]) -> list[float]:
    distribution, parameters = stay
    if distribution == "uniform":
        low, high = parameters
        return [low + (high - low) * share for share in shares.tolist()]
    bounds, points = quantiles(distribution, (0.0, *(each * 1000 for each in parameters[:1]), *parameters[1:]), _POINTS)
    return [each / 1000 for each in np.interp(shares, bounds, points).tolist()]


def visits(born: float, waits: Sequence[float], random: Random) -> tuple[list[float], list[int]]:
    """Return the places of a walk's visits in the cycle, as shares of its changes, and how many cycles after the birth
    they come. Places rise, so a visit whose place is taken is the nearest one. ``waits``: from birth, in cycles.
    """
    places, cycles = [born], [0]
    for wait in waits[1:]:
        delay, place = divmod(born + wait, 1)
        room = 1 - places[-1]
        if place <= places[-1]:
            early, late = 1 - room * 0.1 * random.random(), places[-1] + room * 0.1 * random.random()
            is_early = delay > cycles[-1] and place + 1 - early < late - place
            delay, place = (delay - 1, early) if is_early else (delay, late)
        places.append(place)
        cycles.append(max(cycles[-1], int(delay)))
    return places, cycles


class Walks:
    """Where the changes of a table with states stand. Arrays are by slot, or by slot and visit. ``names``: of states.
    In go the columns of the table's part of the cycle.
    """

    def __init__(self, names: tuple[str, ...], *columns: Sequence[int]) -> None:
        self.names = names
        slot, visit, position, commit, delay, path = (np.array(column, np.int64) for column in columns)
        order = np.lexsort((visit, slot))
        self._slot, self._visit, self._delays = slot, visit, delay
        self._commit, self._position, self._delay, self._path = (x[order] for x in (commit, position, delay, path))
        self._slots = int(slot.max()) + 1
        self._visits = np.bincount(slot, minlength=self._slots)
        self._first = np.cumsum(self._visits) - self._visits
        self._own = np.bincount(slot[delay == 0], minlength=self._slots) - 1  # visits in the cycle of the birth
        self._most = int(delay.max()) + 1
        self._keys = slot[order] * self._most + self._delay  # sorted: delays rise with the visits
        self._firsts = np.full((len(names), self._slots), np.iinfo(np.int64).max)  # visits, by state and slot
        np.minimum.at(self._firsts, (self._path, slot[order]), visit[order])

    def locate(self, numbers: Ints) -> tuple[Ints, Ints]:
        """Return the numbers of the rows of changes, and the steps of their lives."""
        cycle, at = np.divmod(numbers, len(self._slot))
        slot, visit, delay = self._slot[at], self._visit[at], self._delays[at]
        is_touch = delay > cycle
        birth = np.where(is_touch, cycle, cycle - delay)
        touches, own = self._touches(slot, birth), self._own[slot]
        later = np.where(is_touch, own + 1 + visit - (self._visits[slot] - touches), visit + touches)
        return birth * self._slots + slot, np.where(visit <= own, visit, later)

    def place(self, row: Ints, step: Ints, size: int) -> tuple[Ints, Ints, Mask]:
        """Return the numbers, among the changes of all tables, of the commits and of the places of steps, and whether
        the steps are the last ones or beyond.
        """
        birth, slot = np.divmod(row, self._slots)
        touches, own = self._touches(slot, birth), self._own[slot]
        is_touch = (step > own) & (step <= own + touches)
        last = self._visits[slot] + touches - 1
        visit = np.where(step <= own, step, np.where(is_touch, self._visits[slot] - own - 1, 0) + step - touches)
        at = self._first[slot] + np.clip(visit, 0, self._visits[slot] - 1)
        cycle = birth + np.where(is_touch, 0, self._delay[at])
        return cycle * size + self._commit[at], cycle * size + self._position[at], step >= last

    def visit(self, row: Ints, step: Ints) -> tuple[Ints, Ints]:
        """Return the visits of rows at steps, and their states."""
        birth, slot = np.divmod(row, self._slots)
        own = self._own[slot]
        later = np.maximum(step - self._touches(slot, birth), own)
        visit = np.maximum(np.where(step <= own, step, later), 0)
        return visit, self._path[self._first[slot] + visit]

    def entered(self, row: Ints, state: int, size: int) -> tuple[Ints, Ints]:
        """Return the visits that first have the state, a large number for none, and the numbers of their commits."""
        birth, slot = np.divmod(row, self._slots)
        firsts = self._firsts[state]
        at = self._first[slot] + np.minimum(firsts[slot], self._visits[slot] - 1)
        return firsts[slot], (birth + self._delay[at]) * size + self._commit[at]

    def _touches(self, slot: Ints, birth: Ints) -> Ints:
        """Return how many visits of the slots are above ``birth`` cycles after the row's birth."""
        known = np.searchsorted(self._keys, slot * self._most + np.minimum(birth, self._most - 1), side="right")
        return self._first[slot] + self._visits[slot] - known
