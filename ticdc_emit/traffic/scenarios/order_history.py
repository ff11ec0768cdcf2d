"""The histories of scenarios: orders that are placed, paid, shipped and sometimes cancelled; events in partitions.

In: changes and statements at seconds from the beginning, and a seeded source of chance for their values. Out: a
:class:`~ticdc_emit.traffic.history.History`. Scenarios with other tables use :class:`HistoryBuilder` alone.
"""

from __future__ import annotations

import random
from typing import Any

from ticdc_emit.database.rows_after_ddl import Row
from ticdc_emit.traffic.history import History
from ticdc_emit.tso import compose

_START_MS = 1_750_000_000_000
_STATES = ("placed", "paid", "packed", "shipped")

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


def tso_at(second: float) -> int:
    """Return the TSO of a second from the beginning."""
    return compose(_START_MS + round(second * 1000))


class HistoryBuilder:
    """Collects changes and statements. ``database`` is that of the tables."""

    def __init__(self, schema: str, time_zone: str = "UTC", database: str = "shop") -> None:
        self._schema = schema
        self._zone = time_zone
        self._database = database
        self._rows: list[dict[str, Any]] = []
        self._ddl: list[tuple[int, str]] = []

    def insert(self, second: float, table: str, row: Row, **attributes: Any) -> None:
        self._change("insert", second, table, None, row, attributes)

    def update(self, second: float, table: str, before: Row, after: Row, **attributes: Any) -> None:
        self._change("update", second, table, before, after, attributes)

    def delete(self, second: float, table: str, row: Row, **attributes: Any) -> None:
        self._change("delete", second, table, row, None, attributes)

    def ddl(self, second: float, statement: str) -> None:
        self._ddl.append((tso_at(second), statement))

    def history(self) -> History:
        return History(self._schema, tuple(self._rows), tuple(self._ddl), time_zone=self._zone)

    def _change(
        self, op: str, second: float, table: str, before: Row | None, after: Row | None, attributes: dict[str, Any]
    ) -> None:
        change = {"schema": self._database, "table": table, "op": op, "commit_ts": tso_at(second)}
        self._rows.append({**change, "before": before, "after": after, **attributes})


def new_order(chance: random.Random, number: int, **values: str | None) -> Row:
    """Return a row of :data:`ORDERS`."""
    cents = chance.randrange(100, 1_000_000)
    clock = f"{chance.randrange(24):02d}:{chance.randrange(60):02d}:00.{chance.randrange(1000):03d}"
    row: Row = {
        "id": str(number),
        "customer": f"customer {chance.randrange(1000, 10_000)}",
        "state": _STATES[0],
        "amount": f"{cents // 100}.{cents % 100:02d}",
        "placed_at": f"2025-06-15 {clock}",
    }
    return {**row, **values}


def add_orders(
    builder: HistoryBuilder,
    chance: random.Random,
    *,
    orders: int,
    first: int = 1,
    start: float = 1.0,
    seconds: float = 6.0,
    cancelled: float = 0.2,
    table: str = "orders",
) -> dict[str, Row]:
    """Add the lives of some orders between two times; return the remaining rows by id.

    ``cancelled``: the share of deleted orders; the first order stays.
    """
    step = seconds / (orders + 4)
    left: dict[str, Row] = {}
    for number in range(first, first + orders):
        begin = start + (number - first) * step + chance.random() * step / 2
        row = new_order(chance, number)
        builder.insert(begin, table, row)
        for at, state in enumerate(_STATES[1 : chance.randrange(2, len(_STATES) + 1)], 1):
            after = {**row, "state": state}
            builder.update(begin + at * step, table, row, after)
            row = after
        if number > first and chance.random() < cancelled:
            builder.delete(begin + len(_STATES) * step, table, row)
        else:
            left[str(number)] = row
    return left


def add_events(builder: HistoryBuilder, chance: random.Random, *, seconds: float) -> None:
    """Add rows of :data:`EVENTS` within these seconds, each with the id of its partition."""
    step = seconds / 16
    physical = [partition.id for partition in builder.history().catalog().table("shop", "events").partitions]
    for number in range(1, 17):
        part = chance.randrange(2) if number > 2 else number % 2
        row: Row = {"id": str(number), "bucket": str(100 * part + number), "note": "new"}
        builder.insert(number * step, "events", row, physical_table_id=physical[part])
        if chance.random() < 0.5:
            after = {**row, "note": f"seen by {chance.randrange(1000)}"}
            builder.update(number * step + 0.1, "events", row, after, physical_table_id=physical[part])
