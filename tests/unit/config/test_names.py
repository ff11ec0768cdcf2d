"""Names in a configuration: protocols, options and dispatchers, and what a mistyped one is answered with."""

from __future__ import annotations

import warnings
from typing import Any
from urllib.parse import urlencode

import pytest

from ticdc_emit.config import ConfigWarning, Protocol, load_changefeed
from ticdc_emit.config.changefeed import DISPATCHER_NAMES
from ticdc_emit.config.protocols import PROTOCOL_NAMES, parse_protocol_name, protocol_document, protocol_parameters
from ticdc_emit.errors import ConfigError, TicdcEmitWarning
from ticdc_emit.routing.partitions import _KINDS
from ticdc_emit.routing.topics import Router
from ticdc_emit.testing import MemoryTopics

URI = "kafka://127.0.0.1:9092/topic?protocol=canal-json"


def test_mistyped_options_are_shown_with_the_ones_that_were_meant() -> None:
    with pytest.warns(ConfigWarning) as caught:
        load_changefeed(
            URI + "&enable_tidb_extension=true&max-mesage-bytes=1", "[sink]\nshema-registry = 'x'\n", strict=False
        )
    assert str(caught[0].message) == (
        "Ignored options (unknown, or not used by this sink): "
        "sink URI: enable_tidb_extension (did you mean enable-tidb-extension?), "
        "max-mesage-bytes (did you mean max-message-bytes?); "
        "changefeed: sink.shema-registry (did you mean schema-registry?)"
    )


def test_no_other_name_is_offered_for_options_that_ticdc_has() -> None:
    file = """
    memory-quota = 1
    bdr-mode = false
    enable-sync-point = true
    sync-point-interval = "10m"
    changefeed-error-stuck-duration = "30m"
    [mounter]
    worker-num = 16
    [sink]
    encoder-concurrency = 1
    terminator = ""
    date-separator = "day"
    [sink.csv]
    delimiter = ","
    """
    with pytest.warns(ConfigWarning) as caught:
        load_changefeed(URI + "&safe-mode=1&worker-count=1&tidb-txn-mode=optimistic&batch-dml-enable=1", file)
    assert "did you mean" not in str(caught[0].message)


@pytest.mark.parametrize(("given", "hint"), [("index_value", "Did you mean index-value?"), ("zebra", "Use one of: ")])
def test_an_unknown_dispatcher_is_warned_of_once(given: str, hint: str) -> None:
    rule = {"matcher": ["*.*"], "partition": given}
    with pytest.warns(ConfigWarning) as caught:
        config = load_changefeed(URI, {"sink": {"dispatchers": [rule, rule]}})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(3):
            assert Router.of(config, {}).rule("a", "b").kind == "table"
    assert len(caught) == 1
    assert f"The partition dispatcher '{given}' is unknown" in str(caught[0].message)
    assert hint in str(caught[0].message)


@pytest.mark.parametrize(
    ("sink_uri", "file", "said"),
    [
        (URI + "&compression=gzipp", "", "The compression 'gzipp' is unknown: .*Did you mean gzip?"),
        (URI.replace("kafka:", "kafka+ssl:"), "", "does not switch TLS on"),
        (URI.replace("canal-json", "open-protocol") + "&enable-tidb-extension=true", "", "no effect with the open-pro"),
        (URI.replace("canal-json", "avro"), "[sink.kafka-config]\noutput-raw-change-event = true", "cannot see"),
    ],
)
def test_an_option_that_does_not_do_what_it_says_is_warned_of(sink_uri: str, file: str, said: str) -> None:
    with pytest.warns(ConfigWarning, match=said):
        load_changefeed(sink_uri, file, own_registry=True)


def test_warnings_can_be_errors() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", TicdcEmitWarning)
        with pytest.raises(ConfigWarning, match="enable_tidb_extension"):
            load_changefeed(URI + "&enable_tidb_extension=true")


def test_the_known_dispatchers_are_those_that_rules_are_made_of() -> None:
    assert {*DISPATCHER_NAMES, ""} == set(_KINDS)


@pytest.mark.parametrize(
    ("name", "protocol", "encoding"),
    [
        ("canal-json", Protocol.CANAL_JSON, None),
        ("SIMPLE", Protocol.SIMPLE, None),
        ("simple-json", Protocol.SIMPLE, "json"),
        ("simple-avro", Protocol.SIMPLE, "avro"),
        ("flat-avro", Protocol.AVRO, None),
    ],
)
def test_names_of_protocols_in_options(name: str, protocol: Protocol, encoding: str | None) -> None:
    assert parse_protocol_name(name) == (protocol, encoding)
    registry: dict[str, Any] = {"schema_registry": "http://127.0.0.1:1"} if protocol is Protocol.AVRO else {}
    feeds = [
        load_changefeed(f"kafka://h:9092/t?{urlencode(protocol_parameters(name))}", **registry),
        load_changefeed("kafka://h:9092/t", protocol_document(name), **registry),
        load_changefeed(MemoryTopics("t").sink_uri(protocol=name, partition_num=2), **registry),
    ]
    for feed in feeds:
        assert (feed.codec.protocol, feed.codec.encoding_format) == (protocol, encoding or "json")
        assert feed.bootstrap_enabled == (protocol is Protocol.SIMPLE)


@pytest.mark.parametrize(("name", "hint"), [("craft", ""), ("simple-xml", "Did you mean simple"), ("zebra", "")])
def test_a_protocol_that_does_not_work_is_not_offered(name: str, hint: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_protocol_name(name)
    assert refusal.value.remedy.endswith("simple-json, simple-avro, debezium, debezium-avro, avro, open-protocol")
    assert refusal.value.remedy.startswith(hint)
    for offered in PROTOCOL_NAMES:
        parse_protocol_name(offered)
