"""The worker stage: sorted changes in, messages delivered (or handed on), one count per topic-partition out.

Runs in an engine's workers (Spark's Python workers, inside ``mapInArrow``), but knows nothing of the engine: it is a
generator over record batches. The batches of a task are sorted by topic-partition and in total order. Every value of
the task is checked before its first message is written; control messages are merged in their place. An object that a
message names (claim check) is stored before the message goes on.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changefeed.digest import Digest, RowsDigest, sum_of_digests
from ticdc_emit.changefeed.report import ControlCounts
from ticdc_emit.delivery.claim_check import ClaimStore
from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.blocks import Block, BlockReader, Made
from ticdc_emit.encode.spool import Spool
from ticdc_emit.encoder import control_batch
from ticdc_emit.errors import RegistryError, RowError, SchemaError
from ticdc_emit.plan.announce import Addressed, Announcer
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.control import Controls

__all__ = ["RESULT_SCHEMA", "Task", "TaskResult", "read_results"]

_SPOOL_BYTES = 512 * 1024 * 1024


@dataclass
class TaskResult:
    """What became of one topic-partition in a task.

    ``ddl``, ``watermarks``, ``bootstraps``: messages merged into the rows. ``claims`` (objects stored) and ``retries``
    (of the task's connection) are told with one of the topic-partitions that they may belong to. ``digest``: of the
    rows' messages (``changefeed.digest``), empty where the task was not asked for it.
    """

    rows: int = 0
    late_rows: int = 0
    max_commit_ts: int = -1
    first_commit_ts: int = -1
    messages: int = 0
    bytes: int = 0
    ddl: int = 0
    watermarks: int = 0
    bootstraps: int = 0
    claims: int = 0
    retries: int = 0
    digest: Digest = b""

    @property
    def controls(self) -> ControlCounts:
        return ControlCounts(self.ddl, self.watermarks, self.bootstraps)

    def plus(self, other: TaskResult) -> TaskResult:
        """Return what two tasks did for one topic-partition: rows, and rows that were dropped as late elsewhere."""
        summed = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        firsts = [each.first_commit_ts for each in (self, other) if each.first_commit_ts >= 0]
        summed |= {
            "first_commit_ts": min(firsts, default=-1),
            "max_commit_ts": max(self.max_commit_ts, other.max_commit_ts),
            "digest": sum_of_digests(self.digest, other.digest),
        }
        return TaskResult(**summed)

    def count(self, controls: ControlCounts) -> None:
        """Add control messages that were merged in."""
        self.ddl += controls.ddl
        self.watermarks += controls.watermark
        self.bootstraps += controls.bootstrap


_COUNTS = tuple(each.name for each in fields(TaskResult) if each.name != "digest")
RESULT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in _COUNTS),
        ("digest", pa.binary()),
        ("error", pa.binary()),
    ]
)
"""One row per topic-partition of a task with its :class:`TaskResult`, or a pickled error and nothing else."""


@dataclass(frozen=True)
class Task:
    """The work of one task, pickled to the workers. ``table`` is (schema, name) where all rows are of one table.

    ``sink`` writes; without one, the messages themselves are yielded. ``check_only`` checks and counts the rows.
    ``claims``: where objects that messages name are stored. ``digests``: whether results tell what the rows' messages
    are, which ``check_only`` must make for that.
    """

    plan: Plan
    controls: Controls
    late: str
    table: tuple[str, str] | None
    sink: Sink | None
    claims: ClaimStore | None = None
    check_only: bool = False
    digests: bool = False

    @cached_property
    def _announcer(self) -> Announcer:
        return Announcer(self.plan)

    @cached_property
    def _addressed(self) -> Addressed:
        return Addressed(self.controls, self._announcer)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task over Spark's batches; yields :data:`RESULT_SCHEMA`, or ``MESSAGE_SCHEMA`` without a sink.

        What is wrong with the data is handed to the driver as a result, so that it is raised there with its own type;
        trying again would not help. A delivery error fails the task, which Spark may try again elsewhere.
        """
        written: list[int] = []
        try:
            yield from self._run(batches, written)
        except (RowError, SchemaError, RegistryError) as error:
            if self.sink is None and not self.check_only:
                raise
            result = {"error": pickle.dumps(error), "messages": sum(written)}
            yield pa.RecordBatch.from_pylist([result], schema=RESULT_SCHEMA)

    def _run(self, batches: Iterator[pa.RecordBatch], written: list[int]) -> Iterator[pa.RecordBatch]:
        reader = BlockReader(self.plan, self.table, self.late, self.controls.late_until)
        if self.check_only:
            yield _result_batch(self._counted(reader.blocks(batches)))
            return
        with Spool(_SPOOL_BYTES) as spool:
            for block in reader.blocks(batches):
                spool.add(block)
            results: dict[Target, TaskResult] = {
                target: TaskResult(late_rows=count) for target, count in reader.late_rows.items()
            }
            digests: dict[Target, RowsDigest] = {}
            messages = self._messages(spool.drain(reader), results, digests)
            if self.sink is None:
                yield from messages
                return
            yield from self._delivered(_counting(messages, written), results, digests)

    def _delivered(
        self,
        messages: Iterator[pa.RecordBatch],
        results: dict[Target, TaskResult],
        digests: dict[Target, RowsDigest],
    ) -> Iterator[pa.RecordBatch]:
        assert self.sink is not None
        first = next(messages, None)
        if first is None and not results:
            return
        report = DeliveryReport()
        if first is not None:
            with self.sink.open(self.plan.large.max_message_bytes) as writer:
                writer.write(first)
                for batch in messages:
                    writer.write(batch)
                report = writer.flush()
        for target, count in report.per_partition.items():
            results[target].messages, results[target].bytes = count
        results[min(results)].retries = report.retries
        _note_digests(results, digests)
        yield _result_batch(results)

    def _messages(
        self,
        blocks: Iterator[Block | Made],
        results: dict[Target, TaskResult],
        digests: dict[Target, RowsDigest],
    ) -> Iterator[pa.RecordBatch]:
        for block in blocks:
            batch, claims = block.messages()
            stored = len(claims)
            if claims:
                assert self.claims is not None
                self.claims.put(claims)
            for target, start, length in block.targets():
                result = results.setdefault(target, TaskResult())
                result.claims += stored
                stored = 0
                rows = batch.slice(start, length)
                if self.digests:
                    digests.setdefault(target, RowsDigest(target)).add(rows)
                yield self._with_controls(rows, target, result)

    def _counted(self, blocks: Iterator[Block]) -> dict[Target, TaskResult]:
        results: dict[Target, TaskResult] = {}
        digests: dict[Target, RowsDigest] = {}
        for block in blocks:
            rows = block.messages()[0] if self.digests else None
            for target, start, length in block.targets():
                results.setdefault(target, TaskResult()).rows += length
                if rows is not None:
                    digests.setdefault(target, RowsDigest(target)).add(rows.slice(start, length))
        _note_digests(results, digests)
        return results

    def _with_controls(self, batch: pa.RecordBatch, target: Target, result: TaskResult) -> pa.RecordBatch:
        """Count the rows of one topic-partition and merge what stands before the last of them."""
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
        if not due:
            return batch
        result.count(ControlCounts.of(events))
        places = np.searchsorted(stamps, np.array([place for place, _ in due], np.int64), side="right")
        joined = pa.concat_batches([batch, control_batch([(target, message) for _, message in due])])
        order = np.insert(np.arange(len(stamps)), places, np.arange(len(stamps), len(stamps) + len(due)))
        return joined.take(pa.array(order))


def _counting(batches: Iterator[pa.RecordBatch], written: list[int]) -> Iterator[pa.RecordBatch]:
    """Note how many messages were taken, whether they have arrived or not."""
    for batch in batches:
        written.append(batch.num_rows)
        yield batch


def _note_digests(results: dict[Target, TaskResult], digests: dict[Target, RowsDigest]) -> None:
    for target, digest in digests.items():
        results[target].digest = digest.value()


def _result_batch(results: dict[Target, TaskResult]) -> pa.RecordBatch:
    rows = [
        {"topic": topic, "partition": partition, **asdict(result)}
        for (topic, partition), result in sorted(results.items())
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)


def read_results(table: pa.Table) -> dict[Target, TaskResult]:
    """Return what the tasks of a batch reported, by topic-partition; raise the error that one of them met.

    Such an error has ``messages_sent`` in its context where any task has sent messages before.
    """
    for pickled in table.column("error").drop_null().to_pylist():
        error = pickle.loads(pickled)
        sent = pc.sum(table.column("messages")).as_py()
        if sent:
            error.context["messages_sent"] = sent
        raise error
    found: dict[Target, TaskResult] = {}
    for row in table.to_pylist():
        made = TaskResult(**{name: row[name] for name in (*_COUNTS, "digest")})
        target = row["topic"], row["partition"]
        found[target] = found[target].plus(made) if target in found else made
    return found
