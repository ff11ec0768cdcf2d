"""``format("ticdc")``: row changes sent by ``df.write`` and ``df.writeStream`` (docs/rows.md).

Executors stage chunks of messages (rows, if DDL is among them) in a folder that they share with the driver
(:class:`Staging`), which runs the changefeed at the commit: nothing is sent before every task has succeeded. Spark
pickles a batch writer twice: first for executors, without the options, which may hold secrets, then for the process
that commits. Errors name the documented option, but no value that may be secret.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import socket
import sys
import tempfile
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from ticdc_emit.changes.arrow_input import check_columns
from ticdc_emit.config import ChangefeedConfig, Secret, load_changefeed, mask_uri
from ticdc_emit.config.load import LoadOptions
from ticdc_emit.config.secrets import foreign_text, hide, hides_arguments, uri_secrets
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.delivery.temporary import OpenFile, own_folder
from ticdc_emit.errors import ConfigError, DeliveryError, StateError, TicdcEmitError, UnsupportedTypeError, importing
from ticdc_emit.hints import did_you_mean
from ticdc_emit.pipeline.batch import Batch, EncodedBatch, Encoding, typed_table
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.encode.chunks import CHUNK_SCHEMA
from ticdc_emit.pipeline.encode.error_json import unreadable
from ticdc_emit.pipeline.options import FLAG, TEXT, RunOptions, TextForm
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.pipeline.state_store import open_state_store
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning, schema_of_changes
from ticdc_emit.spark.batch import check_changes
from ticdc_emit.spark.frames import variants
from ticdc_emit.spark.worker import with_offsets

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


_LIBRDKAFKA = "librdkafka."
_OF_SPARK = frozenset({"checkpointlocation", "queryname"})
_FLAGS = ("integrity", "force_replicate", "strict")


def _camel_case(argument: str) -> str:
    first, *others = argument.split("_")
    return first + "".join(map(str.capitalize, others))


_RUNNING = {_camel_case(argument): argument for argument in RunOptions.text_forms()}
_LOADING = {_camel_case(argument): argument for argument in LoadOptions.__annotations__}
_KNOWN: dict[str, TextForm] = {
    "sinkUri": TEXT,
    "schema": TEXT,
    "schemaPath": TEXT,
    "changefeed": TEXT,
    "table": TEXT,
    "keys": TextForm(lambda text: tuple(name.strip() for name in text.split(",")), "names with commas"),
    "ddl": TextForm(
        lambda text: list(map(tuple, json.loads(text))),
        "a JSON list of [commit_ts, statement] or [commit_ts, statement, schema]",
    ),
    **{_camel_case(argument): form for argument, form in RunOptions.text_forms().items()},
    "stagingUri": TEXT,
    **{name: FLAG if argument in _FLAGS else TEXT for name, argument in _LOADING.items()},
}
_BY_LOWER = {name.lower(): name for name in _KNOWN}


@dataclass(frozen=True, repr=False)
class SourceOptions:
    """Checked options; ``values`` by their documented names; ``table``: ``schema.name`` of rows in the typed form."""

    values: Mapping[str, Any]
    librdkafka: Mapping[str, str]
    config: ChangefeedConfig
    running: RunOptions
    table: str | None

    @classmethod
    def read(cls, options: Mapping[str, str]) -> SourceOptions:
        """Check names and values, and load the changefeed's configuration."""
        values: dict[str, Any] = {}
        librdkafka: dict[str, str] = {}
        for given, text in options.items():
            lowered = given.lower()
            if lowered.startswith(_LIBRDKAFKA):
                librdkafka[lowered[len(_LIBRDKAFKA) :]] = text
            elif lowered not in _OF_SPARK:
                if lowered not in _BY_LOWER:
                    known = f"{did_you_mean(given, _KNOWN)}Known are {', '.join(_KNOWN)} and {_LIBRDKAFKA}*"
                    raise ConfigError(f"the option {given!r} is unknown", remedy=known, option=given)
                name = _BY_LOWER[lowered]
                values[name] = _parse_option(name, text)
        if "sinkUri" not in values:
            raise ConfigError("the sink has no sinkUri", remedy="Give option('sinkUri', ...)", option="sinkUri")
        if "schema" in values and "schemaPath" in values:
            raise ConfigError(
                "schema and schemaPath both give the tables", remedy="Leave out one of them", option="schema"
            )
        if "keys" in values and ("schema" in values or "schemaPath" in values):
            raise ConfigError("keys is for a table without a schema", remedy="Leave it out", option="keys")
        loading = {argument: values[name] for name, argument in _LOADING.items() if name in values}
        config = load_changefeed(values["sinkUri"], values.get("changefeed"), **loading)
        if config.sink_uri.scheme in ("memory", "stdout"):
            raise ConfigError(
                f"{config.sink_uri.scheme}:// would keep the messages in a process that ends with the write",
                remedy="Use kafka:// or jsonl://",
                option="sinkUri",
            )
        return cls(values, librdkafka, config, _run_options(values), values.get("table"))

    def assumed_schema(self, rows: StructType) -> str | None:
        """Return the CREATE TABLE of typed rows without a schema; warn of it before the first batch of a stream."""
        if "schema" in self.values or "schemaPath" in self.values:
            return None
        state = self.running.state_uri
        goes_on = state is not None and open_state_store(state.reveal()).newest() is not None
        with warnings.catch_warnings():
            if goes_on:
                warnings.simplefilter("ignore", AssumedSchemaWarning)
            keys = self.values.get("keys", ())
            return schema_of_changes({self.table: rows}, keys, keyless=self.config.force_replicate)

    def changefeed(self) -> Changefeed:
        """Make the changefeed: read the schema, and get the topics from the sink."""
        return Changefeed(
            self.config,
            sink_for(self.config, self.librdkafka or None),
            self._schema(),
            table=self.table,
            ddl=self.values.get("ddl", ()),
            options=self.running,
        )

    def _schema(self) -> str:
        if "schema" in self.values:
            return str(self.values["schema"])
        import fsspec

        try:
            with fsspec.open(self.values["schemaPath"], "rt", encoding="utf-8") as file:
                return str(file.read())
        except (OSError, ValueError) as fault:
            raise ConfigError(
                f"the schema cannot be read: {type(fault).__name__}",
                remedy="Name a file with CREATE TABLE statements that the driver can read",
                option="schemaPath",
            ) from None


def _run_options(values: Mapping[str, Any]) -> RunOptions:
    try:
        return RunOptions(**{argument: values[name] for name, argument in _RUNNING.items() if name in values})
    except ConfigError as error:
        argument = error.context["option"]
        name = _camel_case(argument)
        raise ConfigError(
            error.message.replace(argument, name), remedy=error.remedy.replace(argument, name), option=name
        ) from None


def _parse_option(name: str, text: str) -> Any:
    form = _KNOWN[name]
    try:
        return form.parse(text)
    except (ValueError, KeyError, TypeError):
        raise ConfigError(f"the option {name} is not {form.what}", remedy=f"Give {form.what}", option=name) from None


@dataclass(frozen=True)
class StagedFile:
    """One attempt's rows: the file's name in the folder (``None`` without rows), and the host that wrote it."""

    name: str | None
    host: str


@dataclass(frozen=True)
class Staging:
    """The folder of one write, at an fsspec URI that the executors and the driver both reach.

    ``is_among_others``: every user may write where it is; then it is refused unless it is this user's own.
    """

    folder: Secret[str]  # it may contain a login
    is_among_others: bool = False

    @hides_arguments
    def write(self, batches: Iterable[pa.RecordBatch]) -> StagedFile:
        """Write the rows of a task's attempt; ``TemporaryFileError`` for a folder that is not this user's own."""
        name = f"{uuid.uuid4().hex}.arrow"
        rows = (batch for batch in batches if batch.num_rows)
        first = next(rows, None)
        if first is None:
            return StagedFile(None, socket.gethostname())
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        with ExitStack() as files:
            with _storage(self.folder, "written"):
                open_file = files.enter_context(self.opened(creates=True))
                file = files.enter_context(open_file(name, "wb"))
                writer = files.enter_context(pa.ipc.new_file(file, first.schema, options=options))
            for batch in chain([first], rows):
                with _storage(self.folder, "written"):
                    writer.write_batch(batch)
            with _storage(self.folder, "written"):
                files.close()
        return StagedFile(name, socket.gethostname())

    @hides_arguments
    def read(self, staged: Sequence[StagedFile], schema: pa.Schema | None = None) -> StagedBatches:
        """Return the rows of these files; ``DeliveryError`` for one that cannot be seen from here."""
        names = []
        for each in staged:
            if each.name is None:
                continue
            with _storage(self.folder, "read"):
                try:
                    with self.opened() as open_file, open_file(each.name, "rb"):
                        names.append(each.name)
                except FileNotFoundError:
                    raise DeliveryError(
                        "the driver cannot see rows that an executor staged",
                        remedy="Set stagingUri to a folder that executors and driver share",
                        executor=each.host,
                        driver=socket.gethostname(),
                    ) from None
        return StagedBatches(self, tuple(names), schema)

    @hides_arguments
    def remove(self) -> None:
        with _storage(self.folder, "removed"), suppress(FileNotFoundError):
            fs, root = self._located()
            if _is_local(fs):
                with self.opened():  # another user's folder stays
                    shutil.rmtree(root)
            else:
                fs.rm(root, recursive=True)

    @contextmanager
    def opened(self, *, creates: bool = False) -> Iterator[OpenFile]:
        """Give a function that opens files of the folder."""
        fs, root = self._located()
        if _is_local(fs):
            with own_folder(root, creates=creates, refuses_others=self.is_among_others) as open_file:
                yield open_file
            return
        if creates:
            fs.makedirs(root, exist_ok=True)
        yield lambda name, mode: fs.open(f"{root}/{name}", mode)

    def _located(self) -> tuple[Any, str]:
        with importing("the data source stages rows by fsspec", extra="state", package="fsspec"):
            import fsspec
        located: tuple[Any, str] = fsspec.core.url_to_fs(self.folder.reveal())
        return located


@dataclass(frozen=True)
class StagedBatches:
    """Record batches of staged files; can be iterated again. Raises ``DeliveryError`` for another ``schema``."""

    staging: Staging
    names: tuple[str, ...]
    schema: pa.Schema | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        folder = self.staging.folder
        for name in self.names:
            with ExitStack() as files:
                with _storage(folder, "read"):
                    open_file = files.enter_context(self.staging.opened())
                    file = files.enter_context(open_file(name, "rb"))
                    reader = files.enter_context(pa.ipc.open_file(file))
                if self.schema is not None and reader.schema != self.schema:
                    raise unreadable("a staged file has other columns than chunks of messages")
                for number in range(reader.num_record_batches):
                    with _storage(folder, "read"):
                        batch = reader.get_batch(number)
                    yield batch


def _is_local(fs: Any) -> bool:
    protocol = getattr(fs, "protocol", ())
    return "file" in ((protocol,) if isinstance(protocol, str) else protocol)


@contextmanager
def _storage(folder: Secret[str], what: str) -> Iterator[None]:
    try:
        yield
    except TicdcEmitError:
        raise
    except Exception as error:
        shown = foreign_text(hide(str(error), uri_secrets(folder.reveal())))
        raise DeliveryError(
            f"staged rows cannot be {what}: {type(error).__name__}: {shown}",
            remedy="Check stagingUri, and that this machine can use it",
        ) from None


_BATCH_ID = "streaming.sql.batchId"  # a property of Spark's tasks in every release that streams
_Encodings = dict[int | None, Encoding | None]


def _forget_empty_profiles() -> None:
    """Send no empty profiles, at which clients of Spark Connect that follow events fail (SPARK-59135)."""
    from pyspark import accumulators

    monitoring = getattr(sys, "monitoring", None)
    tool = None if monitoring is None else monitoring.get_tool(monitoring.PROFILER_ID)
    if tool is None and sys.getprofile() is None and sys.gettrace() is None:
        registry = getattr(accumulators, "_accumulatorRegistry", {})
        for name in ("SQL_UDF_PROFIER", "SQL_UDF_PROFIER_V2"):
            registry.pop(getattr(accumulators.SpecialAccumulatorIds, name, None), None)


class TicdcDataSource(DataSource):
    """Writes row changes as TiCDC would; docs/rows.md lists the options."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        _forget_empty_profiles()

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
        texts, options = _checked_options(self.options, schema, overwrite)
        outline = options.changefeed().outline  # a wrong table schema is refused before the rows are staged
        if "query" not in schema.names:  # DDL rows may change the tables
            check_changes(schema, typed_table(schema.names, options.table, outline), outline)
        return _BatchWriter(texts, _staging_folder(options, f"batch-{uuid.uuid4().hex}"), schema.names)

    def streamWriter(self, schema: StructType, overwrite: bool) -> _StreamWriter:  # noqa: N802 - Spark's name
        """Return the writer of one micro-batch, or of its commit."""
        texts, options = _checked_options(self.options, schema, overwrite)
        state_uri = options.running.state_uri
        if state_uri is None:
            raise ConfigError(
                "a stream needs a stateUri: Spark commits each micro-batch in a new process",
                remedy="Give a folder that outlives the driver, beside checkpointLocation",
                option="stateUri",
            )
        # the same name in every process of a query, so that files of a lost driver are removed too
        name = hashlib.sha256(mask_uri(state_uri.reveal()).encode()).hexdigest()[:16]
        return _StreamWriter(texts, _staging_folder(options, f"stream-{name}"), schema.names)


@dataclass(frozen=True)
class _StagedRows(WriterCommitMessage):
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
        if self._refused is not None:
            raise self._refused
        assert self._encodings is not None
        encoding = self._encodings.get(self._batch_id())
        batches = map(with_offsets, iterator)
        if encoding is None:
            return _StagedRows(self._staging.write(batches))
        return _StagedRows(self._staging.write(encoding.encode(batches)), (encoding.state, encoding.encode.table))

    def _batch_id(self) -> int | None:
        return None

    def _ids(self, following: int) -> Mapping[int | None, int]:
        """Return the key of a batch that :meth:`_batch_id` may return; ``following``: of the next batch."""
        return {None: following}

    def _for_executors(self) -> dict[str, Any]:
        """Return the writer as executors get it; topics exist and schemas are registered from now on."""
        if self._encodings is None and self._refused is None:
            try:
                self._encodings = self._batch_encodings()
            except TicdcEmitError as error:
                self._refused = error
        known = {"_staging": self._staging, "_options": None, "_columns": self._columns}
        return {**known, "_encodings": self._encodings, "_refused": self._refused}

    def _batch_encodings(self) -> _Encodings:
        assert self._options is not None
        if "query" in self._columns:
            return {}
        options = SourceOptions.read(self._options.reveal())
        with closing(options.changefeed()) as feed:
            table = typed_table(self._columns, options.table, feed.outline)
            ids = self._ids(feed.next_batch_id())
            return {key: feed.encoding(number, table) for key, number in ids.items()}

    def _send(self, messages: list[WriterCommitMessage | None], batch_id: int | None) -> RunReport:
        """Send the staged files named by the messages, without an id as the last of all batches; remove them."""
        _forget_empty_profiles()
        assert self._options is not None
        try:
            options = SourceOptions.read(self._options.reveal())
            batch = self._batch([each for each in messages if isinstance(each, _StagedRows)], options.table)
            with closing(options.changefeed()) as feed:
                if batch_id is None:
                    return feed.run(batch, feed.next_batch_id(), final=True)
                return feed.run(batch, batch_id, final=False)
        finally:
            self._staging.remove()

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int = 0) -> None:  # noqa: N803 - Spark's name
        """Forget the rows; nothing was sent."""
        self._staging.remove()

    def _batch(self, staged: Sequence[_StagedRows], table: str | None) -> Batch:
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


def _checked_options(
    options: Mapping[str, str], schema: StructType, overwrite: bool
) -> tuple[Mapping[str, str], SourceOptions]:
    if overwrite:
        raise ConfigError(
            "a topic can only be appended to",
            remedy="Use mode('append'), and outputMode('append') for a stream",
            option="mode",
        )
    checked = SourceOptions.read(options)
    check_columns(schema.names, checked.table or "the changefeed")
    for image, name in variants(schema):  # only the DataFrame's owner can have Spark convert them
        raise UnsupportedTypeError(
            'the column is VARIANT, which format("ticdc") does not take, as TicdcSink does',
            remedy=f"Convert it first: df.withColumn('{image}', F.col('{image}').withField('{name}', "
            f"F.to_json('{image}.{name}')))",
            column=name,
        )
    assumed = checked.assumed_schema(schema)
    if assumed is None:
        return options, checked
    texts = {name: text for name, text in options.items() if name.lower() != "keys"} | {"schema": assumed}
    return texts, SourceOptions.read(texts)


def _staging_folder(options: SourceOptions, name: str) -> Staging:
    """Return where rows are staged; in a folder of all users, under a name that nobody can foresee."""
    root, state = options.values.get("stagingUri"), options.running.state_uri
    if root is None and state is not None:
        root = f"{state.reveal().rstrip('/')}/staging"
    if root is None:
        return Staging(Secret(f"{tempfile.gettempdir()}/ticdc-emit-{name}"), is_among_others=True)
    return Staging(Secret(f"{root.rstrip('/')}/{name}"))
