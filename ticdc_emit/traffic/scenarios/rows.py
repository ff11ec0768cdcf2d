"""Scenarios of single rows: values that are easily misread, rows in another shape, rows damaged on their way."""

# ruff: noqa: RUF012 -- the attributes of a scenario are read, never changed

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from ticdc_emit.config.protocols import Availability, spec_of
from ticdc_emit.protocols.events import ChecksumMismatchError, RowEvent
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage
from ticdc_emit.traffic.scenarios.model import CORRECTNESS, FEEDS, WITH_CHECKSUMS, ScenarioKind
from ticdc_emit.traffic.scenarios.orders import ORDERS, Step, history_of, insert, new_order, orders

_EXACT = "debezium-decimal-handling-mode"


class WrongChecksum(ScenarioKind, name="wrong-checksum"):
    """One row was damaged on its way. The consumer raises ChecksumMismatchError; it does not have the damaged row."""

    incident = "pingcap/tiflow#10573: a row and its checksum disagree"
    breaks = "that a readable row is the row that was sent"
    protocols = WITH_CHECKSUMS
    changefeed = CORRECTNESS
    refusal = ChecksumMismatchError

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 9):
            yield number, insert("orders", *new_order(chance, number))

    def deliver(self, sent: Sequence[SentMessage], chance: random.Random) -> list[SentMessage]:
        damaged = chance.choice([at for at, each in enumerate(sent) if isinstance(each.event, RowEvent)])
        return [_damaged(each) if at == damaged else each for at, each in enumerate(sent)]


def _damaged(sent: SentMessage) -> SentMessage:
    """Flip one bit of the last digit of the customer's name, so that the value still fits its column."""
    event, value = sent.event, sent.message.value
    assert isinstance(event, RowEvent)
    assert event.after is not None
    assert value is not None
    text: bytes = event.after["customer"].encode()
    return sent._replace(message=sent.message._replace(value=value.replace(text, text[:-1] + bytes([text[-1] ^ 1]))))


class ChecksumTimeZone(ScenarioKind, name="checksum-time-zone"):
    """All rows are intact: TiDB computes the checksum of a TIMESTAMP in UTC, whatever the time zone of its text."""

    incident = "pingcap/tiflow#10573, pingcap/tiflow#10705: rows with a TIMESTAMP fail the check of their checksum"
    breaks = "that a checksum covers a TIMESTAMP as its message shows it"
    protocols = WITH_CHECKSUMS
    schema = f"""{ORDERS};
create table shop.visits (id int primary key, seen timestamp(3) not null, local datetime not null)"""
    changefeed = CORRECTNESS

    def history(self, chance: random.Random) -> History:
        zone = chance.choice(("America/New_York", "Asia/Shanghai"))
        return history_of(self.schema, self.steps(chance), zone)

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 6):
            yield number, insert("orders", *new_order(chance, number))
            moment = f"2025-06-15 {chance.randrange(24):02d}:00:00"
            yield number + 0.5, insert("visits", number, f"{moment}.125", moment)


class ClusteredPkUpdate(ScenarioKind, name="clustered-pk-update"):
    """With output-raw-change-event, a clustered key moves as a delete and an insert, another key as one update. Both
    tables have each row once, under its new key.
    """

    incident = "pingcap/tiflow#6269: the same UPDATE of a primary key comes as one update, or as a delete and an insert"
    breaks = "that an update does not change the key of its row"
    protocols = tuple(name for name in FEEDS if spec_of(name).old_values)
    schema = """create table shop.seats (id int primary key, guest varchar(20) not null);
create table shop.tables (id int primary key nonclustered, guest varchar(20) not null)"""
    changefeed = {"sink": {"kafka-config": {"output-raw-change-event": True}}}

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 6):
            guest = f"guest {chance.randrange(1000)}"
            for table in ("seats", "tables"):
                yield number / 10, insert(table, number, guest)
                yield number, f"update {table} set id = id + 100 where id = {number}"


class TooLargeForTopic(ScenarioKind, name="too-large-for-topic"):
    """A large row comes with its handle key alone (handle-key-only). The consumer takes its other columns from the
    source: Scenario.lookup.
    """

    incident = "pingcap/tiflow#12231: a row larger than what its topic takes"
    breaks = "that every message has the whole row"
    protocols = tuple(name for name in FEEDS if spec_of(name).large_messages is not Availability.NEVER)
    schema = "create table shop.pages (id int primary key, title varchar(20) not null, body text)"
    parameters = {"max-message-bytes": "4096"}
    asks_source = True
    changefeed = {
        "sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "handle-key-only"}}}
    }

    def steps(self, chance: random.Random) -> Iterator[Step]:
        large = chance.sample(range(1, 9), 4)
        for number in range(1, 9):
            body = "short"
            if number in large:
                body = "".join(chance.choices("abcdefgh ", k=chance.randrange(5000, 6000)))
            yield number / 10, insert("pages", number, "new", body)
            if number % 2:
                title = f"edition {chance.randrange(2, 9)}"
                yield 1 + number / 10, f"update pages set title = '{title}' where id = {number}"


class Tombstones(ScenarioKind, name="tombstones"):
    """A delete is a key with a null value. The row is gone, unless it was inserted again later."""

    incident = (
        "apache/flink FLINK-18700, risingwavelabs/risingwave#10389: a null value stops the consumer, or is ignored"
    )
    breaks = "that every message has a value"
    protocols = ("avro",)

    def steps(self, chance: random.Random) -> Iterator[Step]:
        yield from orders(chance, 8, cancelled=0.5)
        for number in range(50, 54):
            yield 10 + number / 100, insert("orders", *new_order(chance, number))
            yield 11 + number / 100, f"delete from orders where id = {number}"
            if number % 2:
                yield 12 + number / 100, insert("orders", *new_order(chance, number, "again"))


class FloatDecimal(ScenarioKind, name="float-decimal"):
    """Values of 30 digits are exact. In Debezium TiCDC sends doubles, unless a newer release has
    debezium-decimal-handling-mode=string.
    """

    incident = "pingcap/tidb#64864: DECIMAL arrives as a double, and loses digits"
    breaks = "that a double holds a DECIMAL"
    schema = (
        "create table shop.balances (id int primary key, amount decimal(30,10) not null, price decimal(10,2) not null)"
    )
    parameters = {_EXACT: "string"}
    needs = {"debezium": _EXACT}

    def steps(self, chance: random.Random) -> Iterator[Step]:
        for number in range(1, 7):
            digits = f"{chance.randrange(1, 10)}{chance.randrange(10**18):018d}"
            amount = f"{digits}.{chance.randrange(10**9):09d}1"
            yield number, insert("balances", number, amount, f"{chance.randrange(1000)}.99")
            if number % 2:
                yield number + 0.5, f"update balances set amount = -{amount} where id = {number}"


class UnsignedExtremes(ScenarioKind, name="unsigned-extremes"):
    """Values up to 18446744073709551615 are exact, also in keys."""

    incident = "pingcap/tiflow#4420: BIGINT UNSIGNED beyond 9223372036854775807 becomes another number"
    breaks = "that integers fit into 64 bits with a sign"
    schema = (
        "create table shop.counters (id bigint unsigned primary key, total bigint unsigned, small tinyint unsigned, "
        "medium mediumint unsigned, number int unsigned, flags bit(64))"
    )

    def steps(self, chance: random.Random) -> Iterator[Step]:
        top = 2**64 - 1
        for at, number in enumerate([0, 2**63 - 1, 2**63, top - chance.randrange(1, 1000), top]):
            flags = chance.choice((0, 2**63, top))
            yield 1 + at, insert("counters", number, top - at, 255, 2**24 - 1, 2**32 - 1 - at, flags)
            if at % 2:
                yield 2 + at, f"update counters set total = {2**63 + chance.randrange(1000)} where id = {number}"


class TimeZoneExtremes(ScenarioKind, name="time-zone-extremes"):
    """TIMESTAMP is in the changefeed's time zone, also around skipped and repeated hours; DATETIME has no zone."""

    incident = "pingcap/tiflow#12243, risingwavelabs/risingwave#13682: TIMESTAMP values shifted by a time zone"
    breaks = "that every time is in UTC"
    schema = (
        "create table shop.visits (id int primary key, at timestamp(6) not null, seen timestamp not null, "
        "local datetime(6) not null)"
    )

    def history(self, chance: random.Random) -> History:
        zone, *moments = chance.choice(
            (  # a zone with a repeated hour, one with a skipped hour, one with neither
                ("America/New_York", "2024-11-03 01:30:00", "2024-03-10 01:59:59", "2024-03-10 03:00:00"),
                ("Europe/Berlin", "2024-10-27 02:30:00", "2024-03-31 01:59:59", "2024-03-31 03:00:00"),
                ("Asia/Shanghai", "2024-06-01 00:00:00", "2024-06-01 07:59:59", "2024-06-01 08:00:00"),
            )
        )
        moments += ["1970-01-02 00:00:00", "2038-01-18 12:00:00", "2025-12-31 23:59:59", "2026-01-01 00:00:00"]
        steps = list[Step]()
        for number, moment in enumerate(moments, 1):
            exact = f"{moment}.{chance.randrange(10**6):06d}"
            steps.append((number, insert("visits", number, exact, moment, exact)))
        return history_of(self.schema, steps, zone)


class NullText(ScenarioKind, name="null-text"):
    """NULL, '', 'null' and 'NULL' are four values."""

    incident = "pingcap/ticdc#3973: NULL and the text 'null' are confused"
    breaks = "that the text null is NULL"
    schema = "create table shop.notes (id int primary key, note varchar(20), label varchar(20))"

    def steps(self, chance: random.Random) -> Iterator[Step]:
        texts = ["null", "NULL", "", None, "\\N", "None"]
        chance.shuffle(texts)
        for number, text in enumerate(texts, 1):
            yield number, insert("notes", number, text, texts[number % len(texts)])
            if text is None:
                yield number + 0.5, f"update notes set note = 'null' where id = {number}"
