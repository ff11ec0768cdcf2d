"""DDL as TiCDC prints it: the rules of TiDB's canonical form, and what has none."""

from __future__ import annotations

import pickle

import pytest

from ticdc_emit import restore_ddl
from ticdc_emit.errors import ConfigError, DdlError, SchemaError, UnprintableDdlError


@pytest.mark.parametrize(
    ("query", "restored"),
    [
        ("create TABLE t(a Integer,`b``c` bool null)", "CREATE TABLE `t` (`a` INT,`b``c` TINYINT(1) NULL)"),
        (
            "create table d.t (a char(3) charset latin1 collate latin1_bin comment 'x\\\\y', key (a desc))",
            "CREATE TABLE `d`.`t` (`a` CHAR(3) CHARACTER SET LATIN1 COLLATE latin1_bin COMMENT 'x\\\\y',"
            "INDEX(`a` DESC))",
        ),
        (
            "alter table t add column if not exists a int default 0x4D, alter b set default -7",
            "ALTER TABLE `t` ADD COLUMN /*T! IF NOT EXISTS  */`a` INT DEFAULT x'4d', ALTER COLUMN `b` SET DEFAULT (-7)",
        ),
        (
            "create table t (a datetime) ttl = a + interval 1 day_second ttl_enable 'on'",
            "CREATE TABLE `t` (`a` DATETIME) /*T![ttl] TTL = `a` + INTERVAL 1 DAY_SECOND */ "
            "/*T![ttl] TTL_ENABLE = 'OFF' */",
        ),
        ("create table t (a int) placement policy p", "CREATE TABLE `t` (`a` INT) "),
        ("alter table t placement policy = p", "ALTER TABLE `t`"),
        ("alter table t partition p placement policy = q", ""),
        (
            "create view v as select a+1, concat(b, 'x') c from t1, t2 where not a like 'y%'",
            "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` AS "
            "SELECT `a`+1,CONCAT(`b`, _UTF8MB4'x') AS `c` FROM (`t1`) JOIN `t2` WHERE NOT `a` LIKE _UTF8MB4'y%'",
        ),
        (
            "create table t (a float default 1e3, b double default .5)",
            "CREATE TABLE `t` (`a` FLOAT DEFAULT 1e+03,`b` DOUBLE DEFAULT 0.5)",
        ),
        ("alter table t add index i (a) where b > 1e-7", "ALTER TABLE `t` ADD INDEX `i`(`a`) WHERE `b`>1e-07"),
        ("alter database collate utf8mb4_bin", "ALTER DATABASE COLLATE = utf8mb4_bin"),
        (
            "create table t (a int primary key) partition by range (a) interval (10) "
            "first partition less than (0) last partition less than (90) maxvalue partition",
            "CREATE TABLE `t` (`a` INT PRIMARY KEY) PARTITION BY RANGE (`a`) INTERVAL (10) "
            "FIRST PARTITION LESS THAN (0) LAST PARTITION LESS THAN (90) MAXVALUE PARTITION",
        ),
        (
            "create masking policy if not exists p on d.t (c) as mask_full(c, '*') restrict on (ctas, CTAS, "
            "update_select) enable",
            "CREATE MASKING POLICY IF NOT EXISTS `p` ON `d`.`t` (`c`) AS MASK_FULL(`c`, _UTF8MB4'*') "
            "RESTRICT ON (UPDATE_SELECT, CTAS) ENABLE",
        ),
        (
            "create or replace masking policy p on t(c) as case when current_user() in ('r@%') then c else 'x' end "
            "restrict on none",
            "CREATE OR REPLACE MASKING POLICY `p` ON `t` (`c`) AS "
            "CASE WHEN CURRENT_USER() IN (_UTF8MB4'r@%') THEN `c` ELSE _UTF8MB4'x' END",
        ),
        (
            "alter table t add masking policy p on (c) as c disable, drop masking policy q, enable masking policy r",
            "ALTER TABLE `t` ADD MASKING POLICY `p` ON (`c`) AS `c` DISABLE, DROP MASKING POLICY `q`, "
            "ENABLE MASKING POLICY `r`",
        ),
        (
            "alter table t modify masking policy p set expression = upper(c)",
            "ALTER TABLE `t` MODIFY MASKING POLICY `p` SET EXPRESSION = UPPER(`c`)",
        ),
        (
            "alter table t modify masking policy p set restrict on (delete_select, insert_into_select)",
            "ALTER TABLE `t` MODIFY MASKING POLICY `p` SET RESTRICT ON (INSERT_INTO_SELECT, DELETE_SELECT)",
        ),
        (
            "alter table t modify masking policy p set restrict on none",
            "ALTER TABLE `t` MODIFY MASKING POLICY `p` SET RESTRICT ON NONE",
        ),
        (
            "alter table t add masking int, drop masking, disable masking policy p",
            "ALTER TABLE `t` ADD COLUMN `masking` INT, DROP COLUMN `masking`, DISABLE MASKING POLICY `p`",
        ),
        (
            "create table t (a json, b int as (json_memberof(1, a)))",
            "CREATE TABLE `t` (`a` JSON,`b` INT GENERATED ALWAYS AS(1 MEMBER OF (`a`)) VIRTUAL)",
        ),
        (
            "alter table t add column a int default 5.\nafter id, add column b int default 5.",
            "ALTER TABLE `t` ADD COLUMN `a` INT DEFAULT 5 AFTER `id`, ADD COLUMN `b` INT DEFAULT 5",
        ),
        (
            "alter table t split index i between (1) and (9) regions 4",
            "ALTER TABLE `t` SPLIT INDEX `i` BETWEEN (1) AND (9) REGIONS 4",
        ),
    ],
)
def test_the_canonical_form(query: str, restored: str) -> None:
    for profile in ("classic", "next"):
        assert restore_ddl(query, profile=profile) == restored


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


def test_an_unknown_sql_mode_or_profile_is_refused() -> None:
    with pytest.raises(SchemaError, match="unknown SQL mode 'FAST'"):
        restore_ddl("drop table t", sql_mode="ANSI,FAST")
    with pytest.raises(ConfigError, match="unknown profile 'new'"):
        restore_ddl("drop table t", profile="new")


def test_the_charset_of_the_session_is_the_introducer_of_strings() -> None:
    query = "create index i on t ((concat(a, 'x')))"
    assert restore_ddl(query, charset="latin1") == "CREATE INDEX `i` ON `t` ((CONCAT(`a`, _LATIN1'x')))"


def test_several_statements_are_one_text_in_next_and_an_error_in_classic() -> None:
    query = "create table a (x int); drop table b"
    assert restore_ddl(query, profile="next") == "CREATE TABLE `a` (`x` INT);DROP TABLE `b`"
    with pytest.raises(DdlError, match="found 2 statements"):
        restore_ddl(query)
    for profile in ("classic", "next"):
        with pytest.raises(DdlError, match="no statement"):
            restore_ddl(" ; -- nothing", profile=profile)


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
        "create or replace masking policy if not exists p on t (c) as c",
        "create masking policy p on t (c) as c restrict on (select_into)",
        "alter table t modify masking policy p set something = c",
    ],
)
def test_what_tidb_does_not_parse_is_refused(query: str) -> None:
    with pytest.raises(DdlError, match="not understood"):
        restore_ddl(query)
