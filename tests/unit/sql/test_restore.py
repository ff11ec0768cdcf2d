"""DDL as TiCDC prints it: what the vectors do not show of TiDB's canonical form, and what has none."""

from __future__ import annotations

import pickle

import pytest

from ticdc_emit import restore_ddl
from ticdc_emit.errors import ConfigError, DdlError, SchemaError, UnprintableDdlError

ALTER = "ALTER TABLE `t` "


@pytest.mark.parametrize(
    ("query", "canonical"),
    [
        ("create TABLE t(a Integer,`b``c` bool null)", "CREATE TABLE `t` (`a` INT,`b``c` TINYINT(1) NULL)"),
        ("create table t (a float default 1e3)", "CREATE TABLE `t` (`a` FLOAT DEFAULT 1e+03)"),
        (
            "alter table t add b int as (json_memberof(1, a))",
            ALTER + "ADD COLUMN `b` INT GENERATED ALWAYS AS(1 MEMBER OF (`a`)) VIRTUAL",
        ),
        ("alter table t alter b set default -7", ALTER + "ALTER COLUMN `b` SET DEFAULT (-7)"),
        (
            "alter table t add a int default 5.\nafter id, add b int default 5.",
            ALTER + "ADD COLUMN `a` INT DEFAULT 5 AFTER `id`, ADD COLUMN `b` INT DEFAULT 5",
        ),
        ("alter table t add index i (a) where b > 1e-7", ALTER + "ADD INDEX `i`(`a`) WHERE `b`>1e-07"),
        ("alter table t attributes 'a=b' partition p attributes default", "ALTER TABLE `t`"),
        (
            "alter table t ttl = a + interval 1 day_second ttl_enable 'on'",
            ALTER + "/*T![ttl] TTL = `a` + INTERVAL 1 DAY_SECOND */ /*T![ttl] TTL_ENABLE = 'OFF' */",
        ),
        ("alter database collate utf8mb4_bin", "ALTER DATABASE COLLATE = utf8mb4_bin"),
        ("drop schema d", "DROP DATABASE `d`"),
        ("use `a b`", "USE `a b`"),
        ("rename table a to b, c.d to e", "RENAME TABLE `a` TO `b`, `c`.`d` TO `e`"),
        ("alter placement policy p followers=3", ""),
        ("lock tables t read, u write local", "LOCK TABLES `t` READ, `u` WRITE LOCAL"),
        ("unlock table", "UNLOCK TABLES"),
        ("recover table t 3", "RECOVER TABLE `t` 3"),
        ("flashback schema d to tso 7", "FLASHBACK DATABASE `d` TO TSO 7"),
        ("alter table t repair partition local all", ALTER + "REPAIR PARTITION NO_WRITE_TO_BINLOG ALL"),
        ("alter table t import partition p tablespace", ALTER + "IMPORT PARTITION `p` TABLESPACE"),
        (
            "alter table t split index i between (1) and (9) regions 4",
            ALTER + "SPLIT INDEX `i` BETWEEN (1) AND (9) REGIONS 4",
        ),
        ("alter table t read only, enable keys", ALTER + "READ ONLY, ENABLE KEYS"),
        ("alter table t cache, import tablespace", ALTER + "CACHE IMPORT TABLESPACE"),
        ("alter table t stats_options='x'", ALTER + "STATS_OPTIONS='x'"),
    ],
)
def test_what_no_vector_shows(query: str, canonical: str) -> None:
    for release in ("classic", "next"):
        assert restore_ddl(query, release=release) == canonical


@pytest.mark.parametrize(
    ("mode", "query", "restored"),
    [
        ("", 'alter table t add c text default "x"', "ALTER TABLE `t` ADD COLUMN `c` TEXT DEFAULT _UTF8MB4'x'"),
        ("ANSI_QUOTES", 'drop table "a ""b"', 'DROP TABLE `a "b`'),
        ("ANSI", "create table t (a real)", "CREATE TABLE `t` (`a` FLOAT)"),
        ("PIPES_AS_CONCAT", "alter table t add check (a || b)", "ALTER TABLE `t` ADD CHECK(CONCAT(`a`, `b`)) ENFORCED"),
        ("", "alter table t add check (a || b)", "ALTER TABLE `t` ADD CHECK(`a` OR `b`) ENFORCED"),
        ("HIGH_NOT_PRECEDENCE", "alter table t add check (not a)", "ALTER TABLE `t` ADD CHECK(!`a`) ENFORCED"),
        ("NO_BACKSLASH_ESCAPES", r"alter table t comment 'a\'", r"ALTER TABLE `t` COMMENT = 'a\'"),
        ("IGNORE_SPACE", "create view v as select count (*) from t", "COUNT(1)"),
        ("traditional,ansi_quotes", 'truncate "T"', "TRUNCATE TABLE `T`"),
    ],
)
def test_sql_modes_change_how_a_statement_is_read(mode: str, query: str, restored: str) -> None:
    assert restored in restore_ddl(query, sql_mode=mode)


def test_an_unknown_sql_mode_or_release_is_refused() -> None:
    with pytest.raises(SchemaError, match="unknown SQL mode 'FAST'"):
        restore_ddl("drop table t", sql_mode="ANSI,FAST")
    with pytest.raises(ConfigError, match="unknown release 'new'"):
        restore_ddl("drop table t", release="new")


def test_the_charset_of_the_session_is_the_introducer_of_strings() -> None:
    query = "create index i on t ((concat(a, 'x')))"
    assert restore_ddl(query, charset="latin1") == "CREATE INDEX `i` ON `t` ((CONCAT(`a`, _LATIN1'x')))"


def test_several_statements_are_one_text_in_next_and_an_error_in_classic() -> None:
    query = "create table a (x int); drop table b"
    assert restore_ddl(query, release="next") == "CREATE TABLE `a` (`x` INT);DROP TABLE `b`"
    with pytest.raises(DdlError, match="found 2 statements"):
        restore_ddl(query)
    for release in ("classic", "next"):
        with pytest.raises(DdlError, match="no statement"):
            restore_ddl(" ; -- nothing", release=release)


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("create table t (a int,)", 22),
        ("create table t (a int default (1 + 1))", 33),
        ("alter table t add column select int", 25),
        ("create table t (a varchar(3) charset klingon)", 37),
        ("create view v as select a from t where a between 1", 49),
        ("alter table t add check (a like b like c)", 34),
        ("create table t (a int) comment 'never closed", 31),
        ("create table t (a int) partition by range (a)", 44),
        ("create table t (a int) /*T!80000 comment = 'x' */", 27),
        ("rename tables a to b", 7),
    ],
)
def test_what_tidb_does_not_read_is_an_error_that_names_the_place(query: str, position: int) -> None:
    with pytest.raises(DdlError) as caught:
        restore_ddl(query)
    assert (caught.value.statement, caught.value.position) == (query, position)
    assert not isinstance(caught.value, UnprintableDdlError)


def test_what_tidb_does_not_print_is_an_error_of_its_own() -> None:
    query = "create table t (a int) engine innodb engine_attribute '{}'"
    with pytest.raises(UnprintableDdlError, match="ENGINE_ATTRIBUTE") as caught:
        restore_ddl(query)
    assert (caught.value.statement, caught.value.position) == (query, query.index("engine_attribute"))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_unknown_optimizer_hint_is_not_guessed() -> None:
    with pytest.raises(DdlError, match="optimizer hint is not understood"):
        restore_ddl("create view v as select /*+ be_quick() */ a from t")


def test_deep_and_long_expressions() -> None:
    chain = "+".join(["a"] * 5000)
    assert restore_ddl(f"alter table t add check ({chain})").count("+") == 4999
    nested = "(" * 20 + "select 1" + ")" * 20
    assert restore_ddl(f"create view v as select ({nested})").count("(") == 21
    with pytest.raises(DdlError, match="nested too deeply"):
        restore_ddl(f"alter table t add check ({'(' * 5000}a{')' * 5000})")
    with pytest.raises(DdlError):
        restore_ddl("create view v as select " + "(" * 3000 + "select 1")


@pytest.mark.parametrize(
    "query",
    [
        "alter table t add column a int default 5. after id",  # a word behind a dot and blanks is a name
        "create table t (a int default 5.comment 'x')",
        "create masking policy p on t (c) as c",
    ],
)
def test_what_tidb_does_not_parse_is_refused(query: str) -> None:
    with pytest.raises(DdlError, match="not understood"):
        restore_ddl(query)
