"""Python values of any kind in one column: they print as they would alone, or are refused by place."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import InvalidValueError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.schema.catalog import catalog_from_sql

URI = "memory://x?protocol=canal-json"
TS = 450_000_000_262_144_000
UTC = dt.timezone.utc
SHANGHAI = ZoneInfo("Asia/Shanghai")
NOON = dt.datetime(2024, 5, 5, 12)


def printed(column: str, values: list[Any], time_zone: str = "UTC") -> list[Any]:
    encoder = Encoder(URI, f"create table t (id int primary key, c {column})", time_zone=time_zone)
    rows = [{"op": "c", "commit_ts": TS + n, "after": {"id": n, "c": value}} for n, value in enumerate(values)]
    return [json.loads(value)["data"][0]["c"] for value in encoder.encode(rows).column("value").to_pylist()]


@pytest.mark.parametrize(
    ("column", "values", "texts"),
    [
        ("varchar(9)", ["a", b"x", None, "é".encode()], ["a", "x", None, "é"]),
        ("text", [b"x", bytearray(b"y"), "z"], ["x", "y", "z"]),
        ("json", ['{"a": 1}', b"[2]"], ['{"a": 1}', "[2]"]),
        ("varbinary(9)", [b"\xff", "AAE="], ["ÿ", "\x00\x01"]),
        ("decimal(40,0)", [10**30, Decimal("5"), "7", -3, None], [str(10**30), "5", "7", "-3", None]),
        ("decimal(40,0)", [10**30], [str(10**30)]),
        ("decimal(10,2)", [Decimal("1E+3"), True], ["1000.00", "1.00"]),
        ("double", [10**20], ["1" + "0" * 20]),
        ("double", [10**20, 1, 0.5, None, True], ["1" + "0" * 20, "1", "0.5", None, "1"]),
        (
            "double",
            [10**20, "1e3", Decimal("0.25"), 1e22, -0.0],
            ["1" + "0" * 20, "1000", "0.25", "1" + "0" * 22, "-0"],
        ),
        ("float", [0.1, "0.1", 16777217], ["0.1", "0.1", "16777216"]),
        ("bigint unsigned", [(1 << 64) - 1, "5", np.uint64(7), True], [str((1 << 64) - 1), "5", "7", "1"]),
        ("bit(16)", [b"\x01\x00", 2, "3"], ["256", "2", "3"]),
        ("year", [2024, "1999"], ["2024", "1999"]),
        ("enum('a','b')", ["a", 2, None], ["1", "2", None]),
        ("set('a','b')", ["a,b", 2, ""], ["3", "2", "0"]),
        (
            "date",
            [dt.date(2024, 5, 5), "0000-00-00", dt.datetime(2024, 5, 6)],
            ["2024-05-05", "0000-00-00", "2024-05-06"],
        ),
        ("time(3)", [dt.timedelta(hours=-100, microseconds=-5000), "01:02:03"], ["-100:00:00.005", "01:02:03.000"]),
        ("time", [dt.time(1, 2, 3), dt.timedelta(seconds=5), dt.timedelta()], ["01:02:03", "00:00:05", "00:00:00"]),
        ("datetime(6)", [NOON.replace(microsecond=7), "0000-00-00 00:00:00"], None),
        ("vector(2)", [[1, 2.5], "[3,4]", (5.0, 6.0)], ["[1,2.5]", "[3,4]", "[5,6]"]),
    ],
)
def test_mixed_kinds_print_as_each_would_alone(column: str, values: list[Any], texts: list[Any] | None) -> None:
    assert printed(column, values) == (texts or [printed(column, [value])[0] for value in values])


@pytest.mark.parametrize("column", ["datetime", "timestamp"])
def test_moments_are_shown_on_the_clock_of_the_changefeed(column: str) -> None:
    instant = NOON.replace(tzinfo=UTC)
    values = [NOON, instant, instant.astimezone(SHANGHAI), "2024-05-05 01:02:03", dt.date(2024, 5, 5)]
    expected = ["2024-05-05 12:00:00", *["2024-05-05 20:00:00"] * 2, "2024-05-05 01:02:03", "2024-05-05 00:00:00"]
    assert printed(column, values, "Asia/Shanghai") == expected
    for kinds in ([0, 1], [1, 2], [1, 3], [0, 4]):
        assert printed(column, [values[k] for k in kinds], "Asia/Shanghai") == [expected[k] for k in kinds]


@pytest.mark.parametrize(
    ("column", "values", "match"),
    [
        ("varchar(9)", ["a", b"\xff"], "not valid UTF-8"),
        ("varchar(9)", ["a", 5], "Python type int"),
        ("varchar(9)", ["a", "\ud800"], "surrogates"),
        ("bigint", [1, 1 << 63], "is outside"),
        ("bigint unsigned", [1, -1], "is outside"),
        ("bigint", [1, 1.5], "1.5 is not a whole number"),
        ("decimal(9,1)", [Decimal(1), 0.25], "0.25 does not fit"),
        ("decimal(38,18)", [Decimal(1), 0.1 + 0.2], "15 digits"),
        ("decimal(9,1)", [1, 10**30], "does not fit"),
        ("double", [1, 10**400], "too large"),
        ("double", [1, "one"], "one"),
        ("enum('a')", ["a", "b"], "not a label"),
        ("enum('a')", ["a", 1.0], "neither"),
        ("enum('a')", [1, 1 << 70], "neither"),
        ("date", [dt.date(2024, 5, 5), NOON], "time of day"),
        ("date", ["2024-05-05", NOON.replace(hour=0, tzinfo=UTC)], "not a day"),
        ("datetime", [NOON, dt.timedelta(1)], "timedelta"),
        ("time", ["01:02:03", dt.time(1, tzinfo=UTC)], "zone"),
        ("vector(1)", ["[1]", [None]], "float"),
    ],
)
def test_a_value_of_no_use_is_refused_by_place(column: str, values: list[Any], match: str) -> None:
    for given, position in ((values, 1), (values[::-1], 0)):
        with pytest.raises(InvalidValueError, match=match) as caught:
            printed(column, given)
        assert (caught.value.table, caught.value.column) == ("test.t", "c")
        assert caught.value.row in ({"position": position}, {"id": position, "position": position})


def test_both_images_of_a_column_have_one_type() -> None:
    info = catalog_from_sql("create table t (id int primary key, c varchar(9))").table("test", "t")
    batch = rows_to_batch(
        [{"op": "u", "commit_ts": TS, "before": {"id": "1", "c": b"x"}, "after": {"id": 1, "c": "x"}}], info
    )
    assert batch.column("before").type == batch.column("after").type
