"""Debezium's JDBC sink on Kafka Connect writes TiCDC's Debezium to PostgreSQL: docs/cookbook.md#jdbc-sink."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from comparison import Comparison, compared
from connect_worker import ConnectWorker, properties
from cookbook_data import DATABASE, KEYS
from cookbook_send import Measured, Send, Sent
from missing_parts import java_and_jars
from page_blocks import KAFKA, page_block
from postgres import Postgres
from wire_values import debezium, shaped

pytestmark = [pytest.mark.integration, pytest.mark.slow]

JARS = Path(__file__).parent / "jdbc_sink"
LEFT_OUT = "field.exclude.list"
FAULTS = {
    "ddl": "Schema change records are not supported by JDBC connector",
    "watermark": "after is not a valid field name",
    "bits": "is not a valid binary digit",
    "clock": "Invalid value for NanoOfDay",
}
"""Sinks that lack one thing that the page asks for, each with what it stops with."""


@pytest.fixture(scope="module")
def sent(send: Send) -> Sent:
    return send("debezium")


@pytest.fixture(scope="module")
def worker(
    send: Send, sent: Sent, postgres: Postgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConnectWorker]:
    """A worker with the page's sink, and one more for each of the faults."""
    places = {"shop_kinds,shop_lines,shop_orders": _topic(sent), "127.0.0.1:5432": postgres.address}
    page = properties(page_block("jdbc-sink", "properties", "connector.class", places=places))
    sinks = [
        _sink(page, "whole"),
        {name: value for name, value in _sink(page, "ddl").items() if not name.startswith("transforms")},
        _sink(page, "watermark") | {"topics": _topic(send("debezium", "enable-tidb-extension=true"))},
        _sink(page, "bits") | {LEFT_OUT: "clock"},
        _sink(page, "clock") | {LEFT_OUT: "bits"},
    ]
    settings = properties(page_block("jdbc-sink", "properties", "bootstrap", places={KAFKA: sent.bootstrap}))
    with ConnectWorker(*java_and_jars(JARS), tmp_path_factory.mktemp("connect"), settings, sinks) as running:
        yield running


def _topic(sent: Sent) -> str:
    (topic,) = set(sent.topics.values())
    return topic


def _sink(page: Mapping[str, str], name: str) -> dict[str, str]:
    """Return the page's settings for a sink of this name, whose tables have it before theirs."""
    return {**page, "name": name, "collection.name.format": f"{name}_{page['collection.name.format']}"}


def _stored(kind: str, text: str) -> Any:
    """Return what PostgreSQL's JSON shows of a value that the sink has written."""
    if kind == "json":
        return json.loads(text)
    if kind.startswith("date"):
        return _moment(text.replace(" ", "T"))
    if kind.startswith("timestamp"):
        return f"{_moment(debezium(kind, text).removesuffix('Z'))}+00:00"
    return debezium(kind, text)


def _moment(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


def test_the_sink_writes_the_tables(worker: ConnectWorker, sent: Sent, postgres: Postgres, measured: Measured) -> None:
    assert worker.read_all("whole") is None
    total = Comparison(0, 0, ())
    for table, rows in sent.data.tables().items():
        left_out = worker.settings("whole")[LEFT_OUT].split(",")
        expected = {
            key: {name: value for name, value in row.items() if name not in left_out}
            for key, row in shaped(table, rows, _stored).items()
        }
        written = postgres.rows(f"whole_{DATABASE}_{table}")
        total += compared(table, expected, {tuple(str(row[name]) for name in KEYS[table]): row for row in written})
    (connector,) = java_and_jars(JARS)[1].glob("debezium-connector-jdbc-*.jar")
    (connect,) = java_and_jars(JARS)[1].glob("connect-runtime-*.jar")
    version = f"{connector.stem.rpartition('-')[2].removesuffix('.Final')} on Connect {connect.stem.rpartition('-')[2]}"
    measured("Debezium's JDBC sink, into PostgreSQL", version, "Debezium", total)


@pytest.mark.parametrize("name", FAULTS)
def test_what_stops_the_sink(worker: ConnectWorker, name: str) -> None:
    assert FAULTS[name] in str(worker.read_all(name))
