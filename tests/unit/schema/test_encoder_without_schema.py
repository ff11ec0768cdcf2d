"""An encoder without a schema makes the tables of the frames that it gets."""

from __future__ import annotations

import json
import warnings
from typing import Any

import polars as pl
import pyarrow as pa
import pytest

from ticdc_emit import Encoder, table_sql
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning

URI = "memory://t?protocol=canal-json&partition-num=1"
TS = 450_000_000_262_144_000


def _changes(*rows: dict[str, Any], at: int = TS) -> pa.Table:
    return pa.table({"op": ["c"] * len(rows), "commit_ts": [at] * len(rows), "after": rows})


def test_the_first_frame_makes_the_table() -> None:
    encoder = Encoder(URI, keys="id")
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        first = encoder.encode(_changes({"id": 1, "tags": ["x"]}), "shop.t")
        encoder.encode(_changes({"id": 2, "tags": []}, at=TS + 1))
    (warning,) = warned
    assert warning.category is AssumedSchemaWarning
    assert warning.filename == __file__
    assert json.loads(first.column("value")[0].as_py())["data"] == [{"id": "1", "tags": '["x"]'}]
    schema = table_sql(pa.schema([("id", pa.int64()), ("tags", pa.list_(pa.string()))]), "shop.t", keys="id")
    assert Encoder(URI, schema).encode(_changes({"id": 1, "tags": ["x"]})) == first


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_several_tables() -> None:
    encoder = Encoder(URI, keys={"shop.a": "id", "shop.b": ["x", "y"]})
    encoder.encode(_changes({"id": 1}), "shop.a")
    encoder.encode(pl.from_arrow(_changes({"x": "1", "y": 2})), "shop.b")
    keys = {info.full_name: [column.name for column in info.whole_handle_key] for info in encoder.catalog.tables()}
    assert keys == {"shop.a": ["id"], "shop.b": ["x", "y"]}
    with pytest.raises(ConfigError, match="not known, because no schema was given"):
        encoder.encode(_changes({"id": 1}), "shop.c")
    encoder.ddl("alter table shop.a add column n int", TS + 1)
    assert encoder.encode(_changes({"id": 1, "n": 2}, at=TS + 2), "shop.a").num_rows == 1


def test_what_has_no_schema() -> None:
    with pytest.raises(ConfigError, match="no name"):
        Encoder(URI, keys="id").encode(_changes({"id": 1}))
    with pytest.raises(SchemaError, match="no table yet"):
        Encoder(URI, keys="id").encode([{"op": "c", "commit_ts": TS, "after": {"id": 1}}])
    with pytest.raises(ConfigError, match="for tables without a schema"):
        Encoder(URI, "create table t (id int primary key)", keys="id")
