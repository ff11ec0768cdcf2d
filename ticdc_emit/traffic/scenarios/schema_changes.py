"""Scenarios of schema changes: statements that are repeated, reordered or late, and rows of several versions.

In: a seeded source of chance. Out: a :class:`Script` for each kind in :data:`SCHEMA_CHANGES`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.config.protocols import spec_of
from ticdc_emit.protocols.events import DdlEvent, WatermarkEvent
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage, by_partition, interleave, redeliver
from ticdc_emit.traffic.scenarios.model import (
    CORRECTNESS,
    FEEDS,
    WITH_CHECKSUMS,
    WITH_DDL,
    WITH_DEFAULTS,
    ScenarioKind,
    Script,
)
from ticdc_emit.traffic.scenarios.order_history import ORDERS, HistoryBuilder, add_orders, new_order

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
        return [each for topic in topics for target, queue in queues.items() if target[0] == topic for each in queue]

    return Script(builder.history(), deliver, changefeed=_TOPIC_PER_TABLE)


def _ddl_before_checkpoint(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    left = add_orders(builder, chance, orders=6, cancelled=0.2)
    builder.ddl(10, f"alter table shop.orders add column points int not null default {chance.randrange(1, 9)}")
    row = left["1"]
    builder.update(11, "orders", {**row, "points": "9"}, {**row, "points": "10"})

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            statements = [each for each in messages if isinstance(each.event, DdlEvent)]
            others = [each for each in messages if each not in statements]
            for statement in statements:
                of_commit = WatermarkEvent, statement.event.commit_ts
                at = next(at for at, each in enumerate(others) if (type(each.event), each.event.commit_ts) == of_commit)
                others.insert(at + 1, statement)
            queues.append(others)
        return interleave(chance, queues)

    return Script(builder.history(), deliver)


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


def _checksum_after_ddl(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    rows = {number: new_order(chance, number) for number in range(1, 6)}
    for number, row in rows.items():
        builder.insert(number / 10, "orders", row)
        rows[number] = {**row, "state": "paid"}
        builder.update(number / 10 + 1, "orders", row, rows[number])
    builder.ddl(10, "alter table shop.orders add column gift varchar(20) not null default 'none'")
    for number in chance.sample(sorted(rows), 3):
        before = {**rows[number], "gift": "none"}
        rows[number] = {**before, "state": "shipped"}
        builder.update(11 + number / 10, "orders", before, rows[number])
    return Script(builder.history(), changefeed=CORRECTNESS)


def _precision_change(chance: random.Random) -> Script:
    builder = HistoryBuilder("create table shop.rates (id int primary key, rate decimal(10,2) not null)")
    rates = {str(number): f"{chance.randrange(1, 100)}.25" for number in range(1, 6)}
    for number, rate in rates.items():
        builder.insert(int(number), "rates", {"id": number, "rate": rate})
    builder.ddl(10, "alter table shop.rates modify column rate decimal(14,6) not null")
    for number, rate in rates.items():
        finer = f"{rate}0{chance.randrange(100, 1000)}"
        builder.update(10 + int(number), "rates", {"id": number, "rate": f"{rate}0000"}, {"id": number, "rate": finer})
    return Script(builder.history(), parameters={"avro-decimal-handling-mode": "precise"})


def _skipped_poison(chance: random.Random) -> Script:
    builder = HistoryBuilder("create table shop.counters (id int primary key, hits int not null)")
    rows: list[dict[str, str | None]] = [
        {"id": str(number), "hits": str(chance.randrange(1000, 2**31))} for number in range(1, 7)
    ]
    for at, row in enumerate(rows):
        builder.insert(1 + at / 10, "counters", row)
    builder.ddl(10, "alter table shop.counters modify column hits bigint not null")
    for at, row in enumerate(rows):
        grown = at % 2 * 2**31 + chance.randrange(1000)
        builder.update(11 + at / 10, "counters", row, {**row, "hits": str(int(row["hits"] or 0) // 2 + grown)})
    builder.insert(13, "counters", {"id": "7", "hits": str(2**40 + chance.randrange(1000))})
    return Script(builder.history())


SCHEMA_CHANGES = (
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
        "ddl-before-checkpoint",
        "pingcap/tiflow#4845: the watermark of a statement's commit_ts is sent before the statement",
        "that every statement comes before the watermark of its commit_ts",
        "The watermark of the ALTER TABLE arrives first, in every partition. The statement still takes effect, and "
        "older rows have the column's default.",
        WITH_DDL,
        _ddl_before_checkpoint,
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
        "checksum-after-ddl",
        "pingcap/tiflow#10966: after ADD COLUMN, the checksum of an old row is not that of the row as it was written",
        "that the previous checksum of an update is the current one of the row's last message",
        "The updates after the ALTER TABLE are intact: their previous checksum covers the column's default, too.",
        tuple(name for name in WITH_CHECKSUMS if spec_of(name).old_values),
        _checksum_after_ddl,
    ),
    ScenarioKind(
        "precision-change",
        "pingcap/tiflow#5554: decimals with another precision and scale come out as other numbers",
        "that the DECIMAL values of a topic have one scale",
        "DECIMAL(10,2) becomes DECIMAL(14,6). Each value is read with the schema that its message names.",
        ("avro",),
        _precision_change,
    ),
    ScenarioKind(
        "skipped-poison",
        "apache/flink FLINK-36549: ignore-parse-errors loses rows without a word",
        "that a message which does not fit the declared types can be skipped",
        "INT becomes BIGINT, and the rows whose numbers no longer fit INT are there with their new values.",
        FEEDS,
        _skipped_poison,
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
"""All scenarios of schema changes, in listing order."""
