"""The consumer under test reads what an emulator of TiDB with TiCDC sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from orders import Orders, Row

from ticdc_emit import EmbeddedKafka
from ticdc_emit.testing import Emulator, EmulatorMaker, Sent

SCHEMA = Path(__file__).with_name("orders.sql").read_text(encoding="utf-8")
TOPIC = "shop_orders"


class Reader:
    """Feeds the consumer under test."""

    def __init__(self, kafka: Consumer) -> None:
        self._kafka = kafka
        self._next: dict[int, int] = {}
        self.orders = Orders()
        kafka.assign([TopicPartition(TOPIC, partition, 0) for partition in range(4)])

    def read(self, sent: Sent) -> None:
        """Poll until the consumer has all messages of a call."""
        ends = {each.partition: each.end_offset for each in sent.partitions if each.topic == TOPIC}
        while any(self._next.get(partition, 0) < end for partition, end in ends.items()):
            message = self._kafka.poll(20)
            assert message is not None, "not read after 20 s"
            self.orders.apply(message.value())
            self._next[message.partition()] = message.offset() + 1


@pytest.fixture
def emulator(ticdc_emulator: EmulatorMaker) -> Emulator:
    return ticdc_emulator(SCHEMA)


@pytest.fixture
def reader(emulator: Emulator, ticdc_kafka: EmbeddedKafka) -> Iterator[Reader]:
    settings = {"bootstrap.servers": ticdc_kafka.bootstrap, "group.id": "orders", "fetch.wait.max.ms": 20}
    with closing(Consumer(settings)) as kafka:
        yield Reader(kafka)


def expected(emulator: Emulator) -> dict[str, Row]:
    """Return the rows that TiDB has, by id."""
    return {row["id"]: row for row in emulator.tables()["shop", "orders"].values()}


def test_key_updates_ddl_and_redelivery(emulator: Emulator, reader: Reader) -> None:
    sent, _ = emulator.run_sql("""
        INSERT INTO shop.orders VALUES (1, 'new', 10.50), (2, 'new', 20);
        UPDATE shop.orders SET id = 3 WHERE id = 1;
        ALTER TABLE shop.orders ADD COLUMN note VARCHAR(20);
        INSERT INTO shop.orders VALUES (4, 'new', 7.25, 'gift');
        UPDATE shop.orders SET state = 'paid' WHERE id = 2;
    """)
    reader.read(sent)
    assert reader.orders.rows().keys() == {"2", "3", "4"}
    assert reader.orders.rows() == expected(emulator)

    reader.read(emulator.redeliver(6))  # TiCDC delivers at least once
    assert reader.orders.rows() == expected(emulator)
    reader.read(emulator.restart(transactions=3))  # as after a crash: the last three transactions again
    assert reader.orders.rows() == expected(emulator)


@pytest.mark.parametrize("number", range(1, 51))
def test_each_begins_with_empty_tables(number: int, emulator: Emulator, reader: Reader) -> None:
    sent, _ = emulator.run_sql(f"INSERT INTO shop.orders VALUES ({number}, 'new', 1)")
    reader.read(sent)
    assert reader.orders.rows() == {str(number): {"id": str(number), "state": "new", "total": "1.00"}}
