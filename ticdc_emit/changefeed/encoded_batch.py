"""Rows that were encoded before their changefeed runs: chunks of messages as a batch.

In: an :class:`Encoding`, which ``Changefeed.encoding`` gives for a batchId, and rows wherever they are. Out: their
chunks; and, once all are there, an :class:`EncodedBatch` for ``Changefeed.run``, which merges and delivers them. An
encoding holds for the state that it was made in, the clock included: ``run`` refuses the chunks of any other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import pyarrow as pa

from ticdc_emit.changefeed.deliver_task import DeliverTask
from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changefeed.results import TaskResult, read_results
from ticdc_emit.changefeed.state import BatchState, DdlStatement
from ticdc_emit.errors import StateError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target

__all__ = ["EncodedBatch", "Encoding"]


@dataclass(frozen=True)
class Encoding:
    """How rows of one batch become messages, pickled to wherever they are. ``state``: in which the batch begins."""

    state: BatchState
    encode: EncodeTask

    @classmethod
    def of_table(cls, state: BatchState, encode: EncodeTask, table: tuple[str, str] | None) -> Encoding:
        """Return the encoding of one table's rows, with what they need of the plan, or of rows that name theirs."""
        return cls(state, encode if table is None else replace(encode, table=table, plan=encode.plan.of_table(*table)))


@dataclass(frozen=True)
class EncodedBatch:
    """The chunks of all of a batch's rows. ``chunks`` can be iterated over again; ``state``, ``table`` as encoded."""

    state: BatchState
    table: tuple[str, str] | None
    chunks: Iterable[pa.RecordBatch]

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
        """Return none: rows of DDL are not encoded."""
        return []

    def check(self, plan: Plan) -> None:
        """Columns were checked before rows were encoded."""

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the table of typed rows; nobody asks for those of others."""
        return [] if self.table is None else [self.table]

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Deliver here, in bounded memory."""
        return read_results(deliver(iter(self.chunks)))

    def begun(self, state: BatchState) -> BatchState:
        """Return the state in which the batch begins, if it is that of the encoding.

        Raises :class:`StateError` if the changefeed went on meanwhile.
        """
        if replace(state, build_ts=self.state.build_ts, run=self.state.run) != self.state:
            raise StateError(
                "another batch was sent while the rows were encoded",
                remedy="Let one process at a time write to this state_uri, and write the rows again",
                batch_id=state.batch_id,
            )
        return self.state
