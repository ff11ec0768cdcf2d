"""What a changefeed asks of a micro-batch: its DDL, which tables it has, how many rows, and to run a task over it.

An engine brings one implementation (``spark.batch``: a DataFrame). What a batch gives must not depend on how it is
partitioned, for a batch that is replayed after a restart must give the same again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changefeed.worker import Task, TaskResult
from ticdc_emit.errors import InvalidValueError, UnsupportedTypeError
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.bootstrap_replay import CountedRows

__all__ = ["DDL_OP", "Batch", "counted", "ddl_statement", "null_in_ddl", "version_starts"]

DDL_OP = "ddl"
"""The ``op`` of rows that are DDL, in any case; their statement is their ``query``."""


class Batch(Protocol):
    """Row changes, wherever they are, and the DDL among them."""

    def ddl_rows(self, database: str) -> Sequence[DdlStatement]:
        """Return the batch's DDL in an order that no partitioning changes; ``database``: of those that name none.

        Raises :class:`~ticdc_emit.errors.InvalidValueError` for a NULL where a DDL needs a value,
        :class:`~ticdc_emit.errors.UnsupportedTypeError` for a statement that is not text.
        """
        ...

    def table_of(self, plan: Plan) -> tuple[str, str] | None:
        """Return whose changes the batch holds, ``None`` if each row names its table."""
        ...

    def check(self, plan: Plan) -> None:
        """Check what can be checked without a pass over the rows: which columns there are, and of which types.

        Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError`. Nothing outside is touched before.
        """
        ...

    def tables(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """Return the tables that the batch's rows belong to, in order."""
        ...

    def count_rows(self, plan: Plan, tick_ms: int, late_until: int | None) -> Sequence[CountedRows]:
        """Count rows per table version, physical table and slot of ``tick_ms`` of commit time.

        ``late_until``: rows up to this TSO are dropped by the changefeed. Raises
        :class:`~ticdc_emit.errors.UnknownTableError` for rows of no table.
        """
        ...

    def run(self, task: Task) -> Mapping[Target, TaskResult]:
        """Run the task over the rows, routed and in total order; raise the error that it met."""
        ...


def null_in_ddl(column: str, commit_ts: int | None, query: str | None) -> InvalidValueError:
    """Return the error of a DDL row that is NULL in ``column``."""
    return InvalidValueError(
        "a DDL row is NULL where it needs a value",
        remedy="Give every row with op = 'ddl' its commit time and its statement",
        column=column,
        commit_ts=commit_ts,
        statement=query,
    )


def ddl_statement(commit_ts: int, schema: object, query: object, database: str) -> DdlStatement:
    """Return a DDL row's statement; ``database``: its current one if ``schema`` is NULL or "".

    Raises :class:`~ticdc_emit.errors.UnsupportedTypeError` for a ``query`` or ``schema`` that is not text.
    """
    for column, value in (("query", query), ("schema", schema)):
        if not isinstance(value, str) and (value is not None or column == "query"):
            raise UnsupportedTypeError(
                f"the {column} of a DDL row is {type(value).__name__}, not text",
                remedy=f"Cast {column} to string first",
                column=column,
                commit_ts=commit_ts,
            )
    assert isinstance(query, str)
    return commit_ts, str(schema or database), query


def version_starts(plan: Plan, table: tuple[str, str] | None) -> list[int]:
    """Return the TSOs at which a schema changes: of one table, or (``None``) of any."""
    tables = plan.tables.values() if table is None else [plan.table(*table)]
    return sorted({since for each in tables for since in each.since[1:]})


def counted(plan: Plan, table: TablePlan, physical: int | None, first_ts: int, count: int) -> CountedRows:
    """Return the count of a table's rows between two ticks; ``physical``: the table id that they bring, if any."""
    info = table.encoder_at(first_ts).table
    key = info.id if physical is None else physical
    return CountedRows(key, info, table.topic, plan.router.partitions[table.topic], first_ts, count)
