"""Scenarios of schema changes: statements that are repeated, reordered or late, and rows of several versions."""

# ruff: noqa: RUF012 -- the attributes of a scenario are read, never changed

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ticdc_emit.config.protocols import spec_of
from ticdc_emit.protocols.events import DdlEvent, WatermarkEvent
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage, by_partition, interleave, redeliver
from ticdc_emit.traffic.scenarios.model import CORRECTNESS, FEEDS, WITH_CHECKSUMS, WITH_DDL, ScenarioKind
from ticdc_emit.traffic.scenarios.orders import ORDERS, Step, insert, new_order, orders

_NEW_GIFT = "alter table shop.orders add column gift varchar(20) not null default 'none'"


class RepeatedDdl(ScenarioKind, name="repeated-ddl"):
    """Every partition with the ALTER TABLE repeats it. It takes effect once, and rows after it keep the values of its
    column.
    """

    incident = "pingcap/tiflow#12595: a replayed DDL is queued and run a second time"
    breaks = "that a statement arrives exactly once"
    protocols = WITH_DDL
    partitions = 2

    def steps(self, chance: random.Random) -> Iterator[Step]:
        left = yield from orders(chance, 6, cancelled=0.3)
        yield 10, _NEW_GIFT
        for at, number in enumerate(left):
            yield 11 + at / 10, f"update orders set gift = 'card {chance.randrange(100)}' where id = {number}"
        yield 13, insert("orders", *new_order(chance, 50), "box")

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            at = next((at for at, each in enumerate(messages) if isinstance(each.event, DdlEvent)), None)
            # each partition's producer goes back to the statement, sometimes further
            restart = len(messages) if at is None else chance.randrange(at + 1, len(messages)) + 1
            start = len(messages) if at is None else chance.randrange(max(0, at - 2), at + 1)
            queues.append(redeliver(messages, start, restart))
        return interleave(chance, queues)


class ReorderedDdl(ScenarioKind, name="reordered-ddl"):
    """orders becomes archive, then incoming becomes orders; each table has its own topic and the second statement
    arrives first. archive has the old rows, orders the new ones.
    """

    incident = "pingcap/ticdc#4454: statements of different tables are run in another order than upstream"
    breaks = "that statements arrive in the order of their commits"
    protocols = WITH_DDL
    schema = f"{ORDERS};\n{ORDERS.replace('shop.orders', 'shop.incoming')}"
    changefeed = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "table"}]}}

    def steps(self, chance: random.Random) -> Iterator[Step]:
        old = yield from orders(chance, 5)
        new = yield from orders(chance, 5, first=101, table="incoming")
        yield 10, "rename table shop.orders to shop.archive"
        yield 11, "rename table shop.incoming to shop.orders"
        for table, left in (("archive", old), ("orders", new)):
            for at, number in enumerate(left):
                yield 12 + at / 10, f"update {table} set state = 'checked' where id = {number}"

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = by_partition(sent)
        topics = sorted({topic for topic, _ in queues}, key=lambda topic: (topic != "shop_incoming", topic))
        return [each for topic in topics for target, queue in queues.items() if target[0] == topic for each in queue]


class DdlBeforeCheckpoint(ScenarioKind, name="ddl-before-checkpoint"):
    """The watermark of the ALTER TABLE arrives first, in every partition. The statement still takes effect, and older
    rows have the column's default.
    """

    incident = "pingcap/tiflow#4845: the watermark of a statement's commit_ts is sent before the statement"
    breaks = "that every statement comes before the watermark of its commit_ts"
    protocols = WITH_DDL

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 6)
        points = chance.randrange(1, 9)
        yield 10, f"alter table shop.orders add column points int not null default {points}"
        yield 11, "update orders set points = 10 where id = 1"

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
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


class AddedDefault(ScenarioKind, name="added-default"):
    """Rows from before the statement have the column's default, later rows their own values."""

    incident = "apache/paimon#2843: existing rows show NULL after ADD COLUMN ... DEFAULT"
    breaks = "that a new column is empty in old rows"
    protocols = tuple(name for name in FEEDS if spec_of(name).tells_defaults)

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 8, cancelled=0.1)
        yield 10, f"alter table shop.orders add column priority int not null default {chance.randrange(1, 9)}"
        for number in range(50, 53):
            priority = chance.randrange(10, 99)
            yield 11 + number / 10, insert("orders", *new_order(chance, number), priority)


class ChecksumAfterDdl(ScenarioKind, name="checksum-after-ddl"):
    """The updates after the ALTER TABLE are intact: their previous checksum covers the column's default, too."""

    incident = (
        "pingcap/tiflow#10966: after ADD COLUMN, the checksum of an old row is not that of the row as it was written"
    )
    breaks = "that the previous checksum of an update is the current one of the row's last message"
    protocols = tuple(name for name in WITH_CHECKSUMS if spec_of(name).old_values)
    changefeed = CORRECTNESS

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 6):
            yield number / 10, insert("orders", *new_order(chance, number))
            yield number / 10 + 1, f"update orders set state = 'paid' where id = {number}"
        yield 10, _NEW_GIFT
        for number in chance.sample(range(1, 6), 3):
            yield 11 + number / 10, f"update orders set state = 'shipped' where id = {number}"


class PrecisionChange(ScenarioKind, name="precision-change"):
    """DECIMAL(10,2) becomes DECIMAL(14,6). Each value is read with the schema that its message names."""

    incident = "pingcap/tiflow#5554: decimals with another precision and scale come out as other numbers"
    breaks = "that the DECIMAL values of a topic have one scale"
    protocols = ("avro",)
    schema = "create table shop.rates (id int primary key, rate decimal(10,2) not null)"
    parameters = {"avro-decimal-handling-mode": "precise"}

    def steps(self, chance: random.Random) -> Iterator[Step]:
        rates = [f"{chance.randrange(1, 100)}.25" for _ in range(5)]
        yield 10, "alter table shop.rates modify column rate decimal(14,6) not null"
        for number, rate in enumerate(rates, 1):
            yield number, insert("rates", number, rate)
            yield 10 + number, f"update rates set rate = {rate}0{chance.randrange(100, 1000)} where id = {number}"


class SkippedPoison(ScenarioKind, name="skipped-poison"):
    """INT becomes BIGINT, and the rows whose numbers no longer fit INT are there with their new values."""

    incident = "apache/flink FLINK-36549: ignore-parse-errors loses rows without a word"
    breaks = "that a message which does not fit the declared types can be skipped"
    schema = "create table shop.counters (id int primary key, hits int not null)"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        counts = [chance.randrange(1000, 2**31) for _ in range(6)]
        yield 10, "alter table shop.counters modify column hits bigint not null"
        for at, hits in enumerate(counts):
            yield 1 + at / 10, insert("counters", at + 1, hits)
            grown = hits // 2 + at % 2 * 2**31 + chance.randrange(1000)
            yield 11 + at / 10, f"update counters set hits = {grown} where id = {at + 1}"
        yield 13, insert("counters", 7, 2**40 + chance.randrange(1000))


class RegistryRefusal(ScenarioKind, name="registry-refusal"):
    """The producer gets an IncompatibleSchemaError that names the subject, before it sends a row of the new version.
    The consumer has the tables from before the statement.
    """

    incident = "pingcap/docs#19156: BACKWARD compatibility refuses a NOT NULL column without a default"
    breaks = "that all rows of a topic can be read with its newest schema"
    protocols = ("avro",)
    refused_at, rejects = 10, '"warehouse"'  # BACKWARD compatibility asks for a default

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 6)
        yield 10, "alter table shop.orders add column warehouse varchar(20) not null"
        hall = chance.randrange(10)
        yield 11, insert("orders", *new_order(chance, 50), f"hall {hall}")
