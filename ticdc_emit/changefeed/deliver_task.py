"""The second stage of a batch: chunks of messages in, messages delivered (or handed on), a count of each
topic-partition out.

Runs in an engine's workers, one task for each bucket of topic-partitions, once every row of the batch is encoded. A
task keeps its chunks until it has them all: if any row of the batch was refused, or a change is told twice, it sends
nothing. Control messages are merged in their place; where a protocol's messages hold several rows, those between two of
them are joined. An object that a message names (claim check) is stored before the first message of its topic-partition.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.ambiguous import OrderCheck
from ticdc_emit.arrange.sorted_runs import ORDER_KEY
from ticdc_emit.changefeed.digest import RowsDigest
from ticdc_emit.changefeed.placed_rows import PlacedRows, batches_of, write_rows
from ticdc_emit.changefeed.report import ControlCounts
from ticdc_emit.changefeed.results import TaskResult, error_result, result_batch
from ticdc_emit.changefeed.schedule import Schedule
from ticdc_emit.changefeed.skipped import SkippedFile
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.bad_rows import united
from ticdc_emit.encode.chunk_files import ChunkFolder
from ticdc_emit.encode.chunk_store import ChunkStore
from ticdc_emit.encode.merge import Merge
from ticdc_emit.encode.packing import Packer
from ticdc_emit.encode.window import Window
from ticdc_emit.errors import MessageTooLargeError, TicdcEmitError
from ticdc_emit.plan.announce import Addressed, Announcer
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls

__all__ = ["DEFAULT_MEMORY_LIMIT", "DeliverTask"]

DEFAULT_MEMORY_LIMIT = 256 * 1024 * 1024
_PIECE_BYTES = 4 * 1024 * 1024  # of messages that are handed on at once: a processor's cache holds them


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
    def _announcer(self) -> Announcer:
        return Announcer(self.plan)

    def __call__(self, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``RESULT_SCHEMA``, or ``MESSAGE_SCHEMA`` without a sink; then what is wrong with the data is raised.

        A delivery error fails the task, which an engine may try again elsewhere.
        """
        with ChunkStore(self.memory_limit, self.folder) as store:
            for batch in chunks:
                store.add(batch)
            merges = {target: self._merge(store, target) for target in store.targets()}
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
            addressed = Addressed(self._scheduled(store, results), self._announcer)
            rows = self._rows(store, merges, addressed, results)
            if self.check_only:
                for of_target in rows:
                    for _ in of_target:
                        pass
                if self.connects and self.sink is not None:
                    self.sink.open(self.plan.large.max_message_bytes).close()
            elif self.sink is None:
                for of_target in rows:
                    yield from batches_of(of_target, self._packer())
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

    def _merge(self, store: ChunkStore, target: Target) -> Merge:
        return Merge(store.chunks(target), store.transactions.get(target[0], set()), self.memory_limit)

    def _refuse(self, store: ChunkStore, merges: dict[Target, Merge]) -> None:
        """Raise the error of any bad row of the batch, or of the order of this task's rows."""
        if store.failures:
            raise united(store.failures)
        for merge in merges.values():
            order = OrderCheck(self.plan.in_order)
            for window in merge.tied_windows(store.keys):
                order.check(window.column(ORDER_KEY))

    def _deliver(self, sink: Sink, rows: Iterator[Iterator[PlacedRows]], results: dict[Target, TaskResult]) -> None:
        try:
            with sink.open(self.plan.large.max_message_bytes) as writer:
                for of_target in rows:
                    write_rows(of_target, self._packer(), writer)
                report: DeliveryReport = writer.flush()
        except MessageTooLargeError as fault:
            raise self._announcer.named(fault) from None
        for target, count in report.per_partition.items():
            results[target].messages, results[target].bytes = count
        results[min(results)].retries = report.retries

    def _packer(self) -> Packer | None:
        packing = self.plan.packing
        return None if packing is None else Packer(packing, self.plan.large.max_packed_bytes)

    def _rows(
        self, store: ChunkStore, merges: dict[Target, Merge], addressed: Addressed, results: dict[Target, TaskResult]
    ) -> Iterator[Iterator[PlacedRows]]:
        """Yield the rows of each topic-partition, in order, with the control messages among them; count them."""
        for target, merge in merges.items():
            result = results.setdefault(target, TaskResult())
            yield self._rows_of(target, merge.windows(store.messages), store, addressed.to(target), result)

    def _rows_of(
        self, target: Target, windows: Iterator[Window], store: ChunkStore, controls: Controls, result: TaskResult
    ) -> Iterator[PlacedRows]:
        digest = RowsDigest(target) if self.digests else None
        if not self.check_only:
            self._store_claims(store, target, result)
        for window in windows:
            for rows in window.pieces(_PIECE_BYTES):
                if digest is not None:
                    digest.add(rows)
                if self.check_only:
                    result.rows += rows.num_rows
                else:
                    yield self._placed(target, rows, controls, result)
        if digest is not None:
            result.digest = digest.value()

    def _store_claims(self, store: ChunkStore, target: Target, result: TaskResult) -> None:
        for claims in store.claims(target):
            assert self.claims is not None
            self.claims.put(claims)
            result.claims += len(claims)

    def _placed(self, target: Target, rows: Window, controls: Controls, result: TaskResult) -> PlacedRows:
        """Count rows, and place the control messages that stand before the last of them."""
        if result.rows == 0:
            result.first_commit_ts = int(rows.stamps[0])
        before, result.max_commit_ts = result.max_commit_ts, int(rows.stamps[-1])
        result.rows += rows.num_rows
        due, events = [], []
        for control in controls.due(before, result.max_commit_ts - 1, result.first_commit_ts):
            message = self._announcer.message_to(control.event, target)
            if message is not None:
                due.append((control.place, message))
                events.append(control.event)
        result.count(ControlCounts.of(events))
        places = np.searchsorted(rows.stamps, np.array([place for place, _ in due], np.uint64), side="right")
        return PlacedRows(target, rows, [message for _, message in due], places)
