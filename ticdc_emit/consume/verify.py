"""A stream of messages against every invariant. Memory grows with the stream: a hash of every row, about 400 bytes."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, NamedTuple

from ticdc_emit.config import ChangefeedConfig, Protocol, load_changefeed
from ticdc_emit.consume.continuity import Continuity
from ticdc_emit.consume.expected import EXPECTED, ExpectedChanges, SourceTables
from ticdc_emit.consume.invariants import (
    Checksums,
    ClaimChecks,
    DdlPartitions,
    Duplicates,
    Finding,
    Invariant,
    KeyColumns,
    KeyOrder,
    Offsets,
    SchemaFirst,
    SchemaIds,
    Seen,
    Stream,
    Watermarks,
    row_key,
)
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.storage_folder import FILE_NUMBERS, SCHEMA_FILES
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.hints import counted
from ticdc_emit.protocols.avro.schema import DELETE_MARK
from ticdc_emit.protocols.decoder import EventReader, Part
from ticdc_emit.protocols.events import DecodeError, RowEvent, as_decode_error, kind_of
from ticdc_emit.protocols.registered_avro import SchemaSource

READABLE = "readable"
INVARIANTS: Mapping[str, str] = {
    READABLE: "every message can be read",
    KeyOrder.name: "a key's new changes are in commit order, and repetitions continue to the newest one",
    Continuity.name: "each change of a key continues the key's last one: none is missing",
    Offsets.name: "a partition has a message at every offset from its first one on",
    Duplicates.name: "messages of one key, commit and operation have the same content",
    Watermarks.name: "watermarks do not fall, nothing new at or below one comes after it, and all partitions have them",
    SchemaFirst.name: "Simple: DDL or BOOTSTRAP has a table's version before its first row",
    SchemaIds.name: "Avro: the schemas that messages name exist and fit their bytes and table",
    DdlPartitions.name: "a statement is only in partition 0 (Canal-JSON), or in every partition",
    Checksums.name: "Avro, Simple: a row with a checksum matches it",
    KeyColumns.name: "a row has its handle key, equal to the message's key",
    ClaimChecks.name: "the objects that messages name exist (if checked)",
    FILE_NUMBERS: "storage sink: an index file names the newest file of its folder, and all files before it exist",
    EXPECTED: "there are the changes that the senders' reports have (--expect)",
    SourceTables.name: "rows have the keys, columns and labels of the source's tables (--schema)",
    SCHEMA_FILES: "storage sink: a folder with rows has the schema file of its version",
}


class Proof(NamedTuple):
    """What messages have shown, and what they cannot show, each in a few words."""

    proved: tuple[str, ...]
    not_shown: tuple[str, ...]


class Verifier:
    """Checks messages one by one; ``finish()`` returns the findings.

    ``config``: the changefeed, or its sink URI. ``schemas``: Avro schema texts by id; default: the changefeed's
    registry. ``claims``: returns the object of a ``claimCheckLocation``; ``None``: objects are not checked. ``most``:
    how many findings of one invariant are kept. ``watch``: called with each message and each event in it, or ``None``.
    ``empty_source``: the tables had no rows before the first message. ``expected``: what the senders report.
    ``schema``: DDL of the source's tables.

    ``counts``: messages by kind (``row``, ``ddl``, ``watermark``, ``bootstrap``, ``nameless``: a delete of Avro without
    key and value, ``unreadable``), ``found``: the number of findings by invariant.
    """

    def __init__(
        self,
        config: ChangefeedConfig | str,
        *,
        schemas: SchemaSource | None = None,
        claims: Callable[[str], bytes] | None = None,
        most: int = 1000,
        watch: Callable[[Message, Seen | None], object] | None = None,
        empty_source: bool = False,
        expected: ExpectedChanges | None = None,
        schema: str | None = None,
    ) -> None:
        config = load_changefeed(config, own_registry=schemas is not None) if isinstance(config, str) else config
        self._reader = reader_for(config, schemas=schemas)
        self._avro = config.codec.protocol.spec.registers_schemas
        # a DELETE of a table without a primary key then has no key and no value, so it names neither table nor row
        self._has_nameless = config.codec.protocol is Protocol.AVRO and config.release.avro.key_columns == "primary-key"
        self._continuity = Continuity(config, empty_source=empty_source)
        self._source = None if schema is None else SourceTables(config, self._reader, schema)
        own = () if self._source is None else (self._source,)
        self._stream = Stream()
        self._invariants = (*_invariants_of(config, self._reader, claims, self._stream), *own, self._continuity)
        keyed = config.codec.protocol in (Protocol.AVRO, Protocol.DEBEZIUM, Protocol.DEBEZIUM_AVRO)
        self._of_partitions = () if keyed else (Offsets(),)
        self._of_lines = config.sink_uri.scheme == "jsonl"  # its line numbers are not offsets
        self._has_offsets = config.storage is None and not self._of_lines
        self._least = config.kafka.partition_num or 1
        self._rows: set[int] = set()
        self._most = most
        self._watch = watch
        self._expected = expected
        self._findings: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self.found: Counter[str] = Counter()

    def see(self, message: Message) -> None:
        """Take the next message of its partition. Raises :class:`DecodeError` if a schema registry does not answer."""
        topic, partition, offset, key, value = message
        self._stream.take((topic, partition), offset)
        if self._has_nameless and not key and (not value or value[:1] == DELETE_MARK):
            self.counts["nameless"] += 1
            if self._watch is not None:
                self._watch(message, None)
            return
        try:
            with as_decode_error:
                parts = self._reader.parts(key, value)
        except DecodeError as fault:
            self._unreadable(message, fault)
            return
        for key, value in parts:
            self._part(message, key, value)

    def see_all(self, messages: Iterable[Message]) -> None:
        """Take messages one after the other; errors as of :meth:`see`."""
        collects = gc.isenabled()
        gc.disable()  # nothing here makes reference cycles
        try:
            for message in messages:
                self.see(message)
        finally:
            if collects:
                gc.enable()

    @property
    def targets(self) -> Collection[Target]:
        """The topic-partitions with messages."""
        return self._stream.firsts.keys()

    def finish(self, partitions: Mapping[str, int] | int | None = None) -> list[Finding]:
        """Return all findings by topic, partition and offset. ``partitions``: the partition count of each topic by
        name, or one for all; default: those with messages, which always count, and the changefeed's ``partition-num``.
        """
        least, given = (partitions, {}) if isinstance(partitions, int) else (self._least, partitions or {})
        counts = self._stream.partitions = dict(given)
        for topic, partition in self._stream.firsts:
            counts[topic] = max(counts.get(topic, least), partition + 1)
        for invariant in (*self._invariants, *self._of_partitions):
            self.add(invariant.end(self._stream))
        if self._expected is not None:
            self.add(self._expected.findings(nameless=self.counts["nameless"]))
        return sorted(self._findings, key=_position)

    def proof(self) -> Proof:
        """Return what :meth:`finish` has shown beside the findings, and what these messages cannot show."""
        proved, stream = list(self._continuity.proved()), self._stream
        whole = sum(map(stream.begins, stream.firsts)) if self._has_offsets else 0
        if whole and not stream.gaps:
            proved.append(f"{counted(whole, 'partition')} with all messages from offset 0 on")
        limits = [
            f"messages of {topic}/{number} before offset {first:,}: they are gone"
            for (topic, number), first in sorted(stream.firsts.items())
            if first
        ]
        if stream.gaps:
            limits.append("messages at some offsets: they are gone, or were never there")
        if self._of_lines and stream.firsts:
            limits.append("whether lines of the files are missing: they have no offsets")
        if nameless := self.counts["nameless"]:
            limits.append(f"which rows {counted(nameless, 'DELETE')} of tables without a primary key are of")
        compared = self._expected is not None and not self._expected.limits
        limits += self._continuity.limits(ends_known=compared)
        if self._source is not None:
            limits += self._source.limits
        if self._expected is not None:
            proved += self._expected.proved
            limits += self._expected.limits
        return Proof(tuple(proved), tuple(limits))

    def _part(self, message: Message, key: bytes | None, value: bytes | None) -> None:
        try:
            with as_decode_error:
                event = self._reader.read(key, value)
                if isinstance(event, RowEvent):
                    content = hash(self._reader.content(event, key, value))
                    kind, seen = "row", self._row(message, event, content, (key, value))
                else:
                    kind, seen = kind_of(event), Seen(message, event)
                seen.stored_at = self._reader.stored_at(message.key)
        except DecodeError as fault:
            self._unreadable(message, fault)
            return
        self.counts[kind] += 1
        if self._watch is not None:
            self._watch(message, seen)
        for invariant in self._invariants:
            if findings := invariant.see(seen):
                self.add(findings)

    def _row(self, message: Message, event: RowEvent, content: int, part: Part) -> Seen:
        names = self._reader.key_names(event)
        if not names and self._source is not None:
            names = self._source.key_names(event)
        key = row_key(event, names)
        table = message.topic, message.partition, event.schema, event.table
        whole = hash((table, content))
        first = whole not in self._rows
        self._rows.add(whole)
        if self._expected is not None:
            self._expected.see(event, message.topic, part, whole, first=first, keyed=key is not None)
        commit = event.commit_ts if event.commit_ts is not None else event.commit_ms
        if key is None:
            return Seen(message, event, key, commit, 0, content, first)
        text = repr(key)  # because Python hashes -1 and -2 alike
        ident = hash((event.schema, event.table, text))
        return Seen(message, event, key, commit, hash((table, text)), content, first, "", ident, names)

    def _unreadable(self, message: Message, fault: DecodeError) -> None:
        context: dict[str, Any] = fault.context
        if "registry" in context and context.get("status") != 404:
            raise fault
        self.counts["unreadable"] += 1
        if self._watch is not None:
            self._watch(message, None)
        name = SchemaIds.name if self._avro and "schema_id" in context else READABLE
        where = f" in the {context['part']}" if "part" in context else ""
        number = f", schema id {context['schema_id']}" if "schema_id" in context else ""
        text = f"{fault.message}{where}{number}"
        stored_at = self._reader.stored_at(message.key)
        self.add([Finding(name, text, message.topic, message.partition, message.offset, stored_at=stored_at)])

    def add(self, findings: Iterable[Finding]) -> None:
        """Take findings, also about files (:func:`~ticdc_emit.consume.storage_folder.folder_findings`)."""
        for finding in findings:
            self.found[finding.invariant] += 1
            if self.found[finding.invariant] <= self._most:
                self._findings.append(finding)


def _invariants_of(
    config: ChangefeedConfig, reader: EventReader, claims: Callable[[str], bytes] | None, stream: Stream
) -> tuple[Invariant, ...]:
    invariants: list[Invariant] = [
        KeyOrder(stream, deletes_first=config.release.transactions.split_order == "by-kind"),
        Duplicates(),
        Watermarks(stream),
        DdlPartitions(config),
        KeyColumns(config, reader),
    ]
    if config.bootstrap_enabled:
        invariants.append(SchemaFirst(everywhere=config.send_bootstrap_to_all_partition))
    if config.codec.protocol.spec.registers_schemas:
        invariants.append(SchemaIds())
    if config.codec.protocol.spec.row_checksums:
        invariants.append(Checksums(reader))
    if claims is not None:
        invariants.append(ClaimChecks(config, reader, claims))
    return tuple(invariants)


def verify(
    messages: Iterable[Message],
    config: ChangefeedConfig | str,
    *,
    schemas: SchemaSource | None = None,
    claims: Callable[[str], bytes] | None = None,
    partitions: Mapping[str, int] | int | None = None,
) -> list[Finding]:
    """Check messages against every invariant and return the findings. Arguments: as of :class:`Verifier`."""
    verifier = Verifier(config, schemas=schemas, claims=claims)
    verifier.see_all(messages)
    return verifier.finish(partitions)


def _position(finding: Finding) -> tuple[str, int, float, str]:
    offset = float("inf") if finding.offset is None else finding.offset
    return finding.topic, finding.partition, offset, finding.invariant
