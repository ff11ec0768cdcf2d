"""Which topics ``tail`` and ``verify`` read, and what they say if those are not what they are taken for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from child import exit_code

from ticdc_emit import Encoder
from ticdc_emit.cli.topic_source import TopicChoice
from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.consume.readers import guess_protocol
from ticdc_emit.delivery.base import Message
from ticdc_emit.errors import UnknownTopicError
from ticdc_emit.routing.topics import TopicExpression
from ticdc_emit.testing import EmbeddedKafka
from ticdc_emit.traffic.scenarios import FEEDS, scenario

_DISPATCHED = """
[sink]
dispatchers = [{ matcher = ["*.*"], topic = "{schema}_{table}" }]
"""


@pytest.fixture(scope="module")
def kafka() -> Iterator[EmbeddedKafka]:
    with EmbeddedKafka() as running:
        yield running


@pytest.fixture
def changefeed(tmp_path: Path) -> str:
    file = tmp_path / "changefeed.toml"
    file.write_text(_DISPATCHED, encoding="utf-8")
    return str(file)


def send(kafka: EmbeddedKafka, topic: str, protocol: str = "canal-json", rows: int = 3) -> None:
    """Put messages of a scenario into a topic."""
    made = scenario("redelivery", protocol=protocol)
    messages = [message._replace(topic=topic, partition=0) for message in made.messages[:rows]]
    replace(made, messages=messages, partitions={topic: None}).send(kafka.sink())


@pytest.mark.parametrize(
    ("text", "topics", "others"),
    [
        ("orders", ["orders"], ["orders_1", "order"]),
        ("{schema}_{table}", ["shop_orders", "a_b_c", "a.b_c"], ["shop", "_schemas", "shop_"]),
        ("cdc.{schema}", ["cdc.shop"], ["cdcxshop", "cdc."]),
        ("{table}-x", ["orders-x"], ["orders-y", "-x"]),
    ],
)
def test_a_topic_expression_knows_its_topics(text: str, topics: list[str], others: list[str]) -> None:
    expression = TopicExpression.parse(text, Protocol.CANAL_JSON)
    assert [topic for topic in topics + others if expression.matches(topic)] == topics


def test_topics_are_chosen_among_those_that_exist() -> None:
    existing = ["shop_orders", "__consumer_offsets", "other", "default"]
    expressions = (TopicExpression("{schema}_{table}"),)
    assert TopicChoice((), "default", expressions).among(existing) == ["default", "shop_orders"]
    assert TopicChoice((), "gone", expressions).among(existing) == ["shop_orders"]
    assert TopicChoice(("other", "other"), "default", expressions).among(existing) == ["other"]
    with pytest.raises(UnknownTopicError, match=r"the topic shop_order does not exist .*Did you mean shop_orders\? "):
        TopicChoice(("shop_order",)).among(existing)
    with pytest.raises(UnknownTopicError, match=r"gone does not exist, and no topic matches x_\{table\} .*and 2 more"):
        TopicChoice((), "gone", (TopicExpression("x_{table}"),)).among([f"t{number}" for number in range(12)])
    with pytest.raises(UnknownTopicError, match="There are no topics yet"):
        TopicChoice(("t",)).among([])


@pytest.mark.parametrize("feed", FEEDS)
def test_the_protocol_of_messages(feed: str) -> None:
    made = scenario("redelivery", protocol=feed)
    assert {guess_protocol(message) for message in made.messages} == {feed}
    assert made.config.codec.form == feed


@pytest.mark.parametrize("value", [None, b"", b"{}", b"[1]", b'{"type":1}', b"\0\0\0\0\1", b"\xff" * 40, b"null"])
def test_what_is_not_clear_is_not_guessed(value: bytes | None) -> None:
    assert guess_protocol(Message("t", 0, 0, b"", value)) is None


def test_debezium_without_schema_is_debezium() -> None:
    encoder = Encoder(
        "memory://d?protocol=debezium&debezium-disable-schema=true", "create table s.t (id int primary key)"
    )
    batch = encoder.encode([{"op": "c", "commit_ts": 450000000262144000, "after": {"id": 1}}]).to_pylist()[0]
    assert guess_protocol(Message("t", 0, 0, batch["key"], batch["value"])) == "debezium"


def test_the_topics_of_the_dispatchers_are_read(
    kafka: EmbeddedKafka, changefeed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for topic in ("shop_a", "shop_b"):
        send(kafka, topic)
    place = ["--sink-uri", f"kafka://{kafka.bootstrap}/nowhere?protocol=canal-json", "--config", changefeed]
    assert exit_code("tail", *place) == 0
    lines = capsys.readouterr().out.splitlines()
    assert sorted(line.partition("/")[0] for line in lines) == ["shop_a"] * 3 + ["shop_b"] * 3
    exit_code("verify", *place, "--json")
    told = json.loads(capsys.readouterr().out)
    assert told["partitions"].keys() == {"shop_a", "shop_b"}
    assert "unreadable" not in told["messages"]

    send(kafka, "shop_c", protocol="debezium")
    assert exit_code("tail", *place) == 0
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 6
    assert shown.err == "topic shop_c is left out: its messages look like debezium, not like canal-json\n"


def test_a_topic_that_is_not_there(kafka: EmbeddedKafka, capsys: pytest.CaptureFixture[str]) -> None:
    send(kafka, "there")
    for command in ("tail", "verify"):
        assert exit_code(command, "--brokers", kafka.bootstrap, "--topic", "their", "--protocol", "simple") == 2
        told = capsys.readouterr().err
        assert "the topic their does not exist" in told
        assert "Did you mean there?" in told
        assert "auto-create-topic" not in told


def test_an_empty_topic_is_named(kafka: EmbeddedKafka, capsys: pytest.CaptureFixture[str]) -> None:
    kafka.sink().prepare({"empty": None})
    place = ["--brokers", kafka.bootstrap, "--topic", "empty", "--protocol", "canal-json"]
    assert exit_code("tail", *place) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "no messages in empty\n")
    assert exit_code("verify", *place) == 1
    assert capsys.readouterr().out == "no messages in empty: nothing was checked\n"
    send(kafka, "filled")
    assert exit_code("tail", *place, "--topic", "filled", "--table", "no.such") == 0
    assert capsys.readouterr().err == "no message in empty, filled matches --table or --op (3 read)\n"


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_a_wrong_protocol_is_told_once(
    command: str, kafka: EmbeddedKafka, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    send(kafka, "changes", protocol="debezium")
    place = [command, "--brokers", kafka.bootstrap, "--topic", "changes"]
    assert exit_code(*place, "--protocol", "canal-json") == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == (
        "ticdc-emit: error: the messages of topic changes look like debezium, not like canal-json [option='protocol']. "
        "Use --protocol debezium\n"
    )
    uri = f"kafka://{kafka.bootstrap}/changes?protocol=simple"
    assert exit_code(command, "--sink-uri", uri) == 2
    assert "Set protocol=debezium in the sink URI" in capsys.readouterr().err
    assert exit_code(*place, "--protocol", "debezium") in (0, 1)


def test_tail_finds_the_schemas_of_simple(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    uri = f"file://{tmp_path}?protocol=simple&partition-num=3"
    assert exit_code("scenario", "slow-partition", "--protocol", "simple-json", "--sink-uri", uri) == 0
    capsys.readouterr()
    shown = set()
    for option in (["--from", "newest 3"], ["--from", "newest:3"], ["--last", "3"]):
        assert exit_code("tail", "--sink-uri", uri, *option, "--json") == 0
        shown.add(capsys.readouterr().out)
    (same,) = shown
    newest = [json.loads(line) for line in same.splitlines()]
    assert exit_code("tail", "--sink-uri", uri, "--last", "3", "--from", "beginning") == 2
    assert "either --last or --from" in capsys.readouterr().err
    assert exit_code("tail", "--sink-uri", uri, "--from", "beginning", "--json") == 0
    every = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    rows = [line for line in newest if line["op"] in ("insert", "update", "delete")]
    assert rows
    assert all(line["key"] for line in rows)
    assert all(line in every for line in newest)


def test_rows_of_simple_that_no_message_explains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = load_changefeed("memory://d?protocol=simple")
    encoder = Encoder(config, "create table s.t (id int primary key, v varchar(9), w int)")
    change = {"op": "u", "before": {"id": 7, "v": "a", "w": 5}, "after": {"id": 7, "v": "b", "w": 5}}
    value = encoder.encode([{"commit_ts": 450000000262144000, **change}]).to_pylist()[0]["value"]
    folder = tmp_path / "t"
    folder.mkdir()
    line = json.dumps({"key": "", "value": value.decode()})
    (folder / "00000.jsonl").write_text(line + "\n", encoding="utf-8")
    assert exit_code("tail", str(tmp_path), "--protocol", "simple") == 0
    assert capsys.readouterr().out.endswith(" update s.t id='7' v: 'a' -> 'b' w='5'\n")
