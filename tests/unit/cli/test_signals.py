"""Ctrl-C and SIGTERM end any command with one line, whatever it is doing."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

_ENDS = [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]

# Sends itself the signal when a module is looked for.
_AT_AN_IMPORT = textwrap.dedent(
    """
    import os, sys

    module, number = sys.argv[1], int(sys.argv[2])

    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name == module:
                os.kill(os.getpid(), number)
            return None

    sys.meta_path.insert(0, Finder())
    from ticdc_emit.cli.main import main
    sys.argv = ["ticdc-emit", *sys.argv[3:]]
    main()
    """
)


def interrupted_at(module: str, number: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", _AT_AN_IMPORT, module, str(int(number)), *arguments]
    return subprocess.run(program, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("module", ["ticdc_emit.errors", "typer", "rich.console", "ticdc_emit.cli.app"])
def test_at_the_start(module: str) -> None:
    done = interrupted_at(module, signal.SIGINT, "--help")
    assert (done.returncode, done.stderr, done.stdout) == (130, "ticdc-emit: interrupted\n", "")


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("ticdc_emit.cli.topics", ["tail", ".", "--protocol", "simple"]),
        ("pyarrow.compute", ["check", "--only", "tombstones"]),
        ("ticdc_emit.testing", ["demo"]),
    ],
)
@pytest.mark.parametrize(("number", "code", "said"), _ENDS)
def test_in_a_command(module: str, arguments: list[str], number: int, code: int, said: str) -> None:
    done = interrupted_at(module, number, *arguments)
    assert (done.returncode, done.stderr) == (code, f"ticdc-emit: {said}\n")


@pytest.mark.parametrize(("number", "code", "said"), [(signal.SIGINT, 0, "interrupted"), _ENDS[1]])
def test_while_following(tmp_path: Path, number: int, code: int, said: str) -> None:
    (tmp_path / "orders").mkdir()
    line = '{"key": null, "value": "{}", "headers": []}\n'
    (tmp_path / "orders" / "00000.jsonl").write_text(line, encoding="utf-8")
    program = [sys.executable, "-m", "ticdc_emit", "tail", str(tmp_path), "--protocol", "canal-json", "--follow"]
    running = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert "orders/0@0" in running.stdout.readline()
        running.send_signal(number)
        _, told = running.communicate(timeout=60)
    finally:
        running.kill()
    assert (running.returncode, told) == (code, f"ticdc-emit: {said}\n")


@pytest.mark.parametrize(("number", "code", "said"), [(signal.SIGINT, 0, "interrupted"), _ENDS[1]])
def test_while_serve_starts_kafka(number: int, code: int, said: str) -> None:
    ports = ("--port", "0", "--registry-port", "0")
    done = interrupted_at("ticdc_emit.testing.kafka_gateway", number, "serve", "--schema", "bank", *ports)
    assert (done.returncode, done.stdout, done.stderr) == (code, "", f"ticdc-emit: {said}\n")


def alive(session: int) -> list[str]:
    """Return the command lines of the running processes of a session, without those that wait to be reaped."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, of = stat.read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                found.append(stat.with_name("cmdline").read_text())
        except OSError:
            continue  # it has just ended
    return found


@pytest.mark.spark
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads the table of processes from /proc")
@pytest.mark.parametrize(
    ("moment", "number", "code", "said"),
    [
        # Spark's JVM runs and does not answer yet
        ("starting", signal.SIGINT, 130, "interrupted"),
        *(pytest.param("generating", *end, marks=pytest.mark.slow) for end in _ENDS),
    ],
)
def test_no_spark_survives(tmp_path: Path, moment: str, number: int, code: int, said: str) -> None:
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json"
    program = [sys.executable, "-m", "ticdc_emit", "generate", "--schema", "bank", "--rows", "5000000"]
    running = subprocess.Popen(
        [*program, "--sink-uri", uri], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        # Where it generates, its workers are at work.
        process = "SparkSubmit" if moment == "starting" else "pyspark.daemon"
        assert wait_until(lambda: any(process in each for each in alive(running.pid)))
        # As a terminal does: Spark's Python workers get it too.
        (os.killpg if number == signal.SIGINT else os.kill)(running.pid, number)
        shown, told = running.communicate(timeout=120)
        ended = wait_until(lambda: not alive(running.pid))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    *progress, last = told.splitlines()
    assert (running.returncode, last) == (code, f"ticdc-emit: {said}")
    assert [line.partition(":")[0] for line in progress] == ([] if moment == "starting" else ["starting Spark"])
    assert shown == ""
    assert ended


def wait_until(true: Callable[[], bool]) -> bool:
    for _ in range(600):
        if true():
            return True
        time.sleep(0.1)
    return False
