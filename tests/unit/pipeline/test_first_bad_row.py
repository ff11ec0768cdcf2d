"""The bad value that is reported is the first bad row's in order, with its place, a remedy and the user's types."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import InvalidValueError, TicdcEmitError, UnsupportedTypeError

TS = 450_000_000_262_144_000
URI = "memory://first-bad?protocol=canal-json&partition-num=2"
SCHEMA = "create table s.t (id bigint primary key, n tinyint, name varchar(3), d date, s text)"
GOOD: dict[str, Any] = {"id": 1, "n": 1, "name": "a", "d": "2024-05-05", "s": "x"}


def rows(count: int, bad: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"op": "c", "commit_ts": TS + count - place, "after": GOOD | {"id": place} | bad.get(place, {})}
        for place in range(count)
    ]


@pytest.mark.parametrize("form", ["rows", "generator", "table", "chunks", "batch"])
@pytest.mark.parametrize(
    ("bad", "place", "column"),
    [
        ({5: {"id": None}, 3: {"name": "long"}, 2: {"s": None, "d": "2024-13-01"}, 4: {"n": 300}}, 5, "id"),
        ({9: {"n": 1000}, 8: {"n": -1000}}, 9, "n"),
        ({1: {"d": "x", "n": 200, "name": "toolong"}}, 1, "n"),
        ({0: {"d": "x"}, 9: {"n": 200}}, 9, "n"),
    ],
)
def test_of_several_columns(form: str, bad: dict[int, dict[str, Any]], place: int, column: str) -> None:
    changes = rows(10, bad)
    given: Any = changes
    if form == "generator":
        given = iter(changes)
    elif form != "rows":
        given = pa.Table.from_pylist(changes)
        if form == "chunks":
            given = pa.concat_tables([given.slice(0, 2), given.slice(2, 5), given.slice(7)])
        if form == "batch":
            given = given.to_batches()[0]
    with pytest.raises(InvalidValueError) as caught:
        Encoder(URI, SCHEMA).encode(given)
    assert caught.value.context["column"] == column
    assert caught.value.context["row"]["position"] == place
    assert caught.value.remedy


def test_good_rows_are_read_once() -> None:
    read = []

    class Once(dict[str, Any]):
        def get(self, key: str, default: Any = None) -> Any:
            read.append(key)
            return super().get(key, default)

    Encoder(URI, SCHEMA).encode([Once(change) for change in rows(1, {})])
    assert read.count("op") == 1


_REMEDIES: list[tuple[str, Any, str, str]] = [
    ("tinyint", 300, "TINYINT: 300 is outside -128..127", "Give a whole number in -128..127"),
    ("tinyint unsigned", -1, "TINYINT UNSIGNED: -1 is outside 0..255", "Give a whole number in 0..255"),
    ("bigint unsigned", -1, "BIGINT UNSIGNED: -1 is outside 0..18446744073709551615", "Give a whole number in 0.."),
    ("bigint", 1 << 63, "BIGINT: 9223372036854775808 is outside -9223372036854775808..9223372036854775807", "Give a"),
    ("int", "abc", "INT: 'abc' is not a whole number", "Give a whole number in"),
    ("bit(4)", 16, "BIT(4): 16 is outside 0..15", "Give a whole number in 0..15"),
    ("year", 1900, "YEAR: 1900 is neither 0 nor in 1901..2155", "Give 0 or a year in 1901..2155"),
    (
        "decimal(6,2)",
        "1.005",
        "DECIMAL(6,2): 1.005 does not fit",
        "in -9999.99..9999.99 with at most 2 digits after the point",
    ),
    ("decimal(6,2)", 4.255, "DECIMAL(6,2): 4.255 does not fit", "Give a number in -9999.99..9999.99"),
    ("decimal(6,2)", 12345.5, "DECIMAL(6,2): 12345.5 does not fit", "Give a number in -9999.99..9999.99"),
    (
        "decimal(38,18)",
        0.1 + 0.2,
        "DECIMAL(38,18): 0.30000000000000004 has more than the 15 digits",
        "at most 18 digits",
    ),
    ("decimal(38,0)", 2.0**53, "DECIMAL(38,0): 9007199254740992.0 is a double of 2^53 or more", "Give a number in"),
    ("decimal(6,2)", float("nan"), "DECIMAL(6,2): nan is not a number that TiDB stores", "Give a number in"),
    ("int", 1.5, "INT: 1.5 is not a whole number", "Give a whole number in"),
    ("int", float("-inf"), "INT: -inf is not a whole number", "Give a whole number in"),
    ("int unsigned", -1.0, "INT UNSIGNED: -1 is outside 0..4294967295", "Give a whole number in 0.."),
    ("bigint", -(2.0**53), "BIGINT: -9007199254740992.0 is a double of 2^53 or more", "Give a whole number in"),
    ("year", 1900.0, "YEAR: 1900 is neither 0 nor in 1901..2155", "Give 0 or a year in 1901..2155"),
    ("decimal(6,2) unsigned", Decimal(-1), "DECIMAL(6,2) UNSIGNED: -1.00 is negative", "in 0..9999.99 with"),
    ("double", float("nan"), "DOUBLE: nan is not a number that TiDB stores", "Give a finite number"),
    ("float", 1e39, "FLOAT: 1e+39 is too large", "Give a finite number"),
    ("double unsigned", -1.5, "DOUBLE UNSIGNED: -1.5 is negative", "Give a finite number from 0 on"),
    ("varchar(3)", "long", "VARCHAR(3): the value has 4 characters, more than 3", "at most 3 characters"),
    ("tinytext", "x" * 256, "TINYTEXT: the value has 256 bytes, more than 255", "at most 255 bytes"),
    ("blob", 5, "BLOB: the value 5 is of the Python type int", "Give"),
    ("text", 5, "TEXT: the value 5 is of the Python type int", "Give UTF-8 text"),
    ("text", dt.date(2024, 1, 1), "TEXT: the value datetime.date(2024, 1, 1) is of the Python type date", "Give"),
    ("binary(2)", b"abc", "BINARY(2): the value has 3 bytes, more than 2", "at most 2 bytes"),
    ("enum('a','b')", "c", "ENUM: 'c' is not a label of the ENUM", "Give one of 'a', 'b'"),
    ("set('a','b')", 4, "SET: 4 is beyond the column's 2 labels", "Give any of 'a', 'b', or a number in 0..3"),
    ("date", "01/02/2024", "DATE: '01/02/2024': not a date", "Give a day such as 2024-05-05"),
    ("datetime(3)", "noon", "DATETIME(3): 'noon': not a moment", "such as 2024-05-05 12:34:56.123"),
    ("timestamp", "2039-01-01 00:00:00", "TIMESTAMP: ", "Give a moment such as 2024-05-05 12:34:56, from 1970"),
    ("time", "25", "TIME: '25': not a time", "Give a time within 838:59:59, such as -12:34:56"),
    ("json", "{", "JSON: not a JSON document", 'Give a JSON document such as {"a": 1}'),
    ("vector(2)", "[1]", "VECTOR(2): the vector has 1 dimensions, not 2", "Give 2 finite numbers"),
    ("int not null", None, "INT: NULL in a NOT NULL column", "Give a value, or make the column nullable"),
]


@pytest.mark.parametrize(("declared", "value", "cause", "remedy"), _REMEDIES)
def test_values_name_the_type_and_a_remedy(declared: str, value: Any, cause: str, remedy: str) -> None:
    encoder = Encoder(URI, f"create table s.t (id int primary key, c {declared})")
    with pytest.raises(TicdcEmitError) as caught:
        encoder.encode([{"op": "c", "commit_ts": TS, "after": {"id": 1, "c": value}}])
    assert f"Column `c` is {cause}" in caught.value.message
    assert remedy in caught.value.remedy
    assert caught.value.remedy.split()[0] in ("Give", "Repair", "Cast", "Round")


_TYPES: list[tuple[str, pa.DataType, str, str]] = [
    ("decimal(6,2)", pa.date32(), "DECIMAL(6,2), but the input is date32[day]", "Cast it to decimal first"),
    (
        "bigint unsigned",
        pa.time64("us"),
        "BIGINT UNSIGNED, but the input is time64[us]",
        "Cast it to an integer type first",
    ),
    ("text", pa.int64(), "TEXT, but the input is int64", "Cast it to string first"),
    ("longblob", pa.int64(), "LONGBLOB, but the input is int64", "Cast it to binary first"),
    ("enum('a','b')", pa.float32(), "ENUM, but the input is float", "Cast it to string (a label)"),
    ("date", pa.int32(), "DATE, but the input is int32", "Cast it to date first"),
    ("date", pa.timestamp("us", "UTC"), "DATE, but the input is timestamp[us, tz=UTC]", "Cast it to date first"),
    ("datetime(6)", pa.int64(), "DATETIME(6), but the input is int64", "Cast it to timestamp first"),
    ("time", pa.int64(), "TIME, but the input is int64", "Cast it to duration"),
    ("json", pa.int64(), "JSON, but the input is int64", "Cast it to the text of a JSON document first"),
    ("vector(2)", pa.float32(), "VECTOR(2), but the input is float", "Cast it to a list of floats"),
    ("double", pa.date32(), "DOUBLE, but the input is date32[day]", "Cast it to double first"),
]


@pytest.mark.parametrize(("declared", "kind", "cause", "remedy"), _TYPES)
def test_types_are_the_users(declared: str, kind: pa.DataType, cause: str, remedy: str) -> None:
    image = pa.StructArray.from_arrays([pa.array([1]), pa.nulls(1, kind)], ["id", "c"])
    batch = pa.record_batch({"op": ["c"], "commit_ts": [TS], "after": image})
    with pytest.raises(UnsupportedTypeError) as caught:
        Encoder(URI, f"create table s.t (id int primary key, c {declared})").encode(batch)
    assert caught.value.message == f"Column `c` is {cause}"
    assert caught.value.remedy.startswith(remedy)
