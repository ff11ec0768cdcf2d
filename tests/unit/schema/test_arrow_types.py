"""Arrow's types as TiDB's beside those of the page: what is refused, what is assumed, and metadata of fields."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ticdc_emit import catalog_from_sql, table_sql
from ticdc_emit.columnar.nested_json import nested_json
from ticdc_emit.errors import ConfigError, MissingColumnError, SchemaError, UnsupportedTypeError
from ticdc_emit.schema.frames.any_frame import table_of
from ticdc_emit.schema.frames.arrow_types import arrow_type


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (pa.decimal128(5, -2), "DECIMAL(7,0)"),
        (pa.decimal128(3, 5), "DECIMAL(5,5)"),
        (pa.decimal256(65, 30), "DECIMAL(65,30)"),
        (pa.binary(70_000), "LONGBLOB"),
        (pa.dictionary(pa.int8(), pa.int64()), "BIGINT"),
        (pa.run_end_encoded(pa.int32(), pa.string()), "LONGTEXT"),
        (pa.uuid(), "BINARY(16)"),
        (pa.json_(), "JSON"),
        (pa.bool8(), "TINYINT(1)"),
        (pa.opaque(pa.int16(), "a", "b"), "SMALLINT"),
        (pa.fixed_shape_tensor(pa.float32(), [2, 2]), "JSON"),
    ],
)
def test_types(kind: pa.DataType, text: str) -> None:
    assert arrow_type(kind, column="c").text == text


@pytest.mark.parametrize(
    ("kind", "assumption"),
    [
        (pa.timestamp("s", "UTC"), "is DATETIME: an instant"),
        (pa.timestamp("ns"), "no more than six fraction digits"),
        (pa.duration("ms"), "is TIME(3), which holds at most 838:59:59"),
        (pa.null(), "only NULLs"),
        (pa.list_(pa.decimal128(3, 1)), "decimals, times and bytes are text"),
        (pa.list_(pa.struct([("a", pa.binary())])), "decimals, times and bytes are text"),
        (pa.list_(pa.binary(2)), "decimals, times and bytes are text"),
        (pa.list_(pa.uuid()), "decimals, times and bytes are text"),
        (pa.list_(pa.string()), ""),
    ],
)
def test_assumptions(kind: pa.DataType, assumption: str) -> None:
    found = arrow_type(kind, column="c").assumption
    assert assumption in found
    assert bool(found) == bool(assumption)


@pytest.mark.parametrize(
    "kind",
    [
        pa.decimal256(66, 0),
        pa.decimal256(70, 10),
        pa.decimal128(38, 31),
        pa.month_day_nano_interval(),
        pa.list_(pa.duration("s")),
        pa.list_(pa.month_day_nano_interval()),
        pa.list_view(pa.int8()),
        pa.sparse_union([pa.field("a", pa.int8())]),
    ],
)
def test_what_no_column_holds(kind: pa.DataType) -> None:
    with pytest.raises(UnsupportedTypeError) as refused:
        arrow_type(kind, column="c", table="s.t")
    assert (refused.value.table, refused.value.column) == ("s.t", "c")
    assert refused.value.remedy.startswith("Cast it to")


_STRUCT = pa.struct([("a", pa.int8())])
_NESTED = [
    *(pa.map_(key, pa.int8()) for key in (_STRUCT, pa.list_(pa.int8()), pa.map_(pa.int8(), pa.int8()))),
    *(pa.map_(key, pa.int8()) for key in (pa.binary(), pa.large_binary(), pa.binary(2), pa.binary_view(), pa.uuid())),
    *(pa.map_(key, pa.int8()) for key in (pa.string(), pa.int8(), pa.bool_(), pa.float64(), pa.date32())),
    pa.map_(pa.decimal128(3, 1), pa.list_(pa.map_(pa.binary(), pa.int8()))),
    pa.map_(pa.dictionary(pa.int8(), pa.binary()), pa.int8()),
    pa.struct([("a", pa.int8()), ("a", pa.int8())]),
    pa.list_(pa.struct([("a", pa.int8()), ("a", pa.string())])),
    *(pa.list_(kind) for kind in (pa.uuid(), pa.json_(), pa.binary(2), pa.dictionary(pa.int8(), pa.string()))),
    *(pa.list_(kind) for kind in (pa.run_end_encoded(pa.int32(), pa.int8()), pa.fixed_shape_tensor(pa.int8(), [2]))),
]


@pytest.mark.parametrize("kind", _NESTED, ids=str)
def test_json_is_what_the_encoder_accepts(kind: pa.DataType) -> None:
    try:
        nested_json(pa.nulls(1, kind))
    except (TypeError, pa.ArrowException):
        with pytest.raises(UnsupportedTypeError) as refused:
            arrow_type(kind, column="c", table="s.t")
        assert (refused.value.table, refused.value.column) == ("s.t", "c")
        return
    assert arrow_type(kind, column="c").text == "JSON"


def test_frames() -> None:
    columns = {"id": [1], "name": ["a"]}
    expected = table_sql(pa.schema([("id", pa.int64()), ("name", pa.string())]), "s.t", keys="id")
    for frame in (pa.table(columns), pa.record_batch(columns), pd.DataFrame(columns), pl.DataFrame(columns)):
        assert table_sql(frame, "s.t", keys="id") == expected
    with_index = pd.DataFrame({"n": np.array([1], np.uint8)}, index=["a"])
    assert "`n` TINYINT UNSIGNED" in table_sql(with_index, "s.t")
    assert len(catalog_from_sql(table_sql(with_index, "s.t")).table("s", "t").columns) == 1


@pytest.mark.parametrize("source", [5, {"id": 1}, [1], pd.DataFrame({"a": [1, "x"]})])
def test_what_is_not_a_schema(source: Any) -> None:
    with pytest.raises(UnsupportedTypeError, match="cannot be read as an Arrow schema"):
        table_sql(source, "s.t")


def test_objects_of_a_frame_are_refused_with_their_column() -> None:
    objects = pl.DataFrame({"id": [1], "it": pl.Series([object()], dtype=pl.Object)})
    mixed = pd.DataFrame({"id": [1, 2], "it": [1, "x"]})
    for frame in (objects, mixed):
        with pytest.raises(UnsupportedTypeError) as refused:
            table_sql(frame, "s.t")
        assert refused.value.column == "it"
        assert refused.value.remedy


def test_names_and_types_that_are_wrong() -> None:
    schema = pa.schema([("id", pa.int64()), ("at", pa.timestamp("us", "UTC"))])
    assert "`at` timestamp(6)\n" in table_sql(schema, "s.t", types={"at": "timestamp(6)"})
    with pytest.raises(ConfigError, match="no name"):
        table_sql(schema)
    with pytest.raises(MissingColumnError, match="Did you mean at"):
        table_sql(schema, "s.t", types={"att": "timestamp(6)"})
    with pytest.raises(SchemaError, match="expected a column type"):
        table_sql(schema, "s.t", types={"at": "wat"})


def test_a_name_needs_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions = pytest.importorskip("pyspark.sql").SparkSession
    monkeypatch.setattr(sessions, "getActiveSession", lambda: None)
    with pytest.raises(ConfigError, match="no session of Spark"):
        table_sql("shop.orders")


def test_comments_and_what_spark_wrote_into_parquet() -> None:
    fields = [
        {"name": "code", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "varchar(5)", "comment": "it's"}},
        {"name": "pad", "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"}},
    ]
    metadata = {"org.apache.spark.sql.parquet.row.metadata": json.dumps({"type": "struct", "fields": fields})}
    names = [("code", pa.string()), ("pad", pa.string()), ("other", pa.string())]
    table = table_of(pa.schema(names, metadata=metadata), "s.t")
    assert [column.type for column in table.columns] == ["VARCHAR(5)", "VARCHAR(3)", "LONGTEXT"]
    assert "`code` VARCHAR(5) COMMENT 'it''s'" in table.create_table()
    commented = pa.schema([pa.field("a", pa.int8(), metadata={"comment": "x"})], metadata={"other": "{"})
    assert "`a` TINYINT COMMENT 'x'" in table_sql(commented, "s.t")
