"""Columns, Arrow arrays of every accepted type with the text that they must give, and ways to bend arrays.

``SAMPLES`` is the table that the tests of array shapes run over: (column, Arrow type, values, texts in a Canal-JSON
string). The texts are written down by hand.
"""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.escape import EASYJSON
from ticdc_emit.columnar.values import Rendering, accept, json_content
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column


def column(definition: str) -> Column:
    """Return the column ``c`` of a definition in SQL."""
    return catalog_from_sql(f"create table t (c {definition})").table("test", "t").column("c")


DECLARED = {
    "BIT": "bit(12)",
    "DECIMAL": "decimal(10,2)",
    **{kind: f"{kind}(3)" for kind in ("DATETIME", "TIMESTAMP", "TIME")},
    **{kind: f"{kind}(10)" for kind in ("CHAR", "VARCHAR", "VARBINARY")},
    **{kind: f"{kind}('a','b','ü')" for kind in ("ENUM", "SET")},
    "BINARY": "binary(4)",
    "VECTOR": "vector(2)",
}
"""What a column's definition says beside the name of its kind."""

_INTEGERS = ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT")
_KINDS = [
    *(*_INTEGERS, *(f"{kind} UNSIGNED" for kind in _INTEGERS), "YEAR", "BIT", "FLOAT", "DOUBLE", "DECIMAL", "DATE"),
    *("DATETIME", "TIMESTAMP", "TIME", "CHAR", "VARCHAR", "TINYTEXT", "TEXT", "MEDIUMTEXT", "LONGTEXT", "BINARY"),
    *("VARBINARY", "TINYBLOB", "BLOB", "MEDIUMBLOB", "LONGBLOB", "ENUM", "SET", "JSON", "VECTOR"),
]
COLUMNS = {kind: column(DECLARED.get(kind, kind)) for kind in _KINDS}


class Sample(NamedTuple):
    """Values of one Arrow type for one column, and the text of each."""

    mysql: str
    type: pa.DataType
    values: list[Any]
    texts: list[str]

    def array(self, rows: list[Any] | None = None) -> pa.Array:
        return pa.array(self.values if rows is None else rows, self.type)


def shown(target: Column, array: pa.Array, zone: str = "UTC") -> list[str | None]:
    """Return what stands between the quotes of a Canal-JSON value, per row."""
    return json_content(target, accept(target, array, Rendering(zone)), EASYJSON).to_pylist()


def over_garbage(array: pa.Array, hidden: list[int]) -> pa.Array:
    """Return the array with the given rows null, whose bytes stay in the buffers under the nulls."""
    assert array.offset == 0
    valid = np.ones(len(array), np.bool_)
    valid[hidden] = False
    bitmap = pa.py_buffer(np.packbits(valid, bitorder="little").tobytes())
    children = [array.values] if pa.types.is_nested(array.type) else []
    own = array.buffers()[: array.type.num_buffers]
    return pa.Array.from_buffers(array.type, len(array), [bitmap, *own[1:]], children=children)


def _day(*parts: int) -> dt.date:
    return dt.date(*parts)


_MOMENT = dt.datetime(2024, 5, 5, 12, 34, 56, 789000)
_EARLY = dt.datetime(1970, 1, 1, 0, 0, 1)
_MOMENTS = ([_MOMENT, _EARLY], ["2024-05-05 12:34:56.789", "1970-01-01 00:00:01.000"])
_WHOLE = ([_MOMENT.replace(microsecond=0), _EARLY], ["2024-05-05 12:34:56.000", "1970-01-01 00:00:01.000"])
_TEXTS = [pa.string(), pa.large_string(), pa.string_view()]
_BINARIES = [pa.binary(), pa.large_binary(), pa.binary_view()]
_DECIMALS = [pa.decimal32(5, 0), pa.decimal64(9, 0), pa.decimal128(20, 0), pa.decimal256(40, 0)]
_SIGNED = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
_FLOATS = [pa.float16(), pa.float32(), pa.float64()]
_UNSIGNED = [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
_WORDS = (["plain", '"<\n\\>&', "é中😀", "", "\x08\u2028"], ["plain", '\\"\\u003c\\n\\\\\\u003e\\u0026', "é中😀", ""])
_WORDS[1].append("\\u0008\\u2028")


def _samples() -> list[Sample]:
    found: list[Sample] = []

    def add(names: str, types: list[pa.DataType], values: list[Any], texts: list[str]) -> None:
        found.extend(Sample(name, kind, values, texts) for name in names.split(", ") for kind in types)

    signed = "TINYINT, SMALLINT, MEDIUMINT, INT, BIGINT"
    unsigned = "TINYINT UNSIGNED, SMALLINT UNSIGNED, MEDIUMINT UNSIGNED, INT UNSIGNED, BIGINT UNSIGNED"
    add(signed, _SIGNED, [0, -128, 127], ["0", "-128", "127"])
    add(f"{signed}, {unsigned}, BIT", [*_UNSIGNED, *_SIGNED], [0, 7, 127], ["0", "7", "127"])
    add(f"{signed}, {unsigned}, BIT", [pa.bool_()], [True, False], ["1", "0"])
    add(signed, _DECIMALS, [Decimal(0), Decimal(-128), Decimal(127)], ["0", "-128", "127"])
    add(f"{unsigned}, BIT", _DECIMALS, [Decimal(0), Decimal(255)], ["0", "255"])
    add(f"{signed}, {unsigned}, BIT", _TEXTS, ["0", "7", "127"], ["0", "7", "127"])
    add(f"{signed}, {unsigned}, BIT", _FLOATS, [0.0, -0.0, 7.0, 127.0], ["0", "0", "7", "127"])
    add("BIGINT", [pa.float64()], [2.0**53 - 1, 1 - 2.0**53], ["9007199254740991", "-9007199254740991"])
    add("YEAR", [pa.float32(), pa.float64()], [0.0, 1901.0, 2155.0], ["0", "1901", "2155"])
    add("BIGINT UNSIGNED", [pa.uint64()], [2**64 - 1], ["18446744073709551615"])
    add("BIGINT UNSIGNED", [pa.decimal128(20, 0)], [Decimal(2**64 - 1)], ["18446744073709551615"])
    add("BIGINT", [pa.int64()], [-(2**63), 2**63 - 1], ["-9223372036854775808", "9223372036854775807"])
    add("YEAR", [pa.int16(), pa.int32(), pa.int64(), pa.uint16()], [0, 1901, 2155], ["0", "1901", "2155"])
    add("YEAR", _TEXTS, ["0000", "2024"], ["0", "2024"])
    add("BIT", _BINARIES, [b"\x0f\xff", b"A", b"", b"\0\0\0\1"], ["4095", "65", "0", "1"])
    add("BIT", [pa.binary(2)], [b"\x0f\xff", b"\0A"], ["4095", "65"])
    add("FLOAT, DOUBLE", [pa.float32(), pa.float64()], [1.5, -0.25, 3.0, 1e10], ["1.5", "-0.25", "3", "10000000000"])
    add("FLOAT, DOUBLE", [pa.float16()], [np.float16(1.5), np.float16(-2)], ["1.5", "-2"])
    add("FLOAT, DOUBLE, DECIMAL", [*_SIGNED], [5, -7], ["5", "-7"])
    add("FLOAT, DOUBLE", _UNSIGNED, [5, 7], ["5", "7"])
    add("FLOAT, DOUBLE", [pa.decimal64(9, 2), pa.decimal128(9, 2)], [Decimal("1.10"), Decimal("-2")], ["1.1", "-2"])
    add("FLOAT, DOUBLE", _TEXTS, ["1.1", "-1e-7", "2"], ["1.1", "-0.0000001", "2"])
    found[:] = [s for s in found if not (s.mysql == "DECIMAL" and pa.types.is_integer(s.type))]
    add("DECIMAL", [*_SIGNED], [5, -7], ["5.00", "-7.00"])
    add("DECIMAL", _UNSIGNED, [5, 7], ["5.00", "7.00"])
    add(
        "DECIMAL",
        [pa.decimal32(9, 2), pa.decimal64(12, 3), pa.decimal128(10, 2), pa.decimal256(50, 6)],
        [Decimal("0.50"), Decimal("-1234.5"), Decimal(0)],
        ["0.50", "-1234.50", "0.00"],
    )
    add("DECIMAL", _FLOATS, [0.0, -0.0, 4.25, -7.0], ["0.00", "0.00", "4.25", "-7.00"])
    add("DECIMAL", [pa.float64()], [12345678.9, 0.1, -99999999.99], ["12345678.90", "0.10", "-99999999.99"])
    add("DECIMAL", [pa.float32()], [1234.56, 0.1], ["1234.56", "0.10"])
    add("DECIMAL", _TEXTS, ["12345678.90", "-0", "1e2"], ["12345678.90", "0.00", "100.00"])
    add("DATE", [pa.date32(), pa.date64()], [_day(2024, 2, 29), _day(1, 1, 1)], ["2024-02-29", "0001-01-01"])
    naive = [pa.timestamp("s"), pa.timestamp("ms"), pa.timestamp("us")]
    add("DATE", [*naive, pa.timestamp("ns")], [dt.datetime(2024, 2, 29), dt.datetime(1969, 12, 31)], [])
    found[-4:] = [s._replace(texts=["2024-02-29", "1969-12-31"]) for s in found[-4:]]
    add("DATE", _TEXTS, ["2024-02-29", "0000-00-00", "2024-00-00"], ["2024-02-29", "0000-00-00", "2024-00-00"])
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "Asia/Shanghai"):
            values, texts = _WHOLE if unit == "s" else _MOMENTS
            utc = [moment.replace(tzinfo=dt.timezone.utc if zone else None) for moment in values]
            add("DATETIME, TIMESTAMP", [pa.timestamp(unit, tz=zone)], utc, texts)
    add("DATETIME, TIMESTAMP", [pa.date32(), pa.date64()], [_day(2024, 2, 29)], ["2024-02-29 00:00:00.000"])
    add(
        "DATETIME, TIMESTAMP",
        _TEXTS,
        ["2024-05-05 12:34:56.789", "0000-00-00 00:00:00", "2024-05-05T12:34:56.1000"],
        ["2024-05-05 12:34:56.789", "0000-00-00 00:00:00.000", "2024-05-05 12:34:56.100"],
    )
    moved = [dt.timedelta(hours=838, minutes=59, seconds=59), dt.timedelta(milliseconds=-1000), dt.timedelta(0)]
    add("TIME", [pa.duration(unit) for unit in ("s", "ms", "us", "ns")], moved, [])
    found[-4:] = [s._replace(texts=["838:59:59.000", "-00:00:01.000", "00:00:00.000"]) for s in found[-4:]]
    clocks = [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")]
    add("TIME", clocks, [dt.time(23, 59, 58), dt.time(0)], ["23:59:58.000", "00:00:00.000"])
    add(
        "TIME", _TEXTS, ["12:00:00.5", "-838:59:59", "01:02:03.004"], ["12:00:00.500", "-838:59:59.000", "01:02:03.004"]
    )
    add("CHAR, VARCHAR, TINYTEXT, TEXT, MEDIUMTEXT, LONGTEXT", _TEXTS, *_WORDS)
    add("VARCHAR, TEXT", _BINARIES, [word.encode() for word in _WORDS[0]], _WORDS[1])
    add("VARCHAR, TEXT", [pa.binary(3)], [b"abc", "中".encode()], ["abc", "中"])
    add("VARBINARY, TINYBLOB, BLOB, MEDIUMBLOB, LONGBLOB", _BINARIES, [b"a<\x00\xff", b"", b"\x7f\x80"], [])
    latin = ["a\\u003c\\u0000ÿ", "", "\x7f\x80"]
    found[-15:] = [s._replace(texts=latin) for s in found[-15:]]
    add("BINARY", [*_BINARIES], [b"ab", b"abcd", b""], ["ab\\u0000\\u0000", "abcd", "\\u0000" * 4])
    add("BINARY, VARBINARY, BLOB", [pa.binary(4)], [b"abcd", b"\xff\xfe<>"], ["abcd", "ÿþ\\u003c\\u003e"])
    add("VARBINARY, BLOB", _TEXTS, ["YTw=", "", "/w=="], ["a\\u003c", "", "ÿ"])
    add("ENUM", [*_TEXTS], ["a", "ü", "b", ""], ["1", "3", "2", "0"])
    add("SET", [*_TEXTS], ["a", "ü,a", "", "b,b"], ["1", "5", "0", "2"])
    add("ENUM, SET", [*_SIGNED, *_UNSIGNED], [0, 1, 3], ["0", "1", "3"])
    add("ENUM, SET", _DECIMALS, [Decimal(1), Decimal(2)], ["1", "2"])
    add("JSON", [*_TEXTS], ['{"a": 1}', '{"b":1,"a":[1.0,true]}', '"\\u003c"'], [])
    found[-3:] = [s._replace(texts=_JSON) for s in found[-3:]]
    add("JSON", [*_BINARIES], [b'{"a": 1}', b'{"b":1,"a":[1.0,true]}', b'"<"'], _JSON)
    add("VECTOR", [*_TEXTS], ["[1,2]", "[ -3e-7 , 1.5 ]"], ["[1,2]", "[-0.0000003,1.5]"])
    lists = [pa.list_(pa.float32()), pa.list_(pa.float64()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 2)]
    add("VECTOR", lists, [[1.0, 2.0], [-3e-7, 1.5]], ["[1,2]", "[-0.0000003,1.5]"])
    add("VECTOR", [pa.list_(pa.int32())], [[1, -2]], ["[1,-2]"])
    return found


_JSON = ['{\\"a\\": 1}', '{\\"a\\": [1.0, true], \\"b\\": 1}', '\\"\\u003c\\"']
SAMPLES = _samples()
