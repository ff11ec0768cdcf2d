"""What no column takes: each refusal says the row of the batch, or names the Arrow type."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from column_samples import COLUMNS, DECLARED, column, shown

from ticdc_emit.columnar.value_errors import ValueRefused
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.model import Column
from ticdc_emit.sql.types import MySQLType

_DATETIME = column("datetime")
_TIME = column("time")
_DECIMAL65 = column("decimal(65,30)")


def _fault(target: Column, array: pa.Array, zone: str = "UTC") -> ValueRefused:
    with pytest.raises(ValueRefused) as caught:
        accept(target, array, Rendering(zone))
    return caught.value


def _utf8(*items: bytes) -> pa.Array:
    """A string array with the bytes as they are: what Spark can hand over."""
    offsets = np.cumsum([0, *map(len, items)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(items), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(items))])


_RANGES = {
    "TINYINT": (-(1 << 7), (1 << 7) - 1),
    "SMALLINT": (-(1 << 15), (1 << 15) - 1),
    "MEDIUMINT": (-(1 << 23), (1 << 23) - 1),
    "INT": (-(1 << 31), (1 << 31) - 1),
    "BIGINT": (-(1 << 63), (1 << 63) - 1),
    "TINYINT UNSIGNED": (0, (1 << 8) - 1),
    "SMALLINT UNSIGNED": (0, (1 << 16) - 1),
    "MEDIUMINT UNSIGNED": (0, (1 << 24) - 1),
    "INT UNSIGNED": (0, (1 << 32) - 1),
    "BIGINT UNSIGNED": (0, (1 << 64) - 1),
    "BIT": (0, (1 << 12) - 1),
    "SET": (0, 7),
    "ENUM": (0, 3),
}


@pytest.mark.parametrize("name", _RANGES)
def test_integer_range(name: str) -> None:
    low, high = _RANGES[name]
    wide = pa.decimal128(38, 0)
    assert shown(COLUMNS[name], pa.array([low, high, None], wide)) == [str(low), str(high), None]
    for beyond in (low - 1, high + 1):
        assert _fault(COLUMNS[name], pa.array([None, Decimal(low), Decimal(beyond)], wide)).index == 2
        if name not in ("SET", "ENUM"):
            assert _fault(COLUMNS[name], pa.array([str(high), str(beyond)])).index == 1
        if -(1 << 63) <= beyond < 1 << 63:
            assert _fault(COLUMNS[name], pa.array([low, None, beyond], pa.int64())).index == 2
        elif 0 <= beyond < 1 << 64:
            assert _fault(COLUMNS[name], pa.array([low + (1 << 63), beyond], pa.uint64())).index == 1


def test_position_in_a_slice() -> None:
    array = pa.array([999, 1, None, 300, 2]).slice(1)
    assert _fault(COLUMNS["TINYINT"], array).index == 2


_BAD_TEXTS: list[tuple[str, list[str]]] = [
    ("INT BIT", ["", "x", "1e3", "1.5", "0x10", "1_0", "５", "9" * 30]),
    ("BIGINT", ["", "x", "1.5", "0X10", "9223372036854775808"]),
    ("DECIMAL", ["", "x", "1_0", "NaN", "sNaN", "Infinity", "0x1", "５", "1.005", "100000000"]),
    ("FLOAT DOUBLE", ["", "x", "1_0", "NaN", "Infinity", "-inf", "1e400", "0x1", "５", "1e5 e"]),
    ("DATE", ["", "2024-2-3", "2024-13-01", "2023-02-29", "2024-05-05 00:00:00", "２０２４-01-01", "2024-04-31"]),
    ("DATE", ["10000-01-01", "-001-01-01", "2024/05/05", "2024-00-32"]),
    ("DATETIME", ["2024-05-05", "2024-05-05 24:00:00", "2024-05-05 00:60:00", "2024-02-30 00:00:00", "now"]),
    ("DATETIME TIMESTAMP", ["2024-05-05 00:00:60", "2024-05-05 00:00:00.1234", "2024-05-05 00:00:00."]),
    ("TIME", ["", "1:02:03", "839:00:00", "-839:00:00", "838:59:59.001", "00:60:00", "00:00:60"]),
    ("TIME", ["00:00:00.0001", "+00:00:00", "1000:00:00", "１２:00:00"]),
    ("YEAR", ["1900", "2156", "-1", "x"]),
    ("ENUM", ["x", "A", "1", "a,b"]),
    ("SET", ["x", "a,x", "a,", "A"]),
    ("JSON", ["", "nope", "{", "[1,]", "{}{}", "[01]", "[1e400]", "NaN", "[-Infinity]", "{'a':1}", '{"a":1,}']),
    ("JSON", ['"\x01"', "\ufeff[]", "[" * 9999 + "]" * 9999, "1" * 5000, '"\\x"']),
    ("VECTOR", ["", "1,2", "[1]", "[1,2,3]", "[1,nan]", "[1,1e39]", "[1;2]", "[１,2]", "[1,2"]),
    ("BINARY", ["YWI", "Y!==", "é", "YWJjZGU=", "YQ==\n"]),
    ("VARCHAR", ["12345678901"]),
    ("TINYTEXT", ["é" * 128]),
]


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for names, texts in _BAD_TEXTS for name in names.split() for text in texts]
)
def test_text(name: str, text: str) -> None:
    good = {
        "DATE": "2024-05-05", "DATETIME": "2024-05-05 01:02:03.000", "TIMESTAMP": "2024-05-05 01:02:03.000",
        "TIME": "01:02:03.000", "YEAR": "2024", "ENUM": "a",
        "SET": "b,a", "JSON": "[]", "VECTOR": "[1,2]", "BINARY": "YWI=",
    }.get(name, "1")  # fmt: skip
    assert _fault(COLUMNS[name], pa.array([good, None, text, text])).index == 2


@pytest.mark.parametrize("name", COLUMNS)
def test_null_in_not_null(name: str) -> None:
    target = column(f"{DECLARED.get(name, name)} not null")
    assert _fault(target, pa.nulls(2)).index == 0
    assert _fault(target, pa.array([None], pa.string())).index == 0


def test_null_in_not_null_says_the_first_row() -> None:
    target = column("int not null")
    assert _fault(target, pa.array([1] * 9 + [None, None])).index == 9
    assert _fault(target, pa.array([None] * 3 + [1] * 9 + [None]).slice(3)).index == 9


def test_null_in_the_values_of_a_dictionary() -> None:
    array = pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", None]))
    for name in ("ENUM", "VARCHAR"):
        assert _fault(column(f"{DECLARED[name]} not null"), array).index == 1


@pytest.mark.parametrize("name", ["VARCHAR", "TEXT"])
@pytest.mark.parametrize(
    ("items", "index"),
    [
        ([b"ok", b"\xff"], 1),
        ([b"ok", b"", b"\xc3", b"\xa9"], 2),  # one code point over two values: the buffer as a whole is valid
        ([b"\xc3", b"", b"", b"\xa9"], 0),
        ([b"\xc3", b"\xa9", b"\xff"], 0),
        ([b"a\xe2\x82", b"b"], 0),
        ([b"ok", b"a\xe2", b"\x82\xac"], 1),
        ([b"ok", b"\x80"], 1),
        ([b"ok", b"x\xf0\x9f\x98"], 1),
        ([b"ok", b"\xed\xa0\x80"], 1),  # a lone surrogate
        ([b"\xed\xa0\xbd", b"\xed\xb8\x80"], 0),
        ([b"\xc0\x80"], 0),
        ([b"\xf4\x90\x80\x80"], 0),
    ],
)
def test_invalid_utf8(name: str, items: list[bytes], index: int) -> None:
    for array in (pa.array(items, pa.binary()), pa.array(items, pa.large_binary()), _utf8(*items)):
        assert _fault(COLUMNS[name], array).index == index
        behind = pa.concat_arrays([array.slice(0, 0), array])
        assert _fault(COLUMNS[name], behind).index == index
    shifted = pa.array([b"fine", *items]).slice(1)
    assert _fault(COLUMNS[name], shifted).index == index


@pytest.mark.parametrize("name", COLUMNS)
def test_invalid_utf8_in_any_column(name: str) -> None:
    fault = _fault(COLUMNS[name], _utf8(b"\xff", b"\xff").slice(1))
    assert fault.index == 0
    assert "UTF-8" in fault.reason or name == "BINARY"


@pytest.mark.parametrize("name", ["FLOAT", "DOUBLE"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_not_finite(name: str, value: float) -> None:
    for kind in (pa.float64(), pa.float32(), pa.float16()):
        array = pa.array(np.array([1, 2, value]).astype(kind.to_pandas_dtype()), kind)
        assert _fault(COLUMNS[name], array).index == 2


def test_float_overflow_and_sign() -> None:
    assert _fault(COLUMNS["FLOAT"], pa.array([1.0, 3.5e38])).index == 1
    assert shown(COLUMNS["DOUBLE"], pa.array([3.5e38])) == ["35" + "0" * 37]
    for kind in ("float", "double"):
        assert _fault(column(f"{kind} unsigned"), pa.array([0.0, None, -0.5])).index == 2


def test_decimal_digits() -> None:
    target = COLUMNS["DECIMAL"]
    for kind in (pa.decimal128(30, 4), pa.decimal256(60, 4)):
        assert _fault(target, pa.array([Decimal("1.5"), Decimal("1.001")], kind)).index == 1
        assert _fault(target, pa.array([None, Decimal(10**8)], kind)).index == 1
    assert _fault(target, pa.array([1, 10**8])).index == 1
    words = np.array([1, 0, 10**10, 0], np.uint64)  # more digits in the buffer than decimal128(10, 2) says
    assert _fault(target, pa.Array.from_buffers(pa.decimal128(10, 2), 2, [None, pa.py_buffer(words)])).index == 1
    unsigned = column("decimal(10,2) unsigned")
    assert _fault(unsigned, pa.array([Decimal(0), None, Decimal("-0.01")])).index == 2
    assert shown(_DECIMAL65, pa.array(["9" * 35 + "." + "9" * 30])) == ["9" * 35 + "." + "9" * 30]
    for text in ("1" + "0" * 35, "0." + "0" * 30 + "1", "1e200", "1e-200"):
        assert _fault(_DECIMAL65, pa.array(["1", text])).index == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_year_range(unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    first, last = -719528 * 86400 * per_second, 2932897 * 86400 * per_second - 1
    assert _fault(_DATETIME, pa.array([0, first - per_second], pa.timestamp(unit))).index == 1
    assert _fault(_DATETIME, pa.array([0, None, last + 1], pa.timestamp(unit))).index == 2
    assert shown(_DATETIME, pa.array([first], pa.timestamp(unit))) == ["0000-01-01 00:00:00"]
    for huge in ((1 << 63) - 1, -(1 << 63)):
        fault = _fault(column("datetime(6)"), pa.array([0, huge], pa.timestamp(unit)))
        assert fault.index == 1
    days = pa.array([0, 2932897], pa.int32()).view(pa.date32())
    assert _fault(COLUMNS["DATE"], days).index == 1
    assert _fault(COLUMNS["DATE"], pa.array([0, -719529], pa.int32()).view(pa.date32())).index == 1


def test_time_of_day_in_a_date() -> None:
    array = pa.array([0, None, 1], pa.timestamp("s"))
    assert _fault(COLUMNS["DATE"], array).index == 2


@pytest.mark.timeout(20)
@pytest.mark.parametrize("exponent", ["99999999", "9" * 12, "9" * 30, "9" * 400_000])
def test_huge_exponents(exponent: str) -> None:
    for name in ("DECIMAL", "INT", "DOUBLE", "BIGINT UNSIGNED"):
        for text in (f"1e{exponent}", f"-1.5E+{exponent}"):
            assert _fault(COLUMNS[name], pa.array(["1", text])).index == 1


def test_fraction_digits() -> None:
    assert _fault(_DATETIME, pa.array([0, 1], pa.timestamp("ms"))).index == 1
    assert _fault(column("datetime(2)"), pa.array([10, 15], pa.timestamp("ms"))).index == 1
    assert _fault(column("datetime(6)"), pa.array([1000, 1], pa.timestamp("ns"))).index == 1
    assert _fault(_TIME, pa.array([0, None, 1], pa.duration("ms"))).index == 2
    assert _fault(COLUMNS["TIME"], pa.array([1000, 1], pa.duration("us"))).index == 1


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_time_range(unit: str) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    most = 3020399 * per_second
    assert shown(_TIME, pa.array([most, -most], pa.duration(unit))) == ["838:59:59", "-838:59:59"]
    for beyond in (most + 1, -most - 1, (1 << 63) - 1, -(1 << 63)):
        assert _fault(_TIME, pa.array([0, beyond], pa.duration(unit))).index == 1


_TIMESTAMP = column("timestamp(6)")


@pytest.mark.parametrize(
    ("zone", "first", "last"),
    [
        ("UTC", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999"),
        ("Asia/Shanghai", "1970-01-01 08:00:01.000000", "2038-01-19 11:14:07.999999"),
        ("America/New_York", "1969-12-31 19:00:01.000000", "2038-01-18 22:14:07.999999"),
    ],
)
def test_timestamp_range(zone: str, first: str, last: str) -> None:
    zero = "0000-00-00 00:00:00.000000"
    assert shown(_TIMESTAMP, pa.array([first, last, zero, None]), zone) == [first, last, zero, None]
    instants = pa.array([1_000_000, (1 << 31) * 10**6 - 1], pa.timestamp("us", tz="UTC"))
    assert shown(_TIMESTAMP, instants, zone) == [first, last]
    assert _fault(_TIMESTAMP, pa.array([first, first[:18] + "0.999999"]), zone).index == 1
    for beyond in (999_999, (1 << 31) * 10**6):
        assert _fault(_TIMESTAMP, pa.array([1_000_000, None, beyond], pa.timestamp("us", tz="UTC")), zone).index == 2


def test_lengths() -> None:
    assert shown(COLUMNS["VARCHAR"], pa.array(["😀" * 10])) == ["😀" * 10]
    assert _fault(COLUMNS["VARCHAR"], pa.array(["", None, "😀" * 11])).index == 2
    assert _fault(COLUMNS["TINYTEXT"], pa.array(["x" * 255, "x" * 256])).index == 1
    assert _fault(COLUMNS["VARBINARY"], pa.array([b"x" * 10, b"x" * 11])).index == 1
    assert _fault(COLUMNS["BINARY"], pa.array([b"xxxx", b"xxxxx"])).index == 1
    assert _fault(COLUMNS["BIT"], pa.array([b"\0", b"\0" * 9])).index == 1


def test_vector_elements() -> None:
    for bad in ([1.0, None], [1.0, float("nan")], [1.0, 1e39], [1.0], [1.0, 2.0, 3.0]):
        array = pa.array([[0.0, 0.0], None, bad], pa.list_(pa.float64()))
        assert _fault(COLUMNS["VECTOR"], array).index == 2
        assert _fault(COLUMNS["VECTOR"], array.slice(1)).index == 1


def test_the_empty_vector_is_what_a_not_null_column_holds_that_an_insert_left_out() -> None:
    not_null = column("vector(2) not null")
    for array in (pa.array([[1.0, 2.0], []], pa.list_(pa.float32())), pa.array(["[1,2]", "[ ]"])):
        assert shown(not_null, array) == ["[1,2]", "[]"]
        assert _fault(COLUMNS["VECTOR"], array).index == 1


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("INT", pa.array([b"1"])),
        ("INT", pa.array([0], pa.timestamp("us"))),
        ("DECIMAL", pa.array([True])),
        ("DOUBLE", pa.array([True])),
        ("DOUBLE", pa.array([b"1"])),
        ("DATE", pa.array([0], pa.timestamp("us", tz="UTC"))),
        ("DATE", pa.array([b"2024-05-05"])),
        ("TIME", pa.array([0], pa.timestamp("us"))),
        ("DATETIME", pa.array([0], pa.duration("us"))),
        ("ENUM", pa.array([b"a"])),
        ("ENUM", pa.array([True])),
        ("ENUM", pa.array([1.0])),
        ("VECTOR", pa.array([["1", "2"]])),
        ("VECTOR", pa.array([[[1.0], [2.0]]])),
        ("VECTOR", pa.array([b"[1,2]"])),
        ("VARCHAR", pa.array([1])),
        ("JSON", pa.array([1])),
        ("JSON", pa.array([[1]], pa.list_(pa.duration("s")))),
        ("INT", pa.RunEndEncodedArray.from_arrays([2], pa.array([1]))),
    ],
)
def test_arrow_type(name: str, array: Any) -> None:
    with pytest.raises(TypeError):
        accept(COLUMNS[name], array, Rendering())


def test_mysql_type_without_values() -> None:
    with pytest.raises(TypeError, match="GEOMETRY"):
        accept(Column(1, "c", MySQLType.GEOMETRY, -1, -1, "binary", "binary"), pa.array(["x"]), Rendering())


@pytest.mark.parametrize("name", [*_RANGES, "YEAR", "DECIMAL", "DOUBLE", "FLOAT", "DATETIME", "TIME", "JSON", "VECTOR"])
@pytest.mark.parametrize("digits", [5000, 200_000])
def test_very_long_numbers(name: str, digits: int) -> None:
    long = "9" * digits
    text = {"DATETIME": f"2024-01-01 00:00:00.{long}", "TIME": f"00:00:00.{long}", "VECTOR": f"[{long},1]"}
    fault = _fault(COLUMNS[name], pa.array([text.get(name, long)]))
    assert fault.index == 0
    assert len(fault.reason) < 200
    assert not fault.reason.startswith("Exceeds")


def test_long_zeros_before_a_number() -> None:
    assert shown(COLUMNS["INT"], pa.array(["0" * 5000 + "7", "-" + "0" * 5000 + "7"])) == ["7", "-7"]
    assert shown(COLUMNS["JSON"], pa.array([f"[{10**40}]"])) == ["[1e40]"]


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
@pytest.mark.parametrize("levels", [200, 1000, 100_000])
def test_deep_json(opening: str, levels: int) -> None:
    closing = "".join({"[": "]", "{": "}"}.get(mark, "") for mark in reversed(opening))
    document = opening * levels + "1" + closing * levels
    fault = _fault(COLUMNS["JSON"], pa.array(["[]", document]))
    assert fault.index == 1
    assert "levels deep" in fault.reason
    fault = _fault(COLUMNS["JSON"], pa.array([document] * 70 + ["[1.50]"] * 5))  # distinct shapes and equal ones
    assert fault.index == 0


def test_json_as_deep_as_tidb_has_it() -> None:
    document = "[" * 100 + "]" * 100
    assert shown(COLUMNS["JSON"], pa.array([document])) == [document]


@pytest.mark.parametrize("ticks", [1, 86_400_001, -1])
def test_time_of_day_in_a_date64(ticks: int) -> None:
    days = pa.array([0, 86_400_000, None, ticks], pa.int64()).view(pa.date64())
    assert _fault(COLUMNS["DATE"], days).index == 3
    assert shown(COLUMNS["DATE"], days.slice(0, 3)) == ["1970-01-01", "1970-01-02", None]
