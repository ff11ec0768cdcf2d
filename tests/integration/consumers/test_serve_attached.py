"""``ticdc-emit serve`` with kafka-console-consumer and Flink attached, by the settings it prints."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from connect_json import can_compile
from flink_sql import FLINK, sql_command
from message_rows import has_messages
from missing_parts import java_and_jars, missing

from ticdc_emit.testing.addresses import free_ports, require_free_port
from ticdc_emit.testing.java import short_lived_jvm

pytestmark = [pytest.mark.integration, pytest.mark.slow]

ROOT = Path(__file__).parents[3]
_JVM = ("-Xmx256m", *short_lived_jvm())
_MARK = "TICDC_EMIT_TEST_SERVE"
_ENOUGH = 50
_START_S = 200
_END_S = 20


@contextmanager
def _running(
    command: list[str], folder: Path, name: str, text: str = "", **environment: str
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """Run a command with ``text`` as its input; yield its process and the file of what it prints."""
    (folder / f"{name}.in").write_text(text, encoding="utf-8")
    with (folder / f"{name}.in").open() as given, (folder / name).open("w") as shown:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=given,
            stdout=shown,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        yield process, folder / name
    finally:
        process.kill()
        process.wait()


def _printed(shown: str, title: str) -> str:
    """Return the settings that ``serve`` prints for a consumer."""
    found = re.search(rf"^# {title}\n(.+?)(?=\n\n#|\n*\Z)", shown, re.MULTILINE | re.DOTALL)
    assert found is not None, shown
    return found.group(1)


def _descendants(mark: str) -> list[str]:
    """Return the command lines of all processes with the mark in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{_MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are found in /proc")
@pytest.mark.parametrize(
    ("protocol", "broker"),
    [
        ("canal-json", "embedded"),
        ("canal-json", "kafka"),
        ("debezium", "kafka"),
        ("avro", "embedded"),
        ("avro", "kafka"),
        ("debezium-avro", "kafka"),
    ],
)
def test_two_consumers_are_attached_and_ctrl_c_leaves_nothing(
    kafka_parts: tuple[Path, Path], tmp_path: Path, protocol: str, broker: str
) -> None:
    java, broker_jars = kafka_parts
    _, flink_jars = java_and_jars(FLINK)
    _, tool_jars = java_and_jars(Path(__file__).parent / "kafka_tools")
    if not can_compile(java):
        missing(f"{java} has no compiler; a JDK is needed")
    port, registry = free_ports(2)
    serve = [sys.executable, "-m", "ticdc_emit", "serve", "--port", str(port), "--registry-port", str(registry)]
    serve += ["--broker", broker, "--schema", str(ROOT / "examples/cookbook.sql"), "--rate", "300"]
    serve += ["--protocol", protocol, "--release", "next" if protocol == "debezium-avro" else "classic"]
    mark = uuid4().hex
    with ExitStack() as stack:
        own = {_MARK: mark, "TMPDIR": str(tmp_path)}
        process, shown = stack.enter_context(_running(serve, tmp_path, "serve", **own))
        _wait(lambda: has_messages(f"127.0.0.1:{port}", "shop_kinds"), process, shown)
        settings = shown.read_text()

        options = shlex.split(_printed(settings, "kafka-console-consumer"))[1:]
        classpath = os.pathsep.join(str(jars / "*") for jars in (tool_jars, broker_jars))
        tool = [str(java), *_JVM, "-cp", classpath, "org.apache.kafka.tools.consumer.ConsoleConsumer"]
        console, lines = stack.enter_context(_running([*tool, *options], tmp_path, "console"))
        sql = _printed(settings, "Flink SQL")
        flink, changes = stack.enter_context(_running(sql_command(java, flink_jars), tmp_path, "flink", sql + "\n"))
        _wait(lambda: len(_messages(lines)) >= _ENOUGH, console, lines)
        _wait(lambda: len(_flink_changes(changes)) >= _ENOUGH, flink, changes)
        assert process.poll() is None
        assert len(_descendants(mark)) >= (2 if broker == "kafka" else 1)  # serve itself, the broker

        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0, shown.read_text()
        _wait_for_the_end(mark)
        assert list(tmp_path.glob("ticdc-emit-*")) == []  # folders
        assert console.poll() is None, "the consumers are still attached"
        assert flink.poll() is None
    require_free_port(port, "--port")
    require_free_port(registry, "--registry-port")
    last = re.search(r"([\d,]+) messages", shown.read_text().splitlines()[-1])
    print(f"{last and last.group()} sent; read by the console: {len(_messages(lines)):,} messages", end=", ")
    print(f"by Flink: {len(_flink_changes(changes)):,} changes")
    if protocol == "canal-json":
        # Other lines are its warnings after the broker has gone.
        read = [json.loads(line) for line in _messages(lines) if line.startswith("{")]
        assert {change["type"] for change in read} >= {"INSERT", "UPDATE"}
    # Every column of some row arrives: a type that does not fit would be NULL everywhere.
    rows = [line.split(" ")[1:] for line in _flink_changes(changes)]
    assert all(any(row[place] != "-" for row in rows) for place in range(len(rows[0])))


def _messages(lines: Path) -> list[str]:
    """Return what the console consumer printed, a line for each message of JSON; texts may hold other line ends."""
    return lines.read_text("utf-8", "replace").split("\n")[:-1]


def _flink_changes(changes: Path) -> list[str]:
    return [line for line in changes.read_text("utf-8", "replace").split("\n")[:-1] if line.startswith(("+", "-"))]


def _wait_for_the_end(mark: str) -> None:
    """A process may end a moment after the one that it belongs to."""
    deadline = time.monotonic() + _END_S
    while left := _descendants(mark):
        assert time.monotonic() < deadline, left
        time.sleep(0.2)


def _wait(look: Callable[[], bool], process: subprocess.Popen[bytes], shown: Path) -> None:
    deadline = time.monotonic() + _START_S
    while not look():
        assert process.poll() is None, shown.read_text()[-4000:]
        assert time.monotonic() < deadline, shown.read_text()[-4000:]
        time.sleep(0.5)
