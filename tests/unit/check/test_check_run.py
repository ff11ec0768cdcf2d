"""``check``: a right consumer passes, a wrong one fails with a small example, and the same seed makes the same ones."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any
from xml.etree import ElementTree

import pytest

from ticdc_emit.check.behaviours import BEHAVIOURS, chosen
from ticdc_emit.check.examples import Setting, feed_of_examples
from ticdc_emit.check.run import Run
from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.strategies import Delivery
from ticdc_emit.testing import check
from ticdc_emit.traffic.expected_tables import shown_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.scenarios.delivery_order import FAULTS, Fault, arrived, kinds_of

SCHEMA = "create table a.t (id int primary key, n int, s varchar(20))"
TSO = 445_644_800_000_000_000
HISTORY = History(
    SCHEMA,
    [
        {"schema": "a", "table": "t", "op": "insert", "commit_ts": TSO + number * (1 << 30), "before": None, "after":
            {"id": str(number), "n": None, "s": ""}}
        for number in range(12)
    ],
)  # fmt: skip


def right(arrival: Delivery) -> Any:
    consumer = arrival.consumer()
    consumer.take_all(arrival.messages)
    consumer.finish()
    return shown_tables(consumer.tables, consumer.version, arrival.config.codec.protocol.value)


def without_deletes(arrival: Delivery) -> Any:
    """Keeps every row that it has had: wrong where one is deleted."""
    tables: dict[Any, Any] = {}
    consumer = arrival.consumer()
    for message in arrival.messages:
        consumer.take(message)
        for name, rows in consumer.tables.items():
            tables.setdefault(name, {}).update(rows)
    consumer.finish()
    for name, rows in consumer.tables.items():
        tables[name] = tables.get(name, {}) | rows
    return tables


@pytest.mark.parametrize("protocol", ["canal-json", "simple-avro", "debezium-avro", "avro"])
def test_a_right_consumer_passes(protocol: str) -> None:
    names = ["type-integers", "add-column", "redelivery", "fault-restart", "fault-rebalance", "random-faults"]
    verdict = check(right, protocol=protocol, only=names, examples=3)
    assert verdict, str(verdict)
    states = Counter(each.state for each in verdict.outcomes)
    assert states["passed"] >= 5
    assert all(each.why for each in verdict.outcomes if each.state == "not applicable")


def test_a_wrong_one_fails_with_a_small_example_at_once() -> None:
    setting, said = Setting(feed_of_examples(), SCHEMA, seed=3), []
    run = Run(setting, lambda example: without_deletes(example.arrival), say_first=said.append)
    outcome = run.of(chosen(("random-faults",))[0], 30)
    failure = outcome.failure
    assert [each.example.behaviour for each in said] == [failure.example.behaviour]
    example = failure.example
    assert example.plan == ()  # no fault has a part in it
    assert len(example.arrival.history.rows) <= 3
    assert "delete" in [row["op"] for row in example.arrival.history.rows]
    assert failure.diagnosis.guilty in example.arrival.messages
    assert any("does not apply DELETE" in line for line in failure.lines())


def test_a_verdict_is_text_json_and_junit() -> None:
    verdict = check(without_deletes, schema=SCHEMA, only=["type-integers", "random", "checksum-after-ddl"], examples=20)
    assert [each.state for each in verdict.outcomes] == ["not applicable", "not applicable", "failed"]
    assert not verdict
    assert "must not be there" in str(verdict) or "a row too many" in str(verdict)
    said = json.loads(json.dumps(verdict.to_dict()))
    assert said["outcomes"][2]["failure"]["example"]["behaviour"] == "random"
    cases = ElementTree.fromstring(verdict.to_junit()).findall("testcase")
    assert [[child.tag for child in case] for case in cases] == [["skipped"], ["skipped"], ["failure"]]


def test_a_message_that_must_be_refused() -> None:
    def takes_all(arrival: Delivery) -> Any:
        return {}

    assert check(right, protocol="simple-json", only=["wrong-checksum"])
    verdict = check(takes_all, protocol="simple-json", only=["wrong-checksum"])
    assert "must refuse (ChecksumMismatchError)" in str(verdict)


def test_an_error_of_the_consumer_is_its_failure() -> None:
    def broken(arrival: Delivery) -> Any:
        raise KeyError("payload")

    assert "the consumer failed: KeyError: 'payload'" in str(check(broken, schema=SCHEMA, only=["random"], examples=2))


def test_what_is_not_tried_says_so() -> None:
    verdict = check(right, only=["faults"], seconds=0)
    assert {each.why for each in verdict.outcomes} == {"not tried: the time is over"}
    (decimals,) = check(right, protocol="debezium", only=["type-decimals"]).outcomes  # which are doubles there
    assert decimals.why == "the messages do not carry any of its examples"
    with pytest.raises(ConfigError, match=r"no behaviour 'redelivry'.*Did you mean redelivery"):
        check(right, only=["redelivry"])


def test_the_same_seed_makes_the_same_examples() -> None:
    def drawn(seed: int) -> list[str]:
        setting = Setting(feed_of_examples("simple"), seed=seed)
        return [each.to_json() for each in setting.drawn("random-faults", 3, tuple(FAULTS))]

    assert drawn(7) == drawn(7) != drawn(8)


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_lose_nothing_and_keep_the_order_of_what_is_new(kind: str) -> None:
    setting = Setting(feed_of_examples("canal-json"))
    assert kind in kinds_of(setting.config)
    example = setting.example(HISTORY, (Fault(kind, 5), Fault(kind, 6)), "fault", 1)
    config, plain = example.arrival.config, Delivery.of(HISTORY, example.arrival.feed)
    sent, schemas = plain.messages, plain.schemas
    came = arrived(sent, config, schemas, example.plan)
    assert came == example.arrival.messages
    assert arrived([], config, schemas, example.plan) == []  # of a history that shrinking has emptied
    for target in {(each.topic, each.partition) for each in sent}:
        before, after = (
            list(dict.fromkeys((each.key, each.value) for each in each_way if (each.topic, each.partition) == target))
            for each_way in (sent, came)
        )
        rows = [part for part in before if b'"WATERMARK' not in (part[1] or b"")]
        assert [part for part in after if part in rows] == rows
    assert kind == "held-watermark" or came != sent


def test_every_example_of_a_statement_has_it() -> None:
    setting = Setting(feed_of_examples("canal-json"))
    for behaviour in (each for each in BEHAVIOURS if each.group == "statements"):
        examples = list(behaviour.examples(setting, 1))
        assert len(examples) == 6 or (examples and behaviour.name == "drop-index")  # few tables have one to drop
        assert all(each.arrival.history.ddl for each in examples), behaviour.name


def test_every_behaviour_has_a_name_of_its_own() -> None:
    names = [each.name for each in BEHAVIOURS] + sorted({each.group for each in BEHAVIOURS})
    assert [name for name, count in Counter(names).items() if count > 1] == []


def test_a_row_of_messages_that_end_too_early_may_lack_a_column() -> None:
    info = catalog_from_sql("CREATE TABLE s.t (id INT PRIMARY KEY, c SET('a'))").table("s", "t")
    tables = {("s", "t"): {("1",): {"id": "1"}}}
    assert shown_tables(tables, lambda *_: info, "canal-json") == tables
