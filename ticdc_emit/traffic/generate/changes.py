"""The plan of a script's tables, and each table's changes as layers of Spark SQL.

In: SQL text and settings. Out: a :class:`TrafficPlan`, whose tables give lists of expressions, each a ``SELECT`` over
the one before: from the position of a change to op, commit_ts, before and after. The first takes the columns ``_c``
(cycle, bigint) and ``_i`` (int, the change's number among the table's in the cycle). The layers exist so that a value
used twice is computed once; Spark merges them where that is cheap.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import names
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.script import refuse_path
from ticdc_emit.sql.types import INTEGER_TYPES
from ticdc_emit.sql.words import split_name
from ticdc_emit.traffic.generate.column_options import Columns, Control, Controls, controls_of
from ticdc_emit.traffic.generate.cycle import Clock, Cycle, gap_of, lay_out
from ticdc_emit.traffic.generate.ddl import AddedColumn, plan_ddl
from ticdc_emit.traffic.generate.generated_columns import add_computed
from ticdc_emit.traffic.generate.keys import Digit, Follows, Serial, TableKeys, plan_keys
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.sql import (
    canonical_text,
    hashed,
    native_type,
    not_in_whole_stage,
    numbers,
    salt_of,
    text_of,
    units,
)
from ticdc_emit.traffic.generate.tables import Name, SourceTable, source_tables
from ticdc_emit.traffic.generate.texts import capacity, from_number
from ticdc_emit.traffic.generate.values import Moment, always_changing_column, is_constant, realistic
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["TableChanges", "TrafficPlan", "check_columns", "plan_traffic"]


_BACK = 8
"""How many cycles back, including its own, the rows are that a foreign key can refer to."""

_WHOLE_STAGE_IMAGES = 32
"""How many values a projection may have in whole-stage code. The JVM does not compile methods beyond 64 KB."""


class TableChanges:
    """Plans the changes of table ``number`` of the cycle; ``keys``, ``controls``: of all tables."""

    def __init__(
        self,
        number: int,
        keys: Mapping[Name, TableKeys],
        cycle: Cycle,
        clock: Clock,
        seed: int,
        added: Sequence[AddedColumn] = (),
        time_zone: str = "UTC",
        controls: Controls | None = None,
    ) -> None:
        self._own = list(keys.values())[number]
        self._keys = keys
        self._cycle = cycle
        self._lives = cycle.tables[number]
        self._clock = clock
        self._seed = seed
        self.added = added
        self._time_zone = time_zone
        self._controls = controls or {}
        self.info = self._own.table.info

    @property
    def hashed_by(self) -> Column | None:
        """The integer column of the table's HASH partitioning, if its value never changes in a row."""
        by = self._own.table.partitioning
        if by is None or by.method != "hash" or by.expression is None:
            return None
        named = by.expression.text.strip("`").lower()
        columns = (column for column in self.info.row_columns if column.name.lower() == named)
        return next((each for each in columns if each.type in INTEGER_TYPES and each.name in self._own.roles), None)

    def layers(self, *, typed: bool, physical: bool = False, numbered: bool = False) -> list[list[str]]:
        """Return the layers. ``typed``: images as structs of native values, else as maps of canonical text.

        ``physical``: with the column ``physical_table_id``, NULL where it is the table's own. ``numbered``: with the
        row's number in ``_k``.
        """
        columns = [column for column in self.info.row_columns if column.generated is None]
        lasting = [column for column in columns if column.name in self._own.roles or is_constant(column)]
        varying = [column for column in columns if column not in lasting]
        restless = always_changing_column(varying, self._own_controls())
        references = [f"{self._parent_of(n, '_k')} as _r{n}" for n in range(len(self._own.table.references))]
        held = ["_k", "_s1", "_x1", "_x0", "_bt", "_gone"]
        times = {"_t1": _micros("_x1"), "_t0": _micros("_x0")}
        if self.added:
            times |= {f"_d{which}": self._clock.schema_changes_before(f"_x{which}") for which in "10"}
        lasting_values = [f"_v{column.id}" for column in lasting]
        images = [
            f"{self._varying(c, which, c is restless)} as _{which}{c.id}"
            for c in (*varying, *(each.column for each in self.added))
            for which in "ab"
        ]
        step = "_s1" if len(images) <= _WHOLE_STAGE_IMAGES else f"{not_in_whole_stage('_s1')} as _s1"
        return [
            *self._steps(),
            [*held, *(f"{expression} as {name}" for name, expression in times.items()), *references],
            [*held, *times, *(f"{self._lasting(column)} as _v{column.id}" for column in lasting)],
            ["_k", step, "_gone", "_x1", *(["_d1"] if self.added else []), *lasting_values, *images],
            [
                *self._packed(lasting, typed=typed),
                *([f"{self._physical()} as physical_table_id"] if physical else []),
                *(["_k"] if numbered else []),
            ],
        ]

    # -- where a change stands -------------------------------------------------------------------------------------

    def _steps(self) -> list[list[str]]:
        lives, size, stamp = self._lives, self._cycle.size, self._clock.stamp

        def looked_up(name: str) -> str:
            return numbers(getattr(lives, name), "_i")

        named = ("slot", "visit", "visits", "spans", "deleted", "transaction", "previous", "born")
        passed = ["_c", "_slot", "_transaction", "_previous", "_born", "_deleted"]
        return [
            ["_c", *(f"{looked_up(name)} as _{name}" for name in named)],
            [
                *passed,
                "_c - _c % _spans as _birth",
                "(_c % _spans) * _visits + _visit as _s1",
                "_spans * _visits - 1L as _last",
            ],
            [
                f"_birth * {lives.slots}L + _slot as _k",
                "_s1",
                "_deleted = 1L and _s1 = _last as _gone",
                f"{stamp(f'(_c * {size}L + _transaction)')} as _x1",
                f"{stamp(f'(_c * {size}L + _previous)')} as _x0",
                f"{_micros('(' + stamp(f'(_birth * {size}L + _born)') + ')')} as _bt",
            ],
        ]

    # -- values ----------------------------------------------------------------------------------------------------

    def _lasting(self, column: Column) -> str:
        role = self._own.roles.get(column.name)
        if isinstance(role, Follows):
            parent = self._keys[self._own.table.references[role.reference].parent]
            value = self._key_value(parent, role.parent_column, f"_r{role.reference}")
            return f"cast({value} as {native_type(column)})"
        if role is not None:
            return self._key_value(self._own, column.name, "_k")
        return realistic(
            column,
            self._seed_of(self._own),
            Moment("_k", "0L", "_bt", "_bt"),
            fixed=True,
            control=self._control_of(self._own, column),
        )

    def _varying(self, column: Column, which: str, restless: bool) -> str:
        step, now = ("_s1", "_t1") if which == "a" else ("(_s1 - 1L)", "_t0")
        at = Moment("_k", step, "_bt", now)
        new = next((each for each in self.added if each.column is column), None)
        control = None if new is not None else self._control_of(self._own, column)
        value = realistic(column, self._seed_of(self._own), at, restless=restless, control=control)
        if new is None or which == "a":
            return value
        default = f"cast({new.default or 'null'} as {native_type(column)})"
        return f"if({new.additions('_d0')} = {new.additions('_d1')}, {value}, {default})"

    def _control_of(self, keys: TableKeys, column: Column) -> Control | None:
        return self._controls.get((keys.table.name, column.name))

    def _own_controls(self) -> dict[str, Control]:
        return {column: each for (table, column), each in self._controls.items() if table == self._own.table.name}

    def _seed_of(self, keys: TableKeys) -> tuple[object, ...]:
        return self._seed, *keys.table.name

    def _key_value(self, keys: TableKeys, name: str, number: str) -> str:
        """Return the value of a key column in the row with this number; NULL for NULL."""
        column, role = keys.table.column(name), keys.roles[name]
        if isinstance(role, Follows):
            parent = self._keys[keys.table.references[role.reference].parent]
            row = self._parent_of(role.reference, number, keys)
            return f"cast({self._key_value(parent, role.parent_column, row)} as {native_type(column)})"
        if isinstance(role, Serial):
            return from_number(column, self._seed_of(keys), number, role.width)
        if isinstance(role, Digit):
            digit = f"({number} % {keys.shape.slots}L div {role.divisor}L)"
            return from_number(column, self._seed_of(keys), digit, role.width, digit=True)
        start = f"{self._clock.micros}L"
        value = realistic(
            column,
            self._seed_of(keys),
            Moment(number, "0L", start, start),
            fixed=True,
            control=self._control_of(keys, column),
        )
        return f"if({number} is null, null, {value})"

    def _parent_of(self, reference: int, number: str, keys: TableKeys | None = None) -> str:
        """Return the number of the row that a foreign key of the row with this number refers to."""
        own = keys or self._own
        target = own.table.references[reference]
        parent = self._keys[target.parent]
        cycle, slot = f"({number} div {own.shape.slots}L)", f"({number} % {own.shape.slots}L)"
        if target.closes_cycle:
            return "cast(null as bigint)"
        if reference in own.digits:
            divisor, anchors = own.digits[reference]
            return f"({cycle} * {parent.shape.slots}L + {slot} div {divisor}L % {anchors}L)"
        salt = salt_of(*self._seed_of(own), "reference", reference)
        back = f"pmod({hashed(salt, number)}, least({cycle}, {_BACK - 1}L) + 1L)"
        chosen = (
            f"(({cycle} - {back}) * {parent.shape.slots}L + {units(hashed(salt + 1, number), parent.shape.anchors)})"
        )
        nullable = all(own.table.column(name).nullable for name in target.columns)
        if target.parent == own.table.name:
            chosen = f"if({slot} < {own.shape.anchors}L, {'cast(null as bigint)' if nullable else number}, {chosen})"
        absent = f"{units(hashed(salt + 2, number), 10)} = 0L"
        return f"if({absent}, cast(null as bigint), {chosen})" if nullable else chosen

    # -- the change ------------------------------------------------------------------------------------------------

    def _packed(self, lasting: Sequence[Column], *, typed: bool) -> list[str]:
        kind = "case when _s1 = 0L then 'c' when _gone then 'd' else 'u' end"
        head = [f"{not_in_whole_stage(kind)} as op", "_x1 as commit_ts"]
        if not typed:
            head = [f"{text_of(self.info.schema)} as schema", f"{text_of(self.info.name)} as table", *head]
        before = f"if(_s1 > 0L, {self._image('b', lasting, typed)}, null) as before"
        after = f"if(_gone, null, {self._image('a', lasting, typed)}) as after"
        return [*head, before, after]

    def _physical(self) -> str:
        column = self.hashed_by
        if column is None:
            return "cast(null as bigint)"
        ids = [partition.id for partition in self.info.partitions]
        return numbers(ids, f"cast(abs(_v{column.id}) % {len(ids)}L as int)")

    def _image(self, which: str, lasting: Sequence[Column], typed: bool) -> str:
        values: dict[str, str] = {}
        for column in self.info.row_columns:
            if column.generated is None:
                values[column.name.lower()] = f"_v{column.id}" if column in lasting else f"_{which}{column.id}"
        add_computed(self.info, values)
        shown = [(column.name, column, values[column.name.lower()]) for column in self.info.row_columns]
        added = [
            (each.named(name, "_d1"), name, each.column, f"_{which}{each.column.id}")
            for each in self.added
            for name in each.names
        ]
        if typed:
            fields = [f"{text_of(name)}, {value}" for name, _, value in shown]
            fields += [f"{text_of(name)}, if({is_there}, {value}, null)" for is_there, name, _, value in added]
            return f"named_struct({', '.join(fields)})"

        def entry(name: str, column: Column, value: str) -> str:
            return f"{text_of(name)}, {canonical_text(column, value, self._time_zone)}"

        texts = f"map({', '.join(entry(*each) for each in shown)})"
        if not added:
            return texts
        cases = " ".join(
            f"when {is_there} then map({entry(name, column, value)})" for is_there, name, column, value in added
        )
        return f"map_concat({texts}, case {cases} else cast(map() as map<string,string>) end)"


def _micros(stamp: str) -> str:
    return f"shiftrightunsigned({stamp}, {LOGICAL_BITS}) * 1000L"


_TSO_PER_SECOND = 1000 << LOGICAL_BITS
_ENDLESS = 1 << 31


@dataclass(frozen=True)
class TrafficPlan:
    """``typed``: there is one table, whose changes are in the typed form."""

    schema: str
    tables: tuple[TableChanges, ...]
    cycle: Cycle
    ddl: tuple[tuple[int, str], ...]
    rows: int | None
    clock: Clock

    @property
    def typed(self) -> bool:
        return len(self.tables) == 1


def plan_traffic(schema: str, settings: Settings) -> TrafficPlan:
    """Return the plan for the tables of SQL text.

    Raises the family of :class:`SchemaError` for what cannot be generated: a start that is not a moment, unique or
    foreign keys that cannot be satisfied, generated columns that cannot be translated; and
    :class:`~ticdc_emit.errors.ConfigError` for wrong ``columns``.
    """
    refuse_path(schema)
    catalog = catalog_from_sql(schema, time_zone=settings.time_zone)
    tables = source_tables(catalog, schema, _wanted(catalog, settings.tables))
    if not tables:
        raise SchemaError("the schema has no tables", remedy="Give at least one CREATE TABLE")
    for table in tables:
        _generable(table)
    controls = controls_of(settings.columns, tables)
    keys = plan_keys(tables, controls)
    cycle = lay_out([each.shape for each in keys.values()], settings.lives, settings.seed)
    for each in keys.values():
        _fits(each, cycle, settings.rows)
    rate = settings.changes_per_second
    clock = Clock(settings.first_commit, round(_TSO_PER_SECOND / rate), gap_of(rate, settings.ddl_rate))
    changes = plan_ddl(catalog, tables, clock.schema_changes(settings.rows or 0))
    planned = tuple(
        TableChanges(
            number, keys, cycle, clock, settings.seed, changes.added.get(name, ()), settings.time_zone, controls
        )
        for number, name in enumerate(keys)
    )
    return TrafficPlan(schema, planned, cycle, changes.statements, settings.rows, clock)


def check_columns(schema: str, columns: Columns | None, tables: str | Iterable[str] | None = None) -> None:
    """Raise the errors of :func:`plan_traffic` for options of columns, without planning changes."""
    if columns is not None:
        catalog = catalog_from_sql(schema)
        sources = source_tables(catalog, schema, _wanted(catalog, names(tables or ())))
        plan_keys(sources, controls_of(columns, sources))


def _wanted(catalog: Catalog, names: tuple[str, ...]) -> set[Name] | None:
    if not names:
        return None
    known = [(info.schema, info.name) for info in catalog.tables()]
    chosen = (catalog.table(*split_name(name, known)) for name in names)
    return {(info.schema, info.name) for info in chosen}


def _generable(table: SourceTable) -> None:
    if not table.info.row_columns:
        raise SchemaError(
            "the table has no columns that rows hold",
            remedy="Give it a column that is not virtual, or leave the table out",
            table=table.info.full_name,
        )
    if table.partitioning is not None and table.partitioning.method == "list":
        raise SchemaError(
            "the values of LIST partitions are not known here",
            remedy="Partition by HASH, KEY or RANGE, or leave the partitions out",
            table=table.info.full_name,
        )


def _fits(keys: TableKeys, cycle: Cycle, rows: int | None) -> None:
    """Refuse a key with fewer values than rows."""
    needed = _ENDLESS - 1 if rows is None else keys.rows(rows // cycle.size + 1)
    for name, role in keys.roles.items():
        column = keys.table.column(name)
        if isinstance(role, Serial) and capacity(column, role.width) <= needed:
            what = "a stream without end" if rows is None else f"{rows:,} changes"
            raise SchemaError(
                f"{what} can need more than the {capacity(column, role.width):,} values of a key",
                remedy="Give the column a larger type, or make fewer rows",
                table=keys.table.info.full_name,
                column=name,
            )
