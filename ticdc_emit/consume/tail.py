"""The content of a topic, one line per row, statement or watermark, for people and for programs that filter."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import ClaimCheckError, ConfigError, UnknownTableError
from ticdc_emit.hints import did_you_mean, names
from ticdc_emit.protocols.events import (
    BootstrapEvent,
    DdlEvent,
    DecodeError,
    Event,
    Image,
    RowEvent,
    as_decode_error,
    commit_ms_of,
    kind_of,
    table_of,
)
from ticdc_emit.protocols.registered_avro import SchemaSource

OPERATIONS = ("insert", "update", "delete", "ddl", "watermark", "bootstrap", "unreadable")
_LONGEST_VALUE = 60
_ABSENT = object()


@dataclass(frozen=True)
class TailLine:
    """The content of one message, or of one row in it. ``op``: one of :data:`OPERATIONS`.

    ``time_ms``: the physical time of the commit; ``commit_ts``: a TSO. ``old`` and ``new``: for an update the changed
    columns, if the message has both images; else all columns outside the handle ``key``. ``text``: a statement, or why
    the message cannot be read. ``stored_at``: in a storage sink, the file and the number of the row in it (``PATH@3``);
    ``topic`` is then the folder of the table, and ``offset`` counts what was read of it.
    """

    topic: str
    partition: int
    offset: int
    op: str
    commit_ts: int | None = None
    time_ms: int | None = None
    table: str = ""
    key: Mapping[str, Any] = field(default_factory=dict)
    old: Mapping[str, Any] = field(default_factory=dict)
    new: Mapping[str, Any] = field(default_factory=dict)
    text: str = ""
    stored_at: str = ""

    @property
    def place(self) -> str:
        """``topic/partition@offset``, or the place in a folder."""
        return self.stored_at or f"{self.topic}/{self.partition}@{self.offset}"

    @property
    def time(self) -> str:
        """The commit's time in UTC to the millisecond, ``-`` if it is not known."""
        if self.time_ms is None:
            return "-"
        moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=self.time_ms)
        return f"{moment:%Y-%m-%d %H:%M:%S}.{self.time_ms % 1000:03d}Z"

    @property
    def said(self) -> str:
        """The row's columns, the statement or the fault, in one line; long values are cut."""
        if self.text:
            return " ".join(self.text.split())
        if self.op == "delete":
            return ""
        return " ".join(_column_text(name, self.old.get(name, _ABSENT), value) for name, value in self.new.items())

    def __str__(self) -> str:
        key = " ".join(f"{name}={value}" for name, value in self.key.items())
        parts = (self.place, self.time, self.op, self.table, key, self.said)
        return " ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """Return a dict for JSON, without unknown and empty members."""
        members = {name: getattr(self, name) for name in ("topic", "partition", "offset", "op", "commit_ts")}
        members["time"] = None if self.time_ms is None else self.time
        members |= {name: getattr(self, name) for name in ("table", "key", "old", "new", "text", "stored_at")}
        return {name: value for name, value in members.items() if value not in (None, "", {})}


class Tail:
    """Makes lines of messages.

    ``tables``: patterns of ``schema.table`` with ``*`` and ``?``, which leave out watermarks and unreadable messages;
    ``ops``: some of :data:`OPERATIONS`; empty: all. ``schemas``: Avro schema texts by id; default: the changefeed's
    registry. ``claims``: returns the object of a ``claimCheckLocation``; without it, a line shows key and location.
    ``earlier``: for Simple, returns messages from before the first line, once a row's table is unknown. Raises
    :class:`~ticdc_emit.errors.ConfigError`.
    """

    def __init__(
        self,
        config: ChangefeedConfig,
        *,
        tables: str | Collection[str] = (),
        ops: str | Collection[str] = (),
        schemas: SchemaSource | None = None,
        claims: Callable[[str], bytes] | None = None,
        earlier: Callable[[], Iterable[Message]] | None = None,
    ) -> None:
        operations = names(ops, "ops")
        wrong = sorted(set(operations) - set(OPERATIONS))
        if wrong:
            raise ConfigError(
                f"{wrong[0]!r} is not an operation",
                remedy=f"{did_you_mean(wrong[0], OPERATIONS)}Use some of {', '.join(OPERATIONS)}",
                option="op",
            )
        self._reader = reader_for(config, schemas=schemas, claims=claims)
        self._tables = names(tables, "tables")
        self._ops = frozenset(operations)
        self._earlier = earlier

    def lines(self, message: Message) -> list[TailLine]:
        """Return the selected lines of a message, one per row."""
        try:
            with as_decode_error:
                parts = self._reader.parts(message.key, message.value)
                lines = [self._line(message._replace(key=key, value=value)) for key, value in parts]
        except DecodeError as fault:
            lines = [self._unreadable(message, fault)]
        return [line for line in lines if self._selects(line)]

    def _line(self, message: Message) -> TailLine:
        try:
            with as_decode_error:
                event = self._reader.read(message.key, message.value)
                if isinstance(event, RowEvent) and self._learns_earlier_tables(event):
                    event = self._reader.read(message.key, message.value)
                line = self._row(message, event) if isinstance(event, RowEvent) else _control(message, event)
                return replace(line, stored_at=self._reader.stored_at(message.key))
        except (DecodeError, ClaimCheckError) as fault:
            return self._unreadable(message, fault)

    def _unreadable(self, message: Message, fault: Exception) -> TailLine:
        stored_at = self._reader.stored_at(message.key)
        return TailLine(*message[:3], "unreadable", text=str(fault), stored_at=stored_at)

    def _selects(self, line: TailLine) -> bool:
        if self._ops and line.op not in self._ops:
            return False
        if not self._tables or line.op == "unreadable":
            return True
        return any(fnmatchcase(line.table, pattern) for pattern in self._tables)

    def _learns_earlier_tables(self, event: RowEvent) -> bool:
        if self._earlier is None or self._reader.knows(event):
            return False
        earlier, self._earlier = self._earlier(), None
        for message in earlier:
            with suppress(DecodeError), as_decode_error:
                self._reader.learn(message.key, message.value)
        return True

    def _row(self, message: Message, event: RowEvent) -> TailLine:
        names = self._reader.likely_key_names(event)
        before, after, own = (self._text(event, image) for image in (event.before, event.after, event.key))
        shown = after if after is not None else before or {}
        key = own or {name: shown[name] for name in names if name in shown}
        old, new = before or {}, after or {}
        if event.op == "update" and before is not None:
            old = {name: old[name] for name in new if name in old and old[name] != new[name]}
            new = {name: new[name] for name in old} if key else new  # without a key, all columns are shown
        else:
            old, new = ({name: each[name] for name in each if name not in key} for each in (old, new))
        if event.op == "delete":
            new = {}
        return TailLine(
            *message[:3],
            event.op,
            event.commit_ts,
            commit_ms_of(event),
            table_of(event),
            key,
            old,
            new,
            _claim_text(event),
        )

    def _text(self, event: RowEvent, image: Image | None) -> dict[str, Any] | None:
        try:
            return self._reader.image(event, image, None)
        except UnknownTableError:  # Simple: no message has shown the types yet
            return {name: value if value is None else str(value) for name, value in (image or {}).items()}


def _control(message: Message, event: Event) -> TailLine:
    text = event.query if isinstance(event, DdlEvent) else ""
    if isinstance(event, BootstrapEvent):
        text = f"version {event.version}"
    return TailLine(*message[:3], kind_of(event), event.commit_ts, commit_ms_of(event), table_of(event), text=text)


def _claim_text(event: RowEvent) -> str:
    if not event.handle_key_only:
        return ""
    return f"(handle key only; the rest is in {event.claim_check})" if event.claim_check else "(handle key only)"


def _column_text(name: str, old: Any, new: Any) -> str:
    return f"{name}={_value_text(new)}" if old is _ABSENT else f"{name}: {_value_text(old)} -> {_value_text(new)}"


def _value_text(value: Any) -> str:
    if value is None:
        return "NULL"
    text = repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}\u2026"
