"""Chunks: the messages of a block of rows for one topic-partition, on their way from encoding to delivering tasks.

Other chunks carry errors, late and skipped rows, counts and objects for the claim-check storage (:class:`ChunkKind`).
Between tasks on one machine messages stay in a file that the chunk names (:class:`ChunkFiles`): a shuffle would
compress them and copy them twice through sockets, while a file that is read at once stays in the page cache and costs a
fifth. So that it does stay there, the files of a batch have a bound, and those beyond its first quarter are compressed.
Messages beyond the bound are shuffled, as are those of small chunks.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import IO, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.model import Encoded
from ticdc_emit.delivery.base import MOST_PARTITIONS, Target
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.delivery.temporary import close_quietly, writing_temporary_files
from ticdc_emit.errors import TemporaryFileError, TicdcEmitError
from ticdc_emit.pipeline.arrange.sort_key import commit_stamps, order_of
from ticdc_emit.pipeline.encode.bad_rows import BadRow
from ticdc_emit.pipeline.encode.error_json import error_from_json, unreadable
from ticdc_emit.pipeline.encode.external_sort import ORDER_KEY, SortedRuns

CHUNK_SCHEMA = pa.schema(
    [
        ("bucket", pa.int32()),
        ("kind", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("rows", pa.int64()),
        ("first", pa.binary()),
        ("last", pa.binary()),
        ("ties", pa.bool_()),
        ("order_keys", pa.binary()),
        ("body", pa.binary()),
        ("file", pa.string()),
    ]
)
"""One row per chunk. ``bucket`` is the number of the task that delivers it. ``order_keys`` are there where two
messages of the chunk have one commit_ts; elsewhere it is null, and they are in the ``body``. Instead of a body there
may be the name of a ``file`` that has it, not compressed. Others may be able to write where chunks lie on their way, so
they hold nothing that runs when it is read: Arrow and JSON only."""

_Codes: TypeAlias = npt.NDArray[np.int64]
_BODY_BYTES = 2 * 1024 * 1024  # of messages, before compression: larger ones are slow to move in a JVM
_BATCH_BYTES = 256 * 1024  # of bodies, compressed: what small chunks are handed on together
_WRITE = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)
_READ = pa.ipc.IpcReadOptions(use_threads=False)
"""A body is too small to share: on busy cores, waiting for Arrow's pool takes longer than the work."""
_READ_FIRST = pa.ipc.IpcReadOptions(use_threads=False, included_fields=[0])


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
    """How many rows the task has of each table (``pipeline.arrange.row_counts``)."""
    CHANGES = 8
    """How many messages there are by operation and table, as JSON (:attr:`EncodedRows.changes`)."""
    MESSAGES = 5
    """The messages: order key, key and value, and the value's end where the protocol keeps it apart."""


@dataclass(frozen=True)
class Buckets:
    """Which task delivers what: topic-partitions (``targets``) dealt out to ``count`` tasks."""

    targets: tuple[Target, ...]
    count: int

    def of(self, target: Target) -> int:
        return self._numbers.get(target, 0) % self.count

    @cached_property
    def _numbers(self) -> dict[Target, int]:
        return {target: number for number, target in enumerate(self.targets)}


class _Chunk(NamedTuple):
    bucket: int
    kind: int
    topic: str
    partition: int
    rows: int
    first: bytes | None = None
    last: bytes | None = None
    ties: bool | None = None
    order_keys: bytes | None = None
    body: bytes | None = None
    file: str | None = None


@dataclass(frozen=True)
class EncodedRows:
    """The messages of a batch; ``codes``: the place of each topic times ``MOST_PARTITIONS``, plus the partition.
    ``changes``: how many there are (``insert shop.orders``), if asked for.
    """

    topics: tuple[str, ...]
    codes: _Codes
    order_keys: pa.Array | None
    encoded: Encoded
    changes: Mapping[str, int] = field(default_factory=dict)

    def target(self, place: int) -> Target:
        topic, partition = divmod(int(self.codes[place]), MOST_PARTITIONS)
        return self.topics[topic], partition


def message_chunks(made: list[EncodedRows], buckets: Buckets, files: ChunkFiles) -> Iterator[pa.RecordBatch]:
    """Yield, of each topic-partition, chunks of the messages of all tables, in total order."""
    return _batches(_chunks_of(made, buckets, files)) if made else iter(())


def messages_by_target(made: Sequence[EncodedRows]) -> Iterator[tuple[Target, pa.RecordBatch]]:
    """Yield the messages of each topic-partition in total order: order key, key, value, and its end if it is apart."""
    topics = {topic: number for number, topic in enumerate({topic: 0 for each in made for topic in each.topics})}
    columns = {
        ORDER_KEY: _concat([each.order_keys for each in made]),
        "key": _concat([each.encoded.filled_keys() for each in made]),
        "value": _concat([each.encoded.values for each in made]),
    }
    if made[0].encoded.ends is not None:
        columns["end"] = _concat([each.encoded.ends for each in made])
    messages = pa.record_batch(columns)
    codes = np.concatenate([_with_topic_numbers(each, topics) for each in made])
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
        yield (names[number], partition), messages.slice(start, end - start)


def _chunks_of(made: list[EncodedRows], buckets: Buckets, files: ChunkFiles) -> Iterator[_Chunk]:
    for target, messages in messages_by_target(made):
        yield from _partition_chunks(messages, target, buckets, files)
    changes = sum((Counter(each.changes) for each in made), Counter[str]())
    yield _Chunk(0, ChunkKind.CHANGES, "", 0, 0, body=json.dumps(changes).encode())
    for each in made:
        for place, claim in each.encoded.claims:
            target = each.target(place)
            content = pa.record_batch({"location": [claim.location], "content": pa.array([claim.content], pa.binary())})
            yield _Chunk(buckets.of(target), ChunkKind.CLAIMS, *target, 1, body=to_ipc(content))


def side_chunk(
    kind: ChunkKind, bucket: int, target: Target, body: bytes | None = None, rows: int = 0
) -> pa.RecordBatch:
    """Return a chunk with other information than messages."""
    return _batch([_Chunk(bucket, kind, *target, rows, body=body)])


def transaction_chunks(topic: str, transactions: Iterable[bytes], buckets: Buckets) -> Iterator[pa.RecordBatch]:
    """Yield a topic's transactions whose rows rank by kind, for every task that delivers to the topic."""
    body = to_ipc(pa.record_batch({ORDER_KEY: pa.array(sorted(transactions), pa.binary())}))
    for bucket in {buckets.of(target) for target in buckets.targets if target[0] == topic}:
        yield side_chunk(ChunkKind.TRANSACTIONS, bucket, (topic, 0), body)


def chunks_for_all(kind: ChunkKind, body: bytes, buckets: Buckets) -> Iterator[pa.RecordBatch]:
    """Yield an error, or a task's counts, for every task that delivers: none may send anything, or each schedules."""
    return _batches(_Chunk(bucket, kind, "", 0, 0, body=body) for bucket in range(buckets.count))


def skipped_chunks(rows: Sequence[BadRow], *, lines: bool) -> Iterator[pa.RecordBatch]:
    """Yield bad rows that are left out, table by table, for the first task that delivers; ``lines``: what they are."""
    by_table: dict[str, list[BadRow]] = {}
    for row in rows:
        by_table.setdefault(f"{row.schema}.{row.table}", []).append(row)
    for table, own in by_table.items():
        columns = {ORDER_KEY: [row.order for row in own], "line": [row.line() for row in own]} if lines else {}
        body = to_ipc(pa.record_batch({name: pa.array(each, pa.binary()) for name, each in columns.items()}))
        yield _batch([_Chunk(0, ChunkKind.SKIPPED, table, 0, len(own), body=body if lines else None)])


def to_ipc(batch: pa.RecordBatch) -> bytes:
    """Return a batch as one compressed Arrow IPC stream."""
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batch.schema, options=_WRITE) as writer:
        writer.write_batch(batch)
    return bytes(out.getvalue().to_pybytes())


def from_ipc(body: bytes | pa.Buffer, *, first_column: bool = False) -> pa.RecordBatch:
    """Return the batch that :func:`to_ipc` packed, or its first column; ``DeliveryError`` for other content."""
    try:
        return pa.ipc.open_stream(body, options=_READ_FIRST if first_column else _READ).read_next_batch()
    except (pa.ArrowException, OSError, StopIteration) as fault:
        raise unreadable(f"a chunk is damaged: {type(fault).__name__}") from None


def _partition_chunks(
    messages: pa.RecordBatch, target: Target, buckets: Buckets, files: ChunkFiles
) -> Iterator[_Chunk]:
    order_keys = messages.column(ORDER_KEY)
    rows = max(1, messages.num_rows * _BODY_BYTES // max(messages.nbytes, 1))
    for start in range(0, messages.num_rows, rows):
        part, part_keys = messages.slice(start, rows), order_keys.slice(start, rows)
        stamps = commit_stamps(part_keys)
        ties = bool((stamps[1:] == stamps[:-1]).any())
        file = files.keep(part)
        apart = ties and file is None
        body = part.drop_columns([ORDER_KEY]) if apart else part
        yield _Chunk(
            buckets.of(target),
            ChunkKind.MESSAGES,
            *target,
            part.num_rows,
            part_keys[0].as_py(),
            part_keys[part.num_rows - 1].as_py(),
            ties,
            to_ipc(pa.record_batch({ORDER_KEY: part_keys})) if apart else None,
            to_ipc(body) if file is None else None,
            file,
        )


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


def _with_topic_numbers(made: EncodedRows, topics: Mapping[str, int]) -> _Codes:
    if len(topics) == 1:
        return made.codes
    numbers = np.array([topics[topic] for topic in made.topics], np.int64)
    own, partitions = np.divmod(made.codes, MOST_PARTITIONS)
    codes: _Codes = numbers[own] * MOST_PARTITIONS + partitions
    return codes


def _concat(arrays: list[pa.Array]) -> pa.Array:
    return arrays[0] if len(arrays) == 1 else pa.concat_arrays(arrays)


class _Span(NamedTuple):
    start: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """The messages of one chunk: where they and their order keys are. ``ties``: whether two have one commit_ts."""

    first: bytes
    last: bytes
    rows: int
    ties: bool
    body: pa.Buffer | _Span | str
    order_keys: pa.Buffer | _Span | None


class ChunkStore:
    """Takes chunks, then gives them back; ``returns_counts``: whether this task returns all counts to the driver."""

    def __init__(self, limit: int, folder: ChunkFolder | None = None) -> None:
        self._limit = limit
        self._folder = folder
        self._held = 0
        self._file: IO[bytes] | None = None
        self._end = 0
        self._chunks: dict[Target, list[Chunk]] = {}
        self._claims: dict[Target, list[pa.Buffer | _Span]] = {}
        self._skipped: list[pa.Buffer | _Span] = []
        self._counts: list[pa.Buffer | _Span] = []
        self.returns_counts = False
        self.failures: list[TicdcEmitError] = []
        self.late_rows = 0
        self.transactions: dict[str, set[bytes]] = {}
        self.skipped: Counter[str] = Counter()
        self.filtered: Counter[str] = Counter()
        self.changes: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        for row in range(batch.num_rows):
            bucket, kind, topic, partition, rows, first, last, ties, order_keys, body, file = (
                column[row] for column in batch.columns
            )
            target = topic.as_py(), partition.as_py()
            match kind.as_py():
                case ChunkKind.MESSAGES:
                    own = self._hold(body) if body.is_valid else file.as_py()
                    own_keys = self._hold(order_keys) if order_keys.is_valid else None
                    chunk = Chunk(first.as_py(), last.as_py(), rows.as_py(), ties.as_py(), own, own_keys)
                    self._chunks.setdefault(target, []).append(chunk)
                case ChunkKind.CLAIMS:
                    self._claims.setdefault(target, []).append(self._hold(body))
                case ChunkKind.LATE:
                    self.late_rows += rows.as_py()
                case ChunkKind.FILTERED:
                    self.filtered[target[0]] += rows.as_py()
                case ChunkKind.CHANGES:
                    self.changes.update(json.loads(body.as_py()))
                case ChunkKind.COUNTS:
                    self._counts.append(self._hold(body))
                    self.returns_counts |= bucket.as_py() == 0
                case ChunkKind.SKIPPED:
                    self.skipped[target[0]] += rows.as_py()
                    if body.is_valid:
                        self._skipped.append(self._hold(body))
                case ChunkKind.TRANSACTIONS:
                    self.transactions.setdefault(target[0], set()).update(
                        from_ipc(body.as_buffer()).column(ORDER_KEY).to_pylist()
                    )
                case ChunkKind.FAILURE:
                    self.failures.append(error_from_json(body.as_py()))

    def chunks(self) -> list[tuple[Target, list[Chunk]]]:
        """Return the topic-partitions that have messages, in order, each with its chunks by their first order key."""
        return [
            (target, sorted(own, key=lambda chunk: (chunk.first, chunk.last)))
            for target, own in sorted(self._chunks.items())
        ]

    def claims(self, target: Target) -> Iterator[list[Claim]]:
        """Yield the objects that messages of a topic-partition name, a few at a time."""
        for span in self._claims.get(target, ()):
            yield [Claim(row["location"], row["content"]) for row in from_ipc(self._read(span)).to_pylist()]

    def skipped_lines(self) -> Iterator[bytes]:
        """Yield the lines of JSON for skipped rows, in the rows' order."""
        with SortedRuns(self._limit) as runs:
            for span in self._skipped:
                runs.add(from_ipc(self._read(span)))
            for window in runs.windows():
                yield from window.column("line").to_pylist()

    def counts(self) -> Iterator[pa.RecordBatch]:
        """Yield what each encoding task has counted (``pipeline.arrange.row_counts``)."""
        return (from_ipc(self._read(span)) for span in self._counts)

    def messages(self, chunk: Chunk) -> pa.RecordBatch:
        """Return a chunk's messages: order key, key, value and its end; only once, if files are removed."""
        messages = from_ipc(self._read(chunk.body, is_last=self._folder is not None and self._folder.read_once))
        if chunk.order_keys is None:
            return messages
        return messages.add_column(0, ORDER_KEY, from_ipc(self._read(chunk.order_keys)).column(ORDER_KEY))

    def order_keys(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the order keys of a chunk, which are the first column of where they are."""
        return from_ipc(self._read(chunk.order_keys or chunk.body), first_column=True)

    def _hold(self, body: pa.Scalar) -> pa.Buffer | _Span:
        content = body.as_buffer()
        if self._held + content.size <= self._limit:
            self._held += content.size
            return content
        with writing_temporary_files():
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="ticdc-emit-")  # noqa: SIM115 - closed by close
            self._file.seek(self._end)
            self._file.write(content)
        span = _Span(self._end, content.size)
        self._end += content.size
        return span

    def _read(self, place: pa.Buffer | _Span | str, *, is_last: bool = False) -> pa.Buffer:
        if isinstance(place, str):
            if self._folder is None:
                raise unreadable("a chunk names a file, but these chunks hold their messages themselves")
            path = self._folder.file(place)
            return map_and_remove(path) if is_last else map_file(path)
        if not isinstance(place, _Span):
            return place
        assert self._file is not None
        with writing_temporary_files():  # the rest of what was written goes out with it
            self._file.seek(place.start)
        return pa.py_buffer(self._file.read(place.length))

    def close(self) -> None:
        """Remove what went to a temporary file."""
        if self._file is not None:
            close_quietly(self._file)


_SMALL_BYTES = 128 * 1024  # of messages, for which a file does not pay
_PLAIN_SHARE = 4  # what files may take before the next ones are compressed, as the divisor of all they may take
_TALLY = "tally"  # the file in which all tasks count: a byte for each _TALLY_BYTES that they have written
_TALLY_BYTES = 64 * 1024
_NAME_BYTES = 12
_FILE_NAME = re.compile(r"[0-9a-f]+-[0-9]+")
_WRITE_PLAIN = pa.ipc.IpcWriteOptions(use_threads=False)


@dataclass(frozen=True)
class ChunkFolder:
    """A folder for the files of one batch. ``most``: bytes that they may have together, or a little more.

    ``read_once``: no task is tried again, so a file goes as it is read: its memory is free as soon as its messages are
    sent, and the log of a broker on the machine grows into it. Memory that a virtual machine has never used costs many
    times as much. Whoever gives the folder removes what is left.
    """

    path: str
    most: int
    read_once: bool = False

    def file(self, name: str) -> str:
        """Return the path of a file that a chunk names. A chunk comes from elsewhere, so it may name no other file."""
        if _FILE_NAME.fullmatch(name) is None:
            raise unreadable(f"{name!r:.40} is not the name of a file of messages")
        return str(Path(self.path, name))

    def written(self) -> int:
        """Return the bytes that all tasks have written."""
        with Path(self.path, _TALLY).open("ab", buffering=0) as tally:
            return tally.tell() * _TALLY_BYTES

    def count(self, size: int) -> None:
        """Add bytes to those that all tasks have written."""
        with Path(self.path, _TALLY).open("ab", buffering=0) as tally:
            tally.write(bytes(-(-size // _TALLY_BYTES)))


@dataclass
class ChunkFiles:
    """The files of one encoding task. Without a folder, none are written."""

    folder: ChunkFolder | None
    _name: str = field(default_factory=lambda: os.urandom(_NAME_BYTES).hex(), init=False)
    _count: int = field(default=0, init=False)

    def keep(self, messages: pa.RecordBatch) -> str | None:
        """Write messages to a file and return its name, ``None`` if they are shuffled: compressed, they may fit."""
        if self.folder is None or messages.nbytes < _SMALL_BYTES:
            return None
        try:
            if (written := self.folder.written()) < self.folder.most:
                is_plain = written < self.folder.most // _PLAIN_SHARE
                return self._new_file(self.folder, messages, _WRITE_PLAIN if is_plain else _WRITE)
        except OSError:
            pass
        self.folder = None
        return None

    def _new_file(self, folder: ChunkFolder, messages: pa.RecordBatch, options: pa.ipc.IpcWriteOptions) -> str:
        name = f"{self._name}-{self._count}"
        self._count += 1
        with pa.OSFile(folder.file(name), "wb") as file:
            with pa.ipc.new_stream(file, messages.schema, options=options) as stream:
                stream.write_batch(messages)
            folder.count(file.tell())
        return name


def map_file(path: str) -> pa.Buffer:
    """Return the content of a file, open only while it is mapped; ``TemporaryFileError`` if it is gone."""
    try:
        with pa.memory_map(path) as file:
            return file.read_buffer()
    except OSError as error:
        raise TemporaryFileError(
            f"cannot read a temporary file: {error.strerror or error}",
            remedy="Run the batch again, and keep other programs from removing files of that folder",
            folder=str(Path(path).parent),
        ) from error


def map_and_remove(path: str) -> pa.Buffer:
    """Return the content of a file, as :func:`map_file` does, and remove the file: it lasts as long as its content."""
    content = map_file(path)
    with suppress(OSError):  # a system that keeps files while they are mapped
        Path(path).unlink()
    return content
