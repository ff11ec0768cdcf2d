"""``replica_config`` as the changefeed file: every field of TiCDC's documentation and its model."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import pytest

from ticdc_emit import load_changefeed
from ticdc_emit.emulator.replica_config import (
    FIELDS,
    Field,
    ReplicaConfigError,
    changefeed_document,
    with_defaults,
)
from ticdc_emit.errors import ConfigError

# the fields that docs.pingcap.com/tidb/stable/ticdc-open-api-v2 lists in its tables
DOCUMENTED = (
    "bdr_mode",
    "case_sensitive",
    "check_gc_safe_point",
    "enable_sync_point",
    "force_replicate",
    "ignore_ineligible_table",
    "memory_quota",
    "sync_point_interval",
    "sync_point_retention",
    "consistent.flush_interval",
    "consistent.level",
    "consistent.max_log_size",
    "consistent.storage",
    "consistent.use_file_backend",
    "consistent.encoding_worker_num",
    "consistent.flush_worker_num",
    "consistent.compression",
    "consistent.flush_concurrency",
    "filter.event_filters[].ignore_delete_value_expr",
    "filter.event_filters[].ignore_event",
    "filter.event_filters[].ignore_insert_value_expr",
    "filter.event_filters[].ignore_sql",
    "filter.event_filters[].ignore_update_new_value_expr",
    "filter.event_filters[].ignore_update_old_value_expr",
    "filter.event_filters[].matcher",
    "filter.ignore_txn_start_ts",
    "filter.rules",
    "mounter.worker_num",
    "sink.column_selectors[].columns",
    "sink.column_selectors[].matcher",
    "sink.csv.delimiter",
    "sink.csv.include_commit_ts",
    "sink.csv.null",
    "sink.csv.quote",
    "sink.csv.binary_encoding_method",
    "sink.date_separator",
    "sink.dispatchers[].matcher",
    "sink.dispatchers[].partition",
    "sink.dispatchers[].topic",
    "sink.enable_partition_separator",
    "sink.encoder_concurrency",
    "sink.protocol",
    "sink.schema_registry",
    "sink.terminator",
    "sink.transaction_atomicity",
    "sink.only_output_updated_columns",
    "sink.cloud_storage_config.worker_count",
    "sink.cloud_storage_config.flush_interval",
    "sink.cloud_storage_config.file_size",
    "sink.cloud_storage_config.file_expiration_days",
    "sink.cloud_storage_config.file_cleanup_cron_spec",
    "sink.cloud_storage_config.flush_concurrency",
    "sink.cloud_storage_config.output_raw_change_event",
    "sink.open.output_old_value",
    "sink.debezium.output_old_value",
)


def test_every_documented_field_is_known() -> None:
    assert set(DOCUMENTED) <= {field.path for field in FIELDS}
    assert len({field.path for field in FIELDS}) == len(FIELDS)


def test_fields_become_the_options_of_the_changefeed_file() -> None:
    document = changefeed_document(
        {
            "force_replicate": True,
            "memory_quota": 5,
            "filter": {
                "rules": ["shop.*"],
                "ignore_txn_start_ts": [1, 2],
                "event_filters": [{"matcher": ["shop.a"], "ignore_event": ["drop table"], "ignore_sql": None}],
            },
            "sink": {
                "protocol": "canal-json",
                "dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["a"], "topic": "t"}],
                "column_selectors": [{"matcher": ["shop.a"], "columns": ["id"]}],
                "send-all-bootstrap-at-start": True,
                "debezium": {"output_old_value": False},
                "kafka_config": {
                    "partition_num": 4,
                    "codec_config": {"enable_tidb_extension": True},
                    "large_message_handle": {"large_message_handle_option": "handle-key-only"},
                },
                "terminator": "\n",
            },
            "integrity": {"integrity_check_level": "correctness"},
        }
    )
    assert document == {
        "force-replicate": True,
        "filter": {
            "rules": ["shop.*"],
            "ignore-txn-start-ts": [1, 2],
            "event-filters": [{"matcher": ["shop.a"], "ignore-event": ["drop table"]}],
        },
        "sink": {
            "protocol": "canal-json",
            "dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["a"], "topic": "t"}],
            "column-selectors": [{"matcher": ["shop.a"], "columns": ["id"]}],
            "send-all-bootstrap-at-start": True,
            "debezium": {"output-old-value": False},
            "kafka-config": {
                "partition-num": 4,
                "codec-config": {"enable-tidb-extension": True},
                "large-message-handle": {"large-message-handle-option": "handle-key-only"},
            },
        },
        "integrity": {"integrity-check-level": "correctness"},
    }


_VALUES: dict[str, Any] = {"bool": True, "int": 7, "string": "x", "strings": ["x"], "ints": [7]}
_OTHERS = {
    "sink.send_bootstrap_to_all_partition": False,
    "sink.debezium.output_old_value": False,
    "sink.open.output_old_value": False,
}
"""Options whose default is true."""


@pytest.mark.parametrize(
    "field", [each for each in FIELDS if each.use == "file" and "[]" not in each.path], ids=lambda each: each.path
)
def test_every_option_of_the_file_has_a_place_that_is_read(field: Field) -> None:
    value = _OTHERS.get(field.path, _VALUES.get(field.kind))
    content: Any = value
    for key in reversed(field.path.split(".")):
        content = {key: content}
    document = at = changefeed_document(content)
    for key in field.place:
        at = at[key]
    assert at == value
    with warnings.catch_warnings(record=True) as caught, suppress(ConfigError):
        warnings.simplefilter("always")
        load_changefeed("kafka://127.0.0.1:9092/t?protocol=canal-json", document)
    assert not [each for each in caught if "unknown, or not used" in str(each.message)]


def test_the_defaults_are_an_empty_file() -> None:
    assert changefeed_document(with_defaults({})) == {}
    assert with_defaults({"sink": {"protocol": "avro"}, "nope": 1})["sink"]["protocol"] == "avro"
    assert "nope" not in with_defaults({"nope": 1})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            {"case_sensitive": "yes"},
            "cannot unmarshal string into Go struct field ReplicaConfig.case_sensitive of type",
        ),
        ({"sink": 5}, "cannot unmarshal number into Go struct field ReplicaConfig.sink of type object"),
        ({"sink": {"dispatchers": {}}}, "cannot unmarshal object into Go struct field ReplicaConfig.sink.dispatchers"),
        ({"sink": {"dispatchers": ["x"]}}, "cannot unmarshal string into Go struct field"),
        ({"sink": {"dispatchers": [{"topic": 1}]}}, "ReplicaConfig.sink.dispatchers"),
        ({"filter": {"rules": [1]}}, "ReplicaConfig.filter.rules of type"),
        ({"filter": {"ignore_txn_start_ts": [True]}}, "of type .*uint64"),
        ({"sink": {"kafka_config": {"partition_num": 1 << 70}}}, "partition_num of type int"),
        ({"sync_point_interval": "soon"}, "of type JSONDuration"),
        ({"memory_quota": 1.5}, "cannot unmarshal number"),
    ],
)
def test_another_type_is_an_error_in_gos_words(content: dict[str, Any], words: str) -> None:
    with pytest.raises(ReplicaConfigError, match=words):
        changefeed_document(content)


def test_secrets_are_not_answered() -> None:
    given = {"sink": {"schema_registry": "http://u:hunter2@r", "kafka_config": {"sasl_password": "hunter2"}}}
    assert "hunter2" not in str(with_defaults(given))
    assert changefeed_document(given)["sink"]["kafka-config"]["sasl-password"] == "hunter2"


def test_what_a_document_holds_is_loaded() -> None:
    document = changefeed_document(
        {"sink": {"protocol": "canal-json", "kafka_config": {"codec_config": {"enable_tidb_extension": True}}}}
    )
    config = load_changefeed("kafka://127.0.0.1:9092/t", document)
    assert (config.codec.form, config.codec.enable_tidb_extension) == ("canal-json", True)
