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
