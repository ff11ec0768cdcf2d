"""The consumer under test reads from ticdc-emit serve in a container. Runs where Docker runs."""

from __future__ import annotations

import json
import socket
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import docker
import pytest
from confluent_kafka import Consumer, TopicPartition
from docker.errors import DockerException
from orders import Orders
from testcontainers.core.container import DockerContainer
from testcontainers.core.wait_strategies import HttpWaitStrategy

TOKEN = "for-these-tests-only"


@pytest.fixture
def server() -> Iterator[tuple[str, str]]:
    """The address of Kafka and the URL of the control API."""
    try:
        docker.from_env().ping()
    except DockerException as error:
        pytest.skip(f"Docker does not run: {error}")
    port = free_port()
    with container_on(port) as container:
        yield f"localhost:{port}", f"http://localhost:{container.get_exposed_port(8300)}"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def container_on(port: int) -> DockerContainer:
    """Return the container; Kafka has the same port inside and outside, because it tells clients its address."""
    command = f"serve --schema /data/schema.sql --enable-tidb-extension --host 0.0.0.0 --port {port}"
    return (
        DockerContainer("ticdc-emit")
        .with_volume_mapping(str(Path(__file__).with_name("orders.sql")), "/data/schema.sql")
        .with_env("TICDC_EMIT_CONTROL_TOKEN", TOKEN)
        .with_command(f"{command} --advertise localhost:{port} --control 0.0.0.0:8300")
        .with_bind_ports(port, port)
        .with_exposed_ports(8300)
        .waiting_for(HttpWaitStrategy(8300, "/ready"))
    )


def call(url: str, path: str, **body: Any) -> dict[str, Any]:
    """POST to the control API."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return dict(json.load(answer))


def test_an_insert(server: tuple[str, str]) -> None:
    bootstrap, control = server
    sent = call(control, "/sql", sql="INSERT INTO shop.orders VALUES (1, 'new', 10.50)")
    ends = {each["partition"]: each["end_offset"] for each in sent["partitions"] if each["topic"] == "shop_orders"}
    orders = Orders()
    with closing(Consumer({"bootstrap.servers": bootstrap, "group.id": "orders"})) as kafka:
        kafka.assign([TopicPartition("shop_orders", partition, 0) for partition in ends])
        while any(each.offset < ends[each.partition] for each in kafka.position(kafka.assignment())):
            message = kafka.poll(20)
            assert message is not None, "not read after 20 s"
            orders.apply(message.value())
    assert orders.rows().keys() == {"1"}
