"""The encoder without Spark: what goes in, what comes out, what is refused before anything comes out."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import ConfigError, SchemaError, UnknownTableError

URI = "memory://x?protocol=canal-json&enable-tidb-extension=true"
SCHEMA = "create table test.t (id int primary key, v varchar(10))"
TS = 450_000_000_262_144_000


def insert(key: int, ts: int = TS, **more: Any) -> dict[str, Any]:
    return {"op": "c", "commit_ts": ts, "after": {"id": key, "v": "x"}, **more}


def decoded(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    return [json.loads(value) for value in batch.column("value").to_pylist()]


def test_the_clock_is_the_commit_time_unless_told() -> None:
    assert decoded(Encoder(URI, SCHEMA).encode([insert(1)]))[0]["ts"] == TS >> 18
    assert decoded(Encoder(URI, SCHEMA, build_ts=5).encode([insert(1)]))[0]["ts"] == 5


def test_no_rows_give_no_messages() -> None:
    encoder = Encoder(URI, SCHEMA)
    assert encoder.encode([]).num_rows == 0
    some = pa.table({"op": ["c"], "commit_ts": [TS], "after": [{"id": 1, "v": "x"}]})
    assert encoder.encode(some.slice(0, 0)).num_rows == 0
    assert encoder.encode(some).num_rows == 1


def test_the_table_must_be_known_and_unambiguous() -> None:
    two = Encoder(URI, SCHEMA + "; create table test.other (id int primary key)")
    with pytest.raises(SchemaError, match="2 tables"):
        two.encode([insert(1)])
    with pytest.raises(UnknownTableError, match=r"test\.none"):
        two.encode([insert(1)], table="test.none")
    assert two.encode([insert(1)], table="test.t").num_rows == 1


def test_other_protocols_are_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="the protocol canal "):
        Encoder("memory://x?protocol=canal", SCHEMA)


def test_a_negative_zero_in_a_vector_stays_in_the_image_that_has_it() -> None:
    encoder = Encoder(URI, "create table test.t (id int primary key, v vector(2))")
    rows = [{"op": "u", "commit_ts": TS, "before": {"id": 1, "v": [-0.0, 0.0]}, "after": {"id": 1, "v": [0.0, 0.0]}}]
    (message,) = decoded(encoder.encode(rows))
    assert message["old"][0]["v"] == "[-0,0]"
    assert message["data"][0]["v"] == "[0,0]"
