"""``format("ticdc")``: the changefeed as a Spark data source, for ``df.write`` and ``df.writeStream``.

    register(spark)
    changes.write.format("ticdc").mode("append").option("sinkUri", ...).option("schema", ...).save()

In: rows in a public form (``changes.arrow_input``). A data source gets Spark's partitions as they are and cannot request a
shuffle or a sort. So executors encode their rows and stage chunks of messages (``spark.staging``), and ``commit``, in
one process on the driver, merges and sends them. If the plan depends on all rows (DDL among them, or tables that a
registry must know), rows are staged as they are and ``commit`` encodes them. Spark starts a new process for every
commit, so lasting state is at ``stateUri``.

The encoding of a batch depends on the state at its beginning, and so on its id. Spark passes the id to a stream's
tasks, but not to the process that makes their writer. So that process prepares an encoding for the next batch, and one
for the last batch, which is repeated if its commit was lost. Under another id, rows are staged as they are.

What Spark pickles (4.1 to 4.3): a writer inside the function that runs on executors, for batch writes and streams; then
the writer of a batch write once more, for its ``commit``. A stream's commits get a writer made again from the options.
So a writer is pickled without its options, which may contain secrets, except that second time. The parts that executors
need are made when it is pickled for them. Errors are raised then, because Spark keeps their text there.
"""

from __future__ import annotations

import hashlib
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from ticdc_emit.changes.arrow_input import check_columns
from ticdc_emit.config import Secret, mask_uri
from ticdc_emit.errors import ConfigError, StateError, TicdcEmitError
from ticdc_emit.pipeline.batch import ArrowBatch, Batch, EncodedBatch, Encoding, typed_table
from ticdc_emit.pipeline.chunks import CHUNK_SCHEMA
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.spark.batch import check_changes
from ticdc_emit.spark.source_options import SourceOptions
from ticdc_emit.spark.staging import StagedFile, Staging

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

__all__ = ["TicdcDataSource"]


_BATCH_ID = "streaming.sql.batchId"  # a property of Spark's tasks in every release that streams
_Encodings = dict[int | None, Encoding | None]


class TicdcDataSource(DataSource):
    """Writes row changes as TiCDC would; docs/datasource.md lists the options."""

    @classmethod
    def name(cls) -> str:
        return "ticdc"

    def schema(self) -> NoReturn:
        """Refuse to be read; Spark asks for this before it makes a reader, and for SQL's INSERT INTO."""
        raise ConfigError(
            'format("ticdc") is write-only',
            remedy='Write row changes with df.write.format("ticdc").mode("append"), or df.writeStream. To read '
            "messages, use ticdc_emit.reader_for, or ticdc-emit tail",
        )

    def writer(self, schema: StructType, overwrite: bool) -> _BatchWriter:
        """Return the writer of a batch write; raises an error for wrong options and columns."""
        options = _checked(self.options, schema, overwrite)
        outline = options.changefeed().outline  # a wrong table schema is refused before the rows are staged
        if "query" not in schema.names:  # DDL rows may change the tables
            check_changes(schema, typed_table(schema.names, options.table, outline), outline)
        return _BatchWriter(self.options, _staging(options, f"batch-{uuid.uuid4().hex}"), schema.names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> _StreamWriter:  # noqa: N802 - Spark's name
        """Return the writer of one micro-batch, or of its commit."""
        options = _checked(self.options, schema, overwrite)
        state_uri = options.running.state_uri
        if state_uri is None:
            raise ConfigError(
                "a stream needs a stateUri: Spark commits each micro-batch in a new process",
                remedy="Give a folder that outlives the driver, beside checkpointLocation",
                option="stateUri",
            )
        # the same name in every process of a query, so that files of a lost driver are removed too
        name = hashlib.sha256(mask_uri(state_uri.reveal()).encode()).hexdigest()[:16]
        return _StreamWriter(self.options, _staging(options, f"stream-{name}"), schema.names)


@dataclass(frozen=True)
class _Staged(WriterCommitMessage):
    """``encoding``: how rows became chunks; ``None`` for rows as they are."""

    file: StagedFile
    encoding: tuple[BatchState, tuple[str, str] | None] | None = None


class _Writer:
    """Common parts of both writers: encode and stage rows on an executor, and send staged rows on the driver."""

    _encodings: _Encodings | None = None
    _refused: TicdcEmitError | None = None

    def __init__(self, options: Mapping[str, str], staging: Staging, columns: Sequence[str]) -> None:
        self._options: Secret[Mapping[str, str]] | None = Secret(dict(options))
        self._staging = staging
        self._columns = tuple(columns)

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Encode and stage the rows of one Spark partition."""
        if self._refused is not None:
            raise self._refused
        assert self._encodings is not None
        encoding = self._encodings.get(self._batch_id())
        if encoding is None:
            return _Staged(self._staging.write(iterator))
        return _Staged(self._staging.write(encoding.encode(iterator)), (encoding.state, encoding.encode.table))

    def _batch_id(self) -> int | None:
        """Return the id of a task's batch; ``None`` if it is unknown."""
        return None

    def _ids(self, following: int) -> Mapping[int | None, int]:
        """Return the key of a batch that :meth:`_batch_id` may return; ``following``: of the next batch."""
        return {None: following}

    def _for_executors(self) -> dict[str, Any]:
        """Return the writer as executors get it; topics exist and schemas are registered from now on."""
        if self._encodings is None and self._refused is None:
            try:
                self._encodings = self._made()
            except TicdcEmitError as error:
                self._refused = error
        known = {"_staging": self._staging, "_options": None, "_columns": self._columns}
        return {**known, "_encodings": self._encodings, "_refused": self._refused}

    def _made(self) -> _Encodings:
        assert self._options is not None
        if "query" in self._columns:
            return {}
        options = SourceOptions.read(self._options.reveal())
        with closing(options.changefeed()) as feed:
            table = typed_table(self._columns, options.table, feed.outline)
            ids = self._ids(feed.next_batch_id())
            return {told: feed.encoding(number, table) for told, number in ids.items()}

    def _send(self, messages: list[WriterCommitMessage | None], batch_id: int | None) -> RunReport:
        """Send the staged files named by the messages, without an id as the last of all batches; remove them."""
        assert self._options is not None
        try:
            options = SourceOptions.read(self._options.reveal())
            batch = self._batch([each for each in messages if isinstance(each, _Staged)], options.table)
            with closing(options.changefeed()) as feed:
                if batch_id is None:
                    return feed.run(batch, feed.next_batch_id(), final=True)
                return feed.run(batch, batch_id, final=False)
        finally:
            self._staging.remove()

    def _batch(self, staged: Sequence[_Staged], table: str | None) -> Batch:
        first = next((each.encoding for each in staged), None)
        batches = self._staging.read([each.file for each in staged], None if first is None else CHUNK_SCHEMA)
        if any(each.encoding != first for each in staged):
            raise StateError("tasks of one write have encoded different batches", remedy="Write the rows again")
        if first is None:
            return ArrowBatch(batches, table)
        return EncodedBatch(*first, batches)


class _BatchWriter(_Writer, DataSourceArrowWriter):
    _is_for_commit = False

    def __getstate__(self) -> dict[str, Any]:
        """Leave the options out the first time, which is for executors (see the module docstring)."""
        for_commit, self._is_for_commit = self._is_for_commit, True
        if not for_commit:
            return self._for_executors()
        return {"_staging": self._staging, "_options": self._options, "_columns": self._columns}

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Send all rows and the watermark after the last of them."""
        self._send(messages, None)

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Forget the rows; nothing was sent."""
        self._staging.remove()


class _StreamWriter(_Writer, DataSourceStreamArrowWriter):
    def __getstate__(self) -> dict[str, Any]:
        return self._for_executors()

    def _batch_id(self) -> int | None:
        from pyspark import TaskContext

        context = TaskContext.get()
        text = None if context is None else context.getLocalProperty(_BATCH_ID)
        return None if text is None else int(text)

    def _ids(self, following: int) -> Mapping[int | None, int]:
        return {number: number for number in (following - 1, following) if number >= 0}

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Send a micro-batch; one that was begun before is replayed with its own state."""
        self._send(messages, batchId)

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803 - Spark's name
        """Forget the rows; nothing was sent."""
        self._staging.remove()


def _checked(options: Mapping[str, str], schema: StructType, overwrite: bool) -> SourceOptions:
    if overwrite:
        _refuse_mode()
    checked = SourceOptions.read(options)
    check_columns(schema.names, checked.table or "the changefeed")
    return checked


def _refuse_mode() -> NoReturn:
    raise ConfigError(
        "a topic can only be appended to",
        remedy="Use mode('append'), and outputMode('append') for a stream",
        option="mode",
    )


def _staging(options: SourceOptions, name: str) -> Staging:
    """Return where rows are staged: by default beside the state, else in this machine's temporary folder.

    Every user of the machine may write to the latter. So the folder there has a name that nobody can foresee, and is
    refused if it is another user's.
    """
    root, state = options.values.get("stagingUri"), options.running.state_uri
    if root is None and state is None:
        return Staging(Secret(f"{tempfile.gettempdir()}/ticdc-emit-{name}"), is_among_others=True)
    if root is None:
        assert state is not None
        root = f"{state.reveal().rstrip('/')}/staging"
    return Staging(Secret(f"{root.rstrip('/')}/{name}"))
