"""When schemas are registered, and that nothing is encoded without."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa
import pytest

from tests.conformance.encoded_rows import encode_rows
from ticdc_emit import Encoder
from ticdc_emit.errors import IncompatibleSchemaError, RegistryError, SharedSubjectError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

URI = "memory://x?topic=t&protocol=avro&enable-tidb-extension=true&schema-registry=http://registry.invalid"
TABLE = "create table test.t (id int primary key, v varchar(9))"
FIRST = 450_000_000_262_144_000


def insert(number: int, at: int = 0, **more: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": FIRST + at, "after": {"id": number, "v": "x", **more}}


def delete(number: int, at: int = 0) -> dict[str, Any]:
    return {"op": "d", "commit_ts": FIRST + at, "before": {"id": number, "v": "x"}}


def _only(messages: pa.RecordBatch) -> tuple[bytes, bytes]:
    (row,) = messages.to_pylist()
    return row["key"], row["value"]


def test_a_refusal_names_subject_table_and_version() -> None:
    encoder = Encoder(URI, TABLE, registry=MemoryRegistry(reject='"v"'))
    with pytest.raises(IncompatibleSchemaError, match="t-value") as caught:
        encoder.encode([insert(1)])
    assert caught.value.table == "test.t"
    assert caught.value.version == encoder.catalog.table("test", "t").version


def test_nothing_is_encoded_without_headers() -> None:
    encoder = Encoder(URI, TABLE, registry=MemoryRegistry())
    table = encoder.plan.table("test", "t")
    image = pa.StructArray.from_arrays([pa.array([1]), pa.array(["x"])], ["id", "v"])
    batch = pa.record_batch({"op": ["c"], "commit_ts": pa.array([FIRST], pa.uint64()), "after": image})
    with pytest.raises(RegistryError, match="not registered") as refused:
        encode_rows(batch, table, encoder.plan)
    assert refused.value.context["table"] == "test.t"


RENAMED = "create table test.one (id int primary key, v int); create table test.other (id int primary key)"


def _renamed() -> tuple[Encoder, MemoryRegistry]:
    catalog, registry = catalog_from_sql(RENAMED, renamed_schema="as-created"), MemoryRegistry()
    catalog.apply("rename table test.one to test.two", commit_ts=FIRST + 1)
    uri = URI.replace("enable-tidb-extension", "avro-include-before-value")
    return Encoder(uri, catalog, release="next", registry=registry), registry


def _change(op: str, commit_ts: int = FIRST + 2, **images: dict[str, int]) -> dict[str, Any]:
    return {"op": op, "commit_ts": commit_ts, **images}


def test_behind_a_rename_inserts_are_sent_in_the_schema_of_the_old_name() -> None:
    encoder, registry = _renamed()
    row = {"id": 1, "v": 2}
    first = _only(encoder.encode([_change("c", FIRST, after=row)], table="test.one"))
    assert _only(encoder.encode([_change("c", after=row)], table="test.two")) == first
    assert [post.subject for post in registry.posts] == ["t-key", "t-value"]
    for change in (_change("u", before=row, after={"id": 1, "v": 3}), _change("d", before=row)):
        with pytest.raises(SharedSubjectError, match="fails at this update or delete") as refused:
            encoder.encode([change], table="test.two")
        assert refused.value.table == "test.two"
        assert pickle.loads(pickle.dumps(refused.value)).message == refused.value.message
    # rows of another table in between: the table's schema is registered under its own name
    encoder.encode([_change("c", after={"id": 1})], table="test.other")
    message = _only(encoder.encode([_change("d", before=row)], table="test.two"))
    event: Any = AvroReader({post.id: post.schema for post in registry.posts}).read(*message)
    assert event.op == "delete"


def test_a_rename_of_one_table_says_what_happened_and_its_remedies_help() -> None:
    def update_after_rename(options: str, changefeed: dict[str, Any]) -> list[str]:
        registry = MemoryRegistry()
        uri = f"kafka://h/topic?protocol=avro{options}"
        encoder = Encoder(
            uri,
            "create table s.one (id int primary key)",
            changefeed=changefeed,
            registry=registry,
            schema_registry="http://nowhere.invalid",
            release="next",
        )
        encoder.encode([{"op": "c", "commit_ts": FIRST, "after": {"id": 1}}])
        encoder.ddl("rename table s.one to s.two", FIRST + 1)
        encoder.encode([{"op": "u", "commit_ts": FIRST + 2, "before": {"id": 1}, "after": {"id": 1}}])
        return [post.subject for post in registry.posts]

    before = "&avro-include-before-value=true"
    with pytest.raises(SharedSubjectError) as refused:
        update_after_rename(before, {})
    assert refused.value.table == "s.two"
    assert "a topic of its own" in refused.value.remedy
    assert "avro-include-before-value" in refused.value.remedy
    by_name = {"sink": {"dispatchers": [{"matcher": ["*.*"], "topic": "{schema}_{table}"}]}}
    assert "s_two-value" in update_after_rename(before, by_name)
    assert update_after_rename("", {}) == ["topic-key", "topic-value"]
