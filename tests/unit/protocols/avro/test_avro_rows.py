"""Row messages: what no recorded message shows, and the refusals of the encoder."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from tests.conformance.encoded_rows import table_of
from ticdc_emit import Encoder
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import AvroSwitches
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.avro.encoder import Avro
from ticdc_emit.registry.base import MemoryRegistry

COMMIT_TS = 450000000262144000
URI = "memory://topic/?protocol=avro&schema-registry=http://registry"


def encoded(
    sql: str, changes: Iterable[Mapping[str, Any]], **options: Any
) -> tuple[list[tuple[bytes, bytes | None]], MemoryRegistry]:
    registry = MemoryRegistry()
    batch = Encoder(URI, sql, registry=registry, **options).encode(changes)
    return [(row["key"], row["value"]) for row in batch.to_pylist()], registry


def test_an_update_needs_no_before_image() -> None:
    sql = "create table test.t (id int primary key)"
    messages, _ = encoded(sql, [{"op": "u", "commit_ts": COMMIT_TS, "after": {"id": 5}}])
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x01\x0a")]


def test_a_table_without_primary_key_has_empty_keys_in_the_new_architecture() -> None:
    changes = [
        {"op": "c", "commit_ts": COMMIT_TS, "after": {"a": 1}},
        {"op": "d", "commit_ts": COMMIT_TS + 1, "before": {"a": 1}},
    ]
    messages, registry = encoded("create table test.t (a int not null unique)", changes, release="next")
    assert messages == [(b"", b"\x00\x00\x00\x00\x01\x02"), (b"", None)]
    assert [post.subject for post in registry.posts] == ["ticdc-value"]


def test_virtual_columns_may_be_null_in_values() -> None:
    sql = "create table test.t (v int as (id + 1) virtual, id int primary key, w int as (id) virtual)"
    changes = [{"op": "c", "commit_ts": COMMIT_TS, "after": {"id": 5}}]
    messages, _ = encoded(sql, changes, release="next")
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x02\x00\x0a\x00")]
    with pytest.raises(InvalidValueError) as refused:
        encoded(sql.replace("virtual", "virtual not null"), changes, release="next")
    assert (refused.value.column, refused.value.row) == ("v", {"id": 5, "position": 0})


def test_an_enum_of_zero_is_refused() -> None:
    sql = "create table test.t (id int primary key, e enum('a'))"
    changes = [{"op": "c", "commit_ts": COMMIT_TS + n, "after": {"id": n, "e": 1 - n}} for n in range(2)]
    with pytest.raises(InvalidValueError, match="the ENUM's number is 0") as caught:
        encoded(sql, changes)
    assert caught.value.context["column"] == "e"
    assert caught.value.context["row"] == {"id": 1, "position": 1}
    deleted, _ = encoded(sql, [{"op": "d", "commit_ts": COMMIT_TS, "before": {"id": 1, "e": 0}}])
    assert deleted == [(b"\x00\x00\x00\x00\x01\x02", None)]


def test_encoders_are_picklable_and_keep_their_headers() -> None:
    table = table_of("create table test.t (id int primary key)")
    rows = Avro(CodecConfig(Protocol.AVRO), AvroSwitches()).rows(table).with_headers({"key": b"k"})
    both = rows.with_headers({"value": b"v"})
    assert pickle.loads(pickle.dumps(both)).headers == {"key": b"k", "value": b"v"}
    assert rows.headers == {"key": b"k"}
