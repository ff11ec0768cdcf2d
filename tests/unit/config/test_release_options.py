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


def test_a_registry_serves_protocols_that_need_one() -> None:
    load("debezium", schema_registry="http://r")
    load("debezium-avro", schema_registry="http://r")


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


def test_starts_of_transactions_are_of_debezium_alone() -> None:
    start = {"sink": {"debezium": {"include-start-ts": True}}}
    assert load("debezium", start).codec.debezium_include_start_ts
    assert not load("debezium&debezium-include-start-ts=false", start).codec.debezium_include_start_ts


def test_the_starts_of_simple_are_read_by_master_alone() -> None:
    start = {"sink": {"simple": {"include-start-ts": True}}}
    name = "simple-include-start-ts"
    assert load("simple", start, "master").codec.simple_include_start_ts
    assert load(f"simple&{name}=true", release="master").codec.simple_include_start_ts
    assert not load(f"simple&{name}=false", start, "master").codec.simple_include_start_ts
    with pytest.warns(ConfigWarning, match="include-start-ts"):
        assert not load(f"simple&{name}=true", start, "next", strict=False).codec.simple_include_start_ts
