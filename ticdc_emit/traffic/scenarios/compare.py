"""Differences between a consumer's tables and the expected tables of a scenario.

In: expected tables and a consumer's, as rows by key or as lists of rows in canonical text (docs/types.md). Out:
:class:`Difference` records in the order of tables and keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ticdc_emit.traffic.scenarios.given import GivenRow, GivenTables, rows_by_table
from ticdc_emit.traffic.truth import Row, Tables

__all__ = ["Difference", "differences"]


@dataclass(frozen=True, repr=False)
class Difference:
    """``kind``: a row is ``missing``, ``extra`` (``actual`` times too often), or has another value in ``column``.

    ``key``: the texts of the handle key; for a table without one, those of the row. A value is ``None`` for NULL; ``no
    column`` is a column that only one side has.
    """

    table: str
    key: tuple[str | None, ...]
    kind: Literal["missing", "extra", "different", "no column"]
    column: str | None = None
    expected: str | None = None
    actual: str | None = None

    def __repr__(self) -> str:
        return f"<{self}>"

    def __str__(self) -> str:
        place = f"{self.table} {', '.join('NULL' if text is None else text for text in self.key)}"
        if self.kind == "missing":
            return f"{place}: the row is missing"
        if self.kind == "extra":
            return f"{place}: a row too many"
        if self.kind == "no column":
            side = "is missing" if self.actual is None else "should not be there"
            return f"{place}: the column {self.column} {side}"
        return f"{place}: {self.column} is {_shown(self.actual)}, must be {_shown(self.expected)}"


def differences(
    expected: Tables, keys: Mapping[tuple[str, str], tuple[str, ...]], given: GivenTables
) -> list[Difference]:
    """Compare tables. ``keys``: the columns of each table's handle key, ``()`` for one without.

    Raises :class:`~ticdc_emit.errors.ConfigError` for arguments that are not tables of canonical text.
    """
    actual = rows_by_table(given)
    diffs: list[Difference] = []
    for name in sorted(expected.keys() | actual.keys()):
        wanted = list(expected.get(name, {}).values())
        diffs += _rows(".".join(name), keys.get(name, ()), wanted, actual.get(name, []))
    return diffs


def _rows(table: str, key: tuple[str, ...], wanted: list[Row], rows: list[GivenRow]) -> list[Difference]:
    if not key:
        return _whole_rows(table, wanted, rows)
    diffs: list[Difference] = []
    need_by_key = {tuple(row[name] for name in key): row for row in wanted}
    seen: set[tuple[str | None, ...]] = set()
    for row in rows:
        texts = tuple(row.get(name) for name in key)
        if texts in seen or texts not in need_by_key:
            diffs.append(Difference(table, texts, "extra"))
        else:
            diffs += _columns(table, texts, need_by_key[texts], row)
        seen.add(texts)
    diffs += [Difference(table, texts, "missing") for texts in need_by_key if texts not in seen]
    return sorted(diffs, key=lambda each: [text or "" for text in each.key])


def _whole_rows(table: str, wanted: list[Row], rows: list[GivenRow]) -> list[Difference]:
    columns = list(dict.fromkeys(name for row in (*wanted, *rows) for name in row))

    def counted(given: Sequence[GivenRow]) -> Counter[tuple[tuple[str, str | None], ...]]:
        return Counter(tuple((name, row[name]) for name in columns if name in row) for row in given)

    def texts(row: tuple[tuple[str, str | None], ...]) -> tuple[str | None, ...]:
        return tuple(text for _, text in row)

    need, have = counted(wanted), counted(rows)
    return [
        *(Difference(table, texts(row), "missing") for row in (need - have).elements()),
        *(Difference(table, texts(row), "extra") for row in (have - need).elements()),
    ]


def _columns(table: str, key: tuple[str | None, ...], wanted: Row, row: GivenRow) -> list[Difference]:
    diffs = [
        Difference(table, key, "different", name, text, row[name])
        for name, text in wanted.items()
        if name in row and row[name] != text
    ]
    diffs += [
        Difference(table, key, "no column", name, expected=text or "")
        for name, text in wanted.items()
        if name not in row
    ]
    diffs += [
        Difference(table, key, "no column", name, actual=text or "") for name, text in row.items() if name not in wanted
    ]
    return diffs


def _shown(text: str | None) -> str:
    return "NULL" if text is None else repr(text)
