"""The worker stage: sorted changes in, messages delivered (or handed on), one count per topic-partition out.

Runs in Spark's Python workers inside ``mapInArrow``, but knows nothing of Spark: it is a generator over record
batches. The batches of a task are sorted by (topic-partition, commit_ts, table, seq, key). Every value of the task is
checked before its first message is written; control messages are merged in their place.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from ticdc_emit.delivery.contract import DeliveryReport, Sink
from ticdc_emit.encode.announce import Announcer
from ticdc_emit.encode.blocks import Block, BlockReader
from ticdc_emit.encode.encoder import control_batch
from ticdc_emit.encode.plan import Plan
from ticdc_emit.encode.spool import Spool
from ticdc_emit.errors import RegistryError, RowError, SchemaError
from ticdc_emit.schedule.control import Controls

__all__ = ["RESULT_SCHEMA", "Task", "TaskResult", "read_results"]

RESULT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("rows", pa.int64()),
        ("late_rows", pa.int64()),
        ("messages", pa.int64()),
        ("bytes", pa.int64()),
        ("first_commit_ts", pa.int64()),
        ("max_commit_ts", pa.int64()),
        ("error", pa.binary()),
    ]
)
_SPOOL_BYTES = 256 * 1024 * 1024


@dataclass
class TaskResult:
    """What became of one topic-partition in a task."""

    rows: int = 0
    late_rows: int = 0
    max_commit_ts: int = -1
    first_commit_ts: int = -1
    messages: int = 0
    bytes: int = 0


@dataclass(frozen=True)
class Task:
    """The work of one task, pickled to the workers. ``table`` is (schema, name) where all rows are of one table.

    ``sink`` writes; without one, the messages themselves are yielded. ``check_only`` checks and counts the rows.
    """

    plan: Plan
    controls: Controls
    late: str
    table: tuple[str, str] | None
    sink: Sink | None
    check_only: bool = False

    @cached_property
    def _announcer(self) -> Announcer:
        return Announcer(self.plan)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the task over Spark's batches; yields :data:`RESULT_SCHEMA`, or ``MESSAGE_SCHEMA`` without a sink.

        What is wrong with the data is handed to the driver as a result, so that it is raised there with its own type;
        trying again would not help. A delivery error fails the task, which Spark may try again elsewhere.
        """
        try:
            yield from self._run(batches)
        except (RowError, SchemaError, RegistryError) as error:
            if self.sink is None and not self.check_only:
                raise
            yield pa.RecordBatch.from_pylist([{"error": pickle.dumps(error)}], schema=RESULT_SCHEMA)

    def _run(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = BlockReader(self.plan, self.table, self.late, self.controls.late_until)
        if self.check_only:
            yield _result_batch(_counted(reader.blocks(batches)))
            return
        with Spool(_SPOOL_BYTES) as spool:
            for block in reader.blocks(batches):
                spool.add(block)
            results: dict[tuple[str, int], TaskResult] = {
                target: TaskResult(late_rows=count) for target, count in reader.late_rows.items()
            }
            messages = self._messages(spool.drain(reader), results)
            if self.sink is None:
                yield from messages
                return
            yield from self._delivered(messages, results)

    def _delivered(
        self, messages: Iterator[pa.RecordBatch], results: dict[tuple[str, int], TaskResult]
    ) -> Iterator[pa.RecordBatch]:
        assert self.sink is not None
        first = next(messages, None)
        if first is None and not results:
            return
        report = DeliveryReport()
        if first is not None:
            with self.sink.open() as writer:
                writer.write(first)
                for batch in messages:
                    writer.write(batch)
                report = writer.flush()
        for target, count in report.per_partition.items():
            results[target].messages, results[target].bytes = count
        yield _result_batch(results)

    def _messages(
        self, blocks: Iterator[Block], results: dict[tuple[str, int], TaskResult]
    ) -> Iterator[pa.RecordBatch]:
        for block in blocks:
            batch = block.messages()
            for target, start, length in block.targets():
                yield self._with_controls(batch.slice(start, length), target, results.setdefault(target, TaskResult()))

    def _with_controls(self, batch: pa.RecordBatch, target: tuple[str, int], result: TaskResult) -> pa.RecordBatch:
        """Count the rows of one topic-partition and merge what stands before the last of them."""
        stamps = batch.column("commit_ts").to_numpy()
        if result.rows == 0:
            result.first_commit_ts = int(stamps[0])
        before, result.max_commit_ts = result.max_commit_ts, int(stamps[-1])
        result.rows += len(stamps)
        due = []
        for control in self.controls.due(before, result.max_commit_ts - 1, result.first_commit_ts):
            message = self._announcer.message_to(control.event, target)
            if message is not None:
                due.append((control.place, message))
        if not due:
            return batch
        places = np.searchsorted(stamps, np.array([place for place, _ in due], np.int64), side="right")
        joined = pa.concat_batches([batch, control_batch([(target, message) for _, message in due])])
        order = np.insert(np.arange(len(stamps)), places, np.arange(len(stamps), len(stamps) + len(due)))
        return joined.take(pa.array(order))


def _counted(blocks: Iterator[Block]) -> dict[tuple[str, int], TaskResult]:
    results: dict[tuple[str, int], TaskResult] = {}
    for block in blocks:
        for target, _, length in block.targets():
            results.setdefault(target, TaskResult()).rows += length
    return results


def _result_batch(results: dict[tuple[str, int], TaskResult]) -> pa.RecordBatch:
    rows = [
        {
            "topic": topic,
            "partition": partition,
            "rows": result.rows,
            "late_rows": result.late_rows,
            "messages": result.messages,
            "bytes": result.bytes,
            "first_commit_ts": result.first_commit_ts,
            "max_commit_ts": result.max_commit_ts,
        }
        for (topic, partition), result in sorted(results.items())
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)


def read_results(table: pa.Table) -> dict[tuple[str, int], TaskResult]:
    """Return what the tasks of a batch reported, by topic-partition; raise the error that one of them met."""
    for error in table.column("error").drop_null().to_pylist():
        raise pickle.loads(error)
    return {
        (row["topic"], row["partition"]): TaskResult(
            rows=row["rows"],
            late_rows=row["late_rows"],
            first_commit_ts=row["first_commit_ts"],
            max_commit_ts=row["max_commit_ts"],
            messages=row["messages"],
            bytes=row["bytes"],
        )
        for row in table.to_pylist()
    }
