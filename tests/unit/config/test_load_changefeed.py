"""Defaults, precedence, validation and warnings of the two inputs, beyond what the vectors hold."""

from __future__ import annotations

import dataclasses
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.config import (
    NEXT,
    ChangefeedConfig,
    CodecConfig,
    ColumnSelector,
    ConfigWarning,
    DispatchRule,
    Integrity,
    KafkaConfig,
    LargeMessageHandle,
    Protocol,
    Release,
    Secret,
    load_changefeed,
)
from ticdc_emit.config.switches import CanalJsonSwitches
from ticdc_emit.errors import ConfigError

URI = "kafka://127.0.0.1:9092/topic?protocol=canal-json"


@pytest.fixture(autouse=True)
def _no_warning_unless_expected() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        yield


def refusal(uri: str, changefeed: Any = None, **options: Any) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_changefeed(uri, changefeed, **options)
    return caught.value


def test_defaults() -> None:
    config = load_changefeed(URI)
    assert config.codec == CodecConfig()
    assert config.codec.max_message_bytes == 10485760
    assert config.kafka == KafkaConfig(brokers=("127.0.0.1:9092",), topic="topic")
    assert config == ChangefeedConfig(config.sink_uri, config.codec, config.kafka)
    assert (config.kafka.partition_num, config.kafka.replication_factor, config.kafka.required_acks) == (None, 1, -1)
    assert config.send_bootstrap_interval_in_sec == 120
    assert config.send_bootstrap_in_msg_count == 10000
    assert config.integrity == Integrity("none", "warn")


def test_frozen_hashable_and_picklable() -> None:
    config = load_changefeed(URI)
    assert hash(config) == hash(pickle.loads(pickle.dumps(config)))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.codec.enable_tidb_extension = True  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "protocol"),
    [
        ("default", Protocol.OPEN),
        ("open-protocol", Protocol.OPEN),
        ("flat-avro", Protocol.AVRO),
        ("Canal-JSON", Protocol.CANAL_JSON),
        ("canal", Protocol.CANAL),
        ("CRAFT", Protocol.CRAFT),
    ],
)
def test_protocol_names(text: str, protocol: Protocol) -> None:
    assert Protocol.parse(text) is protocol
    assert str(protocol) == protocol.value


def test_inputs_are_equal(tmp_path: Path) -> None:
    text = '[sink]\nprotocol = "simple"\n[sink.kafka-config.codec-config]\nencoding-format = "avro"\n'
    path = tmp_path / "changefeed.toml"
    path.write_text(text, encoding="utf-8")
    mapping = {"sink": {"protocol": "simple", "kafka-config": {"codec-config": {"encoding-format": "avro"}}}}
    uri = "kafka://h:9092/t"
    first = load_changefeed(uri, text)
    assert first.codec.encoding_format == "avro"
    assert first == load_changefeed(uri, path) == load_changefeed(uri, str(path)) == load_changefeed(uri, mapping)
    assert first.codec == load_changefeed("kafka://h:9092/t?protocol=simple&encoding-format=avro", "").codec


def test_uri_wins() -> None:
    file = """
    [sink]
    protocol = "simple"
    [sink.kafka-config]
    max-message-bytes = 500
    partition-num = 4
    [sink.kafka-config.codec-config]
    enable-tidb-extension = false
    max-batch-size = 9
    """
    config = load_changefeed(URI + "&max-message-bytes=600&partition-num=5&enable-tidb-extension=1", file)
    assert config.codec.protocol is Protocol.CANAL_JSON
    assert config.codec.max_message_bytes == config.kafka.max_message_bytes == 600
    assert config.kafka.partition_num == 5
    assert config.codec.enable_tidb_extension
    assert config.codec.max_batch_size == 9


def test_a_zero_uri_value_leaves_the_files_value() -> None:
    file = """
    [sink.kafka-config]
    max-message-bytes = 500
    partition-num = 4
    [sink.kafka-config.codec-config]
    enable-tidb-extension = true
    """
    config = load_changefeed(URI + "&max-message-bytes=0&partition-num=&enable-tidb-extension=false", file)
    assert config.codec.max_message_bytes == 500
    assert config.kafka.partition_num == 4
    assert config.codec.enable_tidb_extension


def test_a_parameter_without_a_value_is_zero() -> None:
    assert not load_changefeed(URI + "&enable-tidb-extension").codec.enable_tidb_extension
    assert refusal(URI + "&max-message-bytes").message.endswith("invalid max-message-bytes 0")
    with pytest.warns(ConfigWarning, match="a parameter without a value"):
        load_changefeed(URI + "&no-such-option")


def test_first_of_repeated_parameters_counts() -> None:
    assert load_changefeed(URI + "&max-message-bytes=7&max-message-bytes=x").codec.max_message_bytes == 7


@pytest.mark.parametrize(
    ("uri", "file", "updated", "compatible"),
    [
        ("canal-json&content-compatible=true", "", True, True),
        ("canal-json&content-compatible=true&only-output-updated-columns=false", "", True, True),
        ("canal-json", "[sink]\ncontent-compatible = true\n", True, True),
        ("simple&content-compatible=true", "", False, False),
        ("simple", "[sink]\ncontent-compatible = true\n", True, False),
        ("canal-json&only-output-updated-columns=false", "[sink]\nonly-output-updated-columns = true\n", True, False),
    ],
)
def test_content_compatible(uri: str, file: str, updated: bool, compatible: bool) -> None:
    codec = load_changefeed(f"kafka://h:9092/t?protocol={uri}", file).codec
    assert (codec.only_output_updated_columns, codec.content_compatible) == (updated, compatible)


def test_options_of_other_protocols_stay_off() -> None:
    codec = load_changefeed(URI + "&encoding-format=xml&avro-enable-watermark=true&enable-tidb-extension=true").codec
    assert codec.encoding_format == "json"
    assert not codec.avro_enable_watermark


def test_avro() -> None:
    uri = "kafka://h:9092/t?protocol=avro&avro-enable-watermark=true"
    registry = "&schema-registry=http%3A%2F%2Fr%3A8081"
    assert refusal(uri).code == "CDC:ErrCodecInvalidConfig"
    codec = load_changefeed(uri + registry).codec
    assert codec.schema_registry == Secret("http://r:8081")
    assert not codec.avro_enable_watermark
    assert load_changefeed(uri + registry + "&enable-tidb-extension=true").codec.avro_enable_watermark
    assert load_changefeed(uri + registry, schema_registry="http://x").codec.schema_registry == Secret("http://r:8081")
    assert load_changefeed(uri, schema_registry="http://x").codec.schema_registry == Secret("http://x")


def test_avro_checksum_needs_text_modes() -> None:
    uri = "kafka://h:9092/t?protocol=avro&schema-registry=http://r&enable-tidb-extension=true"
    file = '[integrity]\nintegrity-check-level = "correctness"\n'
    modes = "&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string"
    assert load_changefeed(uri + modes, file).codec.enable_row_checksum
    assert not load_changefeed(uri, file, integrity=False).codec.enable_row_checksum


def test_glue() -> None:
    uri = "kafka://h:9092/t?protocol=avro"
    glue = '[sink.kafka-config.glue-schema-registry-config]\nregistry-name = "r"\nregion = "e"\naccess-key = "a"\n'
    glue += 'secret-access-key = "s"\n'
    registry = load_changefeed(uri, glue, schema_registry="http://x").codec
    assert registry.glue_schema_registry.secret_access_key == Secret("s")
    assert registry.schema_registry is None


def test_large_message_handle() -> None:
    file = """
    [sink.kafka-config.large-message-handle]
    large-message-handle-option = "claim-check"
    large-message-handle-compression = "lz4"
    claim-check-storage-uri = "file:///claims"
    claim-check-raw-value = true
    """
    handle = load_changefeed(URI + "&enable-tidb-extension=true", file).codec.large_message_handle
    assert handle == LargeMessageHandle("claim-check", "lz4", Secret("file:///claims"), True)
    assert (handle.claim_check, handle.handle_key_only, handle.disabled) == (True, False, False)


def test_old_values() -> None:
    file = "[sink.debezium]\noutput-old-value = false\n[sink.open]\noutput-old-value = true\n"
    assert not load_changefeed("kafka://h:9092/t?protocol=debezium", file).codec.output_old_value
    assert load_changefeed("kafka://h:9092/t?protocol=open-protocol", file).codec.output_old_value
    assert load_changefeed(URI, file).codec.output_old_value


def test_dispatchers_and_selectors() -> None:
    file = """
    case-sensitive = true
    force-replicate = true
    [sink]
    dispatchers = [
      {matcher = ['a.*', '!a.b'], topic = "{schema}_{table}", partition = "columns", columns = ["x", "y"]},
      {matcher = ['*.*'], dispatcher = "index-value", index = "uk"},
    ]
    column-selectors = [{matcher = ['a.*'], columns = ['*', '!z']}]
    [sink.kafka-config]
    output-raw-change-event = true
    """
    config = load_changefeed(URI, file)
    assert config.dispatchers == (
        DispatchRule(("a.*", "!a.b"), "{schema}_{table}", "columns", ("x", "y"), ""),
        DispatchRule(("*.*",), "", "index-value", (), "uk"),
    )
    assert config.column_selectors == (ColumnSelector(("a.*",), ("*", "!z")),)
    assert config.case_sensitive
    assert config.force_replicate
    assert config.output_raw_change_event
    assert not load_changefeed(URI, file, force_replicate=False).force_replicate


@pytest.mark.parametrize(
    ("protocol", "file", "enabled"),
    [
        ("simple", "", True),
        ("SIMPLE", "", False),
        ("canal-json", "", False),
        ("simple", "send-bootstrap-interval-in-sec = 0", False),
        ("simple", "send-bootstrap-in-msg-count = -1", False),
    ],
)
def test_bootstrap(protocol: str, file: str, enabled: bool) -> None:
    config = load_changefeed(f"kafka://h:9092/t?protocol={protocol}", f"[sink]\n{file}\n")
    assert config.bootstrap_enabled is enabled


def test_kafka_options() -> None:
    config = load_changefeed(
        "kafka://a:1,b:2,[::1]:3/my%2Dtopic?protocol=simple&replication-factor=3&required-acks=1&compression=LZ4"
        "&kafka-version=2.6.0&kafka-client-id=me&auto-create-topic=false&dial-timeout=3s&write-timeout=1m&max-retry=7",
        '[sink.kafka-config]\nread-timeout = "250ms"\ncompression = "gzip"\n',
    ).kafka
    assert config == KafkaConfig(
        brokers=("a:1", "b:2", "[::1]:3"),
        topic="my-topic",
        replication_factor=3,
        required_acks=1,
        compression="lz4",
        kafka_version="2.6.0",
        kafka_client_id="me",
        auto_create_topic=False,
        max_retry=7,
        dial_timeout_ms=3000,
        write_timeout_ms=60_000,
        read_timeout_ms=250,
    )
    with pytest.warns(ConfigWarning, match=r"The compression 'zip' is unknown.* Did you mean gzip\?$"):
        assert load_changefeed(URI + "&max-retry=-1&compression=zip").kafka == load_changefeed(URI).kafka


def test_tls_and_sasl() -> None:
    kafka = load_changefeed(
        URI
        + "&ca=a&cert=b&key=c&insecure-skip-verify=true&sasl-mechanism=scram-sha-256&sasl-user=u&sasl-password=p%26q"
        "&sasl-gssapi-auth-type=KEYTAB&sasl-gssapi-disable-pafxfast=true"
    ).kafka
    assert (kafka.tls.enable, kafka.tls.ca, kafka.tls.key, kafka.tls.insecure_skip_verify) == (
        True,
        "a",
        Secret("c"),
        True,
    )
    assert (kafka.sasl.mechanism, kafka.sasl.user, kafka.sasl.password) == ("SCRAM-SHA-256", "u", Secret("p&q"))
    assert (kafka.sasl.gssapi.auth_type, kafka.sasl.gssapi.disable_pafxfast) == ("keytab", True)
    assert not load_changefeed(URI + "&insecure-skip-verify=true").kafka.tls.insecure_skip_verify


def test_oauth() -> None:
    file = """
    [sink.kafka-config]
    sasl-mechanism = "OAUTHBEARER"
    sasl-oauth-client-id = "id"
    sasl-oauth-client-secret = "c2VjcmV0"
    sasl-oauth-token-url = "http://t"
    sasl-oauth-scopes = ["a", "b"]
    """
    oauth = load_changefeed(URI, file).kafka.sasl.oauth
    assert (oauth.client_id, oauth.client_secret, oauth.token_url) == ("id", Secret("secret"), Secret("http://t"))
    assert (oauth.scopes, oauth.grant_type, oauth.audience) == (("a", "b"), "client_credentials", None)


@pytest.mark.parametrize(
    ("uri", "path", "topic", "partitions"),
    [
        ("jsonl:///tmp/out%20put?protocol=simple", "/tmp/out put", "ticdc", 3),
        ("jsonl://./out?protocol=simple&topic=orders&partition-num=8", "./out", "orders", 8),
        ("memory://test?protocol=simple&topic=a", "test", "a", 3),
        ("MEMORY://test/?protocol=simple", "test", "ticdc", 3),
    ],
)
def test_embedded_sinks(uri: str, path: str, topic: str, partitions: int) -> None:
    config = load_changefeed(uri)
    assert config.sink_uri.embedded
    assert (config.sink_uri.path, config.sink_uri.hosts) == (path, ())
    assert (config.sink_uri.topic, config.kafka.topic, config.kafka.partition_num) == (topic, topic, partitions)


def test_embedded_sinks_take_the_codec_parameters_and_name_the_rest() -> None:
    query = "protocol=avro&schema-registry=http://r&enable-tidb-extension=true&max-message-bytes=99"
    assert load_changefeed(f"memory://m?{query}").codec == load_changefeed(f"kafka://h:9092/t?{query}").codec
    with pytest.warns(ConfigWarning, match=r"sink URI: compression; changefeed: sink\.kafka-config\.ca$"):
        load_changefeed("memory://m?protocol=simple&compression=lz4", '[sink.kafka-config]\nca = "x"\n')


def test_one_warning_names_everything_without_effect(caplog: pytest.LogCaptureFixture) -> None:
    file = """
    memory-quota = 1
    [filter]
    rules = ["a.*"]
    [sink]
    no-such = 1
    dispatchers = [{matcher = ["*.*"], partitions = "ts"}]
    [sink.kafka-config.codec-config]
    no-codec = 1
    """
    with caplog.at_level("INFO"), pytest.warns(ConfigWarning) as caught:
        load_changefeed(URI + "&no-such-option=1&client-x=secret&worker-count=100%", file, strict=False)
    assert len(caught) == 1
    message = str(caught[0].message)
    assert message == (
        "Ignored options (unknown, or not used by this sink): "
        "sink URI: no-such-option, client-x, worker-count (not percent-encoded); "
        "changefeed: memory-quota, sink.no-such, sink.dispatchers[0].partitions (did you mean partition?), "
        "sink.kafka-config.codec-config.no-codec"
    )
    assert message in caplog.text


def test_key_names_match_without_case() -> None:
    assert load_changefeed("kafka://h:9092/t", '[SINK]\nProtocol = "simple"\n').codec.protocol is Protocol.SIMPLE


@pytest.mark.parametrize("uri", ["", "kafka://h/t\x00"])
def test_no_uri(uri: str) -> None:
    assert refusal(uri).code == "CDC:ErrSinkURIInvalid"


@pytest.mark.parametrize(
    ("changefeed", "message", "option"),
    [
        (f"a = {'[' * 2_000}{']' * 2_000}", "the changefeed text is nested too deeply", "changefeed"),
        (f"a = {'{b = ' * 2_000}1{'}' * 2_000}", "the changefeed text is nested too deeply", "changefeed"),
        ({1: 2}, "a key of the changefeed is of type int, not text", "changefeed"),
        ({None: {}}, "a key of the changefeed is of type NoneType, not text", "changefeed"),
        ({"sink": {"dispatchers": [{3: 4}]}}, "a key of sink.dispatchers[0] is of type int", "sink.dispatchers[0]"),
        (["a"], "the changefeed is of type list", "changefeed"),
    ],
)
def test_what_is_no_document(changefeed: Any, message: str, option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_changefeed(URI, changefeed)
    assert message in caught.value.message
    assert caught.value.option == option


def test_time_zone() -> None:
    assert load_changefeed(URI, time_zone="America/New_York", cluster_id="c1").time_zone == "America/New_York"
    for zone in ("Mars/Olympus", "", "/etc/localtime", "../UTC", "asia/\x00"):
        assert refusal(URI, time_zone=zone).option == "time_zone"


def test_releases() -> None:
    assert load_changefeed(URI).release.canal_json.empty_mysql_type == "object"
    assert load_changefeed(URI, release="next").release is NEXT
    assert load_changefeed(URI, release=NEXT).release.canal_json.empty_mysql_type == "null"
    own = Release("mine", canal_json=CanalJsonSwitches(empty_mysql_type="null"))
    assert load_changefeed(URI, release=own).release is own
    assert refusal(URI, release="newest").option == "release"
