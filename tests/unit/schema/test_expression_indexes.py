"""Expression indexes: the type of the hidden column, and what is refused."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest

from ticdc_emit import Encoder
from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import BINARY_CHARSET, type_name

COLUMNS = """
    a int(10) not null, b int, n int not null, u int unsigned, bi bigint, ubi bigint unsigned, f float, db double,
    udb double unsigned, d decimal(10,3), d63 decimal(6,3), ud decimal(10,3) unsigned, bt bit(8), bt10 bit(10), ye year,
    s varchar(20), c char(20), t text, bl varbinary(9), bn binary(20), vb varbinary(20), lob blob, j json,
    l varchar(7) charset latin1, g varchar(5) collate utf8mb4_general_ci, e enum('x','y'), en enum('a','b','c'),
    st set('a','b','c'), dt datetime, dt2 datetime(2), tm time, tm3 time(3), da date, ts timestamp null,
    ts4 timestamp(4) null, id int auto_increment primary key, v vector(3)
"""
TYPES = [
    tuple(line.rsplit(" => ", 1))
    for line in (Path(__file__).parent / "expression_types.txt").read_text(encoding="utf-8").splitlines()
    if not line.startswith("#")
]


def table(*keys: str, columns: str = COLUMNS) -> TableInfo:
    catalog = Catalog()
    catalog.apply(f"create table t ({', '.join([columns, *keys])})")
    return catalog.table("test", "t")


def hidden(expression: str) -> Column:
    return table(f"key k (({expression}\n))").column("_V$_k_0")


def shown(column: Column) -> str:
    sign = " unsigned" if column.unsigned else ""
    null = "" if column.nullable else " not null"
    collate = "" if column.collate == BINARY_CHARSET else f" {column.collate}"
    return f"{type_name(column.type, column.charset)}({column.flen},{column.decimal}){sign}{null}{collate}"


@pytest.mark.parametrize(("expression", "expected"), TYPES, ids=[expression for expression, _ in TYPES])
def test_the_hidden_column_has_the_type_that_tidb_gives_it(expression: str, expected: str) -> None:
    column = hidden(expression)
    assert shown(column) == expected
    assert (column.hidden, column.is_virtual) == (True, True)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("b", "a bare column is not allowed"),
        ("(`b`)", "a bare column is not allowed"),
        ("x + 1", "has no column 'x'"),
        ("id + 1", "auto-increment column 'id'"),
        ("null", "it is NULL"),
        ("j", "a bare column"),
        ("j->'$.a'", "cannot index a JSON value"),
        ("j->>'$.a'", "cannot index a BLOB or TEXT value"),
        ("repeat(s, 3)", "the result type of REPEAT() is not known"),
        ("b + interval 1 day", "the result type of DATE_ADD() is not known"),
        ("case when b then a else n end", "CASE in it has more than one value"),
        ("case when b then null end", "CASE in it has more than one value, or none"),
        ("case when 1 then a end", "a condition in it is constant"),
        ("cast(s as signed array)", "takes JSON"),
        ("cast(j as char array)", "needs a length"),
        ("cast(j as decimal(3,1) array)", "no multi-valued index"),
        ("cast(s as decimal(70,2))", "not valid"),
        ("cast(s as datetime(7))", "fractional digits"),
        ("cast(s as char(5) charset gbk)", "leaves the collation open"),
        ("lower(cast(s as char(5) charset gbk))", "leaves the collation open"),
        ("s collate latin1_bin", "not valid for character set"),
        ("e collate utf8mb4_bin", "COLLATE of an ENUM"),
        ("v", "a bare column"),
        ("v + 1", "is a vector"),
        ("now()", "cannot call NOW()"),
        ("unix_timestamp(dt)", "cannot call UNIX_TIMESTAMP()"),
        ("current_timestamp", "cannot call CURRENT_TIMESTAMP()"),
        ("rand()", "cannot call RAND()"),
        ("no_such_function(b)", "the result type of NO_SUCH_FUNCTION() is not known"),
        ("lower()", "does not take 0 arguments"),
        ("(select 1)", "a subquery is not allowed in it"),
        ("(b, a) = (1, 2)", "a row of values is not allowed in it"),
        ("max(b)", "an aggregate is not allowed in it"),
        ("_latin1 x'41' > s", "an introducer before a hex or bit literal"),
        ("b = @x", "a variable is not allowed in it"),
        ("b + null", "arithmetic with NULL"),
        ("1 / 0", "NULL is known only to TiDB"),
        ("d + (1 + 1)", "only TiDB computes"),
        ("n < 1e9", "an integer compared with a constant of another type"),
        ("'1' = n", "an integer compared with a constant of another type"),
        ("+".join(["b"] * 60_000), "it is too long"),
    ],
)
def test_what_is_not_known_is_refused_by_name(expression: str, reason: str) -> None:
    with pytest.raises(DdlError, match="expression index on") as refused:
        hidden(expression)
    assert reason in str(refused.value)
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("b +", "expected a column, a literal or a function"),
        ("b 1", "expected '\\)', found '1'"),
        ("s collate utf8mb4_nonsense", "unknown collation"),
        ("1e999 + b", "too big"),
        ("(" * 200 + "b" + ")" * 200 + " + 1", "nested too deeply"),
    ],
)
def test_what_is_no_expression_is_refused_with_its_place(expression: str, reason: str) -> None:
    with pytest.raises(DdlError, match=reason) as refused:
        hidden(expression)
    assert refused.value.position > 0


def test_a_refusal_names_table_index_and_expression_and_says_what_to_do() -> None:
    with pytest.raises(DdlError) as refused:
        hidden("soundex(s)")
    error = refused.value
    assert (error.table, error.index) == ("test.t", "k")
    assert "'soundex(s)'" in error.message
    assert error.remedy == "Index a generated column of a declared type instead"


def test_a_primary_key_makes_its_columns_not_null_before_any_expression_is_typed() -> None:
    info = table("key k ((x + 1))", "primary key (x)", columns="x int")
    assert not info.column("_V$_k_0").nullable


def test_nested_ranges_are_typed_once_each() -> None:
    expression = "b"
    for _ in range(25):
        expression = f"({expression} between 0 and 1)"
    assert shown(hidden(expression)) == "bigint(1,0)"


def test_an_added_expression_index_is_typed_by_the_columns_of_that_moment() -> None:
    catalog = Catalog()
    catalog.apply("create table t (a int)")
    catalog.apply("alter table t modify a bigint not null, add key k ((a + 1))")
    catalog.apply("alter table t modify a int")
    assert shown(catalog.table("test", "t").column("_V$_k_0")) == "bigint(20,0) not null"


def test_words_after_collate_and_character_set_are_no_columns() -> None:
    generated = (
        "x varchar(9) as (upper(s collate utf8mb4_general_ci)), "
        "y varchar(9) as (cast(s as char(5) character set utf8mb4) collate utf8mb4_bin), "
        "z varchar(9) as (convert(s using gbk)), w int as (1 member of (j))"
    )
    info = table(generated)
    assert info.column("x").generated_expr == "upper(`s` collate utf8mb4_general_ci)"
    assert info.column("y").generated_expr == "cast(`s` as char(5)) collate utf8mb4_bin"
    assert info.column("z").generated_expr == "convert(`s` using 'gbk')"
    assert info.column("w").generated_expr == "1 member of (`j`)"


@pytest.mark.parametrize(
    ("column", "length"),
    [("int not null", 12), ("int", 12), ("int unsigned", 11), ("int(5)", 6), ("bigint not null", 21), ("tinyint", 5)],
)
def test_a_ddl_of_simple_shows_the_length_of_the_hidden_column(column: str, length: int) -> None:
    """``unaryMinusFunctionClass`` of pkg/expression adds one to the length of its argument."""
    encoder = Encoder("memory://t/?protocol=simple")
    message, *_ = encoder.ddl(f"create table test.t (id int primary key, a {column}, key ke ((-a)))", 1 << 40)["value"]
    shown = {each["name"]: each["dataType"] for each in json.loads(message.as_py())["tableSchema"]["columns"]}
    assert shown["_V$_ke_0"]["length"] == length
