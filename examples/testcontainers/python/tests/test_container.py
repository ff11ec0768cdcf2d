"""The module starts a server that takes SQL. Without Docker its command runs as a process."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.request
from pathlib import Path

import docker
import pytest
import ticdc_emit_testcontainers as module
from docker.errors import DockerException

SCHEMA = Path(__file__).with_name("orders.sql")
INSERT = "INSERT INTO shop.orders VALUES (1, 'new', 10.50)"


def test_sql_in_a_container() -> None:
    try:
        docker.from_env().ping()
    except DockerException as error:
        pytest.skip(f"Docker does not run: {error}")
    with module.TicdcEmitContainer("ticdc-emit", SCHEMA, "--protocol", "avro") as ticdc:
        assert ticdc.sql(INSERT)["rows"] == 1
        with urllib.request.urlopen(f"{ticdc.registry()}/subjects", timeout=10) as answer:
            assert b"shop_orders-value" in answer.read()


def test_the_command_of_the_container_serves(tmp_path: Path) -> None:
    name = os.environ.get("TICDC_EMIT") or shutil.which("ticdc-emit")
    if name is None:
        pytest.skip("ticdc-emit is not installed")
    ready, token = tmp_path / "ready.json", "for-this-test-only"
    command = module._command(module._free_port(), "localhost", ("--ready-file", str(ready)), str(SCHEMA))
    environment = {**os.environ, "TICDC_EMIT_CONTROL_TOKEN": token}
    with subprocess.Popen([name, *command], env=environment, stdout=subprocess.DEVNULL) as server:
        try:
            while not ready.exists():
                assert server.poll() is None, "serve has ended"
                time.sleep(0.1)
            assert module.post("http://localhost:8300/sql", token, sql=INSERT)["rows"] == 1
        finally:
            server.terminate()
