"""Scenarios of delivery: messages that are repeated, late, or mixed between partitions and transactions."""

# ruff: noqa: RUF012 -- the attributes of a scenario are read, never changed

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import accumulate, groupby

from ticdc_emit.errors import TableRouteError
from ticdc_emit.protocols.events import RowEvent, WatermarkEvent
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage, by_partition, interleave, redeliver
from ticdc_emit.traffic.scenarios.model import FEEDS, WITH_DDL, ScenarioKind
from ticdc_emit.traffic.scenarios.orders import EVENTS, ORDERS, Step, events, insert, new_order, orders, tso_at

_BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}


class Redelivery(ScenarioKind, name="redelivery"):
    """Every partition repeats a part of its messages (1 2 3 2 3). The tables stay the same, because a repeated row
    replaces itself.
    """

    incident = "pingcap/ticdc#4051: a Kafka timeout; the changefeed restarts from its checkpoint"
    breaks = "that a message arrives exactly once, so an INSERT is always a new row"
    partitions, changefeed = 2, _BY_KEY

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 10)

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = []
        cancelled = {_id_of(each) for each in sent if _is(each, "delete")}
        for messages in by_partition(sent).values():
            inserts = [at for at, each in enumerate(messages) if _is(each, "insert") and _id_of(each) not in cancelled]
            start = chance.choice(inserts or [0])
            queues.append(redeliver(messages, start, chance.randrange(start, len(messages)) + 1))
        return interleave(chance, queues)


class BAB(ScenarioKind, name="b-a-b"):
    """The tables include rows that arrive for the first time after rows with a higher commit_ts."""

    incident = "pingcap/ticdc#5713: B is sent, the producer restarts and sends A and B"
    breaks = "that a row older than the table's newest row must be a duplicate"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 4)
        rows = [new_order(chance, first + number) for first in (100, 200) for number in range(chance.randrange(1, 4))]
        for number, row in enumerate(rows):
            yield 9.1 + number / 100, insert("orders", *row)

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        late = [at for at, each in enumerate(sent) if 100 <= _id_of(each) < 200]
        last = max(at for at, each in enumerate(sent) if isinstance(each.event, RowEvent))
        return [*sent[: late[0]], *sent[late[-1] + 1 : last + 1], *sent[late[0] :]]


class PartitionInterleave(ScenarioKind, name="partition-interleave"):
    """The rows of both physical partitions of a partitioned table are there, although one partition's rows come before
    older ones of the other.
    """

    incident = (
        "pingcap/ticdc#5508: offset 83 has commit_ts ...856 of one physical partition, offset 84 ...855 of another"
    )
    breaks = "that commit_ts rises with the offset within a table"
    schema = EVENTS

    def steps(self, chance: random.Random) -> Iterator[Step]:
        return events(chance, 4)

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        delivered = list(sent)
        marks = list(accumulate(isinstance(each.event, WatermarkEvent) for each in sent))
        for _, run in groupby(range(len(sent)), marks.__getitem__):
            positions = [at for at in run if isinstance(sent[at].event, RowEvent)]
            rows = [sent[at] for at in positions]
            behind = bool(rows) and _is_second(rows[0])  # the first physical partition is slower
            for at, each in zip(positions, sorted(rows, key=lambda each: _is_second(each) is behind), strict=True):
                delivered[at] = each
        return delivered


class RepeatedWatermark(ScenarioKind, name="repeated-watermark"):
    """Watermarks go back and are repeated, with the rows between them. The tables stay the same."""

    incident = "pingcap/tiflow#12595: a watermark that is sent again, or a lower one, ends the consumer"
    breaks = "that watermarks of a partition only rise"
    protocols = WITH_DDL
    partitions, changefeed = 2, _BY_KEY

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 8, seconds=8)

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = []
        for messages in by_partition(sent).values():
            marks = [at for at, each in enumerate(messages) if isinstance(each.event, WatermarkEvent)]
            at = chance.randrange(1, len(marks))
            queues.append(redeliver(messages, marks[chance.randrange(at)], marks[at] + 1))
        return interleave(chance, queues)


class SlowPartition(ScenarioKind, name="slow-partition"):
    """The tables include the rows of the partition that is read last, although the watermarks of the others passed them
    long ago.
    """

    incident = "pingcap/ticdc#1730: rows of one partition are judged by the watermark of another"
    breaks = "that the watermark of one partition holds for all"
    protocols = WITH_DDL
    partitions, changefeed = 3, _BY_KEY

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 18)

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = by_partition(sent)
        filled = [target for target, queue in queues.items() if any(isinstance(each.event, RowEvent) for each in queue)]
        slow = queues.pop(chance.choice(filled))
        # the others are read at the same pace
        return [*merge(*queues.values(), key=lambda each: (each.newest, isinstance(each.event, WatermarkEvent))), *slow]


class WanderingKey(ScenarioKind, name="wandering-key"):
    """The partition dispatcher is the column region, and updates change it. Each row has the values of its highest
    commit_ts, not of its last message.
    """

    incident = "apache/inlong#7900: changes of a row arrive from several partitions and overtake one another"
    breaks = "that the last message is the newest"
    schema = "create table shop.parcels (id int primary key, region varchar(20) not null, scans int not null)"
    partitions = 4
    changefeed = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["region"]}]}}

    def steps(self, chance: random.Random) -> Iterator[Step]:
        regions = ("africa", "america", "asia", "australia", "europe", "north", "south", "west")
        for number in range(1, 9):
            begins, *others = chance.sample(regions, 4)
            yield number / 10, insert("parcels", number, begins, 0)
            for scans, region in enumerate(others, 1):
                changed = f"update parcels set region = '{region}', scans = {scans} where id = {number}"
                yield number / 10 + scans, changed

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        queues = by_partition(sent)
        rows = (each for each in sent if isinstance(each.event, RowEvent))
        newest = max(rows, key=lambda each: each.event.commit_ts or 0)  # the key was in other partitions before
        ahead = queues.pop(newest.message[:2])
        return [*ahead, *interleave(chance, queues.values())]


class SharedCommitTs(ScenarioKind, name="shared-commit-ts"):
    """Transactions of different clerks have the same commit_ts. Each sale has the clerk of its own transaction."""

    incident = "pingcap/ticdc#6106: with async commit, 64 % of the transactions of 32 writers share a commit_ts"
    breaks = "that a commit_ts names one transaction"
    schema = """create table shop.shifts (id int primary key, clerk varchar(20) not null);
create table shop.sales (id int primary key, clerk varchar(20) not null, amount decimal(10,2) not null)"""

    def steps(self, chance: random.Random) -> Iterator[Step]:
        number = 0
        for at, transactions in enumerate([2, 3, 1, *(chance.randrange(1, 4) for _ in range(3))], 3):
            for clerk in chance.sample(("Ada", "Ben", "Cem", "Dora", "Eli", "Fay"), transactions):
                number += 1
                start = f"/* ticdc-emit: start_ts={tso_at(at / 2) - 1 - number} */ "
                yield at / 2, start + insert("shifts", number, clerk)
                for sale in range(chance.randrange(1, 3)):
                    amount = f"{chance.randrange(1, 100)}.50"
                    yield at / 2, start + insert("sales", f"{number}{sale}", clerk, amount)


class TwoSourcesOneTarget(ScenarioKind, name="two-sources-one-target"):
    """The producer gets a TableRouteError that names both sources, before it sends a row of the second one. The
    consumer has the rows of the first, under the name of the target.
    """

    incident = "pingcap/ticdc#6264: table routing gives tables of two databases one name"
    breaks = "that a table of the messages is one table of the source"
    schema = f"create database west;\n{ORDERS.replace('shop.', 'east.')}"
    changefeed = {"sink": {"dispatchers": [{"matcher": ["east.*", "west.*"], "target-schema": "shop"}]}}
    needs = dict.fromkeys(FEEDS, "target-schema")
    refused_at, refused = 10, TableRouteError

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 6, table="east.orders")
        yield 10, ORDERS.replace("shop.", "west.")
        for number in range(1, 7):
            yield 10 + number, insert("west.orders", *new_order(chance, number, "west"))


def _is(sent: SentMessage, op: str) -> bool:
    return isinstance(sent.event, RowEvent) and sent.event.op == op


def _is_second(sent: SentMessage) -> bool:
    event = sent.event
    return isinstance(event, RowEvent) and event.after is not None and int(event.after["bucket"]) >= 100


def _id_of(sent: SentMessage) -> int:
    event = sent.event
    return int((event.after or event.before or {})["id"]) if isinstance(event, RowEvent) else 0
