"""Schema files as tools write them: mysqldump, Dumpling, SHOW CREATE TABLE. ``dumps/`` holds whole files."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from ticdc_emit import History, catalog_from_sql
from ticdc_emit.errors import DdlError, SchemaError, UnknownTableError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.script import script_statements

DUMPS = Path(__file__).parent / "dumps"
TRIGGER = "CREATE TRIGGER a BEFORE INSERT ON t FOR EACH ROW BEGIN SET NEW.a = 1; SET NEW.b = 2; END"
TABLE = "CREATE TABLE t (a int, b int)"


def dumped(*names: str) -> str:
    return "\n".join((DUMPS / name).read_text(encoding="utf-8") for name in names)


def shown(info: TableInfo) -> tuple[list[str], list[str]]:
    return [column.name for column in info.columns], [index.name for index in info.indexes]


def test_a_file_of_mysqldump_with_rows_triggers_events_routines_and_a_view() -> None:
    catalog = catalog_from_sql(dumped("mysqldump.sql"))
    orders = catalog.table("shop", "orders")
    columns = ["id", "customer", "note", "total", "state", "doc", "uid", "double_total", "made", "_V$_lower_note_0"]
    assert shown(orders) == (columns, ["uid", "customer", "lower_note"])
    assert [index.visible for index in orders.indexes] == [True, False, True]
    assert orders.column("note").comment == 'it\'s; a "note" -- no comment'
    assert (orders.comment, orders.collate) == ("a /* b */ c", "utf8mb4_0900_ai_ci")
    log = catalog.table("shop", "log")
    assert [partition.name for partition in log.partitions] == ["p0", "p1"]
    assert log.column("line").collate == "utf8_general_ci"
    assert catalog.table("shop", "big").is_view
    assert [table.name for table in catalog.tables()] == ["orders", "log", "big"]


def test_the_files_of_dumpling_one_by_one_and_together() -> None:
    files = [
        *("shop-schema-create.sql", "shop.events-schema.sql", "shop.numbers-schema-sequence.sql"),
        *("shop.big-schema.sql", "shop.big-schema-view.sql"),
    ]
    together = dumped(files[0]) + "USE shop;" + dumped(*files[1:])
    catalog = catalog_from_sql(together)
    events = catalog.table("shop", "events")
    assert shown(events) == (["id", "made", "kind", "number", "place", "_V$_e_0"], ["g", "part", "e", "near"])
    assert events.indexes[-1].columns == ("place",)
    assert [partition.name for partition in events.partitions] == ["p0", "p1"]
    assert catalog.table("shop", "big").is_view
    alone = catalog_from_sql(dumped(files[1]), schema="shop").table("shop", "events")
    assert (alone.columns, alone.indexes) == (events.columns, events.indexes)


def test_show_create_table_is_a_schema_too() -> None:
    text = dumped("shop.events-schema.sql").partition("CREATE TABLE")[2].strip().rstrip(";")
    assert catalog_from_sql("CREATE TABLE" + text).table("test", "events").pk_is_handle


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + TABLE,
        "/*M!999999\\- enable the sandbox mode */ \n" + TABLE,
        "/*!999999\\- enable the sandbox mode */\n-- MariaDB dump\n" + TABLE,
        f"DELIMITER //\n{TRIGGER}//\n{TABLE} //\ndelimiter ;\nSELECT SETVAL(`s`, 1);",
        f"DELIMITER $$\n{TABLE}$$\nCREATE DEFINER = 'a b'@'%' PROCEDURE p() BEGIN DROP TABLE t; END$$",
        f"{TABLE}; /*!50106 DROP EVENT IF EXISTS `e`*/; DROP FUNCTION f; create user 'a'@'%'",
        f"{TABLE}; CREATE FUNCTION twice(x int) RETURNS int RETURN x * 2; ; /* ; */ ; -- ;",
        f"BEGIN; {TABLE}; INSERT INTO t VALUES ('a;', \"it's\"), (`b`, 'x\\';'), ('y''z;'); COMMIT",
        f"{TABLE}; /*!40000 ALTER TABLE `t` DISABLE KEYS */; REPLACE INTO t VALUES (';'); UNLOCK TABLES;",
        f"{TABLE} /*!40101 comment 'a;b' */; /*T![nothing] it's; */ SET a = 1",
        f"{TABLE}; UPDATE t SET a = 1; DELETE FROM t; WITH c AS (SELECT 1) DELETE FROM t; SAVEPOINT s; VALUES ROW(1)",
    ],
)
def test_what_is_no_schema_is_passed_over(text: str) -> None:
    catalog = catalog_from_sql(text)
    assert [(table.name, len(table.columns)) for table in catalog.tables()] == [("t", 2)]


WITHOUT_EFFECT = """
analyze table t; optimize table t; check table t; checksum table t; repair table t; kill 5;
purge binary logs to 'x'; grant all on *.* to 'a'@'%'; revoke all on *.* from a; create role r;
drop user if exists 'a'@'%'; rename user a to b; set password for a = 'x'; set default role all to a;
alter user a identified by 'x'; alter instance reload tls; flush logs;
create trigger b before insert on t for each row set new.a = 1; drop procedure if exists p;
create global binding for select 1 using select 2; split table t between (0) and (9) regions 2;
admin check table t; admin show ddl jobs; call p(1, 'a'); do sleep(1); show warnings; explain select 1; desc t;
change master to a = 1; start replica; stop slave; reset master; install plugin x soname 'y'; load stats 'x';
alter table t analyze partition p; alter table `d`.`t` compact;
create server s foreign data wrapper mysql options (host 'x');
create definer=`a`@`%` event e on schedule every 1 day do set @a = 1
"""


@pytest.mark.parametrize("statement", [each.strip().replace("\n", " ") for each in WITHOUT_EFFECT.split(";")])
def test_one_list_has_the_statements_without_effect_in_schemas_and_change_scripts(statement: str) -> None:
    (read,) = script_statements(statement)
    assert statement.upper().startswith(read.without_effect().split()[0])
    assert [table.name for table in catalog_from_sql(f"{TABLE}; {statement}").tables()] == ["t"]
    history = History.from_sql(f"{TABLE}; {statement}; INSERT INTO t VALUES (1, 2)")
    assert (len(history.rows), len(history.ddl)) == (1, 1)


@pytest.mark.parametrize(
    ("zone", "default"),
    [
        ("'+00:00'", "2024-03-01 10:00:00"),
        ("'Europe/Berlin'", "2024-03-01 09:00:00"),
        ("@OLD_TIME_ZONE", "2024-03-01 02:00:00"),
        ("SYSTEM", "2024-03-01 02:00:00"),
        ("'system'", "2024-03-01 02:00:00"),
    ],
)
def test_the_time_zone_of_a_dump_is_that_of_its_timestamp_defaults(zone: str, default: str) -> None:
    table = "CREATE TABLE {} (a int primary key, b timestamp not null default '2024-03-01 10:00:00')"
    text = f"SET @OLD_TIME_ZONE=@@TIME_ZONE; /*!40103 SET TIME_ZONE={zone} */; {table.format('t')}"
    catalog = catalog_from_sql(text, time_zone="Asia/Shanghai")
    catalog.apply(table.format("u"))
    assert [table.column("b").default for table in catalog.tables()] == [default, "2024-03-01 02:00:00"]


def test_backslashes_are_no_escapes_where_the_mode_says_so() -> None:
    text = "CREATE TABLE t (a int) COMMENT 'x\\'; CREATE TABLE u (a int) COMMENT 'y\\';"
    assert [info.comment for info in catalog_from_sql(text, sql_mode="NO_BACKSLASH_ESCAPES").tables()] == ["x\\", "y\\"]


@pytest.mark.parametrize(
    ("text", "kind", "reason", "place"),
    [
        ("SET a = 1;\n  LOAD DATA INFILE 'x' INTO TABLE t", DdlError, "expected a DDL statement", "line 2, column 3"),
        (f"{TABLE};\n source load_boats.dump ;", DdlError, "load_boats.dump, which SOURCE names", "line 2, column 2"),
        ("SELECT 1;\n\\. a.sql\n", DdlError, "the file a.sql", "line 2, column 1"),
        ("SET time_zone = 'Mars/North'", SchemaError, "unknown time zone 'Mars/North'", "line 1, column 1"),
        (f"{TABLE};\nCREATE TABLE u (\n  a int,\n  b foo\n);", DdlError, "not understood", "line 4, column 5"),
        (f"{TABLE};\n\nALTER TABLE t DROP COLUMN c", DdlError, "no column 'c'", "line 3, column 27"),
        ("-- x\nDROP TABLE nothing", UnknownTableError, "does not exist", "line 2, column 12"),
        (f"{TABLE};\n{TRIGGER};", DdlError, "no DELIMITER around it", "line 2, column 1"),
        (f"{TABLE};\nINSERT INTO t VALUES ('a);\n", DdlError, "a string or name never ends", "line 2, column 23"),
        (f"{TABLE};\n/* it", DdlError, "a comment never ends", "line 2, column 1"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_line(text: str, kind: type, reason: str, place: str) -> None:
    with pytest.raises(kind, match=reason) as refused:
        catalog_from_sql(text)
    assert refused.value.place == place
    assert refused.value.remedy
    assert str(pickle.loads(pickle.dumps(refused.value))) == str(refused.value)


def test_rows_of_a_dump_are_passed_over_without_being_read() -> None:
    rows = ",".join(f"({number},'a\\'b;''c')" for number in range(20_000))
    script = f"{TABLE}; INSERT INTO t VALUES {rows}; CREATE TABLE u (a int)"
    assert [statement.word for statement in script_statements(script)] == ["CREATE", "INSERT", "CREATE"]
