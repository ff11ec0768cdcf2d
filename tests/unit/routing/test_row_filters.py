"""Expressions of event filters: which rows they ignore, and what is refused."""

from __future__ import annotations

import itertools
import pickle
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.values import Rendering
from ticdc_emit.errors import ConfigError, InvalidValueError
from ticdc_emit.routing.row_filters import TableExpression, UnknownColumnError
from ticdc_emit.schema.catalog import catalog_from_sql

TABLE = """create table e (id int primary key, n int, u bigint unsigned, v varchar(20), ci varchar(20) collate
utf8mb4_general_ci, d decimal(10,2), f double, t datetime(3), dt date, tm time, j json, en enum('a','b','c'),
s set('x','y'), b bit(4), bin varbinary(10), y year, g int as (n * 2) virtual, long_v longtext,
long_ci longtext collate utf8mb4_general_ci)"""
CELLS: dict[str, tuple[pa.DataType, Any]] = {
    "id": (pa.int64(), 1), "n": (pa.int64(), 3), "u": (pa.uint64(), 2**64 - 1), "v": (pa.string(), "skip"),
    "ci": (pa.string(), "ABC "), "d": (pa.string(), "1.50"), "f": (pa.float64(), -2.5), "y": (pa.int64(), 2024),
    "t": (pa.string(), "2024-01-01 10:00:00.500"), "dt": (pa.string(), "2020-02-29"), "tm": (pa.string(), "-01:30:00"),
    "j": (pa.string(), '{"k": 7, "a": [1, "x"]}'), "en": (pa.string(), "b"), "s": (pa.string(), "x,y"),
    "b": (pa.uint64(), 5), "bin": (pa.binary(), b"\x00\xff"), "long_v": (pa.string(), ""), "long_ci": (pa.string(), ""),
}  # fmt: skip
INFO = catalog_from_sql(TABLE).table("test", "e")


def ignored(text: str, **values: Any) -> bool:
    arrays = {name: pa.array([values.get(name, value)], kind) for name, (kind, value) in CELLS.items()}
    expression = TableExpression.of(text, INFO, "UTC", "filter.event-filters[0].ignore-insert-value-expr")
    (found,) = expression.ignored(Image(INFO, arrays, Rendering("UTC")), 1)
    return bool(found)


@pytest.mark.parametrize(
    "text",
    [
        "n > 2", "n = 3 and d = 1.5", "n in (1, 3)", "n between 3 and 4", "not n = 4", "n <=> 3", "v is not null", "1",
        "n = 4 or v = 'skip'", "v like 'sk%'", "v like 's_i_'", "v like 's|_ip' escape '|' is false", "v = 'skip  '",
        "ci = 'abc'", "ci like 'aBc_'", "v <> 'SKIP'", "upper(v) = 'SKIP'", "v regexp '^s..p$'",
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


@pytest.mark.parametrize("text", ["now() > t", "n > (select 1)", "t > v", "dt + 1", "week(t) > 7", "n >", "bin > 1"])
def test_what_cannot_be_evaluated_is_refused_when_it_is_read(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TableExpression.of(text, INFO, "UTC", "filter.event-filters[0].ignore-insert-value-expr")
    assert repr(text)[1:-1] in caught.value.message
    assert caught.value.option == "filter.event-filters[0].ignore-insert-value-expr"


@pytest.mark.parametrize(
    ("text", "values"), [("v > 1", {}), ("u * 2 > 1", {}), ("ci = 'ж'", {}), ("n - u < 0", {"u": 2**64 - 1})]
)
def test_what_tidb_fails_at_is_a_fault_of_the_row(text: str, values: dict[str, Any]) -> None:
    with pytest.raises(InvalidValueError, match="fails"):
        ignored(text, **values)


@pytest.mark.parametrize("text", ["nope > 1", "other.n = 1", "other.e.n = 1"])
def test_an_unknown_column_is_told_with_the_first_row(text: str) -> None:
    expression = TableExpression.of(text, INFO, "UTC", "option")
    with pytest.raises(UnknownColumnError, match="ErrExpressionColumnNotFound"):
        expression.ignored(Image(INFO, {}, Rendering("UTC")), 1)


def test_a_chain_of_operators_may_be_long() -> None:
    count = 2_000
    for text in (
        f"n = 3{' and n = 3' * count}",
        f"n = 4{' or n = 4' * count} or n = 3",
        f"n{' + 1' * count} = {count + 3}",
        f"n = 3{' and n + 1 * 2 - 3 = 2 or n' * (count // 5)}",
        f"case{' when n = 4 then 0' * (count // 5)} else 1 end",
        f"length(concat(v{', v' * count})) = {4 * (count + 1)}",
    ):
        assert ignored(text)
    expression = TableExpression.of(f"n = 3{' and n = 3' * count}", INFO, "UTC", "option")
    assert pickle.loads(pickle.dumps(expression)) == expression
    for text in (
        *("- " * count + "n", "not " * count + "n", "n" + " is null" * count, "n" + " > 1 is null" * count),
        *("case when n then 1 else " * count + "1" + " end" * count, "abs(" * count + "n" + ")" * count),
    ):
        with pytest.raises(ConfigError, match="nested too deeply"):
            ignored(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("n <<< 2", "'n <<< 2' is not understood: expected a column, a literal or a function, found '<'"),
        ("n >", "'n >' is not understood: expected a column, a literal or a function, found the end of the expression"),
        ("n > 'a", 'cannot be read: a string or name that never ends at "\'a"'),
    ],
)
def test_the_words_of_an_error_are_those_of_an_expression(text: str, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ignored(text)
    assert words in caught.value.message
    assert "DDL" not in str(caught.value)


# -- virtual columns -------------------------------------------------------------------------------------------------

VIRTUAL = """create table e (id int primary key, n int, v varchar(20), d decimal(10,2), dt date, t datetime(3), j json,
b bool, small tinyint as (n * 100) virtual, price decimal(12,2) as (d * 1.005) virtual, born year as (year(dt)) virtual,
day date as (date(t)) virtual, part json as (j->'$.a') virtual, raw varbinary(9) as (concat(v, 'x')) virtual,
label char(4) as (concat(v, n)) virtual, twice double as (cast(n as double) / 2) virtual, flag bool as (n > 2) virtual,
next_day date as (date(day)) virtual, cut time as (j) virtual)"""


def virtual(text: str, **values: Any) -> bool:
    info = catalog_from_sql(VIRTUAL).table("test", "e")
    row = {"id": 1, "n": 1, "v": "ab", "d": "1.50", "dt": "2020-02-29", "t": "2024-01-01 10:00:00.500", "j": '{"a": 7}'}
    arrays = {name: pa.array([value]) for name, value in (row | values).items()}
    (found,) = TableExpression.of(text, info, "UTC", "option").ignored(Image(info, arrays, Rendering("UTC")), 1)
    return bool(found)


@pytest.mark.parametrize(
    "text",
    [
        "small = 100", "price = 1.51", "born = 2020", "day = '2024-01-01'", "part = 7", "raw = 'abx'", "label = 'ab1'",
        "twice < 1", "not flag", "day = next_day", "small + price > 101",
    ],
)  # fmt: skip
def test_a_virtual_column_has_the_value_that_its_type_holds(text: str) -> None:
    assert virtual(text)


@pytest.mark.parametrize(
    ("text", "values", "cause"),
    [
        ("small > 1", {"n": 2}, "the virtual column small: 200 is outside"),
        ("label > ''", {"n": 100}, "the virtual column label: the value has 5 characters, more than 4"),
        ("born > 1", {"dt": "1900-01-01"}, "the virtual column born: 1900 is neither 0 nor in 1901..2155"),
    ],
)
def test_a_value_that_a_virtual_column_cannot_hold_is_a_fault_of_the_row(
    text: str, values: dict[str, Any], cause: str
) -> None:
    with pytest.raises(InvalidValueError) as caught:
        virtual(text, **values)
    assert cause in caught.value.message


def test_a_virtual_column_that_needs_an_unknown_conversion_is_refused() -> None:
    with pytest.raises(ConfigError, match="the virtual column cut: JSON in a column of DURATION"):
        virtual("cut > '10:00:00'")


@pytest.mark.timeout(20)
def test_an_operand_is_evaluated_once() -> None:
    between, case = "n", "n"
    for _ in range(20):
        between, case = f"({between} between 1 and 4)", f"case {case} when 0 then 1 when 1 then 0 else 1 end"
    assert ignored(between, n=3)
    assert ignored(case, n=3) is False


# -- LIKE ------------------------------------------------------------------------------------------------------------


def like_by_regexp(text: str, pattern: str, escape: str) -> bool:
    parts, chars = [], iter(pattern)
    for char in chars:
        if char == escape:
            parts.append(re.escape(next(chars, escape)))
        else:
            parts.append({"%": ".*", "_": "."}.get(char) or re.escape(char))
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def likes(text: str, pattern: str, escape: str = "\\", column: str = "v") -> bool:
    written = "" if escape == "\\" else f" escape {quoted(escape)}"
    return ignored(f"{column} like {quoted(pattern)}{written}", **{column: text})


LETTERS = st.sampled_from("ab%_|\\ \n語")


@given(st.text(LETTERS, max_size=7), st.text(LETTERS, max_size=7), st.sampled_from(["\\", "|", "a", "%", "_"]))
@example("ab", "a%b%b", "\\")
@example("aab", "a%ab", "\\")
@example("a", "%_%_%", "\\")
@example("", "%%", "\\")
@example("a|", "a|", "|")
def test_like_matches_as_its_regular_expression(text: str, pattern: str, escape: str) -> None:
    assert likes(text, pattern, escape) == like_by_regexp(text, pattern, escape)
    caseless = likes(text.upper(), pattern, escape, "ci")
    assert caseless == like_by_regexp(text.upper(), pattern.upper(), escape.upper())


@pytest.mark.timeout(20)
@pytest.mark.parametrize("column", ["long_v", "long_ci"])
def test_like_takes_linear_time(column: str) -> None:
    for unit, pattern in (("a", "%a%a%a%a%b"), ("a", "%a%_a_%a%b%"), ("the of ", "% the % of % zebra%")):
        assert not likes(unit * 20_000, pattern, column=column)
    assert likes("a" * 20_000 + "b", "%a%a%a%a%b", column=column)


# -- texts that cost time or memory ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("trim(v)", "  x  ", "x"), ("ltrim(v)", "  x  ", "x  "), ("rtrim(v)", "  x  ", "  x"),
        ("trim(both 'ab' from v)", "ababxab", "x"), ("trim(leading 'ab' from v)", "ababab", ""),
        ("trim(trailing 'aa' from v)", "aaaaa", "a"), ("trim(both 'aa' from v)", "aaaaa", "a"),
        ("trim(both '' from v)", " a ", " a "),
    ],
)  # fmt: skip
def test_trim(text: str, value: str, expected: str) -> None:
    assert ignored(f"concat({text}, '|') = '{expected}|'", v=value)


@pytest.mark.timeout(20)
def test_trim_takes_linear_time() -> None:
    for text in ("trim(long_v)", "ltrim(long_v)", "rtrim(long_v)", "trim(leading ' ' from long_v)"):
        assert ignored(f"{text} = ''", long_v=" " * 1_000_000)


def test_a_text_has_a_bound_before_it_is_made() -> None:
    def tenfold(times: int) -> str:
        return "replace(" * times + "v" + ", 'a', 'aaaaaaaaaa')" * times

    with pytest.raises(InvalidValueError, match=r"result of REPLACE\(\) has 100,000,000 bytes, more than 67,108,864"):
        ignored(f"{tenfold(9)} = ''", v="a")
    assert ignored(f"length({tenfold(6)}) = 1000000", v="a")
    with pytest.raises(InvalidValueError, match=r"the result of CONCAT\(\) has 70,000,000 bytes"):
        ignored(f"concat({', '.join(['long_v'] * 70)}) = ''", long_v="a" * 1_000_000)


# -- values at which an expression fails -----------------------------------------------------------------------------

NASTY_TABLE = """create table w (id int primary key, n bigint, u bigint unsigned, t text, ci varchar(99) collate
utf8mb4_general_ci, d decimal(65,30), q decimal(20,0), f double, dt date, ts datetime(6), tm time(3), j json,
en enum('1','b'), s set('x','2'), b bit(64), bin varbinary(99), y year)"""
WIDE = "9" * 35 + "." + "9" * 30
NASTY: dict[str, tuple[pa.DataType, list[Any]]] = {
    "n": (pa.int64(), [0, -(2**63), 2**63 - 1, -1, 1, 64, None]),
    "u": (pa.uint64(), [0, 2**64 - 1, 2**63, 1, 10**19, 65, None]),
    "t": (pa.string(), ["", "1e400", "9" * 5000, "²", "++1", "-9223372036854775809", None]),
    "ci": (pa.string(), [" ", "ä", "\U0001f600", "1", "'", "%_\\", None]),
    "d": (pa.string(), ["0", WIDE, f"-{WIDE}", "1", "0.000000000000000000000000000001", "-0.5", None]),
    "q": (pa.string(), ["0", "9" * 20, "-" + "9" * 20, "1", "18446744073709551615", "-1", None]),
    "f": (pa.float64(), [0.0, 1.7976931348623157e308, -1.7976931348623157e308, 5e-324, -1.0, 1e19, None]),
    "dt": (pa.string(), ["0000-00-00", "9999-12-31", "2024-02-29", "0001-01-01", "2024-00-00", "1970-01-01", None]),
    "ts": (
        pa.string(),
        [
            *("0000-00-00 00:00:00.000000", "9999-12-31 23:59:59.999999", "2024-00-10 00:00:00.000000"),
            *("1000-01-01 00:00:00.000000", "2024-02-29 12:00:00.500000", "1970-01-01 00:00:00.000000", None),
        ],
    ),
    "tm": (
        pa.string(),
        ["00:00:00.000", "838:59:59.000", "-838:59:59.000", "-00:00:00.001", "1:2:3", "23:59:59", None],
    ),
    "j": (
        pa.string(),
        ["null", '{"k": 1e308}', "[" * 90 + "]" * 90, '"\\ud83d\\ude00"', "-9223372036854775808", "[[1], {}]", None],
    ),
    "en": (pa.string(), ["1", "b", "1", "b", "1", "b", None]),
    "s": (pa.string(), ["", "x", "2", "x,2", "x", "", None]),
    "b": (pa.uint64(), [0, 2**64 - 1, 2**63, 1, 64, 2, None]),
    "bin": (pa.binary(), [b"", b"\xff", b"\x00", b"1", b"a" * 99, b"%", None]),
    "y": (pa.int64(), [0, 2155, 1901, 2000, 1970, 2024, None]),
}
NASTY_INFO = catalog_from_sql(NASTY_TABLE).table("test", "w")
NASTY_ROWS = pa.RecordBatch.from_pydict(
    {"id": pa.array(range(7), pa.int64()), **{name: pa.array(values, kind) for name, (kind, values) in NASTY.items()}}
)
OF_ONE = [
    *("{0}", "-{0}", "- -{0}", "not {0}", "!{0}", "{0} is true", "{0} is not false", "{0} is null", "abs({0})"),
    *("ceil({0})", "floor({0})", "length({0}) > 1", "char_length({0})", "lower({0}) = 'a'", "upper({0}) <> 'A'"),
    *("trim({0}) = '1'", "ltrim({0}) = ''", "rtrim({0}) = ''", "trim(both '1' from {0}) = ''", "left({0}, 1) = '1'"),
    *("right({0}, 3) = '1'", "substr({0}, 2) = '1'", "substr({0}, -2, 9) = '1'", "concat({0}, 'x') = '1x'"),
    *("concat_ws(',', {0}, 'x') = '1,x'", "replace({0}, '1', '') = ''", "locate('1', {0})", "instr({0}, '1')"),
    *("cast({0} as signed) = 1", "cast({0} as unsigned) = 1", "cast({0} as char) = '1'", "cast({0} as double) > 1"),
    *("cast({0} as decimal(65,30)) > 1", "cast({0} as decimal(5,2)) = 1", "cast({0} as date) = '2024-02-29'"),
    *("cast({0} as binary) = 'a'", "{0} like '%1%'", "{0} like '_'", "{0} not like 'a%b%'", "{0} regexp '^[0-9]'"),
    *("if({0}, 1, 0)", "case when {0} then 1 else 0 end", "case {0} when 1 then 1 end", "{0} xor 1", "{0} and 1"),
    *("{0} or 0", "ifnull({0}, 1)", "coalesce(null, {0})", "nullif({0}, 1)", "{0} in (1, '2')", "{0} in (null, 1)"),
    *("{0} between 0 and 9", "{0} not between '0' and '9'", "year({0})", "month({0}) = 1", "day({0})", "hour({0})"),
    *("minute({0})", "second({0})", "quarter({0})", "dayofweek({0})", "weekday({0}) = 1", "dayofyear({0})"),
    *("date({0}) = '2024-02-29'", "date_format({0}, '%Y-%j %W %b %f') > ''", "json_extract({0}, '$.k')"),
    *("json_unquote({0}) = '1'", "json_extract({0}, '$[0][0]') > 0", "{0} collate utf8mb4_general_ci = 'a'"),
    *("{0} collate utf8mb4_bin like '%'", "{0} = null", "{0} <=> null", "{0} > x'31'", "{0} = 18446744073709551615"),
]
OF_TWO = [
    *("{0} + {1} > 1", "{0} - {1} = 1", "{0} * {1} <> 1", "{0} / {1} = 1", "{0} div {1} = 1", "{0} % {1} = 1"),
    *("{0} & {1}", "{0} | {1}", "{0} ^ {1}", "{0} << {1}", "{0} >> {1}", "{0} = {1}", "{0} < {1}", "{0} <=> {1}"),
    *("{0} xor {1}", "if({0}, {1}, {0}) = 1", "coalesce({0}, {1}) = 1", "concat({0}, {1}) = '1'"),
]
OTHERS = ("3", "1.5", "'1e400'", "n", "u", "t", "d", "f", "ts")


def attempted() -> Iterator[str]:
    """Each template over each third column, in turn: every column meets every kind of template."""
    for number, template in enumerate(OF_ONE):
        yield from (template.format(column) for column in list(NASTY)[number % 3 :: 3])
    for number, (template, other) in enumerate(itertools.product(OF_TWO, OTHERS)):
        yield from (template.format(column, other) for column in list(NASTY)[number % 5 :: 5])
    yield from ("'1e400' % 3", "cast('%s' as signed)" % ("9" * 5000), "- -9223372036854775808", "1 / 0", "1 + '²'")
    yield from (f"cast(n as decimal({digits}))" for digits in (65, 66, 77))


def judged(expression: TableExpression, image: Image, count: int) -> tuple[list[bool], InvalidValueError | None]:
    try:
        return expression.ignored(image, count).tolist(), None
    except InvalidValueError as fault:
        return [], fault


def test_only_errors_of_a_row_come_from_its_values() -> None:
    """Each expression over each row: the rows that are bad alone are those that are bad in a batch."""
    option, runs = "filter.event-filters[0].ignore-insert-value-expr", 0
    rows = [Image(NASTY_INFO, columns(NASTY_ROWS.slice(place, 1)), Rendering("UTC")) for place in range(7)]
    together = Image(NASTY_INFO, columns(NASTY_ROWS), Rendering("UTC"), pa.array(range(7)))
    for text in attempted():
        try:
            expression = TableExpression.of(text, NASTY_INFO, "UTC", option)
        except ConfigError:
            continue
        alone = [judged(expression, image, 1) for image in rows]
        runs += len(alone)
        bad = [place for place, (_, fault) in enumerate(alone) if fault is not None]
        assert all(fault is None or fault.row == {"id": place} for place, (_, fault) in enumerate(alone)), text
        found, error = judged(expression, together, 7)
        if error is not None:
            assert sorted(error.alike.places) == bad, text
            good = [place for place in range(7) if place not in bad]
            found, _ = judged(expression, together.take(pa.array(good, pa.int64())), len(good))
        assert found == [one for ones, _ in alone for one in ones], text
    assert runs > 700


def columns(rows: pa.RecordBatch) -> dict[str, pa.Array]:
    return dict(zip(rows.schema.names, rows.columns, strict=True))
