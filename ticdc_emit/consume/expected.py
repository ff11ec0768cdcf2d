"""Whether messages are those that their senders report, and whether they fit the tables of their source.

:class:`ExpectedChanges`: of each table there are as many, with the same digest if it has one.
In: reports as JSON (``RunReport.save``, a command's ``--json``) and row messages; out: findings. Digests are of bytes
(``ticdc_emit.delivery.message_digest``), so each protocol is compared in its own form. What comes again is left out:
row messages with the same content in one partition, as of ``Verifier``. Their bytes may differ, for a batch that is
sent again draws new names of claim checks, and without a state has a new build time: the first ones or the last ones
are the report's. Where content has no commit_ts, or the row no key, equal messages may also be changes of their own:
then the report must fit all messages, or it is said that it cannot be compared.

:class:`SourceTables`: their keys, columns, and the labels of ENUM and SET, where messages show numbers. Tables that a
statement in the messages names are not compared: they have changed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.consume.invariants import Finding, Invariant, Seen, Stream
from ticdc_emit.delivery.message_digest import MODULUS, message_digest
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import counted
from ticdc_emit.protocols.decoder import EventReader, Part
from ticdc_emit.protocols.events import DdlEvent, DecodeError, RowEvent
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.protocols.open_protocol.schema import VERSION
from ticdc_emit.schema.catalog import catalog_from_sql

EXPECTED = "expected"


@dataclass
class _Rows:
    """Messages of a table. ``ops``: of the first copies; ``first``, ``last``, ``all``: sums of digests of the first
    and the last copies, and of all; ``alike``: whether equal messages may be several changes.
    """

    topic: str = ""
    ops: Counter[str] = field(default_factory=Counter)
    copies: int = 0
    first: int = 0
    last: int = 0
    all: int = 0
    alike: bool = False

    def fits(self, count: int, digest: int | None) -> bool:
        new = self.ops.total()
        forms = ((new, self.first), (new, self.last), (new + self.copies, self.all))
        return any(rows == count and (digest is None or (whole - digest) % MODULUS == 0) for rows, whole in forms)


class ExpectedChanges:
    """``reports``: the reports of all runs that have sent the messages, each as of ``RunReport.to_dict``. ``whole``:
    whether all topics are read. Once there are :meth:`findings`, ``proved`` and ``limits`` say what was compared and
    what could not be. Raises :class:`LookupError` for a report without ``changes``.
    """

    def __init__(
        self, config: ChangefeedConfig, reports: Iterable[Mapping[str, Any]], *, name: str = "", whole: bool = True
    ) -> None:
        protocol = config.codec.protocol
        self._name = name or "the report"
        self._whole = whole
        self._clean = protocol is Protocol.AVRO
        stored = config.storage is not None
        self._end = config.codec.terminator.encode() if stored and protocol is not Protocol.CSV else b""
        # of a storage sink, keys are places in files; of Open Protocol, the version is the record's, not the row's
        self._key_start = None if stored else len(VERSION) if protocol is Protocol.OPEN else 0
        self._pairs = protocol is Protocol.CSV and config.codec.csv.output_old_value
        self._old = b"", 0, False
        self._ops: dict[str, Counter[str]] = {}
        self._digests: dict[str, int | None] = {}
        self._discarded: set[str] = set()
        self._rows: dict[str, _Rows] = {}
        self._digest_of: dict[int, int] = {}
        self.proved: list[str] = []
        self.limits: list[str] = []
        batches = newest = 0
        for report in reports:
            for table, counts in report["changes"].items():
                own = self._shown(table)
                ops = {op: count for op, count in counts.items() if op != "digest"}
                self._ops.setdefault(own, Counter()).update(ops)
                before, text = self._digests.get(own, 0), counts.get("digest")
                self._digests[own] = None if before is None or text is None else before + int(text, 16)
            self._discarded |= {self._shown(table) for table in report["discarded"]}
            newest = max(newest, 1 + (report.get("batch_id", report.get("last_batch_id")) or 0))
            batches += report.get("batches", 1)
        self._begins_late = batches < newest

    @classmethod
    def read(cls, config: ChangefeedConfig, paths: Iterable[Path], *, whole: bool = True) -> ExpectedChanges:
        """Read reports: of each file the last line. Raises :class:`~ticdc_emit.errors.ConfigError`."""
        reports = []
        for path in (paths := list(paths)):
            try:
                reports.append(json.loads(path.read_text(encoding="utf-8").rstrip().rpartition("\n")[2]))
                cls(config, reports[-1:])
            except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
                raise ConfigError(
                    f"the file is not the report of a sender: {type(fault).__name__}: {fault}",
                    remedy="Give what generate, replay, sql or emit print with --json, or a file of RunReport.save",
                    option="expect",
                    path=str(path),
                ) from None
        return cls(config, reports, name=", ".join(path.name for path in paths), whole=whole)

    def see(self, event: RowEvent, topic: str, part: Part, content: int, *, first: bool, keyed: bool) -> None:
        """Take a row's message, or its part of one. ``content``: what says whether it comes again."""
        key = None if self._key_start is None else (part[0] or b"")[self._key_start :]
        value, op = (part[1] or b"") + self._end, event.op
        if self._pairs and event.message.is_update:  # two lines of CSV: the row before and after it
            if op == "delete":
                self._old = value, content, first
                return
            (before, old, was_first), self._old = self._old, (b"", 0, False)
            value, content, first, op = before + value, hash((old, content)), first or was_first, "update"
        digest = message_digest(key, value)
        rows = self._rows.setdefault(f"{event.schema}.{event.table}", _Rows(topic))
        rows.alike |= event.commit_ts is None or not keyed
        if first:
            rows.ops[op] += 1
            rows.first += digest
            rows.last += digest
        else:
            rows.copies += 1
            rows.last += digest - self._digest_of.get(content, 0)
        rows.all += digest
        self._digest_of[content] = digest

    def findings(self, *, nameless: int = 0) -> Iterator[Finding]:
        """Yield how tables differ from the reports. No message follows. ``nameless``: deletes of any table."""
        digested: list[int] = []
        only_counted: list[int] = []
        for table in sorted({*self._ops, *self._rows}):
            wanted, rows = self._ops.get(table, Counter[str]()), self._rows.get(table, _Rows())
            count, new = wanted.total(), rows.ops.total()
            digest = self._digests.get(table, 0)
            if rows.fits(count, digest):
                (only_counted if digest is None else digested).append(count)
            elif why := self._unknown(table, rows, count, new, nameless):
                self.limits.append(f"whether {table} has all changes of {self._name}: {why}")
            else:
                sent, here = (
                    ", ".join(counted(each, op) for op, each in sorted(ops.items())) or "none"
                    for ops in (wanted, rows.ops)
                )
                text = "messages are not those that were sent"
                if count > new:
                    text = f"{counted(count - new, 'change')} of {count:,} missing"
                elif count < new:
                    text = f"{counted(new - count, 'change')} more than were sent"
                text += f": sent were {sent}, here are {here}"
                yield Finding(EXPECTED, text, rows.topic, 0, None, table, stored_at=self._name)
        for proved, how in ((digested, "those of"), (only_counted, "as many as in")):
            if proved:
                changes, tables = counted(sum(proved), "change"), counted(len(proved), "table")
                self.proved.append(f"{changes} of {tables} are {how} {self._name}")
        if only_counted:
            self.limits.append(
                f"whether the messages of {counted(len(only_counted), 'table')} are those of {self._name}, which has no"
                " digest of them: run the sender with --json, in Python with message_digests=True"
            )

    def _unknown(self, table: str, rows: _Rows, count: int, new: int, nameless: int) -> str:
        """Return why a table that differs from the reports need not be wrong, "" if it is."""
        if table in self._discarded:
            return "the storage sink has discarded some"
        if 0 < self._ops.get(table, Counter[str]())["delete"] - rows.ops["delete"] == count - new <= nameless:
            return "its deletes may be those without key and value"
        if not new and not self._whole:
            return "these topics have none of it"
        if new == count and rows.first != rows.last:
            return "some came again in other bytes, so only their number is that of the report"
        if rows.alike and new < count < new + rows.copies:
            return "equal messages may be repetitions, or changes of their own"
        if new > count and self._begins_late:
            return "earlier runs of the same state have sent more: give their reports, too"
        return ""

    def _shown(self, table: str) -> str:
        return ".".join(map(sanitize, table.split(".", 1))) if self._clean else table


class SourceTables(Invariant):
    """``schema``: DDL of the tables. Raises the errors of :func:`~ticdc_emit.schema.catalog.catalog_from_sql`."""

    name = "schema"

    def __init__(self, config: ChangefeedConfig, reader: EventReader, schema: str) -> None:
        from ticdc_emit.routing.table_routes import TableRoutes  # here, as readers do without

        catalog = catalog_from_sql(schema, time_zone=config.time_zone)
        TableRoutes.of(config).rename(catalog)
        self._shown = sanitize if config.codec.protocol.spec.registers_schemas else str
        names = self._shown
        self._tables = {(names(each.schema), names(each.name)): each for each in catalog.tables()}
        self._reader = reader
        self._statements: list[str] = []
        self._findings: dict[str, list[Finding]] = {}
        self.limits: list[str] = []

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the handle key of a row's table, for messages that do not show it; () if it has none."""
        table = self._tables.get((event.schema, event.table))
        return () if table is None else tuple(map(self._shown, table.handle_key_names))

    def see(self, seen: Seen) -> Iterable[Finding]:
        if isinstance(seen.event, DdlEvent):
            self._statements.append(f"{seen.event.table} {seen.event.query}".lower())
        elif seen.row is not None and (text := self._problem(seen.row)):
            self._findings.setdefault(seen.row.table.lower(), []).append(seen.finding(self.name, text))
        return ()

    def _problem(self, row: RowEvent) -> str:
        table = self._tables.get((row.schema, row.table))
        if table is None:
            return ""
        names, stored = self._reader.key_names(row), {column.name for column in table.row_columns}
        keys = [stored.intersection(index.columns) for index in table.indexes if index.unique or index.primary]
        keys += [{*table.handle_key_names}] if table.handle_key_names else []
        if names and not any({*names}.issuperset(map(self._shown, key)) for key in keys):
            handle = ", ".join(table.handle_key_names) or "none"
            return f"the key ({', '.join(names)}) holds no key of the schema, where it is ({handle})"
        try:
            image = self._reader.text(row, table).after or {}
        except DecodeError as fault:
            return f"{fault.context.get('field', 'the row')} does not fit the schema: {fault.message}"
        strange = sorted({*image}.difference(column.name for column in table.columns))
        return f"the schema has no column {', '.join(strange)}" if strange else ""

    def end(self, stream: Stream) -> Iterable[Finding]:
        for table, findings in self._findings.items():
            if any(table in statement for statement in self._statements):
                rows = counted(len(findings), "row")
                self.limits.append(f"whether {rows} of {table} fit the schema: a statement has changed the table")
            else:
                yield from findings
