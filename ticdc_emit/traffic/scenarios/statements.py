"""Scenarios of schema changes: statements that are repeated, reordered, or refused by the registry.

In: a seeded source of chance. Out: a :class:`Script` for each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.protocols.events import DdlEvent
from ticdc_emit.traffic.scenarios.deliveries import (
    ORDERS,
    Story,
    order,
    order_lives,
)
from ticdc_emit.traffic.scenarios.delivery_order import (
    Sent,
    by_place,
    interleave,
    redeliver,
)
from ticdc_emit.traffic.scenarios.model import WITH_DDL, WITH_DEFAULTS, ScenarioKind, Script

__all__ = ["STATEMENTS"]

_TOPIC_PER_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "table"}]}}


def _repeated_ddl(chance: random.Random) -> Script:
    story = Story(ORDERS)
    left = order_lives(story, chance, orders=6, cancelled=0.3)
    story.ddl(10, "alter table shop.orders add column gift varchar(20) not null default 'none'")
    for at, row in enumerate(left.values()):
        before = {**row, "gift": "none"}
        story.update(11 + at / 10, "orders", before, {**before, "gift": f"card {chance.randrange(100)}"})
    story.insert(13, "orders", order(chance, 50, gift="box"))

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = []
        for messages in by_place(sent).values():
            at = next((at for at, each in enumerate(messages) if isinstance(each.event, DdlEvent)), None)
            # each partition's producer goes back to the statement, sometimes further
            restart = len(messages) if at is None else chance.randrange(at + 1, len(messages)) + 1
            start = len(messages) if at is None else chance.randrange(max(0, at - 2), at + 1)
            queues.append(redeliver(messages, start, restart))
        return interleave(chance, queues)

    return Script(story.history(), deliver, partitions=2)


def _reordered_ddl(chance: random.Random) -> Script:
    story = Story(f"{ORDERS};\n{ORDERS.replace('shop.orders', 'shop.incoming')}")
    old = order_lives(story, chance, orders=5, table="orders")
    new = order_lives(story, chance, orders=5, first=101, table="incoming")
    story.ddl(10, "rename table shop.orders to shop.archive")
    story.ddl(11, "rename table shop.incoming to shop.orders")
    for table, rows in (("archive", old), ("orders", new)):
        for at, row in enumerate(rows.values()):
            story.update(12 + at / 10, table, row, {**row, "state": "checked"})

    def deliver(sent: Sequence[Sent]) -> list[Sent]:
        queues = by_place(sent)
        topics = sorted({topic for topic, _ in queues}, key=lambda topic: (topic != "shop_incoming", topic))
        return [each for topic in topics for place, queue in queues.items() if place[0] == topic for each in queue]

    return Script(story.history(), deliver, changefeed=_TOPIC_PER_TABLE)


def _added_default(chance: random.Random) -> Script:
    story = Story(ORDERS)
    order_lives(story, chance, orders=8, cancelled=0.1)
    priority = str(chance.randrange(1, 9))
    story.ddl(10, f"alter table shop.orders add column priority int not null default {priority}")
    for number in range(50, 53):
        story.insert(11 + number / 10, "orders", order(chance, number, priority=str(chance.randrange(10, 99))))
    return Script(story.history())


def _registry_refusal(chance: random.Random) -> Script:
    story = Story(ORDERS)
    order_lives(story, chance, orders=6)
    sent = story.history()
    story.ddl(10, "alter table shop.orders add column warehouse varchar(20) not null")
    story.insert(11, "orders", order(chance, 50, warehouse=f"hall {chance.randrange(10)}"))
    return Script(story.history(), sent=sent)


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
