"""DDL as TiCDC prints it: the rules of TiDB's canonical form, and what has none."""

from __future__ import annotations

import pickle

import pytest

from ticdc_emit import restore_ddl
from ticdc_emit.errors import ConfigError, DdlError, SchemaError, UnprintableDdlError

ALTER = "ALTER TABLE `t` "


def restores(query: str, canonical: str | None = None) -> None:
    """Both releases print the canonical text, which is the query itself by default."""
    for release in ("classic", "next"):
        assert restore_ddl(query, release=release) == (query if canonical is None else canonical)


def test_columns_and_keys() -> None:
    restores("create TABLE t(a Integer,`b``c` bool null)", "CREATE TABLE `t` (`a` INT,`b``c` TINYINT(1) NULL)")
    restores(
        "CREATE TABLE `d`.`t` (`a` CHAR(3) CHARACTER SET LATIN1 COLLATE latin1_bin COMMENT 'x\\\\y',INDEX(`a` DESC))"
    )
    restores("CREATE TABLE `t` (`a` FLOAT DEFAULT 1e+03,`b` DOUBLE DEFAULT 0.5)")
    restores("create table t (a float default 1e3)", "CREATE TABLE `t` (`a` FLOAT DEFAULT 1e+03)")
    restores("create table t (a double default .5)", "CREATE TABLE `t` (`a` DOUBLE DEFAULT 0.5)")
    restores("CREATE TABLE `t` (`a` JSON,`b` INT GENERATED ALWAYS AS(1 MEMBER OF (`a`)) VIRTUAL)")
    restores(
        "alter table t add b int as (json_memberof(1, a))",
        ALTER + "ADD COLUMN `b` INT GENERATED ALWAYS AS(1 MEMBER OF (`a`)) VIRTUAL",
    )
    restores("ALTER TABLE `t` ADD COLUMN /*T! IF NOT EXISTS  */`a` INT DEFAULT x'4d'")
    restores(
        "alter table t add column if not exists a int default 0x4D",
        ALTER + "ADD COLUMN /*T! IF NOT EXISTS  */`a` INT DEFAULT x'4d'",
    )
    restores("alter table t alter b set default -7", ALTER + "ALTER COLUMN `b` SET DEFAULT (-7)")
    restores(
        "alter table t add a int default 5.\nafter id, add b int default 5.",
        ALTER + "ADD COLUMN `a` INT DEFAULT 5 AFTER `id`, ADD COLUMN `b` INT DEFAULT 5",
    )
    restores("alter table t add index i (a) where b > 1e-7", ALTER + "ADD INDEX `i`(`a`) WHERE `b`>1e-07")


def test_options_that_another_database_does_not_get() -> None:
    restores("create table t (a int) placement policy p", "CREATE TABLE `t` (`a` INT) ")
    restores("alter table t placement policy = p", "ALTER TABLE `t`")
    restores("alter table t partition p placement policy = q", "")
    restores("alter table t attributes 'a=b' partition p attributes default", "ALTER TABLE `t`")
    restores(
        "alter table t ttl = a + interval 1 day_second ttl_enable 'on'",
        ALTER + "/*T![ttl] TTL = `a` + INTERVAL 1 DAY_SECOND */ /*T![ttl] TTL_ENABLE = 'OFF' */",
    )
    restores(
        "create table t (a date) ttl = a + interval 1 day ttl_enable 'on'",
        "CREATE TABLE `t` (`a` DATE) /*T![ttl] TTL = `a` + INTERVAL 1 DAY */ /*T![ttl] TTL_ENABLE = 'OFF' */",
    )


def test_views() -> None:
    restores(
        "create view v as select a+1, concat(b, 'x') c from t1, t2 where not a like 'y%'",
        "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` AS "
        "SELECT `a`+1,CONCAT(`b`, _UTF8MB4'x') AS `c` FROM (`t1`) JOIN `t2` WHERE NOT `a` LIKE _UTF8MB4'y%'",
    )


def test_statements_of_a_fixed_form() -> None:
    restores("alter database collate utf8mb4_bin", "ALTER DATABASE COLLATE = utf8mb4_bin")
    restores("ALTER DATABASE `d` SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'")
    restores("DROP DATABASE `d`")
    restores("drop schema if exists d", "DROP DATABASE IF EXISTS `d`")
    restores("USE `a b`")
    restores("TRUNCATE TABLE `d`.`t`")
    restores("truncate t", "TRUNCATE TABLE `t`")
    restores("RENAME TABLE `a` TO `b`, `c`.`d` TO `e`")
    restores("DROP SEQUENCE IF EXISTS `s`, `d`.`s`")
    restores("CREATE SEQUENCE IF NOT EXISTS `s` START WITH 5 INCREMENT BY -2 NO MINVALUE CYCLE")
    restores("alter sequence s restart = 7 no cache", "ALTER SEQUENCE `s` RESTART WITH 7 NOCACHE")
    restores("/*T![placement] DROP PLACEMENT POLICY IF EXISTS `p` */")
    restores("create placement policy p followers=3, voters 2", "/*T![placement] CREATE PLACEMENT POLICY `p`   */")
    restores("alter placement policy p followers=3", "")
    restores("drop resource group if exists g", "/*T![resource_group] DROP RESOURCE GROUP IF EXISTS `g` */")
    restores("LOCK TABLES `t` READ, `u` WRITE LOCAL")
    restores("unlock table", "UNLOCK TABLES")
    restores("RECOVER TABLE `t` 3")
    restores("RECOVER TABLE BY JOB 5")
    restores("FLASHBACK TABLE `t`, `u` TO TIMESTAMP '2024-01-01'")
    restores("flashback schema d to tso 7", "FLASHBACK DATABASE `d` TO TSO 7")


def test_partitions() -> None:
    restores(
        "CREATE TABLE `t` (`a` INT PRIMARY KEY) PARTITION BY RANGE (`a`) INTERVAL (10) "
        "FIRST PARTITION LESS THAN (0) LAST PARTITION LESS THAN (90) MAXVALUE PARTITION"
    )
    restores(
        "create table t (a int) partition by linear key algorithm=2 () partitions 4",
        "CREATE TABLE `t` (`a` INT) PARTITION BY LINEAR KEY ALGORITHM = 2 () PARTITIONS 4",
    )
    restores(ALTER + "FIRST PARTITION LESS THAN (10)")
    restores(ALTER + "LAST PARTITION LESS THAN (10) NO_WRITE_TO_BINLOG")
    restores(ALTER + "DROP PARTITION /*T! IF EXISTS  */`p`,`q`")
    restores(ALTER + "TRUNCATE PARTITION ALL")
    restores(ALTER + "COALESCE PARTITION NO_WRITE_TO_BINLOG 2")
    restores(ALTER + "REMOVE PARTITIONING")
    restores(ALTER + "REORGANIZE PARTITION NO_WRITE_TO_BINLOG")
    restores(ALTER + "EXCHANGE PARTITION `p` WITH TABLE `d`.`t` WITHOUT VALIDATION")
    restores(ALTER + "OPTIMIZE PARTITION NO_WRITE_TO_BINLOG `p`,`q`")
    restores("alter table t repair partition local all", ALTER + "REPAIR PARTITION NO_WRITE_TO_BINLOG ALL")
    restores(ALTER + "IMPORT PARTITION `p` TABLESPACE, CHECK PARTITION ALL")
    restores(ALTER + "SPLIT INDEX `i` BETWEEN (1) AND (9) REGIONS 4")
    restores(ALTER + "MERGE FIRST PARTITION LESS THAN (3)")


def test_changes_of_a_fixed_form() -> None:
    restores(ALTER + "RENAME COLUMN `a` TO `b`, RENAME INDEX `i` TO `j`")
    restores("alter table t rename key i to j, drop key i", ALTER + "RENAME INDEX `i` TO `j`, DROP INDEX `i`")
    restores(ALTER + "DROP FOREIGN KEY `f`, DROP INDEX /*T! IF EXISTS  */`i`, DROP PRIMARY KEY")
    restores(ALTER + "ALTER INDEX `i` INVISIBLE, ALTER CHECK `c` NOT ENFORCED, DROP CHECK `c`")
    restores(ALTER + "ALGORITHM = INPLACE, LOCK = NONE, CACHE, NOCACHE")
    restores(ALTER + "READ ONLY, SECONDARY_LOAD, ENABLE KEYS, WITHOUT VALIDATION")
    restores("alter table t cache, import tablespace", ALTER + "CACHE IMPORT TABLESPACE")
    restores(ALTER + "ORDER BY `a` DESC,`t`.`b`")
    restores(ALTER + "STATS_OPTIONS='x', STATS_OPTIONS=DEFAULT")
    restores("alter table t set hypo tiflash replica 3", ALTER + "SET TIFLASH REPLICA 3")
    restores(ALTER + "SET TIFLASH REPLICA 3 LOCATION LABELS 'a', 'b'")
    restores("alter table t force", ALTER + "FORCE /* AlterTableForce is not supported */ ")


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
