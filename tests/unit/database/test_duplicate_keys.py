"""INSERT IGNORE and ON DUPLICATE KEY UPDATE: which rows are there, how many are affected, and TiDB's errors."""

from __future__ import annotations

from typing import Any

import pytest
from sql_sessions import rows_of, session_of

from ticdc_emit.database.session import Session
from ticdc_emit.errors import StatementError, UnsupportedStatementError

SCHEMA = """
create table test.t (id int primary key auto_increment, name varchar(5) not null unique, n int default 3);
create table test.two (a int, b int, v int, unique u (b), primary key (a) nonclustered);
create table test.g (id int primary key, a int, twice int as (a * 2) stored, up int as (a + 1) virtual,
  at datetime default current_timestamp on update current_timestamp, unique k (twice));
create table test.kinds (a tinyint unsigned not null primary key, v varchar(3) not null, d decimal(4, 1), at datetime,
  e enum('x', 'y') not null, f double, raw varbinary(2), day date not null, i int, t text, s set('p', 'q') not null);
create table test.parents (id int primary key);
create table test.children (id int primary key, parent int, foreign key (parent) references test.parents (id)
  on update cascade);
create table test.tree (id int primary key, parent int, foreign key (parent) references test.tree (id));
create table test.halves (a int primary key, v int) partition by hash (a) partitions 2;
"""
T = "insert into t values (1, 'a', 1), (2, 'b', 2); "
G = "insert into g (id, a) values (1, 1), (2, 2); "
UPDATE = " on duplicate key update "


@pytest.fixture
def on() -> Session:
    return session_of(SCHEMA)


@pytest.mark.parametrize(
    ("script", "affected", "left"),
    [
        (T + "insert into t values (1, 'x', 5)" + UPDATE + "n = n + values(n)", 2, "1 a 6, 2 b 2"),
        (T + "insert into t values (1, 'x', 5)" + UPDATE + "n = t.n", 0, "1 a 1, 2 b 2"),
        (T + "insert into t values (9, 'b', 5)" + UPDATE + "n = values(n), name = concat('c', n)", 2, "1 a 1, 2 c5 5"),
        (T + "insert into t values (1, 'b', 5)" + UPDATE + "n = 7", 2, "1 a 7, 2 b 2"),
        (T + "insert into t values (1, 'b', 5)" + UPDATE + "id = 9", 2, "2 b 2, 9 a 1"),
        (T + "insert into t values (1, 'b', 5)" + UPDATE + "n = default, name = 'z'", 2, "1 z 3, 2 b 2"),
        (T + "insert into t values (3, 'c', 1), (3, 'd', 2), (4, 'c', 5)" + UPDATE + "n = n + 10", 5,
         "1 a 1, 2 b 2, 3 c 21"),
        (T + "insert into t (name) values ('c'), ('a'), ('d')" + UPDATE + "n = 0", 4, "1 a 0, 2 b 2, 3 c 3, 5 d 3"),
        ("insert into two values (1, 1, 0), (2, 2, 0); insert into two values (1, 2, 5)" + UPDATE + "v = values(v)", 2,
         "1 1 0, 2 2 5"),
        (G + "insert into g (id, a) values (9, 1)" + UPDATE + "a = twice + 5", 2,
         "1 7 14 2024-01-01 00:00:01, 2 2 4 2024-01-01 00:00:00"),
        (G + "insert into g (id, a) values (1, 5)" + UPDATE + "a = a, at = at", 0,
         "1 1 2 2024-01-01 00:00:00, 2 2 4 2024-01-01 00:00:00"),
        (T + "insert ignore into t values (1, 'x', 1), (3, 'b', 1), (4, 'c', 1), (5, 'c', 2)", 1,
         "1 a 1, 2 b 2, 4 c 1"),
        (T + "insert ignore into t (name) values ('a'), ('c')", 1, "1 a 1, 2 b 2, 4 c 3"),
        (T + "insert ignore into t (name) values (null); insert ignore into t (n) values (1)", 0,
         "1 a 1, 2 b 2, 3  3"),
        ("insert ignore into t set name = 'too long', n = 99999999999", 1, "1 too l 2147483647"),
        ("insert ignore into kinds values (300, 'abcd', 99999, 'abc', 'q', '1.5x', 'abc', '2024-02-30', '12.5abc', 1,"
         " 'z')", 1, "255 abc 999.9 0000-00-00 00:00:00  1.5 YWI= 0000-00-00 13 1 "),
        ("insert ignore into kinds (a, e, d) values ('-7x', null, '-1234.56y')", 1,
         "0  -999.9 NULL  NULL NULL 0000-00-00 NULL NULL "),
        ("insert ignore into kinds (a, at) values (1, '2024-00-10')", 1,
         "1  NULL 0000-00-00 00:00:00 x NULL NULL 0000-00-00 NULL NULL "),
        ("insert into parents values (1); insert ignore into children values (1, 1), (2, 2), (3, null)", 2,
         "1 1, 3 NULL"),
        ("insert ignore into tree values (1, null), (2, 2), (3, 1)", 1, "1 NULL"),
        ("insert into halves values (1, 1); insert into halves values (1, 5), (2, 6)" + UPDATE + "v = values(v)", 3,
         "1 5, 2 6"),
    ],
)  # fmt: skip
def test_rows_meet_keys_as_in_tidb(on: Session, script: str, affected: int, left: str) -> None:
    last = on.execute(script)[-1]
    table = last.statement.split(" into ")[1].split()[0]
    shown = ", ".join(
        " ".join("NULL" if text is None else text for text in row) for row in sorted(rows_of(on, table), key=str)
    )
    assert (last.affected_rows, shown) == (affected, left)


@pytest.mark.parametrize(
    ("statement", "last_id"),
    [
        ("insert into t (name) values ('a')" + UPDATE + "n = 9", None),
        ("insert into t (name) values ('c'), ('a')" + UPDATE + "n = 9", 3),
        ("insert into t (name) values ('b')" + UPDATE + "id = last_insert_id(id), n = 9", 2),
        ("insert ignore into t (name) values ('a')", None),
        ("insert ignore into t (name) values ('a'), ('c')", 3),
    ],
)
def test_last_insert_id_is_that_of_an_added_row_or_given(on: Session, statement: str, last_id: int | None) -> None:
    on.execute(T)
    assert on.execute(statement)[0].last_insert_id == last_id
    (added,) = on.execute("insert into t (name) values ('z')")
    assert added.last_insert_id == 3 + statement.count("('")  # the numbers of rows that were not added are used up


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("insert into t values (1, 'x', 1)" + UPDATE + "name = 'b'", 1062),
        ("insert into t values (3, 'c', 1), (1, 'x', 1)" + UPDATE + "name = null", 1048),
        ("insert into t values (1, 'x', 1)" + UPDATE + "n = 99999999999", 1690),
        ("insert into t values (1, 'x', 1)" + UPDATE + "name = 'too long'", 1406),
        ("insert into t values (1, 'x', 1)" + UPDATE + "m = 1", 1054),
        ("insert into t values (1, 'x', 1)" + UPDATE + "n = values(m)", 1054),
        ("insert into g (id, a) values (1, 5)" + UPDATE + "twice = 1", 3105),
        ("insert into children values (1, 1)" + UPDATE + "parent = 7", 1452),
        ("insert ignore into t values (1)", 1136),
        ("insert ignore into t (m) values (1)", 1054),
        ("insert into g (id, a) values (1, 5)" + UPDATE + "a = up", "the virtual column up"),
        ("insert into halves values (1, 1)" + UPDATE + "a = 2", "partition"),
        ("insert ignore into g (id, twice) values (3, 1)", 3105),
    ],
)
def test_what_fails_changes_nothing(on: Session, statement: str, error: Any) -> None:
    on.execute(
        T + G + "insert into parents values (1); insert into children values (1, 1); insert into halves values (1, 1)"
    )
    before = {table: rows_of(on, table) for _, table in on.database.tables}
    with pytest.raises((StatementError, UnsupportedStatementError)) as caught:
        on.execute(statement)
    assert error in (getattr(caught.value, "number", None), error if str(error) in caught.value.message else "")
    assert {table: rows_of(on, table) for _, table in on.database.tables} == before


def test_a_changed_key_of_the_parent_cascades(on: Session) -> None:
    on.execute("insert into parents values (1); insert into children values (1, 1)")
    on.execute("insert into parents values (1)" + UPDATE + "id = 5")
    assert (rows_of(on, "parents"), rows_of(on, "children")) == ([("5",)], [("1", "5")])
