"""The parser of docs/cookbook.md#open-protocol and the reference consumer read messages of several rows."""

from __future__ import annotations

import ast
from typing import Any

import pytest
from comparison import Comparison, compared
from cookbook_data import DATABASE, KEYS, TIME_ZONE, DataSet
from cookbook_send import Measured, Send
from page_blocks import page_block
from wire_values import kind_of, open_protocol, shaped

from ticdc_emit import ReferenceConsumer, load_changefeed
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.kafka_reader import read_topic

pytestmark = [pytest.mark.integration, pytest.mark.slow]

FEED = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the page's code defines."""
    names: dict[str, Any] = {}
    exec(page_block("open-protocol", "python"), names)
    return names


def _compared(page: dict[str, Any], data: DataSet, messages: list[Message]) -> Comparison:
    tables: dict[tuple[str, str], dict[Any, dict[str, Any]]] = {}
    most = 0
    for message in messages:
        page["apply"](tables, message.key, message.value)
        most = max(most, len(list(page["events"](message.key, message.value))))
    assert most == 16
    total = Comparison(0, 0, ())
    for table, rows in data.tables(defaults=False).items():
        every_column = dict.fromkeys(next(iter(rows.values())))
        read = {
            tuple(str(row[name]) for name in KEYS[table]): every_column | _unquoted(table, row)
            for row in tables[DATABASE, table].values()
        }
        total += compared(table, shaped(table, rows, open_protocol), read)
    return total


def _unquoted(table: str, row: dict[str, Any]) -> dict[str, Any]:
    """Return a row with the bytes of VARBINARY, whose escapes are Python's here, too."""
    return {
        name: ast.literal_eval(f'b"{value}"')
        if value is not None and kind_of(table, name).startswith("varbinary")
        else value
        for name, value in row.items()
    }


def test_messages_of_a_real_broker(page: dict[str, Any], send: Send, measured: Measured) -> None:
    sent = send("open-protocol")
    messages = read_topic({"bootstrap.servers": sent.bootstrap}, sent.topics["orders"])
    assert len(messages) < len(sent.data.rows)
    config = load_changefeed(
        f"kafka://{sent.bootstrap}/{sent.topics['orders']}?protocol=open-protocol", FEED, time_zone=TIME_ZONE
    )
    consumer = ReferenceConsumer(config, sent.data.schema, partitions=3)
    consumer.take_all(messages)
    consumer.finish()
    assert consumer.tables == {(DATABASE, table): rows for table, rows in sent.data.tables().items()}
    measured("The parser of the page", "40 lines", "Open Protocol", _compared(page, sent.data, messages))
