"""Other names for tables: every place where a statement names them, as TiCDC's table routing prints it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ticdc_emit.sql.nodes.base import ROUTED
from ticdc_emit.sql.renaming import with_targets, with_targets_in_scopes
from ticdc_emit.sql.script import parse_ddl

BOTH = (with_targets, with_targets_in_scopes)


def starred(schema: str, name: str) -> tuple[str, str]:
    """``x`` before each name; the database ``fixed`` and its tables keep theirs."""
    return (schema, name) if schema == "fixed" else (f"x{schema}", f"x{name}" if name else "")


def renamed(statement: str, how: Callable[..., Any] = with_targets) -> str:
    tree = parse_ddl(statement)
    return str(how(tree, "test", starred).restore(ROUTED))


@pytest.mark.parametrize("how", BOTH)
@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            "create table t1 (id int, s int, primary key (id), foreign key (s) references t2(id))",
            "CREATE TABLE `xtest`.`xt1` (`id` INT,`s` INT,PRIMARY KEY(`id`),"
            "CONSTRAINT FOREIGN KEY (`s`) REFERENCES `xtest`.`xt2`(`id`))",
        ),
        ("create schema if not exists s1", "CREATE DATABASE IF NOT EXISTS `xs1`"),
        ("drop schema if exists s1", "DROP DATABASE IF EXISTS `xs1`"),
        ("alter database collate utf8mb4_general_ci", "ALTER DATABASE COLLATE = utf8mb4_general_ci"),
        ("alter database s1 charset utf8mb4", "ALTER DATABASE `xs1` CHARACTER SET = utf8mb4"),
        ("drop table Ss1.tT1", "DROP TABLE `xSs1`.`xtT1`"),
        ("drop table s1.t1, s2.t2, xx", "DROP TABLE `xs1`.`xt1`, `xs2`.`xt2`, `xtest`.`xxx`"),
        ("create table t (c varchar(9) default '0')", "CREATE TABLE `xtest`.`xt` (`c` VARCHAR(9) DEFAULT '0')"),
        (
            "create table t (c varchar(9) charset latin1 default _latin1'0')",
            "CREATE TABLE `xtest`.`xt` (`c` VARCHAR(9) CHARACTER SET LATIN1 DEFAULT _LATIN1'0')",
        ),
        ("create table s1.t1 like t2", "CREATE TABLE `xs1`.`xt1` LIKE `xtest`.`xt2`"),
        ("create table t1 like xx.t2", "CREATE TABLE `xtest`.`xt1` LIKE `xxx`.`xt2`"),
        ("create table t1 as select * from t2", "CREATE TABLE `xtest`.`xt1` AS SELECT * FROM `xtest`.`xt2`"),
        ("truncate s1.t1", "TRUNCATE TABLE `xs1`.`xt1`"),
        (
            "rename table t1 to t2, s1.t1 to t3",
            "RENAME TABLE `xtest`.`xt1` TO `xtest`.`xt2`, `xs1`.`xt1` TO `xtest`.`xt3`",
        ),
        ("drop index i1 on t1", "DROP INDEX `i1` ON `xtest`.`xt1`"),
        (
            "create index if not exists i1 on s1.t1 (c1)",
            "CREATE INDEX /*T! IF NOT EXISTS  */`i1` ON `xs1`.`xt1` (`c1`)",
        ),
        (
            "alter table s1.t1 add column c1 int, rename to xx.t2, drop column c2",
            "ALTER TABLE `xs1`.`xt1` ADD COLUMN `c1` INT, RENAME AS `xxx`.`xt2`, DROP COLUMN `c2`",
        ),
        (
            "alter table t1 add column if not exists c1 int",
            "ALTER TABLE `xtest`.`xt1` ADD COLUMN /*T! IF NOT EXISTS  */`c1` INT",
        ),
        (
            "alter table t1 add constraint fk foreign key if not exists (t2_id) references t2(id)",
            "ALTER TABLE `xtest`.`xt1` ADD CONSTRAINT `fk` FOREIGN KEY /*T! IF NOT EXISTS  */(`t2_id`) "
            "REFERENCES `xtest`.`xt2`(`id`)",
        ),
        (
            "alter table p exchange partition p0 with table s2.t without validation",
            "ALTER TABLE `xtest`.`xp` EXCHANGE PARTITION `p0` WITH TABLE `xs2`.`xt` WITHOUT VALIDATION",
        ),
        (
            "alter table t1 partition by range (a) (partition x values less than (75))",
            "ALTER TABLE `xtest`.`xt1` PARTITION BY RANGE (`a`) (PARTITION `x` VALUES LESS THAN (75))",
        ),
        ("alter table t add index ((a+1))", "ALTER TABLE `xtest`.`xt` ADD INDEX((`a`+1))"),
        ("flashback table s1.t1", "FLASHBACK TABLE `xs1`.`xt1`"),
        ("recover table by job 7", "RECOVER TABLE BY JOB 7"),
    ],
)
def test_every_name_of_a_table(statement: str, expected: str, how: Callable[..., Any]) -> None:
    assert renamed(statement, how) == expected


@pytest.mark.parametrize("how", BOTH)
@pytest.mark.parametrize("statement", ["create table fixed.t (id int)", "create database fixed", "drop view fixed.v"])
def test_a_statement_without_new_names_stays(statement: str, how: Callable[..., Any]) -> None:
    tree = parse_ddl(statement)
    assert how(tree, "test", starred) is tree


@pytest.mark.parametrize("how", BOTH)
def test_tables_that_keep_their_names_get_their_database(how: Callable[..., Any]) -> None:
    tree = parse_ddl("alter table a add foreign key (x) references s.b (y)")
    text = how(tree, "fixed", starred).restore(ROUTED)
    assert text == "ALTER TABLE `fixed`.`a` ADD CONSTRAINT FOREIGN KEY (`x`) REFERENCES `xs`.`xb`(`y`)"


def test_a_column_follows_its_table_where_its_database_is_written() -> None:
    columns = "alter table t drop column test.T.c, drop column s.t.d, drop column t.e"
    assert renamed(columns) == (
        "ALTER TABLE `xtest`.`xt` DROP COLUMN `xtest`.`xt`.`c`, DROP COLUMN `s`.`t`.`d`, DROP COLUMN `t`.`e`"
    )
    assert selected("select o.id, test.orders.id from test.orders as o") == (
        "SELECT `o`.`id`,`xtest`.`xorders`.`id` FROM `xtest`.`xorders` AS `o`"
    )
    assert selected("select orders.id, test.orders.* from orders") == (
        "SELECT `orders`.`id`,`test`.`orders`.* FROM `xtest`.`xorders`"
    )
    # names of WITH too: a known mistake of TiCDC
    assert selected("with c as (select id from t) select id from c") == (
        "WITH `c` AS (SELECT `id` FROM `xtest`.`xt`) SELECT `id` FROM `xtest`.`xc`"
    )


def selected(query: str, how: Callable[..., Any] = with_targets) -> str:
    return renamed(f"create view v as {query}", how).partition(" VIEW `xtest`.`xv` AS ")[2]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("select t.* from t", "SELECT `xtest`.`xt`.* FROM `xtest`.`xt`"),
        ("select test.T.* from test.t", "SELECT `xtest`.`xt`.* FROM `xtest`.`xt`"),
        ("select x.* from t as x", "SELECT `x`.* FROM `xtest`.`xt` AS `x`"),
        ("select t.* from t as t", "SELECT `t`.* FROM `xtest`.`xt` AS `t`"),
        (
            "select t.* from t join t as x on t.id = x.id",
            "SELECT `xtest`.`xt`.* FROM `xtest`.`xt` JOIN `xtest`.`xt` AS `x` ON `xtest`.`xt`.`id`=`x`.`id`",
        ),
        (
            "select t.a from s.t join t on s.t.b = test.t.b",
            "SELECT `t`.`a` FROM `xs`.`xt` JOIN `xtest`.`xt` ON `xs`.`xt`.`b`=`xtest`.`xt`.`b`",
        ),
        (
            "select x.* from (select t.* from t) as x",
            "SELECT `x`.* FROM (SELECT `xtest`.`xt`.* FROM (`xtest`.`xt`)) AS `x`",
        ),
        (
            "select t.* from t where exists (select t.* from t as t)",
            "SELECT `xtest`.`xt`.* FROM `xtest`.`xt` WHERE EXISTS (SELECT `t`.* FROM (`xtest`.`xt` AS `t`))",
        ),
        (
            "select o.id from s.o where exists (select 1 from l where l.id = o.id)",
            "SELECT `xs`.`xo`.`id` FROM `xs`.`xo` WHERE EXISTS "
            "(SELECT 1 FROM `xtest`.`xl` WHERE `xtest`.`xl`.`id`=`xs`.`xo`.`id`)",
        ),
        (
            "with t as (select id from t) select t.id from t",
            "WITH `t` AS (SELECT `id` FROM `xtest`.`xt`) SELECT `t`.`id` FROM `t`",
        ),
        (
            "with t as (select 9 as id) select test.t.* from test.t",
            "WITH `t` AS (SELECT 9 AS `id`) SELECT `xtest`.`xt`.* FROM `xtest`.`xt`",
        ),
        (
            "with a as (select id from t), t as (select 9 as id) select id from a union select id from t",
            "WITH `a` AS (SELECT `id` FROM `xtest`.`xt`), `t` AS (SELECT 9 AS `id`) "
            "SELECT `id` FROM `a` UNION SELECT `id` FROM `t`",
        ),
        (
            "with recursive c as (select id from t union all select id + 1 from c) select id from c",
            "WITH RECURSIVE `c` AS (SELECT `id` FROM `xtest`.`xt` UNION ALL SELECT `id`+1 FROM `c`) "
            "SELECT `id` FROM `c`",
        ),
        (
            "select t.id from t where exists (with c as (select t.id) select 1 from s.t join c on c.id = s.t.id)",
            "SELECT `xtest`.`xt`.`id` FROM `xtest`.`xt` WHERE EXISTS (WITH `c` AS (SELECT `xtest`.`xt`.`id`) "
            "SELECT 1 FROM `xs`.`xt` JOIN `c` ON `c`.`id`=`xs`.`xt`.`id`)",
        ),
    ],
)
def test_names_in_scopes(query: str, expected: str) -> None:
    assert _plain(selected(query, with_targets_in_scopes)) == _plain(expected)


def _plain(text: str) -> str:
    """Leave out parentheses around tables, which TiDB adds in some places."""
    return text.replace("(", "").replace(")", "")
