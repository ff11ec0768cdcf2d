"""What a Spark job shows of a changefeed's secrets: nothing, in logs, event log, state or errors of its workers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from canary import leaks
from spark_session import ON_CONNECT

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

TESTS = Path(__file__).parents[1]
SUCCEED = {"avro", "stored"}
FAIL = {
    "lost": "PythonException",
    "large": "MessageTooLargeError",
    "row": "InvalidValueError",
    "dead": "PythonException",
    "nowhere": "BrokerUnreachableError",
    "refused": "ConfigError",
    "registry": "RegistryUnreachableError",
}


def test_a_job_shows_no_secret(tmp_path: Path) -> None:
    if ON_CONNECT:
        pytest.skip("the event log is the server's")
    folders = os.pathsep.join([str(TESTS), str(TESTS.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, str(TESTS / "spark" / "canary_job.py"), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=560,
        env={**os.environ, "PYTHONPATH": folders},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3_000:]
    said = re.findall(r"^FAILED .*", done.stdout, re.MULTILINE)
    assert set(re.findall(r"^DONE (\w+)", done.stdout, re.MULTILINE)) == SUCCEED, said
    assert dict(re.findall(r"^FAILED (\w+): (\w+)", done.stdout, re.MULTILINE)) == FAIL
    assert "BrokerUnreachableError" in done.stdout  # as the worker said it
    assert "ClaimCheckError" in done.stdout
    assert leaks(done.stdout) == []
    assert leaks(done.stderr) == []
    assert b"MapInArrow" in b"".join(path.read_bytes() for path in (tmp_path / "events").rglob("events_*"))
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any("events" in path.parts for path in files)
    assert any("state" in path.parts for path in files)
    assert sum("claims" in path.parts for path in files) == 3
    assert {path.relative_to(tmp_path): leaks(path.read_bytes()) for path in files if leaks(path.read_bytes())} == {}
