"""The histories of scenarios: statements of SQL at seconds from the beginning, most of them about orders."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import Any, TypeAlias

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID, START_TS
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.database.partitions import partitions_of
from ticdc_emit.sql.words import string_literal
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

Step: TypeAlias = "tuple[float, str]"
"""A second from the beginning, and a statement; further ones of the same second are in the same transaction."""

NEXT_RUN = "/* the next run of the changefeed begins */"
"""The statement of a step after which rows are in another run."""

ORDERS = """create table shop.orders (
  id bigint unsigned primary key,
  customer varchar(40) not null,
  state varchar(12) not null,
  amount decimal(10,2) not null,
  placed_at datetime(3) not null
)"""

EVENTS = (
    "create table shop.events (id int not null, bucket int not null, note varchar(40), primary key (id, bucket)) "
    "partition by range (bucket) (partition p0 values less than (100), partition p1 values less than (200))"
)

_START_MS = 1_750_000_000_000
_STATES = ("placed", "paid", "packed", "shipped")


def tso_at(second: float) -> int:
    return compose(_START_MS + round(second * 1000))


def history_of(schema: str, steps: Iterable[Step], time_zone: str = "UTC") -> History:
    """Return what the steps do, in any order; rows of partitions have the ids of those."""
    ordered = sorted(steps, key=itemgetter(0))
    script = "".join(f"/* ticdc-emit: commit_ts={tso_at(second)} */ {statement};\n" for second, statement in ordered)
    history = History.from_sql(script, schema=schema, time_zone=time_zone)
    rows: list[dict[str, Any]] = [
        {
            name: value
            for name, value in row.items()
            if (name, value) != (START_TS, row["commit_ts"] - 1) and name != "seq"
        }
        for row in history.rows
    ]
    for state in history.catalog().states():
        ids = {partition.name: partition.id for partition in state.info.partitions}
        own = [row for row in rows if row["table"] == state.info.name] if ids else []
        names = partitions_of(state, [row["after"] or row["before"] for row in own], Rendering(time_zone))
        for row, name in zip(own, names, strict=True):
            row[PHYSICAL_TABLE_ID] = ids[name or ""]
    return replace(history, rows=tuple(rows))


def insert(table: str, *values: str | int | None) -> str:
    literals = (string_literal(value) if isinstance(value, str) else value for value in values)
    return f"insert into {table} values ({', '.join('null' if each is None else str(each) for each in literals)})"


def new_order(chance: random.Random, number: int, state: str = _STATES[0]) -> tuple[str | int, ...]:
    cents = chance.randrange(100, 1_000_000)
    clock = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:00.{chance.randrange(1000):03d}"
    customer = f"customer {chance.randrange(1000, 10_000)}"
    return number, customer, state, f"{cents // 100}.{cents % 100:02d}", f"2025-06-15 {clock}"


def orders(
    chance: random.Random,
    count: int,
    *,
    first: int = 1,
    start: float = 1.0,
    seconds: float = 6.0,
    cancelled: float = 0.2,
    table: str = "orders",
) -> Generator[Step, None, list[int]]:
    """Yield the lives of some orders; return the ids of those that remain. ``cancelled``: the share of the others."""
    pause = seconds / (count + 4)
    left = []
    for number in range(first, first + count):
        begin = start + (number - first) * pause + chance.random() * pause / 2
        yield begin, insert(table, *new_order(chance, number))
        for at, state in enumerate(_STATES[1 : chance.randrange(2, len(_STATES) + 1)], 1):
            yield begin + at * pause, f"update {table} set state = '{state}' where id = {number}"
        if number > first and chance.random() < cancelled:
            yield begin + len(_STATES) * pause, f"delete from {table} where id = {number}"
        else:
            left.append(number)
    return left


def events(chance: random.Random, seconds: float) -> Iterator[Step]:
    """Yield rows of :data:`EVENTS` within these seconds, of both partitions."""
    pause = seconds / 16
    for number in range(1, 17):
        part = chance.randrange(2) if number > 2 else number % 2
        yield number * pause, insert("events", number, 100 * part + number, "new")
        if chance.random() < 0.5:
            seen = chance.randrange(1000)
            yield number * pause + 0.1, f"update events set note = 'seen by {seen}' where id = {number}"
