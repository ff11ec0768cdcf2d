"""Rows of tables without handle key that are sent again: what tells them from equal rows.

In: rows of one table in the order of a partition. Out: whether a row has been there already. A producer that begins
again goes back in commit_ts, so the order of a partition falls into runs that do not. A row that a run has n times was
sent n times, however often runs repeat it. Equal rows of one commit that are repeated inside a run cannot be told
apart.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from ticdc_emit.decode.events import RowEvent

__all__ = ["Redelivery"]


class Redelivery:
    """Knows the rows of a table that one partition has sent."""

    def __init__(self) -> None:
        self._sent: dict[int, Counter[Any]] = {}
        self._run: dict[int, Counter[Any]] = {}
        self._newest = -1

    def is_repeated(self, event: RowEvent, commit: int) -> bool:
        """Return whether the next row of the partition is one that it had sent before."""
        if commit < self._newest:
            self._run = {}
        self._newest = commit
        row = event.op, _items(event.before), _items(event.after)
        run, sent = self._run.setdefault(commit, Counter()), self._sent.setdefault(commit, Counter())
        run[row] += 1
        if run[row] <= sent[row]:
            return True
        sent[row] = run[row]
        return False

    def begin_again(self) -> None:
        """Take the next row as the first of a run: the partition has gone back with what is not told here."""
        self._run = {}

    def forget(self, commit: int) -> None:
        """Forget commits up to one: whatever is sent of them again is known to be that."""
        for known in (self._sent, self._run):
            for old in [each for each in known if each <= commit]:
                del known[old]


def _items(image: Any) -> Any:
    """Return what can be compared: a repetition may show the columns in another order (Simple Avro)."""
    return None if image is None else frozenset(image.items())
