"""Why a consumer fails an example: the message after which its tables went wrong, and whose tables it has.

In: an example (messages as they arrive), what runs the consumer on the first of them, and the tables that it gave.
Out: a :class:`Diagnosis`: the first message from which on the tables are wrong for good, what is special about it, and
the naive consumers (``naive.py``) that end with the same wrong tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

from ticdc_emit.check.naive import NAIVE, RIGHT, Naive, NaiveTables
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import commit_of
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.protocols.events import FAULTS, DdlEvent, Event, RowEvent, WatermarkEvent, kind_of, table_of
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import FSP_TYPES, INTEGER_TYPES, TEMPORAL_TYPES, MySQLType, integer_range
from ticdc_emit.strategies.deliveries import Delivery
from ticdc_emit.traffic.scenarios.comparison import GivenTables, rows_by_table, shown_key

_MOST_PREFIXES = 32  # on which the consumer is run one by one; a longer example is halved first
_IsWrong: TypeAlias = Callable[[int], bool | None]


@dataclass(frozen=True)
class Diagnosis:
    """``guilty``: the message after which the tables are wrong for good, ``None`` if they never are right, or if it
    takes too long to find. ``number``: its place in the order of arrival, from 1. ``special``: what it is, and what is
    unusual about it. ``beliefs``: what consumers with these tables do, or with ``is_error`` those that fail, too; at
    most three, the most special first.
    """

    guilty: Message | None = None
    number: int = 0
    special: tuple[str, ...] = ()
    beliefs: tuple[str, ...] = ()
    is_error: bool = False

    def lines(self) -> list[str]:
        like = "it fails as a consumer does" if self.is_error else "your tables are those of a consumer"
        lines = [f"{like} that {belief}" for belief in self.beliefs]
        if self.guilty is None:
            return lines
        place = f"{self.guilty.topic}, partition {self.guilty.partition}, offset {self.guilty.offset}"
        facts = [f"  {fact}" for fact in self.special]
        return [f"the tables go wrong with message {self.number} ({place})", *facts, *lines]

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, for ``guilty`` the ``topic``, ``partition`` and ``offset``, or null."""
        place = self.guilty and {name: getattr(self.guilty, name) for name in ("topic", "partition", "offset")}
        facts = {"special": list(self.special), "beliefs": list(self.beliefs)}
        return {"guilty": place, "number": self.number, **facts}


def diagnose(
    arrival: Delivery,
    is_wrong: _IsWrong,
    tables: GivenTables | None,
    canonical: bool = False,
    larger: tuple[Delivery, GivenTables] | None = None,
) -> Diagnosis:
    """Return why a consumer fails an example. Of beliefs, those count that also give its tables of a ``larger`` one.

    ``is_wrong``: runs the consumer on so many first messages, and returns whether its tables are not those of the
    reference consumer on the same messages, ``None`` where the time is over; those of all messages are not. It is
    called some 40 times at most. ``tables``: the consumer's at the end, ``None`` without; ENUM, SET and binary values
    are as messages show them unless ``canonical``.
    Raises :class:`~ticdc_emit.errors.ConfigError` if ``tables`` is not a mapping of tables.
    """
    if tables is not None:
        beliefs = _beliefs(arrival, rows_by_table(tables), canonical)
        if larger is not None and len(beliefs) > 1:
            held = _beliefs(larger[0], rows_by_table(larger[1]), canonical)
            beliefs = tuple(each for each in beliefs if each in held) or beliefs
    else:
        beliefs = (Naive.belief,) if NaiveTables(arrival).of(Naive) is None else ()
    number = _first_wrong(len(arrival.messages), is_wrong)
    guilty, special = (arrival.messages[number - 1], _special(arrival, number)) if number else (None, ())
    return Diagnosis(guilty, number, special, beliefs[:3], tables is None)


def _first_wrong(count: int, is_wrong: _IsWrong) -> int:
    """Return the number of messages from which on each prefix of ``count`` is wrong, 0 if it is not found in time."""
    right, first = -1, count
    while first - right > _MOST_PREFIXES:
        middle = (right + first) // 2
        right, first = (right, middle) if is_wrong(middle) else (middle, first)
    while first - 1 > right and (wrong := is_wrong(first - 1)) is not False:
        if wrong is None:
            return 0
        first -= 1
    return first


def _beliefs(arrival: Delivery, tables: Mapping[Any, Any], canonical: bool) -> tuple[str, ...]:
    kinds, of_base = (RIGHT, Naive, *NAIVE), {Naive} if arrival.config.codec.sends_ddl else set[Any]()
    # the consumer may put events in order, and be wrong in another thing
    naive = NaiveTables(arrival, canonical=canonical)
    found = [[naive.of(kind, in_order=last) for kind in kinds] for last in (False, True)]
    for nulls in (True, False):  # where it lacks a column, tables of SQL have NULL
        wrong, same = _comparable(tables, nulls), set[Any]()
        for right, base, *made in ([_comparable(each, nulls) for each in way] for way in found):
            told = of_base if wrong == base else set(NAIVE)
            same |= {kind for kind, rows in zip(NAIVE, made, strict=True) if right != wrong == rows} & told
        if same:
            return tuple(kind.belief for kind in NAIVE if kind in same)
    return ()


def _comparable(tables: Mapping[Any, Any] | None, nulls: bool) -> Any:
    """Return tables without an order of rows and without those that are empty."""
    return tables and {
        name: Counter(frozenset(each for each in row.items() if nulls or each[1] is not None) for row in rows)
        for name, rows in tables.items()
        if rows
    }


def _special(arrival: Delivery, number: int) -> tuple[str, ...]:
    """Return what is true for a message and for none before it, or else for few of those."""
    past, known = _Past(arrival), Counter[str]()
    for message in arrival.messages[: number - 1]:
        known.update({fact.partition(": ")[0] for fact in past.facts(message)})
    what, *facts = past.facts(arrival.messages[number - 1])
    seldom = {fact: known[fact.partition(": ")[0]] for fact in facts}
    new = [fact for fact, count in seldom.items() if not count]
    return what, *(new or [fact for fact, count in seldom.items() if 2 * count < number])


class _Past:
    """What came before a message, to tell what is unusual about it."""

    def __init__(self, arrival: Delivery) -> None:
        self._reader, self._zone = reader_for(arrival.config, schemas=arrival.schemas), arrival.config.time_zone
        catalog = arrival.history.catalog(config=arrival.config, at_end=True)
        self._infos = {(info.schema, info.name): info for info in catalog.tables()}
        self._came: dict[Any, Any] = {}  # the topic and partition of what has come
        self._newest: dict[Any, int] = {}  # the highest commit of a table and of a key
        self._statements: dict[str, tuple[int, str]] = {}  # the last one of a table
        self._watermarks: dict[Any, int] = {}

    def facts(self, message: Message) -> list[str]:
        """Return what a message is, and what may be unusual about it. It is in the past of the next one."""
        try:
            events = [self._reader.read(*part) for part in self._reader.parts(message.key, message.value)]
            return [fact for event in events for fact, holds in self._of(event, message).items() if holds]
        except (TicdcEmitError, *FAULTS) as fault:
            return [f"it cannot be read: {fault}"]

    def _of(self, event: Event, message: Message) -> dict[str, object]:
        if isinstance(event, RowEvent):
            return self._row(event, message)
        target, table, commit = message[:2], table_of(event), commit_of(event) or 0
        own, highest = self._watermarks.get(target, -1), max(self._watermarks.values(), default=-1)
        if isinstance(event, DdlEvent):
            self._statements[table] = commit, event.query
            self._came.pop(table, None)
            return {
                f"it is a statement: {event.query}": True,
                **self._repeated((event.query, commit), target),
                "rows of a later commit came before it": any(newest > commit for newest in self._newest.values()),
                "a watermark at or above its commit_ts came before it": commit <= highest,
            }
        if isinstance(event, WatermarkEvent):
            self._watermarks[target] = max(own, commit)
        return {f"it is a {kind_of(event)}": True, "its partition had a watermark at or above it before": commit <= own}

    def _row(self, event: RowEvent, message: Message) -> dict[str, object]:
        target, table, info = message[:2], table_of(event), self._infos.get((event.schema, event.table))
        image, before = event.after if event.after is not None else event.before or event.key or {}, event.before or {}
        key = {name: str(image.get(name)) for name in self._reader.likely_key_names(event)}
        shown = ", ".join(f"{name}={shown_key(value)}" for name, value in key.items()) or "a row without a key"
        place, last = (table, *key.values()), self._newest.get(table, -1)
        commit = commit_of(event) or last + 1
        newest, came_from = self._newest.get(place, -1), self._came.get(place, target)
        ops, (since, statement) = {event.op, self._came.get((place, commit))}, self._statements.get(table, (-1, ""))
        highest = max((each for other, each in self._watermarks.items() if other != target), default=-1)
        texts: Mapping[str, str | None] = {}
        with suppress(TicdcEmitError, *FAULTS):
            texts = self._reader.image(event, image, info) or {}
        facts: dict[str, object] = {
            f"it is {event.op.upper()} in {table}: {shown}": True,
            **self._repeated((place, commit_of(event), event.op, str(sorted(image.items()))), target),
            "a newer change of its key came before it": key and newest > commit,
            "the last change of its key came from another partition": key and came_from != target,
            "its key has a DELETE and an INSERT in one commit": key and ops == {"delete", "insert"},
            "a watermark of another partition is at or above its commit_ts": commit <= highest,
            "a row of its table with its commit_ts came before it": last == commit,
            "a row of its table with a later commit_ts came before it": last > commit,
            f"a statement with a later commit_ts came before it: {statement}": commit <= since,
            f"it is the first row of its table after: {statement}": statement and table not in self._came,
            "its message has no value": message.value is None,
            "it changes the key of its row": any(str(before.get(name, each)) != each for name, each in key.items()),
            "it has the handle key of its row alone": event.handle_key_only,
            "it has NULL": None in texts.values(),
            "it has an empty text": "" in texts.values(),
            "it has NULL beside an empty text": {None, ""} <= set(texts.values()),
        }
        self._came |= {table: target, place: target, (place, commit): event.op}
        self._newest |= {place: max(newest, commit), table: max(last, commit)}
        for of in () if info is None else info.columns:
            with suppress(*FAULTS):  # the value of an older version may be of another type
                if text := texts.get(of.name):
                    told = shown_key(text)
                    facts |= {f"{of.name} {what}: {told}": holds(text, of, self._zone) for what, holds in _VALUES}
        return facts

    def _repeated(self, what: Any, target: Any) -> dict[str, object]:
        before, self._came[what] = self._came.get(what), target
        place = "this" if before == target else "another"
        return {f"the same came before from {place} partition": before is not None}


def _is_end(text: str, of: Column, _: str) -> bool:
    if of.type in INTEGER_TYPES:
        return text != "0" and int(text) in integer_range(of.type, unsigned=of.unsigned)
    return of.type in TEMPORAL_TYPES and text.startswith(("0000-00-00", "9999-12-31", "2038-01-19", "838:59:59"))


_VALUES: tuple[tuple[str, Callable[[str, Column, str], object]], ...] = (
    ("is at the end of its type's range", _is_end),
    ("is beyond 2^53", lambda text, of, _: of.type is MySQLType.LONGLONG and abs(int(text)) > 1 << 53),
    ("has more than 15 digits", lambda text, of, _: of.type is MySQLType.NEWDECIMAL and len(text.strip("-0")) > 16),
    ("has a fraction of a second", lambda text, of, _: of.type in FSP_TYPES and text.partition(".")[2].strip("0")),
    ("is the text null", lambda text, *_: text.lower() == "null"),
    ("has a character of four bytes", lambda text, *_: max(text) > "\uffff"),
    ("has a character that is not ASCII", lambda text, *_: not text.isascii()),
    ("begins or ends with a blank", lambda text, *_: text != text.strip()),
    ("is in the changefeed's time zone", lambda _, of, zone: of.type is MySQLType.TIMESTAMP and zone != "UTC"),
)
