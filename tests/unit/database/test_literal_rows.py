"""INSERT of literals: rows that are read and converted by column are the rows that are read value by value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticdc_emit.database.session import DEFAULT_SQL_MODE, Session
from ticdc_emit.database.tables import Database
from ticdc_emit.errors import TicdcEmitError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.sql import nodes
from ticdc_emit.sql.script import parse_change

TYPES = (
    *("tinyint", "smallint unsigned", "int", "bigint", "bigint unsigned", "decimal(5,2)", "decimal(20,0) unsigned"),
    *("float", "double", "bit(9)", "year", "date", "datetime", "datetime(3)", "timestamp", "time(2)", "char(3)"),
    *("varchar(4)", "varchar(4) charset latin1", "binary(3)", "varbinary(4)", "tinytext", "blob", "json"),
    *("enum('a','B','3')", "set('a','b')", "int not null default 7", "varchar(3) not null", "date not null"),
)
LITERALS = (
    *("NULL", "null", "TRUE", "false", "0", "-0", "00", "007", "1", "-1", "127", "128", "-129", "2020", "20240229"),
    *("9223372036854775807", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1.5", "-0.0"),
    *("-2.555", "0.005", "999.995", "1e3", "-1E-2", "2.5e0", "1e40"),
    *("0x41", "0X4", "x'4142'", "X''", "x'ff'", "0xffff"),
    *("'a'", "'B '", "''", "'abcd'", "'abcde'", "'it''s'", r"'a\'b'", r"'\\'", r"'\n'", "'é'", "'日'", "'1'", "' 12 '"),
    *("'1.5'", "'12abc'", "'-5'", "'2024-02-29'", "'2023-02-29'", "'0000-00-00'", "'2024-01-02 03:04:05.6789'"),
    *("'12:30:00.5'", "'[1, {\"a\": null}]'", "'{'", "'a,b'", "'(1),(2)'", "' '", "'--'", "'/*'"),
)
SLOW = ("now()", "default", "1 + 1", "'a' 'b'", "_utf8mb4'a'", "(1)", "- 1", "+1", '"a"', ".5", "b'1'", "1 /* x */")


def outcome(script: str, columns: list[str], *, joins: bool, **options: Any) -> Any:
    schema = f"create table t ({', '.join(f'c{place} {kind}' for place, kind in enumerate(columns))})"
    on = Session(Database(catalog_from_sql(schema), "UTC"), **options)
    parse = parse_change if joins else lambda text, mode, **_: parse_change(text, mode)
    with patch("ticdc_emit.database.session.parse_change", parse):
        try:
            results = on.execute(script)
        except TicdcEmitError as error:
            return type(error), error.message, error.context
    return on.database.tables["test", "t"], [each.affected_rows for each in results]


@st.composite
def inserts(draw: st.DrawFn) -> tuple[str, list[str]]:
    columns = draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=4))
    usual = draw(st.lists(st.sampled_from(LITERALS), min_size=1, max_size=6))
    value = st.sampled_from([*usual, *usual, draw(st.sampled_from((*LITERALS, *SLOW)))])
    width = st.sampled_from([*[len(columns)] * 30, len(columns) + 1])
    rows = [[draw(value) for _ in range(draw(width))] for _ in range(draw(st.integers(1, 5)))]
    comma, gap = draw(st.sampled_from([(",", ""), (", ", " "), (" ,\n ", "\t")])), draw(st.sampled_from(["", " "]))
    word = draw(st.sampled_from(["INSERT INTO", "insert ignore", "REPLACE"]))
    values = comma[0].join(f"({gap}{comma[0].join(row)}{gap})" for row in rows)
    return f"{word} t VALUES{comma[1]}{values}", columns


@given(inserts(), st.sampled_from([DEFAULT_SQL_MODE, "", "NO_BACKSLASH_ESCAPES,STRICT_TRANS_TABLES", "ANSI_QUOTES"]))
def test_rows_by_column_are_the_rows_value_by_value(insert: tuple[str, list[str]], mode: str) -> None:
    script, columns = insert
    fast, slow = (outcome(script, columns, joins=joins, sql_mode=mode) for joins in (True, False))
    assert fast == slow


def kinds(statement: str) -> Iterator[str]:
    insert = parse_change(statement, joins_rows=True)
    for row in insert.rows:
        yield f"{len(row.columns[0])} joined" if isinstance(row, nodes.LiteralRows) else "nodes"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ("(1, 'a'), (2, NULL),(0x1, 1e3)", ["3 joined"]),
        ("(1, 'a'), (2, now()), (3, 'b'), (4, 'c')", ["1 joined", "nodes", "2 joined"]),
        ("(1, f((2), (3))), (4, 5)", ["nodes", "1 joined"]),
        ("(1, 2), (3), (4, 5)", ["1 joined", "1 joined", "1 joined"]),
        ("(1, default), (2, 'it''s; (3, 4)')", ["nodes", "1 joined"]),
        ("(1, 2) on duplicate key update b = values(b)", ["1 joined"]),
        ("()", ["nodes"]),
    ],
)
def test_only_rows_that_are_not_literals_have_nodes(values: str, expected: list[str]) -> None:
    assert list(kinds(f"insert into t values {values}")) == expected


@pytest.mark.parametrize("values", ["(1, 2) (3, 4)", "(1, 2),", ",(1, 2)", "(1 2)", "(1,, 2)", "(1, 2", "(x'1')"])
def test_wrong_syntax_stays_wrong(values: str) -> None:
    with pytest.raises(TicdcEmitError) as slow:
        parse_change(f"insert into t values {values}")
    with pytest.raises(TicdcEmitError) as fast:
        parse_change(f"insert into t values {values}", joins_rows=True)
    assert fast.value.context["position"] <= slow.value.context["position"] + 1
