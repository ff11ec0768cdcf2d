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
    for name in ("canal", "maxwell", "craft", "csv"):
        load(name, release="classic")
        assert refusal(name) == f"[CDC:ErrSinkUnknownProtocol]unknown '{name}' message protocol for sink"
    load("debezium-avro", schema_registry="http://r")
    assert "unknown 'debezium-avro' message protocol" in refusal("debezium-avro", release="classic")


def test_large_message_options() -> None:
    other = {"sink": {"kafka-config": {"large-message-handle": {"large-message-handle-option": "split"}}}}
    uri = "canal-json&enable-tidb-extension=true"
    assert load(uri, other, "classic").codec.large_message_handle.option == "split"
    assert refusal(uri, other) == "[CDC:ErrInvalidReplicaConfig]unknown large-message-handle-option split"


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


def test_dispatchers_cannot_rename_tables() -> None:
    rule: dict[str, Any] = {"matcher": ["*.*"], "target-schema": "{schema}_bak"}
    assert "target-schema and target-table are not written" in refusal("simple", {"sink": {"dispatchers": [rule]}})
    rule |= {"partition": "ts", "dispatcher": "table"}
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


def test_what_classic_does_not_know_is_read_by_next() -> None:
    uri = "debezium&avro-include-before-value=true&debezium-include-start-ts=true&output-row-key=true"
    rule: dict[str, Any] = {"matcher": ["*.*"]}
    events = {"matcher": ["*.*"], "ignore-update-only-columns": ["a"]}
    sink = {"dispatchers": [rule], "debezium": {"include-start-ts": True}}
    changefeed = {"filter": {"event-filters": [events]}, "sink": sink}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConfigWarning)
        load(uri, changefeed)
    rule |= {"target-schema": "{schema}", "target-table": "{table}"}
    with pytest.warns(ConfigWarning, match="^Ignored options") as warned:
        load(uri, changefeed, "classic")
    listed = re.split(r"[:;,] ", str(warned[0].message).partition(": ")[2])
    ignored = {name.rpartition(".")[2] for name in listed} - {"sink URI", "changefeed"}
    assert ignored == {name.rpartition(".")[2] for name in CLASSIC.options.unknown}


def test_starts_of_transactions_are_of_debezium_alone() -> None:
    start = {"sink": {"debezium": {"include-start-ts": True}}}
    assert load("debezium", start).codec.debezium_include_start_ts
    assert not load("debezium&debezium-include-start-ts=false", start).codec.debezium_include_start_ts
    assert 'only takes effect with protocol "debezium"' in refusal("simple", start)
