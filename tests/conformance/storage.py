"""Cases of the storage sink: every write of a case, in its order, with its path and bytes.

In: a vector file whose variants have ``writes`` (``tests/vectors/storage/README.md``). The rows of a transaction are
encoded as those of other cases (:mod:`.produce`); ``ticdc_emit.storage.files`` puts them into files of a folder in
memory. Events of the kind ``control`` are what TiCDC takes from its surroundings. Out: a check for each write
of either side, for each refused configuration, and for the files that are left at the end.

Schema files that are written one after the other in the same event are of different tables, and TiCDC writes these in
any order; here they are compared in the order of their paths.

Configurations that TiCDC refuses for the times of its clean-up job are left out: the library has no such job.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

from ticdc_emit.changes.codec import HeadedRows
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage.files import FileRules, StorageFiles, TableRows, checkpoint_file
from ticdc_emit.storage.folder import MemoryFolder
from ticdc_emit.storage.paths import METADATA, SchemaFile

from .compare import byte_diff
from .encoded_rows import encode_rows
from .history import CaseHistory
from .produce import CaseChanges, PlannedChanges, load_variant, refusal
from .report import Mismatch, Report
from .vectors import Case, SinkConfig, read_document, sink_inputs

_CLEAN_UP = "the times of the clean-up job, which this version does not have"
_START = datetime.fromisoformat("2024-05-06T07:08:09+00:00")


class Written(NamedTuple):
    """One write, or the ``error`` at which TiCDC's changefeed stops. ``digest``: of a content that is not recorded."""

    path: str = ""
    content: bytes | None = None
    digest: str | None = None
    error: str | None = None

    @property
    def is_schema(self) -> bool:
        return self.error is None and SchemaFile.parse(self.path) is not None


@dataclass(frozen=True)
class StorageVariant(SinkConfig):
    """One sink of a case. ``writes``: by event index; ``files``: what is in the folder at the end."""

    writes: Mapping[int, Sequence[Written]]
    files: Sequence[str]


def is_storage(document: object) -> bool:
    """Return whether a document is a case of the storage sink."""
    if not isinstance(document, Mapping):
        return False
    return any("writes" in variant or "files" in variant for variant in document.get("variants") or ())


def as_recorded(case: Case) -> Case:
    """Return a case whose tables had the version before a DDL that the DDL before made. The recorder set only that
    after a DDL to its commit_ts.
    """
    versions: dict[int, int] = {}
    events = []
    for event in case.events:
        before, after = event.get("pre_table_info"), event.get("table_info")
        if before and before["table_id"] in versions:
            event = {**event, "pre_table_info": {**before, "version": versions[before["table_id"]]}}
        if after:
            versions[after["table_id"]] = after["version"]
        events.append(event)
    return replace(case, events=tuple(events), variants=())


def read_storage_variants(path: Path) -> list[StorageVariant]:
    """Return the variants of a file."""
    variants = []
    for entry in read_document(path)["variants"]:
        writes: dict[int, list[Written]] = {}
        for write in entry.get("writes") or ():
            writes.setdefault(write["event"], []).append(_written(write))
        variants.append(StorageVariant(*sink_inputs(entry), writes, entry.get("files") or ()))
    return variants


def _written(write: Mapping[str, Any]) -> Written:
    fault = write.get("error") or write.get("panic")
    if fault:
        return Written(error=fault)
    if "sha256" in write:
        return Written(write["path"], digest=f"{write['size']} bytes, SHA-256 {write['sha256']}")
    if "base64" in write:
        return Written(write["path"], base64.b64decode(write["base64"]))
    return Written(write["path"], None if write.get("deleted") else write["text"].encode())


def run_storage(
    case: Case, variants: Iterable[StorageVariant], report: Report, asked: Callable[[SinkConfig], bool]
) -> None:
    """Run every variant that ``asked`` accepts."""
    changes = CaseChanges(case, CaseHistory(case))
    for variant in filter(asked, variants):
        _Run(changes, variant, report).run()


class _Run:
    """Runs one variant."""

    def __init__(self, changes: CaseChanges, variant: StorageVariant, report: Report) -> None:
        self._changes = changes
        self._case = changes.case
        self._variant = variant
        self._report = report
        self._protocol = "storage"

    def run(self) -> None:
        refused = self._variant.config_error
        # next finds an unknown protocol, or bad times of the clean-up job, when its sink runs
        first = self._variant.writes.get(0, ())
        refused = refused or next((write.error for write in first if write.error), None)
        if refused is not None and "file-cleanup-cron-spec" in (self._variant.changefeed or ""):
            self._report.leave_out(_CLEAN_UP, variants=1, events=len(self._case.events))
            return
        try:
            config = load_variant(self._case, self._variant)
        except Exception as fault:
            outcome = refusal(fault)
            detail = f"the library crashed: {outcome.error}" if outcome.crashed else None
            if refused is None:
                detail = f"the library refuses this configuration: {outcome.error}"
            self._check(None, detail)
            return
        self._protocol = f"{config.codec.protocol}, files"
        if refused is not None:
            self._check(None, f"TiCDC refuses this configuration ({refused}), the library accepts it")
            return
        sink = _Sink(self._changes, config)
        for index in range(len(self._case.events)):
            expected = self._variant.writes.get(index, ())
            try:
                got: list[Written] = sink.take(index)
            except Exception as fault:
                got = [Written(error=refusal(fault).error)]
            for left, right in zip_longest(_in_order(expected), _in_order(got)):
                self._check(index, _difference(left, right))
            if any(write.error for write in (*expected, *got)):
                break
        present = sorted(sink.folder.contents)
        self._check(None, None if present == list(self._variant.files) else f"other files at the end: {present}")

    def _check(self, event: int | None, detail: str | None) -> None:
        mismatch = None
        if detail is not None:
            what = "configuration or files" if event is None else self._case.events[event]["kind"]
            mismatch = Mismatch(self._case.name, self._variant.id, self._protocol, event, what, detail)
        self._report.check(self._protocol, self._variant.id, mismatch)


class _RunningFiles(StorageFiles):
    """What TiCDC's sink also does while it runs: the versions of rows, DDL and checkpoints, which a changefeed of the
    library knows by its plan and gives to the folder as they are.
    """

    def __init__(self, config: ChangefeedConfig, folder: MemoryFolder, start_ts: int, now: datetime) -> None:
        super().__init__(FileRules.of(config), folder, now=now, dispatchers=lambda number: f"{number}7")
        self._start_ts, self._is_classic = start_ts, config.release.storage.newer_schemas == "used"
        self._last_ddl: dict[int, int] = {}
        self._checkpoint, self._checkpoint_at = 0, now

    def version(self, info: TableInfo) -> int:
        return max(info.version if self._is_classic else self._last_ddl.get(info.id, 0), self._start_ts)

    def ddl(self, event: DdlEvent) -> None:
        infos = (event.table_info, event.pre_table_info, *event.others)
        ids = {info.id for info in infos if info is not None}
        self._write_rows(
            [
                key
                for key, pending in self._pending.items()
                if self._is_classic or pending.table.id in ids or (not event.table and key.schema == event.schema)
            ]
        )
        self._last_ddl.update(dict.fromkeys(ids, event.commit_ts))
        for definition, folder in self._rules.definitions(event):
            self._folder.write(definition.file.path(folder), definition.content())

    def checkpoint(self, ts: int) -> None:
        is_lower = ts < self._checkpoint and not self._is_classic
        if not is_lower and self.now - self._checkpoint_at >= timedelta(seconds=2):
            self._checkpoint, self._checkpoint_at = ts, self.now
            self._folder.write(METADATA, checkpoint_file(ts))


class _Sink:
    """The library's sink of one variant, driven by the events of the case."""

    def __init__(self, changes: CaseChanges, config: ChangefeedConfig) -> None:
        self.folder = MemoryFolder()
        self._case = changes.case
        self._history = changes.history
        self._config = config
        self._planned = PlannedChanges(changes, config, 1)
        self._routes = TableRoutes.of(config)
        self._now = _START
        self._last_ts = 0
        self._files = self._started(0)

    def _started(self, start_ts: int) -> _RunningFiles:
        return _RunningFiles(self._config, self.folder, start_ts, self._now)

    def take(self, index: int) -> list[Written]:
        """Handle an event; return what was written. Raises what the library raises."""
        event = self._case.events[index]
        known = len(self.folder.writes)
        self._handle(index, event)
        self._last_ts = event.get("commit_ts", self._last_ts)
        return [Written(write.path, write.content) for write in self.folder.writes[known:]]

    def _handle(self, index: int, event: Mapping[str, Any]) -> None:
        match event["kind"]:
            case "txn":
                for rows in self._rows(index):
                    self._files.rows(rows)
            case "ddl":
                ddl = self._history.ddl[index]
                if not isinstance(ddl, DdlEvent):
                    raise ddl
                self._files.ddl(self._routes.event(ddl))
            case "watermark":
                self._files.checkpoint(event["ts"])
            case "control":
                self._control(event)
            case "skipped":
                pass  # a row of a table that is not replicated
            case kind:
                raise ValueError(f"{kind} is not an event of a storage case")

    def _control(self, event: Mapping[str, Any]) -> None:
        if "clock" in event:
            self._now = self._files.now = _moment(event["clock"])
        elif "flush" in event:
            self._files.flush()
        elif "restart" in event:
            given = event["restart"]
            self._files = self._started(int(given["start_ts"]) if isinstance(given, Mapping) else self._last_ts)
        else:
            (pattern,) = (event[name] for name in ("remove", "truncate") if name in event)
            for path in self.folder.files(""):
                if _matches(path, pattern):
                    if "remove" in event:
                        del self.folder.contents[path]
                    else:
                        self.folder.contents[path] = b""

    def _rows(self, index: int) -> Iterator[TableRows]:
        """Yield the rows of a transaction by partition, each encoded."""
        plan, table, batch = self._planned.of_event(index)
        if batch.num_rows == 0:
            return
        values = encode_rows(batch, table, plan).encoded.whole().values.to_pylist()
        encoder = table.encoder_at(self._case.events[index]["commit_ts"])
        header = encoder.header if isinstance(encoder, HeadedRows) else b""
        own = encoder.table.id
        ids = batch.column("physical_table_id").to_pylist() if "physical_table_id" in batch.schema.names else []
        by_partition: dict[int, list[bytes]] = {}
        for number, value in zip_longest(ids, values):
            by_partition.setdefault(own if number is None else number, []).append(value)
        for number, parts in by_partition.items():
            yield TableRows(encoder.table, number, b"".join(parts), self._files.version(encoder.table), header)


def _moment(text: str) -> datetime:
    seconds, _, fraction = text.removesuffix("Z").partition(".")
    return datetime.fromisoformat(f"{seconds}.{fraction:0<6}+00:00")


def _matches(path: str, pattern: str) -> bool:
    """Return whether a glob matches a path; ``*`` does not cross ``/``."""
    names, patterns = path.split("/"), pattern.split("/")
    return len(names) == len(patterns) and all(map(fnmatchcase, names, patterns))


def _in_order(writes: Iterable[Written]) -> list[Written]:
    """Return writes with the schema files that follow each other in the order of their paths."""
    ordered: list[Written] = []
    for is_schema, run in groupby(writes, key=lambda write: write.is_schema):
        held = list(run)
        ordered += sorted(held, key=lambda write: write.path) if is_schema else held
    return ordered


def _difference(expected: Written | None, got: Written | None) -> str | None:
    if expected is None or got is None:
        side = "only the library" if expected is None else "only TiCDC"
        write = expected or got
        return f"{side} writes {write.path or write.error}"
    if expected.error or got.error:
        if expected.error and got.error:
            return None
        return f"expected {expected.error or expected.path}, got {got.error or got.path}"
    if expected.path != got.path:
        return f"path: got {got.path!r}, expected {expected.path!r}"
    if expected.digest is not None and got.content is not None:
        digest = f"{len(got.content)} bytes, SHA-256 {hashlib.sha256(got.content).hexdigest()}"
        return None if digest == expected.digest else f"{got.path}: got {digest}, expected {expected.digest}"
    if expected.content != got.content:
        return f"{got.path}: {byte_diff(expected.content, got.content, 'content')}"
    return None
