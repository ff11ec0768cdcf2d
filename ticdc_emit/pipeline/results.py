"""A digest of the messages of a batch's rows. It shows whether a replay has other values.

In: the messages of each topic-partition, in their order, in pieces of any size. Out: 128 bits per
topic-partition, which add up to those of the batch. So neither the number of tasks nor how their rows are cut into
pieces changes the digest; another value, another order within a topic-partition or another topic-partition does. It is
the same in every process, on every machine and with every version of Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.pipeline.error_json import error_as_json, error_from_json
from ticdc_emit.pipeline.merge import MergedRows
from ticdc_emit.pipeline.report import ControlCounts
from ticdc_emit.pipeline.row_counts import CountsBody
from ticdc_emit.routing.topics import Target

__all__ = [
    "RESULT_SCHEMA",
    "Digest",
    "RowsDigest",
    "TaskResult",
    "error_result",
    "read_results",
    "result_batch",
    "sum_of_digests",
]


Digest: TypeAlias = bytes

_BYTES = 16


class RowsDigest:
    """The digest of one topic-partition's row messages.

    Every column is hashed by itself, keys and values apart from their lengths: all bytes of many rows at once.
    """

    def __init__(self, target: Target) -> None:
        self._target = target
        self._columns = [hashlib.sha256() for _ in range(5)]

    def add(self, messages: MergedRows) -> None:
        """Add the next messages."""
        stamps, *columns = self._columns
        stamps.update(messages.stamps.astype("<u8").tobytes())
        for (objects, sizes), lengths, content in zip(
            messages.keys_and_values, columns[::2], columns[1::2], strict=True
        ):
            lengths.update(sizes.astype("<i4").tobytes())  # -1 for NULL, so that it is not the empty text
            content.update(b"".join(filter(None, objects)))

    def value(self) -> Digest:
        """Return the digest of all that was added."""
        whole = hashlib.sha256(repr(self._target).encode())
        for column in self._columns:
            whole.update(column.digest())
        return whole.digest()[:_BYTES]


def sum_of_digests(*digests: Digest) -> Digest:
    """Return the digest of several topic-partitions; ``b""`` is that of no rows."""
    if not any(digests):
        return b""
    total = sum(int.from_bytes(each, "big") for each in digests)
    return (total % (1 << (8 * _BYTES))).to_bytes(_BYTES, "big")


@dataclass
class TaskResult:
    """The result of one topic-partition in a task.

    ``ddl``, ``watermarks``, ``bootstraps``: messages merged into the rows. ``claims`` (objects stored) and ``retries``
    (of the task's connection) are told with one of the topic-partitions that they may belong to. ``digest``: of the
    rows' messages (``pipeline.results``), empty where the task was not asked for it. ``skipped``: bad rows by table,
    and ``filtered``: rows that are not replicated, by rule, of the whole batch, told with one topic-partition, as are
    ``counts``: those of the batch's rows (``pipeline.row_counts``) as an Arrow IPC body, empty where nothing needs
    them.
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
