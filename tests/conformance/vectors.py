"""Golden vector files: found, read, and as records. ``README.md`` describes the format.

In: files and folders (``.json``, ``.json.gz``, ``.json.zst``: one case or sequence each; ``.jsonl`` and so on: one DDL
text per line). Out: :class:`Case` with its events as recorded; per :class:`Variant` (one sink) the output of TiCDC's
encoder for each event (messages, nothing, or a refusal), and per :class:`Route` (one dispatcher configuration) the
target of each event.
"""

from __future__ import annotations

import base64
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from ticdc_emit.config import CLASSIC, RELEASES, Protocol, Release, SinkUri
from ticdc_emit.config.binding import UriParameters
from ticdc_emit.config.document import Section
from ticdc_emit.config.document import read_document as read_changefeed
from ticdc_emit.errors import ConfigError, TicdcEmitError

SUFFIXES = (".json", ".json.gz", ".json.zst", ".jsonl", ".jsonl.gz", ".jsonl.zst")
TEXT_SUFFIXES = SUFFIXES[3:]


class VectorError(TicdcEmitError, ValueError):
    """``path`` has no vectors, or is not a vector file."""


def find_vectors(paths: Iterable[Path]) -> list[Path]:
    """Return the vector files of files and folders (searched to any depth, in order of their names).

    Raises :class:`VectorError` for a path that does not exist or a folder without any vector file.
    """
    vectors: list[Path] = []
    for path in paths:
        if path.is_dir():
            files = sorted(file for file in path.rglob("*.json*") if file.name.endswith(SUFFIXES) and file.is_file())
        elif path.exists():
            files = [path]
        else:
            files = []
        if not files:
            cause = "the folder holds no .json, .json.gz or .json.zst file, nor .jsonl"
            cause = cause if path.is_dir() else "no such file or folder"
            raise VectorError(cause, remedy="Give a vector file, or a folder of them", path=str(path))
        vectors += files
    return vectors


def vector_name(path: Path) -> str:
    """Return the name of a vector file's case: the file name without its suffixes."""
    endings = (suffix for suffix in reversed(SUFFIXES) if path.name.endswith(suffix))
    return path.name.removesuffix(next(endings, path.suffix))


def holds_texts(path: Path) -> bool:
    """Whether a file has DDL texts, one document per line, and not a case."""
    return path.name.endswith(TEXT_SUFFIXES)


def read_lines(path: Path) -> list[Any]:
    """Return the documents of one file of DDL texts; :class:`VectorError` if it cannot be read or parsed."""
    return [_parsed(line, path) for line in _read(path).splitlines() if line.strip()]


def read_document(path: Path) -> Any:
    """Return the JSON document of one file; :class:`VectorError` if it cannot be read, decompressed or parsed."""
    return _parsed(_read(path), path)


def _read(path: Path) -> bytes:
    with vector_file(path), pa.input_stream(str(path), compression="detect") as stream:
        data: bytes = stream.read()
    return data


def _parsed(data: bytes, path: Path) -> Any:
    with vector_file(path):
        return json.loads(data)


@contextmanager
def vector_file(path: Path) -> Iterator[None]:
    """Whatever goes wrong with the content of a file is a :class:`VectorError`."""
    try:
        yield
    except TicdcEmitError:
        raise
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError, pa.ArrowException) as fault:
        raise VectorError(
            f"not a vector file: {type(fault).__name__}: {fault}",
            remedy="Give a file as in tests/vectors",
            path=str(path),
        ) from fault


DML_KINDS = frozenset({"row", "txn"})
"""Event kinds whose null key means a key of zero length on Kafka. For all others it means Kafka's null."""


class Record(NamedTuple):
    """Key and value of one message, and the object stored for its claim check.

    ``error``: why this row of a transaction has no message.
    """

    key: bytes | None
    value: bytes | None
    claim: bytes | None = None
    error: str | None = None


class Target(NamedTuple):
    """The target of one row or DDL; a DDL has no partition here. ``error``: why there is no partition.

    ``panic``: TiCDC crashed, so any error is right.
    """

    topic: str | None
    partition: int | None = None
    error: str | None = None
    panic: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of one event: messages (none if the protocol sends nothing), or the text of a refusal.

    ``crashed``: the error is not a deliberate one; one of TiCDC stands for all rows of a transaction. ``left_out``: why
    messages that TiCDC wrote with the header ``borrowed`` are not compared.
    """

    records: tuple[Record, ...] = ()
    error: str | None = None
    crashed: bool = False
    left_out: str | None = None
    borrowed: bytes = b""


@dataclass(frozen=True)
class SinkConfig:
    """TiCDC's two inputs for one sink, and why it refuses them, if it does."""

    id: str
    sink_uri: str
    changefeed: str | None
    config_error: str | None


@dataclass(frozen=True)
class Variant(SinkConfig):
    """One sink of a case. ``expected`` is by event index, ``None`` if the file holds no messages to compare with.

    ``registrations``: every schema POST in order, as recorded; ``None`` for a sink without a registry.
    """

    expected: Mapping[int, Outcome] | None
    registrations: Sequence[Mapping[str, Any]] | None = None


@dataclass(frozen=True)
class Route(SinkConfig):
    """One dispatcher configuration of a case; every topic has ``partitions`` partitions.

    ``expected``: the targets by event index, in the order of the rows; ``None`` if the file holds none.
    """

    partitions: int
    expected: Mapping[int, tuple[Target, ...]] | None


@dataclass(frozen=True)
class LeftOutSlots:
    """Slots of one file that show the recorder and not TiCDC: of these ``variants``, or routes, (patterns) the
    ``events``, or all.
    """

    variants: Sequence[str]
    events: frozenset[int] | None
    reason: str

    def covers(self, variant: str, event: int | None) -> bool:
        """Return whether this is one of the slots; ``event`` is ``None`` for the whole variant."""
        named = any(fnmatchcase(variant, pattern) for pattern in self.variants)
        return named and (self.events is None or event in self.events)


@dataclass(frozen=True)
class Case:
    """One vector file. ``now_ms`` is the wall clock of its messages, in ms since the epoch; events are as recorded.

    ``registry_reject``: the schema registry refused every schema text that contains this. ``left_out``: the slots of
    which a mismatch does not count.
    """

    name: str
    release: Release
    time_zone: str
    now_ms: int
    cluster_id: str
    integrity: bool | None
    force_replicate: bool | None
    events: Sequence[Mapping[str, Any]]
    variants: Sequence[Variant]
    routes: Sequence[Route] = ()
    registry_reject: str | None = None
    left_out: Sequence[LeftOutSlots] = ()

    def reason_to_leave_out(self, variant: str, event: int | None) -> str | None:
        """Return why a mismatch of this slot does not count, with the name of the case; ``None`` if it does."""
        reasons = (slots.reason for slots in self.left_out if slots.covers(variant, event))
        return next((f"{self.name} of {self.release.name}: {reason}" for reason in reasons), None)


def release_of(path: Path, release: str | Release | None = None) -> Release:
    """Return ``release``, by default the one that a folder of the file is named after (``next``, ``next-v8.5.7``), else
    classic. ``classic-base`` and ``next-base`` are of the lineages themselves.
    """
    if release is not None:
        return Release.parse(release)
    names = (re.sub("-v(?=[0-9])", "-", folder.name).removesuffix("-base") for folder in path.resolve().parents)
    return next((RELEASES[name] for name in names if name in RELEASES), CLASSIC)


_LEFT_OUT = Path(__file__).with_name("left_out.toml")


def left_out_of(path: Path, events: Sequence[Mapping[str, Any]]) -> tuple[LeftOutSlots, ...]:
    """Return what ``left_out.toml`` lists for a file with these events, by the end of its path."""
    file = path.resolve().with_name(vector_name(path))
    entries = [entry for entry in _listed() if any(file.match(pattern) for pattern in entry["files"])]
    return tuple(
        LeftOutSlots(entry.get("variants", ["*"]), _slots_of(entry, events), entry["reason"]) for entry in entries
    )


def _slots_of(entry: Mapping[str, Any], events: Iterable[Mapping[str, Any]]) -> frozenset[int] | None:
    if "columns" in entry:
        return frozenset(_rows_with(entry["columns"], events))
    return frozenset(entry["events"]) if "events" in entry else None


def _rows_with(patterns: Sequence[str], events: Iterable[Mapping[str, Any]]) -> Iterator[int]:
    """Yield the events with rows of tables that have a column of such a type."""
    having: dict[tuple[str, str], bool] = {}
    for index, event in enumerate(events):
        place = event.get("schema", ""), event.get("table", "")
        if event["kind"] == "ddl" and (info := event.get("table_info")):
            types = [column["sql_type"] for column in info["columns"] or ()]
            having[place] = any(fnmatchcase(kind, pattern) for kind in types for pattern in patterns)
        elif event["kind"] in DML_KINDS and having.get(place):
            yield index


@cache
def _listed() -> Sequence[Mapping[str, Any]]:
    return tomllib.loads(_LEFT_OUT.read_text(encoding="utf-8"))["slots"]


def read_case(path: Path, release: str | Release | None = None) -> Case:
    """Read one vector file; :class:`VectorError` if it is not one.

    ``release``: the one whose bytes the file holds; by default as :func:`release_of` finds it.
    """
    data = read_document(path)
    with vector_file(path):
        events = tuple(map(_event, data.get("events") or ()))
        return Case(
            name=data.get("name", vector_name(path)),
            release=release_of(path, release),
            time_zone=data["timezone"],
            now_ms=data["now_ms"],
            cluster_id=data.get("cluster_id", "default"),
            integrity=data.get("integrity"),
            force_replicate=data.get("force_replicate"),
            events=events,
            variants=tuple(read_variant(entry) for entry in data.get("variants") or ()),
            routes=tuple(_route(entry) for entry in data.get("routes") or ()),
            registry_reject=data.get("registry_reject") or None,
            left_out=left_out_of(path, events),
        )


def _event(event: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an event whose empty list of rows is one; Go writes null."""
    return {**event, "rows": event.get("rows") or []} if event["kind"] == "txn" else event


def sink_inputs(entry: Mapping[str, Any]) -> tuple[str, str, str | None, str | None]:
    """Return the fields of a :class:`SinkConfig`."""
    return entry["id"], entry["sink_uri"], entry.get("changefeed"), entry.get("config_error")


def read_variant(entry: Mapping[str, Any]) -> Variant:
    expected = _expected(entry["messages"] or ()) if "messages" in entry else None
    return Variant(*sink_inputs(entry), expected, entry.get("registrations"))


def _route(entry: Mapping[str, Any]) -> Route:
    expected = _expected_targets(entry["targets"] or ()) if "targets" in entry else None
    return Route(*sink_inputs(entry), entry["partitions"], expected)


def _expected(messages: Sequence[Mapping[str, Any]]) -> dict[int, Outcome]:
    by_event: dict[int, list[Record]] = {}
    crashes = {message["event"] for message in messages if message.get("panic")}
    for message in messages:
        records = by_event.setdefault(message["event"], [])
        refusal = message.get("error") or message.get("panic")
        if refusal:
            records.append(Record(None, None, error=refusal))
        elif not message.get("none"):
            claim = content_of(message.get("claim"))
            records.append(Record(content_of(message["key"]), content_of(message["value"]), claim))
    return {
        index: Outcome(error=records[0].error, crashed=index in crashes)
        if len(records) == 1 and records[0].error
        else Outcome(tuple(records))
        for index, records in by_event.items()
    }


def _expected_targets(targets: Iterable[Mapping[str, Any]]) -> dict[int, tuple[Target, ...]]:
    by_event: dict[int, tuple[Target, ...]] = {}
    for target in targets:
        error, panic = target.get("error"), target.get("panic")
        shown = Target(target["topic"], target.get("partition"), error or panic, panic=bool(panic))
        by_event[target["event"]] = (*by_event.get(target["event"], ()), shown)
    return by_event


def content_of(given: Mapping[str, str] | None) -> bytes | None:
    """Return a key or value of a case: text, or base64 where it is not UTF-8; ``None`` for a tombstone."""
    if given is None:
        return None
    return base64.b64decode(given["base64"]) if "base64" in given else given["text"].encode()


def sink_protocol(sink: SinkConfig) -> tuple[Protocol | None, str]:
    """Return the protocol and the encoding that the URI names, else those of the changefeed; ``json`` by default."""
    try:
        in_uri = UriParameters(SinkUri.parse(sink.sink_uri))
        in_file = read_changefeed(sink.changefeed).table("sink") or Section({}, "sink")
        codec = (in_file.table("kafka-config") or Section({}, "")).table("codec-config") or Section({}, "")
        encoding = in_uri.text("encoding-format") or codec.text("encoding-format") or "json"
        return Protocol.parse(in_uri.text("protocol") or in_file.text("protocol") or ""), encoding
    except ConfigError:
        return None, ""


def is_written(sink: SinkConfig) -> bool:
    """Return whether this library writes the sink's protocol."""
    protocol, _ = sink_protocol(sink)
    return protocol is not None and protocol.spec.is_written
