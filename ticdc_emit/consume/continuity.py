"""Whether the changes of each key continue one another, so that none is missing: the row before a change is the row
after the key's last one, and only a key that is there is updated, deleted, or not inserted.

Changes are put in order by commit_ts, so redelivery and keys in several partitions do not matter. Those that continue
one another are one :class:`_Run`: the memory is a hash of every column of every key, not of every change. What the
messages cannot show is left out, never guessed: see :meth:`Continuity.limits`.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

from ticdc_emit.config import ChangefeedConfig, Protocol
from ticdc_emit.consume.invariants import Finding, Invariant, Seen, Stream, key_text
from ticdc_emit.consume.reference_consumer import commit_of
from ticdc_emit.delivery.base import Target
from ticdc_emit.hints import counted
from ticdc_emit.protocols.events import DdlEvent, Image, RowEvent, WatermarkEvent
from ticdc_emit.tso import LOGICAL_BITS


class _Layout(NamedTuple):
    """The columns of images; ``tag``: of one version, if no DDL is seen; ``pack`` makes bytes of hashes."""

    tag: Any
    names: tuple[str, ...]
    pack: struct.Struct


class _Hashes(NamedTuple):
    """An image: the hash of all its values, and that of each."""

    layout: _Layout
    whole: int
    each: bytes


_Moment: TypeAlias = "tuple[int, int]"
"""The commit_ts, and 1 for an INSERT: a key that comes again within a transaction is deleted first."""
_MS = (1 << LOGICAL_BITS) - 1
"""How far apart two commits of the same millisecond may be."""


@dataclass(slots=True)
class _Run:
    """Changes of one key, each of which continues the last one. ``op``, ``before`` and ``place`` are the first's."""

    start: _Moment
    op: str
    before: _Hashes | None
    place: tuple[Any, ...]
    end: _Moment
    after: _Hashes | None
    gone: bool
    known: bool = True


@dataclass
class _Table:
    """``keys``: the columns of handle keys so far, () for a row without one."""

    runs: dict[int, tuple[_Run, ...]] = field(default_factory=dict)
    keys: set[tuple[str, ...]] = field(default_factory=set)


@dataclass(frozen=True)
class _Statement:
    """``kind``: ``create``, ``empty``: no row stays, ``soft``: rows keep columns that it does not name, or ``hard``."""

    commit: int
    kind: str
    text: str

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset(_WORD.findall(self.text))

    def names(self, name: str) -> bool:
        """Return whether a table or column may be meant."""
        name = name.lower()
        return name in self._words if _WORD.fullmatch(name) else name.replace("`", "``") in self.text


_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"/\*.*?\*/|^\s*(?:--|#).*?$", re.DOTALL | re.MULTILINE)
_CREATE = re.compile(r"create (?:\w+ )?table\b")
_KEEPS_ALL = re.compile(
    r"create .*|drop index .*|(?:alter|drop) (?:view|sequence|placement|resource)\b.*|alter (?:database|schema)\b.*"
    r"|alter table \S+ (?:add (?:unique )?(?:index|key)\b[^,(]*\([^()]*\)|(?:drop|rename) index\b[^,]*)"
)
_MOVES_ROWS = re.compile(r"\bpartition|\bexchange\b|\btruncate\b|\brename (?!column\b|index\b|key\b)")
_DATABASE = re.compile(r"\w+ (?:database|schema)\b")
_CHANGES_TEXTS = re.compile(r"\bconvert\b|\bcharset\b|\bcharacter set\b|\bcollate\b")


def _kind(text: str) -> str:
    if _KEEPS_ALL.fullmatch(text):
        return "create" if _CREATE.match(text) else ""
    soft = text.startswith("alter table ") and not _MOVES_ROWS.search(text)
    return "soft" if soft else "empty" if text.startswith("truncate ") else "hard"


def unprovable(config: ChangefeedConfig) -> str:
    """Return why changes of a changefeed need not continue one another, "" if they must."""
    if config.bdr_mode:
        return "with bdr-mode, changes of the other cluster are not sent"
    if config.filter.event_filters or config.filter.ignore_txn_start_ts:
        return "[filter] leaves out single changes"
    if config.codec.only_output_updated_columns and config.release.open_protocol.before_values == "raw":
        return "old values of this release are not always those of the row"
    for rule in config.dispatchers:
        target = (rule.target_schema or "{schema}") + (rule.target_table or "{table}")
        if "{schema}" not in target or "{table}" not in target:
            return "target-schema and target-table may join tables"
    return ""


class Continuity(Invariant):
    """Each change of a key continues the key's last one. ``empty_source``: the tables had no rows before the first
    message. ``links``: how many changes were found to continue another, ``births``: how many INSERTs begin a key of a
    table whose beginning is known. ``started``: of how many keys other changes come first.
    """

    name = "continuity"

    def __init__(self, config: ChangefeedConfig, *, empty_source: bool = False) -> None:
        self._reason = unprovable(config)
        self._sees_ddl = config.codec.sends_ddl and config.storage is None
        self._empty = empty_source and self._sees_ddl
        self._shows_ddl = self._sees_ddl or config.storage is not None
        self._wanders = any(rule.partition == "ts" for rule in config.dispatchers)
        self._tables: dict[tuple[str, str], _Table] = {}
        self._layouts: dict[tuple[Any, ...], _Layout] = {}
        self._newest: _Layout | None = None
        self._ddl: dict[tuple[int, str], tuple[DdlEvent, _Statement]] = {}
        self._marks: dict[Target, int] = {}
        self._fuzz = 0
        self._tells_inserts = self._shows_ddl and config.codec.protocol is not Protocol.OPEN
        self._untimed = 0
        self._late: list[Target] = []
        self._unclear: list[Finding] = []
        self.links = self.births = self.started = 0

    def see(self, seen: Seen) -> Iterable[Finding]:
        if isinstance(seen.event, RowEvent):
            if seen.first and not self._reason:
                self._row(seen, seen.event)
        elif isinstance(seen.event, DdlEvent):
            commit = commit_of(seen.event)
            text = " ".join(_COMMENT.sub(" ", seen.event.query).lower().split())
            if commit is not None and (kind := _kind(text)):
                self._ddl[commit, text] = seen.event, _Statement(commit, kind, text)
        elif isinstance(seen.event, WatermarkEvent):
            self._marks.setdefault(seen.target, seen.event.commit_ts)
        return ()

    def _row(self, seen: Seen, row: RowEvent) -> None:
        table = self._tables.get((row.schema, row.table))
        if table is None:
            table = self._tables[row.schema, row.table] = _Table()
        commit, key = row.commit_ts, seen.key
        if commit is None and row.commit_ms is not None:
            commit = row.commit_ms << LOGICAL_BITS
        table.keys.add(seen.names)
        if key is None:
            return
        if commit is None:
            self._untimed += 1
            return
        if row.commit_ts is None:
            self._fuzz = _MS
        after = None if row.after is None else self._hashes(row, row.after)
        if row.op == "update":
            old = row.before or {}
            for name, value in key:
                if old.get(name, value) != value:  # an update that was not split
                    former = tuple((name, old.get(name, value)) for name, value in key)
                    number = hash((row.schema, row.table, repr(former)))
                    self._add(table, number, (commit, 0), "delete", None, seen)
                    self._add(table, seen.ident, (commit, 1), "insert", after, seen)
                    return
        self._add(table, seen.ident, (commit, row.op == "insert"), row.op, after, seen)

    def _hashes(self, row: RowEvent, image: Image) -> _Hashes | None:
        if row.handle_key_only:
            return None
        names, layout = tuple(image), self._newest
        tag = None if self._sees_ddl else row.schema_version or names
        if layout is None or layout.names != names or layout.tag != tag:
            layout = self._layouts.get((tag, names))
            if layout is None:
                layout = self._layouts[tag, names] = _Layout(tag, names, struct.Struct(f"{len(image)}q"))
            self._newest = layout
        values = tuple(image.values())
        try:
            whole = hash(values)
        except TypeError:
            values = tuple(map(repr, values))
            whole = hash(values)
        return _Hashes(layout, whole, layout.pack.pack(*map(hash, values)))

    def _continues(self, last: _Run, op: str, row: RowEvent) -> bool:
        if last.gone or op == "insert":
            return last.gone and op == "insert"
        after, image = last.after, row.before
        if after is None or image is None:
            return True
        if after.layout.names == tuple(image) and self._sees_ddl:
            with suppress(TypeError):
                if hash(tuple(image.values())) == after.whole:
                    return True
        return not _differing(after, self._hashes(row, image))

    def _add(self, table: _Table, number: int, at: _Moment, op: str, after: _Hashes | None, seen: Seen) -> None:
        runs, row = table.runs.get(number), seen.row
        assert row is not None
        topic, partition, offset, _, _ = seen.message
        if runs is not None:
            last = runs[-1]
            self._wanders = self._wanders or last.place[1] != partition
            if self._follows(at, last.end) and self._continues(last, op, row):
                last.end, last.after, last.gone = at, after, op == "delete"
                self.links += 1
                return
        before = None if row.before is None or op == "insert" else self._hashes(row, row.before)
        run = _Run(at, op, before, (topic, partition, offset, seen.key, seen.stored_at), at, after, op == "delete")
        table.runs[number] = (run,) if runs is None else (*runs, run)

    def _follows(self, at: _Moment, end: _Moment) -> bool:
        return at[0] > end[0] + self._fuzz if self._fuzz else at > end

    # -- at the end ----------------------------------------------------------------------------------------------

    def end(self, stream: Stream) -> Iterator[Finding]:
        self._late = [target for target, first in stream.firsts.items() if first > 0]
        if self._late and self._wanders:
            return
        since = -1.0  # no statement after it is missing
        if self._sees_ddl:
            since = max((self._marks.get(target, math.inf) for target in self._late), default=since)
        for (schema, name), table in self._tables.items():
            if len(table.keys) == 1 and table.runs:
                (key,) = table.keys
                check = _Check(self._statements(schema, name, key), since, self._fuzz)
                check.find_births(table, empty=self._empty and not self._late)
                for runs in table.runs.values():
                    if len(runs) == 1 and not check.births:
                        self.started += 1
                        continue
                    found = self._of_key(f"{schema}.{name}", sorted(runs, key=lambda each: each.start), check)
                    if self._shows_ddl:
                        yield from found
                    else:
                        self._unclear += found

    def _statements(self, schema: str, name: str, key: tuple[str, ...]) -> list[_Statement]:
        found = []
        for event, statement in self._ddl.values():
            own = (event.schema, event.table) == (schema, name)
            if statement.kind == "soft" and own and any(map(statement.names, key)):
                statement = _Statement(statement.commit, "hard", "")
            named = statement.names(schema if _DATABASE.match(statement.text) else name)
            if own or (statement.kind == "hard" and named):
                found.append(statement)
        return sorted(found, key=lambda each: each.commit)

    def _of_key(self, name: str, runs: list[_Run], check: _Check) -> Iterator[Finding]:
        last: _Run | None = None
        for place, run in enumerate(runs, 1):
            if last is not None and not self._follows(run.start, last.end):
                last = run if run.end > last.end else last
                last.known = not self._fuzz  # of one millisecond: nobody knows which is the last one
                continue
            alone = not self._fuzz or place == len(runs) or self._follows(runs[place].start, run.start)
            text, checked = self._problem(check, last, run) if alone else ("", False)
            if text:
                topic, partition, offset, key, stored_at = run.place
                yield Finding(self.name, text, topic, partition, offset, name, key_text(key), stored_at)
            elif last is None:
                self.births += checked
                self.started += not checked
            else:
                self.links += checked
            last = run

    def _problem(self, check: _Check, last: _Run | None, run: _Run) -> tuple[str, bool]:
        """Return what is wrong with a run after the last one of its key, and whether it could be wrong."""
        since = -1 if last is None else last.end[0]
        between = check.between(since, run.start[0])
        if last is None or any(each.kind != "soft" for each in between):
            if not check.began(since, run.start[0]):
                return "", False
            wrong = f"the key's first change is {_article(run.op)}, though its table was empty"
            return "" if run.op == "insert" else wrong, True
        if not last.known or since <= check.known_from:
            return "", False
        if run.op == "insert":
            if last.gone or not self._tells_inserts:
                return "", last.gone
            return f"an INSERT of a key that is there since commit_ts {since}", True
        if last.gone:
            return f"{_article(run.op)} of a key that is gone since commit_ts {since}", True
        other = _differing(last.after, run.before, between)
        if other:
            names = ", ".join(other[:3]) + (", …" if len(other) > 3 else "")
            return f"the row before it is not the row after commit_ts {since}, in {names}", True
        return "", last.after is not None and run.before is not None

    # -- what is shown, and what cannot be -----------------------------------------------------------------------

    def proved(self) -> Iterator[str]:
        """Yield what the changes have shown, after :meth:`end`."""
        if self.links:
            yield f"{counted(self.links, 'change')} that continue the last one of their key"
        if self.births:
            yield f"{counted(self.births, 'INSERT')} that begin a key, in tables that were empty"

    def limits(self, *, ends_known: bool = False) -> Iterator[str]:
        """Yield what could not be checked, after :meth:`end`. ``ends_known``: whether no last change is missing."""
        if self._reason:
            yield f"whether changes are missing: {self._reason}"
            return
        if self._untimed:
            yield f"whether changes are missing: {counted(self._untimed, 'row')} without a commit time"
        if self._late and self._wanders:
            yield "whether changes are missing: keys are in several partitions, and the oldest messages are gone"
        if self._unclear:
            yield f"changes or DDL before {counted(len(self._unclear), 'change')} from {self._unclear[0].place} on"
        if not self._tells_inserts:
            yield "INSERTs of keys that are there: TRUNCATE, or an update without old values, would look the same"
        for (schema, name), table in self._tables.items():
            if table.keys == {()}:
                yield f"missing changes of {schema}.{name}: it has no handle key, or no message shows it"
            elif () in table.keys or len(table.keys) > 1:
                yield f"missing changes of {schema}.{name}: its handle key is not always the same"
        if self.started:
            yield f"what came before the first change of {counted(self.started, 'key')}"
        if self._tables and not ends_known:
            yield "whether the last change of a key is missing"


@dataclass
class _Check:
    """What is known of a table: its statements, of which none after the TSO ``known_from`` is missing, and when it was
    empty.
    """

    statements: list[_Statement]
    known_from: float
    fuzz: int
    births: list[int] = field(default_factory=list)

    def find_births(self, table: _Table, *, empty: bool) -> None:
        """``empty``: the table had no rows before the first message."""
        self.births = [-1] if empty else []
        since = -1
        for each in self.statements:
            if each.kind in ("create", "empty") and each.commit > self.known_from:
                starts = (run.start[0] for runs in table.runs.values() for run in runs)
                if each.kind == "empty" or not any(since < start <= each.commit + self.fuzz for start in starts):
                    self.births.append(each.commit)
            if each.kind != "soft":
                since = each.commit

    def between(self, since: int, until: int) -> list[_Statement]:
        return [each for each in self.statements if since - self.fuzz <= each.commit <= until + self.fuzz]

    def began(self, since: int, until: int) -> bool:
        """Return whether the table was empty between two changes of a key, and nothing else can have made rows."""
        hard = [each.commit for each in self.between(since, until) if each.kind != "soft"]
        births = [commit for commit in self.births if since <= commit and commit + self.fuzz < until]
        return bool(births) and (not hard or hard[-1] == births[-1])


def _article(op: str) -> str:
    return f"{'a' if op == 'delete' else 'an'} {op.upper()}"


def _differing(one: _Hashes | None, other: _Hashes | None, between: Iterable[_Statement] = ()) -> list[str]:
    """Return the columns of both images whose values differ, without those that a statement may have changed."""
    if one is None or other is None or one == other:
        return []
    if one.layout.tag != other.layout.tag or any(_CHANGES_TEXTS.search(each.text) for each in between):
        return []
    values = dict(zip(one.layout.names, one.layout.pack.unpack(one.each), strict=True))
    return [
        name
        for name, value in zip(other.layout.names, other.layout.pack.unpack(other.each), strict=True)
        if values.get(name) != value and not any(each.names(name) for each in between)
    ]
