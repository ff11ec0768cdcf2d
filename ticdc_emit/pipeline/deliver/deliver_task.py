"""DELIVER: the work of one delivering task, and what it reports.

All chunks of its topic-partitions become messages in total order with the control messages among them, or the error of
a bad row before anything is sent. Results and errors go to the driver as :data:`RESULT_SCHEMA`.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.delivery.base import DeliveryReport, MessageWriter, Sink, Target, TaskWriter
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.delivery.message_digest import message_crcs
from ticdc_emit.delivery.storage_files import StorageSink
from ticdc_emit.errors import MessageTooLargeError, TicdcEmitError
from ticdc_emit.pipeline.arrange.conflicting_changes import ConflictCheck
from ticdc_emit.pipeline.arrange.sort_key import stamps_and_tables
from ticdc_emit.pipeline.deliver.control_events import (
    ControlEncoder,
    ControlRules,
    ControlSchedule,
    CountsBody,
    PartitionSchedules,
    count_controls,
)
from ticdc_emit.pipeline.deliver.file_delivery import write_files
from ticdc_emit.pipeline.deliver.merge import HeldMerge, Merge, MergedRows
from ticdc_emit.pipeline.encode.bad_rows import SkippedFile, combine_failures
from ticdc_emit.pipeline.encode.chunks import ChunkFolder, ChunkStore
from ticdc_emit.pipeline.encode.encode_task import HeldRows
from ticdc_emit.pipeline.encode.error_json import error_as_json, error_from_json
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY
from ticdc_emit.pipeline.encode.message_packing import MessagePacker
from ticdc_emit.pipeline.encode.messages import control_batch
from ticdc_emit.pipeline.plan.table_plans import Plan


def add_counts(*counts: Mapping[str, int]) -> dict[str, int]:
    """Return the sums by name, in order of names."""
    return dict(sorted(sum(map(Counter, counts), Counter[str]()).items()))


DIGEST_END = 1 << 63


def rows_digest(target: Target, rows: MergedRows, first: int) -> int:
    """Return what shows whether a replay has other row messages in a topic-partition, or the same ones elsewhere.

    The digest of each counts as often as its place among all of the topic-partition says; ``first``: that of the first.
    So sums do not depend on tasks and how rows are cut.
    """
    (keys, _), (values, _) = rows.keys_and_values
    crcs = message_crcs(keys, values)
    places = np.arange(2 * first + 1, 2 * (first + len(values)), 2, dtype=np.uint64)
    return int((crcs * crcs * places).sum()) * (crc32(repr(target).encode()) | 1) % DIGEST_END


def table_digests(rows: MergedRows, plan: Plan) -> Counter[str]:
    """Return the sum of the messages' digests for each table (``digest shop.orders``)."""
    (keys, _), (values, _) = rows.keys_and_values
    crcs = message_crcs([None] * len(values) if plan.router.by_table else keys, values)
    tables = np.zeros(len(crcs), np.uint32)
    if len(plan.in_order) > 1:
        _, tables = stamps_and_tables(rows.column(ORDER_KEY))
    order, digests = np.argsort(tables), Counter[str]()
    for own in np.split(order, np.flatnonzero(np.diff(tables[order])) + 1):
        table = plan.in_order[tables[own[0]]]
        versions = table.versions_at(rows.stamps[own])
        for version in np.unique(versions).tolist():
            crcs_of_version = crcs[own[versions == version]]
            encoder = table.encoders[version]
            assert encoder is not None
            name = f"digest {encoder.table.schema}.{encoder.table.name}"
            digests[name] += int((crcs_of_version * crcs_of_version).sum())
    return digests


@dataclass
class TaskResult:
    """The result of one topic-partition in a task.

    ``digest``: 0 where none was asked for. ``discarded``: by table, how many of ``rows`` a storage sink has
    discarded; they are not among ``messages``. Of the whole batch or task, in the result of one topic-partition:
    ``claims``, ``retries``, ``skipped`` (bad rows by table), ``filtered`` (by rule), ``changes`` (of
    ``EncodedRows``), ``counts`` (``row_counts`` as an Arrow IPC body).
    """

    rows: int = 0
    late_rows: int = 0
    max_commit_ts: int = -1
    messages: int = 0
    bytes: int = 0
    claims: int = 0
    retries: int = 0
    digest: int = 0
    counts: CountsBody = b""
    skipped: dict[str, int] = field(default_factory=dict)
    filtered: dict[str, int] = field(default_factory=dict)
    discarded: dict[str, int] = field(default_factory=dict)
    changes: dict[str, int] = field(default_factory=dict)
    controls: dict[str, int] = field(default_factory=dict)

    def plus(self, other: TaskResult) -> TaskResult:
        """Return what two tasks did for one topic-partition."""
        summed = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        summed |= {
            "max_commit_ts": max(self.max_commit_ts, other.max_commit_ts),
            "counts": self.counts or other.counts,
            **{name: add_counts(getattr(self, name), getattr(other, name)) for name in _BY_NAME},
        }
        return TaskResult(**summed)


_BY_NAME = ("skipped", "filtered", "discarded", "changes", "controls")
_COUNTS = tuple(each.name for each in fields(TaskResult) if each.name not in ("counts", *_BY_NAME))
RESULT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in _COUNTS),
        ("counts", pa.binary()),
        *((name, pa.string()) for name in _BY_NAME),
        ("error", pa.binary()),
    ]
)
"""One row per topic-partition of a task with its :class:`TaskResult`, or an error as JSON and nothing else."""


def result_batch(results: Mapping[Target, TaskResult]) -> pa.RecordBatch:
    """Return the results of a task as a batch of :data:`RESULT_SCHEMA`."""
    rows = []
    for (topic, partition), result in sorted(results.items()):
        values = asdict(result)
        values |= {name: json.dumps(values[name]) for name in _BY_NAME}
        rows.append({"topic": topic, "partition": partition, **values})
    return pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)


def read_results(table: pa.Table | Iterable[pa.RecordBatch]) -> dict[Target, TaskResult]:
    """Return what tasks reported; raise the error of one, with ``messages_sent`` where another task has sent some."""
    if not isinstance(table, pa.Table):
        table = pa.Table.from_batches(list(table), schema=RESULT_SCHEMA)
    for content in table.column("error").drop_null().to_pylist():
        error = error_from_json(content)
        sent = pc.sum(table.column("messages")).as_py()
        if sent:
            error.context["messages_sent"] = sent
        raise error
    results: dict[Target, TaskResult] = {}
    for row in table.to_pylist():
        values = {name: row[name] for name in (*_COUNTS, "counts")} | {name: json.loads(row[name]) for name in _BY_NAME}
        result = TaskResult(**values)
        target = row["topic"], row["partition"]
        results[target] = results[target].plus(result) if target in results else result
    return results


def batches_of(target: Target, rows: Iterable[MergedRows], packer: MessagePacker | None) -> Iterator[pa.RecordBatch]:
    """Yield the messages of one topic-partition in ``MESSAGE_SCHEMA``."""
    for each in rows:
        batch = each.batch(target, packer)
        if batch.num_rows:
            yield batch
    if packer is not None and (rest := packer.rest()) is not None:
        yield rest


def write_rows(target: Target, rows: Iterable[MergedRows], packer: MessagePacker | None, writer: MessageWriter) -> None:
    if packer is None and isinstance(writer, TaskWriter):
        for each in rows:
            writer.write_partition(each.partition_batch(target))
    else:
        for batch in batches_of(target, rows, packer):
            writer.write(batch)


def deliver_rows(
    sink: Sink, plan: Plan, rows: Mapping[Target, Iterable[MergedRows]], results: dict[Target, TaskResult]
) -> None:
    """Write the messages of each topic-partition; ``results`` gets how many they were."""
    report: DeliveryReport
    if isinstance(sink, StorageSink):
        report, discarded = write_files(sink, plan, rows)
        for target, counts in discarded.items():
            results[target].discarded = dict(counts)
    else:
        with sink.open(plan.large.max_message_bytes) as writer:
            for target, of_target in rows.items():
                write_rows(target, of_target, MessagePacker.of(plan), writer)
            report = writer.flush()
    for target, count in report.per_partition.items():
        results[target].messages, results[target].bytes = count
    results[min(results)].retries = report.retries


def deliver_controls(
    sink: Sink, encoder: ControlEncoder, messages: Sequence[tuple[Target, ControlMessage]]
) -> DeliveryReport:
    """Write control messages that follow all rows."""
    if not messages:
        return DeliveryReport()
    try:
        with sink.open(encoder.plan.large.max_message_bytes) as writer:
            writer.write(control_batch(messages))
            return writer.flush()
    except MessageTooLargeError as fault:
        raise encoder.named(fault) from None


DEFAULT_MEMORY_LIMIT = 256 * 1024 * 1024
_SLICE_BYTES = 4 * 1024 * 1024  # of messages that are handed on at once: a processor's cache holds them


@dataclass(frozen=True)
class DeliverTask:
    """The work of one delivering task, pickled to the workers.

    ``sink`` writes; without one, the messages themselves are yielded. ``claims``: the storage of objects that messages
    name. ``check_only``: rows are counted and nothing is sent; with ``connects``, a writer is opened nevertheless.
    ``memory_limit``: bytes of chunks that are held, and of messages that are merged; beyond it they go to files.
    ``skipped``: where lines that tell of skipped rows are written, before the first message.
    ``digests``: whether results show if a replay is another one, ``table_digests``: and what the tables' messages are.
    """

    plan: Plan
    schedule: ControlSchedule
    sink: Sink | None
    claims: ClaimStore | None = None
    check_only: bool = False
    connects: bool = False
    digests: bool = False
    table_digests: bool = False
    memory_limit: int = DEFAULT_MEMORY_LIMIT
    skipped: SkippedFile | None = None
    rules: ControlRules | None = None
    folder: ChunkFolder | None = None

    def __call__(self, chunks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield ``RESULT_SCHEMA``, or ``MESSAGE_SCHEMA`` without a sink; then raise what is wrong with the data."""
        with closing(ChunkStore(self.memory_limit, self.folder)) as store:
            for batch in chunks:
                store.add(batch)
            merges = Merge.of(store, self.memory_limit)
            try:
                self._refuse(store, merges)
            except TicdcEmitError as error:
                if self.sink is None and not self.check_only:
                    raise
                # raised on the driver, with its own type: trying again would not help
                yield pa.RecordBatch.from_pylist([{"error": error_as_json(error), "messages": 0}], schema=RESULT_SCHEMA)
                return
            if self.sink is None and not self.check_only:
                _, rows, _ = self._placed(store, merges)
                for target, of_target in rows.items():
                    yield from batches_of(target, of_target, MessagePacker.of(self.plan))
            else:
                yield result_batch(self._deliver(store, merges))

    def here(self, held: HeldRows) -> dict[Target, TaskResult]:
        """Deliver the rows of a whole batch that are in this process; raises what is wrong with them."""
        merges = HeldMerge.of(held)
        self._refuse(held, merges)
        return self._deliver(held, merges)

    def _placed(
        self, store: ChunkStore | HeldRows, merges: Mapping[Target, Merge | HeldMerge]
    ) -> tuple[ControlEncoder, dict[Target, Iterator[MergedRows]], dict[Target, TaskResult]]:
        results: dict[Target, TaskResult] = {}
        encoder = ControlEncoder(self.plan)
        schedules = PartitionSchedules(self._batch_schedule(store, results, has_rows=bool(merges)), encoder)
        rows = {
            target: self._rows(target, merge, store, schedules, results.setdefault(target, TaskResult()))
            for target, merge in merges.items()
        }
        if store.late_rows or store.filtered or store.skipped or store.changes:
            first = results.setdefault(self.plan.targets[0], TaskResult())
            first.late_rows, first.filtered, first.skipped = store.late_rows, dict(store.filtered), dict(store.skipped)
            first.changes = dict(store.changes)
        return encoder, rows, results

    def _deliver(
        self, store: ChunkStore | HeldRows, merges: Mapping[Target, Merge | HeldMerge]
    ) -> dict[Target, TaskResult]:
        encoder, rows, results = self._placed(store, merges)
        if self.check_only:
            for of_target in rows.values():
                for _ in of_target:
                    pass
            if self.connects and self.sink is not None:
                self.sink.open(self.plan.large.max_message_bytes).close()
            return results
        if store.skipped and self.skipped is not None:
            self.skipped.write(store.skipped_lines())
        if rows:
            assert self.sink is not None
            try:
                deliver_rows(self.sink, self.plan, rows, results)
            except MessageTooLargeError as fault:
                raise encoder.named(fault) from None
        return results

    def _batch_schedule(
        self, store: ChunkStore | HeldRows, results: dict[Target, TaskResult], *, has_rows: bool
    ) -> ControlSchedule:
        if self.rules is None or not (store.returns_counts or has_rows):
            return self.schedule
        counts = self.rules.sum_counts(store.counts())
        if store.returns_counts:
            results.setdefault(self.plan.targets[0], TaskResult()).counts = counts
        return self.rules.with_rows(self.schedule, self.plan, counts)[0] if has_rows else self.schedule

    def _refuse(self, store: ChunkStore | HeldRows, merges: Mapping[Target, Merge | HeldMerge]) -> None:
        if store.failures:
            raise combine_failures(store.failures)
        for merge in merges.values():
            conflicts = ConflictCheck(self.plan.in_order)
            for window in merge.tied_windows():
                conflicts.check(window.column(ORDER_KEY))

    def _rows(
        self,
        target: Target,
        merge: Merge | HeldMerge,
        store: ChunkStore | HeldRows,
        schedules: PartitionSchedules,
        result: TaskResult,
    ) -> Iterator[MergedRows]:
        if not self.check_only:
            for claims in filter(None, store.claims(target)):
                assert self.claims is not None
                self.claims.put(claims)
                result.claims += len(claims)
        for window in merge.windows():
            for rows in window.slices(_SLICE_BYTES):
                if self.digests:
                    result.digest += rows_digest(target, rows, result.rows)
                result.rows += rows.num_rows
                if self.check_only:
                    continue
                if self.table_digests:
                    result.changes = add_counts(result.changes, table_digests(rows, self.plan))
                events, rows.due, rows.places = schedules.among(target, rows.stamps, result.max_commit_ts)
                result.controls = add_counts(result.controls, count_controls(events))
                result.max_commit_ts = int(rows.stamps[-1])
                yield rows
        result.digest %= DIGEST_END
