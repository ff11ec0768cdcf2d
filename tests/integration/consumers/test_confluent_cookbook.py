"""Confluent's AvroDeserializer reads TiCDC's Avro from a real broker and registry: docs/cookbook.md#confluent."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any
from uuid import uuid4

import pytest
from apicurio import Apicurio
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_send import Measured, Send, Sent
from page_blocks import KAFKA, REGISTRY, page_block
from wire_values import Shape, avro, debezium_avro, shaped

pytestmark = [pytest.mark.integration, pytest.mark.slow]

CONSUMER = "Confluent's `AvroDeserializer`"
VERSION = f"confluent-kafka {version('confluent-kafka')}"

_CONNECT, _AVRO, _NEWEST, _DEBEZIUM = "subscribe", "row is None", "newest = ", "change = "


def _table(sent: Sent, registry: str, table: str, *programs: str) -> dict[tuple[str, ...], dict[str, Any]]:
    """Run the page's programs for a topic, and return their table by canonical key."""
    places = {KAFKA: sent.bootstrap, REGISTRY: registry, "shop_orders": sent.topics[table]}
    places['"group.id": "table"'] = f'"group.id": "{uuid4()}"'
    code = page_block("confluent", "python", _CONNECT, places=places)
    code += "".join(page_block("confluent", "python", program) for program in programs)
    names: dict[str, Any] = {}
    exec(compile(code, "docs/cookbook.md#confluent", "exec"), names)
    return {tuple(str(row[name]) for name in KEYS[table]): row for row in names["table"].values()}


def _compared(sent: Sent, registry: str, shape: Shape, *programs: str) -> Comparison:
    """Compare all tables; a field that a row lacks counts as NULL unless the newest schema is the reader's."""
    total, defaults = Comparison(0, 0, ()), _NEWEST in programs
    for table, expected in sent.data.tables(defaults=defaults).items():
        rows = _table(sent, registry, table, *programs)
        missing = {} if defaults else {name: None for row in expected.values() for name in row}
        total += compared(table, shaped(table, expected, shape), {key: missing | row for key, row in rows.items()})
    return total


def test_avro_as_written(send: Send, apicurio: Apicurio, measured: Measured) -> None:
    sent = send("avro", "enable-tidb-extension=true", registry=apicurio.url)
    measured(CONSUMER, VERSION, "Avro", _compared(sent, apicurio.url, avro, _AVRO))
    with pytest.raises(Exception, match="No default value for field"):
        _table(sent, apicurio.url, "lines", _NEWEST, _AVRO)


def test_avro_newest_schema(send: Send, apicurio: Apicurio, measured: Measured) -> None:
    sent = send("avro", "avro-decimal-handling-mode=string", registry=apicurio.url)

    def shape(kind: str, text: str) -> Any:
        return text if kind.startswith("decimal") else avro(kind, text)

    measured(CONSUMER, VERSION, "Avro, newest schema", _compared(sent, apicurio.url, shape, _NEWEST, _AVRO))


def test_debezium_avro(send: Send, apicurio: Apicurio, measured: Measured) -> None:
    options = "avro-bigint-unsigned-handling-mode=string"
    sent = send("debezium-avro", options, registry=apicurio.url, release="next")
    measured(CONSUMER, VERSION, "Debezium in Avro", _compared(sent, apicurio.url, debezium_avro, _DEBEZIUM))
