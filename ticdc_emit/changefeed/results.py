"""What became of a batch's topic-partitions, on its way from delivering tasks to the driver."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changefeed.digest import Digest, sum_of_digests
from ticdc_emit.changefeed.report import ControlCounts
from ticdc_emit.encode.error_json import error_as_json, error_from_json
from ticdc_emit.encode.row_counts import CountsBody
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.routing.topic import Target

__all__ = ["RESULT_SCHEMA", "TaskResult", "error_result", "read_results", "result_batch"]


@dataclass
class TaskResult:
    """The result of one topic-partition in a task.

    ``ddl``, ``watermarks``, ``bootstraps``: messages merged into the rows. ``claims`` (objects stored) and ``retries``
    (of the task's connection) are told with one of the topic-partitions that they may belong to. ``digest``: of the
    rows' messages (``changefeed.digest``), empty where the task was not asked for it. ``skipped``: bad rows by table,
    and ``filtered``: rows that are not replicated, by rule, of the whole batch, told with one topic-partition, as are
    ``counts``: those of the batch's rows (``encode.row_counts``) as an Arrow IPC body, empty where nothing needs them.
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
    counts: CountsBody = b""
    skipped: dict[str, int] = field(default_factory=dict)
    filtered: dict[str, int] = field(default_factory=dict)

    @property
    def controls(self) -> ControlCounts:
        return ControlCounts(self.ddl, self.watermarks, self.bootstraps)

    def plus(self, other: TaskResult) -> TaskResult:
        """Return what two tasks did for one topic-partition."""
        summed = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        firsts = [each.first_commit_ts for each in (self, other) if each.first_commit_ts >= 0]
        summed |= {
            "first_commit_ts": min(firsts, default=-1),
            "max_commit_ts": max(self.max_commit_ts, other.max_commit_ts),
            "digest": sum_of_digests(self.digest, other.digest),
            "counts": self.counts or other.counts,
            "skipped": dict(Counter(self.skipped) + Counter(other.skipped)),
            "filtered": dict(Counter(self.filtered) + Counter(other.filtered)),
        }
        return TaskResult(**summed)

    def count(self, controls: ControlCounts) -> None:
        """Add control messages that were merged in."""
        self.ddl += controls.ddl
        self.watermarks += controls.watermark
        self.bootstraps += controls.bootstrap


_BODIES = ("digest", "counts")
_BY_NAME = ("skipped", "filtered")
_COUNTS = tuple(each.name for each in fields(TaskResult) if each.name not in (*_BODIES, *_BY_NAME))
RESULT_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.int64()) for name in _COUNTS),
        *((name, pa.binary()) for name in _BODIES),
        *((name, pa.string()) for name in _BY_NAME),
        ("error", pa.binary()),
    ]
)
"""One row per topic-partition of a task with its :class:`TaskResult`, or an error as JSON and nothing else."""


def result_batch(results: Mapping[Target, TaskResult]) -> pa.RecordBatch:
    """Return the results of a task as a batch of :data:`RESULT_SCHEMA`."""
    rows = [
        {"topic": topic, "partition": partition, **asdict(result), **_shown(result)}
        for (topic, partition), result in sorted(results.items())
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)


def _shown(result: TaskResult) -> dict[str, str]:
    return {name: json.dumps(getattr(result, name)) for name in _BY_NAME}


def error_result(error: TicdcEmitError) -> pa.RecordBatch:
    """Return an error that is to be raised on the driver, with its own type: trying again would not help."""
    return pa.RecordBatch.from_pylist([{"error": error_as_json(error), "messages": 0}], schema=RESULT_SCHEMA)


def read_results(table: pa.Table | Iterable[pa.RecordBatch]) -> dict[Target, TaskResult]:
    """Return what the tasks of a batch reported, by topic-partition; raise the error that one of them met.

    Such an error has ``messages_sent`` in its context where another task has sent messages.
    """
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
        counts = {name: row[name] for name in (*_COUNTS, *_BODIES)}
        result = TaskResult(**counts, **{name: json.loads(row[name]) for name in _BY_NAME})
        target = row["topic"], row["partition"]
        results[target] = results[target].plus(result) if target in results else result
    return results
