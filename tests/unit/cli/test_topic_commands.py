"""``scenario``, ``tail`` and ``verify`` as a user runs them, on files and on the embedded Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ticdc_emit.cli.main import main
from ticdc_emit.testing import EmbeddedKafka
from ticdc_emit.traffic.scenarios import scenario, scenarios


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int | str | None, str]:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    shown = capsys.readouterr()
    return end.value.code, shown.out or shown.err


def test_scenarios_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = run(capsys, "scenario", "--list")
    assert code == 0
    assert all(kind.name in shown and kind.incident in shown for kind in scenarios())
    told = json.loads(run(capsys, "scenario", "--list", "--json")[1])
    assert [each["name"] for each in told] == [kind.name for kind in scenarios()]


def test_a_scenario_is_shown_and_told_to_programs(capsys: pytest.CaptureFixture[str]) -> None:
    code, shown = run(capsys, "scenario", "tombstones", "--seed", "3")
    assert code == 0
    assert "ticdc-scenario/0@0" in shown
    assert "must end with: A delete is a key with a null value" in shown
    told = json.loads(run(capsys, "scenario", "wrong-checksum", "--protocol", "avro", "--json")[1])
    case = scenario("wrong-checksum", protocol="avro")
    assert told["must_raise"] == "ChecksumMismatchError"
    assert told["sink_uri"] == case.sink_uri
    assert len(told["messages"]) == len(case.messages)
    assert " insert shop.orders id=1 " in told["messages"][0]["said"]
    assert "ticdc-scenario-value" in run(capsys, "scenario", "registry-refusal")[1]


def test_a_consumers_tables_are_checked(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    told = json.loads(run(capsys, "scenario", "redelivery", "--json")[1])
    tables = tmp_path / "tables.json"
    tables.write_text(json.dumps(told["expected"]), encoding="utf-8")
    code, shown = run(capsys, "scenario", "redelivery", "--check", str(tables))
    assert (code, shown.strip()) == (0, "the tables are what they must be")
    told["expected"]["shop.orders"][0]["state"] = "lost"
    tables.write_text(json.dumps(told["expected"]), encoding="utf-8")
    code, shown = run(capsys, "scenario", "redelivery", "--check", str(tables))
    assert code == 1
    assert "state is 'lost', must be " in shown
    code, shown = run(capsys, "scenario", "redelivery", "--check", str(tables), "--json")
    assert (code, json.loads(shown)["differences"][0]["column"]) == (1, "state")
    tables.write_text("[1]", encoding="utf-8")
    code, shown = run(capsys, "scenario", "redelivery", "--check", str(tables))
    assert (code, "schema.table" in shown) == (2, True)


@pytest.mark.parametrize("protocol", ["canal-json", "simple-avro", "debezium"])
def test_what_was_sent_to_files_is_shown_and_verified(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, protocol: str
) -> None:
    case = scenario("redelivery", protocol=protocol)
    parameters = case.sink_uri.partition("?")[2]
    uri = f"file://{tmp_path}?{parameters}"
    assert run(capsys, "scenario", "redelivery", "--sink-uri", uri)[0] == 0
    code, shown = run(capsys, "tail", str(tmp_path), "--protocol", protocol)
    assert (code, len(shown.splitlines())) == (0, len(case.messages))
    code, shown = run(
        capsys, "tail", "--sink-uri", uri, "--from", "newest 30", "--table", "shop.*", "--op", "insert", "--json"
    )
    assert code == 0
    assert {json.loads(line)["op"] for line in shown.splitlines()} == {"insert"}
    code, shown = run(capsys, "verify", str(tmp_path), "--protocol", protocol)
    assert code == 0, shown
    assert "nothing is wrong" in shown

    file = next(tmp_path.glob("*/00000.jsonl"))
    lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    file.write_text("".join([*lines, lines[0].replace('"value":', '"value":null,"was":')]), encoding="utf-8")
    code, shown = run(capsys, "verify", str(tmp_path), "--protocol", protocol)
    assert code == 1
    assert f"/0@{len(lines)} " in shown
    assert "readable: 1 " in shown
    code, shown = run(capsys, "verify", "--sink-uri", uri, "--json")
    told = json.loads(shown)
    assert (code, told["found"]) == (1, {"readable": 1})
    assert told["findings"][0]["offset"] == len(lines)
    assert told["partitions"] == {next(iter(told["partitions"])): 2}


def test_a_topic_of_kafka_is_shown_and_verified(capsys: pytest.CaptureFixture[str]) -> None:
    case = scenario("slow-partition", protocol="simple-json")
    with EmbeddedKafka() as kafka:
        case.send(kafka.sink())
        place = ["--brokers", kafka.bootstrap, "--topic", "ticdc-scenario", "--protocol", "simple"]
        code, shown = run(capsys, "tail", *place, "--op", "insert", "--op", "update", "--op", "delete")
        assert code == 0
        assert shown.count(" insert shop.orders ") == 18
        code, shown = run(capsys, "verify", *place)
        assert code == 1  # the embedded Kafka's topics have 4 partitions, and this changefeed knows of 3
        assert "ticdc-scenario/3 the partition has no watermark" in shown
        assert "watermark: 1 " in shown


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tail"], "--brokers"),
        (["tail", "nowhere", "--protocol", "simple"], "no such file"),
        (["tail", "nowhere"], "--protocol"),
        (["tail", "--brokers", "127.0.0.1:1", "--protocol", "simple"], "--topic"),
        (["tail", "nowhere", "--protocol", "simple", "--from", "yesterday"], "newest"),
        (["tail", "nowhere", "--protocol", "simple", "--op", "upsert"], "insert"),
        (["verify", "--sink-uri", "memory://x/?protocol=simple"], "memory"),
        (["scenario", "nothing"], "redelivery"),
        (["scenario", "tombstones", "--protocol", "simple-json"], "avro"),
    ],
)
def test_what_cannot_be_done_is_told(capsys: pytest.CaptureFixture[str], arguments: list[str], told: str) -> None:
    code, shown = run(capsys, *arguments)
    assert code == 2
    assert told in shown
    assert "Traceback" not in shown
