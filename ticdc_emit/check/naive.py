"""Consumers that are wrong in one thing each: what a failing consumer is compared with.

In: messages as they arrive. Out: the tables of a consumer that believes one thing that is not so. Where a consumer's
wrong tables are those of one of these, its belief is likely the same (``diagnosis.py``). A :class:`Naive` applies
messages in its own way, a :class:`NaiveTexts` has the right rows and reads values in its own way. A further one is an
entry of :data:`NAIVE`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from decimal import Context, Decimal
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, TypeAlias

from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import commit_of
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.protocols.canonical_text import in_zone
from ticdc_emit.protocols.consumer_tables import Carrier
from ticdc_emit.protocols.events import FAULTS, BootstrapEvent, DdlEvent, DecodeError, Event, RowEvent, WatermarkEvent
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.sql.types import FSP_TYPES, NUMBER_TYPES, MySQLType
from ticdc_emit.strategies.deliveries import Delivery
from ticdc_emit.traffic.expected_tables import as_shown

Rows: TypeAlias = "dict[tuple[str, str], list[Row]]"


class Naive:
    """Applies events as they arrive, but no row that is older than the newest change of its key. ``belief``: what a
    consumer does that is wrong in this way, after "a consumer that".
    """

    belief: ClassVar[str] = "applies a statement at once, though rows from before it come later"

    def __init__(self, arrival: Delivery) -> None:
        self.config = arrival.config
        self.reader = reader_for(arrival.config, schemas=arrival.schemas)
        self.catalog = arrival.history.catalog(config=arrival.config)
        self.rows: Rows = {(info.schema, info.name): [] for info in self.catalog.tables() if not info.is_view}
        self.highest: defaultdict[Any, int] = defaultdict(int)
        self.statements: set[tuple[int | None, str]] = set()

    def events(self, message: Message) -> list[Event]:
        if message.value is None and not (self.config.codec.protocol.spec.registers_schemas and message.key):
            return []
        return [self.reader.read(*part) for part in self.reader.parts(message.key, message.value)]

    def take(self, event: Event) -> None:
        if isinstance(event, WatermarkEvent):
            self.highest["watermark"] = max(self.highest["watermark"], event.commit_ts)
        elif isinstance(event, DdlEvent):
            self.ddl(event)
        elif isinstance(event, RowEvent):
            self.check(event)
            if self.wants(event):
                self.row(event)

    def check(self, event: RowEvent) -> None:
        if self.config.integrity.enabled:
            self.reader.check(event)

    def wants(self, event: RowEvent) -> bool:
        return True

    def row(self, event: RowEvent) -> None:
        info = self.catalog.table(event.schema, event.table)
        after = self.image(event, event.after, info)
        old = self.reader.image(event, event.before or event.key, info) if event.op != "insert" else None
        whole, key = (after or {}) | (old or {}), info.handle_key_names
        place = {name: whole[name] for name in (key or whole)} if key or old else None
        if key and place and self.is_old(event, *place.values()):
            return
        rows = self.rows.setdefault((event.schema, event.table), [])
        at = self.at(rows, event.op, place, after)
        if at is None:
            rows += [] if after is None else [dict(after)]
        elif after is None:
            del rows[at]
        else:
            rows[at] = self.merged(event.op, rows[at], after)

    def image(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        if event.handle_key_only:
            raise DecodeError("the message has the handle key of its row alone")
        return self.reader.image(event, image, info)

    def is_old(self, event: RowEvent, *key: str | None, equal: int = 0) -> bool:
        name, commit = (event.schema, event.table, key), commit_of(event)
        newest, self.highest[name] = self.highest[name], max(self.highest[name], commit or 0)
        return commit is not None and commit < newest + equal

    def at(self, rows: list[Row], op: str, place: Row | None, after: Row | None) -> int | None:
        """Return the number of the row with the values ``place``."""
        return next((at for at, row in enumerate(rows) if place is not None and place.items() <= row.items()), None)

    def merged(self, op: str, row: Row, after: Row) -> Row:
        return row | after

    def ddl(self, event: DdlEvent) -> None:
        if (event.commit_ts, event.query) not in self.statements:  # each partition has it
            self.statements.add((event.commit_ts, event.query))
            self.run(event)

    def run(self, event: DdlEvent) -> None:
        schema, commit = event.schema or None, event.commit_ts or 0
        for made in self.catalog.apply(event.query, schema=schema, commit_ts=commit, of_job=True):
            before, after = made.pre_table_info or made.table_info, made.table_info
            if before is not None and after is not None and not after.is_view:
                rows = self.rows.pop((before.schema, before.name), [])
                if made.action != "drop table":
                    self.rows[after.schema, after.name] = self.carried(made.action, before, after, rows)

    def carried(self, action: str, before: TableInfo, after: TableInfo, rows: list[Row]) -> list[Row]:
        """Return the rows of a table after a statement."""
        carrier = Carrier(before, after, self.config.time_zone)
        return [] if action in ("create table", "truncate table") else [carrier.row(row) for row in rows]


def _run_without_rows(self: Naive, event: DdlEvent) -> None:
    rows, self.rows = self.rows, {}
    Naive.run(self, event)
    self.rows = {name: [] for name in self.rows} | rows


def _only_in(info: TableInfo, other: TableInfo) -> set[str]:
    ids, names = {column.id for column in other.columns}, {column.name for column in other.columns}
    return {column.name for column in info.row_columns if column.id not in ids and column.name not in names}


def _applies(belief: str, **methods: Any) -> type[Naive]:
    return type("Naive", (Naive,), {"belief": belief, **methods})


class NaiveTexts(NamedTuple):
    """Has every row, and makes ``change`` of the values of ``types``, of NULL only with ``nulls``."""

    belief: str
    change: Callable[[Any, Column, str], str | None]
    types: Collection[MySQLType]
    nulls: bool = False


def _reads(belief: str, change: Any, *types: MySQLType, nulls: bool = False) -> NaiveTexts:
    return NaiveTexts(belief, change, types or tuple(MySQLType), nulls)


RIGHT = NaiveTexts("is right", lambda text, *_: text, ())


def _with_fraction(text: str, digits: int) -> str:
    whole, point, fraction = text.partition(".")
    return f"{whole}{point}{fraction[:digits].ljust(len(fraction), '0')}"


_DIGITS = Context(prec=100)  # a DECIMAL has at most 65
_TINY, _BIGINT, _DECIMAL = MySQLType.TINY, MySQLType.LONGLONG, MySQLType.NEWDECIMAL
_DATE, _TIMESTAMP = MySQLType.DATE, MySQLType.TIMESTAMP

AnyNaive: TypeAlias = "type[Naive] | NaiveTexts"

NAIVE: tuple[AnyNaive, ...] = (
    _applies("skips messages without a value, as the deletes of Avro are",
             events=lambda self, message: [] if message.value is None else Naive.events(self, message)),
    _applies("does not apply DELETE", wants=lambda self, event: event.op != "delete"),
    _applies("inserts rows, and does not apply UPDATE", wants=lambda self, event: event.op != "update"),
    _applies("applies an UPDATE to the row of the new key, so that the old key's row stays",
             at=lambda self, rows, op, place, after: Naive.at(
                 self, rows, op, place and {name: (after or place)[name] for name in place}, after)),
    _applies("leaves a row as it is when another INSERT of its key comes",
             merged=lambda self, op, row, after: row if op == "insert" else row | after),
    _applies("adds a row for every INSERT, also for one that came before", is_old=lambda *_: False,
             at=lambda self, rows, op, *row: None if op == "insert" else Naive.at(self, rows, op, *row)),
    _applies("takes the first column of a key for all of it", at=lambda self, rows, op, place, after: Naive.at(
        self, rows, op, place and dict(list(place.items())[:1]), after)),
    _applies("does not compare a row with its checksum", check=lambda *_: None),
    _applies("takes a column that a message does not have for NULL", image=lambda self, event, image, info: image and (
        dict.fromkeys(column.name for column in info.row_columns) | self.reader.image(event, image, info))),
    _applies("begins with an empty table after RENAME TABLE", carried=lambda self, action, of, new, rows: Naive.carried(
        self, action, of, new, rows if of.full_name == new.full_name else [])),
    _applies("keeps the rows after TRUNCATE TABLE", carried=lambda self, action, *of: Naive.carried(
        self, action.replace("truncate table", ""), *of)),
    _applies("keeps a column, and its values, after DROP COLUMN", carried=lambda self, action, of, new, rows: [
        row | {name: text for name, text in old.items() if name in _only_in(of, new)}
        for old, row in zip(rows, Naive.carried(self, action, of, new, rows), strict=False)]),
    _applies("has NULL in the existing rows of an added column, not its default",
             carried=lambda self, action, of, new, rows: [
                 row | dict.fromkeys(_only_in(new, of)) for row in Naive.carried(self, action, of, new, rows)]),
    _applies("takes a column with another name for a new one, without values",
             carried=lambda self, action, of, new, rows: [
                 row | dict.fromkeys(row.keys() - old.keys() - _only_in(new, of))
                 for old, row in zip(rows, Naive.carried(self, action, of, new, rows), strict=False)]),
    _applies("takes a statement at or below a watermark for a repetition, and skips it", run=lambda self, event: (
        _run_without_rows if (event.commit_ts or 0) <= self.highest["watermark"] else Naive.run)(self, event)),
    _applies("applies a statement each time that it comes", ddl=lambda self, event: self.run(event)),
    *(_applies(f"does not apply {kind}", run=lambda self, event, kind=kind: (
        _run_without_rows if kind in event.query.upper() else Naive.run)(self, event))
      for kind in ("DROP TABLE", "RENAME TABLE", "RENAME COLUMN", "ADD COLUMN", "MODIFY COLUMN")),
    _applies("does not apply DDL", run=_run_without_rows),
    _applies("takes the last message of a key for its newest, whatever its commit_ts", is_old=lambda *_: False),
    _applies("takes the watermark of partition 0 for that of all, and drops rows at or below it",
             events=lambda self, message: [each for each in Naive.events(self, message)
                                           if not (message.partition and isinstance(each, WatermarkEvent))],
             wants=lambda self, event: (event.commit_ts or 0) > self.highest["watermark"]),
    _applies("drops rows at or below the highest watermark of any partition, not the lowest of all",
             wants=lambda self, event: (event.commit_ts or 0) > self.highest["watermark"]),
    _applies("drops a row below the highest commit_ts of its table", wants=lambda self, event: not self.is_old(event)),
    _applies("takes a second row of one commit_ts for a repetition",
             wants=lambda self, event: not self.is_old(event, equal=1)),
    _applies("reads partition 0 alone",
             events=lambda self, message: [] if message.partition else Naive.events(self, message)),
    Naive,
    _reads("takes 0000-00-00 for NULL", lambda text, *_: None if text[:10] == "0000-00-00" else text),
    _reads('takes the text "null" for NULL', lambda text, *_: None if text == "null" else text),
    _reads("takes an empty text for NULL", lambda text, *_: text or None),
    _reads("takes NULL for an empty text", lambda text, *_: text or "", nulls=True),
    _reads("takes NULL for the zero of its type: 0, or an empty text",
           lambda text, of, _: text or ("0" if of.type in NUMBER_TYPES else ""), nulls=True),
    _reads("cuts blanks at the ends of texts", lambda text, *_: text.strip()),
    _reads("reads TINYINT(1) as a boolean", lambda text, of, _: text if of.flen > 1 else "01"[text != "0"], _TINY),
    _reads("reads BIGINT UNSIGNED as signed", lambda text, *_: str((int(text) + 2**63) % 2**64 - 2**63), _BIGINT),
    _reads("reads a BIGINT as a double, not exact above 2^53", lambda text, *_: str(int(float(text))), _BIGINT),
    _reads("reads a BIGINT as JavaScript does", lambda text, *_: f"{Decimal(str(float(text))).normalize():f}", _BIGINT),
    _reads("keeps 32 bits of an integer, with a sign", lambda text, *_: str((int(text) + 2**31) % 2**32 - 2**31),
           MySQLType.LONG, _BIGINT),
    _reads("reads a DECIMAL as a double", lambda text, of, _: f"{float(text):.{of.fraction_digits}f}", _DECIMAL),
    _reads("cuts zeros at the end of a DECIMAL", lambda text, *_: f"{Decimal(text).normalize(_DIGITS):f}", _DECIMAL),
    _reads("shows a DECIMAL as Python shows a double", lambda text, *_: repr(float(text)), _DECIMAL),
    _reads("keeps milliseconds of a time, not microseconds", lambda text, *_: _with_fraction(text, 3), *FSP_TYPES),
    _reads("keeps whole seconds of a time", lambda text, *_: _with_fraction(text, 0), *FSP_TYPES),
    _reads("shows a time without its fraction", lambda text, *_: text.partition(".")[0], *FSP_TYPES),
    _reads("takes the text of a TIMESTAMP for UTC", lambda text, _, zone: in_zone(text, "UTC", zone), _TIMESTAMP),
    _reads("shows a TIMESTAMP in UTC", lambda text, _, zone: in_zone(text, zone, "UTC"), _TIMESTAMP),
    _reads("shows a DATE a day early, as its midnight east of Greenwich is in UTC",
           lambda text, *_: text if "-00" in text else in_zone(f"{text} 00:00:00", "Asia/Tokyo", "UTC")[:10], _DATE),
    _reads("has a question mark for each character of four bytes, as utf8mb3 has",
           lambda text, *_: "".join(each if each < "\U00010000" else "?" for each in text)),
    _reads("has a question mark for what is not ASCII", lambda text, *_: text.encode("ascii", "replace").decode()),
    _reads("reads the bytes of UTF-8 as latin-1", lambda text, *_: text.encode().decode("latin-1")),
)  # fmt: skip
"""All of them. Where two have the same tables, the one that is wrong less often comes first."""


class NaiveTables:
    """The tables with which naive consumers of an arrival end. Values are canonical text; ENUM, SET and binary ones are
    as messages show them unless ``canonical``.
    """

    def __init__(self, arrival: Delivery, *, canonical: bool = True) -> None:
        self._arrival, self._canonical = arrival, canonical

    def of(self, kind: AnyNaive, *, in_order: bool = False) -> Rows | None:
        """Return a consumer's; ``None`` where it ends with an error. ``in_order``: it takes events by commit_ts."""
        try:
            if isinstance(kind, NaiveTexts):
                return self._changed(self._right, kind)
            naive = kind(self._arrival)
            events = [event for message in self._arrival.messages for event in naive.events(message)]
            kinds = (RowEvent, DdlEvent, WatermarkEvent, BootstrapEvent)
            for event in sorted(events, key=lambda each: in_order and (commit_of(each) or 0, kinds.index(type(each)))):
                naive.take(event)
            return self._changed(naive.rows, RIGHT)
        except (TicdcEmitError, *FAULTS):
            return None

    @cached_property
    def _right(self) -> Rows:
        consumer = self._arrival.consumer()
        consumer.take_all(self._arrival.messages)
        consumer.finish()
        return {name: [*of.values()] for name, of in consumer.tables.items()}

    @cached_property
    def _columns(self) -> Mapping[tuple[str, str, str], Column]:
        catalog, config = self._arrival.history.catalog, self._arrival.config
        infos = [info for at_end in (False, True) for info in catalog(config=config, at_end=at_end).tables()]
        return {(info.schema, info.name, each.name): each for info in infos for each in info.row_columns}

    def _changed(self, tables: Rows, kind: NaiveTexts) -> Rows:
        zone, spec = self._arrival.config.time_zone, self._arrival.config.codec.protocol.spec

        def value(column: Column | None, text: str | None) -> str | None:
            if column is None:
                return text
            if text is not None and not self._canonical:
                text = (as_shown(column, spec) or str)(text)
            has_change = column.type in kind.types and (text is not None or kind.nulls)
            return kind.change(text, column, zone) if has_change else text

        return {
            name: [{each: value(self._columns.get((*name, each)), text) for each, text in row.items()} for row in rows]
            for name, rows in tables.items()
        }
