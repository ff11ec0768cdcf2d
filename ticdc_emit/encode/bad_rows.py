"""The bad rows of a batch: their number by table, and the errors of the first ones in order.

In: rows that were found bad (``encode.sift``), in any order and from any number of tasks. Out: one error that tells of
them all, the same however the rows were dealt out to tasks; or, where bad rows are skipped, a line of JSON for each.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from ticdc_emit.errors import ConfigError, CorruptedRowError, RowError, TicdcEmitError

__all__ = ["BadRow", "BadRows", "Refusals", "Refused", "checked_bad_rows", "skippable", "united"]

_SHOWN = 10


@dataclass(frozen=True)
class BadRow:
    """A row that was refused or skipped.

    ``op`` and ``commit_ts`` are as given, ``None`` where they cannot be read. ``key``: its handle key, as far as it is
    known. ``column``: the one that is wrong, if it is one. ``error``: the name of the error's class, ``reason`` its
    message. ``position``: its place in what the caller gave, where that means anything.
    """

    schema: str
    table: str
    op: str | None
    commit_ts: int | None
    key: Mapping[str, Any]
    column: str | None
    reason: str
    error: str
    position: int | None = field(default=None, compare=False)
    order: bytes = field(default=b"", repr=False)

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        place = "" if self.position is None else f"row {self.position}, "
        shown_key = f" ({key})" if key else ""
        return f"{place}{self.schema}.{self.table}{shown_key}, commit_ts={self.commit_ts}: {self.reason}"

    def line(self) -> bytes:
        """Return it as one line of JSON."""
        shown = {
            "schema": self.schema,
            "table": self.table,
            "commit_ts": self.commit_ts,
            "op": self.op,
            "key": dict(self.key),
            "column": self.column,
            "error": self.error,
            "reason": self.reason,
        }
        return json.dumps(shown, ensure_ascii=False, default=_text).encode(errors="backslashreplace") + b"\n"


@dataclass(frozen=True)
class BadRows:
    """``tables``: how many rows of each ``schema.name`` are bad. ``first``: the first ten of all of them, in order."""

    tables: Mapping[str, int]
    first: tuple[BadRow, ...]

    @property
    def count(self) -> int:
        return sum(self.tables.values())

    def __str__(self) -> str:
        """Return what an error says beside its own row: nothing where that is the only one."""
        if self.count == 1:
            return ""
        tables = ", ".join(f"{name}: {count:,}" for name, count in sorted(self.tables.items()))
        which = "" if self.count == len(self.first) else f". The first {len(self.first)}"
        lines = "".join(f"\n  {row}" for row in self.first)
        return f"{self.count:,} rows are bad ({tables}){which}:{lines}"


class Refused(NamedTuple):
    """A bad row: its table (``schema.name``), its order key, and its description."""

    table: str
    order: bytes
    tell: Callable[[], tuple[BadRow, RowError]]


class Refusals:
    """Gathers the bad rows of a task; holds no more of them than an error shows."""

    def __init__(self) -> None:
        self._tables: Counter[str] = Counter()
        self._first: list[tuple[BadRow, RowError]] = []

    def __bool__(self) -> bool:
        return bool(self._tables)

    def add(self, refused: Sequence[Refused]) -> None:
        """Add bad rows; errors are made only for those that will be shown."""
        self._tables.update(each.table for each in refused)
        nearest = heapq.nsmallest(_SHOWN, refused, key=lambda each: each.order)
        first = [*self._first, *(each.tell() for each in nearest)]
        self._first = sorted(first, key=lambda each: _rank(each[0]))[:_SHOWN]

    def error(self) -> RowError:
        """Return the error of the first bad row, which lists the others."""
        error = self._first[0][1]
        error.alike = None
        error.bad_rows = BadRows(dict(self._tables), tuple(row for row, _ in self._first))
        return error


def united(failures: Iterable[TicdcEmitError]) -> TicdcEmitError:
    """Return the error of a batch: one that concerns more than single rows, else the bad rows of all tasks."""
    errors = list(failures)
    refused = [error for error in errors if isinstance(error, RowError) and error.bad_rows is not None]
    if len(refused) < len(errors):
        return next(error for error in errors if error not in refused)
    tables: Counter[str] = Counter()
    for each in refused:
        tables.update(each.bad_rows.tables)
    rows = sorted((row for each in refused for row in each.bad_rows.first), key=_rank)
    error = min(refused, key=lambda each: _rank(each.bad_rows.first[0]))
    error.bad_rows = BadRows(dict(tables), tuple(rows[:_SHOWN]))
    return error


def skippable(refused: Iterable[Refused]) -> list[BadRow]:
    """Return what the rows are that a batch skips.

    Raises :class:`~ticdc_emit.errors.CorruptedRowError` for a row to which ``bad_rows`` does not apply:
    ``corruption-handle-level`` says that it is an error.
    """
    described = [each.tell() for each in refused]
    for _, error in described:
        if isinstance(error, CorruptedRowError):
            raise error from None
    return [row for row, _ in described]


def checked_bad_rows(value: Literal["refuse", "skip"]) -> Literal["refuse", "skip"]:
    """Return the option ``bad_rows``; :class:`~ticdc_emit.errors.ConfigError` if it is neither of its values."""
    if value not in ("refuse", "skip"):
        raise ConfigError(f"bad_rows={value!r} is unknown", remedy="Use refuse or skip", option="bad_rows")
    return value


def _rank(row: BadRow) -> tuple[bytes, str, str, str]:
    return row.order, row.schema, row.table, row.reason


def _text(value: object) -> str:
    return value.hex() if isinstance(value, bytes) else str(value)
