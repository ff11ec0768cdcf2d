"""Words, strings, comments and names as TiDB reads them."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.sql.lexer import decode_quoted, scan, sql_mode_of
from ticdc_emit.sql.script import parse_ddl, split_statements


def columns(sql: str) -> list[str]:
    catalog = Catalog()
    (event,) = catalog.apply(sql)
    assert event.table_info is not None
    return [column.name for column in event.table_info]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("a /*T! b */ c", ["a", "b", "c"]),
        ("a /*T![clustered_index] b */ c", ["a", "b", "c"]),
        ("a /*!40101 b */ c", ["a", "b", "c"]),
        ("a /*! b */ c", ["a", "b", "c"]),
        ("'/*! b */' /* /*! */ c", ["'/*! b */'", "c"]),
        ("`/*!` -- /*! */ \n c", ["`/*!`", "c"]),
    ],
)
def test_executable_comments_hold_code_at_its_place(sql: str, expected: list[str]) -> None:
    assert [sql[token.start : token.end] for token in scan(sql, sql_mode_of(""))[:-1]] == expected


def test_a_comment_for_an_unknown_feature_stays_a_comment() -> None:
    assert columns("create table t (a int /*T![warp_drive] , b int */)") == ["a"]
    assert columns("create table t (a int /*T![ttl,clustered_index] , b int */)") == ["a", "b"]


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("'it''s'", "it's"),
        (r"'\'\"\\\n\t\r\0\Z\b'", "'\"\\\n\t\r\0\x1a\b"),
        (r"'\%\_\q'", r"\%\_q"),
        ('"a""b\'c"', "a\"b'c"),
        ("`a``b\\`", "a`b\\"),
        (r"'\''''", "''"),
    ],
)
def test_decode_quoted(raw: str, value: str) -> None:
    assert decode_quoted(raw) == value


def test_names_in_any_dress() -> None:
    sql = "CREATE table `t``\"1` (`a``b` int, `select` int, 列 int, 1st int, `x y` int, _u int, a$b int, `'` int)"
    assert columns(sql) == ["a`b", "select", "列", "1st", "x y", "_u", "a$b", "'"]


def test_most_keywords_are_names() -> None:
    words = (
        *("date", "time", "timestamp", "year", "text", "json", "comment", "status", "begin", "end", "format", "type"),
        *("value", "offset", "position", "enum", "vector", "bit", "bool", "datetime", "first", "after", "signed"),
        *("local", "serial", "action", "names", "data", "user", "hash", "columnar", "clustered", "start", "no"),
        *("visible", "fixed", "nchar", "national", "global", "ttl", "mode", "session", "escape", "separator"),
    )
    assert columns("create table t (" + ", ".join(f"{word} int" for word in words) + ")") == list(words)


@pytest.mark.parametrize("word", ["select", "key", "index", "partition", "order", "rank", "TABLE"])
def test_reserved_words_need_quotes(word: str) -> None:
    with pytest.raises(DdlError):
        parse_ddl(f"create table t ({word} int)")
    assert columns(f"create table t (`{word}` int)") == [word]


def test_comments_spaces_and_case_do_not_matter() -> None:
    sql = "cReAtE/**/TABLE -- it's\n  test . t # \"x\n(\n\ta\tINT/* ' */NOT\nNULL\n)\n;\n"
    assert columns(sql) == ["a"]


def test_split_statements() -> None:
    script = "use a; -- x;\n create table t (a int comment ';');; /* ; */ drop table `;`"
    assert split_statements(script) == ["use a", "-- x;\n create table t (a int comment ';')", "/* ; */ drop table `;`"]


@pytest.mark.parametrize(
    ("sql", "position"),
    [
        ("create table t (a foo)", 18),
        ("create table t (a int) engine innodb nonsense", 37),
        ("alter table t add column a int sideways", 31),
        ("create table t (a int", 18),
        ("select 1", 0),
        ("", 0),
        ("create table t (a varchar(3) default 'x", 37),
        ("create table t (a int) /* never closed", 23),
        ("drop table a; drop table b", 0),
        ("drop hypo table a", 5),
        ("create table t (a int) partition by range (a)", 44),
    ],
)
def test_what_is_not_understood_is_an_error_with_statement_and_position(sql: str, position: int) -> None:
    with pytest.raises(DdlError) as caught:
        parse_ddl(sql)
    assert caught.value.statement == sql
    assert caught.value.position == position
