"""Schema changes at a rate: the statements of a history, their times, and the columns that they add to rows.

Each table in turn gets a column with a default and an index on it, renames the column, drops the index and drops the
column. The kinds of columns come again under their old names, so rows do not grow with the traffic. Between them,
tables are emptied: truncated, or dropped and created.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import count
from typing import Any, NamedTuple

from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.words import quoted
from ticdc_emit.traffic.generate.arrays import Ints, Mask
from ticdc_emit.traffic.generate.tables import Name, SourceTable

_KINDS = (
    ("INT NOT NULL DEFAULT 7", 7),
    ("VARCHAR(40) NOT NULL DEFAULT 'none'", "none"),
    ("DECIMAL(10,2) DEFAULT 1.50", Decimal("1.50")),
    ("BIGINT", None),
    ("DATETIME(3)", None),
)
_STEPS = 5
_STEPS_OF_A_NAME = 2  # ADD COLUMN and ADD INDEX, or RENAME COLUMN and DROP INDEX


@dataclass(frozen=True)
class AddedColumn:
    """A column that is added by statement number ``first`` and again every ``period`` statements. Each of ``names``
    lasts for ``lasting`` statements. ``default``: the value in rows that were last written before; ``None`` for NULL.
    """

    column: Column
    first: int
    period: int
    lasting: int
    default: int | str | Decimal | None
    names: tuple[str, ...]

    def additions(self, statements: Ints) -> Ints:
        """Return how often it was added by the numbers of statements."""
        return (statements + self.period - 1 - self.first) // self.period

    def named(self, name: str, statements: Ints) -> Mask:
        """Return whether the table has the column under this name."""
        age = (statements - self.first - 1) % self.period  # before the first ADD COLUMN it is large
        nth = self.names.index(name)
        mask: Mask = (age >= nth * self.lasting) & (age < (nth + 1) * self.lasting)
        return mask

    def names_by(self, statements: int) -> tuple[str, ...]:
        """Return the names that the column has had after this number of statements."""
        return tuple(name for nth, name in enumerate(self.names) if statements > self.first + nth * self.lasting)

    def name_after(self, statements: int) -> str | None:
        """Return the column's name after this number of statements; ``None`` while it is not in the table."""
        nth = (statements - self.first - 1) % self.period // self.lasting
        return self.names[nth] if nth < len(self.names) else None


@dataclass(frozen=True)
class Emptyings:
    """Schema changes of which the last of ``every`` ones empties a table, ``among`` so many in turn; 0: none. A share
    of them, ``dropping``, drops the table and creates it again, the others truncate it.
    """

    every: int = 0
    among: int = 1
    dropping: float = 0.0

    def others(self, changes: Any) -> Any:
        """Return how many of the first schema changes empty no table."""
        return changes - changes // self.every if self.every else changes

    def of(self, nth: int, changes: Ints) -> Ints:
        """Return how many of the first schema changes empty table number ``nth`` of those in turn."""
        return (changes // self.every + self.among - 1 - nth) // self.among

    def statements(self, nth: int, tables: Sequence[Name], known: Collection[Name]) -> tuple[str, ...]:
        """Return the statements of emptying number ``nth``. ``known``: all names of tables, in lower case."""
        turn, place = divmod(nth, self.among)
        schema, name = tables[place]
        own, number = quoted(schema, name), turn + place  # each table has both
        if int((number + 1) * self.dropping) == int(number * self.dropping):
            return (f"TRUNCATE TABLE {own}",)
        names = (f"{name[:50]}_new{n or ''}" for n in count())  # at most 64 characters
        new = quoted(schema, next(each for each in names if (schema.lower(), each.lower()) not in known))
        return f"CREATE TABLE {new} LIKE {own}", f"DROP TABLE {own}", f"RENAME TABLE {new} TO {own}"


NEVER = Emptyings()


class SchemaChanges(NamedTuple):
    """``changes``: each the commit_ts of its first statement, and the statements; ``added``: by table."""

    changes: tuple[tuple[int, tuple[str, ...]], ...]
    added: dict[Name, list[AddedColumn]]


def one_round(tables: int, emptyings: Emptyings) -> int:
    """Return after how many schema changes the tables are as they were at first, and all comes again."""
    return tables * _STEPS * len(_KINDS) * (emptyings.every or 1) * emptyings.among


def plan_ddl(
    catalog: Catalog,
    tables: Sequence[SourceTable],
    stamps: Iterable[int],
    emptyings: Emptyings,
    emptied: Sequence[Name],
) -> SchemaChanges:
    """Return a schema change for each TSO; ``catalog`` takes those of the first round, or raises ``SchemaError``."""
    period, queries = one_round(len(tables), NEVER), list[str]()
    changes: list[tuple[int, tuple[str, ...]]] = []
    known = {(info.schema.lower(), info.name.lower()) for info in catalog.tables()}
    added: dict[Name, list[AddedColumn]] = {table.name: [] for table in tables}
    for place, stamp in enumerate(stamps):
        if emptyings.every and (place + 1) % emptyings.every == 0:
            changes.append((stamp, emptyings.statements(place // emptyings.every, emptied, known)))
            continue
        number = emptyings.others(place)
        if number >= period:  # the tables are as they were at first
            changes.append((stamp, (queries[number % period],)))
            continue
        table = tables[number % len(tables)]
        kind, step = divmod(number // len(tables), _STEPS)
        query = _statement(table, kind, step)
        catalog.apply(query, schema=table.info.schema, commit_ts=stamp)
        changes.append((stamp, (query,)))
        queries.append(query)
        own = added[table.name]
        if step == 0:
            name, _ = _names(table, kind)
            column = catalog.table(*table.name).column(name)
            lasting = _STEPS_OF_A_NAME * len(tables)
            own.append(AddedColumn(column, number, period, lasting, _KINDS[kind][1], (name,)))
        elif step == 2:
            own[-1] = replace(own[-1], names=_names(table, kind))
    return SchemaChanges(tuple(changes), added)


def _statement(table: SourceTable, kind: int, step: int) -> str:
    first, second = map(quoted, _names(table, kind))
    target = quoted(table.info.schema, table.info.name)
    index = quoted(f"by_{_names(table, kind)[0]}")
    return (
        f"ALTER TABLE {target} ADD COLUMN {first} {_KINDS[kind][0]}",
        f"ALTER TABLE {target} ADD INDEX {index} ({first})",
        f"ALTER TABLE {target} RENAME COLUMN {first} TO {second}",
        f"ALTER TABLE {target} DROP INDEX {index}",
        f"ALTER TABLE {target} DROP COLUMN {second}",
    )[step]


def _names(table: SourceTable, kind: int) -> tuple[str, str]:
    """Return the names of the column of a kind: at first, and when it has been renamed."""
    known_names = {column.name.lower() for column in table.info.columns}
    prefix = next(
        prefix for n in count() if not any(name.startswith(prefix := f"extra{n or ''}_") for name in known_names)
    )
    return f"{prefix}{kind + 1}", f"{prefix}{kind + 1}_renamed"
