"""Scenarios of delivery: messages that are repeated, late, or mixed between partitions and transactions.

In: a seeded source of chance. Out: a :class:`Script` for each kind in :data:`DELIVERIES`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.errors import TableRouteError
from ticdc_emit.protocols.events import RowEvent, WatermarkEvent
from ticdc_emit.traffic.scenarios.delivery_order import (
    SentMessage,
    by_partition,
    interleave,
    merge_by_commit_ts,
    redeliver,
    rows_between_watermarks,
)
from ticdc_emit.traffic.scenarios.model import FEEDS, WITH_DDL, ScenarioKind, Script
from ticdc_emit.traffic.scenarios.order_history import (
    EVENTS,
    ORDERS,
    HistoryBuilder,
    add_events,
    add_orders,
    new_order,
    tso_at,
)

_BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
_BY_REGION = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["region"]}]}}
_REGIONS = ("africa", "america", "asia", "australia", "europe", "north", "south", "west")
_CLERKS = ("Ada", "Ben", "Cem", "Dora", "Eli", "Fay")


def _redelivery(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=10)

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            inserts = [
                at
                for at, each in enumerate(messages)
                if isinstance(each.event, RowEvent) and each.event.op == "insert" and _id_of(each) in left
            ]
            start = chance.choice(inserts or [0])
            queues.append(redeliver(messages, start, chance.randrange(start, len(messages)) + 1))
        return interleave(chance, queues)

    return Script(builder.history(), deliver, partitions=2, changefeed=_BY_KEY)


def _b_a_b(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=4)
    first = [new_order(chance, 100 + number) for number in range(chance.randrange(1, 4))]
    then = [new_order(chance, 200 + number) for number in range(chance.randrange(1, 4))]
    for number, row in enumerate([*first, *then]):
        builder.insert(9.1 + number / 100, "orders", row)
    overtaken = {row["id"] for row in first}

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        late = [at for at, each in enumerate(sent) if _id_of(each) in overtaken]
        last = max(at for at, each in enumerate(sent) if isinstance(each.event, RowEvent))
        return [*sent[: late[0]], *sent[late[-1] + 1 : last + 1], *sent[late[0] :]]

    return Script(builder.history(), deliver)


def _partition_interleave(chance: random.Random) -> Script:
    builder = HistoryBuilder(EVENTS)
    add_events(builder, chance, seconds=4)

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        delivered = list(sent)
        for positions in rows_between_watermarks(sent):
            rows = [sent[at] for at in positions]
            behind = _is_second(rows[0])  # the first physical partition is slower
            for at, each in zip(positions, sorted(rows, key=lambda each: _is_second(each) is behind), strict=True):
                delivered[at] = each
        return delivered

    return Script(builder.history(), deliver)


def _repeated_watermark(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=8, seconds=8)

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            marks = [at for at, each in enumerate(messages) if isinstance(each.event, WatermarkEvent)]
            at = chance.randrange(1, len(marks))
            queues.append(redeliver(messages, marks[chance.randrange(at)], marks[at] + 1))
        return interleave(chance, queues)

    return Script(builder.history(), deliver, partitions=2, changefeed=_BY_KEY)


def _slow_partition(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=18)

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = by_partition(sent)
        filled = [target for target, queue in queues.items() if any(isinstance(each.event, RowEvent) for each in queue)]
        slow = queues.pop(chance.choice(filled))
        return [*merge_by_commit_ts(queues.values()), *slow]

    return Script(builder.history(), deliver, partitions=3, changefeed=_BY_KEY)


def _wandering_key(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        "create table shop.parcels (id int primary key, region varchar(20) not null, scans int not null)"
    )
    for number in range(1, 9):
        regions = chance.sample(_REGIONS, 4)
        row: dict[str, str | None] = {"id": str(number), "region": regions[0], "scans": "0"}
        builder.insert(number / 10, "parcels", row)
        for scans, region in enumerate(regions[1:], 1):
            after = {**row, "region": region, "scans": str(scans)}
            builder.update(number / 10 + scans, "parcels", row, after)
            row = after

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = by_partition(sent)
        rows = (each for each in sent if isinstance(each.event, RowEvent))
        newest = max(rows, key=lambda each: each.event.commit_ts or 0)  # the key was in other partitions before
        ahead = queues.pop(newest.target)
        return [*ahead, *interleave(chance, queues.values())]

    return Script(builder.history(), deliver, partitions=4, changefeed=_BY_REGION)


def _shared_commit_ts(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        "create table shop.shifts (id int primary key, clerk varchar(20) not null);\n"
        "create table shop.sales (id int primary key, clerk varchar(20) not null, amount decimal(10,2) not null)"
    )
    second, number, sharing = 1.0, 0, [2, 3, 1, *(chance.randrange(1, 4) for _ in range(3))]
    for transactions in sharing:
        second += 0.5
        for clerk in chance.sample(_CLERKS, transactions):
            number += 1
            start = {"start_ts": tso_at(second) - 1 - number}
            builder.insert(second, "shifts", {"id": str(number), "clerk": clerk}, **start)
            for sale in range(chance.randrange(1, 3)):
                amount = f"{chance.randrange(1, 100)}.50"
                builder.insert(second, "sales", {"id": f"{number}{sale}", "clerk": clerk, "amount": amount}, **start)
    return Script(builder.history())


def _two_sources_one_target(chance: random.Random) -> Script:
    builder = HistoryBuilder(f"create database west;\n{ORDERS.replace('shop.', 'east.')}", database="east")
    add_orders(builder, chance, orders=6)
    sent = builder.history()
    builder.ddl(10, ORDERS.replace("shop.", "west."))
    for number in range(1, 7):
        builder.insert(10 + number, "orders", new_order(chance, number, state="west"), schema="west")
    routes = [{"matcher": ["east.*", "west.*"], "target-schema": "shop"}]
    return Script(builder.history(), changefeed={"sink": {"dispatchers": routes}}, sent=sent, refused=TableRouteError)


def _is_second(sent: SentMessage) -> bool:
    """Return whether a row is of the second physical partition."""
    event = sent.event
    return isinstance(event, RowEvent) and event.after is not None and int(event.after["bucket"]) >= 100


def _id_of(sent: SentMessage) -> str | None:
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
    ScenarioKind(
        "shared-commit-ts",
        "pingcap/ticdc#6106: with async commit, 64 % of the transactions of 32 writers share a commit_ts",
        "that a commit_ts names one transaction",
        "Transactions of different clerks have the same commit_ts. Each sale has the clerk of its own transaction.",
        FEEDS,
        _shared_commit_ts,
    ),
    ScenarioKind(
        "two-sources-one-target",
        "pingcap/ticdc#6264: table routing gives tables of two databases one name",
        "that a table of the messages is one table of the source",
        "The producer gets a TableRouteError that names both sources, before it sends a row of the second one. The "
        "consumer has the rows of the first, under the name of the target.",
        FEEDS,
        _two_sources_one_target,
        dict.fromkeys(FEEDS, "target-schema"),
    ),
)
"""All scenarios of delivery, in listing order."""
