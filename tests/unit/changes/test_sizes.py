"""Bounds on messages hold, and keep every batch below what Arrow can hold."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.changes import model
from ticdc_emit.errors import BatchTooLargeError
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.encode import messages as encode
from ticdc_emit.registry.base import MemoryRegistry

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
    "protocol=debezium-avro&avro-decimal-handling-mode=string",
    "protocol=open-protocol",
    "protocol=avro&avro-decimal-handling-mode=string&avro-bigint-unsigned-handling-mode=string",
]


def encoder_of(uri: str, table: str = TABLE) -> Encoder:
    return Encoder(
        f"memory://x?{uri}",
        table,
        release="next" if "debezium-avro" in uri else "classic",
        schema_registry="http://registry.invalid",
        registry=MemoryRegistry(),
        partitions=1,
    )


@pytest.mark.parametrize("uri", URIS)
@pytest.mark.parametrize("op", ["c", "u", "d"])
def test_what_values_do_not_bring_is_bounded(uri: str, op: str) -> None:
    encoder = encoder_of(uri)
    images = {"c": ("after",), "u": ("before", "after"), "d": ("before",)}[op]
    change = {"op": op, "commit_ts": FIRST, **dict.fromkeys(images, ROW)}
    (message,) = encoder.encode([change]).to_pylist()
    # a byte of a value can become six in a message, and a number up to 352 digits in plain notation
    values = sum(6 * len(str(value).encode()) for value in ROW.values()) + 2 * 352
    overhead = encoder.plan.table("test", "t").overhead
    assert len(message["key"]) + len(message["value"] or b"") <= overhead + len(images) * values


def _changes(count: int) -> pa.RecordBatch:
    image = pa.StructArray.from_arrays([pa.array(range(count))], ["id"])
    stamps = pa.array(range(FIRST, FIRST + count), pa.int64())
    return pa.record_batch({"op": pa.repeat(pa.scalar("c"), count), "commit_ts": stamps, "after": image})


def test_pieces_are_cut_by_the_size_of_their_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(URIS[0], "create table test.t (id bigint primary key)")
    monkeypatch.setattr(model, "OUTPUT_BYTES", 100 * encoder.plan.table("test", "t").overhead)
    sorter = RowSorter(encoder.plan, ("test", "t"), "emit", None)
    (rows,) = sorter.gather([_changes(1000)])
    (piece,) = sorter.sort(rows)
    assert [part.length for part in piece.bounded()] == [100] * 10


def test_messages_beyond_one_array_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = encoder_of(URIS[0], "create table test.t (id bigint primary key)")
    monkeypatch.setattr(encode, "_ARROW_LIMIT", 100_000)
    with pytest.raises(BatchTooLargeError, match="fewer rows"):
        encoder.encode(_changes(20_001))
