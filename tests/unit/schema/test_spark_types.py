"""Spark's types as TiDB's, and the metadata of fields; no session is needed."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.schema.frames.spark_types import TableFacts, name_parts, spark_column, spark_table, spark_type

types = pytest.importorskip("pyspark.sql.types")
T = types


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (T.DecimalType(38, 30), "DECIMAL(38,30)"),
        (T.DecimalType(1, 0), "DECIMAL(1,0)"),
        (T.VarcharType(16_384), "LONGTEXT"),
        (T.MapType(T.StringType(), T.StructType([T.StructField("a", T.StringType())])), "JSON"),
        (T.TimeType(0), "TIME"),
        (T.TimeType(6), "TIME(6)"),
    ],
)
def test_types_that_hold_the_same_values(kind: Any, text: str) -> None:
    assert spark_type(kind, column="c") == (text, "")


@pytest.mark.parametrize(
    ("kind", "text", "assumption"),
    [
        (T.TimestampType(), "DATETIME(6)", "wall clock of the changefeed's time zone"),
        (T.DayTimeIntervalType(), "TIME(6)", "838:59:59"),
        (T.NullType(), "LONGTEXT", "only NULLs"),
        (T.CharType(5), "VARCHAR(5)", "keeps the spaces"),
        (T.StringType("UTF8_LCASE"), "LONGTEXT", "instead of UTF8_LCASE"),
        (T.ArrayType(T.DecimalType(38, 38)), "JSON", "decimals, times and bytes are text"),
    ],
)
def test_choices_are_named(kind: Any, text: str, assumption: str) -> None:
    choice = spark_type(kind, column="c")
    assert choice.text == text
    assert assumption in choice.assumption


@pytest.mark.parametrize(
    ("kind", "remedy"),
    [
        (T.DecimalType(38, 31), "decimal\\(38,30\\) or to string"),
        (T.YearMonthIntervalType(), "number of months"),
        (T.CalendarIntervalType(), "Cast it to string"),
        (T.GeometryType(4326), "st_asbinary"),
        (T.ArrayType(T.YearMonthIntervalType()), "number of months"),
        (T.MapType(T.BinaryType(), T.IntegerType()), "keys to string"),
        (T.MapType(T.StructType([T.StructField("a", T.StringType())]), T.IntegerType()), "keys to string"),
        (T.ArrayType(T.MapType(T.ArrayType(T.StringType()), T.IntegerType())), "keys to string"),
        (T.StructType([T.StructField("a", T.StringType()), T.StructField("a", T.LongType())]), "Rename"),
    ],
)
def test_what_no_column_holds_is_an_error_of_the_column(kind: Any, remedy: str) -> None:
    with pytest.raises(UnsupportedTypeError, match=remedy) as refused:
        spark_type(kind, column="c", table="shop.t")
    assert (refused.value.column, refused.value.table) == ("c", "shop.t")


def test_metadata_of_a_field() -> None:
    def column(kind: Any, **metadata: Any) -> Any:
        return spark_column(T.StructField("c", kind, True, metadata))

    def definition(kind: Any, **metadata: Any) -> str:
        return column(kind, **metadata).definition()

    text = T.StringType()
    assert (
        definition(text, __CHAR_VARCHAR_TYPE_STRING="varchar(20)", comment="it's") == "`c` VARCHAR(20) COMMENT 'it''s'"
    )
    assert definition(text, __CHAR_VARCHAR_TYPE_STRING="varchar(9)", CURRENT_DEFAULT="'a''b'").endswith(
        "DEFAULT 'a''b'"
    )
    assert definition(T.IntegerType(), CURRENT_DEFAULT="-7") == "`c` INT DEFAULT -7"
    assert definition(T.BooleanType(), CURRENT_DEFAULT="true") == "`c` TINYINT(1) DEFAULT 1"
    assert definition(T.IntegerType(), CURRENT_DEFAULT="NULL") == "`c` INT"
    assert "no default in TiDB, instead of 'x'" in column(text, CURRENT_DEFAULT="'x'").assumption
    assert "instead of uuid()" in column(T.IntegerType(), CURRENT_DEFAULT="uuid()").assumption
    assert column(T.LongType(), **{"delta.identity.step": 1}).auto_increment
    assert not column(T.LongType(), **{"delta.identity.step": 2}).auto_increment
    assert column(T.LongType(), **{"identity.step": "1"}).auto_increment


def test_what_a_catalog_knows() -> None:
    schema = T.StructType([T.StructField("id", T.LongType()), T.StructField("country", T.StringType())])
    facts = TableFacts("All orders", ("id",), "Iceberg's identifier fields", ("bucket(8, id)",))
    table = spark_table(schema, ("shop", "orders"), facts=facts)
    assert table.create_table().endswith("PRIMARY KEY (`id`)\n) COMMENT='All orders'")
    assert table.assumptions[-2] == "The key is Iceberg's identifier fields: id."
    other = spark_table(schema, ("shop", "orders"), "country", facts=facts)
    assert other.keys == ("country",)
    assert "partitioning by bucket(8, id) is left out" in other.assumptions[-1]


def test_types_of_your_own() -> None:
    schema = T.StructType([T.StructField("at", T.TimestampType()), T.StructField("months", T.YearMonthIntervalType())])
    table = spark_table(schema, ("shop", "t"), types={"at": "TIMESTAMP(6)", "months": "INT"})
    assert [column.type for column in table.columns] == ["TIMESTAMP(6)", "INT"]
    assert table.assumptions == ()


def test_names_in_spark() -> None:
    assert name_parts("a.`b.c``d`.e") == ("a", "b.c`d", "e")
