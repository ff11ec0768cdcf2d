"""Bounds on messages hold, and keep every batch below what Arrow can hold."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.arrange.reader import read_parts
from ticdc_emit.arrange.rows import rows_to_batch
from ticdc_emit.changes import sizes
from ticdc_emit.config import load_changefeed
from ticdc_emit.encode import run
from ticdc_emit.encode.blocks import BlockReader
from ticdc_emit.errors import BatchTooLargeError
from ticdc_emit.plan.tables import make_plan
from ticdc_emit.registry import MemoryRegistry
from ticdc_emit.schema.catalog import catalog_from_sql

FIRST = 450_000_000_262_144_000
TABLE = """create table test.t (id bigint primary key, d double, f float, v varchar(99), b binary(40),
    e enum('aaaaaaaaaa','b'), s set('xxxxxxxxxxxxxxxx','y'), n decimal(65,30), t datetime(6), j json, x vector(2))"""
ROW = {
    "id": -(1 << 63), "d": -1.7976931348623157e308, "f": 1e-40, "v": "<\u2028\x00" * 30, "b": b"", "e": "aaaaaaaaaa",
    "s": "xxxxxxxxxxxxxxxx,y", "n": "-" + "9" * 35 + "." + "1" * 30, "t": "2024-05-05 12:34:56.123456",
    "j": '{"a": "<>"}', "x": [1e-38, -3.4e38],
}  # fmt: skip
URIS = [
    "protocol=canal-json&enable-tidb-extension=true",
    "protocol=canal-json&content-compatible=true",
    "protocol=avro&enable-tidb-extension=true",
    "protocol=avro&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string",
]


def encoder_of(uri: str, table: str = TABLE) -> Encoder:
    return Encoder(
        f"memory://x?{uri}", table, schema_registry="http://registry.invalid", registry=MemoryRegistry(), partitions=1
    )


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize("op", ["c", "u", "d"])
def test_no_message_exceeds_its_bound(uri: str, op: str) -> None:
    encoder = encoder_of(uri)
    images = {"c": ("after",), "u": ("before", "after"), "d": ("before",)}[op]
    change = {"op": op, "commit_ts": FIRST, **dict.fromkeys(images, ROW)}
    (message,) = encoder.encode([change]).to_pylist()
    table = encoder.plan.table("test", "t")
    (part,) = read_parts(rows_to_batch([change], table), table, encoder.plan.rendering, None)
    bound = sizes.largest_message(part.encoder, part.changes)
    assert len(message["key"]) + len(message["value"] or b"") <= bound


def _changes(count: int) -> pa.RecordBatch:
    image = pa.StructArray.from_arrays([pa.array(range(count))], ["id"])
    stamps = pa.array(range(FIRST, FIRST + count), pa.int64())
    return pa.record_batch({"op": pa.repeat(pa.scalar("c"), count), "commit_ts": stamps, "after": image})


def test_blocks_are_cut_by_the_size_of_their_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(URIS[0], "create table test.t (id bigint primary key)")
    monkeypatch.setattr(sizes, "OUTPUT_BYTES", 100 * encoder.plan.table("test", "t").overhead)

    def batches() -> Iterator[pa.RecordBatch]:
        yield _changes(1000)

    blocks = list(BlockReader(encoder.plan, ("test", "t"), "emit", None).blocks(batches()))
    assert [block.raw.num_rows for block in blocks] == [100] * 10


def test_messages_beyond_one_array_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(URIS[0], "create table test.t (id bigint primary key)")
    monkeypatch.setattr(run, "_ARROW_LIMIT", 100_000)
    with pytest.raises(BatchTooLargeError, match="fewer rows"):
        encoder.encode(_changes(20_001))


def _of_tables(tables: list[str], columns: dict[str, list[str]]) -> pa.RecordBatch:
    images = [[(name, "1") for name in columns[table]] for table in tables]
    return pa.record_batch(
        {
            "op": pa.array(["c"] * len(tables)),
            "commit_ts": pa.array(range(FIRST, FIRST + len(tables)), pa.int64()),
            "_schema": pa.array(["test"] * len(tables)),
            "_table": pa.array(tables),
            "after": pa.array(images, pa.map_(pa.string(), pa.string())),
        }
    )


def test_a_wide_table_makes_blocks_small_only_where_it_has_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = {"a": ["id"], "b": ["id"], "wide": ["id", *(f"c{number}" for number in range(99))]}
    tables = [
        f"create table test.{name} ({' int, '.join(found)} int, primary key (id))" for name, found in columns.items()
    ]
    plan = encoder_of(URIS[0], ";".join(tables)).plan
    overheads = {name: plan.table("test", name).overhead for name in columns}
    assert overheads["wide"] > 50 * overheads["a"]
    monkeypatch.setattr(sizes, "OUTPUT_BYTES", limit := overheads["wide"] + 10 * overheads["a"])

    def blocks(names: list[str]) -> list[list[str]]:
        read = BlockReader(plan, None, "emit", None).blocks(iter([_of_tables(names, columns)]))
        return [block.raw.column("_table").to_pylist() for block in read]

    assert blocks(["a", "b"] * 20) == [["a", "b"] * 20]
    mixed = ["a", "b"] * 4 + ["wide"] + ["b"] * 3 + ["wide", "wide"] + ["a"] * 4
    cut = blocks(mixed)
    assert [name for block in cut for name in block] == mixed
    assert [len(block) for block in cut] == [11, 2, 5]
    assert all(sum(overheads[name] for name in block) <= limit for block in cut)
    monkeypatch.setattr(sizes, "OUTPUT_BYTES", 1)
    assert blocks(["a", "wide"]) == [["a"], ["wide"]]


def test_blocks_tell_the_runs_of_many_topics() -> None:
    rules = [{"matcher": ["test.x*"], "topic": "{schema}_x"}, {"matcher": ["*.*"], "topic": "{schema}_{table}"}]
    names = ["t2", "x1", "x2", "t1", "t1", "x1", "t2"]
    config = load_changefeed("memory://m/t?protocol=canal-json&partition-num=1", {"sink": {"dispatchers": rules}})
    catalog = catalog_from_sql(";".join(f"create table test.{name} (id int primary key)" for name in set(names)))
    plan = make_plan(config, catalog.histories(), {"t": 1, "test_x": 1, "test_t1": 1, "test_t2": 1})
    rows = _of_tables(names, {name: ["id"] for name in names})
    (block,) = BlockReader(plan, None, "emit", None).blocks(iter([rows]))
    runs = [("test_t2", 0, 1), ("test_x", 1, 2), ("test_t1", 3, 2), ("test_x", 5, 1), ("test_t2", 6, 1)]
    assert list(block.targets()) == [((topic, 0), start, length) for topic, start, length in runs]
