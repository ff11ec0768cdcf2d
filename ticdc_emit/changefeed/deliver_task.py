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
from ticdc_emit.arrange.order_key import commit_stamps
from ticdc_emit.arrange.sorted_runs import ORDER_KEY
from ticdc_emit.changefeed.digest import RowsDigest
from ticdc_emit.changefeed.report import ControlCounts
from ticdc_emit.changefeed.results import TaskResult, error_result, result_batch
from ticdc_emit.changefeed.skipped import SkippedFile
from ticdc_emit.changes.row_encoder import with_ends
from ticdc_emit.columnar.buffers import element_lengths
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA, DeliveryReport, Sink
from ticdc_emit.encode.bad_rows import united
from ticdc_emit.encode.chunk_store import ChunkStore
from ticdc_emit.encode.merge import Merge
from ticdc_emit.encode.messages import control_batch
from ticdc_emit.encode.packing import Packer
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.plan.announce import Addressed, Announcer
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls

__all__ = ["DEFAULT_MEMORY_LIMIT", "DeliverTask"]

DEFAULT_MEMORY_LIMIT = 256 * 1024 * 1024
_BATCH_BYTES = 64 * 1024 * 1024


@dataclass(frozen=True)
class DeliverTask:
    """The work of one delivering task, pickled to the workers.

    ``sink`` writes; without one, the messages themselves are yielded. ``claims``: the storage of objects that messages
    name. ``check_only``: rows are counted and nothing is sent; with ``connects``, a writer is opened nevertheless.
    ``digests``: whether results have a digest of the rows' messages. ``memory_limit``: bytes of chunks that are held,
    and of messages that are merged; beyond it they go to files. ``skipped``: where lines that tell of skipped rows are
    written, before the first message.
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

    @cached_property
    def _announcer(self) -> Announcer:
        return Announcer(self.plan)

    @cached_property
    def _addressed(self) -> Addressed:
        return Addressed(self.controls, self._announcer)

    def __call__(self, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``RESULT_SCHEMA``, or ``MESSAGE_SCHEMA`` without a sink; then what is wrong with the data is raised.

        A delivery error fails the task, which an engine may try again elsewhere.
        """
        with ChunkStore(self.memory_limit) as store:
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
            messages = self._messages(store, merges, results)
            if self.check_only:
                for _ in messages:
                    pass
                if self.connects and self.sink is not None:
                    self.sink.open(self.plan.large.max_message_bytes).close()
            elif self.sink is None:
                yield from messages
                return
            else:
                self._deliver(self.sink, messages, results)
            yield result_batch(results)

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

    def _deliver(self, sink: Sink, messages: Iterator[pa.RecordBatch], results: dict[Target, TaskResult]) -> None:
        first = next(messages, None)
        if first is None:
            return
        with sink.open(self.plan.large.max_message_bytes) as writer:
            writer.write(first)
            for batch in messages:
                writer.write(batch)
            report: DeliveryReport = writer.flush()
        for target, count in report.per_partition.items():
            results[target].messages, results[target].bytes = count
        results[min(results)].retries = report.retries

    def _messages(
        self, store: ChunkStore, merges: dict[Target, Merge], results: dict[Target, TaskResult]
    ) -> Iterator[pa.RecordBatch]:
        """Yield all messages of the task, rows and controls, in order; count them."""
        for target, merge in merges.items():
            result = results.setdefault(target, TaskResult())
            digest, packer = RowsDigest(target) if self.digests else None, self._packer()
            if not self.check_only:
                self._store_claims(store, target, result)
            for rows in _message_batches(merge.windows(store.messages), target):
                if digest is not None:
                    digest.add(rows)
                if self.check_only:
                    result.rows += rows.num_rows
                elif (messages := self._with_controls(rows, target, result, packer)).num_rows:
                    yield messages
            if packer is not None and (rest := packer.rest()) is not None:
                yield rest
            if digest is not None:
                result.digest = digest.value()

    def _packer(self) -> Packer | None:
        packing = self.plan.packing
        return None if packing is None else Packer(packing, self.plan.large.max_packed_bytes)

    def _store_claims(self, store: ChunkStore, target: Target, result: TaskResult) -> None:
        for claims in store.claims(target):
            assert self.claims is not None
            self.claims.put(claims)
            result.claims += len(claims)

    def _with_controls(
        self, batch: pa.RecordBatch, target: Target, result: TaskResult, packer: Packer | None
    ) -> pa.RecordBatch:
        """Count the rows of one topic-partition and merge what stands before the last of them.

        Rows that ``packer`` may join to later ones are left to it.
        """
        stamps = batch.column("commit_ts").to_numpy()
        if result.rows == 0:
            result.first_commit_ts = int(stamps[0])
        before, result.max_commit_ts = result.max_commit_ts, int(stamps[-1])
        result.rows += len(stamps)
        due, events = [], []
        for control in self._addressed.to(target).due(before, result.max_commit_ts - 1, result.first_commit_ts):
            message = self._announcer.message_to(control.event, target)
            if message is not None:
                due.append((control.place, message))
                events.append(control.event)
        places = np.searchsorted(stamps, np.array([place for place, _ in due], np.int64), side="right")
        if packer is not None:
            batch, places = packer.add(batch, places)
        if not due:
            return batch
        result.count(ControlCounts.of(events))
        joined = pa.concat_batches([batch, control_batch([(target, message) for _, message in due])])
        order = np.insert(np.arange(batch.num_rows), places, np.arange(batch.num_rows, joined.num_rows))
        return joined.take(pa.array(order))


def _message_batches(windows: Iterator[pa.RecordBatch], target: Target) -> Iterator[pa.RecordBatch]:
    """Yield messages of one topic-partition as batches of ``MESSAGE_SCHEMA`` of bounded size."""
    topic, partition = target
    for window in windows:
        ended = "end" in window.schema.names
        end = int(element_lengths(window.column("end").dictionary).max(initial=0)) if ended else 0
        rows = max(1, window.num_rows * _BATCH_BYTES // (window.nbytes + window.num_rows * end + 1))
        for start in range(0, window.num_rows, rows):
            part = window.slice(start, rows)
            value = part.column("value")
            columns = [
                pa.repeat(pa.scalar(topic, pa.string()), part.num_rows),
                pa.repeat(pa.scalar(partition, pa.int32()), part.num_rows),
                part.column("key"),
                with_ends(value, part.column("end")) if ended else value,
                pa.array(commit_stamps(part.column(ORDER_KEY)).view(np.int64)),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)
