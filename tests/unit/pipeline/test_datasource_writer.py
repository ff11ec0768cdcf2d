"""``format("ticdc")`` refuses what the schema of the rows alone tells, before a row is staged; no Spark session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from ticdc_emit.errors import ConfigError, InvalidValueError, SchemaError, UnknownTableError, UnsupportedTypeError
from ticdc_emit.spark.datasource import TicdcDataSource

TABLE = "create table s.t (id int primary key, amount decimal(6, 2))"
TEXT, INT, DECIMAL = StringType(), IntegerType(), DecimalType(6, 2)


def struct(**types: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in types.items()])


def rows(**more: DataType) -> StructType:
    return struct(op=TEXT, commit_ts=LongType(), **more)


def writer(kind: StructType, folder: Path, **options: str) -> Any:
    uri = f"jsonl://{folder}/out?protocol=canal-json"
    given = {"sinkUri": uri, "schema": TABLE, "stateUri": f"{folder}/state", **options}
    return TicdcDataSource(given).writer(kind, overwrite=False)


WHOLE = rows(after=struct(id=INT, amount=TEXT))
REFUSED: dict[str, tuple[StructType, dict[str, str], type[Exception]]] = {
    "a type": (rows(after=struct(id=INT, amount=DateType())), {}, UnsupportedTypeError),
    "a column": (rows(after=struct(id=INT, amount=DECIMAL, more=INT)), {}, InvalidValueError),
    "an image": (rows(after=TEXT), {}, UnsupportedTypeError),
    "a table": (WHOLE, {"table": "s.u"}, UnknownTableError),
    "an option": (WHOLE, {"late": "never"}, ConfigError),
    "which table": (WHOLE, {"schema": f"{TABLE}; create table s.u (id int primary key)"}, SchemaError),
}


@pytest.mark.parametrize(("schema", "options", "error"), REFUSED.values(), ids=REFUSED)
def test_a_batch_write(schema: StructType, options: dict[str, str], error: type[Exception], tmp_path: Path) -> None:
    with pytest.raises(error):
        writer(schema, tmp_path, **options)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "schema",
    [
        rows(after=struct(id=INT, amount=DECIMAL)),
        rows(before=struct(id=INT, amount=TEXT), after=struct(id=LongType(), amount=TEXT)),
        rows(query=TEXT, after=struct(id=INT, amount=DateType())),
        rows(schema=TEXT, table=TEXT, after=MapType(TEXT, TEXT)),
    ],
    ids=["typed", "texts", "with DDL", "generic"],
)
def test_rows_that_may_be_right(schema: StructType, tmp_path: Path) -> None:
    writer(schema, tmp_path)
    assert list(tmp_path.iterdir()) == [], "nothing is touched before the rows are there"
