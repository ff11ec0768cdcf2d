"""The projects of ``docs/control.md``: their tests pass with ``ticdc-emit serve`` as their child process, and
find consumers that are broken.

Each project is copied and run by its own tool, Maven, Go or pytest. A :class:`Mutation` changes the consumer under
test; then the project's first test must fail as it says. The tests that need Docker run where Docker runs.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from connect_json import can_compile
from missing_parts import missing

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.testing.java import find_java

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
JAVA, GO, PYTHON = "src/main/java/com/example/orders/OrdersConsumer.java", "orders.go", "orders.py"
_STORY = {
    "java": "OrdersConsumerTest#keepsUpWithKeyUpdatesDdlAndRedelivery",
    "go": "TestKeyUpdatesDDLAndRedelivery",
    "python": "test_orders.py::test_key_updates_ddl_and_redelivery",
}
_TESTS = 50


@pytest.fixture(scope="module")
def image() -> None:
    """Where Docker runs, the image that the projects' recipes start."""
    docker = shutil.which("docker")
    if docker is None or subprocess.run([docker, "info"], capture_output=True, check=False, timeout=60).returncode:
        return
    if subprocess.run([docker, "image", "inspect", "ticdc-emit"], capture_output=True, check=False).returncode:
        subprocess.run([docker, "build", "-t", "ticdc-emit", ROOT], check=True, timeout=600)


@dataclass(frozen=True)
class Result:
    """``seconds``: of each test that passed, by name; ``failed``, ``skipped``: names of the others."""

    seconds: Mapping[str, float]
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    output: str


class Project:
    """A copy of ``examples/{language}``."""

    def __init__(self, language: str, folder: Path) -> None:
        self.language = language
        self.folder = folder / language
        shutil.copytree(
            ROOT / "examples" / language, self.folder, ignore=shutil.ignore_patterns("target", "__pycache__")
        )
        self._command = folder / "ticdc-emit"
        self._command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ticdc_emit "$@"\n')
        self._command.chmod(0o755)

    def change(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text(encoding="utf-8")
        assert text.count(old) == 1, f"{file} has another text than {old!r}"
        path.write_text(text.replace(old, new), encoding="utf-8")

    def test(self, only: str | None = None) -> Result:
        """Run the tests of the project, or one of them."""
        return {"java": self._maven, "go": self._go, "python": self._pytest}[self.language](only)

    def _maven(self, only: str | None) -> Result:
        try:
            java = find_java()
        except MissingDependencyError as error:
            missing(str(error))
        if shutil.which("mvn") is None:
            missing("Maven is not installed (apt install maven)")
        if not can_compile(java):
            missing(f"{java} has no compiler; a JDK is needed")
        chosen = [] if only is None else [f"-Dtest={only}"]
        output = self._run(["mvn", "-B", "-q", "test", *chosen], JAVA_HOME=str(java.parent.parent))
        return _junit(self.folder / "target/surefire-reports", output)

    def _go(self, only: str | None) -> Result:
        if shutil.which("go") is None:
            missing("Go is not installed (go.dev/doc/install)")
        self._run(["go", "vet", "./..."])
        output = self._run(["go", "test", "-count=1", "-json", *([] if only is None else ["-run", only]), "./..."])
        events = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
        ended = [event for event in events if "Test" in event and event["Action"] in ("pass", "fail", "skip")]
        names = {kind: tuple(event["Test"] for event in ended if event["Action"] == kind) for kind in ("fail", "skip")}
        seconds = {event["Test"]: event["Elapsed"] for event in ended if event["Action"] == "pass"}
        shown = "".join(event.get("Output", "") for event in events)
        return Result(seconds, names["fail"], names["skip"], shown or output)

    def _pytest(self, only: str | None) -> Result:
        report = self.folder / "reports"
        chosen = [] if only is None else [only]
        options = [
            "-q",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:randomly",
            "--rootdir",
            ".",
            f"--junit-xml={report}/all.xml",
        ]
        plugins = ("ticdc_emit.testing.plugin", "ticdc_emit.emulator.fixtures")
        installed = ("no:ticdc_emit", "no:ticdc_emit_emulator")
        plugin = [word for name in (*installed, *plugins) for word in ("-p", name)]
        output = self._run([sys.executable, "-m", "pytest", *options, *plugin, *chosen], PYTHONPATH=str(ROOT))
        return _junit(report, output)

    def _run(self, command: list[str], **environment: str) -> str:
        own = {**os.environ, "TICDC_EMIT": str(self._command), "PYTHONPATH": str(ROOT), **environment}
        answer = subprocess.run(
            command, cwd=self.folder, env=own, capture_output=True, text=True, check=False, timeout=600
        )
        return answer.stdout + answer.stderr


def _junit(folder: Path, output: str) -> Result:
    seconds: dict[str, float] = {}
    failed, skipped = [], []
    for report in folder.glob("*.xml"):
        for case in ET.parse(report).iter("testcase"):
            name = case.attrib["name"]
            if case.find("skipped") is not None:
                skipped.append(name)
            elif case.find("failure") is not None or case.find("error") is not None:
                failed.append(name)
            else:
                seconds[name] = float(case.attrib["time"])
    return Result(seconds, tuple(failed), tuple(skipped), output)


@pytest.mark.timeout(1500)
@pytest.mark.usefixtures("image")
@pytest.mark.parametrize("language", _STORY)
def test_a_project_passes(language: str, tmp_path: Path) -> None:
    result = Project(language, tmp_path).test()
    assert result.failed == (), result.output[-4000:]
    assert len(result.skipped) <= 1, "only the test with Docker may be skipped"
    story = re.split("[#:]", _STORY[language])[-1]
    assert story in result.seconds, result.output[-4000:]
    repeated = [seconds for name, seconds in result.seconds.items() if re.search(r"[\[/]\d+\]?$", name)]
    assert len(repeated) == _TESTS, result.output[-4000:]
    print(f"{language}: {sum(repeated) / _TESTS:.2f} s per test, {result.seconds[story]:.2f} s the first one")


_UNREAD = """package com.example.orders;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class UnreadStderrTest {
    @RegisterExtension
    static final TicdcEmit ticdc = new TicdcEmit("--schema", "src/test/resources/orders.sql");

    @Test
    void answersHundredsOfCalls() {
        for (int id = 1; id <= 600; id++) {
            ticdc.control().sql("INSERT INTO shop.orders VALUES (" + id + ", 'new', 1)");
        }
        assertEquals(600, ticdc.control().tables().rows("shop.orders").size());
    }
}
"""
_WAITS = """package orders

import (
	"fmt"
	"testing"
	"time"
)

func TestRowsComeWhileAFetchWaits(t *testing.T) {
	reader := open(t, server.Kafka, &server.Control)
	begin := time.Now()
	for id := 1; id <= 10; id++ {
		time.Sleep(200 * time.Millisecond)
		reader.read(server.SQL(fmt.Sprintf("INSERT INTO shop.orders VALUES (%d, 'new', 1)", id)))
	}
	if time.Since(begin) > 20*time.Second { // a client of franz-go waits 5 s for each fetch
		t.Errorf("10 rows took %v", time.Since(begin))
	}
}
"""


@pytest.mark.timeout(600)
def test_javas_default_client_and_a_child_process_whose_stderr_nobody_reads(tmp_path: Path) -> None:
    project = Project("java", tmp_path)
    tests = "src/test/java/com/example/orders"
    project.change(f"{tests}/TicdcEmit.java", ".redirectError(ProcessBuilder.Redirect.INHERIT)", "")
    (project.folder / tests / "UnreadStderrTest.java").write_text(_UNREAD, encoding="utf-8")
    assert "HttpClient.newHttpClient()" in (project.folder / tests / "TicdcControl.java").read_text(encoding="utf-8")
    result = project.test("UnreadStderrTest")
    assert result.failed == (), result.output[-4000:]
    assert list(result.seconds) == ["answersHundredsOfCalls"]


@pytest.mark.timeout(600)
def test_franz_go_with_its_default_wait_has_rows_at_once(tmp_path: Path) -> None:
    project = Project("go", tmp_path)
    (project.folder / "waits_test.go").write_text(_WAITS, encoding="utf-8")
    assert "FetchMaxWait" not in (project.folder / "orders_test.go").read_text(encoding="utf-8")
    result = project.test("TestRowsComeWhileAFetchWaits")
    assert result.failed == (), result.output[-4000:]
    assert list(result.seconds) == ["TestRowsComeWhileAFetchWaits"]


@dataclass(frozen=True)
class Mutation:
    """``old``: a text of the consumer's ``file``, ``new``: what replaces it; ``message``: what the test fails with."""

    language: str
    name: str
    file: str
    old: str
    new: str
    message: str


_MUTATIONS = (
    Mutation(
        "java",
        "forgets deletes",
        JAVA,
        'message.get("data").forEach(row -> rows.remove(row.get("id").asText()));',
        "{ }",
        r"expected: <\[.*\]> but was: <\[.*1.*\]>",
    ),
    Mutation(
        "java",
        "keeps its first columns",
        JAVA,
        "columns.addAll(values.keySet());",
        "if (columns.isEmpty()) { columns.addAll(values.keySet()); }",
        r"expected: <\{.*note=null.*but was",
    ),
    Mutation(
        "java",
        "refuses a row that comes again",
        JAVA,
        'case "INSERT", "UPDATE" -> message.get("data").forEach(this::put);',
        'case "UPDATE" -> message.get("data").forEach(this::put);\n'
        '            case "INSERT" -> message.get("data").forEach(row -> {\n'
        '                if (rows.containsKey(row.get("id").asText())) { throw new IllegalStateException("twice"); }\n'
        "                put(row);\n"
        "            });",
        "IllegalState.*twice",
    ),
    Mutation("go", "forgets deletes", GO, 'delete(t.rows, *row["id"])', "_ = row", r"the ids \[1 2 3 4\]"),
    Mutation("go", "keeps its first columns", GO, "range row {", "range (Row{}) {", "other rows"),
    Mutation(
        "go",
        "refuses a row that comes again",
        GO,
        "t.put(row)",
        'if _, ok := t.rows[*row["id"]]; ok && message.Type == "INSERT" {\n'
        '\t\t\t\treturn json.Unmarshal([]byte("twice"), nil)\n'
        "\t\t\t}\n"
        "\t\t\tt.put(row)",
        "invalid character 'w' in literal true",
    ),
    Mutation("python", "forgets deletes", PYTHON, 'self._rows.pop(row["id"], None)', "pass", "'1'"),
    Mutation("python", "keeps its first columns", PYTHON, "self._columns |= row.keys()", "pass", "'note': None"),
    Mutation(
        "python",
        "refuses a row that comes again",
        PYTHON,
        'self._rows[row["id"]] = row',
        'assert kind == "UPDATE" or row["id"] not in self._rows, "twice"\n                self._rows[row["id"]] = row',
        "AssertionError: twice",
    ),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("mutation", _MUTATIONS, ids=lambda each: f"{each.language}: {each.name}")
def test_a_broken_consumer_is_found(mutation: Mutation, tmp_path: Path) -> None:
    project = Project(mutation.language, tmp_path)
    project.change(mutation.file, mutation.old, mutation.new)
    only = _STORY[mutation.language]
    result = project.test(only)
    assert len(result.failed) == 1, result.output[-4000:]
    assert re.search(mutation.message, result.output), result.output[-4000:]
