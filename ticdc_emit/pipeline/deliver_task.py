"""The control messages that depend on a batch's rows: bootstraps, and the default distance of watermarks.

In: the counts of a batch's rows (``pipeline.row_counts``) and the state of the schedule before it. Out: the batch's
controls and the state after it. Every delivering task and the driver work them out by themselves, each from the counts
of all encoding tasks: equal counts give equal controls. The clock of the schedule is the rows' commit time in a replay,
and the batch's own in a live run, where all of its rows come at one moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.base import DeliveryReport, MessageWriter, Sink, TaskWriter
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import MessageTooLargeError, TicdcEmitError
from ticdc_emit.pipeline.bad_rows import SkippedFile, united
from ticdc_emit.pipeline.bootstrap import BootstrapRules, Bootstraps, CountedRows, TableRef, arrived, replayed
from ticdc_emit.pipeline.chunks import ChunkFolder, ChunkStore, packed, unpacked
from ticdc_emit.pipeline.conflicting_changes import OrderCheck
from ticdc_emit.pipeline.control_events import ControlEncoder, Controls, Event, PartitionControls
from ticdc_emit.pipeline.external_sort import ORDER_KEY
from ticdc_emit.pipeline.merge import Merge, MergedRows
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.report import ControlCounts
from ticdc_emit.pipeline.results import RowsDigest, TaskResult, error_result, result_batch
from ticdc_emit.pipeline.row_batching import Packer
from ticdc_emit.pipeline.row_counts import CountsBody, RowCounts, counted_rows
from ticdc_emit.routing.topics import Target
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.tso import physical_ms

__all__ = [
    "DEFAULT_MEMORY_LIMIT",
    "DeliverTask",
    "Schedule",
    "batches_of",
    "with_default_ticks",
    "with_due_bootstraps",
    "write_rows",
]


_DEFAULT_INTERVAL_MS = 1_000
_DEFAULT_TICKS = 100_000


@dataclass(frozen=True)
class Schedule:
    """What a batch's controls are worked out from beside its rows; picklable.

    ``default_ticks``: whether watermarks follow the rows. ``bootstraps``: the state of their schedule before the batch,
    ``None`` at the beginning.
    """

    rules: BootstrapRules
    default_ticks: bool
    bootstraps: Mapping[str, Any] | None = None

    def begun(self, plan: Plan) -> Bootstraps:
        """Return the schedule of bootstraps as it is before the batch.

        Raises :class:`~ticdc_emit.errors.StateError` for a state that does not fit the table history.
        """
        return _restored(self.rules, self.bootstraps, plan)

    def united(self, counts: Iterable[pa.RecordBatch]) -> CountsBody:
        """Return the sum of all tasks' counts in the form of ``TaskResult.counts``: empty if there are no rows."""
        united = RowCounts(self.rules.tick_ms)
        for each in counts:
            united.add(each)
        sums = united.sums()
        return packed(sums) if sums.num_rows else b""

    def controls(self, controls: Controls, plan: Plan, united: CountsBody) -> tuple[Controls, dict[str, Any] | None]:
        """Return the controls with what depends on the rows, and the state of the bootstraps after the batch."""
        counted = counted_rows(unpacked(united), plan) if united else []
        if self.default_ticks:
            controls = with_default_ticks(controls, counted)
        if not self.rules.enabled:
            return controls, None
        return _with_bootstraps(controls, plan, self.begun(plan), counted)

    def after(
        self, controls: Controls, plan: Plan, results: Mapping[Any, TaskResult]
    ) -> tuple[Controls, dict[str, Any] | None]:
        """Return what :meth:`controls` does, once delivering tasks have handed the counts back."""
        return self.controls(controls, plan, next((each.counts for each in results.values() if each.counts), b""))


def with_default_ticks(controls: Controls, counted: Sequence[CountedRows]) -> Controls:
    """Return the controls with a watermark per second of commit time, as TiCDC sends them.

    If the batch would have more than 100,000, they are further apart, by whole seconds.
    """
    if not counted:
        return controls
    stamps = [physical_ms(rows.first_ts) for rows in counted]
    seconds = -(-(max(stamps) - min(stamps)) // (_DEFAULT_INTERVAL_MS * _DEFAULT_TICKS))
    return replace(controls, interval_ms=_DEFAULT_INTERVAL_MS * max(seconds, 1))


def _with_bootstraps(
    controls: Controls, plan: Plan, schedule: Bootstraps, counted: Sequence[CountedRows]
) -> tuple[Controls, dict[str, Any]]:
    """Return the controls with the batch's bootstraps, and the state of their schedule after the batch."""
    if not counted:
        return controls, schedule.state()
    live = plan.build_ts is not None
    first = min(rows.first_ts for rows in counted)
    moment = plan.build_ts if plan.build_ts is not None else physical_ms(first)
    placed = [(0, bootstrap) for bootstrap in schedule.at_start(_newest_tables(plan), moment)]
    due = arrived(schedule, counted, moment) if live else replayed(schedule, counted)
    placed += [(ts - 1, bootstrap) for ts, bootstrap in due]
    return replace(controls, bootstraps=tuple(placed)), schedule.state()


def with_due_bootstraps(
    controls: Controls, plan: Plan, rules: BootstrapRules, bootstraps: Mapping[str, Any] | None, moment: int, place: int
) -> tuple[Controls, dict[str, Any] | None]:
    """Return the controls with what falls due without rows by ``moment`` (ms), at the TSO ``place``; and the state."""
    if bootstraps is None:
        return controls, None
    schedule = _restored(rules, bootstraps, plan)
    due = tuple((place, bootstrap) for bootstrap in schedule.advance(moment))
    return replace(controls, bootstraps=due), schedule.state()


def _newest_tables(plan: Plan) -> list[tuple[TableInfo, str, int]]:
    """Return the tables that exist, as ``Bootstraps.at_start`` takes them."""
    live = [table for table in plan.tables.values() if table.encoders and table.encoders[-1] is not None]
    return [(table.newest, table.topic, plan.router.partitions[table.topic]) for table in live]


def _restored(rules: BootstrapRules, state: Mapping[str, Any] | None, plan: Plan) -> Bootstraps:
    if state is None:
        return Bootstraps(rules)
    versions: dict[TableRef, TableInfo] = {}
    for table in plan.tables.values():
        for info in table.versions:
            versions.setdefault(TableRef.of(info), info)
    return Bootstraps.from_state(rules, state, versions.__getitem__)


def batches_of(target: Target, rows: Iterable[MergedRows], packer: Packer | None) -> Iterator[pa.RecordBatch]:
    """Yield the messages of one topic-partition in ``MESSAGE_SCHEMA``."""
    for each in rows:
        batch = each.batch(target, packer)
        if batch.num_rows:
            yield batch
    if packer is not None and (rest := packer.rest()) is not None:
        yield rest


def write_rows(target: Target, rows: Iterable[MergedRows], packer: Packer | None, writer: MessageWriter) -> None:
    """Write the messages of one topic-partition."""
    if packer is None and isinstance(writer, TaskWriter):
        for each in rows:
            writer.write_run(each.run(target))
    else:
        for batch in batches_of(target, rows, packer):
            writer.write(batch)


DEFAULT_MEMORY_LIMIT = 256 * 1024 * 1024
_SLICE_BYTES = 4 * 1024 * 1024  # of messages that are handed on at once: a processor's cache holds them


@dataclass(frozen=True)
class DeliverTask:
    """The work of one delivering task, pickled to the workers.

    ``controls``: what may have to be sent; with a ``schedule``, also what it makes of the counts of the batch's rows.
    ``sink`` writes; without one, the messages themselves are yielded. ``claims``: the storage of objects that messages
    name. ``check_only``: rows are counted and nothing is sent; with ``connects``, a writer is opened nevertheless.
    ``digests``: whether results have a digest of the rows' messages. ``memory_limit``: bytes of chunks that are held,
    and of messages that are merged; beyond it they go to files. ``skipped``: where lines that tell of skipped rows are
    written, before the first message. ``folder``: where encoding tasks have left files.
    """

    plan: Plan
    controls: Controls
    sink: Sink | None
    claims: ClaimStore | None = None
    check_only: bool = False
    connects: bool = False
    digests: bool = False
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    skipped: SkippedFile | None = None
    schedule: Schedule | None = None
    folder: ChunkFolder | None = None

    @cached_property
    def _control_encoder(self) -> ControlEncoder:
        return ControlEncoder(self.plan)

    def __call__(self, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``RESULT_SCHEMA``, or ``MESSAGE_SCHEMA`` without a sink; then what is wrong with the data is raised.

        A delivery error fails the task, which an engine may try again elsewhere.
        """
        with ChunkStore(self.memory_limit, self.folder) as store:
            for batch in chunks:
                store.add(batch)
            merges = {
                target: Merge(store.chunks(target), store.transactions.get(target[0], set()), self.memory_limit)
                for target in store.targets()
            }
            try:
                self._refuse(store, merges)
            except TicdcEmitError as error:
                if self.sink is None and not self.check_only:
                    raise
                yield error_result(error)
                return
            results = {target: TaskResult(late_rows=rows) for target, rows in store.late_rows.items()}
            if store.filtered:
                results.setdefault(self.plan.targets[0], TaskResult()).filtered = dict(store.filtered)
            if store.skipped:
                results.setdefault(self.plan.targets[0], TaskResult()).skipped = dict(store.skipped)
                if self.skipped is not None and not self.check_only:
                    self.skipped.write(store.skipped_lines())
            partition_controls = PartitionControls(self._scheduled(store, results), self._control_encoder)
            rows = self._rows(store, merges, partition_controls, results)
            if self.check_only:
                for _, of_target in rows:
                    for _ in of_target:
                        pass
                if self.connects and self.sink is not None:
                    self.sink.open(self.plan.large.max_message_bytes).close()
            elif self.sink is None:
                for target, of_target in rows:
                    yield from batches_of(target, of_target, self._packer())
                return
            elif merges:
                self._deliver(self.sink, rows, results)
            yield result_batch(results)

    def _scheduled(self, store: ChunkStore, results: dict[Target, TaskResult]) -> Controls:
        """Return the batch's controls; one task hands the counts that they come from back."""
        if self.schedule is None or not (store.hands_back or store.targets()):
            return self.controls
        united = self.schedule.united(store.counts())
        if store.hands_back:
            results.setdefault(self.plan.targets[0], TaskResult()).counts = united
        return self.schedule.controls(self.controls, self.plan, united)[0] if store.targets() else self.controls

    def _refuse(self, store: ChunkStore, merges: dict[Target, Merge]) -> None:
        """Raise the error of any bad row of the batch, or of the order of this task's rows."""
        if store.failures:
            raise united(store.failures)
        for merge in merges.values():
            order = OrderCheck(self.plan.in_order)
            for window in merge.tied_windows(store.keys):
                order.check(window.column(ORDER_KEY))

    def _deliver(
        self, sink: Sink, rows: Iterator[tuple[Target, Iterator[MergedRows]]], results: dict[Target, TaskResult]
    ) -> None:
        try:
            with sink.open(self.plan.large.max_message_bytes) as writer:
                for target, of_target in rows:
                    write_rows(target, of_target, self._packer(), writer)
                report: DeliveryReport = writer.flush()
        except MessageTooLargeError as fault:
            raise self._control_encoder.named(fault) from None
        for target, count in report.per_partition.items():
            results[target].messages, results[target].bytes = count
        results[min(results)].retries = report.retries

    def _packer(self) -> Packer | None:
        packing = self.plan.packing
        return None if packing is None else Packer(packing, self.plan.large.max_packed_bytes)

    def _rows(
        self,
        store: ChunkStore,
        merges: dict[Target, Merge],
        partition_controls: PartitionControls,
        results: dict[Target, TaskResult],
    ) -> Iterator[tuple[Target, Iterator[MergedRows]]]:
        """Yield the rows of each topic-partition, in order, with the control messages among them; count them."""
        for target, merge in merges.items():
            result = results.setdefault(target, TaskResult())
            yield target, self._rows_of(target, merge, store, partition_controls.to(target), result)

    def _rows_of(
        self, target: Target, merge: Merge, store: ChunkStore, controls: Controls, result: TaskResult
    ) -> Iterator[MergedRows]:
        digest = RowsDigest(target) if self.digests else None
        if not self.check_only:
            for claims in store.claims(target):
                assert self.claims is not None
                self.claims.put(claims)
                result.claims += len(claims)
        for window in merge.windows(store.messages):
            for rows in window.slices(_SLICE_BYTES):
                if digest is not None:
                    digest.add(rows)
                if self.check_only:
                    result.rows += rows.num_rows
                else:
                    self._place_controls(target, rows, controls, result)
                    yield rows
        if digest is not None:
            result.digest = digest.value()

    def _place_controls(self, target: Target, rows: MergedRows, controls: Controls, result: TaskResult) -> None:
        """Count rows, and put the control messages that come before the last of them among them."""
        if result.rows == 0:
            result.first_commit_ts = int(rows.stamps[0])
        before, result.max_commit_ts = result.max_commit_ts, int(rows.stamps[-1])
        result.rows += rows.num_rows
        places: list[int] = []
        due: list[ControlMessage] = []
        events: list[Event] = []
        for control in controls.due(before, result.max_commit_ts - 1, result.first_commit_ts):
            message = self._control_encoder.message_to(control.event, target)
            if message is not None:
                places.append(control.place)
                due.append(message)
                events.append(control.event)
        result.count(ControlCounts.of(events))
        if due:
            rows.due = due
            rows.places = np.searchsorted(rows.stamps, np.array(places, np.uint64), side="right")
