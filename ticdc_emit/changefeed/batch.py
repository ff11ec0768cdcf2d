"""What a changefeed needs of a micro-batch: its DDL, its tables, and a way to run tasks over its rows.

An engine brings one implementation (``spark.batch``: a DataFrame). The results of a batch must not depend on its
partitioning, because a batch that is replayed after a restart must give the same results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from ticdc_emit.changefeed.deliver_task import DeliverTask
from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changefeed.results import TaskResult
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changes.forms import is_generic
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schema.identifiers import split_name

__all__ = ["Batch", "Journal", "null_in_ddl", "typed_table"]


class Batch(Protocol):
    """Row changes, wherever they are, and the DDL among them."""

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> Sequence[DdlStatement]:
        """Return the batch's DDL in an order that no partitioning changes; ``database``: of those that name none.

        ``names_tables``: whether :meth:`tables` will be asked for; an engine to which each question is a job may find
        them out in the same one. Raises :class:`~ticdc_emit.errors.InvalidValueError` for a NULL where a DDL needs a
        value.
        """
        ...

    def check(self, plan: Plan) -> None:
        """Check what can be checked without a pass over the rows: which columns there are, and of which types.

        Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError`. Nothing outside is touched before.
        """
        ...

    def tables(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """Return the tables that the batch's rows belong to, in order."""
        ...

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> Mapping[Target, TaskResult]:
        """Run the first task over the rows, with the table of the rows, and the second over all its chunks.

        No task delivers before every row is encoded. Raises the error of either.
        """
        ...


class Journal(Protocol):
    """Records that a run has begun to send."""

    def begin(self) -> None:
        """Called before the first message of a batch, after the batch's own record."""
        ...

    def undo(self) -> None:
        """Called where the batch's rows were refused, and no message was sent."""
        ...


def typed_table(columns: Sequence[str], table: str | None, plan: Plan) -> tuple[str, str] | None:
    """Return whose changes rows with these columns are: ``table``, or the only one; ``None`` for the generic form."""
    if is_generic(columns):
        return None
    key = split_name(table, [key for key, planned in plan.tables.items() if any(planned.encoders)])
    plan.table(*key)  # refused here rather than by a task
    return key


def null_in_ddl(column: str, commit_ts: int | None, query: str | None) -> InvalidValueError:
    """Return the error of a DDL row that is NULL in ``column``."""
    return InvalidValueError(
        "a DDL row is NULL where it needs a value",
        remedy="Give every row with op = 'ddl' its commit time and its statement",
        column=column,
        commit_ts=commit_ts,
        statement=query,
    )
