"""The invariants: rules that every stream of TiCDC's messages obeys, whatever the rows. A rule is a class here and a
line of ``verify.INVARIANTS``; :class:`Stream` is what is known of the topics at the end.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.errors import ClaimCheckError
from ticdc_emit.protocols.avro.decoder import AvroMessage
from ticdc_emit.protocols.decoder import EventReader, read_claim
from ticdc_emit.protocols.events import (
    BootstrapEvent,
    DdlEvent,
    DecodeError,
    Event,
    RowEvent,
    WatermarkEvent,
    as_decode_error,
    table_of,
)


def row_key(event: RowEvent, names: tuple[str, ...]) -> tuple[tuple[str, Any], ...] | None:
    """Return the values of these handle key columns; ``None`` if the message lacks some of them."""
    image: Mapping[str, Any] = event.key or event.after or event.before or {}
    if not names:
        return None
    try:
        return tuple([(name, image[name]) for name in names])
    except KeyError:
        return None


@dataclass(frozen=True)
class Finding:
    """One message, or one partition (``offset`` is ``None``), that breaks an invariant. ``key``: the row's handle key
    as text (``id=1``), "" if unknown. ``stored_at``: a storage sink's file and the row's number (``PATH@3``).
    """

    invariant: str
    text: str
    topic: str
    partition: int
    offset: int | None = None
    table: str = ""
    key: str = ""
    stored_at: str = ""

    @property
    def place(self) -> str:
        """Topic, partition and offset, as ``orders/0@17``, or the place in a folder."""
        return self.stored_at or f"{self.topic}/{self.partition}" + ("" if self.offset is None else f"@{self.offset}")

    def __str__(self) -> str:
        row = " ".join(part for part in (self.table, self.key) if part)
        return f"{self.place} {row + ': ' if row else ''}{self.text} ({self.invariant})"


@dataclass(slots=True)
class Seen:
    """A message that could be read. Do not change it.

    ``key``: names and wire values of the handle key, if known; ``number``: the key's in its partition, or 0;
    ``ident``: the key's in its table; ``names``: its columns.
    ``commit``: TSO, or physical ms if messages have only that. ``content``: a hash without what TiCDC makes new each
    time. ``first``: whether this partition has not had the message before.
    """

    message: Message
    event: Event
    key: tuple[tuple[str, Any], ...] | None = None
    commit: int | None = None
    number: int = 0
    content: int = 0
    first: bool = True
    stored_at: str = ""
    ident: int = 0
    names: tuple[str, ...] = ()

    @property
    def spot(self) -> int | str:
        return self.stored_at or self.message.offset

    @property
    def target(self) -> Target:
        return self.message.topic, self.message.partition

    @property
    def table(self) -> str:
        """``schema.table``, empty for a watermark."""
        return table_of(self.event)

    @property
    def row(self) -> RowEvent | None:
        return self.event if isinstance(self.event, RowEvent) else None

    def finding(self, invariant: str, text: str) -> Finding:
        offset = self.message.offset
        return Finding(invariant, text, *self.target, offset, self.table, key_text(self.key), self.stored_at)


def key_text(key: tuple[tuple[str, Any], ...] | None) -> str:
    return ", ".join(f"{name}={_value_text(value)}" for name, value in key or ())


def _value_text(value: Any) -> str:
    if isinstance(value, bytes):  # a field of CSV; binary data elsewhere
        with suppress(UnicodeDecodeError):
            return value.decode()
    return str(value)


def _shown(spot: int | str) -> str:
    return f"offset {spot}" if isinstance(spot, int) else spot


class Invariant(ABC):
    """A rule that every stream obeys. ``name``: as findings have it."""

    name: ClassVar[str]

    def see(self, seen: Seen) -> Iterable[Finding]:
        """Take the next message of its partition."""
        return ()

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Return findings about the whole stream; no message follows."""
        return ()


@dataclass
class Stream:
    """What is known about the topics. ``partitions``: at the end, how many each has; ``firsts``, ``lasts``: the first
    and last offset seen in each partition; ``gaps``: the offsets before and after messages that are missing.
    """

    partitions: dict[str, int] = field(default_factory=dict)
    firsts: dict[Target, int] = field(default_factory=dict)
    lasts: dict[Target, int] = field(default_factory=dict)
    gaps: list[tuple[Target, int, int]] = field(default_factory=list)

    def take(self, target: Target, offset: int) -> None:
        """Note the offset of the next message of a partition."""
        last = self.lasts.get(target)
        if last is None:
            self.firsts[target] = self.lasts[target] = offset
        elif offset > last:
            if offset > last + 1:
                self.gaps.append((target, last, offset))
            self.lasts[target] = offset

    def targets(self, topic: str) -> Iterator[Target]:
        return ((topic, number) for number in range(self.partitions.get(topic, 0)))

    def begins(self, target: Target) -> bool:
        """Return whether a partition was read from its beginning."""
        return self.firsts.get(target, 0) == 0


class Offsets(Invariant):
    """A partition has a message at every offset from its first one on. Not checked where messages have a key of the
    row, because Kafka may compact such topics.
    """

    name = "offsets"

    def end(self, stream: Stream) -> Iterable[Finding]:
        for (topic, partition), last, offset in stream.gaps:
            yield Finding(self.name, f"no message between offset {last} and this one", topic, partition, offset)


class Checksums(Invariant):
    """Avro, Simple: a row with a checksum matches it, and is not marked as corrupted."""

    name = "checksum"

    def __init__(self, reader: EventReader) -> None:
        self._reader = reader

    def see(self, seen: Seen) -> Iterable[Finding]:
        row = seen.row
        if row is None:
            return
        try:
            self._reader.check(row)
        except DecodeError as fault:
            yield seen.finding(self.name, fault.message)
            return
        if self._reader.is_corrupted(row):
            yield seen.finding(self.name, "TiCDC has marked the row as corrupted")


class KeyColumns(Invariant):
    """A row has its handle key; if the message also has a key (Avro, Debezium), both are equal."""

    name = "key-columns"

    def __init__(self, config: ChangefeedConfig, reader: EventReader) -> None:
        self._reader = reader
        self._compares = config.codec.protocol.spec.registers_schemas

    def see(self, seen: Seen) -> Iterable[Finding]:
        row = seen.row
        if row is None or (seen.key is not None and row.key is None):
            return ()  # the key is of the row itself
        image = row.after if row.after is not None else row.before or {}
        names = seen.names or self._reader.key_names(row)
        missing = [name for name in names if name not in image]
        if missing:
            return (seen.finding(self.name, f"the row lacks columns of its key: {', '.join(missing)}"),)
        if self._compares and row.key is not None:
            other = [name for name in names if image[name] != row.key[name]]
            if other:
                return (seen.finding(self.name, f"key and value differ in {', '.join(other)}"),)
        return ()


class ClaimChecks(Invariant):
    """The object that a message names exists, and has the whole message. ``claims``: returns it by its location."""

    name = "claim-check"

    def __init__(self, config: ChangefeedConfig, reader: EventReader, claims: Callable[[str], bytes]) -> None:
        self._claims = claims
        self._reader = reader
        self._raw = config.codec.large_message_handle.claim_check_raw_value

    def see(self, seen: Seen) -> Iterable[Finding]:
        row = seen.row
        if row is None or row.claim_check is None:
            return
        try:
            stored = read_claim(row.claim_check, self._claims, raw_value=self._raw)
            with as_decode_error:
                whole = self._reader.read(*stored)
        except (ClaimCheckError, DecodeError) as fault:
            yield seen.finding(self.name, f"{row.claim_check}: {fault.message}")
            return
        if not isinstance(whole, RowEvent) or _of(whole) != _of(row) or whole.handle_key_only:
            yield seen.finding(self.name, f"{row.claim_check} holds another message")


def _of(row: RowEvent) -> tuple[object, ...]:
    return row.schema, row.table, row.op, row.commit_ts


class KeyOrder(Invariant):
    """Within a partition, new rows of a key are in commit order; with ``deletes_first``, a DELETE begins its commit.
    Where the first messages are gone, what is older than the key's first row may have been among them.
    """

    name = "key-order"

    def __init__(self, stream: Stream, *, deletes_first: bool) -> None:
        self._stream = stream
        self._deletes_first = deletes_first
        self._newest: dict[int, tuple[int, int | str]] = {}
        self._oldest: dict[int, int] = {}
        self._behind: dict[int, Seen] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        if seen.key is None or seen.commit is None:
            return ()
        known, row = self._newest.get(seen.number), seen.row
        if known is None and not self._stream.begins(seen.target):
            self._oldest[seen.number] = seen.commit
        first = seen.first and seen.commit > self._oldest.get(seen.number, -1)
        if self._deletes_first and first and known and row and row.op == "delete" and known[0] == row.commit_ts:
            return (seen.finding(self.name, f"a DELETE comes after another row of its commit ({_shown(known[1])})"),)
        if known is None or seen.commit >= known[0]:
            self._newest[seen.number] = seen.commit, seen.spot
            self._behind.pop(seen.number, None)
            return ()
        if not first:
            self._behind[seen.number] = seen
            return ()
        return (seen.finding(self.name, f"commit_ts {seen.commit} comes after {known[0]} ({_shown(known[1])})"),)

    def end(self, stream: Stream) -> Iterable[Finding]:
        """Find repetitions that do not continue to the newest change."""
        for number, last in self._behind.items():
            commit, spot = self._newest[number]
            text = f"commit_ts {last.commit} comes again, but {commit} ({_shown(spot)}) does not come after it"
            yield last.finding(self.name, text)


class Duplicates(Invariant):
    """Two messages of the same key, commit and operation have the same content."""

    name = "duplicates"

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int | str]] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        row = seen.row
        if row is None or row.commit_ts is None or seen.key is None:
            return ()
        number = hash((seen.number, row.commit_ts, row.op))
        content, spot = self._known.setdefault(number, (seen.content, seen.spot))
        if content == seen.content:
            return ()
        text = f"the {row.op} of commit_ts {row.commit_ts} is not that of {_shown(spot)}"
        return (seen.finding(self.name, text),)


class Watermarks(Invariant):
    """A watermark is not lower than the previous one, unless it is a repetition; nothing new at or below it follows. If
    a topic has watermarks, each of its partitions has them. Where the first messages of a partition are gone, what is
    not newer than all up to its first watermark may have been among them.
    """

    name = "watermark"

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._highest: dict[Target, tuple[int, int]] = {}
        self._oldest: dict[Target, int] = {}
        self._known: set[tuple[Target, int]] = set()
        self._statements: set[tuple[Target, int | None, str]] = set()

    def see(self, seen: Seen) -> Iterable[Finding]:
        event, target = seen.event, seen.target
        highest, offset = self._highest.get(target, (-1, -1))
        if highest < 0 and event.commit_ts is not None and not self._stream.begins(target):
            self._oldest[target] = max(event.commit_ts, self._oldest.get(target, -1))
        if isinstance(event, WatermarkEvent):
            new = (target, event.commit_ts) not in self._known
            self._known.add((target, event.commit_ts))
            if event.commit_ts > highest:
                self._highest[target] = event.commit_ts, seen.message.offset
            elif new and event.commit_ts > self._oldest.get(target, -1):
                text = f"watermark {event.commit_ts} comes after {highest} (offset {offset})"
                return (seen.finding(self.name, text),)
            return ()
        first = seen.first
        if isinstance(event, DdlEvent):
            statement = target, event.commit_ts, event.query
            first = statement not in self._statements
            self._statements.add(statement)
        if first and event.commit_ts is not None and self._oldest.get(target, -1) < event.commit_ts <= highest:
            text = f"commit_ts {event.commit_ts} is new after watermark {highest} (offset {offset})"
            return (seen.finding(self.name, text),)
        return ()

    def end(self, stream: Stream) -> Iterable[Finding]:
        for topic in sorted({topic for topic, _ in self._highest}):
            for target in stream.targets(topic):
                if target not in self._highest:
                    yield Finding(self.name, "the partition has no watermark, others of the topic do", *target)


_Version = tuple[str, str, int]


class SchemaFirst(Invariant):
    """Simple: DDL or BOOTSTRAP has shown a table's version before the first row of it.

    With ``send-bootstrap-to-all-partition`` this holds in every partition, else somewhere in the topic, or in the
    previous topic of a renamed table. Not checked if a partition's first messages are missing.
    """

    name = "schema-first"

    def __init__(self, *, everywhere: bool) -> None:
        self._everywhere = everywhere
        self._shown: dict[Target, set[_Version]] = {}
        self._stated: set[tuple[str, _Version]] = set()
        self._missing: dict[tuple[Target, _Version], Seen] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        shown = self._shown.setdefault(seen.target, set())
        event = seen.event
        if isinstance(event, BootstrapEvent):
            shown.add((event.schema, event.table, event.version))
        elif isinstance(event, DdlEvent):
            for table in (event.message["tableSchema"], event.message["preTableSchema"]):
                if table is not None:
                    version = table.schema, table.name, table.version
                    shown.add(version)
                    self._stated.add((seen.target[0], version))
        elif seen.row is not None:
            version = seen.row.schema, seen.row.table, seen.row.schema_version or 0
            if version not in shown:
                self._missing.setdefault((seen.target, version), seen)
        return ()

    def end(self, stream: Stream) -> Iterable[Finding]:
        anywhere = {version for shown in self._shown.values() for version in shown}
        for (target, version), seen in self._missing.items():
            moved = any(version == stated for topic, stated in self._stated if topic != target[0])
            if stream.begins(target) and not moved and (self._everywhere or version not in anywhere):
                text = f"no DDL or BOOTSTRAP has shown version {version[2]} of the table before its first row"
                yield seen.finding(self.name, text)


class SchemaIds(Invariant):
    """Avro: the schemas of key and value belong to the same table. (Reading has shown that they exist.)"""

    name = "schema-id"

    def see(self, seen: Seen) -> Iterable[Finding]:
        record = None if seen.row is None else seen.row.message
        if not isinstance(record, AvroMessage) or record.schema is None or record.key_schema is None:
            return
        value, key = (
            f"{schema.get('namespace', '')}.{schema.get('name', '')}" for schema in (record.schema, record.key_schema)
        )
        if value != key:
            yield seen.finding(self.name, f"the value's schema is of {value}, the key's of {key}")


class DdlPartitions(Invariant):
    """A statement is in every partition of its topic; in Canal-JSON only in partition 0."""

    name = "ddl-partitions"

    def __init__(self, config: ChangefeedConfig) -> None:
        self._only_first = not config.codec.protocol.spec.ddl_everywhere
        self._seen: dict[tuple[str, int | None, str], dict[int, Seen]] = {}

    def see(self, seen: Seen) -> Iterable[Finding]:
        event = seen.event
        if not isinstance(event, DdlEvent):
            return ()
        topic, partition = seen.target
        self._seen.setdefault((topic, event.commit_ts, event.query), {}).setdefault(partition, seen)
        if self._only_first and partition:
            return (seen.finding(self.name, f"DDL belongs to partition 0: {event.query:.80}"),)
        return ()

    def end(self, stream: Stream) -> Iterable[Finding]:
        if self._only_first:
            return
        for (topic, commit_ts, query), seen_by_partition in self._seen.items():
            lacking = [
                number
                for target in stream.targets(topic)
                if (number := target[1]) not in seen_by_partition and stream.begins(target)
            ]
            if lacking:
                seen = seen_by_partition[min(seen_by_partition)]
                numbers = ", ".join(map(str, lacking))
                yield seen.finding(
                    self.name, f"the DDL of commit_ts {commit_ts} is not in partition {numbers}: {query:.80}"
                )
