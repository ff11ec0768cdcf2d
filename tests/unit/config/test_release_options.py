"""Options and protocols that one lineage has and the other refuses."""

from __future__ import annotations

import re
import warnings
from typing import Any

import pytest

from ticdc_emit.config import CLASSIC, NEXT, ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.errors import ConfigError

URI = "kafka://h:9092/t?protocol="


def load(uri: str, changefeed: Any = None, release: str = "next", **options: Any) -> ChangefeedConfig:
    return load_changefeed(URI + uri, changefeed, release=release, **options)


def refusal(uri: str, changefeed: Any = None, release: str = "next", **options: Any) -> str:
    with pytest.raises(ConfigError) as refused:
        load(uri, changefeed, release, **options)
    return refused.value.message


def test_protocols() -> None:
    for name in ("canal", "maxwell", "craft"):
        load(name, release="classic")
        assert refusal(name) == f"[CDC:ErrSinkUnknownProtocol]unknown '{name}' message protocol for sink"
    load("debezium-avro", schema_registry="http://r")
    assert "unknown 'debezium-avro' message protocol" in refusal("debezium-avro", release="classic")


def test_large_message_options() -> None:
    other = {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "split"}}}}
    uri = "canal-json&enable-tidb-extension=true"
    assert load(uri, other, "classic").codec.large_message_handle.option == "split"
    load(uri, other, "next-8.5.7")
    for release in ("next-8.5.8", "next"):
        text = refusal(uri, other, release)
        assert text == "[CDC:ErrInvalidReplicaConfig]unknown large-message-handle-option split"


def test_force_replicate_names_its_protocols() -> None:
    uri = "avro&schema-registry=http://r"
    assert refusal(uri, release="classic", force_replicate=True).endswith("when using avro protocol")
    assert refusal(uri, force_replicate=True).endswith("when using avro or debezium-avro protocol")


def test_large_messages_of_tables_without_key() -> None:
    large = {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "handle-key-only"}}}}
    assert "the large message handle is enabled" in refusal("simple", large, "classic", force_replicate=True)
    assert load("simple", large, force_replicate=True).force_replicate


def test_debezium_in_json_has_no_registry() -> None:
    uri = "debezium&schema-registry=http://r"
    load(uri, release="classic")
    assert "does not support schema registry" in refusal(uri)
    load("debezium", schema_registry="http://r")  # serves protocols that need one


def test_a_refused_dispatcher_is_printed_with_its_targets() -> None:
    rule: dict[str, Any] = {
        "matcher": ["*.*"],
        "target-schema": "{schema}_bak",
        "partition": "ts",
        "dispatcher": "table",
    }
    assert refusal("simple", {"sink": {"dispatchers": [rule]}}).endswith("rule:&{[*.*] table ts  []  {schema}_bak }")


def test_the_file_names_the_release_and_the_caller_wins() -> None:
    named = {"ticdc-emit": {"release": "next"}}
    assert load_changefeed(f"{URI}simple", named).release is NEXT
    assert load_changefeed(f"{URI}simple", '[ticdc-emit]\nrelease = "next"\n').release is NEXT
    assert load_changefeed(f"{URI}simple", named, release="classic").release is CLASSIC
    assert load_changefeed(f"{URI}simple").release is CLASSIC
    with pytest.raises(ConfigError, match="unknown release 'newest'"):
        load_changefeed(f"{URI}simple", {"ticdc-emit": {"release": "newest"}})


@pytest.mark.parametrize(
    ("option", "uri"),
    [
        ("avro-include-before-value", "avro&schema-registry=http://r"),
        ("output-row-key", "canal-json"),
        ("debezium-include-start-ts", "debezium"),
    ],
)
def test_options_of_the_next_lineage_are_unknown_to_classic(option: str, uri: str) -> None:
    uri = f"{uri}&{option}=true"
    assert getattr(load(uri).codec, option.replace("-", "_")) is True
    with pytest.warns(ConfigWarning, match=option):
        assert getattr(load(uri, release="classic").codec, option.replace("-", "_")) is False


MODES = {"decimal-handling-mode": "string", "bigint-unsigned-handling-mode": "string", "binary-handling-mode": "hex"}


def test_what_classic_does_not_know_is_read_by_master() -> None:
    uri = "debezium&avro-include-before-value=true&debezium-include-start-ts=true&output-row-key=true"
    uri += "".join(f"&debezium-{name}={mode}" for name, mode in MODES.items()) + "&simple-include-start-ts=false"
    rule: dict[str, Any] = {"matcher": ["*.*"]}
    events = {"matcher": ["*.*"], "ignore-update-only-columns": ["a"]}
    sink = {
        "dispatchers": [rule],
        "debezium": {"include-start-ts": True, **MODES},
        "simple": {"include-start-ts": False},
    }
    changefeed: dict[str, Any] = {"filter": {"event-filters": [events]}, "sink": sink}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        load(uri, changefeed, "master")
    rule |= {"target-schema": "{schema}", "target-table": "{table}"}
    changefeed["filter"] |= MYSQL_RULES
    uri += "&use-table-id-as-path=true&spool-disk-quota=1&spool-base-dir=/s"  # of storage sinks
    (text,) = warned_of(uri, changefeed, "classic")
    names, known = ignored(text)
    assert {name.rpartition(".")[2] for name in names} == {name.rpartition(".")[2] for name in CLASSIC.options.unknown}
    assert known["sink.dispatchers[0].target-schema"] == "next-8.5.7 to next-8.5.8, next to master"
    assert known["output-row-key"] == "next-8.5.4-release.1 to master"
    assert known["filter.do-dbs"] == "classic-7.5.7"


MYSQL_RULES: dict[str, Any] = {"do-dbs": ["a"], "do-tables": [{"db-name": "a", "tbl-name": "b"}]}
MYSQL_RULES |= {"ignore-dbs": ["c"], "ignore-tables": [{"db-name": "a", "tbl-name": "d"}]}


def test_rules_in_the_form_of_mysql() -> None:
    release = "classic-7.5.7"
    for name, rules in MYSQL_RULES.items():
        assert refusal("canal-json", {"filter": {name: rules}}, release) == f"{name} is not read by this version"
    assert (
        "no effect beside filter.rules"
        in warned_of("canal-json", {"filter": {"rules": ["a.b"], **MYSQL_RULES}}, release)[0]
    )
    assert len(warned_of("canal-json", {"filter": MYSQL_RULES}, "classic-8.1.2")) == 1


def warned_of(uri: str, changefeed: Any, release: str) -> list[str]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", ConfigWarning)
        load(uri, changefeed, release, strict=False)
    return [str(each.message) for each in warned if issubclass(each.category, ConfigWarning)]


def ignored(text: str) -> tuple[set[str], dict[str, str]]:
    """Return the names that a warning lists, and the releases that know them."""
    head, _, listed = text.partition(" does not know: ")
    assert head.startswith("Ignored options that ")
    known = dict(re.findall(r"(\S+) \(known: ([^)]*)\)", listed))
    return set(known), known


@pytest.mark.parametrize(("release", "raw"), [("classic-8.1.2", False), ("classic-8.5.0", True), ("next-8.5.5", True)])
def test_claim_checks_of_raw_values_by_release(release: str, raw: bool) -> None:
    large = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": "file:///claims"}
    large |= {"claim-check-raw-value": True}  # type: ignore[dict-item]
    sink = {"sink": {"kafka-config": {"large-message-handle": large}}}
    assert load("simple", sink, release, strict=raw).codec.large_message_handle.claim_check_raw_value is raw
    if not raw:  # an ignored option is not checked either
        load("open-protocol", sink, release, strict=False)


@pytest.mark.parametrize(
    ("uri", "release", "refused"),
    [
        ("simple", "classic-7.5.7", False), ("debezium", "classic-7.5.7", True),
        ("debezium", "classic-8.1.2", False), ("debezium-avro", "classic", True), ("debezium-avro", "next-8.5.7", True),
        ("debezium-avro", "next-26.3.2", True), ("debezium-avro", "next-26.3.3", False),
    ],
)  # fmt: skip
def test_protocols_by_release(uri: str, release: str, refused: bool) -> None:
    if refused:
        assert refusal(uri, release=release) == f"[CDC:ErrSinkUnknownProtocol]unknown '{uri}' message protocol for sink"
    else:
        load(uri, release=release, schema_registry="http://r")


def test_the_remedy_for_a_protocol_names_the_releases_that_have_it() -> None:
    with pytest.raises(ConfigError) as refused:
        load("debezium", release="classic-7.5.7")
    having = "classic-8.1.2 to classic, next-8.5.4-release.1 to master"
    assert refused.value.remedy == f"Only some releases have it ({having}): set release=classic"


@pytest.mark.parametrize("release", ["classic-7.5.7", "next-8.5.7", "next-26.3.4"])
def test_a_registry_for_debezium_in_json_is_refused_where_debezium_avro_exists(release: str) -> None:
    if release == "next-26.3.4":
        assert "does not support schema registry" in refusal("debezium&schema-registry=http://r", release=release)
    else:
        load("avro&schema-registry=http://r", release=release)


@pytest.mark.parametrize(
    ("parameter", "older", "newest"),
    [
        ("max-batch-size=x", 'ErrMySQLInvalidConfig]MySQL config invalid: strconv.ParseInt: parsing "x"',
         'ErrSinkInvalidConfig]sink config invalid: strconv.ParseInt: parsing "x"'),
        ("max-message-bytes=1k", 'ErrMySQLInvalidConfig]MySQL config invalid: strconv.ParseInt: parsing "1k"',
         'ErrSinkInvalidConfig]sink config invalid: strconv.ParseInt: parsing "1k"'),
        ("partition-num=x", 'ErrMySQLInvalidConfig]MySQL config invalid: strconv.ParseInt: parsing "x"',
         'ErrKafkaInvalidConfig]kafka config invalid: strconv.ParseInt: parsing "x"'),
        ("enable-tls=x", 'ErrMySQLInvalidConfig]MySQL config invalid: strconv.ParseBool: parsing "x"',
         'ErrKafkaInvalidConfig]kafka config invalid: strconv.ParseBool: parsing "x"'),
        ("partition-num=0", "ErrKafkaInvalidPartitionNum]invalid partition num 0",
         "ErrKafkaInvalidConfig]invalid partition num 0"),
        ("kafka-client-id=a%20b", "ErrKafkaInvalidClientID]invalid kafka client ID 'a b'",
         'ErrKafkaInvalidConfig]invalid kafka client ID "a b"'),
        ("required-acks=2",
         "ErrKafkaInvalidRequiredAcks]invalid required acks 2, only support these values: 0(NoResponse),1(WaitFor",
         "ErrKafkaInvalidConfig]invalid required acks 2, only support these values: 0(NoResponse), 1(WaitFor"),
        ("sasl-mechanism=x", "ErrKafkaInvalidConfig]kafka config invalid: unknown x SASL mechanism",
         "ErrKafkaInvalidConfig]unknown SASL mechanism: x"),
        ("sasl-gssapi-auth-type=x", "ErrKafkaInvalidConfig]kafka config invalid: unknown x auth type",
         "ErrKafkaInvalidConfig]unknown auth type: x"),
        ("ca=x", "ErrKafkaInvalidConfig]kafka config invalid: ca, cert and key files should all be supplied",
         "ErrKafkaInvalidConfig]ca, cert and key files should all be supplied"),
        ("replication-factor=0", None, "ErrKafkaInvalidConfig]invalid replication-factor 0"),
        ("dial-timeout=0s", None, "ErrKafkaInvalidConfig]dial-timeout must be greater than zero"),
        ("read-timeout=-1ns", None, "ErrKafkaInvalidConfig]read-timeout must be greater than zero"),
        ("write-timeout=1ns", None, None),
    ],
)  # fmt: skip
def test_refusals_of_parameters_by_release(parameter: str, older: str | None, newest: str | None) -> None:
    by_release = {"classic": older, "next-8.5.7": older, "next-26.3.4": older, "next-8.5.8": newest, "next": newest}
    for release, text in by_release.items():
        if text is None:
            load(f"simple&{parameter}", release=release)
        else:
            assert refusal(f"simple&{parameter}", release=release).startswith(f"[CDC:{text}")
    if parameter.startswith("dial-timeout"):
        assert refusal("simple&dial-timeout=x", release="next").startswith("[CDC:ErrKafkaInvalidConfig]kafka config")
        assert refusal("simple&dial-timeout=x", release="classic") == 'time: invalid duration "x"'


def test_the_modes_of_debezium_are_read_by_master_alone() -> None:
    uri = "debezium&debezium-decimal-handling-mode=string&debezium-binary-handling-mode=bytes"
    file = {"sink": {"debezium": {"bigint-unsigned-handling-mode": "string", "binary-handling-mode": "hex"}}}
    codec = load(uri, file, "master").codec
    assert codec.debezium_decimal_handling_mode == codec.debezium_bigint_unsigned_handling_mode == "string"
    assert codec.debezium_binary_handling_mode == "bytes"
    with pytest.warns(ConfigWarning, match="debezium-decimal-handling-mode"):
        codec = load(uri, file, "next", strict=False).codec
    modes = codec.debezium_decimal_handling_mode, codec.debezium_bigint_unsigned_handling_mode
    assert (*modes, codec.debezium_binary_handling_mode) == ("double", "long", "base64")


@pytest.mark.parametrize(
    ("uri", "cause"),
    [
        (
            "debezium&debezium-decimal-handling-mode=precise",
            'debezium-decimal-handling-mode must be "double" or "string"',
        ),
        ("debezium&debezium-decimal-handling-mode=", 'debezium-decimal-handling-mode must be "double" or "string"'),
        (
            "debezium&debezium-bigint-unsigned-handling-mode=precise",
            'debezium-bigint-unsigned-handling-mode must be "long" or "string"',
        ),
        (
            "debezium&debezium-binary-handling-mode=%22",
            r'invalid debezium-binary-handling-mode "\"": expected "bytes", "base64", "base64-url-safe", or "hex"',
        ),
        (
            "debezium&debezium-binary-handling-mode=",
            'invalid debezium-binary-handling-mode "": expected "bytes", "base64", "base64-url-safe", or "hex"',
        ),
        (
            "open-protocol&debezium-bigint-unsigned-handling-mode=string",
            'debezium numeric handling modes only take effect with protocol "debezium"',
        ),
        (
            "debezium-avro&schema-registry=http://r&debezium-decimal-handling-mode=string",
            'debezium numeric handling modes only take effect with protocol "debezium"',
        ),
        (
            "avro&schema-registry=http://r&debezium-binary-handling-mode=hex",
            'debezium-binary-handling-mode only takes effect with protocol "debezium"',
        ),
    ],
)
def test_what_master_refuses_of_them(uri: str, cause: str) -> None:
    with pytest.raises(ConfigError) as refused:
        load(uri, release="master")
    assert refused.value.message == f"[CDC:ErrCodecInvalidConfig]{cause}"


def test_starts_of_transactions_are_of_debezium_alone() -> None:
    start = {"sink": {"debezium": {"include-start-ts": True}}}
    assert load("debezium", start).codec.debezium_include_start_ts
    assert not load("debezium&debezium-include-start-ts=false", start).codec.debezium_include_start_ts
    assert 'only takes effect with protocol "debezium"' in refusal("simple", start)


def test_the_starts_of_simple_are_read_by_master_alone() -> None:
    start = {"sink": {"simple": {"include-start-ts": True}}}
    name = "simple-include-start-ts"
    assert load("simple", start, "master").codec.simple_include_start_ts
    assert load(f"simple&{name}=true", release="master").codec.simple_include_start_ts
    assert not load(f"simple&{name}=false", start, "master").codec.simple_include_start_ts
    with pytest.warns(ConfigWarning, match="include-start-ts"):
        assert not load(f"simple&{name}=true", start, "next", strict=False).codec.simple_include_start_ts
    code = "[CDC:ErrCodecInvalidConfig]"
    assert refusal(f"canal-json&{name}=true", release="master") == (
        f'{code}{name} only takes effect with protocol "simple"'
    )
    assert refusal("simple&encoding-format=avro", start, "master") == (
        f'{code}{name} is not supported with encoding-format "avro"'
    )
