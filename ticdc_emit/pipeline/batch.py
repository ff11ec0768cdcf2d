"""What a changefeed needs of a micro-batch: its DDL, its tables, and a way to run tasks over its rows.

An engine brings one implementation (``spark.batch``). Results must not depend on partitioning, for a batch that is
replayed after a restart must give the same ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import pyarrow as pa

from ticdc_emit.changes.arrow_input import is_generic
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import InvalidValueError, StateError
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask, TaskResult, read_results
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.ddl import DdlStatement
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.schema.model import schema_and_name


class Batch(Protocol):
    """Row changes, wherever they are, and the DDL among them."""

    def ddl_rows(self, database: str) -> Sequence[DdlStatement]:
        """Return the batch's DDL in an order that no partitioning changes; ``database``: of those that name none.

        Raises :class:`~ticdc_emit.errors.InvalidValueError` for a NULL where a DDL needs a value.
        """

    def check(self, plan: Plan) -> None:
        """Check what needs no pass over the rows: columns and their types. Nothing outside is touched before."""

    def tables(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """Return the tables that the batch's rows belong to, in order."""

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> Mapping[Target, TaskResult]:
        """Run the first task over the rows, and the second over all its chunks once every row is encoded."""


class CommitHooks(Protocol):
    """Records that a run has begun to send."""

    def begin(self) -> None:
        """Called before the first message of a batch, after the batch's own record."""

    def undo(self) -> None:
        """Called where the batch's rows were refused, and no message was sent."""


def typed_table(columns: Sequence[str], table: str | None, plan: Plan) -> tuple[str, str] | None:
    """Return whose changes rows with these columns are: ``table``, or the only one; ``None`` for the generic form."""
    if is_generic(columns):
        return None
    key = schema_and_name(table, [key for key, planned in plan.tables.items() if any(planned.encoders)])
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


@dataclass(frozen=True)
class Encoding:
    """How rows of one batch become messages, pickled to wherever they are. ``state``: in which the batch begins."""

    state: BatchState
    encode: EncodeTask


@dataclass(frozen=True)
class EncodedBatch:
    """The chunks of all of a batch's rows. ``chunks`` can be iterated over again; ``state``, ``table`` as encoded."""

    state: BatchState
    table: tuple[str, str] | None
    chunks: Iterable[pa.RecordBatch]

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Return none: rows of DDL are not encoded."""
        return []

    def check(self, plan: Plan) -> None:
        """Columns were checked before rows were encoded."""

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the table of typed rows; nobody asks for those of others."""
        return [] if self.table is None else [self.table]

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        return read_results(deliver(iter(self.chunks)))

    def begin_in(self, state: BatchState) -> BatchState:
        """Return the batch's first state; raises :class:`StateError` if the changefeed went on since the encoding."""
        if replace(state, build_ts=self.state.build_ts, run=self.state.run) != self.state:
            raise StateError(
                "another batch was sent while the rows were encoded",
                remedy="Let one process at a time write to this state_uri, and write the rows again",
                batch_id=state.batch_id,
            )
        return self.state
