"""``serve --control`` as a child process, driven over HTTP, read by a consumer of confluent-kafka."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from child import Cli
from controlled_server import SCHEMA, ControlledServer, Reader

pytest.importorskip("confluent_kafka")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlledServer]:
    path = tmp_path_factory.mktemp("control") / "shop.sql"
    path.write_text(SCHEMA)
    running = ControlledServer("--schema", str(path), "--enable-tidb-extension")
    yield running
    running.stop()


@pytest.fixture
def reader(server: ControlledServer) -> Iterator[Reader]:
    reader = Reader(server, server.post("/reset")["partitions"])
    yield reader
    reader.close()


def test_a_consumer_sees_what_a_test_does(server: ControlledServer, reader: Reader) -> None:
    sent = server.post("/sql", {"sql": "INSERT INTO shop.orders VALUES (1, 'first')"})
    assert reader.changes(sent) == [("INSERT", {"id": "1", "note": "first"})]
    moved = server.post("/sql", {"sql": "UPDATE shop.orders SET id = 2 WHERE id = 1"})
    assert {kind for kind, _ in reader.changes(moved)} in ({"DELETE", "INSERT"}, {"UPDATE"})
    altered = server.post("/sql", {"sql": "ALTER TABLE shop.orders ADD COLUMN amount INT DEFAULT 7"})
    assert [kind for kind, _ in reader.changes(altered)] == ["DDL"]
    again = server.post("/redeliver", {"last": 20, "topic": "shop_orders"})
    assert "DDL" in {kind for kind, _ in reader.changes(again)}
    for partition in range(4):
        server.post("/hold", {"topic": "shop_orders", "partition": partition})
    held = server.post("/sql", {"sql": "INSERT INTO shop.orders VALUES (3, 'held', 1)"})
    assert reader.changes(held) == []
    assert reader.changes(server.post("/release")) == [("INSERT", {"id": "3", "note": "held", "amount": "1"})]
    assert server.ask("/tables")["tables"]["shop.orders"] == [
        {"id": "2", "note": "first", "amount": "7"},
        {"id": "3", "note": "held", "amount": "1"},
    ]
    ends = {(p["topic"], p["partition"]): p["end_offset"] for p in server.ask("/messages?last=1")["partitions"]}
    assert all(ends[place] >= end for place, end in reader.position.items())  # watermarks go on


UPGRADE = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA\r\n"


@pytest.mark.parametrize("script", ["many statements", "one statement"])
def test_a_stderr_that_nobody_reads_stops_neither_answers_nor_the_end(script: str) -> None:
    """The pipe is full from the beginning; requests are those of Java's default client."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with suppress(BlockingIOError):
        while True:
            os.write(writing, b"x" * 512)
    os.set_blocking(writing, True)
    command = [sys.executable, "-m", "ticdc_emit", "serve", "--port", "0", "--registry-port", "0"]
    process = subprocess.Popen(
        [*command, "--control", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=writing, text=True
    )
    try:
        while "Control API" not in (line := process.stdout.readline()):
            assert line, "it ended"
        url = line.split()[-1]
        port = int(url.rpartition(":")[2])
        for _ in range(400):
            with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
                connection.sendall(f"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n{UPGRADE}\r\n".encode())
                assert connection.recv(15) == b"HTTP/1.1 200 OK"
        rows = [f"({number}, 'a')" for number in range(40_000)]
        inserts = [f"INSERT INTO d.t VALUES {row}" for row in rows] if script == "many statements" else [
            f"INSERT INTO d.t VALUES {', '.join(rows)}"
        ]  # fmt: skip
        body = json.dumps(
            {"sql": ";".join(["CREATE DATABASE d", "CREATE TABLE d.t (a INT PRIMARY KEY, b TEXT)", *inserts])}
        )
        with ThreadPoolExecutor(1) as pool:
            request = urllib.request.Request(f"{url}/sql", body.encode())
            answer = pool.submit(urllib.request.urlopen, request, timeout=60)
            with urllib.request.urlopen(f"{url}/health", timeout=60):  # so the call is under way, or about to be
                time.sleep(0.5)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 143
            error = answer.exception()
        assert isinstance(error, urllib.error.HTTPError)
        assert (error.code, set(json.load(error)["error"]) >= {"type", "message", "remedy"}) == (503, True)
    finally:
        process.kill()
        process.communicate()
        os.close(reading)
        os.close(writing)


def test_an_end_is_one_line_and_an_old_ready_file_is_gone_first(tmp_path: Path) -> None:
    ready = tmp_path / "ready.json"
    ready.write_text("of an earlier run")
    server = ControlledServer("--ready-file", str(ready))
    body = json.dumps(
        {"sql": "CREATE DATABASE d; CREATE TABLE d.t (a INT PRIMARY KEY);" + "INSERT INTO d.t VALUES (1);" * 2}
    )
    with pytest.raises(urllib.error.HTTPError):
        server.post("/sql", json.loads(body))
    server.process.send_signal(signal.SIGTERM)
    _, shown = server.process.communicate(timeout=60)
    assert (server.process.returncode, shown) == (143, "ticdc-emit: terminated\n")
    ready.write_text("of an earlier run")
    slow = (  # whatever the command imports would fail
        f"import sys; sys.argv[1:] = ['serve', '--ready-file={ready}']; sys.modules['ticdc_emit.cli.app'] = None\n"
        "from ticdc_emit.cli.main import main; main()"
    )
    assert subprocess.run([sys.executable, "-c", slow], capture_output=True, check=False, timeout=60).returncode
    assert not ready.exists()


def test_traffic_begins_when_it_is_asked_for(server: ControlledServer) -> None:
    server.post("/reset")
    assert server.ask("/tables")["tables"] == {"shop.clerks": [], "shop.orders": []}
    assert server.post("/traffic/start", {"rate": 500.0})["running"]
    while not server.ask("/traffic")["rows"]:
        time.sleep(0.05)
    state = server.post("/traffic/stop")
    assert (state["running"], state["error"]) == (False, None)
    assert any(server.ask("/tables")["tables"].values())
    server.post("/reset")


def test_a_token_comes_from_a_file_or_the_environment(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    (tmp_path / "token").write_text("short\n")
    assert "needs 16 or more" in cli("serve", "--control", ":0", "--control-token", str(tmp_path / "token"), code=2).err
    monkeypatch.setenv("TICDC_EMIT_CONTROL_TOKEN", "tiny-secret")
    shown = cli("serve", "--control", "0.0.0.0:0", code=2)
    assert "needs 16 or more" in shown.err
    assert "tiny-secret" not in shown.err + shown.out
