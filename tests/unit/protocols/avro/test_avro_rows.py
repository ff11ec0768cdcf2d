"""Row messages: what no recorded message shows, and the refusals of the encoder."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import CodecConfig
from ticdc_emit.config.protocols import Protocol
from ticdc_emit.config.switches import AvroSwitches
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.protocols.avro.encoder import Avro, AvroRows
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

COMMIT_TS = 450000000262144000
URI = "memory://topic/?protocol=avro&schema-registry=http://registry"


def encoded(
    options: str, sql: str, changes: Iterable[Mapping[str, Any]]
) -> tuple[list[tuple[bytes, bytes | None]], MemoryRegistry]:
    registry = MemoryRegistry()
    batch = Encoder(URI + options, sql, registry=registry).encode(changes)
    return [(row["key"], row["value"]) for row in batch.select(["key", "value"]).to_pylist()], registry


def test_an_update_needs_no_before_image() -> None:
    sql = "create table test.t (id int primary key)"
    messages, _ = encoded("", sql, [{"op": "u", "commit_ts": COMMIT_TS, "after": {"id": 5}}])
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x01\x0a")]


def test_a_table_without_primary_key_has_empty_keys_in_the_new_architecture() -> None:
    changes = [
        {"op": "c", "commit_ts": COMMIT_TS, "after": {"a": 1}},
        {"op": "d", "commit_ts": COMMIT_TS + 1, "before": {"a": 1}},
    ]
    registry = MemoryRegistry()
    encoder = Encoder(URI, "create table test.t (a int not null unique)", registry=registry, release="next")
    messages = [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]
    assert messages == [(b"", b"\x00\x00\x00\x00\x01\x02"), (b"", None)]
    assert [post.subject for post in registry.posts] == ["ticdc-value"]


def test_virtual_columns_may_be_null_in_values() -> None:
    sql = "create table test.t (v int as (id + 1) virtual, id int primary key, w int as (id) virtual)"
    changes = [{"op": "c", "commit_ts": COMMIT_TS, "after": {"id": 5}}]
    encoder = Encoder(URI, sql, registry=MemoryRegistry(), release="next")
    messages = [(row["key"], row["value"]) for row in encoder.encode(changes).to_pylist()]
    assert messages == [(b"\x00\x00\x00\x00\x01\x0a", b"\x00\x00\x00\x00\x02\x00\x0a\x00")]
    failing = Encoder(URI, sql.replace("virtual", "virtual not null"), registry=MemoryRegistry(), release="next")
    with pytest.raises(InvalidValueError) as refused:
        failing.encode(changes)
    assert (refused.value.column, refused.value.row) == ("v", {"id": 5, "position": 0})


def test_an_enum_of_zero_is_refused() -> None:
    sql = "create table test.t (id int primary key, e enum('a'))"
    changes = [{"op": "c", "commit_ts": COMMIT_TS + n, "after": {"id": n, "e": 1 - n}} for n in range(2)]
    with pytest.raises(InvalidValueError, match="the ENUM's number is 0") as caught:
        encoded("", sql, changes)
    assert caught.value.context["column"] == "e"
    assert caught.value.context["row"] == {"id": 1, "position": 1}
    deleted, _ = encoded("", sql, [{"op": "d", "commit_ts": COMMIT_TS, "before": {"id": 1, "e": 0}}])
    assert deleted == [(b"\x00\x00\x00\x00\x01\x02", None)]


def rows_of(sql: str) -> dict[str, AvroRows]:
    codec = Avro(CodecConfig(Protocol.AVRO), AvroSwitches())
    return {info.name: codec.rows(info) for info in catalog_from_sql(sql).tables()}


def test_encoders_are_picklable_and_keep_their_headers() -> None:
    rows = rows_of("create table test.t (id int primary key)")["t"].with_headers({"key": b"k"})
    both = rows.with_headers({"value": b"v"})
    assert pickle.loads(pickle.dumps(both)).headers == {"key": b"k", "value": b"v"}
    assert rows.headers == {"key": b"k"}
