"""Scenarios of values that are easily misread, or that were damaged on the way.

In: a seeded source of chance. Out: a :class:`Script` for each.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from ticdc_emit.protocols.events import ChecksumMismatchError, RowEvent
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage
from ticdc_emit.traffic.scenarios.model import FEEDS, WITH_CHECKSUMS, ScenarioKind, Script
from ticdc_emit.traffic.scenarios.order_history import ORDERS, HistoryBuilder, add_orders, new_order

__all__ = ["VALUES"]

_CORRECTNESS = {"integrity": {"integrity-check-level": "correctness"}}
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


VALUES = (
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
"""In listing order."""
