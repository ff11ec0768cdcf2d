"""Scenarios of schema changes: statements that are repeated, reordered, or refused by the registry.

In: a seeded source of chance. Out: a :class:`Script` for each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.protocols.events import DdlEvent
from ticdc_emit.traffic.scenarios.delivery_order import (
    SentMessage,
    by_partition,
    interleave,
    redeliver,
)
from ticdc_emit.traffic.scenarios.model import WITH_DDL, WITH_DEFAULTS, ScenarioKind, Script
from ticdc_emit.traffic.scenarios.order_history import ORDERS, HistoryBuilder, add_orders, new_order

__all__ = ["STATEMENTS"]

_TOPIC_PER_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "table"}]}}


def _repeated_ddl(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=6, cancelled=0.3)
    builder.ddl(10, "alter table shop.orders add column gift varchar(20) not null default 'none'")
    for at, row in enumerate(left.values()):
        before = {**row, "gift": "none"}
        builder.update(11 + at / 10, "orders", before, {**before, "gift": f"card {chance.randrange(100)}"})
    builder.insert(13, "orders", new_order(chance, 50, gift="box"))

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            at = next((at for at, each in enumerate(messages) if isinstance(each.event, DdlEvent)), None)
            # each partition's producer goes back to the statement, sometimes further
            restart = len(messages) if at is None else chance.randrange(at + 1, len(messages)) + 1
            start = len(messages) if at is None else chance.randrange(max(0, at - 2), at + 1)
            queues.append(redeliver(messages, start, restart))
        return interleave(chance, queues)

    return Script(builder.history(), deliver, partitions=2)


def _reordered_ddl(chance: random.Random) -> Script:
    builder = HistoryBuilder(f"{ORDERS};\n{ORDERS.replace('shop.orders', 'shop.incoming')}")
    old = add_orders(builder, chance, orders=5, table="orders")
    new = add_orders(builder, chance, orders=5, first=101, table="incoming")
    builder.ddl(10, "rename table shop.orders to shop.archive")
    builder.ddl(11, "rename table shop.incoming to shop.orders")
    for table, rows in (("archive", old), ("orders", new)):
        for at, row in enumerate(rows.values()):
            builder.update(12 + at / 10, table, row, {**row, "state": "checked"})

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = by_partition(sent)
        topics = sorted({topic for topic, _ in queues}, key=lambda topic: (topic != "shop_incoming", topic))
        return [each for topic in topics for place, queue in queues.items() if place[0] == topic for each in queue]

    return Script(builder.history(), deliver, changefeed=_TOPIC_PER_TABLE)


def _added_default(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=8, cancelled=0.1)
    priority = str(chance.randrange(1, 9))
    builder.ddl(10, f"alter table shop.orders add column priority int not null default {priority}")
    for number in range(50, 53):
        builder.insert(11 + number / 10, "orders", new_order(chance, number, priority=str(chance.randrange(10, 99))))
    return Script(builder.history())


def _registry_refusal(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=6)
    sent = builder.history()
    builder.ddl(10, "alter table shop.orders add column warehouse varchar(20) not null")
    builder.insert(11, "orders", new_order(chance, 50, warehouse=f"hall {chance.randrange(10)}"))
    return Script(builder.history(), sent=sent)


STATEMENTS = (
    ScenarioKind(
        "repeated-ddl",
        "pingcap/tiflow#12595: a replayed DDL is queued and run a second time",
        "that a statement arrives exactly once",
        "Every partition with the ALTER TABLE repeats it. It takes effect once, and rows after it keep the "
        "values of its column.",
        WITH_DDL,
        _repeated_ddl,
    ),
    ScenarioKind(
        "reordered-ddl",
        "pingcap/ticdc#4454: statements of different tables are run in another order than upstream",
        "that statements arrive in the order of their commits",
        "orders becomes archive, then incoming becomes orders; each table has its own topic and the second statement "
        "arrives first. archive has the old rows, orders the new ones.",
        WITH_DDL,
        _reordered_ddl,
    ),
    ScenarioKind(
        "added-default",
        "apache/paimon#2843: existing rows show NULL after ADD COLUMN ... DEFAULT",
        "that a new column is empty in old rows",
        "Rows from before the statement have the column's default, later rows their own values.",
        WITH_DEFAULTS,
        _added_default,
    ),
    ScenarioKind(
        "registry-refusal",
        "pingcap/docs#19156: BACKWARD compatibility refuses a NOT NULL column without a default",
        "that all rows of a topic can be read with its newest schema",
        "The producer gets an IncompatibleSchemaError that names the subject, before it sends a row of the "
        "new version. The consumer has the tables from before the statement.",
        ("avro",),
        _registry_refusal,
    ),
)
"""In listing order."""
