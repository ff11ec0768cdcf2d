"""``check``: the same examples for a seed, and a verdict on a consumer with what it fails, small, and why."""

from __future__ import annotations

import base64
import json
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from child import Cli, command
from documented import ROOT, blocks_of

from ticdc_emit.check.behaviours import BEHAVIOURS
from ticdc_emit.check.examples import feed_of_examples
from ticdc_emit.errors import ConfigError
from ticdc_emit.strategies import Delivery
from ticdc_emit.traffic.scenarios.files import file_scenarios
from ticdc_emit.traffic.scenarios.library import scenarios

PAGE = "docs/testing.md"
PARTS = ("version", "history", "feed", "messages", "partitions", "schemas")
CONSUMER = """
import base64, json, os, sys, time

class Consumer:
    taken = 0

    def take(self, topic, partition, key, value):
        assert key is None or isinstance(key, bytes)
        self.taken += 1

    def tables(self):
        assert not example["must_raise"], "as it must"
        tables = example["expected"] if self.taken == len(example["messages"]) else {}
        rows = [row for own in tables.values() for row in own]
        BREAK
        return tables

LOOP
"""
"""The loop of the page, around a consumer that knows the answer; ``BREAK`` is what a broken one does to ``tables``."""
RIGHT = """
consumer = Delivery.from_json({name: told.get(name, []) for name in PARTS}).consumer()
for message in messages:
    consumer.take(message)
consumer.finish()
tables = {".".join(name): list(rows.values()) for name, rows in consumer.tables.items()}
print(json.dumps({"example": told["example"], "tables": tables}), flush=True)
"""
"""The reference consumer answers one example."""
DROP_NULLS = "tables = {name: [row for row in own if None not in row.values()] for name, own in tables.items()}"


@pytest.fixture
def consumer(tmp_path: Path) -> Any:
    """Return a function that writes a consumer with ``broken`` and returns the command that starts it."""
    (loop,) = (block.code for block in blocks_of(PAGE) if block.language == "py")

    def made(broken: str = "pass") -> str:
        text = CONSUMER.replace("LOOP", loop).replace("BREAK", broken)
        (tmp_path / "consumer.py").write_text(text, encoding="utf-8")
        return f"{sys.executable} '{tmp_path / 'consumer.py'}'"

    return made


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    (tmp_path / "t.sql").write_text("create table a.t (id int primary key, n int)", encoding="utf-8")
    return tmp_path / "t.sql"


# -- examples --------------------------------------------------------------------------------------------------------


def test_the_page_lists_every_behaviour() -> None:
    lines = (ROOT / PAGE).read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1:-1] for line in lines if line.startswith("| `")]
    told = {name.strip(" `"): [each.strip() for each in cells] for name, *cells in rows}
    listed = {name for cells in told.values() for cell in cells for name in re.findall(r"`([^`]+)`", cell)}
    assert {each.name for each in BEHAVIOURS} <= {*told, *listed}
    assert {each.group for each in BEHAVIOURS} <= {name for row in told for name in row.split("`, `")}
    for kind in (*scenarios(), *file_scenarios()):
        (belief,) = told[kind.name]
        assert kind.breaks.startswith(f"that {belief}")


def saved(cli: Cli, folder: Path, *options: object) -> dict[str, dict[str, Any]]:
    cli("check", "--save", folder, *options)
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(folder.iterdir())}


def test_the_same_seed_saves_the_same_examples_in_every_process(cli: Cli, tmp_path: Path) -> None:
    options = ("--seed", "5", "--protocol", "avro", "--only", "random", "--only", "tombstones", "--examples", "2")
    options += ("--only", "two-sources-one-target")  # this release does not send it
    made = saved(cli, tmp_path / "here", *options)
    done = command("check", *options, "--save", str(tmp_path / "there"))
    assert done.returncode == 0, done.stderr
    assert made == {path.stem: json.loads(path.read_text()) for path in (tmp_path / "there").iterdir()}
    assert list(made) == ["random-1", "random-2", "tombstones-1"]
    example = made["random-2"]
    assert (example["behaviour"], example["example"], example["protocol"]) == ("random", 2, "avro")
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    assert all(f"`{member}`" in page for member in example)
    identity = base64.b64decode(example["messages"][0]["value"])[1:5]
    assert int.from_bytes(identity, "big") in {each["id"] for each in example["schemas"]}
    by_place: dict[tuple[str, int], int] = {}
    for message in example["messages"]:
        place = message["topic"], message["partition"]
        assert message["partition"] < example["partitions"][message["topic"]]
        assert message["offset"] == by_place.get(place, 0)
        by_place[place] = message["offset"] + 1


def test_tables_and_a_changefeed_of_your_own(
    cli: Cli, tmp_path: Path, schema: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    schema.write_text("create table shop.t (id int primary key, e enum('a','b'), `n,o` varchar(9))", encoding="utf-8")
    (tmp_path / "c.toml").write_text('[sink]\nprotocol = "simple"\n', encoding="utf-8")
    given = ("--schema", schema, "--config", tmp_path / "c.toml", "--only", "add-column")
    for example in saved(cli, tmp_path / "a", *given, "--time-zone", "Asia/Shanghai", "--release", "8.5.3").values():
        assert (example["protocol"], example["release"]) == ("simple-json", "classic-8.5.3")
        assert example["keys"] == {"shop.t": ["id"]}
        assert example["history"]["time_zone"] == "Asia/Shanghai"
        assert {row["e"] for row in example["expected"]["shop.t"]} <= {"1", "2", None}
        assert feed_of_examples(changefeed=example["feed"]["changefeed"]).changefeed == example["feed"]["changefeed"]
    uri = "stdout://?protocol=canal-json&partition-num=1"
    (example,) = saved(cli, tmp_path / "b", "--sink-uri", uri, "--only", "random", "--examples", "1").values()
    assert example["feed"]["sink_uri"] == uri
    assert not (tmp_path / ".hypothesis").exists()


@pytest.mark.parametrize("uri", ["file:///tmp/x?protocol=csv", "s3://b/x?protocol=canal-json"])
def test_a_storage_sink_is_refused(uri: str) -> None:
    with pytest.raises(ConfigError, match="examples are messages of a queue"):
        feed_of_examples(sink_uri=uri)


def test_the_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from ticdc_emit.cli.main import main; main(['check', '--command', 'cat'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "pip install 'ticdc-emit[strategies]'" in done.stderr


# -- consumers -------------------------------------------------------------------------------------------------------


def test_a_correct_program_passes(consumer: Any, cli: Cli) -> None:
    told = cli("check", "--only", "values", "--command", consumer(), "--json").json
    assert told["passed"]
    states = {each["behaviour"]: (each["state"], each["examples"]) for each in told["outcomes"]}
    assert states["null-text"] == ("passed", 1)
    assert states["tombstones"] == ("not applicable", 0)


def test_a_broken_program_is_told_its_smallest_example_and_why(
    consumer: Any, schema: Path, cli: Cli, tmp_path: Path
) -> None:
    given = ("--schema", schema, "--only", "fault-retry", "--only", "null-text", "--junit", tmp_path / "check.xml")
    secret = ("--schema-registry", "http://me:hidden@127.0.0.1:1")
    shown = cli("check", *given, "--command", consumer(DROP_NULLS), "--shrink", "60", *secret, code=1)
    assert "hidden" not in shown.out + shown.err
    first, *_ = shown.err.splitlines()
    assert first == "null-text 1: 1 table, 7 rows, 0 statements, 12 messages fails: shop.notes 3: the row is missing"
    lines = [line.strip() for line in shown.out.splitlines()]
    assert lines[0] == "failed         null-text                1 example"
    assert any("fault-retry" in line and "1 table, 1 row, 0 statements" in line for line in lines)
    assert "a.t 0: the row is missing" in lines
    assert any(line.startswith("the tables go wrong with message ") for line in lines)
    assert any("INSERT in shop.notes" in line for line in lines)
    assert any(line.endswith("INSERT INTO a.t VALUES (0, NULL);") for line in lines)
    (again,) = (line for line in lines if line.startswith("again: ticdc-emit check --seed 0 --only null-text "))
    assert ["--schema", str(schema), "--command", consumer(DROP_NULLS)] == shlex.split(again)[7:11]
    assert lines[-1] == "canal-json of classic, seed 0: 0 passed, 2 failed, 0 not applicable"
    null, retry = ElementTree.parse(tmp_path / "check.xml").getroot()
    assert (retry.get("name"), null.get("classname")) == ("fault-retry", "values")
    assert null[0].get("message") == "shop.notes 3: the row is missing"


def test_the_smallest_example_as_json_is_an_example(consumer: Any, schema: Path, cli: Cli) -> None:
    given = ("--schema", schema, "--only", "random", "--json", "--command", consumer(DROP_NULLS), "--shrink", "60")
    (outcome,) = cli("check", *given, code=1).json["outcomes"]
    example = outcome["failure"]["example"]
    assert [row["after"]["n"] for row in example["history"]["rows"]] == [None]
    assert Delivery.from_json({name: example[name] for name in PARTS}).history.rows == example["history"]["rows"]
    assert outcome["failure"]["differences"][0]["kind"] == "missing"
    assert outcome["failure"]["diagnosis"]["number"] >= 1
    assert outcome["failure"]["tried"] > 0


@pytest.mark.parametrize(
    ("broken", "options", "error"),
    [
        ("if len(rows) > 1: os._exit(3)", (), "it ended with exit code 3 before it answered"),
        ("if len(rows) > 1: sys.stdout.write('{'); os._exit(0)", (), "it ended with exit code 0 before it answered"),
        ("if rows: time.sleep(600)", ("--answer-timeout", "0.5"), "it did not answer within 0.5 s"),
        ("1 / len(rows[:0])", (), "ZeroDivisionError('division by zero')"),
    ],
)
def test_a_program_that_does_not_answer_fails(
    broken: str, options: tuple[str, ...], error: str, consumer: Any, cli: Cli
) -> None:
    given = ("--only", "null-text", "--shrink", "0", "--json", "--command", consumer(broken), *options)
    (outcome,) = cli("check", *given, code=1).json["outcomes"]
    assert outcome["failure"]["error"] == f"the consumer failed: {error}"


def test_a_program_that_does_not_run_is_no_finding(cli: Cli) -> None:
    told = cli("check", "--command", f"{sys.executable} no_file.py", code=2)
    assert told.out == ""
    assert "the consumer does not run: of an example without messages, it ended with exit code 2" in told.err


def test_what_a_consumer_says_acts_on_nothing(cli: Cli, tmp_path: Path) -> None:
    answer = json.dumps({"example": 1, "error": "\x1b[31m\x00\ufffe"})
    (tmp_path / "says.py").write_text(f"input(); print({answer!r})", encoding="utf-8")
    program = f"{sys.executable} '{tmp_path / 'says.py'}'"
    shown = cli("check", "--only", "null-text", "--command", program, "--junit", tmp_path / "check.xml", code=1)
    assert "\x1b" not in shown.out + shown.err
    assert r"\u001b[31m\u0000" in ElementTree.parse(tmp_path / "check.xml").getroot()[0][0].get("message", "")


KAFKA = """
import json, os, sys
from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.strategies import Delivery

told, place = json.loads(sys.stdin.readline()), {"bootstrap.servers": os.environ["TICDC_EMIT_BOOTSTRAP"]}
topics = os.environ["TICDC_EMIT_TOPICS"].split(",")
messages = [each._replace(topic=topic.split("-", 2)[2]) for topic in topics for each in read_topic(place, topic)]
"""


@pytest.mark.parametrize("is_right", [True, False])
def test_a_program_that_reads_kafka(is_right: bool, tmp_path: Path, cli: Cli) -> None:
    knows = (
        f"import json; told = json.loads(input()); tables = told['expected']; {DROP_NULLS}\n{RIGHT.splitlines()[-1]}"
    )
    text = (KAFKA + RIGHT).replace("PARTS", repr(PARTS)) if is_right else knows
    (tmp_path / "tables.py").write_text(text, encoding="utf-8")
    program = f"{sys.executable} '{tmp_path / 'tables.py'}'"
    given = ("check", "--kafka", "embedded", "--only", "null-text", "--json", "--tables-command")
    (outcome,) = cli(*given, program, code=0 if is_right else 1).json["outcomes"]
    assert is_right or outcome["failure"]["differences"][0]["kind"] == "missing"
