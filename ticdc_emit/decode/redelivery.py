"""Distinguish repeated rows from equal rows in tables without a handle key.

In: rows of one table in the order of a partition. Out: whether a row is a repetition. A restarted producer goes back in
commit_ts, so a partition consists of runs with ascending commit_ts. A row that occurs n times in a run was sent n
times, however many runs repeat it. Equal rows of one commit that are repeated inside a run cannot be told apart.
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
        """Return whether the partition has sent the next row before."""
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
        """Treat the next row as the first of a run: the partition went back with messages that are not passed here."""
        self._run = {}

    def forget(self, commit: int) -> None:
        """Forget commits up to this one: later rows at or below it are known repetitions."""
        for known in (self._sent, self._run):
            for old in [each for each in known if each <= commit]:
                del known[old]


def _items(image: Any) -> Any:
    """Return a comparable form: a repetition may have the columns in another order (Simple Avro)."""
    return None if image is None else frozenset(image.items())
