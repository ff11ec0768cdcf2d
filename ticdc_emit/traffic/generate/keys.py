"""Roles of key columns: unique values, or the values of a referenced row.

A row's **number** is ``birth * slots + slot``: always unique in its table. A unique key without foreign keys has one
**serial** column, whose value encodes the number. A unique key with foreign keys consists of **digits** of the slot:
each of its foreign keys refers to an anchor of the row's own cycle, chosen by one digit, and a further column has the
rest (the lines of an order: 1, 2, 3). All other columns of unique keys, and columns that foreign keys refer to, are
**fixed** for a row's life.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np

from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import INTEGER_TYPES, STRING_TYPES
from ticdc_emit.traffic.generate.arrays import Ints
from ticdc_emit.traffic.generate.column_options import ColumnOptions, OptionsByColumn
from ticdc_emit.traffic.generate.cycle import Shape
from ticdc_emit.traffic.generate.model import NO_TROUBLE, TableOptions, Trouble
from ticdc_emit.traffic.generate.states import States
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
    """The value is ``slot // divisor``, from 1 on. ``is_nth``: of the number among the children of a parent instead."""

    divisor: int
    width: int | None = None
    is_nth: bool = False


@dataclass(frozen=True)
class Follows:
    """The value is that of ``parent_column`` in the row that foreign key number ``reference`` refers to."""

    reference: int
    parent_column: str


@dataclass(frozen=True)
class Fixed:
    """The value depends only on the row's number."""


Role = Serial | Digit | Follows | Fixed


@dataclass(frozen=True, eq=False)
class Lineage:
    """By slot: that of the parent, to which foreign key number ``reference`` refers, and the row's number among the
    parent's children, from 0 on. The first ``kept`` slots have parents that stay.
    """

    reference: int
    parents: Ints
    nth: Ints
    kept: int


@dataclass(frozen=True)
class TableKeys:
    """``roles`` by column; ``digits``: for a foreign key, by its number, the divisor and modulus of its digit, and
    whether that is of the number among a parent's children. ``lineage``: ``None`` without children per parent.
    ``moves``: whether updates may change its serial columns; rows then take two numbers each. ``stands_alone``: without
    partitions, foreign keys to it and children per parent. ``traded``: columns, each a unique key, that rows can
    exchange; ``replaced``: those beside the primary key.
    """

    table: SourceTable
    shape: Shape
    roles: Mapping[str, Role]
    digits: Mapping[int, tuple[int, int, bool]]
    lineage: Lineage | None = None
    moves: bool = False
    stands_alone: bool = False
    traded: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()

    def place(self, numbers: Ints, *, is_nth: bool) -> Ints:
        """Return the slots of rows, or their numbers among the children of their parents."""
        slot = numbers % self.shape.slots
        return self.lineage.nth[slot] if is_nth and self.lineage is not None else slot


def plan_keys(
    tables: Sequence[SourceTable],
    options: OptionsByColumn,
    refusals: Refusals,
    lives: Mapping[Name, TableOptions] | None = None,
    trouble: Trouble = NO_TROUBLE,
) -> dict[Name, TableKeys]:
    """Return the plan of every table, parents first; those with keys that cannot be satisfied are in ``refusals``."""
    lives = dict.fromkeys((table.name for table in tables), TableOptions()) | dict(lives or {})
    states = {name: own.states for (name, _), own in options.items() if own.states is not None}
    for name, walked in states.items():
        lives[name] = replace(lives[name], updates=walked.changes() - 1, deletes=0.0, skew=0.0)
    lineages = {table.name: _lineage_reference(table, lives[table.name]) for table in tables}
    with refusals.collected():
        tables = _by_birth(tables, lives, lineages)
    referenced = {
        (each.parent, column) for table in tables for each in table.references for column in each.parent_columns
    }
    anchored = set[Name]()  # others refer to their anchors
    for table in reversed(tables):
        parents = [each.parent for each in table.references]
        number = lineages[table.name]
        if number is not None:
            own = parents.pop(number)
            anchored |= {own} if table.name in anchored else set()
        anchored |= set(parents)
    bearing = {table.references[each].parent for table in tables if (each := lineages[table.name]) is not None}
    weighted = any(each.weight is not None for each in lives.values())
    scale = _scale(lives.values(), weighted=weighted)
    planned: dict[Name, TableKeys] = {}
    for table in tables:
        if all(each.parent in planned or each.closes_loop or each.parent == table.name for each in table.references):
            with refusals.collected():
                passed, anchors = states.get(table.name), ANCHORS if table.name in anchored else 0
                planner = _Planner(table, planned, options, lives[table.name], passed, anchors, scale, weighted)
                planner.descend(lineages[table.name])
                held = {column for name, column in referenced if name == table.name}
                keys = planner.plan(held, bears=table.name in bearing)
                is_free = not held and table.state.partitioning is None
                is_serial = any(isinstance(role, Serial) for role in keys.roles.values())
                moves, alone = is_free and is_serial and trouble.key_updates > 0, is_free and keys.lineage is None
                planned[table.name] = _with_trades(replace(keys, moves=moves, stands_alone=alone))
    for option, what, is_possible in (
        ("key_updates", "a key that an update may change", lambda keys: keys.moves),
        ("swaps", "keys of one column that rows can swap", lambda keys: keys.traded),
        ("replaces", "a unique key of one column beside the primary key", lambda keys: keys.replaced),
    ):
        if getattr(trouble, option) and not any(map(is_possible, planned.values())) and not refusals:
            raise ConfigError(
                f"{option}: no table has {what}",
                remedy="Leave it out, or add a table with a key of its own, without partitions and foreign keys to it",
                option="model",
            )
    return planned


def _with_trades(keys: TableKeys) -> TableKeys:
    """Return the keys, with those that rows may exchange in a table that nothing else ties to others."""
    if not keys.stands_alone or keys.shape.states is not None:
        return keys
    alone = {each.columns[0] for each in keys.table.unique_keys if len(each.columns) == 1}
    traded = frozenset(name for name in alone if isinstance(keys.roles.get(name), Serial))
    replaced = traded - set(keys.table.info.handle_key_names)
    shape = replace(keys.shape, swaps=bool(traded), replaces=bool(replaced))
    return replace(keys, shape=shape, traded=traded, replaced=replaced)


def _lineage_reference(table: SourceTable, options: TableOptions) -> int | None:
    """Return the number of the foreign key to the table that ``children`` is of; ``None`` if there is neither."""
    for number, each in enumerate(table.references):
        if options.children and ".".join(each.parent) == options.children.of and each.parent != table.name:
            return None if each.closes_loop else number
    return None


def _by_birth(
    tables: Sequence[SourceTable], lives: Mapping[Name, TableOptions], lineages: Mapping[Name, int | None]
) -> Sequence[SourceTable]:
    """Return the tables with depths at which rows that are inserted together have all that they refer to."""
    heads = {table.name: table.name for table in tables}  # parents first
    for table in tables:
        children, number = lives[table.name].children, lineages[table.name]
        if children is not None and children.together and number is not None:
            heads[table.name] = heads[table.references[number].parent]
    depths = {table.name: table.depth for table in tables}
    for _ in tables:
        before = dict(depths)
        for table in tables:
            head = heads[table.name]
            others = [each for each in table.references if not each.closes_loop and heads[each.parent] != head]
            depths[head] = max([depths[head], *(depths[heads[each.parent]] + 1 for each in others)])
        if depths == before:
            return [replace(table, depth=depths[heads[table.name]]) for table in tables]
    raise ConfigError(
        "together: a table between them refers to one of them, and another one to it",
        remedy="Leave together out, or the foreign key",
        option="together",
    )


_FEWEST, _MOST = 24, 20_000  # rows of a table in a cycle, to have its weight and its distribution, or for speed


def _scale(lives: Collection[TableOptions], *, weighted: bool) -> float:
    """Return the number of slots of a table, or that of changes for a weight of 1."""
    wanted = SLOTS * (4 if any(each.children for each in lives) else 1)
    own = [each for each in lives if each.children is None or each.children.distribution == "zipf"]
    if not weighted or not own:
        return wanted
    slots = [(1.0 if each.weight is None else each.weight) / (1 + each.updates + each.deletes) for each in own]
    return min(max(wanted * len(slots) / sum(slots), _FEWEST / min(slots)), _MOST / sum(slots))


class _Planner:
    """Plans one table; ``planned`` holds its parents. ``scale``: see :func:`_scale`."""

    def __init__(
        self,
        table: SourceTable,
        planned: Mapping[Name, TableKeys],
        options: OptionsByColumn,
        lives: TableOptions,
        states: States | None,
        anchors: int,
        scale: float,
        weighted: bool,
    ) -> None:
        self._table = table
        self._lives = lives
        self._scale = scale
        self._weighted = weighted
        self._options = options
        self._planned = planned
        self._anchors = anchors
        self._states = states
        self._slots = self._wanted(self._lives)
        self._lineage: Lineage | None = None
        self._roles: dict[str, Role] = {}
        self._digits: dict[int, tuple[int, int, bool]] = {}

    def _wanted(self, lives: TableOptions) -> int:
        if not self._weighted:
            return round(self._scale)
        weight = 1.0 if lives.weight is None else lives.weight
        return max(1, round(self._scale * weight / (1 + lives.updates + lives.deletes)))

    def descend(self, reference: int | None) -> None:
        """Give the slots their parents, with the number of children that the model asks for."""
        children = self._lives.children
        if children is None:
            return
        if reference is None:
            raise self._refusal(
                f"children: no foreign key refers to {children.of}",
                remedy="Declare FOREIGN KEY (...) REFERENCES, or leave children out",
            )
        parent = self._planned[self._table.references[reference].parent].shape
        kept = parent.slots if parent.kept is None else parent.kept
        if self._states is not None and kept < parent.slots:
            raise self._refusal(
                f"rows with states are children of rows of {children.of}, which are deleted",
                remedy=f"Give {children.of} deletes = 0 in [tables]",
            )
        self._slots = self._wanted(replace(self._lives, deletes=1 - kept / parent.slots))
        total = round(self._slots * kept / parent.slots)
        parts = [children.counts(kept, total), children.counts(parent.slots - kept, self._slots - total)]
        for part in parts:
            Random(self._table.info.full_name).shuffle(part)
        if self._anchors and not sum(parts[0][: parent.anchors]):
            parts[0].sort(reverse=True)  # others refer to children of anchors
        counts = np.array(parts[0] + parts[1], np.int64)
        self._slots, ends = int(counts.sum()), np.cumsum(counts)
        if not 0 < self._slots <= _MOST:
            raise self._refusal(
                f"children: {self._slots:,} rows for {parent.slots:,} parents",
                remedy=f"Ask for numbers of children that make 1 to {_MOST:,}",
            )
        parents = np.repeat(np.arange(parent.slots), counts)
        nth = np.arange(self._slots) - np.repeat(ends - counts, counts)
        self._lineage = Lineage(reference, parents, nth, sum(parts[0]))
        self._anchors = min(self._anchors, int(counts[: parent.anchors].sum()))

    def plan(self, referenced: set[str], *, bears: bool) -> TableKeys:
        """Return the plan. ``referenced``: columns that foreign keys refer to; ``bears``: rows have children."""
        for number, reference in enumerate(self._table.references):
            self._follow(number, reference)
        keys = sorted(self._table.unique_keys, key=lambda key: -len(self._references_in(key)))
        for key in keys:
            self._distinct(key)
        for name in (*(name for key in keys for name in key.columns), *sorted(referenced)):
            if name not in self._roles and self._table.column(name).generated is None:
                self._roles[name] = Fixed()
        plain = (column for column in self._table.info.row_columns if column.generated is None)
        changing = [column for column in plain if self._changes(column)]
        if self._states is not None and (not changing or (self._states.deletes and (referenced or bears))):
            ends = "others refer to its rows, so they cannot be deleted: give no time after an end"
            raise self._refusal(
                f"states: {ends if changing else 'no other column can show an update between two states'}",
                remedy="Change the model, or add a column",
            )
        return TableKeys(
            self._table, self._shape(still=not changing, bears=bears), self._roles, self._digits, self._lineage
        )

    def _shape(self, *, still: bool, bears: bool) -> Shape:
        lives, lineage, kept = self._lives, self._lineage, None
        if lineage is None and still and lives.weight is not None:
            self._slots = self._wanted(replace(lives, updates=0))
        anchors = min(self._anchors, self._slots)
        if lineage is not None:
            kept = lineage.kept
        elif bears:
            kept = max(anchors, self._slots - round(self._slots * lives.deletes))
        shape = Shape(
            self._slots, anchors, self._table.depth, still=still, options=lives, kept=kept, states=self._states
        )
        if lineage is None:
            return shape
        number = list(self._planned).index(self._table.references[lineage.reference].parent)
        return replace(shape, parent=number, parents=tuple(lineage.parents.tolist()))

    def _changes(self, column: Column) -> bool:
        """Return whether a column can show every update; :class:`ConfigError` for options that its key forbids."""
        options = self._options.get((self._table.name, column.name))
        role = self._roles.get(column.name)
        if options is not None:
            remedy = "Give it pattern, faker or identifier alone" if isinstance(role, Serial) else "Remove its options"
            is_fit = role is None
            if isinstance(role, Fixed):
                is_fit = not (options.nulls or options.is_computed)
                remedy = "Remove nulls" if options.nulls else remedy
            elif isinstance(role, Serial):
                is_fit = role.width is None and self._is_unique(column, options)
            if not is_fit or (options.identifier and not isinstance(role, Serial)):
                why = "identifier is for a key that makes rows unique" if role is None else "the column is in a key"
                raise ConfigError(
                    why if role is None else f"{why}, which determines its values",
                    remedy=remedy,
                    table=self._table.info.full_name,
                    column=column.name,
                    option="model",
                )
        is_computed = options is not None and options.is_computed
        return role is None and not is_computed and not is_constant(column) and varies(column, options)

    def _is_unique(self, column: Column, options: ColumnOptions | None) -> bool:
        is_text = column.type in STRING_TYPES and not column.is_binary
        return (
            options is not None
            and not options.weights
            and not options.nulls
            and options.is_unique
            and (is_text or bool(options.identifier))
        )

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
        loops = {name for each in self._table.references if each.closes_loop for name in each.columns}  # always NULL
        if any(isinstance(self._roles.get(name), Serial) or name in loops for name in key.columns):
            return
        lineage = self._lineage
        is_nth = lineage is not None and lineage.reference in inside
        most = int(lineage.nth.max()) + 1 if lineage is not None and is_nth else self._slots
        divisor = 1
        for number in sorted(inside, key=lambda each: self._digits.get(each, (1 << 30, 0, False))):
            if lineage is None or number != lineage.reference:
                digit = divisor, self._planned[self._table.references[number].parent].shape.anchors, is_nth
                if self._digits.setdefault(number, digit) != digit:
                    raise self._refusal(f"unique key {key.name} shares its foreign keys with another in another order")
                divisor *= digit[1]
        needed = max(-(-most // divisor), 0 if is_nth else SLOTS)
        free = [name for name in key.columns if name not in self._roles and self._can_hold(name, key, needed)]
        rooms = {name: min(capacity(self._table.column(name), key.prefixes.get(name)), 1 << 40) for name in free}

        def worth(name: str) -> tuple[bool, int, bool]:
            column = self._table.column(name)
            asked = self._is_unique(column, self._options.get((self._table.name, name)))
            return asked, rooms[name], column.type in INTEGER_TYPES

        best = max(free, key=worth, default=None)
        if not inside:
            if best is None:
                raise self._refusal(
                    f"unique key {key.name} has no column that can hold different values",
                    remedy="Add an integer, decimal, text, binary or time column to it, or leave the key out",
                )
            self._roles[best] = Serial(key.prefixes.get(best))
            return
        rest = [name for name in key.columns if isinstance(self._roles.get(name), Digit)]
        if best is not None and not rest:
            self._roles[best] = Digit(divisor, key.prefixes.get(best), is_nth)
        elif not rest and divisor < most:
            if is_nth or self._lives.weight is not None or lineage is not None:
                what = f"{most:,} children of a parent" if is_nth else f"the {self._slots:,} rows of the weight"
                raise self._refusal(f"unique key {key.name} has room for {divisor:,} rows, not for {what}")
            self._slots = divisor
        elif rest and self._roles[rest[0]] != Digit(divisor, key.prefixes.get(rest[0]), is_nth):
            raise self._refusal(f"unique key {key.name} shares column {rest[0]} with another in another order")

    def _can_hold(self, name: str, key: UniqueKey, needed: int) -> bool:
        column = self._table.column(name)
        is_free = column.generated is None and (self._table.listed or ("",))[0] != name
        return is_free and capacity(column, key.prefixes.get(name)) >= needed

    def _refusal(self, message: str, *, remedy: str = "", column: str | None = None) -> SchemaError:
        return SchemaError(message, remedy=remedy, table=self._table.info.full_name, column=column)
