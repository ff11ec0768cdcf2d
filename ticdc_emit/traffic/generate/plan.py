"""The plan of the traffic for a schema and settings, made without Spark.

In: SQL text and :class:`Settings`. Out: a :class:`TrafficPlan`: the tables' changes as SQL layers, the cycle, the DDL.
A schema that cannot be generated is refused here, before a row is made.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.given import refuse_path
from ticdc_emit.schema.identifiers import split_name
from ticdc_emit.traffic.generate.changes import TableChanges
from ticdc_emit.traffic.generate.clock import Clock, gap_of
from ticdc_emit.traffic.generate.control import Columns, controls_of
from ticdc_emit.traffic.generate.ddl import plan_ddl
from ticdc_emit.traffic.generate.keys import Serial, TableKeys, plan_keys
from ticdc_emit.traffic.generate.layout import Cycle, Lives, lay_out
from ticdc_emit.traffic.generate.numbered import capacity
from ticdc_emit.traffic.generate.tables import Name, SourceTable, source_tables
from ticdc_emit.traffic.replay.moments import tso_of
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["DEFAULT_RATE", "Settings", "TrafficPlan", "check_columns", "plan_traffic"]

DEFAULT_RATE = 1000.0
_TSO_PER_SECOND = 1000 << LOGICAL_BITS
_MAX_RATE = 1_000_000
_ENDLESS = 1 << 31
_START = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)


@dataclass(frozen=True)
class Settings:
    """``rows``: changes, ``None`` for no end. ``rate``: changes, ``ddl_rate``: statements per second of commit time.

    ``start``: the first commit, a TSO or an aware datetime. ``time_zone``: of TIMESTAMP in canonical text. ``columns``:
    the user's options for columns.
    """

    rows: int | None
    seed: int = 0
    tables: tuple[str, ...] = ()
    start: int | dt.datetime = _START
    rate: float = DEFAULT_RATE
    ddl_rate: float = 0.0
    lives: Lives = field(default_factory=Lives)
    time_zone: str = "UTC"
    columns: Columns | None = None


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

    Raises the family of :class:`SchemaError` for what cannot be generated: settings out of their range, unique or
    foreign keys that cannot be satisfied, generated columns that cannot be translated; and
    :class:`~ticdc_emit.errors.ConfigError` for wrong ``columns``.
    """
    _check(settings)
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
    tick = round(_TSO_PER_SECOND / settings.rate)
    clock = Clock(_first(settings.start), tick, gap_of(settings.rate, settings.ddl_rate))
    changes = plan_ddl(catalog, tables, clock.schema_changes(settings.rows or 0))
    planned = tuple(
        TableChanges(
            number, keys, cycle, clock, settings.seed, changes.added.get(name, ()), settings.time_zone, controls
        )
        for number, name in enumerate(keys)
    )
    return TrafficPlan(schema, planned, cycle, changes.statements, settings.rows, clock)


def check_columns(schema: str, columns: Columns | None, tables: Iterable[str] | None = None) -> None:
    """Raise the errors of :func:`plan_traffic` for options of columns, without planning changes."""
    if columns is not None:
        catalog = catalog_from_sql(schema)
        sources = source_tables(catalog, schema, _wanted(catalog, tuple(tables or ())))
        plan_keys(sources, controls_of(columns, sources))


def _check(settings: Settings) -> None:
    lives = settings.lives
    has_rate = _within(settings.rate, 0, _MAX_RATE) and settings.rate > 0
    faults = {
        "rows": settings.rows is not None and not _within(settings.rows, 1),
        "rate": not has_rate,
        "ddl_rate": not _within(settings.ddl_rate, 0, settings.rate if has_rate else _MAX_RATE),
        "updates": not _within(lives.updates, 0, 1000),
        "deletes": not _within(lives.deletes, 0, 1),
        "skew": not _within(lives.skew, 0, 5),
        "transaction_size": not _within(lives.transaction_size, 1),
    }
    wrong = [name for name, is_wrong in faults.items() if is_wrong]
    if wrong:
        raise SchemaError(
            f"{wrong[0]} is out of its range",
            remedy="rows from 1, rate above 0 up to 1,000,000, ddl_rate up to rate, updates up to 1,000, "
            "deletes from 0 to 1, skew from 0 to 5, transaction_size from 1",
            option=wrong[0],
        )
    if settings.ddl_rate and settings.rows is None:
        raise SchemaError("ddl_rate needs a number of rows", remedy="Give rows", option="ddl_rate")


def _within(value: object, low: float, high: float = math.inf) -> bool:
    return isinstance(value, int | float) and low <= value <= high


def _first(start: dt.datetime | int) -> int:
    try:
        return tso_of(start)
    except ConfigError as fault:
        raise SchemaError(fault.message, remedy=fault.remedy, option="start") from None


def _wanted(catalog: Catalog, names: tuple[str, ...]) -> set[Name] | None:
    if not names:
        return None
    known = [(info.schema, info.name) for info in catalog.tables()]
    chosen = (catalog.table(*split_name(name, known)) for name in names)
    return {(info.schema, info.name) for info in chosen}


def _generable(table: SourceTable) -> None:
    if not table.info.row_columns:
        raise SchemaError("the table has no columns that rows hold", table=table.info.full_name)
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
