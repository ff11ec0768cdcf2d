"""The plan of the traffic for a schema and settings, made without Spark.

In: SQL text and :class:`Settings`. Out: a :class:`TrafficPlan`: the tables' changes as SQL layers, the cycle, the DDL.
A schema that cannot be generated is refused here, before a row is made.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ticdc_emit.errors import SchemaError
from ticdc_emit.hints import names
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.sql.script import refuse_path
from ticdc_emit.sql.words import split_name
from ticdc_emit.traffic.generate.changes import TableChanges
from ticdc_emit.traffic.generate.clock import Clock, gap_of
from ticdc_emit.traffic.generate.column_options import Columns, controls_of
from ticdc_emit.traffic.generate.ddl import plan_ddl
from ticdc_emit.traffic.generate.keys import Serial, TableKeys, plan_keys
from ticdc_emit.traffic.generate.layout import Cycle, lay_out
from ticdc_emit.traffic.generate.numbered import capacity
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Name, SourceTable, source_tables
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["TrafficPlan", "check_columns", "plan_traffic"]

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
