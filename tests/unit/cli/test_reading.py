"""What is shown of a message are the members of the wire; the embedded Kafka's feed has no option without effect."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from ticdc_emit.cli.place import changefeed_at, place
from ticdc_emit.cli.reading import reader_for
from ticdc_emit.config.protocol import protocol_document
from ticdc_emit.traffic.scenarios import scenario


@pytest.mark.parametrize("protocol", ["simple-json", "simple-avro"])
def test_simple_is_shown_with_the_names_of_its_messages(protocol: str) -> None:
    made = scenario("redelivery", protocol=protocol)
    read = reader_for(made.config)
    shown = [read(message) for message in made.messages]
    assert None not in shown
    rows = [each for each in shown if each is not None and each.row is not None]
    assert {"tableID", "type", "commitTs", "buildTs", "schemaVersion"} <= rows[0].members.keys()
    assert {each.kind for each in shown if each is not None} >= {"INSERT", "UPDATE", "WATERMARK", "BOOTSTRAP"}
    json.dumps([each.members for each in shown if each is not None])
    if protocol == "simple-json":
        assert [each.members for each in shown if each] == [json.loads(each.value or b"") for each in made.messages]


@pytest.mark.parametrize("protocol", ["canal-json", "simple", "simple-avro", "debezium"])
def test_the_embedded_feed_sets_nothing_without_effect(protocol: str, caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as stack:
        changefeed = protocol_document(protocol)
        kafka, uri = place(stack, None, "t", changefeed)
        config = changefeed_at(stack, uri, changefeed, None)
    assert kafka is not None
    assert config.codec.enable_tidb_extension == (not protocol.startswith("simple"))
    assert caplog.records == []
