"""The chunks of one delivering task: kept until all are there, in memory up to a limit, then in a temporary file.

In: batches of ``CHUNK_SCHEMA`` in any order. Out: what the encoding tasks found out, and of each topic-partition the
chunks by their first order key. Memory holds the limit, and about 500 bytes a chunk. Messages in files of the encoding
tasks stay there until they are read.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import IO, NamedTuple

import pyarrow as pa

from ticdc_emit.arrange.sorted_runs import ORDER_KEY, SortedRuns
from ticdc_emit.delivery.claims import Claim
from ticdc_emit.encode.chunk_files import ChunkFolder, mapped, taken
from ticdc_emit.encode.chunks import ChunkKind, claims_in, transactions_in, unpacked
from ticdc_emit.encode.error_json import error_from_json, unreadable
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.routing.topic import Target
from ticdc_emit.temporary import close_quietly, writing_temporary_files

__all__ = ["Chunk", "ChunkStore"]


class _Span(NamedTuple):
    start: int
    length: int


@dataclass(frozen=True)
class Chunk:
    """The messages of one chunk: where they are, and where their order keys are, if not with them."""

    first: bytes
    last: bytes
    rows: int
    body: pa.Buffer | _Span | str
    keys: pa.Buffer | _Span | None


class ChunkStore:
    """Takes chunks, then gives them back. What tasks said: ``failures``, ``late_rows``, ``transactions`` (by topic) and
    ``skipped``, the number of bad rows by table, and ``filtered``, that of rows that are not replicated, by rule.
    ``hands_back``: whether this task is the one that tells the driver what all were told. ``folder``: where the files
    are that chunks name.
    """

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
        self.hands_back = False
        self.failures: list[TicdcEmitError] = []
        self.late_rows: Counter[Target] = Counter()
        self.transactions: dict[str, set[bytes]] = {}
        self.skipped: Counter[str] = Counter()
        self.filtered: Counter[str] = Counter()

    def add(self, batch: pa.RecordBatch) -> None:
        """Take the chunks of a batch."""
        for row in range(batch.num_rows):
            bucket, kind, topic, partition, rows, first, last, keys, body, file = (
                column[row] for column in batch.columns
            )
            target = topic.as_py(), partition.as_py()
            match kind.as_py():
                case ChunkKind.MESSAGES:
                    own = self._kept_if(body) or file.as_py()
                    chunk = Chunk(first.as_py(), last.as_py(), rows.as_py(), own, self._kept_if(keys))
                    self._chunks.setdefault(target, []).append(chunk)
                case ChunkKind.CLAIMS:
                    self._claims.setdefault(target, []).append(self._kept(body))
                case ChunkKind.LATE:
                    self.late_rows[target] += rows.as_py()
                case ChunkKind.FILTERED:
                    self.filtered[target[0]] += rows.as_py()
                case ChunkKind.COUNTS:
                    self._counts.append(self._kept(body))
                    self.hands_back = bucket.as_py() == 0
                case ChunkKind.SKIPPED:
                    self.skipped[target[0]] += rows.as_py()
                    if body.is_valid:
                        self._skipped.append(self._kept(body))
                case ChunkKind.TRANSACTIONS:
                    self.transactions.setdefault(target[0], set()).update(transactions_in(body.as_buffer()))
                case ChunkKind.FAILURE:
                    self.failures.append(error_from_json(body.as_py()))

    def targets(self) -> list[Target]:
        """Return the topic-partitions that have messages, in order."""
        return sorted(self._chunks)

    def chunks(self, target: Target) -> list[Chunk]:
        """Return the chunks of a topic-partition by their first order key."""
        return sorted(self._chunks[target], key=lambda chunk: (chunk.first, chunk.last))

    def claims(self, target: Target) -> Iterator[list[Claim]]:
        """Yield the objects that messages of a topic-partition name, a few at a time."""
        for span in self._claims.get(target, ()):
            yield claims_in(self._read(span))

    def skipped_lines(self) -> Iterator[bytes]:
        """Yield the lines of JSON for skipped rows, in the rows' order."""
        with SortedRuns(self._limit) as runs:
            for span in self._skipped:
                runs.add(unpacked(self._read(span)))
            for window in runs.windows():
                yield from window.column("line").to_pylist()

    def counts(self) -> Iterator[pa.RecordBatch]:
        """Yield what each encoding task has counted (``encode.row_counts``)."""
        return (unpacked(self._read(span)) for span in self._counts)

    def messages(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the messages of a chunk: order key, key, value, and the value's end where it is apart.

        If files are removed, a chunk's messages are there once.
        """
        messages = unpacked(self._read(chunk.body, is_last=self._folder is not None and self._folder.read_once))
        if not chunk.keys:
            return messages
        return messages.add_column(0, ORDER_KEY, unpacked(self._read(chunk.keys)).column(ORDER_KEY))

    def keys(self, chunk: Chunk) -> pa.RecordBatch:
        """Return the order keys of a chunk."""
        return unpacked(self._read(chunk.keys or chunk.body)).select([ORDER_KEY])

    def _kept_if(self, body: pa.Scalar) -> pa.Buffer | _Span | None:
        return self._kept(body) if body.is_valid else None

    def _kept(self, body: pa.Scalar) -> pa.Buffer | _Span:
        """Hold a body as it came, without a copy, or write it to the file."""
        content = body.as_buffer()
        if self._held + content.size <= self._limit:
            self._held += content.size
            return content
        with writing_temporary_files():
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="ticdc-emit-")  # noqa: SIM115 - closed by __exit__
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
            return taken(path) if is_last else mapped(path)
        if not isinstance(place, _Span):
            return place
        assert self._file is not None
        with writing_temporary_files():  # the rest of what was written goes out with it
            self._file.seek(place.start)
        return pa.py_buffer(self._file.read(place.length))

    def __enter__(self) -> ChunkStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            close_quietly(self._file)
