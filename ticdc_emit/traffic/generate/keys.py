"""Roles of key columns: unique values, or the values of a referenced row.

A row's **number** is ``birth * slots + slot``: always unique in its table. A unique key without foreign keys has one
**serial** column, whose value encodes the number. A unique key with foreign keys consists of **digits** of the slot:
each of its foreign keys refers to an anchor of the row's own cycle, chosen by one digit, and a further column has the
rest (the lines of an order: 1, 2, 3). All other columns of unique keys, and columns that foreign keys refer to, are
**fixed** for a row's life.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES
from ticdc_emit.traffic.generate.column_options import OptionsByColumn
from ticdc_emit.traffic.generate.cycle import Shape
from ticdc_emit.traffic.generate.tables import Name, Reference, Refusals, SourceTable, UniqueKey
from ticdc_emit.traffic.generate.texts import capacity
from ticdc_emit.traffic.generate.values import is_constant, varies

SLOTS = 120
"""Rows of a table that a cycle begins."""

ANCHORS = 16
"""How many of these rows foreign keys may refer to."""


@dataclass(frozen=True)
class Serial:
    """The value encodes the row's number; ``width``: the number of characters or bytes for it, if limited."""

    width: int | None = None


@dataclass(frozen=True)
class Digit:
    """The value is ``slot // divisor``, from 1 on."""

    divisor: int
    width: int | None = None


@dataclass(frozen=True)
class Follows:
    """The value is that of ``parent_column`` in the row that foreign key number ``reference`` refers to."""

    reference: int
    parent_column: str


@dataclass(frozen=True)
class Fixed:
    """The value depends only on the row's number."""


Role = Serial | Digit | Follows | Fixed


@dataclass(frozen=True)
class TableKeys:
    """``roles`` by column; ``digits``: for a foreign key, by its number, the divisor and modulus of its digit."""

    table: SourceTable
    shape: Shape
    roles: Mapping[str, Role]
    digits: Mapping[int, tuple[int, int]]

    def rows(self, cycles: int) -> int:
        """Return how many numbers the rows of this many cycles take."""
        return cycles * self.shape.slots


def plan_keys(tables: Sequence[SourceTable], options: OptionsByColumn, refusals: Refusals) -> dict[Name, TableKeys]:
    """Return the plan of every table, parents first; those with keys that cannot be satisfied are in ``refusals``."""
    referenced = {
        (each.parent, column) for table in tables for each in table.references for column in each.parent_columns
    }
    parents = {name for name, _ in referenced}
    planned: dict[Name, TableKeys] = {}
    for table in tables:
        if all(each.parent in planned or each.closes_loop or each.parent == table.name for each in table.references):
            with refusals.collected():
                planned[table.name] = _Planner(table, planned, table.name in parents, options).plan(
                    {column for name, column in referenced if name == table.name}
                )
    return planned


class _Planner:
    """Plans one table; ``planned`` holds its parents."""

    def __init__(
        self, table: SourceTable, planned: Mapping[Name, TableKeys], has_children: bool, options: OptionsByColumn
    ) -> None:
        self._table = table
        self._options = options
        self._planned = planned
        self._slots = SLOTS
        self._anchors = ANCHORS if has_children else 0
        self._roles: dict[str, Role] = {}
        self._digits: dict[int, tuple[int, int]] = {}

    def plan(self, referenced: set[str]) -> TableKeys:
        for number, reference in enumerate(self._table.references):
            self._follow(number, reference)
        keys = sorted(self._table.unique_keys, key=lambda key: -len(self._references_in(key)))
        for key in keys:
            self._distinct(key)
        for name in (*(name for key in keys for name in key.columns), *sorted(referenced)):
            if name not in self._roles and self._table.column(name).generated is None:
                self._roles[name] = Fixed()
        anchors = min(self._anchors, self._slots)
        plain = (column for column in self._table.info.row_columns if column.generated is None)
        changing = [column for column in plain if self._changes(column)]
        shape = Shape(self._slots, anchors, self._table.depth, still=not changing)
        return TableKeys(self._table, shape, self._roles, self._digits)

    def _changes(self, column: Column) -> bool:
        """Return whether a column can show every update; :class:`ConfigError` for options that its key forbids."""
        options = self._options.get((self._table.name, column.name))
        role = self._roles.get(column.name)
        if options is not None and role is not None and (options.nulls or not isinstance(role, Fixed)):
            raise ConfigError(
                "the column is in a key, which determines its values",
                remedy="Remove nulls" if isinstance(role, Fixed) else "Remove its options",
                table=self._table.info.full_name,
                column=column.name,
                option="columns",
            )
        return role is None and not is_constant(column) and varies(column, options)

    def _follow(self, number: int, reference: Reference) -> None:
        may_be_null = all(self._table.column(name).nullable for name in reference.columns)
        if reference.closes_loop and not may_be_null:
            raise self._refusal(
                f"foreign key {reference.name!r} closes a cycle and cannot be NULL",
                remedy="Let its columns be NULL, or leave the foreign key out",
            )
        for name, source in zip(reference.columns, reference.parent_columns, strict=True):
            if self._table.column(name).generated is not None:
                raise self._refusal("a generated column is in a foreign key", column=name)
            if name in self._roles:
                raise self._refusal("a column is in two foreign keys, which cannot be satisfied together", column=name)
            self._roles[name] = Follows(number, source)

    def _references_in(self, key: UniqueKey) -> list[int]:
        return [
            number
            for number, each in enumerate(self._table.references)
            if set(each.columns) <= set(key.columns) and each.parent != self._table.name and not each.closes_loop
        ]

    def _distinct(self, key: UniqueKey) -> None:
        inside = self._references_in(key)
        if any(isinstance(self._roles.get(name), Serial) for name in key.columns):
            return
        free = [name for name in key.columns if name not in self._roles and self._can_hold(name, key)]
        rooms = {name: min(capacity(self._table.column(name), key.prefixes.get(name)), 1 << 40) for name in free}
        best = max(free, key=lambda name: (rooms[name], self._table.column(name).type in INTEGER_TYPES), default=None)
        if not inside:
            if best is None:
                raise self._refusal(
                    f"unique key {key.name} has no column that can hold different values",
                    remedy="Add an integer, decimal, text, binary or time column to it, or leave the key out",
                )
            self._roles[best] = Serial(key.prefixes.get(best))
            return
        divisor = 1
        for number in sorted(inside, key=lambda each: self._digits.get(each, (1 << 30, 0))):
            anchors = self._planned[self._table.references[number].parent].shape.anchors
            if self._digits.setdefault(number, (divisor, anchors)) != (divisor, anchors):
                raise self._refusal(f"unique key {key.name} shares its foreign keys with another in another order")
            divisor *= anchors
        rest = [name for name in key.columns if isinstance(self._roles.get(name), Digit)]
        if best is not None and not rest:
            self._roles[best] = Digit(divisor, key.prefixes.get(best))
        elif not rest:
            self._slots = min(self._slots, divisor)
        elif self._roles[rest[0]] != Digit(divisor, key.prefixes.get(rest[0])):
            raise self._refusal(f"unique key {key.name} shares column {rest[0]} with another in another order")

    def _can_hold(self, name: str, key: UniqueKey) -> bool:
        column = self._table.column(name)
        is_free = column.generated is None and (self._table.listed or ("",))[0] != name
        return is_free and capacity(column, key.prefixes.get(name)) >= SLOTS

    def _refusal(self, message: str, *, remedy: str = "", column: str | None = None) -> SchemaError:
        return SchemaError(message, remedy=remedy, table=self._table.info.full_name, column=column)
