"""``serve --broker kafka``: a real broker with live traffic that a signal ends without leaving a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from message_rows import has_messages

from ticdc_emit.delivery.kafka_reader import read_topic
from ticdc_emit.testing.addresses import free_ports, require_free_port


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.usefixtures("kafka_parts")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 0), (signal.SIGTERM, 143)])
def test_live_traffic_on_a_real_broker(number: int, code: int, tmp_path: Path) -> None:
    port, registry = free_ports(2)
    place = ["--port", str(port), "--registry-port", str(registry)]
    traffic = ["--broker", "kafka", "--schema", "bank", "--rate", "200"]
    command = [sys.executable, "-m", "ticdc_emit", "serve", *place, *traffic]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with (tmp_path / "shown").open("w") as shown:
        process = subprocess.Popen(command, env=environment, stdout=shown, stderr=subprocess.STDOUT)
    try:
        deadline = time.monotonic() + 200
        while not has_messages(f"127.0.0.1:{port}", "bank_accounts"):
            assert process.poll() is None, (tmp_path / "shown").read_text()
            assert time.monotonic() < deadline, (tmp_path / "shown").read_text()
            time.sleep(0.5)
        process.send_signal(number)
        assert process.wait(60) == code, (tmp_path / "shown").read_text()
    finally:
        process.kill()
    require_free_port(port, "--port")
    assert "messages" in (tmp_path / "shown").read_text().splitlines()[-1]


@pytest.mark.slow
@pytest.mark.integration
@pytest.mark.usefixtures("kafka_parts")
@pytest.mark.parametrize("options", [["--host", "0.0.0.0"], ["--advertise", "localhost"], []])
def test_a_real_broker_says_the_address_for_its_clients(options: list[str]) -> None:
    from confluent_kafka.admin import AdminClient

    command = [sys.executable, "-m", "ticdc_emit", "serve", "--broker", "kafka", "--schema", "bank", "--json", *options]
    command += ["--port", "0", "--registry-port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        served = json.loads(process.stdout.readline() or process.stderr.read())
        assert json.loads(process.stdout.readline())["event"] == "traffic"
        host = served["bootstrap"].rpartition(":")[0]
        assert (host == "127.0.0.1") is not bool(options)
        assert (host == "localhost") is ("--advertise" in options)
        settings = {"bootstrap.servers": served["bootstrap"]}
        (broker,) = AdminClient(settings).list_topics(timeout=10).brokers.values()
        assert f"{broker.host}:{broker.port}" == served["bootstrap"]
        assert read_topic(settings, "bank_customers", newest=1)
        assert (served["kafka"], served["limits"]) == ("4.3.1", [])
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=60)
        assert json.loads(told)["event"] == "ended"
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()
