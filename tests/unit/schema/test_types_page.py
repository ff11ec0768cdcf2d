"""The table of docs/types.md about tables from schemas is what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from ticdc_emit.schema.frames.arrow_types import arrow_type
from ticdc_emit.schema.frames.spark_types import spark_type

T = pytest.importorskip("pyspark.sql.types")
_PAGE = (Path(__file__).parents[3] / "docs" / "types.md").read_text(encoding="utf-8")
_ROWS = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in _PAGE.partition("| Spark | Arrow | TiDB |")[2].partition("\n\n")[0].splitlines()[2:]
]
_PLAIN = (
    "BooleanType ByteType ShortType IntegerType LongType FloatType DoubleType StringType BinaryType DateType "
    "TimestampType TimestampNTZType DayTimeIntervalType NullType VariantType"
)
_SPARK = {
    **{name: getattr(T, name)() for name in _PLAIN.split()},
    "DecimalType(p,s)": T.DecimalType(38, 10),
    "CharType(n)": T.CharType(7),
    "VarcharType(n)": T.VarcharType(7),
    "TimeType(p)": T.TimeType(3),
    "ArrayType": T.ArrayType(T.LongType()),
    "MapType": T.MapType(T.StringType(), T.LongType()),
    "StructType": T.StructType([T.StructField("a", T.LongType())]),
}
_ALIKE = (
    "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 binary large_binary binary_view date32 "
    "date64 null"
)
_ARROW = {
    **{name: [getattr(pa, name)()] for name in _ALIKE.split()},
    "bool": [pa.bool_()],
    "decimals": [pa.decimal32(7, 2), pa.decimal128(38, 10), pa.decimal256(50, 10)],
    "strings": [pa.string(), pa.large_string(), pa.string_view()],
    "fixed_size_binary": [pa.binary(255), pa.binary(256)],
    "timestamp": [pa.timestamp(unit) for unit in ("s", "ms", "us")],
    "timestamp_tz": [pa.timestamp("us", "UTC"), pa.timestamp("ns", "UTC")],
    "time32": [pa.time32("s"), pa.time32("ms")],
    "time64": [pa.time64("us"), pa.time64("ns")],
    "duration": [pa.duration(unit) for unit in ("s", "ms", "us", "ns")],
    "list": [pa.list_(pa.int8())],
    "large_list": [pa.large_list(pa.int8())],
    "fixed_size_list": [pa.list_(pa.int8(), 2)],
    "struct": [pa.struct([("a", pa.int8())])],
    "map": [pa.map_(pa.string(), pa.int8())],
}


def test_the_page_lists_every_type() -> None:
    spark = {name.strip() for row in _ROWS for name in re.split(r", (?![s)])", row[0]) if name}
    arrow = {name for row in _ROWS for name in re.findall(r"[a-z]\w+", row[1])}
    assert spark == set(_SPARK)
    assert arrow == set(_ARROW)


@pytest.mark.parametrize("row", _ROWS, ids=lambda row: row[2])
def test_types(row: tuple[str, str, str]) -> None:
    texts = {spark_type(_SPARK[name], column="c").text for name in re.split(r", (?![s)])", row[0]) if name}
    texts |= {arrow_type(kind, column="c").text for name in re.findall(r"[a-z]\w+", row[1]) for kind in _ARROW[name]}
    texts = {re.sub(r"^(DECIMAL)\(\d+,\d+\)", r"\1(p,s)", text) for text in texts}
    texts = {re.sub(r"^(VARCHAR|BINARY|VARBINARY)\(\d+\)", r"\1(n)", text) for text in texts}
    listed = set(re.findall(r"[A-Z]+(?:\([^)]*\))?", row[2])) - {"A"}
    if "UNSIGNED" in listed:
        listed = {f"{name} UNSIGNED" for name in listed - {"UNSIGNED"}}
    if row[0].startswith("TimeType"):
        listed = {text for text in listed if text != "TIME(p)"}
    assert texts == listed
