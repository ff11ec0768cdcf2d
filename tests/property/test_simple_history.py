"""Random histories with DDL: a consumer that knows only the messages has the tables that the history ends with.

Rows, ADD, DROP and RENAME COLUMN, RENAME and TRUNCATE TABLE, tables that come and go, watermarks; tables with and
without key; a topic of three partitions, of which a consumer reads now this one, now that. Renamed tables go to another
partition.
"""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from random_tables import COMMIT_TS, identifiers, quoted_name

from ticdc_emit import Encoder
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols import codec_for
from ticdc_emit.protocols.simple.values import SimpleTimestamp
from ticdc_emit.schema.defaults import float_text
from ticdc_emit.tso import physical_ms

_PARTITIONS = 3
_ZONE = "Asia/Shanghai"
_Name: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class _Kind:
    """A column type. ``values``: as a consumer sees them; ``filled``: what ADD COLUMN leaves in rows that are there."""

    sql: str
    values: st.SearchStrategy[Any]
    filled: Any = None

    @property
    def nullable(self) -> bool:
        return "not null" not in self.sql


_TEXTS = st.text("aé'\\<\n", max_size=4)
_MOMENTS = st.integers(0, 59).map(lambda second: SimpleTimestamp(_ZONE, f"2024-05-05 01:02:{second:02d}"))
_KINDS = [
    _Kind("int", st.integers(-(1 << 31), (1 << 31) - 1)),
    _Kind("bigint unsigned not null", st.integers(0, (1 << 64) - 1), 0),
    _Kind("int not null default 7", st.integers(0, 9), 7),
    _Kind("varchar(9)", _TEXTS),
    _Kind("varchar(9) not null default 'x<'", _TEXTS, "x<"),
    _Kind("decimal(8,2) default 1.5", st.integers(-999, 999).map(lambda n: Decimal(n).scaleb(-2)), Decimal("1.50")),
    _Kind("varbinary(4) not null", st.binary(max_size=4), b""),
    _Kind("enum('a','b,c') default 'b,c'", st.sampled_from(["a", "b,c"]), "b,c"),
    _Kind("float", st.floats(width=32, allow_nan=False, allow_infinity=False)),
    _Kind("timestamp", _MOMENTS),
    _Kind("bit(9) not null default b'101'", st.integers(0, 511), 5),
    _Kind("date default '2020-01-01'", st.dates().map(str), "2020-01-01"),
]


@dataclass
class _Table:
    """``key``: the name of its key column, if any."""

    columns: dict[str, _Kind]
    key: str | None
    rows: list[dict[str, Any]] = field(default_factory=list)

    def change(self, before: dict[str, Any] | None, after: dict[str, Any] | None) -> None:
        """Apply a change; rows that are not there (from before the beginning) cannot go away."""
        for image in (before, after):
            same = [row for row in self.rows if image is not None and self._is(row, image)]
            if same and (image is before or self.key is not None):
                self.rows.remove(same[0])
        if after is not None:
            self.rows.append(dict(after))

    def _is(self, row: dict[str, Any], image: dict[str, Any]) -> bool:
        return row == image if self.key is None else bool(row[self.key] == image[self.key])

    def texts(self) -> list[str]:
        return sorted(repr(sorted((name, _text(value)) for name, value in row.items())) for row in self.rows)


_Tables: TypeAlias = dict[_Name, _Table]
_Event: TypeAlias = Callable[[_Tables], None]


def _quoted(name: _Name) -> str:
    return ".".join(map(quoted_name, name))


class _History:
    """Draws a history, applies it to tables, and encodes it. ``events``: each with the messages sent up to it."""

    def __init__(self, draw: Callable[[st.SearchStrategy[Any]], Any], encoding: str) -> None:
        self._draw = draw
        uri = f"memory://topic/?protocol=simple&encoding-format={encoding}"
        self.encoder = Encoder(
            uri, "create database d; create database e;", partitions=_PARTITIONS, time_zone=_ZONE, force_replicate=True
        )
        self.tables: _Tables = {}
        self.sent: list[list[tuple[bytes | None, bytes]]] = [[] for _ in range(_PARTITIONS)]
        self.events: list[_Event] = []
        self.commit_ts = COMMIT_TS
        self.watermark = 0
        self._named = 0
        self._keys = 0

    def step(self) -> None:
        often = [self._change, self._change, self._change, self._change, self._add_column, self._rename_column]
        actions = [*often, *often, self._create, self._tick, self._tick, self._drop_column, self._rename]
        actions.append(self._draw(st.sampled_from([self._truncate, self._drop])))
        self._draw(st.sampled_from(actions if self.tables else [self._create]))()

    def bootstrap(self) -> None:
        """Show the schema of every table, to all partitions."""
        codec = codec_for(self.encoder.config)
        for info in self.encoder.catalog.tables():
            message = codec.bootstrap(info, physical_ms(self.commit_ts))
            assert message is not None
            for sent in self.sent:
                sent.append((message.key, message.value))

    def _fresh(self) -> str:
        self._named += 1
        return f"{self._draw(identifiers).strip()}{self._named}"

    def _pick(self) -> tuple[_Name, _Table]:
        return self._draw(st.sampled_from(sorted(self.tables.items(), key=lambda item: item[0])))

    def _columns(self, table: _Table) -> list[str]:
        return [name for name in table.columns if name != table.key]

    def _send(self, batch: Any) -> None:
        for message in batch.to_pylist():
            self.sent[message["partition"]].append((message["key"], message["value"]))

    def _happens(self, event: _Event) -> None:
        event(self.tables)
        self.events.append(event)

    def _ddl(self, sql: str, event: _Event) -> None:
        self.commit_ts += self._draw(st.integers(1, 1 << 20))
        self._send(self.encoder.ddl(sql, self.commit_ts))
        self._happens(event)

    def _create(self) -> None:
        columns = {self._fresh(): self._draw(st.sampled_from(_KINDS)) for _ in range(self._draw(st.integers(1, 4)))}
        key = self._fresh() if self._draw(st.booleans()) else None
        name, clauses = (self._draw(st.sampled_from("de")), self._fresh()), []
        if key is not None:
            columns[key] = _Kind("int not null", st.nothing())
            clauses.append(f"primary key ({quoted_name(key)})")
        clauses[:0] = [f"{quoted_name(column)} {kind.sql}" for column, kind in columns.items()]
        made = _Table(columns, key)
        self._ddl(f"create table {_quoted(name)} ({','.join(clauses)})", lambda ts: ts.update({name: deepcopy(made)}))

    def _row(self, table: _Table, key: Any) -> dict[str, Any]:
        return {
            name: key if name == table.key else self._draw(kind.values | st.none() if kind.nullable else kind.values)
            for name, kind in table.columns.items()
        }

    def _change(self) -> None:
        name, table = self._pick()
        op = self._draw(st.sampled_from("ccud" if table.rows else "c"))
        before = None if op == "c" else dict(self._draw(st.sampled_from(table.rows)))
        self._keys += 1
        after = None
        if op != "d":
            moved = before is None or self._draw(st.integers(0, 3)) == 0
            after = self._row(table, self._keys if moved or before is None else before.get(table.key or ""))
        self.commit_ts += self._draw(st.integers(1, 1 << 20))
        change = {"op": op, "commit_ts": self.commit_ts, "before": _given(before), "after": _given(after)}
        self._send(self.encoder.encode([change], table=".".join(name)))
        self._happens(lambda tables: tables[name].change(before, after))

    def _tick(self) -> None:
        # Some of the way to the last commit_ts, the whole of it included.
        self.watermark = self._draw(st.integers(self.watermark, self.commit_ts))
        self._send(self.encoder.watermark(self.watermark))

    def _add_column(self) -> None:
        name, table = self._pick()
        column, kind = self._fresh(), self._draw(st.sampled_from(_KINDS))
        where = self._draw(st.sampled_from(["", " first", *(f" after {quoted_name(c)}" for c in table.columns)]))

        def add(tables: _Tables) -> None:
            tables[name].columns[column] = kind
            for row in tables[name].rows:
                row[column] = kind.filled

        self._ddl(f"alter table {_quoted(name)} add column {quoted_name(column)} {kind.sql}{where}", add)

    def _drop_column(self) -> None:
        name, table = self._pick()
        if len(self._columns(table)) > 1:
            column = self._draw(st.sampled_from(self._columns(table)))

            def drop(tables: _Tables) -> None:
                for each in (tables[name].columns, *tables[name].rows):
                    del each[column]

            self._ddl(f"alter table {_quoted(name)} drop column {quoted_name(column)}", drop)

    def _rename_column(self) -> None:
        name, table = self._pick()
        old, new = self._draw(st.sampled_from(list(table.columns))), self._fresh()
        kind = table.columns[old]
        words = f"rename column {quoted_name(old)} to {quoted_name(new)}"
        if self._draw(st.booleans()):
            words = f"change {quoted_name(old)} {quoted_name(new)} {kind.sql}"

        def rename(tables: _Tables) -> None:
            changed = tables[name]
            changed.key = new if changed.key == old else changed.key
            changed.columns = {new if column == old else column: of for column, of in changed.columns.items()}
            changed.rows = [{new if column == old else column: v for column, v in row.items()} for row in changed.rows]

        self._ddl(f"alter table {_quoted(name)} {words}", rename)

    def _rename(self) -> None:
        name, _ = self._pick()
        new = self._draw(st.sampled_from("de")), self._fresh()
        self._ddl(f"rename table {_quoted(name)} to {_quoted(new)}", lambda ts: ts.update({new: ts.pop(name)}))

    def _truncate(self) -> None:
        name, _ = self._pick()
        self._ddl(f"truncate table {_quoted(name)}", lambda tables: tables[name].rows.clear())

    def _drop(self) -> None:
        name, _ = self._pick()

        def drop(tables: _Tables) -> None:
            del tables[name]

        self._ddl(f"drop table {_quoted(name)}", drop)


def _given(row: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return the row as the encoder takes it."""
    if row is None:
        return None
    return {name: value.value if isinstance(value, SimpleTimestamp) else value for name, value in row.items()}


def _text(value: Any) -> str | None:
    """Return a value's canonical text."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, SimpleTimestamp):
        return value.value
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return float_text(value, single=True) if isinstance(value, float) else str(value)


def _folded(history: _History, since: list[int], chance: random.Random) -> ReferenceConsumer:
    """Let a consumer read the partitions from the given places, in an order that chance decides."""
    consumer = ReferenceConsumer(history.encoder.config, partitions={"topic": _PARTITIONS})
    at = list(since)
    while open_ones := [partition for partition in range(_PARTITIONS) if at[partition] < len(history.sent[partition])]:
        partition = chance.choice(open_ones)
        for _ in range(chance.randrange(1, 8)):
            if at[partition] < len(history.sent[partition]):
                consumer.take(Message("topic", partition, at[partition], *history.sent[partition][at[partition]]))
                at[partition] += 1
    consumer.finish()
    return consumer


def _shown(consumer: ReferenceConsumer) -> dict[_Name, list[str]]:
    return {name: sorted(repr(sorted(row.items())) for row in rows.values()) for name, rows in consumer.tables.items()}


def _filled(tables: dict[_Name, list[str]]) -> dict[_Name, list[str]]:
    return {name: rows for name, rows in tables.items() if rows}


_ENCODINGS = st.sampled_from(["json", "avro"])


@settings(max_examples=examples(100))
@given(st.data(), _ENCODINGS, st.integers(1, 30), st.integers(0, 1 << 30))
def test_the_tables_at_the_end(data: st.DataObject, encoding: str, steps: int, seed: int) -> None:
    history = _History(data.draw, encoding)
    for _ in range(steps):
        history.step()
    consumer = _folded(history, [0] * _PARTITIONS, random.Random(seed))
    assert consumer.skipped == 0
    assert _shown(consumer) == {name: table.texts() for name, table in history.tables.items()}
    assert all(mark == history.watermark for mark in consumer.watermarks.values())


@settings(max_examples=examples(100))
@given(st.data(), _ENCODINGS, st.integers(1, 12), st.integers(1, 20), st.integers(0, 1 << 30))
def test_a_consumer_that_begins_later(data: st.DataObject, encoding: str, before: int, after: int, seed: int) -> None:
    """After BOOTSTRAP it follows every row and DDL: of the rows that are touched since, it has all."""
    history = _History(data.draw, encoding)
    for _ in range(before):
        history.step()
    since, events = [len(sent) for sent in history.sent], len(history.events)
    history.bootstrap()
    later = deepcopy(history.tables)
    for table in later.values():
        table.rows.clear()
    for _ in range(after):
        history.step()
    for event in history.events[events:]:
        event(later)
    consumer = _folded(history, since, random.Random(seed))
    assert consumer.skipped == 0
    assert _filled(_shown(consumer)) == _filled({name: table.texts() for name, table in later.items()})
