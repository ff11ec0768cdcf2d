"""The scenarios: histories and orders of arrival as in real incidents.

In: a seeded source of chance. Out: a :class:`Script` for each kind in :data:`KINDS`. Three groups follow each other:
deliveries that are repeated, late, or mixed between partitions; schema changes that are repeated, reordered, or refused
by the registry; values that are easily misread, or were damaged on the way.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.protocols.events import ChecksumMismatchError, DdlEvent, RowEvent, WatermarkEvent
from ticdc_emit.traffic.scenarios.delivery_order import (
    SentMessage,
    by_partition,
    interleave,
    merge_by_commit_ts,
    redeliver,
    rows_between_watermarks,
)
from ticdc_emit.traffic.scenarios.model import FEEDS, WITH_CHECKSUMS, WITH_DDL, WITH_DEFAULTS, ScenarioKind, Script
from ticdc_emit.traffic.scenarios.order_history import ORDERS, HistoryBuilder, add_orders, new_order

_BY_KEY = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
_BY_REGION = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["region"]}]}}
_REGIONS = ("africa", "america", "asia", "australia", "europe", "north", "south", "west")
_TOPIC_PER_TABLE = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}", "partition": "table"}]}}
_CORRECTNESS = {"integrity": {"integrity-check-level": "correctness"}}
_ZONES = {
    # a zone with a repeated hour, one with a skipped hour, one with neither
    "America/New_York": ("2024-11-03 01:30:00", "2024-03-10 01:59:59", "2024-03-10 03:00:00"),
    "Europe/Berlin": ("2024-10-27 02:30:00", "2024-03-31 01:59:59", "2024-03-31 03:00:00"),
    "Asia/Shanghai": ("2024-06-01 00:00:00", "2024-06-01 07:59:59", "2024-06-01 08:00:00"),
}


# -- deliveries ------------------------------------------------------------------------------------------------------


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
    builder = HistoryBuilder(
        "create table shop.events (id int not null, bucket int not null, note varchar(40), primary key (id, bucket)) "
        "partition by range (bucket) (partition p0 values less than (100), partition p1 values less than (200))"
    )
    physical = [partition.id for partition in builder.history().catalog().table("shop", "events").partitions]
    for number in range(1, 17):
        part = chance.randrange(2) if number > 2 else number % 2
        row: dict[str, str | None] = {"id": str(number), "bucket": str(100 * part + number), "note": "new"}
        builder.insert(number / 4, "events", row, physical_table_id=physical[part])
        if chance.random() < 0.5:
            after = {**row, "note": f"seen by {chance.randrange(1000)}"}
            builder.update(number / 4 + 0.1, "events", row, after, physical_table_id=physical[part])

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


def _is_second(sent: SentMessage) -> bool:
    """Return whether a row is of the second physical partition."""
    event = sent.event
    return isinstance(event, RowEvent) and event.after is not None and int(event.after["bucket"]) >= 100


def _id_of(sent: SentMessage) -> str | None:
    event = sent.event
    if not isinstance(event, RowEvent):
        return None
    return str((event.after or event.before or {}).get("id"))


# -- schema changes --------------------------------------------------------------------------------------------------


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


# -- values ----------------------------------------------------------------------------------------------------------


def _wrong_checksum(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    for number in range(1, 9):
        builder.insert(number, "orders", new_order(chance, number))

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        rows = [at for at, each in enumerate(sent) if isinstance(each.event, RowEvent)]
        damaged = chance.choice(rows)
        return [_damaged(each) if at == damaged else each for at, each in enumerate(sent)]

    return Script(builder.history(), deliver, changefeed=_CORRECTNESS, refusal=ChecksumMismatchError)


def _damaged(sent: SentMessage) -> SentMessage:
    """Flip one bit of the last digit of the customer's name, so that the value still fits its column."""
    event, value = sent.event, sent.message.value
    assert isinstance(event, RowEvent)
    assert event.after is not None
    assert value is not None
    text: bytes = event.after["customer"].encode()
    return sent._replace(message=sent.message._replace(value=value.replace(text, text[:-1] + bytes([text[-1] ^ 1]))))


def _tombstones(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    add_orders(builder, chance, orders=8, cancelled=0.5)
    for number in range(50, 54):
        row = new_order(chance, number)
        builder.insert(10 + number / 100, "orders", row)
        builder.delete(11 + number / 100, "orders", row)
        if number % 2:
            builder.insert(12 + number / 100, "orders", new_order(chance, number, state="again"))
    return Script(builder.history())


def _unsigned_extremes(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        "create table shop.counters (id bigint unsigned primary key, total bigint unsigned, small tinyint unsigned, "
        "medium mediumint unsigned, number int unsigned, flags bit(64))"
    )
    top = 2**64 - 1
    ids = [0, 2**63 - 1, 2**63, top - chance.randrange(1, 1000), top]
    for at, number in enumerate(ids):
        row: dict[str, str | None] = {
            "id": str(number),
            "total": str(top - at),
            "small": "255",
            "medium": "16777215",
            "number": str(2**32 - 1 - at),
            "flags": str(chance.choice((0, 2**63, top))),
        }
        builder.insert(1 + at, "counters", row)
        if at % 2:
            builder.update(2 + at, "counters", row, {**row, "total": str(2**63 + chance.randrange(1000))})
    return Script(builder.history())


def _time_zone_extremes(chance: random.Random) -> Script:
    zone = chance.choice(list(_ZONES))
    builder = HistoryBuilder(
        "create table shop.visits (id int primary key, at timestamp(6) not null, seen timestamp not null, "
        "local datetime(6) not null)",
        zone,
    )
    moments = [
        *_ZONES[zone],
        "1970-01-02 00:00:00",
        "2038-01-18 12:00:00",
        "2025-12-31 23:59:59",
        "2026-01-01 00:00:00",
    ]
    for number, moment in enumerate(moments, 1):
        fraction = f"{chance.randrange(10**6):06d}"
        row: dict[str, str | None] = {
            "id": str(number),
            "at": f"{moment}.{fraction}",
            "seen": moment,
            "local": f"{moment}.{fraction}",
        }
        builder.insert(number, "visits", row)
    return Script(builder.history())


def _null_text(chance: random.Random) -> Script:
    builder = HistoryBuilder("create table shop.notes (id int primary key, note varchar(20), label varchar(20))")
    texts: list[str | None] = ["null", "NULL", "", None, "\\N", "None"]
    chance.shuffle(texts)
    for number, text in enumerate(texts, 1):
        row = {"id": str(number), "note": text, "label": texts[number % len(texts)]}
        builder.insert(number, "notes", row)
        if text is None:
            builder.update(number + 0.5, "notes", row, {**row, "note": "null"})
    return Script(builder.history())


KINDS = (
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
    ScenarioKind(
        "wrong-checksum",
        "pingcap/tiflow#10573: a row and its checksum disagree",
        "that a readable row is the row that was sent",
        "One row was damaged on its way. The consumer raises ChecksumMismatchError; it does not have the damaged row.",
        WITH_CHECKSUMS,
        _wrong_checksum,
    ),
    ScenarioKind(
        "tombstones",
        "apache/flink FLINK-18700, risingwavelabs/risingwave#10389: a null value stops the consumer, or is ignored",
        "that every message has a value",
        "A delete is a key with a null value. The row is gone, unless it was inserted again later.",
        ("avro",),
        _tombstones,
    ),
    ScenarioKind(
        "unsigned-extremes",
        "pingcap/tiflow#4420: BIGINT UNSIGNED beyond 9223372036854775807 becomes another number",
        "that integers fit into 64 bits with a sign",
        "Values up to 18446744073709551615 are exact, also in keys.",
        FEEDS,
        _unsigned_extremes,
    ),
    ScenarioKind(
        "time-zone-extremes",
        "pingcap/tiflow#12243, risingwavelabs/risingwave#13682: TIMESTAMP values shifted by a time zone",
        "that every time is in UTC",
        "TIMESTAMP is in the changefeed's time zone, also around skipped and repeated hours; DATETIME has no zone.",
        FEEDS,
        _time_zone_extremes,
    ),
    ScenarioKind(
        "null-text",
        "pingcap/ticdc#3973: NULL and the text 'null' are confused",
        "that the text null is NULL",
        "NULL, '', 'null' and 'NULL' are four values.",
        FEEDS,
        _null_text,
    ),
)
"""All kinds of scenarios, in listing order."""
