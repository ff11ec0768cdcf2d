"""Simple on a real Kafka: who knows only the bytes rebuilds the tables, from the beginning or from any BOOTSTRAP."""

from __future__ import annotations

import random
from typing import Any

import pytest

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka import KafkaSink
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.protocols.events import BootstrapEvent, DdlEvent, Event, RowEvent, WatermarkEvent
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing.kraft import KraftBroker

pytestmark = [pytest.mark.integration, pytest.mark.spark]

FIRST = 450_000_000_262_144_000
MS = 1 << 18
PARTITIONS = 8
TABLES = ("accounts", "orders", "visits")
SCHEMA = "".join(f"create table shop.{name} (id int primary key, v varchar(40), n decimal(8,2));" for name in TABLES)
ALTERED_AT = FIRST + 40_000 * MS
DDL = (ALTERED_AT, "alter table shop.orders add column tag varchar(9) default 'none'")
CHANGEFEED = {"sink": {"send-bootstrap-in-msg-count": 8, "send-bootstrap-interval-in-sec": 20}}
FORM = (
    "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>, "
    "query string"
)
Change = tuple[str, str, int, dict[str, Any] | None, dict[str, Any] | None]


def _history(seed: int) -> list[Change]:
    """Changes of three tables over 80 seconds of commit time: (table, op, commit_ts, before, after)."""
    chance, live, found = random.Random(seed), {name: {} for name in TABLES}, []
    for step in range(600):
        name, stamp = chance.choice(TABLES), FIRST + (step * 133 + 7) * MS
        rows: dict[int, dict[str, Any]] = live[name]
        key = chance.randrange(20)
        row = {"id": str(key), "v": chance.choice([None, "x<y>", f"né {step}"]), "n": f"{step % 100}.25"}
        if name == "orders" and stamp > ALTERED_AT:
            row["tag"] = chance.choice(["a", None])
            for old in rows.values():
                old.setdefault("tag", "none")
        before = rows.get(key)
        if before is None:
            found.append((name, "c", stamp, None, dict(row)))
            rows[key] = row
        elif chance.random() < 0.3:
            found.append((name, "d", stamp, dict(before), None))
            del rows[key]
        else:
            found.append((name, "u", stamp, dict(before), dict(row)))
            rows[key] = row
    return found


def _tables(history: list[Change], after: int = -1) -> dict[str, dict[tuple[str], dict[str, Any]]]:
    """What the changes behind a TSO leave, as the consumer shows it."""
    tables: dict[str, dict[tuple[str], dict[str, Any]]] = {name: {} for name in TABLES}
    for name, op, stamp, before, row in history:
        if stamp <= after:
            continue
        image = row if op != "d" else before
        assert image is not None
        key = (image["id"],)
        tables[name].pop(key, None)
        if op != "d":
            tables[name][key] = image | ({"tag": image.get("tag", "none")} if name == "orders" else {})
    return tables


def _shown(consumer: ReferenceConsumer, name: str) -> dict[Any, dict[str, Any]]:
    return dict(consumer.tables.get(("shop", name), {}))


@pytest.mark.parametrize("encoding", ["json", pytest.param("avro", marks=pytest.mark.slow)])
def test_a_consumer_rebuilds_the_tables(spark: Any, kraft: KraftBroker, encoding: Any) -> None:
    topic, history = f"simple-{encoding}", _history(7)
    uri = f"kafka://{kraft.bootstrap}/{topic}?protocol=simple&encoding-format={encoding}"
    sink = TicdcSink(f"{uri}&partition-num={PARTITIONS}&replication-factor=1", SCHEMA, changefeed=CHANGEFEED,
                     watermark_interval=1)  # fmt: skip
    rows: list[tuple[Any, ...]] = [
        ("shop", name, op, stamp, before, row, None) for name, op, stamp, before, row in history
    ]
    rows.append(("shop", None, "ddl", DDL[0], None, None, DDL[1]))
    rows.sort(key=lambda row: row[3])
    for batch, part in enumerate((rows[:250], rows[250:400], rows[400:])):
        sink(spark.createDataFrame(part, FORM), batch)
    sink.finish()

    read = reader_for(sink.config).read
    messages: dict[int, list[tuple[Message, Event]]] = {number: [] for number in range(PARTITIONS)}
    for record in read_topic(KafkaSink((kraft.bootstrap,)).connection_settings(), topic):
        messages[record.partition].append((record, read(record.key, record.value)))
    _check_watermarks(messages)
    consumer = _folded(sink.config, messages, dict.fromkeys(messages, 0))
    final = _tables(history)
    assert {name: _shown(consumer, name) for name in TABLES} == final
    assert consumer.skipped == 0

    chance = random.Random(encoding)
    for name in TABLES:
        places = _bootstraps(messages, name)
        assert len(places) > 3
        for start in chance.sample(places, 3):
            before = [
                event.commit_ts or 0
                for number, first in start.items()
                for _, event in messages[number][:first]
                if isinstance(event, RowEvent) and event.table == name
            ]
            later = _folded(sink.config, messages, start)
            assert _shown(later, name) == _tables(history, max(before, default=-1))[name]


def _folded(
    config: ChangefeedConfig, messages: dict[int, list[tuple[Message, Event]]], start: dict[int, int]
) -> ReferenceConsumer:
    """What is known of messages from these places on, without a catalog."""
    consumer = ReferenceConsumer(config, partitions={config.kafka.topic: PARTITIONS})
    for number, found in messages.items():
        for message, _ in found[start[number] :]:
            consumer.take(message)
    consumer.finish()
    return consumer


def _bootstraps(messages: dict[int, list[tuple[Message, Event]]], name: str) -> list[dict[int, int]]:
    """Return where each BOOTSTRAP of a table stands in every partition."""
    places = {
        number: [
            index for index, (_, event) in enumerate(found) if isinstance(event, BootstrapEvent) and event.table == name
        ]
        for number, found in messages.items()
    }
    assert len({len(found) for found in places.values()}) == 1
    return [dict(zip(places, each, strict=True)) for each in zip(*places.values(), strict=True)]


def _check_watermarks(messages: dict[int, list[tuple[Message, Event]]]) -> None:
    for found in messages.values():
        last, marks = -1, 0
        for _, event in found:
            if isinstance(event, WatermarkEvent):
                assert event.commit_ts > last
                last, marks = event.commit_ts, marks + 1
            elif isinstance(event, RowEvent | DdlEvent):
                assert (event.commit_ts or 0) > last
        assert marks >= 70
