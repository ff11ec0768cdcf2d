"""Scenarios of legal deliveries: repeated, late, and mixed between partitions.

Their histories are small: orders that are placed, paid, shipped and sometimes cancelled, at seconds from the beginning.
In: a seeded source of chance. Out: a :class:`Script` for each: a history, and the order in which its messages arrive.
:class:`Story` writes the histories of the other scenarios, too.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from ticdc_emit.protocols.events import RowEvent, WatermarkEvent
from ticdc_emit.traffic.expected_tables import Row
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.delivery_order import (
    Sent,
    by_place,
    interleave,
    merge_by_commit_ts,
    redeliver,
    rows_between_watermarks,
)
from ticdc_emit.traffic.scenarios.model import FEEDS, WITH_DDL, ScenarioKind, Script
from ticdc_emit.tso import compose

__all__ = ["DELIVERIES", "ORDERS", "Story", "order", "order_lives", "tso_at"]


_START_MS = 1_750_000_000_000
_STATES = ("placed", "paid", "packed", "shipped")

ORDERS = """create table shop.orders (
  id bigint unsigned primary key,
  customer varchar(40) not null,
  state varchar(12) not null,
  amount decimal(10,2) not null,
  placed_at datetime(3) not null
)"""


def tso_at(second: float) -> int:
    """Return the TSO of a second of the story."""
    return compose(_START_MS + round(second * 1000))


class Story:
    """Collects changes and statements. ``database`` is that of the tables."""

    def __init__(self, schema: str, time_zone: str = "UTC", database: str = "shop") -> None:
        self._schema = schema
        self._zone = time_zone
        self._database = database
        self._rows: list[dict[str, Any]] = []
        self._ddl: list[tuple[int, str]] = []

    def insert(self, second: float, table: str, row: Row, **attributes: Any) -> None:
        """Add an insert."""
        self._change("insert", second, table, None, row, attributes)

    def update(self, second: float, table: str, before: Row, after: Row, **attributes: Any) -> None:
        """Add an update."""
        self._change("update", second, table, before, after, attributes)

    def delete(self, second: float, table: str, row: Row, **attributes: Any) -> None:
        """Add a delete."""
        self._change("delete", second, table, row, None, attributes)

    def ddl(self, second: float, statement: str) -> None:
        """Add a statement."""
        self._ddl.append((tso_at(second), statement))

    def history(self) -> History:
        """Return the history."""
        return History(self._schema, tuple(self._rows), tuple(self._ddl), time_zone=self._zone)

    def _change(
        self, op: str, second: float, table: str, before: Row | None, after: Row | None, attributes: dict[str, Any]
    ) -> None:
        place = {"schema": self._database, "table": table, "op": op, "commit_ts": tso_at(second)}
        self._rows.append({**place, "before": before, "after": after, **attributes})


def order(chance: random.Random, number: int, **values: str | None) -> Row:
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


def order_lives(
    story: Story,
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
        row = order(chance, number)
        story.insert(begin, table, row)
        for at, state in enumerate(_STATES[1 : chance.randrange(2, len(_STATES) + 1)], 1):
            after = {**row, "state": state}
            story.update(begin + at * step, table, row, after)
            row = after
        if number > first and chance.random() < cancelled:
            story.delete(begin + len(_STATES) * step, table, row)
        else:
            left[str(number)] = row
    return left


_BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
_BY_REGION = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["region"]}]}}
_REGIONS = ("africa", "america", "asia", "australia", "europe", "north", "south", "west")


def _redelivery(chance: random.Random) -> Script:
    story = Story(ORDERS)
    left = order_lives(story, chance, orders=10)

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = []
        for messages in by_place(sent).values():
            inserts = [at for at, each in enumerate(messages) if _is_insert(each) and _id_of(each) in left]
            start = chance.choice(inserts or [0])
            queues.append(redeliver(messages, start, chance.randrange(start, len(messages)) + 1))
        return interleave(chance, queues)

    return Script(story.history(), deliver, partitions=2, changefeed=_BY_KEY)


def _b_a_b(chance: random.Random) -> Script:
    story = Story(ORDERS)
    order_lives(story, chance, orders=4)
    first = [order(chance, 100 + number) for number in range(chance.randrange(1, 4))]
    then = [order(chance, 200 + number) for number in range(chance.randrange(1, 4))]
    for number, row in enumerate([*first, *then]):
        story.insert(9.1 + number / 100, "orders", row)
    overtaken = {row["id"] for row in first}

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        late = [at for at, each in enumerate(sent) if _id_of(each) in overtaken]
        last = max(at for at, each in enumerate(sent) if isinstance(each.event, RowEvent))
        return [*sent[: late[0]], *sent[late[-1] + 1 : last + 1], *sent[late[0] :]]

    return Script(story.history(), deliver)


def _partition_interleave(chance: random.Random) -> Script:
    story = Story(
        "create table shop.events (id int not null, bucket int not null, note varchar(40), primary key (id, bucket)) "
        "partition by range (bucket) (partition p0 values less than (100), partition p1 values less than (200))"
    )
    physical = [partition.id for partition in story.history().catalog().table("shop", "events").partitions]
    for number in range(1, 17):
        part = chance.randrange(2) if number > 2 else number % 2
        row: dict[str, str | None] = {"id": str(number), "bucket": str(100 * part + number), "note": "new"}
        story.insert(number / 4, "events", row, physical_table_id=physical[part])
        if chance.random() < 0.5:
            after = {**row, "note": f"seen by {chance.randrange(1000)}"}
            story.update(number / 4 + 0.1, "events", row, after, physical_table_id=physical[part])

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        delivered = list(sent)
        for places in rows_between_watermarks(sent):
            rows = [sent[at] for at in places]
            behind = _is_second(rows[0])  # the first physical partition is slower
            for at, each in zip(places, sorted(rows, key=lambda each: _is_second(each) is behind), strict=True):
                delivered[at] = each
        return delivered

    return Script(story.history(), deliver)


def _repeated_watermark(chance: random.Random) -> Script:
    story = Story(ORDERS)
    order_lives(story, chance, orders=8, seconds=8)

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = []
        for messages in by_place(sent).values():
            marks = [at for at, each in enumerate(messages) if isinstance(each.event, WatermarkEvent)]
            at = chance.randrange(1, len(marks))
            queues.append(redeliver(messages, marks[chance.randrange(at)], marks[at] + 1))
        return interleave(chance, queues)

    return Script(story.history(), deliver, partitions=2, changefeed=_BY_KEY)


def _slow_partition(chance: random.Random) -> Script:
    story = Story(ORDERS)
    order_lives(story, chance, orders=18)

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = by_place(sent)
        filled = [place for place, queue in queues.items() if any(isinstance(each.event, RowEvent) for each in queue)]
        slow = queues.pop(chance.choice(filled))
        return [*merge_by_commit_ts(queues.values()), *slow]

    return Script(story.history(), deliver, partitions=3, changefeed=_BY_KEY)


def _wandering_key(chance: random.Random) -> Script:
    story = Story("create table shop.parcels (id int primary key, region varchar(20) not null, scans int not null)")
    for number in range(1, 9):
        regions = chance.sample(_REGIONS, 4)
        row: dict[str, str | None] = {"id": str(number), "region": regions[0], "scans": "0"}
        story.insert(number / 10, "parcels", row)
        for scans, region in enumerate(regions[1:], 1):
            after = {**row, "region": region, "scans": str(scans)}
            story.update(number / 10 + scans, "parcels", row, after)
            row = after

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = by_place(sent)
        newest = max(sent, key=_commit_of_row)  # the key was in other partitions before
        ahead = queues.pop(newest.place)
        return [*ahead, *interleave(chance, queues.values())]

    return Script(story.history(), deliver, partitions=4, changefeed=_BY_REGION)


def _commit_of_row(sent: Sent) -> int:
    return (sent.event.commit_ts or 0) if isinstance(sent.event, RowEvent) else -1


def _is_insert(sent: Sent) -> bool:
    return isinstance(sent.event, RowEvent) and sent.event.op == "insert"


def _is_second(sent: Sent) -> bool:
    """Return whether a row is of the second physical partition."""
    event = sent.event
    return isinstance(event, RowEvent) and event.after is not None and int(event.after["bucket"]) >= 100


def _id_of(sent: Sent) -> str | None:
    event = sent.event
    if not isinstance(event, RowEvent):
        return None
    return str((event.after or event.before or {}).get("id"))


DELIVERIES = (
    ScenarioKind(
        "redelivery",
        "pingcap/ticdc#4051: a Kafka timeout; the changefeed restarts from its checkpoint",
        "that a message arrives exactly once, so an INSERT is always a new row",
        "Every partition repeats a part of its messages (1 2 3 2 3). The tables stay the same, because a repeated row "
        "replaces itself.",
        FEEDS,
        _redelivery,
    ),
    ScenarioKind(
        "b-a-b",
        "pingcap/ticdc#5713: B is sent, the producer restarts and sends A and B",
        "that a row older than the table's newest row must be a duplicate",
        "The tables include rows that arrive for the first time after rows with a higher commit_ts.",
        FEEDS,
        _b_a_b,
    ),
    ScenarioKind(
        "partition-interleave",
        "pingcap/ticdc#5508: offset 83 has commit_ts ...856 of one physical partition, offset 84 ...855 of another",
        "that commit_ts rises with the offset within a table",
        "The rows of both physical partitions of a partitioned table are there, although one partition's rows come "
        "before older ones of the other.",
        FEEDS,
        _partition_interleave,
    ),
    ScenarioKind(
        "repeated-watermark",
        "pingcap/tiflow#12595: a watermark that is sent again, or a lower one, ends the consumer",
        "that watermarks of a partition only rise",
        "Watermarks go back and are repeated, with the rows between them. The tables stay the same.",
        WITH_DDL,
        _repeated_watermark,
    ),
    ScenarioKind(
        "slow-partition",
        "pingcap/ticdc#1730: rows of one partition are judged by the watermark of another",
        "that the watermark of one partition holds for all",
        "The tables include the rows of the partition that is read last, although the watermarks of the others passed "
        "them long ago.",
        WITH_DDL,
        _slow_partition,
    ),
    ScenarioKind(
        "wandering-key",
        "apache/inlong#7900: changes of a row arrive from several partitions and overtake one another",
        "that the last message is the newest",
        "The partition dispatcher is the column region, and updates change it. Each row has the values of its highest "
        "commit_ts, not of its last message.",
        FEEDS,
        _wandering_key,
    ),
)
"""In listing order."""
