"""The beginning of a batch: the state in which it begins, or began before, and the task that encodes its rows.

In: the store of per-batch state, the planner and the options of a changefeed. Out: states and tasks; nothing is
written, and only :meth:`Opening.encoding` reaches out, to create topics and register schemas.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ticdc_emit.changefeed.batch import Batch
from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changefeed.encoded_batch import EncodedBatch, Encoding
from ticdc_emit.changefeed.options import RunOptions
from ticdc_emit.changefeed.planning import Planner
from ticdc_emit.changefeed.schedule import Schedule
from ticdc_emit.changefeed.skipped import SkippedFile, new_run
from ticdc_emit.changefeed.state import BatchState, DdlStatement
from ticdc_emit.changefeed.state_store import StateStore
from ticdc_emit.encode.chunks import Buckets
from ticdc_emit.plan.tables import Plan

__all__ = ["Opening"]


@dataclass(frozen=True)
class Opening:
    """Begins the batches of one changefeed.

    ``ddl``: the later DDL that it was given at its beginning. ``run``: the name of its run, if its state has none.
    """

    store: StateStore
    planner: Planner
    options: RunOptions
    ddl: tuple[DdlStatement, ...]
    run: str = field(default_factory=new_run)

    def state(self, statements: Sequence[DdlStatement], batch_id: int, batch: Batch | None = None) -> BatchState:
        """Return the state in which a batch with this DDL begins, or began.

        ``batch``: where it was encoded before, the state is the one that it was encoded in. Raises
        :class:`~ticdc_emit.errors.StateError` for other DDL than that of a batch that was sent, and for a batch that
        has no record where a later one has; and :class:`~ticdc_emit.errors.DdlError`.
        """
        known = self.store.load(batch_id)
        if known is not None and known.done:
            known.refuse_other_ddl(statements)
            return batch.begun(known) if isinstance(batch, EncodedBatch) else known
        if known is None:
            before = self.store.latest_before(batch_id) or BatchState(-1)
            known = before.next(batch_id, self.options.now(), before.run or self.run)
        state = known.with_ddl([*self.ddl, *statements])
        self.planner.outline(state)  # a statement that does not apply must not be in a record
        return batch.begun(state) if isinstance(batch, EncodedBatch) else state

    def encode_task(self, plan: Plan, late_until: int | None, schedule: Schedule | None = None) -> EncodeTask:
        """Return the task of the rows; those at or below ``late_until`` are late. It counts them for a ``schedule``."""
        how = self.options
        return EncodeTask(
            plan,
            how.late,
            late_until,
            Buckets(plan.targets, 1),
            bad_rows=how.bad_rows,
            tells_skipped=how.bad_rows_path is not None,
            tick_ms=None if schedule is None else schedule.rules.tick_ms,
        )

    def encoding(self, batch_id: int, table: tuple[str, str] | None) -> Encoding | None:
        """Return what encodes rows before their changefeed runs (``Changefeed.encoding``)."""
        state = self.state((), batch_id)
        if table is None and self.planner.names_tables(state):
            return None
        plan = self.planner.registered(state, EncodedBatch(state, table, ()))
        encode = self.encode_task(plan, self.planner.controls(state).late_until, self.planner.schedule(state))
        return Encoding.of_table(state, encode, table)

    def skipped_file(self, state: BatchState) -> SkippedFile | None:
        """Return the file for the batch's bad rows; ``None`` if the options name no path."""
        path = self.options.bad_rows_path
        return None if path is None else SkippedFile(path, state.run or self.run, state.batch_id)
