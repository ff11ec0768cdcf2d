"""Scenarios of single rows: values that are easily misread, rows in another shape, rows damaged on their way.

In: a seeded source of chance. Out: a :class:`Script` for each kind in :data:`ROWS`.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.config.protocols import Availability, spec_of
from ticdc_emit.protocols.events import ChecksumMismatchError, RowEvent
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage
from ticdc_emit.traffic.scenarios.model import CORRECTNESS, FEEDS, WITH_CHECKSUMS, ScenarioKind, Script
from ticdc_emit.traffic.scenarios.order_history import ORDERS, HistoryBuilder, add_orders, new_order

_EXACT = "debezium-decimal-handling-mode"
_ZONES = {
    # a zone with a repeated hour, one with a skipped hour, one with neither
    "America/New_York": ("2024-11-03 01:30:00", "2024-03-10 01:59:59", "2024-03-10 03:00:00"),
    "Europe/Berlin": ("2024-10-27 02:30:00", "2024-03-31 01:59:59", "2024-03-31 03:00:00"),
    "Asia/Shanghai": ("2024-06-01 00:00:00", "2024-06-01 07:59:59", "2024-06-01 08:00:00"),
}


def _wrong_checksum(chance: random.Random) -> Script:
    builder = HistoryBuilder(ORDERS)
    for number in range(1, 9):
        builder.insert(number, "orders", new_order(chance, number))

    def deliver(sent: Sequence[SentMessage]) -> list[SentMessage]:
        rows = [at for at, each in enumerate(sent) if isinstance(each.event, RowEvent)]
        damaged = chance.choice(rows)
        return [_damaged(each) if at == damaged else each for at, each in enumerate(sent)]

    return Script(builder.history(), deliver, changefeed=CORRECTNESS, refusal=ChecksumMismatchError)


def _damaged(sent: SentMessage) -> SentMessage:
    """Flip one bit of the last digit of the customer's name, so that the value still fits its column."""
    event, value = sent.event, sent.message.value
    assert isinstance(event, RowEvent)
    assert event.after is not None
    assert value is not None
    text: bytes = event.after["customer"].encode()
    return sent._replace(message=sent.message._replace(value=value.replace(text, text[:-1] + bytes([text[-1] ^ 1]))))


def _checksum_time_zone(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        f"{ORDERS};\n"
        "create table shop.visits (id int primary key, seen timestamp(3) not null, local datetime not null)",
        chance.choice(("America/New_York", "Asia/Shanghai")),
    )
    for number in range(1, 6):
        builder.insert(number, "orders", new_order(chance, number))
        moment = f"2025-06-15 {chance.randrange(24):02d}:00:00"
        row: dict[str, str | None] = {"id": str(number), "seen": f"{moment}.125", "local": moment}
        builder.insert(number + 0.5, "visits", row)
    return Script(builder.history(), changefeed=CORRECTNESS)


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


def _clustered_pk_update(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        "create table shop.seats (id int primary key, guest varchar(20) not null);\n"
        "create table shop.tables (id int primary key nonclustered, guest varchar(20) not null)"
    )
    for number in range(1, 6):
        row: dict[str, str | None] = {"id": str(number), "guest": f"guest {chance.randrange(1000)}"}
        moved = {**row, "id": str(100 + number)}  # update ... set id = id + 100
        builder.insert(number / 10, "seats", row)
        builder.insert(number / 10, "tables", row)
        builder.delete(number, "seats", row)  # TiKV has the rows of a clustered key under that key
        builder.insert(number, "seats", moved)
        builder.update(number, "tables", row, moved)
    return Script(builder.history(), changefeed={"sink": {"kafka-config": {"output-raw-change-event": True}}})


def _too_large_for_topic(chance: random.Random) -> Script:
    builder = HistoryBuilder("create table shop.pages (id int primary key, title varchar(20) not null, body text)")
    large = set(chance.sample(range(1, 9), 4))
    for number in range(1, 9):
        row: dict[str, str | None] = {"id": str(number), "title": "new", "body": "short"}
        if number in large:
            row["body"] = "".join(chance.choices("abcdefgh ", k=chance.randrange(5000, 6000)))
        builder.insert(number / 10, "pages", row)
        if number % 2:
            builder.update(1 + number / 10, "pages", row, {**row, "title": f"edition {chance.randrange(2, 9)}"})
    handle = {"large-message-handle-option": "handle-key-only"}
    return Script(
        builder.history(),
        parameters={"max-message-bytes": "4096"},
        changefeed={"sink": {"kafka-config": {"large-message-handle": handle}}},
    )


def _float_decimal(chance: random.Random) -> Script:
    builder = HistoryBuilder(
        "create table shop.balances (id int primary key, amount decimal(30,10) not null, price decimal(10,2) not null)"
    )
    for number in range(1, 7):
        digits = f"{chance.randrange(1, 10)}{chance.randrange(10**18):018d}"
        row: dict[str, str | None] = {
            "id": str(number),
            "amount": f"{digits}.{chance.randrange(10**9):09d}1",
            "price": f"{chance.randrange(1000)}.99",
        }
        builder.insert(number, "balances", row)
        if number % 2:
            builder.update(number + 0.5, "balances", row, {**row, "amount": f"-{row['amount']}"})
    return Script(builder.history(), parameters={_EXACT: "string"})


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


ROWS = (
    ScenarioKind(
        "wrong-checksum",
        "pingcap/tiflow#10573: a row and its checksum disagree",
        "that a readable row is the row that was sent",
        "One row was damaged on its way. The consumer raises ChecksumMismatchError; it does not have the damaged row.",
        WITH_CHECKSUMS,
        _wrong_checksum,
    ),
    ScenarioKind(
        "checksum-time-zone",
        "pingcap/tiflow#10573, pingcap/tiflow#10705: rows with a TIMESTAMP fail the check of their checksum",
        "that a checksum covers a TIMESTAMP as its message shows it",
        "All rows are intact: TiDB computes the checksum of a TIMESTAMP in UTC, whatever the time zone of its text.",
        WITH_CHECKSUMS,
        _checksum_time_zone,
    ),
    ScenarioKind(
        "clustered-pk-update",
        "pingcap/tiflow#6269: the same UPDATE of a primary key comes as one update, or as a delete and an insert",
        "that an update does not change the key of its row",
        "With output-raw-change-event, a clustered key moves as a delete and an insert, another key as one update. "
        "Both tables have each row once, under its new key.",
        tuple(name for name in FEEDS if spec_of(name).old_values),
        _clustered_pk_update,
    ),
    ScenarioKind(
        "too-large-for-topic",
        "pingcap/tiflow#12231: a row larger than what its topic takes",
        "that every message has the whole row",
        "A large row comes with its handle key alone (handle-key-only). The consumer takes its other columns from the "
        "source: Scenario.lookup.",
        tuple(name for name in FEEDS if spec_of(name).large_messages is not Availability.NEVER),
        _too_large_for_topic,
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
        "float-decimal",
        "pingcap/tidb#64864: DECIMAL arrives as a double, and loses digits",
        "that a double holds a DECIMAL",
        "Values of 30 digits are exact. In Debezium TiCDC sends doubles, unless a newer release has "
        "debezium-decimal-handling-mode=string.",
        FEEDS,
        _float_decimal,
        {"debezium": _EXACT},
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
"""All scenarios of single rows, in listing order."""
