"""In how many ways a regular expression can match a name, counted while it is read.

In: its atoms, branches and repetitions, in order. Out: a number that bounds the time of a matcher which tries one way
after the other.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["NAME_LENGTH", "Ways"]

NAME_LENGTH = 64
"""Characters of the longest name in TiDB, which limits an unbounded repetition."""

_COUNTLESS = 10**9


@dataclass
class Ways:
    """In how many ways a group can match: the previous branches, this branch, its last atom, and the part before that.

    ``repeats``: how often the counted repetitions in the group repeat an atom, one inside of the other.
    """

    branches: int = 0
    branch: int = 1
    atom: int = 1
    before: int = 1
    repeats: int = 1
    atom_repeats: int = 1

    def add(self, atom: int = 1, repeats: int = 1) -> None:
        self.before, self.atom, self.atom_repeats = self.branch, atom, repeats
        self.branch = min(self.branch * atom, _COUNTLESS)
        self.repeats = max(self.repeats, repeats)

    def end_branch(self) -> None:
        self.branches += self.branch
        self.branch = 1

    def repeat(self, low: int, high: int) -> None:
        """Repeat the last atom ``low`` to ``high`` times."""
        high = max(low, min(high, NAME_LENGTH))
        ways = high - low + 1 if self.atom == 1 else _COUNTLESS if high > 9 else high * self.atom**high
        self.branch = min(self.before * ways, _COUNTLESS)

    @property
    def all(self) -> int:
        return min(self.branches + self.branch, _COUNTLESS)
