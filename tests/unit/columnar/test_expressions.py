"""Columns of rows as operands, and values that are assigned to columns."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ticdc_emit.columnar.assignment import assign
from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import Reference, parse_call_tree
from ticdc_emit.sql.evaluation.comparisons import truth
from ticdc_emit.sql.evaluation.values import EvaluationError, NotExactError, Value
from ticdc_emit.sql.expressions import evaluate

UTC = Rendering("UTC")


def table(columns: str) -> TableInfo:
    return catalog_from_sql(f"create table t ({columns})").table("test", "t")


def columns_of(info: TableInfo, rows: dict[str, pa.Array], count: int) -> ColumnValues:
    def held(column: Column) -> pa.Array | None:
        return None if column.generated else accept(column, rows[column.name], UTC)

    return ColumnValues(info, held, count, UTC)


def constant_value(text: str) -> Value:
    return evaluate(parse_call_tree(text), lambda reference: pytest.fail(f"{reference} is not a constant"))


def test_an_update_of_rows_in_memory() -> None:
    """UPDATE t SET a = a + 1, name = concat(name, '!') WHERE total > 5."""
    info = table("id int primary key, a int, b int, name varchar(5), total int as (a + b) virtual")
    rows = {
        "id": pa.array([1, 2, 3]),
        "a": pa.array([1, 5, None]),
        "b": pa.array([4, 4, 4]),
        "name": pa.array(["x", "y", "z"]),
    }
    columns = columns_of(info, rows, 3)

    def named(reference: Reference) -> Value:
        return columns.value(info.column(reference.name))

    assert truth(evaluate(parse_call_tree("total > 5"), named)).to_pylist() == [False, True, None]
    sets = {"a": "a + 1", "name": "concat(name, '!')"}
    found = {
        name: assign(info.column(name), evaluate(parse_call_tree(text), named), 3, UTC).to_pylist()
        for name, text in sets.items()
    }
    assert found == {"a": [2, 6, None], "name": ["x!", "y!", "z!"]}


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (f"d = '{'9' * 35}.{'9' * 30}'", [False, True]),
        (f"d < ' {'9' * 35}.{'9' * 30} '", [True, False]),
        ("d > '.5'", [True, True]),
    ],
)
def test_decimals_are_compared_exactly_with_texts(condition: str, expected: list[bool]) -> None:
    info = table("d decimal(65,30)")
    numbers = pa.array([f"{'9' * 35}.{'9' * 29}8", f"{'9' * 35}.{'9' * 30}"])
    columns = columns_of(info, {"d": numbers}, 2)
    assert truth(evaluate(parse_call_tree(condition), columns.resolve)).to_pylist() == expected
    with pytest.raises(NotExactError, match="exponent"):
        evaluate(parse_call_tree("d = '1e3'"), columns.resolve)
    with pytest.raises(EvaluationError, match="Truncated"):
        evaluate(parse_call_tree("d = 'one'"), columns.resolve)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("round(2.5)", "3"),
        ("round(-1.5)", "-2"),
        ("round(1.25, 1)", "1.3"),
        ("truncate(-1.29, 1)", "-1.2"),
        ("floor(-1.5)", "-2"),
        ("sign(-0.1)", "-1"),
        ("reverse('äbc')", "cbä"),
        ("repeat('ab', 3)", "ababab"),
        ("repeat('ab', -1)", ""),
        ("lpad(7, 3, '0')", "007"),
        ("lpad('abcd', 2, 'x')", "ab"),
        ("lpad('a', 3, '')", None),
        ("rpad('a', 4, 'xyz')", "axyz"),
        ("substring_index('a.b.c', '.', 2)", "a.b"),
        ("substring_index('a.b.c', '.', -1)", "c"),
        ("substring_index('a.b.c', '.', -5)", "a.b.c"),
        ("insert('Quadratic', 3, 4, 'What')", "QuWhattic"),
        ("insert('Quadratic', 3, 100, 'What')", "QuWhat"),
        ("insert('Quadratic', -1, 4, 'What')", "Quadratic"),
        ("find_in_set('b', 'a,b,c')", "2"),
        ("find_in_set('', '')", "0"),
        ("hex(255)", "FF"),
        ("hex('äb')", "C3A462"),
        ("cast(unhex('C3A4') as char)", None),
        ("md5('abc')", "900150983cd24fb0d6963f7d28e17f72"),
        ("sha1('abc')", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("format(1234567.891, 2)", "1,234,567.89"),
        ("format(-999.5, 0)", "-1,000"),
        ("date_add('2024-01-31', interval 1 month)", "2024-02-29"),
        ("date_sub('2024-03-31', interval 1 month)", "2024-02-29"),
        ("date '2024-01-01' + interval 36 hour", "2024-01-02 12:00:00"),
        ("timestamp '2024-01-01 00:00:00.5' - interval 1 second", "2023-12-31 23:59:59.5"),
        ("subdate('2024-01-01', 1)", "2023-12-31"),
        ("datediff('2024-03-01', '2024-02-28 23:00:00')", "2"),
        ("timestampdiff(month, '2024-01-31', '2024-02-29')", "0"),
        ("timestampdiff(year, '2024-03-01', '2020-03-02')", "-3"),
        ("timestampdiff(hour, '2024-01-01', '2024-01-03')", "48"),
        ("last_day('2023-02-10')", "2023-02-28"),
        ("str_to_date('05/06/2024', '%d/%m/%Y')", "2024-06-05"),
        ("str_to_date('2024-6-5 7:08:09', '%Y-%m-%d %H:%i:%s')", "2024-06-05 07:08:09"),
        ("time_to_sec(addtime(time '-00:00:30', '01:00:00'))", "3570"),
        ("time_to_sec(subtime(time '00:30:00', '01:00:00'))", "-1800"),
        ("json_object('b', 1, 'a', json_array(true, null, 'x', 1.5e0))", '{"a": [true, null, "x", 1.5], "b": 1}'),
        ("cast('1.239' as decimal(5,2))", "1.24"),
    ],
)
def test_functions(text: str, expected: str | None) -> None:
    if "unhex" in text:
        with pytest.raises(NotExactError):
            constant_value(text)
        return
    item = constant_value(text).data.as_py()
    assert (item if item is None else str(item)) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("json_remove(j, '$.a')", '{"b": [1, 2.5]}'),
        ("json_remove(j, '$.b[0]', '$.c')", '{"a": 1, "b": [2.5]}'),
        ("json_set(j, '$.a', 'x', '$.c', null)", '{"a": "x", "b": [1, 2.5], "c": null}'),
        ("json_insert(j, '$.a', 2, '$.c', 3)", '{"a": 1, "b": [1, 2.5], "c": 3}'),
        ("json_replace(j, '$.a', 2, '$.c', 3)", '{"a": 2, "b": [1, 2.5]}'),
    ],
)
def test_json_functions(text: str, expected: str) -> None:
    info = table("id int primary key, j json")
    rows = {"id": pa.array([1, 2]), "j": pa.array(['{"a": 1, "b": [1, 2.50]}', None])}
    columns = columns_of(info, rows, 2)
    assert evaluate(parse_call_tree(text), columns.resolve).data.to_pylist() == [expected, None]


@pytest.mark.parametrize(
    "text",
    [
        "date_add('9999-12-31', interval 1 day)",
        "date_add('2024-01-01', interval 1 day_hour)",
        "json_object('a', 1.5)",
        "str_to_date('x', '%Y-%m-%d')",
        "str_to_date('2024', '%Y')",
        "find_in_set('A', 'a' collate utf8mb4_general_ci)",
        "format(1.5e0, 1)",
    ],
)
def test_what_is_not_exact_is_refused(text: str) -> None:
    with pytest.raises(NotExactError):
        constant_value(text)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("int", "1 = 1", 1),
        ("int", "2.5", 3),
        ("int", "null", None),
        ("decimal(4,1)", "1.25", "1.3"),
        ("varchar(9)", "7", "7"),
        ("varbinary(9)", "'ab'", b"ab"),
        ("date", "date('2024-01-02')", "2024-01-02"),
        ("double", "cast('1.5' as double)", 1.5),
    ],
)
def test_a_value_is_converted_to_its_column(kind: str, text: str, expected: object) -> None:
    column = table(f"id int primary key, c {kind}").column("c")
    values = assign(column, constant_value(text), 2, UTC).to_pylist()
    assert [str(each) if isinstance(expected, str) else each for each in values] == [expected, expected]


@pytest.mark.parametrize(("kind", "text"), [("tinyint", "128"), ("int unsigned", "-1"), ("char(1)", "'ab'")])
def test_what_a_column_cannot_hold_is_refused(kind: str, text: str) -> None:
    column = table(f"id int primary key, c {kind}").column("c")
    with pytest.raises(EvaluationError):
        assign(column, constant_value(text), 1, UTC)


def test_a_conversion_that_is_not_known_is_refused() -> None:
    column = table("id int primary key, c int").column("c")
    with pytest.raises(NotExactError, match="a time in a column of LONG"):
        assign(column, constant_value("time '10:00:00'"), 1, UTC)


def test_int_plus_int_beyond_int_is_refused() -> None:
    info = table("id int primary key, a int, b int, c int as (a + b) stored")
    rows = {"id": pa.array([1]), "a": pa.array([(1 << 31) - 1]), "b": pa.array([1])}
    with pytest.raises(EvaluationError, match="2147483648"):
        columns_of(info, rows, 1).accepted(info.column("c"))
