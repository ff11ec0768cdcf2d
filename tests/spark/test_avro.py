"""Avro through Spark: schemas are registered on the driver, rows carry their ids, refusals come before any message."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA, tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import IncompatibleSchemaError
from ticdc_emit.protocols.avro.decoder import AvroReader
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.spark import TicdcSink, encode

pytestmark = pytest.mark.spark

URI = "protocol=avro&enable-tidb-extension=true&partition-num=4&schema-registry=http://registry.invalid"


def _texts(registry: MemoryRegistry) -> dict[Any, str]:
    return {post.id: post.schema for post in registry.posts}


def test_a_new_column_between_batches_is_registered_once(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    registry = MemoryRegistry()
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, registry=registry)
    sink(changes(2), 0)
    sink(changes(2, start=2), 1)
    assert len(registry.posts) == 2
    ddl = spark.createDataFrame(
        [("ddl", tso(12), "alter table test.account add column tag varchar(9)")],
        "op string, commit_ts long, query string",
    )
    tagged = changes(2, start=5).selectExpr(
        "op", "commit_ts", *(f"if({i} is null, null, struct({i}.*, 'x' as tag)) as {i}" for i in ("before", "after"))
    )
    sink(tagged.unionByName(ddl, allowMissingColumns=True), 2)
    newest = [post.schema for post in registry.posts if '"tag"' in post.schema]
    assert len(newest) == 1
    reader: Any = AvroReader(_texts(registry))
    last = [reader.read(message.key, message.value) for message in read_files(tmp_path)][-1]
    assert last.after["tag"] == "x"


def test_a_refused_schema_sends_nothing(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, registry=MemoryRegistry(reject='"note"'))
    with pytest.raises(IncompatibleSchemaError) as caught:
        sink.write(changes(3))
    assert caught.value.subject == "ticdc-value"
    assert caught.value.table == "test.account"
    assert list(read_files(tmp_path)) == []


def test_only_tables_with_rows_are_registered(spark: Any, tmp_path: Path) -> None:
    kind = "schema string, table string, op string, commit_ts long, after map<string,string>"
    rows = [("test", "t1", "c", tso(n), {"id": str(n)}) for n in range(9)]
    schema = "".join(f"create table test.t{n} (id int primary key);" for n in range(3))
    registry = MemoryRegistry()
    encoded = encode(spark.createDataFrame(rows, kind), f"memory://x?{URI}", schema, registry=registry)
    assert encoded.count() == 9
    assert {post.schema.split('"')[7] for post in registry.posts} == {"t1"}
