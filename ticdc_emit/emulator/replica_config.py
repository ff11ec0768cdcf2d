"""``replica_config`` of TiCDC's OpenAPI v2: its fields, their defaults, and the changefeed file that they stand for.

In: the JSON object, as ``cdc cli`` and scripts send it. Out: the changefeed file as a mapping
(:func:`changefeed_document`), which :func:`~ticdc_emit.load_changefeed` checks; and the whole object with TiCDC's
defaults (:func:`with_defaults`), as TiCDC answers it. :data:`FIELDS` is the list. As in Go, a field that is not listed
is ignored, and one of another type is an error.

Source: ``cdc/api/v2/model.go`` and ``pkg/config/replica_config.go`` of pingcap/tiflow; ``ticdc-open-api-v2.md`` of
pingcap/docs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ticdc_emit.config.document import GoSyntaxError, parse_duration_ms

Kind: TypeAlias = Literal["bool", "int", "string", "strings", "ints", "duration", "objects"]
Use: TypeAlias = Literal["file", "answer", "none"]


class ReplicaConfigError(ValueError):
    """A field has another type; ``str()`` is Go's text."""


@dataclass(frozen=True)
class Field:
    """One field. ``path``: with dots; ``[]`` after a list of objects. ``option``: the place in the changefeed file.

    ``use``: ``file`` for an option of the file, ``answer`` for what the API itself uses, ``none`` for what has no
    effect on messages and is only answered.
    """

    path: str
    kind: Kind
    use: Use = "file"
    option: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """The keys in the changefeed file."""
        return tuple((self.option or self.path.replace("_", "-")).split("."))


def _fields(prefix: str, use: Use, **kinds: Kind) -> Iterator[Field]:
    for name, kind in kinds.items():
        yield Field(f"{prefix}{name}", kind, use)


_KAFKA = "sink.kafka_config."
FIELDS: tuple[Field, ...] = (
    *_fields("", "none", memory_quota="int", check_gc_safe_point="bool", enable_sync_point="bool"),
    *_fields("", "none", enable_table_monitor="bool", sync_point_interval="duration", sync_point_retention="duration"),
    *_fields("", "none", changefeed_error_stuck_duration="duration", sql_mode="string"),
    *_fields("", "file", case_sensitive="bool", force_replicate="bool", bdr_mode="bool", enable_old_value="bool"),
    *_fields("", "answer", ignore_ineligible_table="bool"),
    *_fields("filter.", "file", rules="strings", ignore_txn_start_ts="ints"),
    *_fields("filter.event_filters[].", "file", matcher="strings", ignore_event="strings", ignore_sql="strings"),
    *_fields("filter.event_filters[].", "file", ignore_insert_value_expr="string", ignore_delete_value_expr="string"),
    *_fields("filter.event_filters[].", "file", ignore_update_new_value_expr="string"),
    *_fields("filter.event_filters[].", "file", ignore_update_old_value_expr="string"),
    *_fields("mounter.", "none", worker_num="int"),
    *_fields("sink.", "file", protocol="string", schema_registry="string", transaction_atomicity="string"),
    *_fields("sink.dispatchers[].", "file", matcher="strings", partition="string", index="string", columns="strings"),
    *_fields("sink.dispatchers[].", "file", topic="string", target_schema="string", target_table="string"),
    *_fields("sink.column_selectors[].", "file", matcher="strings", columns="strings"),
    *_fields("sink.", "file", only_output_updated_columns="bool", delete_only_output_handle_key_columns="bool"),
    *_fields("sink.", "file", content_compatible="bool", debezium_disable_schema="bool"),
    *_fields("sink.", "file", send_bootstrap_interval_in_sec="int", send_bootstrap_in_msg_count="int"),
    *_fields("sink.", "file", send_bootstrap_to_all_partition="bool"),
    Field("sink.send-all-bootstrap-at-start", "bool"),
    *_fields("sink.debezium.", "file", output_old_value="bool"),
    *_fields("sink.open.", "file", output_old_value="bool"),
    *_fields("sink.", "none", encoder_concurrency="int", terminator="string", date_separator="string"),
    *_fields("sink.", "none", enable_partition_separator="bool", file_index_width="int", enable_kafka_sink_v2="bool"),
    *_fields("sink.", "none", safe_mode="bool", advance_timeout="int"),
    *_fields("sink.csv.", "none", delimiter="string", quote="string", null="string", include_commit_ts="bool"),
    *_fields("sink.csv.", "none", binary_encoding_method="string", output_old_value="bool", output_handle_key="bool"),
    *_fields("sink.csv.", "none", output_field_header="bool"),
    *_fields("sink.cloud_storage_config.", "none", worker_count="int", flush_interval="string", file_size="int"),
    *_fields("sink.cloud_storage_config.", "none", output_column_id="bool", file_expiration_days="int"),
    *_fields("sink.cloud_storage_config.", "none", file_cleanup_cron_spec="string", flush_concurrency="int"),
    *_fields("sink.cloud_storage_config.", "none", output_raw_change_event="bool"),
    *_fields(_KAFKA, "file", partition_num="int", replication_factor="int", kafka_version="string"),
    *_fields(_KAFKA, "file", max_message_bytes="int", compression="string", kafka_client_id="string"),
    *_fields(_KAFKA, "file", auto_create_topic="bool", dial_timeout="string", write_timeout="string"),
    *_fields(_KAFKA, "file", read_timeout="string", required_acks="int", output_raw_change_event="bool"),
    *_fields(_KAFKA, "file", sasl_user="string", sasl_password="string", sasl_mechanism="string"),
    *_fields(_KAFKA, "file", sasl_gssapi_auth_type="string", sasl_gssapi_keytab_path="string"),
    *_fields(_KAFKA, "file", sasl_gssapi_kerberos_config_path="string", sasl_gssapi_service_name="string"),
    *_fields(_KAFKA, "file", sasl_gssapi_user="string", sasl_gssapi_password="string", sasl_gssapi_realm="string"),
    *_fields(_KAFKA, "file", sasl_gssapi_disable_pafxfast="bool", sasl_oauth_client_id="string"),
    *_fields(_KAFKA, "file", sasl_oauth_client_secret="string", sasl_oauth_token_url="string"),
    *_fields(_KAFKA, "file", sasl_oauth_scopes="strings", sasl_oauth_grant_type="string"),
    *_fields(_KAFKA, "file", sasl_oauth_audience="string", enable_tls="bool", ca="string", cert="string"),
    *_fields(_KAFKA, "file", key="string", insecure_skip_verify="bool"),
    *_fields(f"{_KAFKA}codec_config.", "file", enable_tidb_extension="bool", max_batch_size="int"),
    *_fields(f"{_KAFKA}codec_config.", "file", avro_enable_watermark="bool", avro_decimal_handling_mode="string"),
    *_fields(f"{_KAFKA}codec_config.", "file", avro_bigint_unsigned_handling_mode="string", encoding_format="string"),
    *_fields(f"{_KAFKA}large_message_handle.", "file", large_message_handle_option="string"),
    *_fields(f"{_KAFKA}large_message_handle.", "file", large_message_handle_compression="string"),
    *_fields(f"{_KAFKA}large_message_handle.", "file", claim_check_storage_uri="string", claim_check_raw_value="bool"),
    *_fields(f"{_KAFKA}glue_schema_registry_config.", "file", registry_name="string", region="string"),
    *_fields(f"{_KAFKA}glue_schema_registry_config.", "file", access_key="string", secret_access_key="string"),
    *_fields(f"{_KAFKA}glue_schema_registry_config.", "file", token="string"),
    *_fields("consistent.", "none", level="string", max_log_size="int", flush_interval="int", storage="string"),
    *_fields("consistent.", "none", meta_flush_interval="int", use_file_backend="bool", encoding_worker_num="int"),
    *_fields("consistent.", "none", flush_worker_num="int", compression="string", flush_concurrency="int"),
    *_fields("consistent.memory_usage.", "none", memory_quota_percentage="int"),
    *_fields("scheduler.", "none", enable_table_across_nodes="bool", region_threshold="int", write_key_threshold="int"),
    *_fields("integrity.", "file", integrity_check_level="string", corruption_handle_level="string"),
    *_fields("synced_status.", "answer", synced_check_interval="int", checkpoint_interval="int"),
)
"""All fields of TiCDC 8.5, and those that its documentation has in addition."""

_SECRETS = frozenset(
    {
        "sasl_password",
        "sasl_gssapi_password",
        "sasl_oauth_client_secret",
        "access_key",
        "secret_access_key",
        "token",
        "key",
        "claim_check_storage_uri",
        "sasl_oauth_token_url",
        "schema_registry",
        "storage",
    }
)
"""Fields that are a secret or may hold a login: answers show them masked, if at all."""

_DEFAULTS: Mapping[str, Any] = {
    "memory_quota": 1 << 30,
    "case_sensitive": False,
    "force_replicate": False,
    "ignore_ineligible_table": False,
    "check_gc_safe_point": True,
    "enable_sync_point": False,
    "enable_table_monitor": False,
    "bdr_mode": False,
    "sync_point_interval": 600 * 10**9,
    "sync_point_retention": 86_400 * 10**9,
    "filter": {"rules": ["*.*"]},
    "mounter": {"worker_num": 16},
    "sink": {
        "csv": {
            "delimiter": ",",
            "quote": '"',
            "null": "\\N",
            "include_commit_ts": False,
            "binary_encoding_method": "base64",
            "output_old_value": False,
            "output_handle_key": False,
            "output_field_header": False,
        },
        "encoder_concurrency": 32,
        "terminator": "\r\n",
        "date_separator": "day",
        "enable_partition_separator": True,
        "enable_kafka_sink_v2": False,
        "only_output_updated_columns": False,
        "delete_only_output_handle_key_columns": False,
        "content_compatible": False,
        "advance_timeout": 150,
        "send_bootstrap_interval_in_sec": 120,
        "send_bootstrap_in_msg_count": 10_000,
        "send_bootstrap_to_all_partition": True,
        "send-all-bootstrap-at-start": False,
        "debezium_disable_schema": False,
        "open": {"output_old_value": True},
        "debezium": {"output_old_value": True},
    },
    "consistent": {
        "level": "none",
        "max_log_size": 64,
        "flush_interval": 2000,
        "meta_flush_interval": 200,
        "encoding_worker_num": 16,
        "flush_worker_num": 8,
        "use_file_backend": False,
        "memory_usage": {"memory_quota_percentage": 50},
    },
    "scheduler": {"enable_table_across_nodes": False, "region_threshold": 100_000, "write_key_threshold": 0},
    "integrity": {"integrity_check_level": "none", "corruption_handle_level": "warn"},
    "changefeed_error_stuck_duration": 1800 * 10**9,
    "synced_status": {"synced_check_interval": 300, "checkpoint_interval": 15},
}


def changefeed_document(replica_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the changefeed file that the object stands for, as a mapping; what equals TiCDC's default is left out.

    Raises :class:`ReplicaConfigError` for a field of another type.
    """
    document: dict[str, Any] = {}
    for field, value in _values(replica_config):
        if field.use == "file" and not _is_default(field, value):
            _put(document, field.place, [_as_file(each) for each in value] if field.kind == "objects" else value)
    return document


def with_defaults(replica_config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the whole object: what is given over TiCDC's defaults, secrets masked. Unknown fields are left out."""
    whole: dict[str, Any] = copy.deepcopy(dict(_DEFAULTS))
    for field, value in _values(replica_config):
        shown = "******" if field.path.rpartition(".")[2] in _SECRETS and value else value
        _put(whole, tuple(field.path.split(".")), shown)
    return whole


def _values(replica_config: Mapping[str, Any]) -> Iterator[tuple[Field, Any]]:
    """Yield the fields that are given, with checked values; those of lists of objects as one value per list."""
    lists: dict[str, list[Field]] = {}
    for field in FIELDS:
        head, is_list, _ = field.path.partition("[].")
        if is_list:
            lists.setdefault(head, []).append(field)
            continue
        value = _at(replica_config, field.path)
        if value is not None:
            yield field, _checked(field, value)
    for path, members in lists.items():
        items = _at(replica_config, path)
        if items is not None:
            yield Field(path, "objects"), [_item(path, members, item) for item in _list(path, items)]


def _item(path: str, members: list[Field], item: Any) -> dict[str, Any]:
    content = _object(path, item)
    values = {}
    for field in members:
        name = field.path.rpartition(".")[2]
        if content.get(name) is not None:
            values[name] = _checked(field, content[name])
    return values


def _at(content: Mapping[str, Any], path: str) -> Any:
    *outer, name = path.split(".")
    walked = ""
    for key in outer:
        walked = f"{walked}.{key}".lstrip(".")
        inner = content.get(key)
        if inner is None:
            return None
        content = _object(walked, inner)
    return content.get(name)


def _put(document: dict[str, Any], place: tuple[str, ...], value: Any) -> None:
    *outer, name = place
    for key in outer:
        document = document.setdefault(key, {})
    document[name] = value


def _as_file(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "-"): value for name, value in item.items()}


def _is_default(field: Field, value: Any) -> bool:
    return bool(_at(_DEFAULTS, field.path) == value)


def _checked(field: Field, value: Any) -> Any:
    if not _CHECKS[field.kind](value):
        raise ReplicaConfigError(
            f"json: cannot unmarshal {_go_kind(value)} into Go struct field "
            f"ReplicaConfig.{field.path} of type {_GO_TYPES[field.kind]}"
        )
    return value


def _object(path: str, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ReplicaConfigError(
            f"json: cannot unmarshal {_go_kind(value)} into Go struct field ReplicaConfig.{path} of type object"
        )
    return value


def _list(path: str, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise ReplicaConfigError(
            f"json: cannot unmarshal {_go_kind(value)} into Go struct field ReplicaConfig.{path} of type array"
        )
    return value


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= 64


def _is_duration(value: Any) -> bool:
    if isinstance(value, str):
        try:
            parse_duration_ms(value)
        except GoSyntaxError:
            return False
        return True
    return _is_int(value)


_CHECKS: Mapping[Kind, Callable[[Any], bool]] = {
    "bool": lambda value: isinstance(value, bool),
    "int": _is_int,
    "string": lambda value: isinstance(value, str),
    "strings": lambda value: isinstance(value, list) and all(isinstance(each, str) for each in value),
    "ints": lambda value: isinstance(value, list) and all(_is_int(each) for each in value),
    "duration": _is_duration,
}
_GO_TYPES: Mapping[Kind, str] = {
    "bool": "bool",
    "int": "int",
    "string": "string",
    "strings": "[]string",
    "ints": "[]uint64",
    "duration": "JSONDuration",
}


def _go_kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"
