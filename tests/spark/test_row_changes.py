"""Values of rows are compared as TiDB holds them, at any depth and without collations, and brought to a common type."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DataType, StructType

from ticdc_emit import from_changes, from_operations, from_snapshots, from_validity
from ticdc_emit.errors import SchemaError
from ticdc_emit.spark.row_changes import common_type, converted
from ticdc_emit.traffic.replay.history_forms import snapshot_diff

pytestmark = pytest.mark.spark

NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.timezone.utc)
FEED = "_change_type string, _commit_version long, _commit_timestamp timestamp"
VALUES = [
    ("string collate UTF8_LCASE", "new", "NEW"),
    ("array<string collate UTF8_LCASE>", ["new"], ["NEW"]),
    ("double", 0.0, -0.0),
    ("array<float>", [0.0], [-0.0]),
    ("struct<d:double,n:int>", (0.0, 1), (-0.0, 1)),
    ("map<string,double>", {"a": 0.0}, {"a": -0.0}),
    ("array<map<string,int>>", [{"a": 1}], [{"a": 2}]),
    ("map<string,map<string,int>>", {"a": {"b": 1}}, {"a": {"b": None}}),
    ("struct<m:map<string,array<int>>>", ({"a": [1]},), (None,)),
]


def test_a_change_of_any_value_is_seen(spark: Any) -> None:
    """Row 0 changes nothing, each other row the value of one type."""
    olds = [old for _, old, _ in VALUES]
    news = [new for _, _, new in VALUES]
    rows = [
        (nth, *olds[: nth - 1], *news[nth - 1 : nth], *olds[nth:]) if nth else (0, *olds)
        for nth in range(len(VALUES) + 1)
    ]
    form = ", ".join(["id int", *(f"v{nth} {kind}" for nth, (kind, *_) in enumerate(VALUES))])
    before = spark.createDataFrame([(nth, *olds) for nth in range(len(rows))], form)
    changes = snapshot_diff(before, spark.createDataFrame(rows, form), "id", NOON).collect()
    assert sorted((row.op, row.after.id) for row in changes) == [("u", nth) for nth in range(1, len(rows))]


KEYED = "id string collate UTF8_LCASE, v int"
TWO = [("a", 1), ("A", 2)]
FORMS: dict[str, Callable[[Any], Any]] = {
    "changes": lambda spark: from_changes(
        spark.createDataFrame(
            [("b", 3, "delete", 0, NOON), *((*row, "insert", 0, NOON) for row in TWO)], f"{KEYED}, {FEED}"
        ),
        "id",
    ),
    "operations": lambda spark: from_operations(
        spark.createDataFrame([(*row, "I", NOON) for row in TWO], f"{KEYED}, op string, at timestamp"), "id", "op", "at"
    ),
    "snapshots": lambda spark: from_snapshots(
        spark.createDataFrame([(*row, NOON) for row in TWO], f"{KEYED}, at timestamp"), "id", "at"
    ),
    "snapshots by time": lambda spark: from_snapshots({NOON: spark.createDataFrame(TWO, KEYED)}, "id"),
    "difference": lambda spark: snapshot_diff(
        spark.createDataFrame([], KEYED), spark.createDataFrame(TWO, KEYED), "id", NOON
    ),
    "validity": lambda spark: from_validity(
        spark.createDataFrame([(*row, NOON, None) for row in TWO], f"{KEYED}, since timestamp, until timestamp"),
        "id",
        "since",
        "until",
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_keys_that_differ_in_case_are_two(spark: Any, form: str) -> None:
    rows = [(row.op, row.after.id) for row in FORMS[form](spark).collect() if row.op != "d"]
    assert sorted(rows) == [("c", "A"), ("c", "a")]


@pytest.mark.parametrize("names", [("id", "v", "v"), ("id", "V", "v"), ("ID", "id", "v")])
def test_two_columns_of_one_name_are_refused(spark: Any, names: tuple[str, ...]) -> None:
    feed = spark.createDataFrame([(1, 2, 3, "insert", 0, NOON)], f"a int, b int, c int, {FEED}")
    with pytest.raises(SchemaError, match="two columns with the same name"):
        from_changes(feed.toDF(*names, *feed.columns[3:]), "id")


def test_a_struct_has_the_fields_of_all(spark: Any) -> None:
    old, new = _types(
        "struct<d:decimal(4,2),gone:int,l:array<struct<x:int>>,m:map<string,float>>",
        "struct<d:decimal(6,3),l:array<struct<x:bigint,y:string>>,m:map<string,double>,more:date>",
    )
    kind = common_type([old, new])
    assert kind.simpleString() == (
        "struct<d:decimal(6,3),gone:int,l:array<struct<x:bigint,y:string>>,m:map<string,double>,more:date>"
    )
    rows = [(Decimal("1.5"), 7, [(1,)], {"a": 0.5}), None, (None, None, None, None)]
    found = [row.v for row in _in(spark, rows, old, kind)]
    assert found[0].asDict(recursive=True) == {
        "d": Decimal("1.500"),
        "gone": 7,
        "l": [{"x": 1, "y": None}],
        "m": {"a": 0.5},
        "more": None,
    }
    assert found[1:] == [None, (None,) * 5]


def test_nested_values_and_text_become_json_without_losing_digits(spark: Any) -> None:
    nested, text = _types("struct<d:decimal(38,10),n:string,t:timestamp,a:array<date>,b:binary>", "string")
    kind = common_type([nested, text])
    assert kind == text
    row = (Decimal("12345678901234567890.1234567891"), None, NOON, [NOON.date()], b"\xff")
    (found,) = _in(spark, [row], nested, kind)
    assert json.loads(found.v) == {
        "d": "12345678901234567890.1234567891",
        "n": None,
        "t": "2026-01-05 12:00:00.000000Z",
        "a": ["2026-01-05"],
        "b": "/w==",
    }


def _types(*texts: str) -> list[DataType]:
    return [StructType.fromDDL(f"v {text}")["v"].dataType for text in texts]


def _in(spark: Any, values: list[Any], own: DataType, kind: DataType) -> list[Any]:
    df = spark.createDataFrame([(value,) for value in values], StructType().add("v", own))
    return list(df.select(converted(F.col("v"), own, kind).alias("v")).collect())
