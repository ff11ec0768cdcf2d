"""Avro of single releases: what the recorded messages do not show."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import fastavro
import pytest

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.changes.model import Op
from ticdc_emit.errors import ReleaseDefectError, SchemaError
from ticdc_emit.pipeline.plan.registration import Registrar
from ticdc_emit.pipeline.plan.table_plans import make_plan
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.schema.catalog import Catalog

COMMIT_TS = 450000000262144000
URI = "kafka://h:9092/topic?protocol=avro&enable-tidb-extension=true"
WATERMARK = "&avro-enable-watermark=true"


def encoded(
    schema: str, rows: list[dict[str, Any]], release: str, options: str = ""
) -> tuple[list[Any], MemoryRegistry]:
    """Return the values of the messages, read with their schemas, and the registry."""
    registry = MemoryRegistry()
    encoder = Encoder(URI + options, schema, release=release, registry=registry)
    given = [{"commit_ts": COMMIT_TS + place, **row} for place, row in enumerate(rows)]
    values = encoder.encode(given).column("value").to_pylist()
    return [None if value is None else read(value, registry) for value in values], registry


def read(value: bytes, registry: MemoryRegistry) -> Mapping[str, Any]:
    number = int.from_bytes(value[1:5], "big")
    schema = next(post.schema for post in registry.posts if post.id == number)
    record = fastavro.schemaless_reader(io.BytesIO(value[5:]), fastavro.parse_schema(json.loads(schema)), None)
    return {name: field for name, field in record.items() if not name.startswith("_tidb_commit")}


KEYED = "create table test.t (id int primary key, a int, b bigint not null default 9007199254740993, c varchar(9))"
DELETE = {"op": "d", "before": {"id": 1, "a": 2, "b": 3, "c": "x"}}
INSERT = {"op": "c", "after": {"id": 1, "a": 2, "b": 3, "c": "x"}}
UPDATE = {"op": "u", "before": INSERT["after"], "after": {"id": 1, "a": 5, "b": 3, "c": "x"}}


def test_a_delete_has_the_defaults_of_all_columns_but_the_key() -> None:
    values, _ = encoded(KEYED, [INSERT, DELETE], "next-26.3.4", WATERMARK)
    # goavro reads the DEFAULT as a float64
    assert values[1] == {"id": 1, "a": None, "b": 9007199254740992, "c": None, "_tidb_op": "d"}


def test_after_a_delete_rows_have_only_their_keys() -> None:
    values, registry = encoded(KEYED, [DELETE, INSERT, UPDATE], "next-26.3.4", WATERMARK)
    assert values == [{"id": 1, "_tidb_op": op} for op in "dcu"]
    assert [post.subject for post in registry.posts] == ["topic-key", "topic-value"]


def test_a_delete_without_watermarks_has_no_value() -> None:
    values, registry = encoded(KEYED, [DELETE], "next-26.3.4")
    assert (values, [post.subject for post in registry.posts]) == ([None], ["topic-key"])


def test_a_delete_needs_no_valid_schema_of_the_whole_row() -> None:
    """``encodeValue`` of 26.3.4 gives the key's columns to ``getValueSchemaCodec`` for a DELETE, which registers their
    schema, and finds it again for the rows after it: it makes that of all columns, here an invalid one, for neither.
    """
    schema = "create table test.t (id int primary key, `中` int, `文` int)"
    row = {"id": 1, "中": 2, "文": 3}
    delete, insert = {"op": "d", "before": row}, {"op": "c", "after": row}
    values, registry = encoded(schema, [delete, insert, delete], "next-26.3.4", WATERMARK)
    assert values == [{"id": 1, "_tidb_op": op} for op in "dcd"]
    assert [post.subject for post in registry.posts] == ["topic-key", "topic-value"]
    with pytest.raises(SchemaError, match="two fields '_'"):
        encoded(schema, [insert, delete], "next-26.3.4", WATERMARK)


@pytest.mark.parametrize(
    ("release", "parts"),
    [("classic", {"e": ["key"], "f": ["key", "value"]}), ("next", {"e": ["key"], "f": ["key", "value"]})],
)
def test_of_a_refused_row_the_parts_before_the_refusal_are_registered(release: str, parts: dict[str, Any]) -> None:
    catalog = Catalog()
    catalog.apply("create table test.t (e enum('x') primary key, f enum('x'))")
    config = load_changefeed(URI, release=release, own_registry=True)
    plan = make_plan(config, catalog.histories(), {"topic": 1})
    for column, registered in parts.items():
        registry = MemoryRegistry()
        table = plan.table("test", "t")
        Registrar(config, registry).register_rows(plan, table, [(table.encoders[0], Op.INSERT)], column)
        assert [post.subject for post in registry.posts] == [f"topic-{part}" for part in registered]


def test_a_column_without_default_fails_a_delete_unless_it_is_first() -> None:
    schema = "create table test.t (id int primary key, a int not null, n decimal(5,2) not null default 1.5)"
    row = {"id": 1, "a": 2, "n": "1.00"}
    delete, insert = {"op": "d", "before": row}, {"op": "c", "after": row}
    with pytest.raises(ReleaseDefectError, match="DELETE fails") as refused:
        encoded(schema, [insert, delete], "next-26.3.4", WATERMARK)
    assert (refused.value.column, refused.value.releases) == ("a", "26.3.4")
    assert encoded(schema, [delete], "next-26.3.4", WATERMARK)[0] == [{"id": 1, "_tidb_op": "d"}]


def test_tables_are_encoded_together_if_their_values_have_alike_schemas() -> None:
    catalog = Catalog()
    catalog.ensure_database("test")
    for number, name in enumerate(("t1", "t2", "t3")):
        catalog.apply(f"create table test.{name} (id int primary key, a int)", commit_ts=number + 1)
    config = load_changefeed(URI + WATERMARK, release="next-26.3.4", own_registry=True)
    plan, registrar = make_plan(config, catalog.histories(), {"topic": 1}), Registrar(config, MemoryRegistry())
    for name, op in (("t1", Op.DELETE), ("t2", Op.INSERT), ("t3", Op.DELETE)):
        table = plan.tables["test", name]
        plan = registrar.register_rows(plan, table, [(encoder, op) for encoder in table.encoders if encoder])
    shapes = [plan.tables["test", name].encoding_shape for name in ("t1", "t2", "t3")]
    assert shapes[0] == shapes[2] != shapes[1]


@pytest.mark.parametrize("release", ["next-8.5.4", "next-8.5.6", "next-26.3.1", "next-26.3.3"])
def test_a_delete_crashes_where_there_is_a_key(release: str) -> None:
    with pytest.raises(ReleaseDefectError, match="a DELETE of a table with a key crashes"):
        encoded(KEYED, [INSERT, DELETE], release)
    keyless = "create table test.t (id int not null unique, a int)"
    assert encoded(keyless, [{"op": "d", "before": {"id": 1, "a": 2}}], release, WATERMARK)[0] == [None]


NULL_TEXTS = "create table test.t (id int primary key, a varchar(9) default 'null', b varbinary(9) default 'null')"


def test_a_default_that_reads_null_fails_or_changes_the_order() -> None:
    row = {"op": "c", "after": {"id": 1, "a": "null", "b": None}}
    with pytest.raises(ReleaseDefectError) as refused:
        encoded(NULL_TEXTS, [row], "classic-8.5.1")
    assert (refused.value.column, refused.value.table) == ("a", "test.t")
    for release, first in (("classic-8.5.2", "null"), ("classic", "string")):
        values, registry = encoded(NULL_TEXTS, [row], release)
        assert values == [{"id": 1, "a": "null", "b": None, "_tidb_op": "c"}]
        fields = {each["name"]: each for each in fastavro.parse_schema(json.loads(registry.posts[1].schema))["fields"]}
        kinds = [each if isinstance(each, str) else each["type"] for each in fields["a"]["type"]]
        assert (kinds[0], fields["a"]["default"]) == (first, "null")
        assert [each if isinstance(each, str) else each["type"] for each in fields["b"]["type"]] == ["bytes", "null"]


def test_a_delete_where_the_default_fails_is_sent() -> None:
    before = {"id": 1, "a": "x", "b": b"y"}
    assert encoded(NULL_TEXTS, [{"op": "d", "before": before}], "classic-8.5.1")[0] == [None]
