"""``tail``, ``verify`` and ``scenario`` as a user runs them, on files and on Kafka; which topics they read."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from child import Cli, exit_code

from ticdc_emit import Encoder
from ticdc_emit.cli.topics import TopicChoice, TopicSource
from ticdc_emit.config import load_changefeed
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.consume.readers import guess_protocol
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.files import FileSink
from ticdc_emit.errors import DeliveryError, UnknownTopicError
from ticdc_emit.routing.topics import TopicExpression
from ticdc_emit.testing import EmbeddedKafka
from ticdc_emit.traffic.scenarios.files import file_scenarios
from ticdc_emit.traffic.scenarios.library import scenario, scenarios
from ticdc_emit.traffic.scenarios.model import FEEDS, Scenario

_DISPATCHED = """
[sink]
dispatchers = [{ matcher = ["*.*"], topic = "{schema}_{table}" }]
"""


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


def test_the_topics_of_the_dispatchers_are_read(kafka: EmbeddedKafka, changefeed: str, cli: Cli) -> None:
    for topic in ("shop_a", "shop_b"):
        send(kafka, topic)
    place = ["--sink-uri", f"kafka://{kafka.bootstrap}/nowhere?protocol=canal-json", "--config", changefeed]
    lines = cli("tail", *place).out.splitlines()
    assert sorted(line.partition("/")[0] for line in lines) == ["shop_a"] * 3 + ["shop_b"] * 3
    told = cli("verify", *place, "--json").json
    assert told["partitions"].keys() == {"shop_a", "shop_b"}
    assert "unreadable" not in told["messages"]

    send(kafka, "shop_c", protocol="debezium")
    shown = cli("tail", *place)
    assert len(shown.out.splitlines()) == 6
    assert shown.err == "topic shop_c is left out: its messages look like debezium, not like canal-json\n"


def test_a_topic_that_is_not_there(kafka: EmbeddedKafka, cli: Cli) -> None:
    send(kafka, "there")
    for command in ("tail", "verify"):
        told = cli(command, "--brokers", kafka.bootstrap, "--topic", "their", "--protocol", "simple", code=2).err
        assert "the topic their does not exist" in told
        assert "Did you mean there?" in told
        assert "auto-create-topic" not in told


def test_an_empty_topic_is_named(kafka: EmbeddedKafka, cli: Cli) -> None:
    kafka.sink().prepare({"empty": None})
    place = ["--brokers", kafka.bootstrap, "--topic", "empty", "--protocol", "canal-json"]
    shown = cli("tail", *place)
    assert (shown.out, shown.err) == ("", "no messages in empty\n")
    assert cli("verify", *place, code=1).out == "no messages in empty: nothing was checked\n"
    send(kafka, "filled")
    assert (
        cli("tail", *place, "--topic", "filled", "--table", "no.such").err
        == "no message in empty, filled matches --table or --op (3 read)\n"
    )


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_a_wrong_protocol_is_told_once(command: str, kafka: EmbeddedKafka, cli: Cli, tmp_path: Path) -> None:
    send(kafka, "changes", protocol="debezium")
    place = [command, "--brokers", kafka.bootstrap, "--topic", "changes"]
    shown = cli(*place, "--protocol", "canal-json", code=2)
    assert shown.out == ""
    assert shown.err == (
        "ticdc-emit: error: the messages of topic changes look like debezium, not like canal-json [option='protocol']. "
        "Use --protocol debezium\n"
    )
    uri = f"kafka://{kafka.bootstrap}/changes?protocol=simple"
    assert "Set protocol=debezium in the sink URI" in cli(command, "--sink-uri", uri, code=2).err
    assert exit_code(*place, "--protocol", "debezium") in (0, 1)


def test_tail_finds_the_schemas_of_simple(tmp_path: Path, cli: Cli) -> None:
    uri = f"jsonl://{tmp_path}?protocol=simple&partition-num=3"
    cli("check", "--only", "slow-partition", "--protocol", "simple-json", "--send", uri)
    newest = [json.loads(line) for line in cli("tail", "--sink-uri", uri, "--last", "3", "--json").out.splitlines()]
    assert "either --last or --from" in cli("tail", "--sink-uri", uri, "--last", "3", "--from", "beginning", code=2).err
    every = [
        json.loads(line) for line in cli("tail", "--sink-uri", uri, "--from", "beginning", "--json").out.splitlines()
    ]
    rows = [line for line in newest if line["op"] in ("insert", "update", "delete")]
    assert rows
    assert all(line["key"] for line in rows)
    assert all(line in every for line in newest)


def test_rows_of_simple_that_no_message_explains(tmp_path: Path, cli: Cli) -> None:
    config = load_changefeed("memory://d?protocol=simple")
    encoder = Encoder(config, "create table s.t (id int primary key, v varchar(9), w int)")
    change = {"op": "u", "before": {"id": 7, "v": "a", "w": 5}, "after": {"id": 7, "v": "b", "w": 5}}
    value = encoder.encode([{"commit_ts": 450000000262144000, **change}]).to_pylist()[0]["value"]
    folder = tmp_path / "t"
    folder.mkdir()
    line = json.dumps({"key": "", "value": value.decode()})
    (folder / "00000.jsonl").write_text(line + "\n", encoding="utf-8")
    assert cli("tail", str(tmp_path), "--protocol", "simple").out.endswith(" update s.t id='7' v: 'a' -> 'b' w='5'\n")


def test_scenarios_are_listed(cli: Cli) -> None:
    shown = cli("check", "--list").out
    kinds = (*scenarios(), *file_scenarios())
    assert all(kind.name in shown and kind.incident in shown for kind in kinds)
    told = cli("check", "--list", "--json").json
    groups = {each["name"]: each["group"] for each in told}
    assert {kind.name for kind in file_scenarios()} == {name for name, group in groups.items() if group == "files"}
    beliefs = {each["name"]: each.get("breaks") for each in told}
    assert beliefs.items() >= {(kind.name, kind.breaks) for kind in kinds}


def test_a_scenario_is_shown_and_told_to_programs(cli: Cli) -> None:
    shown = cli("check", "--only", "tombstones", "--seed", "3").out
    assert "ticdc-scenario/0@0" in shown
    assert "must end with: A delete is a key with a null value" in shown
    told = cli("check", "--only", "wrong-checksum", "--protocol", "avro", "--json").json
    case = scenario("wrong-checksum", protocol="avro")
    assert told["must_raise"] == "ChecksumMismatchError"
    assert told["feed"]["sink_uri"] == case.sink_uri
    assert len(told["messages"]) == len(case.messages)
    assert "ticdc-scenario-value" in cli("check", "--only", "registry-refusal").out


def test_tables_are_the_same_for_every_protocol(cli: Cli) -> None:
    debezium, canal_json = (
        cli("check", "--only", "b-a-b", "--protocol", name, "--json").json for name in ("debezium", "canal-json")
    )
    assert debezium["expected"] == canal_json["expected"]
    assert debezium["expected"]["shop.orders"]


def test_lines_hold_nothing_that_a_terminal_acts_on(cli: Cli, tmp_path: Path) -> None:
    text = "a\x1b[31m\x7f\x9b31m\u0085\u2028\u202e\u2066é"
    uri = "memory://lines/?protocol=canal-json&partition-num=1"
    encoder = Encoder(uri, "create table test.t (id varchar(99) primary key, v text)")
    rows = pa.Table.from_pylist([{"op": "c", "commit_ts": 450_000_000_262_144_000, "after": {"id": text, "v": text}}])
    sink = FileSink(str(tmp_path))
    sink.prepare({"ticdc": 1})
    messages = encoder.encode(rows, table="test.t")
    topics = pa.array(["ticdc"] * messages.num_rows)
    with sink.open() as writer:
        writer.write(messages.set_column(messages.schema.get_field_index("topic"), "topic", topics))
    shown = cli("tail", str(tmp_path), "--protocol", "canal-json", "--json").out
    assert json.loads(shown)["new"]["v"] == text
    assert len(shown.splitlines()) == 1
    assert [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl")] == ["\n"]
    shown = cli("tail", tmp_path, "--protocol", "canal-json").out
    assert r"id=a\u001b[31m" in shown
    assert [char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl")] == ["\n"]


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_findings_hold_nothing_that_a_terminal_acts_on(cli: Cli, tmp_path: Path, options: tuple[str, ...]) -> None:
    key = "a\x1b[31m\x7f\x9b31m\u0085\u2028\u202e\u2066é"
    encoder = Encoder(
        "memory://lines/ticdc?protocol=canal-json&enable-tidb-extension=true&topic=ticdc&partition-num=1",
        "create table test.t (id varchar(99) primary key)",
    )
    row = {"op": "c", "commit_ts": 450_000_000_262_144_000, "after": {"id": key}}
    sink = FileSink(str(tmp_path))
    sink.prepare({"ticdc": 1})
    with sink.open() as writer:
        writer.write(encoder.watermark(450_000_000_262_144_900))
        writer.write(encoder.encode([row]))
    shown = cli("verify", str(tmp_path), "--protocol", "canal-json", *options, code=1).out
    assert r"a\u001b[31m" in shown
    assert {char for char in shown if unicodedata.category(char) in ("Cc", "Cf", "Zl")} == {"\n"}


@pytest.mark.parametrize("protocol", ["canal-json", "simple-avro", "debezium"])
def test_what_was_sent_to_files_is_shown_and_verified(cli: Cli, tmp_path: Path, protocol: str) -> None:
    case = scenario("redelivery", protocol=protocol)
    parameters = case.sink_uri.partition("?")[2]
    uri = f"jsonl://{tmp_path}?{parameters}"
    cli("check", "--only", "redelivery", "--send", uri)
    shown = cli("tail", tmp_path, "--protocol", protocol, "--from", "beginning").out
    assert len(shown.splitlines()) == len(case.messages)
    chosen = ("--last", "30", "--table", "shop.*", "--op", "insert")
    assert {line["op"] for line in cli("tail", "--sink-uri", uri, *chosen, "--json").objects} == {"insert"}
    shown = cli("verify", str(tmp_path), "--protocol", protocol).out
    assert "no problems found" in shown

    file = next(tmp_path.glob("*/00000.jsonl"))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines, lines[0].replace('"value":', '"value":null,"was":')]), encoding="utf-8")
    shown = cli("verify", str(tmp_path), "--protocol", protocol, code=1).out
    assert f"/0@{len(lines)} " in shown
    assert "readable: 1 " in shown
    told = cli("verify", "--sink-uri", uri, "--json", code=1).json
    assert told["found"] == {"readable": 1}
    assert told["findings"][0]["offset"] == len(lines)
    assert told["partitions"] == {next(iter(told["partitions"])): 2}


def test_a_topic_is_compared_with_its_report_and_schema(cli: Cli, tmp_path: Path) -> None:
    script, tables, report = (tmp_path / name for name in ("changes.sql", "tables.sql", "report.json"))
    tables.write_text("create table shop.t (id int primary key, e enum('a', 'b'))", encoding="utf-8")
    script.write_text("insert into shop.t values (1, 'a'), (2, 'b'); delete from shop.t where id = 1", encoding="utf-8")
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    sent = cli("sql", script, "--schema", tables, "--sink-uri", uri, "--json").out
    report.write_text(f"a line before it\n{sent}", encoding="utf-8")
    options = ("verify", "--sink-uri", uri, "--expect", report, "--schema", tables)
    shown = cli(*options).out
    assert "3 changes of 1 table are those of report.json" in shown
    assert "the last change of a key" not in shown

    file = next(tmp_path.glob("out/*/00000.jsonl"))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join(line for line in lines if "DELETE" not in line), encoding="utf-8")
    tables.write_text("create table shop.t (id int primary key, e enum('a'))", encoding="utf-8")
    told = cli(*options, "--json", code=1).json
    assert told["found"]["expected"] == told["found"]["schema"] == 1
    assert "1 change of 3 missing" in next(each["text"] for each in told["findings"] if each["invariant"] == "expected")

    report.write_text("{}", encoding="utf-8")
    assert "is not the report of a sender" in cli(*options, code=2).err


def sent_to(folder: Path) -> tuple[Scenario, list[str]]:
    """Send a scenario to files; return it with what ``tail`` and ``verify`` must be told of them."""
    case = scenario("redelivery", protocol="canal-json")
    uri = f"jsonl://{folder}?{case.sink_uri.partition('?')[2]}"
    assert exit_code("check", "--only", "redelivery", "--send", uri) == 0
    return case, ["--sink-uri", uri]


def test_tail_shows_the_newest_of_each_partition(cli: Cli, tmp_path: Path) -> None:
    case, place = sent_to(tmp_path)
    ends = {number: sum(each.partition == number for each in case.messages) for number in (0, 1)}
    newest = [(number, offset) for number, end in ends.items() for offset in range(max(0, end - 10), end)]
    assert len(newest) == 20 < len(case.messages)
    shown = cli("tail", *place).out
    assert [line.split(" ")[0] for line in shown.splitlines()] == [f"ticdc/{n}@{at}" for n, at in newest]
    told = cli("tail", *place, "--json").out
    assert [(line["partition"], line["offset"]) for line in map(json.loads, told.splitlines())] == newest
    # who asks for some messages gets them, however old
    shown = cli("tail", *place, "--op", "insert").out
    assert "ticdc/0@0 " in shown
    assert shown == cli("tail", *place, "--op", "insert", "--from", "beginning").out


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_lines_are_shown_as_they_are_read(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: list[str]
) -> None:
    case, place = sent_to(tmp_path)
    arrived = [case.messages[at]._replace(partition=at % 2, offset=9 - at) for at in range(3)]

    def broken(self: TopicSource, **_: Any) -> Iterator[Message]:
        yield from arrived
        raise DeliveryError("the brokers are gone")

    monkeypatch.setattr(TopicSource, "messages", broken)
    shown = cli("tail", *place, *form, code=2)
    places = [json.loads(line)["offset"] if form else line.split(" ")[0] for line in shown.out.splitlines()]
    assert places == ([9, 8, 7] if form else [f"ticdc-scenario/{at % 2}@{9 - at}" for at in range(3)])
    assert "the brokers are gone" in shown.err


def test_verify_of_nothing_is_no_success(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "orders").mkdir()
    (tmp_path / "orders" / "00000.jsonl").touch()
    arguments = ["verify", tmp_path, "--protocol", "canal-json"]
    assert cli(*arguments, code=1).out == "no messages in orders: nothing was checked\n"
    assert cli(*arguments, "--json", code=1).json["messages"] == {}
    cli(*arguments, "--allow-empty")
    cli(*arguments, "--allow-empty", "--json")


@pytest.mark.parametrize("command", ["tail", "verify"])
def test_places_without_what_a_sink_has_written(cli: Cli, tmp_path: Path, command: str) -> None:
    arguments = [command, tmp_path, "--protocol", "canal-json"]
    sent_to(tmp_path)
    shown = cli(*arguments, "--topic", "typo", code=2).err
    assert ("typo" in shown, "Existing topics: ticdc" in shown) == (True, True)
    (tmp_path / "ticdc" / "foo.jsonl").touch()
    shown = cli(*arguments, code=2).err
    assert ("foo.jsonl" in shown, "Traceback" in shown) == (True, False)


def test_a_topic_of_kafka_is_shown_and_verified(cli: Cli) -> None:
    case = scenario("slow-partition", protocol="simple-json")
    with EmbeddedKafka() as kafka:
        case.send(kafka.sink())
        place = ["--brokers", kafka.bootstrap, "--topic", "ticdc-scenario", "--protocol", "simple"]
        shown = cli("tail", *place, "--op", "insert", "--op", "update", "--op", "delete").out
        assert shown.count(" insert shop.orders ") == 18
        assert "partition 3 of ticdc-scenario has no messages" in cli("verify", *place).err
        used = f"kafka://{kafka.bootstrap}/ticdc-scenario?protocol=simple&partition-num="
        cli("verify", "--sink-uri", f"{used}3")
        shown = cli("verify", "--sink-uri", f"{used}4", code=1).out
        assert "ticdc-scenario/3 the partition has no watermark" in shown
        assert "watermark: 1 " in shown
