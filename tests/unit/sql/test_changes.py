"""Statements that are not DDL: what is read, and where it fails."""

from __future__ import annotations

import re

import pytest

from ticdc_emit.errors import DdlError
from ticdc_emit.sql import nodes
from ticdc_emit.sql.script import parse_change

TEXTS = [
    ("insert into t values (1, default), (2, default(a))", "INSERT INTO `t` VALUES (1,DEFAULT),(2,DEFAULT(`a`))"),
    ("insert t (a, b) value (1, 2);", "INSERT INTO `t` (`a`,`b`) VALUES (1,2)"),
    ("insert into s.t () values ()", "INSERT INTO `s`.`t` () VALUES ()"),
    (
        "insert low_priority ignore into t set a = 1, t.b := 2",
        "INSERT LOW_PRIORITY IGNORE INTO `t` SET `a`=1,`t`.`b`=2",
    ),
    ("replace t partition (p) values (1)", "REPLACE INTO `t` PARTITION(`p`) VALUES (1)"),
    ("insert into t select * from u", "INSERT INTO `t` SELECT * FROM `u`"),
    ("insert into t (a) (select 1)", "INSERT INTO `t` (`a`) (SELECT 1)"),
    ("insert into t values row(1), row(2)", "INSERT INTO `t` VALUES ROW(1), ROW(2)"),
    (
        "insert into t values (1) on duplicate key update a = values(a)",
        "INSERT INTO `t` VALUES (1) ON DUPLICATE KEY UPDATE `a`=VALUES(`a`)",
    ),
    ("/*!40101 insert into t values (1) */", "INSERT INTO `t` VALUES (1)"),
    ("update /*+ QUICK(9) */ t set a = 1", "UPDATE `t` SET `a`=1"),  # hints change no row
    ("update t as u set u.a = 1 where a = 2", "UPDATE `t` AS `u` SET `u`.`a`=1 WHERE `a`=2"),
    ("update t set a = 1 order by a desc limit 2", "UPDATE `t` SET `a`=1 ORDER BY `a` DESC LIMIT 2"),
    ("update t, u set t.a = u.a", "UPDATE `t`, `u` SET `t`.`a`=`u`.`a`"),
    ("delete quick from t where a is null", "DELETE QUICK FROM `t` WHERE `a` IS NULL"),
    ("begin", "START TRANSACTION"),
    ("begin pessimistic", "BEGIN PESSIMISTIC"),
    ("start transaction read only", "START TRANSACTION READ ONLY"),
    ("commit", "COMMIT"),
    ("rollback to savepoint s", "ROLLBACK TO s"),
    ("release savepoint s", "RELEASE SAVEPOINT s"),
    ("set @a = 1, session b = on", "SET @`a` := 1, @@SESSION.b=ON"),
    ("set @@global.c = default", "SET GLOBAL `c`=DEFAULT"),
    ("select 1", "SELECT 1"),
]


@pytest.mark.parametrize(("text", "canonical"), TEXTS)
def test_a_statement_is_read_as_its_canonical_text(text: str, canonical: str) -> None:
    read, again = (re.sub(r"(start|end)=\d+", "", repr(parse_change(each))) for each in (text, canonical))
    assert read == again


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("insert into t", "expected SELECT"),
        ("insert into t values 1", "expected '\\('"),
        ("update t set a", "expected ="),
        ("update t set a = 1 where", "expected"),
        ("delete t", "expected FROM"),
        ("commit; begin", "expected one statement, found 2"),
        ("drop table t", "expected INSERT"),
        ("set a", "expected ="),
        ("insert into t values (" + "(" * 500 + "1" + ")" * 500 + ")", "nested too deeply"),
    ],
)
def test_what_is_not_a_statement_has_a_cause(text: str, cause: str) -> None:
    with pytest.raises(DdlError, match=cause):
        parse_change(text)


def test_backslashes_and_quotes_follow_the_sql_mode() -> None:
    plain = parse_change(r"""insert into t values ('a\'b', "c")""")
    assert isinstance(plain, nodes.Insert)
    assert [each.value for each in plain.rows[0] if isinstance(each, nodes.Constant)] == ["a'b", "c"]
    ansi = parse_change(r"""insert into "t" values ('a\')""", "ANSI_QUOTES,NO_BACKSLASH_ESCAPES")
    assert isinstance(ansi, nodes.Insert)
    assert (ansi.table.name, ansi.rows[0][0]) == ("t", nodes.Constant("string", "a\\", "utf8mb4"))
