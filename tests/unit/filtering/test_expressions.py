"""Expressions of event filters: which rows they ignore, and what is refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.filtering.expressions import TableExpression, UnknownColumnError
from ticdc_emit.schema.catalog import catalog_from_sql

TABLE = """create table e (id int primary key, n int, u bigint unsigned, v varchar(20), ci varchar(20) collate
utf8mb4_general_ci, d decimal(10,2), f double, t datetime(3), dt date, tm time, j json, en enum('a','b','c'),
s set('x','y'), b bit(4), bin varbinary(10), y year, g int as (n * 2) virtual)"""
TYPES = {
    "id": pa.int64(),
    "n": pa.int64(),
    "u": pa.uint64(),
    "v": pa.string(),
    "ci": pa.string(),
    "d": pa.string(),
    "f": pa.float64(),
    "t": pa.string(),
    "dt": pa.string(),
    "tm": pa.string(),
    "j": pa.string(),
    "en": pa.string(),
    "s": pa.string(),
    "b": pa.uint64(),
    "bin": pa.binary(),
    "y": pa.int64(),
}
ROW = {
    "id": 1,
    "n": 3,
    "u": 2**64 - 1,
    "v": "skip",
    "ci": "ABC ",
    "d": "1.50",
    "f": -2.5,
    "y": 2024,
    "t": "2024-01-01 10:00:00.500",
    "dt": "2020-02-29",
    "tm": "-01:30:00",
    "j": '{"k": 7, "a": [1, "x"]}',
    "en": "b",
    "s": "x,y",
    "b": 5,
    "bin": b"\x00\xff",
}
INFO = catalog_from_sql(TABLE).table("test", "e")


def ignored(text: str, **values: Any) -> bool:
    row = ROW | values
    arrays = {name: pa.array([row[name]], kind) for name, kind in TYPES.items()}
    expression = TableExpression.of(text, INFO, "UTC", "filter.event-filters[0].ignore-insert-value-expr")
    (found,) = expression.ignored(Image(INFO, arrays, Rendering("UTC")), 1)
    return bool(found)


@pytest.mark.parametrize(
    "text",
    [
        "n > 2", "n = 3 and d = 1.5", "n in (1, 3)", "n between 3 and 4", "not n = 4", "n <=> 3", "v is not null", "1",
        "n = 4 or v = 'skip'", "v like 'sk%'", "v like 's_i_'", "v like 's|_ip' escape '|' is false", "v = 'skip  '",
        "ci = 'abc'", "ci like 'aBc_'", "v <> 'SKIP'", "upper(v) = 'SKIP'", "v regexp '^s.*p$'",
        "concat(v, n) = 'skip3'",
        "u > n", "u = 18446744073709551615", "-n = -3", "n / 2 = 1.5", "n div 2 = 1", "n % 2 = 1", "-7 % 3 = -1",
        "n / 0 is null", "d * 2 = 3", "d + n > 4.49", "f < -2", "abs(f) = 2.5", "n = '3'", "'3' = n", "n = '3.0'",
        "if(n > 2, true, false)", "case n when 3 then 1 else 0 end", "coalesce(null, n) = 3", "nullif(n, 4) = 3",
        "en = 'b'", "en > 1", "s = 'x,y'", "b = 5", "b = b'0101'", "bin = x'00ff'", "y = 2024", "y = 24",
        "t > '2024-01-01 10:00:00'", "t = '2024-1-1 10:00:00.5'", "dt < '2020-03-01'", "dt < 20200301", "t > dt",
        "year(t) = 2024 and month(dt) = 2", "date_format(dt, '%Y/%m') = '2020/02'", "date(t) = '2024-01-01'",
        "tm < '-01:00:00'", "j->'$.k' > 6", "j->>'$.a[1]' = 'x'", "j->'$.a[1]' = 'x'", "j->'$.none' is null",
        "length(v) = 4", "left(v, 2) = 'sk'", "substr(v, -2) = 'ip'", "trim(both 's' from v) = 'kip'",
        "cast(d as signed) = 2", "cast('12' as unsigned) = 12", "cast(n as char) = '3'", "g = 6", "e.n = 3",
        "`N` = 3", "n = 3 is true", "n & 1", "v collate utf8mb4_general_ci = 'SKIP'", "locate('i', v) = 3", "j",
    ],
)  # fmt: skip
def test_a_row_is_ignored(text: str) -> None:
    assert ignored(text)


@pytest.mark.parametrize(
    "text",
    [
        "n", "0", "'1'", "1.0", "d > 2", "n = null", "null", "d", "f", "b", "v = 'SKIP'", "v like 'SK%'", "t", "en",
        "n > 2 and null", "n = 3 xor d = 1.5", "bin = '00ff'", "u + 0", "y", "coalesce(null, 'x')", "j->'$.k'",
    ],
)  # fmt: skip
def test_a_row_is_kept(text: str) -> None:
    assert not ignored(text)


def test_only_a_datum_that_holds_the_integer_one_ignores() -> None:
    assert ignored("n", n=1)
    assert ignored("en", en="a")
    assert ignored("d", d="1.00") is False
    assert ignored("f", f=1.0) is False


def test_a_column_that_its_database_qualifies_reads_the_first_one() -> None:
    assert ignored("test.e.n = 1")
    assert not ignored("test.e.n = 3")


@pytest.mark.parametrize(
    "text",
    ["now() > t", "n > (select 1)", "t > v", "dt + 1", "date_add(t, interval 1 day) > '2024-01-01'", "n >", "bin > 1"],
)
def test_what_cannot_be_evaluated_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TableExpression.of(text, INFO, "UTC", "filter.event-filters[0].ignore-insert-value-expr")
    assert repr(text)[1:-1] in caught.value.message
    assert caught.value.option == "filter.event-filters[0].ignore-insert-value-expr"


@pytest.mark.parametrize(
    ("text", "values"),
    [("v > 1", {}), ("u * 2 > 1", {}), ("ci = 'ä'", {}), ("n - u < 0", {"u": 2**64 - 1})],
)
def test_what_tidb_fails_at_is_a_fault_of_the_row(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match="fails"):
        ignored(text, **values)


@pytest.mark.parametrize("text", ["nope > 1", "other.n = 1", "other.e.n = 1"])
def test_an_unknown_column_is_told_with_the_first_row(text: str) -> None:
    expression = TableExpression.of(text, INFO, "UTC", "option")
    with pytest.raises(UnknownColumnError, match="ErrExpressionColumnNotFound"):
        expression.ignored(Image(INFO, {}, Rendering("UTC")), 1)
