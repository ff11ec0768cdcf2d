"""Chunks: the messages of one block of rows for one topic-partition, on their way from the encoding to the delivering
task.

In: the messages of pieces, with their order keys. Out: batches of :data:`CHUNK_SCHEMA`, few and large rows, which an
engine moves by their ``bucket`` and never looks into. Messages of a chunk are in total order; its ``first`` and
``last`` order key say which chunks overlap. The order keys are apart from the messages, for they are read first: to see
that no change is told twice before anything is sent. Beside messages, chunks say what else a task found out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.arrange.alike import Siblings
from ticdc_emit.arrange.order_key import commit_stamps, order_of
from ticdc_emit.arrange.sorted_runs import ORDER_KEY
from ticdc_emit.changes.row_encoder import Encoded
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.delivery.topics import MOST_PARTITIONS
from ticdc_emit.encode.bad_rows import BadRow
from ticdc_emit.encode.chunk_files import ChunkFiles
from ticdc_emit.encode.error_json import error_as_json, unreadable
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.routing.topic import Target

__all__ = [
    "CHUNK_SCHEMA",
    "Buckets",
    "ChunkKind",
    "Made",
    "chunks_of",
    "counts_for_all",
    "note",
    "packed",
    "skipped",
    "transactions_for_all",
    "transactions_in",
    "unpacked",
]

CHUNK_SCHEMA = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kind", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("rows", pa.int64()),
        ("first", pa.binary()),
        ("last", pa.binary()),
        ("keys", pa.binary()),
        ("body", pa.binary()),
        ("file", pa.string()),
    ]
)
"""One row per chunk. ``bucket`` is the number of the task that delivers it. ``keys`` are the order keys where two
messages of the chunk have one commit_ts; elsewhere it is null, and they are in the ``body``. Instead of a body there
may be the name of a ``file`` that has it, not compressed. Others may be able to write where chunks lie on their way, so
they hold nothing that runs when it is read: Arrow and JSON only."""

_Codes: TypeAlias = npt.NDArray[np.int64]
_BODY_BYTES = 2 * 1024 * 1024  # of messages, before compression: larger ones are slow to move in a JVM
_BATCH_BYTES = 256 * 1024  # of bodies, compressed: what small chunks are handed on together
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)
"""A body is too small to share: on busy cores, waiting for Arrow's pool takes longer than the work."""


class ChunkKind(IntEnum):
    """What a chunk's body is."""

    FAILURE = 0
    """An error as JSON: nothing of the batch may be sent."""
    TRANSACTIONS = 1
    """First bytes of order keys: transactions of the topic whose rows rank by kind."""
    LATE = 2
    """Nothing; ``rows`` late ones were dropped."""
    CLAIMS = 3
    """Objects that messages name: their locations and contents."""
    SKIPPED = 4
    """Bad rows of the table that is named in the topic's place; a line of JSON for each, if they are told."""
    FILTERED = 6
    """Nothing; ``rows`` were left out by the rule that is named in the topic's place."""
    COUNTS = 7
    """How many rows the task has of each table (``encode.row_counts``)."""
    MESSAGES = 5
    """The messages: order key, key and value, and the value's end where the protocol keeps it apart."""


@dataclass(frozen=True)
class Buckets:
    """Which task delivers what: topic-partitions (``targets``) dealt out to ``count`` tasks."""

    targets: tuple[Target, ...]
    count: int

    def of(self, target: Target) -> int:
        """Return the bucket of a topic-partition."""
        return self._numbers.get(target, 0) % self.count

    def of_topic(self, topic: str) -> set[int]:
        """Return the buckets of a topic's partitions."""
        return {self.of(target) for target in self.targets if target[0] == topic}

    @cached_property
    def _numbers(self) -> dict[Target, int]:
        return {target: number for number, target in enumerate(self.targets)}


class _Chunk(NamedTuple):
    """A row of ``CHUNK_SCHEMA``."""

    bucket: int
    kind: int
    topic: str
    partition: int
    rows: int
    first: bytes | None = None
    last: bytes | None = None
    keys: bytes | None = None
    body: bytes | None = None
    file: str | None = None


@dataclass(frozen=True)
class Made:
    """The messages of a piece: their topics, order keys and contents.

    ``codes``: of each message, the place of its topic among these times ``MOST_PARTITIONS``, plus its partition.
    """

    topics: tuple[str, ...]
    codes: _Codes
    keys: pa.Array
    encoded: Encoded

    @classmethod
    def of_table(cls, table: TablePlan, partitions: int | pa.Array, keys: pa.Array, encoded: Encoded) -> Made:
        """Return the messages of one table; ``partitions``: of all of them, or of each."""
        if isinstance(partitions, int):
            return cls((table.topic,), np.full(len(keys), partitions, np.int64), keys, encoded)
        return cls((table.topic,), np.asarray(partitions).astype(np.int64), keys, encoded)

    @classmethod
    def of_siblings(cls, tables: Siblings, partitions: npt.NDArray[np.int32], keys: pa.Array, encoded: Encoded) -> Made:
        """Return the messages of several tables; ``partitions``: of each."""
        topics: dict[str, int] = {}
        numbers = np.array([topics.setdefault(table.topic, len(topics)) for table in tables.tables], np.int64)
        return cls(tuple(topics), numbers[tables.codes] * MOST_PARTITIONS + partitions, keys, encoded)

    @property
    def nbytes(self) -> int:
        """Bytes of the values, which are most of what is held."""
        return int(self.encoded.values.nbytes)

    def target(self, place: int) -> Target:
        """Return where a message goes."""
        topic, partition = divmod(int(self.codes[place]), MOST_PARTITIONS)
        return self.topics[topic], partition


def chunks_of(made: list[Made], buckets: Buckets, files: ChunkFiles) -> Iterator[pa.RecordBatch]:
    """Yield the chunks of these pieces: of each topic-partition the messages of all tables, in total order.

    ``files``: take messages that need not travel.
    """
    return _batches(_chunks_of(made, buckets, files)) if made else iter(())


def _chunks_of(made: list[Made], buckets: Buckets, files: ChunkFiles) -> Iterator[_Chunk]:
    topics = {topic: number for number, topic in enumerate({topic: 0 for each in made for topic in each.topics})}
    columns = {
        ORDER_KEY: _together([each.keys for each in made]),
        "key": _together([each.encoded.filled_keys() for each in made]),
        "value": _together([each.encoded.values for each in made]),
    }
    if made[0].encoded.ends is not None:
        columns["end"] = _together([each.encoded.ends for each in made])
    messages = pa.record_batch(columns)
    codes = np.concatenate([_renumbered(each, topics) for each in made])
    order = None if len(made) == 1 else order_of(messages.column(ORDER_KEY))
    places = np.arange(len(codes)) if order is None else np.asarray(order)
    if (codes != codes[0]).any():
        places = places[np.argsort(codes[places], kind="stable")]
        order = pa.array(places)
    if order is not None:
        messages, codes = messages.take(order), codes[places]
    starts, names = np.flatnonzero(np.append(True, codes[1:] != codes[:-1])).tolist(), list(topics)
    for start, end in zip(starts, [*starts[1:], len(codes)], strict=True):
        number, partition = divmod(int(codes[start]), MOST_PARTITIONS)
        yield from _bodies(messages.slice(start, end - start), (names[number], partition), buckets, files)
    for each in made:
        yield from _claims(each, buckets)


def note(kind: ChunkKind, bucket: int, target: Target, body: bytes | None = None, rows: int = 0) -> pa.RecordBatch:
    """Return a chunk with other information than messages."""
    return _batch([_Chunk(bucket, kind, *target, rows, body=body)])


def transactions_for_all(topic: str, transactions: Iterable[bytes], buckets: Buckets) -> Iterator[pa.RecordBatch]:
    """Yield a topic's transactions whose rows rank by kind, for every task that delivers to the topic."""
    body = packed(pa.record_batch({ORDER_KEY: pa.array(sorted(transactions), pa.binary())}))
    for bucket in buckets.of_topic(topic):
        yield note(ChunkKind.TRANSACTIONS, bucket, (topic, 0), body)


def transactions_in(body: pa.Buffer) -> set[bytes]:
    """Return the transactions of a chunk of :func:`transactions_for_all`."""
    return set(unpacked(body).column(ORDER_KEY).to_pylist())


def failures(error: TicdcEmitError, buckets: Buckets) -> Iterator[pa.RecordBatch]:
    """Yield the error for every task that delivers: none may send anything."""
    body = error_as_json(error)
    for bucket in range(buckets.count):
        yield note(ChunkKind.FAILURE, bucket, ("", 0), body)


def counts_for_all(counts: pa.RecordBatch, buckets: Buckets) -> Iterator[pa.RecordBatch]:
    """Yield a task's counts of ``COUNT_SCHEMA`` for every task that delivers: each schedules by those of all."""
    body = packed(counts)
    return _batches(_Chunk(bucket, ChunkKind.COUNTS, "", 0, 0, body=body) for bucket in range(buckets.count))


def skipped(rows: Sequence[BadRow], *, lines: bool) -> Iterator[pa.RecordBatch]:
    """Yield bad rows that are left out, table by table, for the first task that delivers; ``lines``: what they are."""
    by_table: dict[str, list[BadRow]] = {}
    for row in rows:
        by_table.setdefault(f"{row.schema}.{row.table}", []).append(row)
    for table, own in by_table.items():
        columns = {ORDER_KEY: [row.order for row in own], "line": [row.line() for row in own]} if lines else {}
        body = packed(pa.record_batch({name: pa.array(each, pa.binary()) for name, each in columns.items()}))
        yield _batch([_Chunk(0, ChunkKind.SKIPPED, table, 0, len(own), body=body if lines else None)])


def packed(batch: pa.RecordBatch) -> bytes:
    """Return a batch as one compressed Arrow IPC stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema, options=_WRITE) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def unpacked(body: bytes | pa.Buffer) -> pa.RecordBatch:
    """Return the batch that :func:`packed` packed.

    Raises :class:`~ticdc_emit.errors.DeliveryError` for other content.
    """
    try:
        return pa.ipc.open_stream(body, options=_READ).read_next_batch()
    except (pa.ArrowException, OSError, StopIteration) as fault:
        raise unreadable(f"a chunk is damaged: {type(fault).__name__}") from None


def _bodies(messages: pa.RecordBatch, target: Target, buckets: Buckets, files: ChunkFiles) -> Iterator[_Chunk]:
    """Yield one topic-partition's messages in chunks of bounded size."""
    keys = messages.column(ORDER_KEY)
    rows = max(1, messages.num_rows * _BODY_BYTES // max(messages.nbytes, 1))
    for start in range(0, messages.num_rows, rows):
        part, part_keys = messages.slice(start, rows), keys.slice(start, rows)
        stamps = commit_stamps(part_keys)
        ties = bool((stamps[1:] == stamps[:-1]).any())
        body = part.drop_columns([ORDER_KEY]) if ties else part
        file = files.keep(body)
        yield _Chunk(
            buckets.of(target),
            ChunkKind.MESSAGES,
            *target,
            part.num_rows,
            part_keys[0].as_py(),
            part_keys[part.num_rows - 1].as_py(),
            packed(pa.record_batch({ORDER_KEY: part_keys})) if ties else None,
            packed(body) if file is None else None,
            file,
        )


def _claims(made: Made, buckets: Buckets) -> Iterator[_Chunk]:
    for place, claim in made.encoded.claims:
        target = made.target(place)
        content = pa.record_batch({"location": [claim.location], "content": pa.array([claim.content], pa.binary())})
        yield _Chunk(buckets.of(target), ChunkKind.CLAIMS, *target, 1, body=packed(content))


def claims_in(body: pa.Buffer) -> list[Claim]:
    """Return the objects of a chunk of claims."""
    return [Claim(row["location"], row["content"]) for row in unpacked(body).to_pylist()]


def _batches(chunks: Iterable[_Chunk]) -> Iterator[pa.RecordBatch]:
    """Yield the chunks, small ones together: a batch of one row costs as much as its chunk."""
    held: list[_Chunk] = []
    size = 0
    for chunk in chunks:
        held.append(chunk)
        size += len(chunk.body or b"")
        if size >= _BATCH_BYTES:
            yield _batch(held)
            held, size = [], 0
    if held:
        yield _batch(held)


def _batch(chunks: list[_Chunk]) -> pa.RecordBatch:
    columns = [
        pa.array(values, field.type) for values, field in zip(zip(*chunks, strict=True), CHUNK_SCHEMA, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=CHUNK_SCHEMA)


def _renumbered(made: Made, topics: Mapping[str, int]) -> _Codes:
    """Return the codes of messages by other numbers of their topics."""
    if len(topics) == 1:
        return made.codes
    numbers = np.array([topics[topic] for topic in made.topics], np.int64)
    own, partitions = np.divmod(made.codes, MOST_PARTITIONS)
    codes: _Codes = numbers[own] * MOST_PARTITIONS + partitions
    return codes


def _together(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)
