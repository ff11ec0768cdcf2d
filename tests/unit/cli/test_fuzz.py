"""``fuzz``: the same examples for a seed, tables that a correct consumer has, and a verdict on those of any other."""

from __future__ import annotations

import base64
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from child import Cli, command
from hypothesis import strategies as st

from ticdc_emit.config.protocols import FORMS
from ticdc_emit.errors import ConfigError, StrategyError
from ticdc_emit.strategies import Delivery, fuzzing
from ticdc_emit.strategies.fuzzing import Example, ExampleOptions, examples, failing_example, feed_of_examples
from ticdc_emit.traffic import History

PARTS = ("version", "history", "feed", "messages", "partitions", "schemas")


def drawn(cli: Cli, *options: str) -> list[dict[str, Any]]:
    return cli("fuzz", "--json", *options).objects


@pytest.mark.parametrize("form", FORMS)
def test_a_correct_consumer_passes_in_every_protocol(form: str) -> None:
    def take(example: Example) -> None:
        told = example.to_dict(canonical=True)
        delivery = Delivery.from_json({name: told[name] for name in PARTS})
        consumer = delivery.consumer()  # the reference consumer
        consumer.take_all(delivery.messages)
        consumer.finish()
        tables = {".".join(name): list(rows.values()) for name, rows in consumer.tables.items()}
        assert not example.check(tables, canonical=True)

    examples(ExampleOptions(feed_of_examples(form)), seed=3, count=3, take=take)


def test_the_members_of_an_example(cli: Cli) -> None:
    example = drawn(cli, "--seed", "5", "--examples", "4", "--protocol", "avro")[-1]
    assert list(example) == ["seed", "protocol", "release", "example", *PARTS, "expected", "keys"]
    assert (example["seed"], example["protocol"], example["release"], example["example"]) == (5, "avro", "classic", 4)
    assert {type(each["key"]) for each in example["messages"]} <= {str, type(None)}
    identity = base64.b64decode(example["messages"][0]["value"])[1:5]
    assert int.from_bytes(identity, "big") in {each["id"] for each in example["schemas"]}
    by_place: dict[tuple[str, int], int] = {}
    for message in example["messages"]:
        place = message["topic"], message["partition"]
        assert message["partition"] < example["partitions"][message["topic"]]
        assert message["offset"] == by_place.get(place, 0)
        by_place[place] = message["offset"] + 1


def test_partitions_arrive_in_any_order_and_messages_again() -> None:
    shuffled, repeated = 0, 0

    def take(example: Example) -> None:
        nonlocal shuffled, repeated
        places = [message[:2] for message in example.delivery.messages]
        shuffled += places != sorted(places)
        repeated += len({message[3:] for message in example.delivery.messages}) < len(places)

    examples(ExampleOptions(feed_of_examples("simple")), seed=1, count=8, take=take)
    assert shuffled > 2
    assert repeated > 2


def test_the_same_seed_draws_the_same_examples_in_every_process(cli: Cli) -> None:
    options = ("fuzz", "--seed", "11", "--examples", "6", "--json")
    first = command(*options)
    assert first.returncode == 0, first.stderr
    assert cli(*options).out == first.stdout


def _files(folder: Path) -> Iterator[Path]:
    (folder / "t.sql").write_text("create table shop.t (id int primary key, e enum('a','b'), `n,o` varchar(9))")
    (folder / "c.toml").write_text('[sink]\nprotocol = "simple"\n')
    yield from (folder / "t.sql", folder / "c.toml")


def test_tables_and_a_changefeed_of_your_own(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    schema, config = _files(tmp_path)
    given = ("--schema", str(schema), "--config", str(config), "--no-ddl", "--restarts", "0", "--examples", "3")
    for example in drawn(cli, *given, "--time-zone", "Asia/Shanghai", "--release", "8.5.3"):
        assert (example["protocol"], example["release"]) == ("simple", "classic-8.5.3")
        assert example["keys"] == {"shop.t": ["id"]}
        assert example["history"]["ddl"] == []
        assert example["history"]["time_zone"] == "Asia/Shanghai"
        assert {row["e"] for row in example["expected"]["shop.t"]} <= {"1", "2", None}
        assert feed_of_examples(changefeed=example["feed"]["changefeed"]).changefeed == example["feed"]["changefeed"]
    uri = "stdout://?protocol=canal-json&partition-num=1"
    (example,) = drawn(cli, "--sink-uri", uri, "--examples", "1")
    assert example["feed"]["sink_uri"] == uri
    assert not (tmp_path / ".hypothesis").exists()


def test_too_few_examples_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = feed_of_examples("canal-json")
    only = Delivery(History("create table a.t (id int)"), feed.load(), feed, [], {}, {})
    monkeypatch.setattr(fuzzing, "_carried", lambda *_: st.just(only))
    with pytest.raises(StrategyError, match="only 1 example of 5 could be drawn"):
        examples(ExampleOptions(feed), seed=0, count=5, take=lambda _: None)


@pytest.mark.parametrize("uri", ["file:///tmp/x?protocol=csv", "s3://b/x?protocol=canal-json"])
def test_a_storage_sink_is_refused(uri: str) -> None:
    with pytest.raises(ConfigError, match="examples are messages of a queue"):
        feed_of_examples(sink_uri=uri)


def test_the_error_of_what_takes_an_example_comes_at_once() -> None:
    taken = []

    def take(example: Example) -> None:
        taken.append(example.number)
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        examples(ExampleOptions(feed_of_examples("simple")), seed=1, count=5, take=take)
    assert taken == [1]


def test_the_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from ticdc_emit.cli.main import main; main(['fuzz', '--examples', '1'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pip install 'ticdc-emit[strategies]'" in done.stderr


SMALL = ExampleOptions(
    feed_of_examples("canal-json"), "create table a.t (id int primary key, n int, s varchar(20))", ddl=False, restarts=0
)


def drops_nulls(example: Example) -> bool:
    """A consumer that has no rows with a NULL passes where there are none."""
    return all(None not in row.values() for rows in example.expected().values() for row in rows.values())


def test_a_failing_example_is_made_small() -> None:
    found = failing_example(SMALL, seed=1, count=50, passes=drops_nulls)
    assert found is not None
    first, smallest = found
    assert first.size >= smallest.size
    (row,) = smallest.delivery.history.rows
    assert (row["op"], None in row["after"].values()) == ("insert", True)


def test_the_first_failing_example_is_the_one_of_its_number() -> None:
    found = failing_example(SMALL, seed=1, count=50, passes=drops_nulls, shrink_s=0)
    assert found is not None
    first, smallest = found
    assert smallest is first
    listed: list[Example] = []
    examples(SMALL, seed=1, count=first.number, take=listed.append)
    assert [drops_nulls(each) for each in listed] == [True] * (first.number - 1) + [False]
    assert listed[-1].delivery.messages == first.delivery.messages


def test_a_consumer_that_fails_only_sometimes() -> None:
    asked: list[int] = []

    def passes(example: Example) -> bool:
        asked.append(example.number)
        return example.number != 3

    found = failing_example(SMALL, seed=1, count=5, passes=passes, shrink_s=5)
    assert found is not None
    assert [each.number for each in found] == [3, 3]
    assert len(asked) > 3


def test_no_failing_example() -> None:
    numbers: list[int] = []
    assert failing_example(SMALL, seed=1, count=4, passes=lambda each: not numbers.append(each.number)) is None
    assert numbers == [1, 2, 3, 4]


CONSUMER = """
import json, os, sys, time
for line in sys.stdin:
    example = json.loads(line)
    tables = example["expected"]
    rows = [row for own in tables.values() for row in own]
    BREAK
    print(json.dumps({"example": example["example"], "tables": tables}), flush=True)
"""


def asked(cli: Cli, path: Path, broken: str, *options: str, code: int = 1) -> list[dict[str, Any]]:
    """Let ``fuzz`` start a consumer that does ``broken`` to its ``tables``; return what it says."""
    (path / "consumer.py").write_text(CONSUMER.replace("BREAK", broken))
    (path / "t.sql").write_text("create table a.t (id int primary key, n int)")
    drawing = ("--schema", path / "t.sql", "--no-ddl", "--restarts", "0", "--examples", "20", "--json")
    consumer = f"{sys.executable} '{path / 'consumer.py'}'"
    return cli("fuzz", *drawing, "--check-command", consumer, *options, code=code).objects


def test_a_correct_consumer_that_is_asked(tmp_path: Path, cli: Cli) -> None:
    lines = asked(cli, tmp_path, "pass", "--protocol", "open-protocol", code=0)
    assert lines == [{"examples": 20, "different": [], "smallest": None, "counterexample": None}]


def test_a_broken_consumer_gets_a_small_counterexample(tmp_path: Path, cli: Cli) -> None:
    drop = "tables = {name: [row for row in own if row['n'] is not None] for name, own in tables.items()}"
    failed, verdict = asked(cli, tmp_path, drop)
    assert (verdict["different"], verdict["examples"]) == ([failed["example"]], failed["example"])
    smallest = verdict["counterexample"]
    assert verdict["smallest"] == smallest["example"] >= failed["example"]
    assert [row["after"] for row in smallest["history"]["rows"]] == [{"id": "0", "n": None}]
    assert smallest["differences"][0]["kind"] == "missing"
    assert Delivery.from_json({name: smallest[name] for name in PARTS}).history.rows == smallest["history"]["rows"]


@pytest.mark.parametrize(
    ("broken", "error"),
    [
        ("if len(rows) > 1: os._exit(3)", "it ended with exit code 3 before it answered"),
        ("if len(rows) > 1: sys.stdout.write('{'); os._exit(0)", "it ended with exit code 0 before it answered"),
    ],
)
def test_a_consumer_that_ends_is_started_again(broken: str, error: str, tmp_path: Path, cli: Cli) -> None:
    failed, verdict = asked(cli, tmp_path, broken, "--shrink", "2")
    assert failed["error"] == verdict["counterexample"]["error"] == error


def test_a_consumer_that_does_not_answer(tmp_path: Path, cli: Cli) -> None:
    options = ("--answer-timeout", "3", "--shrink", "0")
    failed, _ = asked(cli, tmp_path, "if rows: time.sleep(600)", *options)
    assert failed["error"] == "it did not answer within 3 s"


def test_the_smallest_history_for_people(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "consumer.py").write_text(CONSUMER.replace("BREAK", "tables = dict.fromkeys(tables, [])"))
    command = f"{sys.executable} '{tmp_path / 'consumer.py'}'"
    first, *others = cli(
        "fuzz", "--no-ddl", "--restarts", "0", "--check-command", command, "--shrink", "2", code=1
    ).out.splitlines()
    assert first.startswith("example ")
    assert 'History.from_sql("""' in others
