"""The plan of a script's tables, and its changes as Arrow record batches. A change is a function of the plan and its
number: it does not matter where, when and beside which others it is made.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, START_TS
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.errors import ConfigError, SchemaError, warn_caller
from ticdc_emit.hints import names
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.defaults import column_names
from ticdc_emit.schema.model import Column, TableInfo, schema_and_name
from ticdc_emit.sql.script import refuse_path
from ticdc_emit.sql.types import INTEGER_TYPES, ColumnFlag
from ticdc_emit.traffic.generate.arrays import (
    Hashes,
    Ints,
    Mask,
    canonical_text,
    hash_numbers,
    moment,
    native_type,
    salt_of,
    units,
    with_nulls,
)
from ticdc_emit.traffic.generate.column_options import PARENT, ColumnOptions, OptionsByColumn, options_by_column
from ticdc_emit.traffic.generate.cycle import Clock, Cycle, lay_out
from ticdc_emit.traffic.generate.ddl import NEVER, AddedColumn, Emptyings, one_round, plan_ddl
from ticdc_emit.traffic.generate.generated_columns import GeneratedColumns, called
from ticdc_emit.traffic.generate.identifiers import capacity_of, identifiers
from ticdc_emit.traffic.generate.keys import Digit, Follows, Serial, TableKeys, plan_keys
from ticdc_emit.traffic.generate.model import Model, TableOptions
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.states import Walks
from ticdc_emit.traffic.generate.tables import Name, Refusals, checked_columns, source_tables
from ticdc_emit.traffic.generate.texts import capacity, from_number
from ticdc_emit.traffic.generate.values import (
    Versions,
    always_changing_column,
    ends,
    is_constant,
    native_labels,
    realistic,
)
from ticdc_emit.tso import LOGICAL_BITS

_MOVES = 1_000_000  # steps of the shares of updates that change a key, and of rows at the ends of types
_TRIED = 8  # changes, with functions of the user before the first row is asked for
_BACK = 8
"""How many cycles back, including its own, the rows are that a foreign key can refer to."""


class _Steps(NamedTuple):
    """Changes: row, step of its life, whether that deletes it, and TSOs of it, of the one before and of the insert.
    ``is_first``: whether it is the row's insert, or takes the place of a change of a row that is gone since its
    table was emptied.
    """

    row: Ints
    step: Ints
    is_delete: Mask
    commit_ts: Ints
    previous: Ints
    born: Ints
    start_ts: Ints
    is_first: Mask


class _Rows(NamedTuple):
    """Numbers of a table's rows; ``is_null``: which of them are NULL, ``None`` for none; ``moved``: to another key."""

    numbers: Ints
    is_null: Mask | None = None
    moved: Mask | None = None


@dataclass(frozen=True)
class _Images:
    """The rows after changes, and below them those before; ``added``: columns that schema changes add."""

    values: Mapping[str, pa.Array]
    added: Sequence[tuple[str, AddedColumn, Mask]]


class _ParentColumn(NamedTuple):
    """A column of the table that foreign key number ``reference`` refers to; ``operand``: as in expressions, where it
    is NULL without a parent.
    """

    reference: int
    table: TableChanges
    column: str
    operand: Column


class TableChanges:
    """The changes of table ``number`` of the cycle; ``keys``, ``options``: of all tables."""

    def __init__(
        self,
        number: int,
        keys: Mapping[Name, TableKeys],
        cycle: Cycle,
        clock: Clock,
        seed: int,
        added: Sequence[AddedColumn] = (),
        time_zone: str = "UTC",
        options: OptionsByColumn | None = None,
        key_updates: float = 0.0,
        emptyings: Emptyings = NEVER,
        emptied: int | None = None,
        extremes: float = 0.0,
    ) -> None:
        self.number = number
        self._own = list(keys.values())[number]
        self._keys = keys
        self._cycle = cycle
        self._clock = clock
        self._seed = seed
        self.added = added
        self._time_zone = time_zone
        self._options = options or {}
        self._emptyings, self._emptied = emptyings, emptied
        self._key_updates = key_updates if self._own.moves else 0.0
        self.info: TableInfo = self._own.table.info
        own = {column: each for (table, column), each in self._options.items() if table == self._own.table.name}
        computed = {column: each.expression for column, each in own.items() if each.expression}
        self._of_states = {name: each for name, each in own.items() if each.states or each.entered}
        self._functions = {name: each.function for name, each in own.items() if each.function}
        computed_names = {name for name, each in own.items() if each.is_computed}
        columns = [each for each in self.info.row_columns if each.generated is None and each.name not in computed_names]
        self._constant_columns = [column for column in columns if column.name in self._own.roles or is_constant(column)]
        self._varying_columns = [column for column in columns if column not in self._constant_columns]
        self._always_changing = always_changing_column(self._varying_columns, own)
        self._trades = cycle.trades.get(number)
        if self._trades is not None and self._key_updates:
            self._key_updates /= max(self._trades.others, self._key_updates)
        self._extremes = extremes
        self._parents = self._parents_in(computed)
        operands = (each.operand for each in self._parents)
        self._generated = GeneratedColumns(replace(self.info, columns=(*self.info.columns, *operands)), computed)
        for column in (*self._constant_columns, *self._varying_columns):
            native_type(column)
        self._ends = self._columns_with_ends(own) if extremes else {}
        self.typed(np.arange(_TRIED if self._functions else 0))  # what cannot be computed is refused now

    @property
    def hashed_by(self) -> Column | None:
        """The integer column of the table's HASH partitioning, if its value never changes in a row."""
        by = self._own.table.state.partitioning
        if by is None or by.method != "hash" or by.expression is None:
            return None
        named = by.expression.text.strip("`").lower()
        columns = (column for column in self.info.row_columns if column.name.lower() == named)
        return next((each for each in columns if each.type in INTEGER_TYPES and each.name in self._own.roles), None)

    def _parents_in(self, expressions: Mapping[str, str]) -> list[_ParentColumn]:
        """Return the columns of parents that expressions name."""
        references, parents, found = self._own.table.references, dict[int, TableChanges](), list[_ParentColumn]()
        for name in sorted({each for text in expressions.values() for each in column_names(text)}):
            start, table, column = (*name.split("."), "", "")[:3]
            if start == PARENT and table:
                number = next(n for n, each in enumerate(references) if each.parent[1].lower() == table)
                if number not in parents:
                    at = list(self._keys).index(references[number].parent)
                    common = self._keys, self._cycle, self._clock, self._seed
                    parents[number] = TableChanges(at, *common, options=self._options, extremes=self._extremes)
                exact = next(each for each in parents[number].info.row_columns if each.name.lower() == column)
                operand = replace(exact, name=name, generated=None, flags=exact.flags & ~ColumnFlag.NOT_NULL)
                found.append(_ParentColumn(number, parents[number], column, operand))
        return found

    def at(self, clock: Clock) -> TableChanges:
        other = copy.copy(self)
        other._clock = clock
        other._parents = [each._replace(table=each.table.at(clock)) for each in self._parents]
        return other

    def typed(self, numbers: Ints, *, physical: bool = False, added: frozenset[str] | None = None) -> pa.RecordBatch:
        """Return changes by their numbers among the table's, in the typed form. ``physical``: with
        ``physical_table_id``, NULL where it is the table's own. ``added``: the columns of schema changes that images
        have, by default all.
        """
        steps = self._steps(numbers)
        images = self._images(steps)
        fields = {column.name: images.values[column.name.lower()] for column in self.info.row_columns}
        for name, each, is_there in images.added:
            if added is None or name in added:
                fields[name] = with_nulls(images.values[_added_key(each)], ~is_there)
        count = len(numbers)

        def image(start: int, is_null: Mask) -> pa.StructArray:
            parts = [values.slice(start, count) for values in fields.values()]
            return pa.StructArray.from_arrays(parts, list(fields), mask=pa.array(is_null))

        columns = self._head(steps)
        columns |= {"before": image(count, steps.is_first), "after": image(0, steps.is_delete)}
        return pa.record_batch(columns | self._physical(images, count, physical))

    def generic(self, numbers: Ints, *, physical: bool = False) -> pa.RecordBatch:
        """Return changes as :meth:`typed` does, in the generic form: images are maps of canonical text."""
        steps = self._steps(numbers)
        images = self._images(steps)
        count = len(numbers)
        entries: list[tuple[str, pa.Array, Mask | None]] = []
        for column in self.info.row_columns:
            text = canonical_text(column, images.values[column.name.lower()], self._time_zone)
            entries.append((column.name, text, None))
        for name, each, is_there in images.added:
            text = canonical_text(each.column, images.values[_added_key(each)], self._time_zone)
            entries.append((name, text, is_there))
        texts = pa.concat_arrays([text for _, text, _ in entries])
        known_names = pa.array([name for name, _, _ in entries], pa.string())
        is_held = np.ones((2 * count, len(entries)), np.bool_)
        for place, (_, _, where) in enumerate(entries):
            if where is not None:
                is_held[:, place] = where

        def image(start: int, is_null: Mask) -> pa.MapArray:
            held = is_held[start : start + count] & ~is_null[:, None]
            rows, places = np.nonzero(held)
            offsets = np.zeros(count + 1, np.int32)
            np.cumsum(held.sum(axis=1), out=offsets[1:])
            items = texts.take(pa.array(places * (2 * count) + rows + start))
            starts = pa.array(offsets, pa.int32(), mask=np.append(is_null, False))
            return pa.MapArray.from_arrays(starts, known_names.take(pa.array(places)), items)

        columns = {"schema": pa.repeat(self.info.schema, count), "table": pa.repeat(self.info.name, count)}
        columns |= self._head(steps)
        columns |= {"before": image(count, steps.is_first), "after": image(0, steps.is_delete)}
        return pa.record_batch(columns | self._physical(images, count, physical))

    def final(self, numbers: Ints, rows: int, schema_changes: int) -> pa.RecordBatch:
        """Return the rows that changes of these numbers leave after so many ``rows`` and ``schema_changes``."""
        is_last = self._next(numbers) >= rows
        numbers = numbers[is_last]
        steps = self._steps(numbers)
        images = self._images(steps)
        others, is_kept = self._emptyings.others(schema_changes), ~steps.is_delete
        if self._emptied is not None:
            ends = self._emptyings.of(self._emptied, np.array(schema_changes))
            is_kept &= self._emptyings_before(steps.commit_ts) == ends
        kept = pa.array(np.flatnonzero(is_kept))
        columns = {column.name: images.values[column.name.lower()].take(kept) for column in self.info.row_columns}
        for each in self.added:
            name = each.name_after(others)
            if name is not None:
                values = images.values[_added_key(each)].slice(0, len(numbers))
                written = each.additions(self._columns_changed(steps.commit_ts))
                is_newer = written == each.additions(np.array(others))
                columns[name] = _or_default(each, values, is_newer).take(kept)
        return pa.record_batch(columns)

    def _columns_changed(self, stamps: Ints) -> Ints:
        changed: Ints = self._emptyings.others(self._clock.schema_changes_before(stamps))
        return changed

    # -- where a change stands -----------------------------------------------------------------------------------------

    @cached_property
    def _table(self) -> dict[str, Ints]:
        """The table's part of the cycle, by field, and ``next``: the row's next change among those of all tables."""
        own, size = self._cycle.tables[self.number], self._cycle.size
        named = ("position", "slot", "visit", "visits", "spans", "deleted", "commit", "sharer", "previous", "born")
        table = {name: np.array(getattr(own, name), np.int64) for name in named}
        order = np.lexsort((table["visit"], table["slot"]))
        following = np.empty_like(order)
        following[order] = np.roll(order, -1)
        is_last = table["visit"] == table["visits"] - 1
        first = np.zeros(own.slots, np.int64)
        first[table["slot"][table["visit"] == 0]] = table["position"][table["visit"] == 0]
        table["next"] = np.where(is_last, first[table["slot"]] + size, table["position"][following])
        return table

    @cached_property
    def _walks(self) -> Walks | None:
        states, own = self._own.shape.states, self._cycle.tables[self.number]
        columns = own.slot, own.visit, own.position, own.commit, own.delay, own.state
        return None if states is None else Walks(states.names, *columns)

    def _steps(self, numbers: Ints) -> _Steps:
        own, size, stamp = self._table, self._cycle.size, self._clock.stamp
        cycle, at = np.divmod(numbers, len(own["slot"]))
        if self._walks is not None:
            row, step = self._walks.locate(numbers)
            previous, _, _ = self._walks.place(row, np.maximum(step - 1, 0), size)
            _, _, is_last = self._walks.place(row, step, size)
        else:
            spans, visits = own["spans"][at], own["visits"][at]
            lived = cycle % spans
            row, step = (cycle - lived) * self._own.shape.slots + own["slot"][at], lived * visits + own["visit"][at]
            previous, is_last = cycle * size + own["previous"][at], step == spans * visits - 1
        commit_ts, before = stamp(cycle * size + own["commit"][at]), stamp(previous)
        is_first, is_delete = step == 0, (own["deleted"][at] == 1) & is_last
        if self._emptied is not None:
            is_gone = self._emptyings_before(commit_ts) != self._emptyings_before(before)
            is_first, is_delete = is_first | is_gone, is_delete & ~is_gone
        born = stamp(row // self._own.shape.slots * size + own["born"][at])
        start_ts = commit_ts - 1 - own["sharer"][at] if self._cycle.shares_commits else commit_ts - 1
        return _Steps(row, step, is_delete, commit_ts, before, born, start_ts, is_first)

    def _emptyings_before(self, stamps: Ints) -> Ints:
        """Return how often the table has been emptied before changes that commit at these times."""
        return self._emptyings.of(self._emptied or 0, self._clock.schema_changes_before(stamps))

    def _next(self, numbers: Ints) -> Ints:
        """Return the numbers, among those of all tables, of the rows' next changes; a large one if there is none."""
        own, no_more = self._table, np.iinfo(np.int64).max
        if self._walks is not None:
            row, step = self._walks.locate(numbers)
            _, following, _ = self._walks.place(row, step + 1, self._cycle.size)
            return np.where(self._walks.place(row, step, self._cycle.size)[2], no_more, following)
        cycle, at = np.divmod(numbers, len(own["slot"]))
        spans, visits = own["spans"][at], own["visits"][at]
        is_end = (cycle % spans) * visits + own["visit"][at] == spans * visits - 1
        return np.where(is_end, no_more, cycle * self._cycle.size + own["next"][at])

    # -- values --------------------------------------------------------------------------------------------------------

    def _images(self, steps: _Steps) -> _Images:
        count = len(steps.row)
        hashes = hash_numbers(steps.row)
        born = _micros(steps.born)
        at_birth = Versions(steps.row, hashes, np.zeros(count, np.int64), born, born)
        parents = [self._parent_of(n, _Rows(steps.row)) for n in range(len(self._own.table.references))]
        values: dict[str, pa.Array] = {}
        for column in self._constant_columns:
            if not self._moves(column):
                value = self._constant_value(column, at_birth, parents)
                values[column.name.lower()] = pa.concat_arrays([value, value])
        both = Versions(
            np.tile(steps.row, 2),
            np.tile(hashes, 2),
            np.concatenate([steps.step, steps.step - 1]),
            np.tile(born, 2),
            np.concatenate([_micros(steps.commit_ts), _micros(steps.previous)]),
        )
        for column in filter(self._moves, self._constant_columns):
            rows = _Rows(self._owners(column.name, both), moved=self._moved(both.number, both.step))
            values[column.name.lower()] = self._key_value(self._own, column.name, rows)
        for column in self._varying_columns:
            values[column.name.lower()] = realistic(
                column,
                self._seed_of(self._own),
                both,
                always_changes=column is self._always_changing,
                is_operand=column.name.lower() in self._generated.operands,
                options=self._options_of(self._own, column),
            )
        if self._ends:
            self._put_ends(values, both)
        for name, options in self._of_states.items():
            values[name.lower()] = self._state_value(self.info.column(name), options, both)
        plain = {each.name: values[each.name.lower()] for each in self.info.row_columns if each.name.lower() in values}
        for name, function in self._functions.items():
            values[name.lower()] = called(function, self.info, self.info.column(name), plain)
        for wanted in self._parents:
            value = wanted.table.inserted(wanted.column, parents[wanted.reference])
            values[wanted.operand.name] = pa.concat_arrays([value, value])
        self._generated.add(values, 2 * count)
        added: list[tuple[str, AddedColumn, Mask]] = []
        if self.added:
            now, then = map(self._columns_changed, (steps.commit_ts, steps.previous))
            for each in self.added:
                made = realistic(each.column, self._seed_of(self._own), both)
                is_newer = np.concatenate([np.ones(count, np.bool_), each.additions(then) == each.additions(now)])
                values[_added_key(each)] = _or_default(each, made, is_newer)
                added += [(name, each, np.tile(each.named(name, now), 2)) for name in each.names]
        return _Images(values, added)

    def _columns_with_ends(self, options: Mapping[str, ColumnOptions]) -> dict[str, pa.Array]:
        """Return the ends of types, by column in lower case, of those that nothing else determines."""
        known, columns = self._own.table.checked | self._generated.operands, dict[str, pa.Array]()
        for each in (*self._constant_columns, *self._varying_columns):
            own, name = options.get(each.name), each.name.lower()
            is_free = each.name not in self._own.roles and name not in known and not (own and own.has_values)
            if is_free and len(found := ends(each)):
                columns[name] = found
        return columns

    def _put_ends(self, values: dict[str, pa.Array], at: Versions) -> None:
        """Let a share of the rows have one of the ends in each of these columns, in turn where an update must show."""
        salt = salt_of(*self._seed_of(self._own), "extremes")
        is_extreme = units(Hashes(at.hash, salt)(0), _MOVES) < round(self._extremes * _MOVES)
        if is_extreme.any():
            for name, found in self._ends.items():
                which = units(Hashes(at.hash, salt_of(salt, name))(0), 2)
                if self._always_changing is not None and name == self._always_changing.name.lower():
                    which ^= at.step & 1
                values[name] = pc.if_else(pa.array(is_extreme), found.take(pa.array(which)), values[name])

    def _moves(self, column: Column) -> bool:
        is_traded = self._trades is not None and column.name in self._own.traded
        return is_traded or (self._key_updates > 0 and isinstance(self._own.roles.get(column.name), Serial))

    def _owners(self, name: str, at: Versions) -> Ints:
        """Return the numbers of the rows whose keys in this column these rows have."""
        if self._trades is None or name not in self._own.traded:
            return at.number
        owners = self._trades.replaced if name in self._own.replaced else self._trades.swapped
        return owners.of(at.number, at.step, self._own.shape.slots)

    def _moved(self, row: Ints, step: Ints) -> Mask:
        """Return which rows have the second one of their two keys: of all updates, the share changes to the other."""
        if self._trades is not None:  # those that trade keys have the first one all their life
            step = np.where(np.isin(row % self._own.shape.slots, self._trades.slots), -1, step)
        begin = units(Hashes(hash_numbers(row), salt_of(*self._seed_of(self._own), "key_updates"))(0), _MOVES)
        moved: Mask = (begin + np.maximum(step, 0) * round(self._key_updates * _MOVES)) // _MOVES % 2 == 1
        return moved

    def _state_value(self, column: Column, options: ColumnOptions, at: Versions) -> pa.Array:
        walks = self._walks
        assert walks is not None
        visit, state = walks.visit(at.number, at.step)
        if options.states is not None:
            return native_labels(column, walks.names).take(pa.array(state))
        entered, commits = walks.entered(at.number, walks.names.index(options.entered), self._cycle.size)
        return with_nulls(moment(column, _micros(self._clock.stamp(commits))), visit < entered)

    def _constant_value(self, column: Column, at: Versions, parents: Sequence[_Rows]) -> pa.Array:
        role = self._own.roles.get(column.name)
        if isinstance(role, Follows):
            parent = self._keys[self._own.table.references[role.reference].parent]
            return self._key_value(parent, role.parent_column, parents[role.reference]).cast(native_type(column))
        if role is not None:
            return self._key_value(self._own, column.name, _Rows(at.number))
        return realistic(
            column,
            self._seed_of(self._own),
            at,
            fixed=True,
            is_operand=column.name.lower() in self._generated.operands,
            options=self._options_of(self._own, column),
        )

    def _key_value(self, keys: TableKeys, name: str, rows: _Rows) -> pa.Array:
        column, role, numbers = keys.table.column(name), keys.roles[name], rows.numbers
        if isinstance(role, Follows):
            parent = self._keys[keys.table.references[role.reference].parent]
            of_parent = self._parent_of(role.reference, rows, keys)
            return self._key_value(parent, role.parent_column, of_parent).cast(native_type(column))
        if isinstance(role, Serial | Digit):
            encoded = numbers * 2 if keys.moves else numbers
            if rows.moved is not None:
                encoded = encoded + rows.moved
            if isinstance(role, Digit):
                encoded = keys.place(numbers, is_nth=role.is_nth) // role.divisor
            options = self._options_of(keys, column)
            if options is not None and options.is_unique and isinstance(role, Serial):
                salt = salt_of(*self._seed_of(keys), column.name)
                values = identifiers(column, options, encoded, salt, _micros(self._births(keys, numbers)) // 1000)
                return with_nulls(values, rows.is_null)
            person = Hashes(hash_numbers(encoded), salt_of(*self._seed_of(keys)))
            values = from_number(column, encoded, role.width, person, is_digit=isinstance(role, Digit))
            return with_nulls(values, rows.is_null)
        start = np.full(len(numbers), self._clock.micros)
        at = Versions(numbers, hash_numbers(numbers), np.zeros(len(numbers), np.int64), start, start)
        options = self._options_of(keys, column)
        values = realistic(column, self._seed_of(keys), at, fixed=True, options=options)
        return with_nulls(values, rows.is_null)

    def _births(self, keys: TableKeys, numbers: Ints) -> Ints:
        """Return the TSO of the inserts of rows."""
        table = self._cycle.tables[list(self._keys).index(keys.table.name)]
        cycle, slot = np.divmod(numbers, table.slots)
        return self._clock.stamp(cycle * self._cycle.size + table.births[slot])

    def inserted(self, column: str, rows: _Rows) -> pa.Array:
        """Return the values of a column, in lower case, that rows of these numbers are inserted with."""
        numbers, places = np.unique(rows.numbers, return_inverse=True)
        born, first = self._births(self._own, numbers), np.zeros_like(numbers)
        steps = _Steps(numbers, first, first > 0, born, born, born, born, first == 0)
        return with_nulls(self._images(steps).values[column].take(pa.array(places)), rows.is_null)

    def _parent_of(self, reference: int, rows: _Rows, keys: TableKeys | None = None) -> _Rows:
        own = keys or self._own
        target = own.table.references[reference]
        parent = self._keys[target.parent]
        numbers, is_null, _ = rows
        if target.closes_loop:
            return _Rows(np.zeros_like(numbers), np.ones(len(numbers), np.bool_))
        cycle, slot = np.divmod(numbers, own.shape.slots)
        if reference in own.digits:
            divisor, anchors, is_nth = own.digits[reference]
            chosen = own.place(numbers, is_nth=is_nth) // divisor % anchors
            return _Rows(cycle * parent.shape.slots + chosen, is_null)
        if own.lineage is not None and own.lineage.reference == reference:
            return _Rows(cycle * parent.shape.slots + own.lineage.parents[slot], is_null)
        bits = Hashes(hash_numbers(numbers), salt_of(*self._seed_of(own), "reference", reference))
        back = units(bits(0), np.minimum(cycle, _BACK - 1) + 1)
        chosen = (cycle - back) * parent.shape.slots + units(bits(1), parent.shape.anchors)
        nullable = all(own.table.column(name).nullable for name in target.columns)
        absent = units(bits(2), 10) == 0 if nullable else None
        if target.parent == own.table.name:
            is_anchor = slot < own.shape.anchors
            chosen = np.where(is_anchor, numbers, chosen)
            absent = absent | is_anchor if absent is not None else None
        if absent is not None:
            is_null = absent if is_null is None else is_null | absent
        return _Rows(chosen, is_null)

    def _options_of(self, keys: TableKeys, column: Column) -> ColumnOptions | None:
        return self._options.get((keys.table.name, column.name))

    def _seed_of(self, keys: TableKeys) -> tuple[object, ...]:
        return self._seed, *keys.table.name

    # -- columns of a change -------------------------------------------------------------------------------------------

    def _head(self, steps: _Steps) -> dict[str, pa.Array]:
        kinds = np.where(steps.is_first, 0, np.where(steps.is_delete, 2, 1))
        head = {"op": _OPS.take(pa.array(kinds)), "commit_ts": pa.array(steps.commit_ts)}
        return head | ({START_TS: pa.array(steps.start_ts)} if self._cycle.shares_commits else {})

    def _physical(self, images: _Images, count: int, wanted: bool) -> dict[str, pa.Array]:
        if not wanted:
            return {}
        column = self.hashed_by
        if column is None:
            return {PHYSICAL_TABLE_ID: pa.nulls(count, pa.int64())}
        ids = np.array([partition.id for partition in self.info.partitions], np.int64)
        keys = images.values[column.name.lower()].slice(0, count).to_numpy(zero_copy_only=False)
        return {PHYSICAL_TABLE_ID: pa.array(ids[np.abs(keys) % len(ids)])}


_OPS = pa.array(["c", "u", "d"])


def _added_key(added: AddedColumn) -> str:
    return "\0".join(added.names)


def _or_default(added: AddedColumn, values: pa.Array, is_newer: Mask) -> pa.Array:
    """Return values where they were written after the column was last added, else its default."""
    older = ~is_newer
    if not older.any():
        return values
    default = pa.scalar(added.default, values.type)
    return pc.if_else(pa.array(older), default, values)


def _micros(stamps: Ints) -> Ints:
    return (stamps >> LOGICAL_BITS) * 1000


_ENDLESS = 1 << 31


@dataclass(frozen=True)
class TrafficPlan:
    """``schema_changes``: each the commit_ts of its first statement, and the statements; of traffic without end one
    round. ``is_typed``: one table, in the typed form.
    """

    schema: str
    tables: tuple[TableChanges, ...]
    cycle: Cycle
    schema_changes: tuple[tuple[int, tuple[str, ...]], ...]
    rows: int | None
    clock: Clock
    emptyings: Emptyings = NEVER

    @property
    def ddl(self) -> tuple[tuple[int, str], ...]:
        """(commit_ts, SQL) of all schema changes."""
        return tuple(each for first, queries in self.schema_changes for each in enumerate(queries, first))

    @property
    def is_typed(self) -> bool:
        return len(self.tables) == 1

    @cached_property
    def physical(self) -> bool:
        return any(table.hashed_by is not None for table in self.tables)

    def changes(self, numbers: Ints) -> Iterator[pa.RecordBatch]:
        """Yield changes by their numbers among those of all tables, table by table: typed for one, else generic."""
        cycle, at = np.divmod(numbers, self.cycle.size)
        for table in self.tables:
            number = self._numbers[table.number][at]
            is_own = number >= 0
            if is_own.any():
                own = cycle[is_own] * self.cycle.tables[table.number].size + number[is_own]
                form = table.typed if self.is_typed else table.generic
                yield form(own, physical=self.physical)

    @cached_property
    def _numbers(self) -> list[Ints]:
        """For each table and position, the number of the change among those of the table; -1 for other tables."""
        numbers = [np.full(self.cycle.size, -1) for _ in self.tables]
        for own, table in zip(numbers, self.cycle.tables, strict=True):
            own[list(table.position)] = np.arange(table.size)
        return numbers


def plan_traffic(schema: str, settings: Settings) -> TrafficPlan:
    """Return the plan for the tables of SQL text. Raises the family of :class:`SchemaError`; ``ConfigError``."""
    refuse_path(schema)
    catalog = catalog_from_sql(schema, time_zone=settings.time_zone)
    refusals, model = Refusals(), settings.model
    options, keys = _planned_keys(catalog, settings.tables, model, refusals)
    if model.trouble.extremes:
        checked = checked_columns(schema)
        for name, each in keys.items():
            keys[name] = replace(each, table=replace(each.table, checked=checked.get(name[1].lower(), frozenset())))
    if not (keys or refusals):
        raise SchemaError("the schema has no tables", remedy="Give at least one CREATE TABLE")
    tables, trouble, rate = [each.table for each in keys.values()], model.trouble, settings.changes_per_second
    shapes = [each.shape for each in keys.values()]
    cycle = lay_out(shapes, settings.seed, model.load.transaction_size, trouble, rate)
    for each in keys.values():
        with refusals.collected():
            _refuse_few_keys(each, options, cycle, settings.rows)
    refusals.raise_all()
    clock = Clock.at_rates(settings.first_commit, settings.changes_per_second, model.load.ddl_rate)
    stamps = clock.schema_changes(settings.rows)
    emptied = [name for name, each in keys.items() if each.stands_alone]
    emptyings = _emptyings(model, emptied)
    round_ = one_round(len(tables), emptyings)
    stamps = islice(stamps, round_) if settings.rows is None else stamps
    changes = plan_ddl(catalog, tables, stamps, emptyings, emptied)
    planned = tuple(
        TableChanges(
            *(number, keys, cycle, clock, settings.seed, changes.added.get(name, ()), settings.time_zone, options),
            key_updates=trouble.key_updates,
            emptyings=emptyings,
            emptied=emptied.index(name) if emptyings.every and name in emptied else None,
            extremes=trouble.extremes,
        )
        for number, name in enumerate(keys)
    )
    return TrafficPlan(schema, planned, cycle, changes.changes, settings.rows, clock, emptyings)


def _emptyings(model: Model, tables: Sequence[Name]) -> Emptyings:
    truncates, drops = model.trouble.truncates, model.trouble.drops
    share, option = truncates + drops, "truncates" if truncates else "drops"
    if share and not (model.load.ddl_rate and tables):
        raise ConfigError(
            f"{option} is a share of the schema changes, and no table without children and partitions gets any",
            remedy=f"Give ddl_rate in [load], or leave {option} out",
            option="model",
        )
    if share > 0.5:
        remedy = "Ask for at most 0.5 together"
        raise ConfigError(f"truncates and drops are {share:g} of schema changes", remedy=remedy, option="model")
    return Emptyings(round(1 / share), len(tables), drops / share) if share else NEVER


def check_model(schema: str, model: Model, tables: str | Iterable[str] | None = None) -> None:
    """Raise the errors of :func:`plan_traffic` for a model, without planning changes."""
    if model != Model():
        refusals = Refusals()
        _planned_keys(catalog_from_sql(schema), names(tables or (), "tables"), model, refusals)
        refusals.raise_all()


def _planned_keys(
    catalog: Catalog, names: tuple[str, ...], model: Model, refusals: Refusals
) -> tuple[OptionsByColumn, dict[Name, TableKeys]]:
    """Return the options of columns, and the keys of the tables of these names, of those that can be generated."""
    tables = source_tables(catalog, _chosen_tables(catalog, names), refusals)
    options, lives = options_by_column(model.columns, tables, refusals), model.of_tables(tables, refusals)
    planned = plan_keys(tables, options, refusals, lives, model.trouble)
    usual = model.tables.get("*", {}).get("updates", TableOptions().updates)
    for keys in planned.values():
        if keys.shape.still and lives[keys.table.name].updates not in (0, usual):
            told = "has no updates: its columns are in keys, or keep their value, by their name or by their options"
            warn_caller(f"{keys.table.info.full_name} {told}", ConfigWarning)
    return options, planned


def _chosen_tables(catalog: Catalog, names: tuple[str, ...]) -> set[Name] | None:
    if not names:
        return {(info.schema, info.name) for info in catalog.tables() if info.whole_handle_key} or None
    known = [(info.schema, info.name) for info in catalog.tables()]
    chosen = (catalog.table(*schema_and_name(name, known)) for name in names)
    return {(info.schema, info.name) for info in chosen}


def _refuse_few_keys(keys: TableKeys, options: OptionsByColumn, cycle: Cycle, rows: int | None) -> None:
    needed = _ENDLESS - 1 if rows is None else (rows // cycle.size + 1) * keys.shape.slots * (1 + keys.moves)
    for name, role in keys.roles.items():
        own = options.get((keys.table.name, name))
        if not isinstance(role, Serial):
            continue
        room = capacity(keys.table.column(name), role.width) if own is None else capacity_of(own)
        if room <= needed:
            what = "a stream without end" if rows is None else f"{rows:,} changes"
            raise SchemaError(
                f"{what} can need more than the {room:,} values of a key",
                remedy=f"Give the column a larger {'type' if own is None else 'pattern'}, or make fewer rows",
                table=keys.table.info.full_name,
                column=name,
            )
