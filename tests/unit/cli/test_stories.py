"""What the commands show of each protocol's messages; the embedded Kafka's feed has no option without effect."""

from __future__ import annotations

import io
import json
from contextlib import ExitStack

import pytest
from rich.console import Console

from ticdc_emit.cli.messages import message_dict, pick_story, print_messages
from ticdc_emit.cli.place import changefeed_at, place
from ticdc_emit.config.protocols import protocol_document
from ticdc_emit.consume.tail import Tail
from ticdc_emit.traffic.scenarios import scenario


@pytest.mark.parametrize("protocol", ["canal-json", "simple-json", "simple-avro", "debezium"])
def test_a_story_of_each_protocol(protocol: str) -> None:
    made = scenario("redelivery", protocol=protocol)
    tail = Tail(made.config)
    read = tail.line
    lines = [read(message) for message in made.messages]
    assert {line.op for line in lines if line is not None} >= {"insert", "update", "watermark"}
    *rows, control = pick_story(made.messages, tail.lines)
    told = [read(message) for message in rows]
    assert len({(line.table, *line.key.items()) for line in told if line is not None}) == 1
    last = read(control)
    assert last is not None
    assert last.op == "watermark"
    stream = io.StringIO()
    print_messages(Console(file=stream, force_terminal=True, width=200, color_system=None), rows, tail.lines)
    shown = stream.getvalue()
    binary = [message_dict(message, tail.lines).get("decoded") for message in rows]
    assert all((each is not None) == (protocol == "simple-avro") for each in binary)
    json.dumps(binary)
    assert ('"schemaVersion"' in shown) == (protocol == "simple-json"), "JSON is shown as it is on the wire"
    assert '"schema": {' not in shown, "of Debezium's envelope the payload alone"


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "simple-avro", "debezium"])
def test_the_embedded_feed_sets_nothing_without_effect(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack:
        changefeed = protocol_document(protocol)
        kafka, uri = place(stack, None, "t", changefeed)
        config = changefeed_at(stack, uri, changefeed, None)
    assert kafka is not None
    assert config.codec.enable_tidb_extension == (not protocol.startswith("simple"))
    assert caplog.records == []
