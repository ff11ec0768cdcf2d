"""The tables that a consumer ended up with, against those that it must have; and the table of results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MOST_SHOWN = 20
_TABLE = Path(__file__).with_name("measured.md")
_RESULT = re.compile(
    r"^\| (.+) \| (.+) \| (.+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| \[(\w+)\]\((\w+\.py)\) \|$", re.MULTILINE
)

Rows = Mapping[Any, Mapping[str, Any]]


@dataclass(frozen=True)
class Comparison:
    """``rows`` and ``values`` that were compared, and what differs; two can be added."""

    rows: int
    values: int
    differences: tuple[str, ...]

    def __add__(self, other: Comparison) -> Comparison:
        return Comparison(self.rows + other.rows, self.values + other.values, (*self.differences, *other.differences))

    def __str__(self) -> str:
        shown = "".join(f"\n  {each}" for each in self.differences[:_MOST_SHOWN])
        return f"{self.rows:,} rows and {self.values:,} values compared, {len(self.differences):,} differences{shown}"


def compared(table: str, expected: Rows, read: Rows) -> Comparison:
    """Compare the rows of a table by key: a row too many, a row that is missing, and each value that is another.

    Only the columns of ``expected`` count: a consumer may show more, the commit time for one.
    """
    differences: list[str] = []
    for key in [*expected, *(key for key in read if key not in expected)]:
        wanted, found = expected.get(key), read.get(key)
        if wanted is None or found is None:
            differences.append(f"{table} {key}: a row {'too many' if wanted is None else 'is missing'}")
            continue
        differences += [
            f"{table} {key}: {name} is {found.get(name)!r}, must be {value!r}"
            for name, value in wanted.items()
            if name not in found or found[name] != value or isinstance(found[name], bool) != isinstance(value, bool)
        ]
    return Comparison(len(expected), sum(map(len, expected.values())), tuple(differences))


@dataclass(frozen=True)
class Result:
    """A line of measured.md. ``test`` is ``file.py::function`` in this folder."""

    consumer: str
    version: str
    protocol: str
    rows: str
    values: str
    differences: str
    test: str

    def __str__(self) -> str:
        *facts, test = vars(self).values()
        module, _, name = test.partition("::")
        return f"| {' | '.join(facts)} | [{name}]({module}) |"


def results_of_page() -> Iterator[Result]:
    """Yield the lines of measured.md."""
    for found in _RESULT.finditer(_TABLE.read_text(encoding="utf-8")):
        *facts, name, module = found.groups()
        yield Result(*facts, f"{module}::{name}")
