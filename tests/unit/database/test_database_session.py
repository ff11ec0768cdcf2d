"""SQL in, transactions out: what statements do to rows, what a transaction sends, TiDB's errors and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from sql_sessions import error_number, rows_of, session_of

from ticdc_emit.database.session import DEFAULT_SQL_MODE, Session
from ticdc_emit.database.transaction import Transaction
from ticdc_emit.errors import (
    DdlError,
    InvalidValueError,
    SchemaError,
    StateError,
    StatementError,
    TicdcEmitError,
    UnsupportedStatementError,
)

ITEMS = """
create table shop.items (id int primary key auto_increment, name varchar(10) not null unique, stock int default 3)
"""

SECOND = 1000 << 18


def session(schema: str = ITEMS, **options: Any) -> Session:
    return session_of(schema, **options)


@pytest.fixture
def on() -> Session:
    return session()


def rows(on: Session, table: str = "items") -> list[tuple[str | None, ...]]:
    return rows_of(on, table)


def sent(on: Session, script: str) -> list[tuple[str, Any, Any]]:
    """Each row change that a script sends: its operation and the key before and after."""
    return [
        (change["op"], *(image and image["id"] for image in (change["before"], change["after"])))
        for result in on.execute(script)
        for each in result.committed
        if isinstance(each, Transaction)
        for change in each.changes
    ]


# -- rows --------------------------------------------------------------------------------------------------------------


def test_defaults_and_numbers_fill_a_row(on: Session) -> None:
    (result,) = on.execute("insert into items (name) values ('a'), ('b')")
    assert (result.kind, result.affected_rows, result.last_insert_id) == ("insert", 2, 1)
    on.execute(
        "insert into items set id = 7, name = 'c', stock = default(stock); insert into items value (null, 'd', 1)"
    )
    assert rows(on) == [("1", "a", "3"), ("2", "b", "3"), ("7", "c", "3"), ("8", "d", "1")]


def test_an_assignment_sees_the_row_before_the_statement() -> None:
    on = session("create table shop.items (id int primary key, a int, b int)")
    on.execute("insert into items values (1, 5, 0); update items set a = a + 1, b = a where id = 1")
    assert rows(on) == [("1", "6", "5")]


def test_generated_columns_and_moments_follow_an_update() -> None:
    on = session(
        "create table shop.items (id int primary key, price decimal(8,2), total decimal(10,2) as (price * 3) stored,"
        " at datetime(3) default current_timestamp(3) on update current_timestamp(3))"
    )
    on.execute("insert into items (id, price) values (1, 2.5); update items set price = 3; update items set price = 3")
    assert rows(on) == [("1", "3.00", "9.00", "2024-01-01 00:00:01.000")]


def test_generated_columns_fail_as_in_tidb() -> None:
    on = session(
        "create table shop.items (id int primary key, n int, a int as (10 / n) virtual, b varchar(3) as (n * 5) stored)"
    )
    on.execute("insert into items (id, n) values (1, 5)")
    for values, number in [("2, 0", 1365), ("3, 1000", 1406)]:
        assert error_number(on, f"insert into items (id, n) values ({values})") == number
    assert rows(on) == [("1", "5", "25")]


def test_replace_removes_what_is_in_its_way(on: Session) -> None:
    on.execute("insert into items values (1, 'a', 1), (2, 'b', 2)")
    (result,) = on.execute("replace into items values (1, 'b', 9)")
    assert (result.affected_rows, rows(on)) == (3, [("1", "b", "9")])
    (result,) = on.execute("replace into items values (1, 'b', 9)")
    assert (result.affected_rows, result.committed) == (1, ())


# -- what a transaction sends ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("script", "changes"),
    [
        ("insert into items values (5, 'x', 1); delete from items where id = 5", []),
        ("insert into items values (5, 'x', 1); update items set stock = 2 where id = 5", [("insert", None, "5")]),
        ("update items set stock = 8; update items set stock = 9", [("update", "1", "1")]),
        ("delete from items; insert into items values (1, 'z', 1)", [("update", "1", "1")]),
        ("update items set stock = stock", []),
        ("update items set id = 4", [("delete", "1", None), ("insert", None, "4")]),
        ("update items set id = 4; update items set id = 1", [("update", "1", "1")]),
    ],
)
def test_a_transaction_sends_what_is_left_of_each_row(on: Session, script: str, changes: list[Any]) -> None:
    on.execute("insert into items values (1, 'a', 1)")
    assert sent(on, f"begin; {script}; commit") == changes


def test_a_table_with_row_ids_keeps_the_row_of_an_updated_key() -> None:
    on = session("create table shop.items (id int primary key nonclustered, n int)")
    on.execute("insert into items values (1, 1)")
    assert sent(on, "begin; update items set id = 2; update items set n = 5; commit") == [("update", "1", "2")]
    assert sent(on, "begin; delete from items; insert into items values (2, 7); commit") == [
        ("delete", "2", None),
        ("insert", None, "2"),
    ]


def test_a_transaction_has_one_commit_ts_and_the_time_of_its_start() -> None:
    on = session(start=1000 * SECOND)
    results = on.execute("insert into items (name) values ('a'); begin; update items set stock = 1; select 1; commit")
    first, last = (each for result in results for each in result.committed)
    assert (first.commit_ts, last.start_ts, last.commit_ts) == (1000 * SECOND, 1001 * SECOND, 1004 * SECOND)
    assert last.changes[0]["start_ts"] == last.start_ts


def test_ddl_commits_the_open_transaction_first(on: Session) -> None:
    on.execute("begin; insert into items (name) values ('a')")
    (result,) = on.execute("alter table items add column size int default 4")
    transaction, ddl = result.committed
    assert transaction.commit_ts < ddl.commit_ts
    assert rows(on) == [("1", "a", "3", "4")]
    assert not on.in_transaction


def test_rollback_and_savepoints_take_rows_back(on: Session) -> None:
    on.execute("insert into items values (1, 'a', 1); begin; delete from items; rollback")
    assert rows(on) == [("1", "a", "1")]
    script = "begin; update items set stock = 2; savepoint s; delete from items; rollback to s; commit"
    assert sent(on, script) == [("update", "1", "1")]


def test_autocommit_off_waits_for_commit(on: Session) -> None:
    assert sent(on, "set autocommit = 0; insert into items values (1, 'a', 1)") == []
    assert sent(on, "commit") == [("insert", None, "1")]


def test_a_comment_gives_the_commit_ts(on: Session) -> None:
    facts = "commit_ts=450000000262144000 start_ts=450000000262143000 seq=4"
    (result,) = on.execute(f"/* ticdc-emit: {facts} */ insert into items values (1, 'a', 1)")
    (transaction,) = result.committed
    assert (transaction.commit_ts, transaction.start_ts) == (450000000262144000, 450000000262143000)
    assert transaction.changes[0]["seq"] == 4
    with pytest.raises(InvalidValueError, match="is below"):
        on.execute("/* ticdc-emit: commit_ts=1000 */ delete from items")


# -- errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("insert into items values (1, 'x', 1)", 1062),
        ("insert into items values (5, 'x', 1), (6, 'a', 1)", 1062),
        ("update items set name = 'b' where id = 1", 1062),
        ("insert into items (stock) values (1)", 1364),
        ("insert into items values (5, null, 1)", 1048),
        ("update items set name = null", 1048),
        ("insert into items values (5, 'x', 3000000000)", 1264),
        ("insert into items values (5, 'elevenchars', 1)", 1406),
        ("insert into items values (5, 'x', 'y')", 1366),
        ("insert into items values (5, 'x')", 1136),
        ("insert into items (id, id) values (1, 2)", 1110),
        ("insert into items (size) values (1)", 1054),
        ("insert into other values (1)", 1146),
        ("update items set stock = name + 1", 1292),
        ("update items set stock = 1 / 0", 1365),
        ("use nowhere", 1049),
        ("rollback to s", 1305),
    ],
)
def test_a_statement_fails_as_in_tidb_and_leaves_no_row(on: Session, statement: str, number: int) -> None:
    on.execute("insert into items values (1, 'a', 1), (2, 'b', 2)")
    before = rows(on)
    with pytest.raises(StatementError) as caught:
        on.execute(statement)
    assert (caught.value.number, caught.value.place) == (number, "line 1, column 1")
    assert pickle.loads(pickle.dumps(caught.value)).number == number
    assert rows(on) == before
    assert not on.in_transaction


@pytest.mark.parametrize(
    ("definition", "values"),
    [
        ("float(8,3)", {"1.5": "1.5", "123.4567": "123.457", "'2.25'": "2.25", "7": "7", "99999.9996": 1264}),
        ("double(5,2)", {"-999.99": "-999.99", "999.994": "999.99", "-999.995": 1264, "1e3": 1264, "null": None}),
        ("double(5,2) unsigned", {"0.125": "0.12", "-0.01": 1264}),
        ("year", {"'0018'": "2018", "2018.0": "2018", "'018'": "2018", "'2017.6'": "2018", "'0'": "2000", "0": "0"}),
        ("year", {"'0000'": "0", "'00'": "2000", "'0099'": "1999", "1900": 1264, "'0100'": 1264, "'x'": 1366}),
    ],
)
def test_numbers_of_fixed_digits_and_years(definition: str, values: dict[str, Any]) -> None:
    on = session(f"create table shop.items (id int primary key auto_increment, v {definition})")
    for given, expected in values.items():
        if isinstance(expected, int):
            assert error_number(on, f"insert into items (v) values ({given})") == expected
        else:
            on.execute(f"insert into items (v) values ({given})")
            assert rows(on)[-1][1] == expected
    on.execute("update items set v = 12.5")
    assert {row[1] for row in rows(on)} == {"2013" if definition == "year" else "12.5"}


def test_generated_columns_over_a_path_of_json() -> None:
    on = session(
        """create table shop.items (id int primary key, d json, n int as (d->'$.n') stored, v int as (d->'$.n'),
        c decimal(8,2) as (d->'$.c') stored, f double(8,1) as (d->'$.f') stored, b bool as (d->'$.b') stored,
        t datetime as (d->'$.t') stored, s varchar(9) as (d->'$.s') stored, u varchar(9) as (d->>'$.s') stored,
        unique key (v))"""
    )
    on.execute("""insert into items (id, d) values (1, '{"n": 5, "c": 1.255, "f": 2, "b": true, "t": "2024-01-02"}')""")
    on.execute("""insert into items (id, d) values (2, '{"n": "7", "c": "3.1", "f": 0.25, "b": false, "s": "x"}')""")
    on.execute("insert into items (id, d) values (3, '{}')")
    assert [row[2:] for row in rows(on)] == [
        ("5", "1.26", "2", "1", "2024-01-02 00:00:00", None, None),
        ("7", "3.10", "0.2", "0", None, '"x"', "x"),
        (None,) * 7,
    ]
    for document, number in (
        ('{"n": 5}', 1062),
        ('{"n": {}}', 1366),
        ('{"n": 3000000000}', 1264),
        ('{"n": "a"}', 1366),
    ):
        assert error_number(on, f"insert into items (id, d) values (9, '{document}')") == number
    on.execute("update items set d = json_set(d, '$.n', 8) where id = 3")
    assert rows(on)[-1][2] == "8"


@pytest.mark.parametrize(
    ("definition", "number"),
    [
        ("datetime not null default '0000-00-00 00:00:00'", 1067),
        ("timestamp default 0", 1067),
        ("date default '2024-00-01'", 1067),
        ("date default '2024-02-30'", -1067),
        ("int default 'x'", -1067),
        ("int not null default null", -1067),
        ("text default ''", 1101),
        ("json default ''", 1101),
        ("blob default 'x'", -1101),
        ("varchar(36) default (upper('a'))", -3770),
        ("varchar(36) default (replace('a', 'b', 'c'))", -3770),
        ("varchar(36) default (date_format(now(), '%Y'))", -3770),
        ("varchar(36) default (upper(substring_index(user(), '@', 1)))", 0),
        ("varchar(36) default (replace(upper(uuid()), '-', ''))", 0),
        ("varchar(36) default (date_format(now(), '%Y-%m'))", 0),
        ("json default (json_object('a', 1))", 0),
        ("date default '2024-01-01'", 0),
    ],
)
def test_defaults_that_tidb_refuses(definition: str, number: int) -> None:
    """``number`` is below 0 for those that every SQL mode refuses."""
    for statement in ("create table shop.n (id int primary key, v {})", "alter table items modify stock {}"):
        for mode in (DEFAULT_SQL_MODE, "TRADITIONAL", ""):
            on = session(sql_mode=mode)
            if number < 0 or (number and mode):
                assert error_number(on, statement.format(definition)) == abs(number)
            else:
                on.execute(statement.format(definition))
                assert on.apply("create table shop.m (id int primary key, v datetime default 0)", 1 << 60)
    lenient = session(sql_mode="STRICT_TRANS_TABLES")
    lenient.execute(
        "create table shop.n (id int primary key, v date default '0000-00-00', w date default '2024-00-01')"
    )


@pytest.mark.parametrize(
    ("statement", "part"),
    [
        ("insert into items select * from items", "INSERT ... SELECT"),
        ("insert into items values (1, 'a', 1) on duplicate key update stock = (select 1)", "a subquery"),
        ("insert into items values (1, 'a', 1) as n on duplicate key update stock = n.stock", "write VALUES(column)"),
        ("insert ignore into items values (1, 'a', 1) on duplicate key update stock = 1", "INSERT IGNORE with ON"),
        ("insert ignore into items values (3, 'c', 1 / 0)", "INSERT IGNORE with an error (Division by 0)"),
        ("update items, items b set items.stock = 1", "UPDATE of several tables"),
        ("update items set stock = 1 order by id", "ORDER BY in UPDATE"),
        ("delete from items limit 1", "LIMIT in DELETE"),
        ("delete from items where id in (select 1)", "a subquery"),
        ("update items set name = soundex(name)", "SOUNDEX()"),
        ("update items set id = id + 1", "keys change places"),
        ("load data infile 'x' into table items", "LOAD"),
        ("set insert_id = 5", "SET insert_id"),
        ("set tidb_enable_clustered_index = off", "SET tidb_enable_clustered_index"),
        ("set global tidb_enable_check_constraint = on", "SET tidb_enable_check_constraint"),
        ("set @a = @@hostname; update items set name = @a", "the value of @@hostname"),
        ("set collation_connection = utf8mb4_general_ci; delete from items", "utf8mb4_general_ci"),
        ("set names gbk", "SET NAMES gbk"),
        ("/* ticdc-emit: color=1 */ delete from items", "color"),
        ("update items set", "not understood"),
        ("select @a := 1", "assigns to a variable"),
        ("set @a = 'a'; update items set stock = 1 where name = @a", "the variable @a, which holds text"),
        ("update parts set a = 2", "moves a row to another partition"),
        ("update `keys` set a = 2", "keys is not partitioned by RANGE, LIST or HASH"),
    ],
)
def test_what_is_not_executed_is_refused_by_name(on: Session, statement: str, part: str) -> None:
    on.execute("create table parts (a int primary key) partition by hash (a) partitions 2")
    on.execute("insert into parts values (1)")
    on.execute(
        "create table `keys` (a int primary key) partition by key (a) partitions 2; insert into `keys` values (1)"
    )
    on.execute("insert into items values (1, 'a', 1), (2, 'b', 2)")
    before = rows(on)
    with pytest.raises(UnsupportedStatementError) as caught:
        on.execute(statement)
    assert part in str(caught.value)
    assert caught.value.remedy
    assert rows(on) == before


def test_a_failing_statement_leaves_the_transaction_open(on: Session) -> None:
    on.execute("begin; insert into items values (1, 'a', 1)")
    with pytest.raises(StatementError):
        on.execute("insert into items values (2, 'b', 1), (1, 'c', 1)")
    assert sent(on, "commit") == [("insert", None, "1")]


def test_ddl_that_does_not_fit_the_rows_changes_nothing(on: Session) -> None:
    on.execute("insert into items values (1, 'a', 1), (2, 'b', 1)")
    for statement, error in [
        ("create unique index u on items (stock)", StatementError),
        ("alter table items modify name varchar(0) not null", TicdcEmitError),
        ("alter table items modify stock varchar(5)", SchemaError),
        ("alter table items drop column nothing", DdlError),
    ]:
        with pytest.raises(error):
            on.execute(statement)
    on.execute("insert into items values (3, 'c', 1)")
    assert [column.name for column in on.database.catalog.table("shop", "items").columns] == ["id", "name", "stock"]


def test_values_that_do_not_fit_are_refused_outside_of_strict_mode() -> None:
    on = session(sql_mode="")
    on.execute("create table kinds (id int primary key, e enum('x'), d date, t tinyint, n int not null)")
    for statement in (
        "insert into items values (1, 'elevenchars', 1)",
        "insert into kinds values (1, 'y', null, 1, 1)",
        "insert into kinds values (1, 'x', '2024-02-30', 1, 1)",
        "insert into kinds values (1, 'x', null, 128, 1)",
        "insert into kinds values (1, 'x', null, 'one', 1)",
        "insert into kinds values (1, 'x', null, 1, null)",
        "insert into kinds (id) values (1)",
    ):
        with pytest.raises(UnsupportedStatementError, match="strict"):
            on.execute(statement)
    on.execute(f"insert into items values (0, 'a', 1); set sql_mode = '{DEFAULT_SQL_MODE},NO_AUTO_VALUE_ON_ZERO'")
    on.execute("insert into items values (0, 'b', 1)")
    assert rows(on) == [("1", "a", "1"), ("0", "b", "1")]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("insert into items values (5, 'a', 1)", 1062),
        ("insert into nowhere values (1)", 1146),
        ("update items set nothing = 1", 1054),
        ("insert into doubled values (1, 2)", 3105),
    ],
)
def test_what_fails_in_every_mode_has_its_own_error_outside_of_strict_mode(statement: str, number: int) -> None:
    on = session(sql_mode="NO_AUTO_VALUE_ON_ZERO")  # that of every dump
    on.execute("create table doubled (a int primary key, b int as (a * 2)); insert into items values (5, 'a', 1)")
    assert error_number(on, statement) == number


FAMILY = """
create table shop.parent (id int primary key, code int unique);
create table shop.child (id int primary key, pid int, foreign key (pid) references parent(ID) {action});
"""


@pytest.mark.parametrize(
    ("action", "statement", "left"),
    [
        ("on delete cascade", "delete from parent where id = 1", [("12", "2"), ("13", None)]),
        ("on delete set null", "delete from parent where id = 1", [("11", None), ("12", "2"), ("13", None)]),
        ("on update cascade", "update parent set id = 9 where id = 1", [("11", "9"), ("12", "2"), ("13", None)]),
        ("on update set null", "update parent set id = 9 where id = 1", [("11", None), ("12", "2"), ("13", None)]),
        ("", "update parent set code = 9", [("11", "1"), ("12", "2"), ("13", None)]),
    ],
)
def test_foreign_keys_cascade_in_the_same_transaction(action: str, statement: str, left: list[Any]) -> None:
    on = session(FAMILY.format(action=action))
    on.execute("insert into parent values (1, 1), (2, 2); insert into child values (11, 1), (12, 2), (13, null)")
    if not action:
        statement += " where id = 1"
    on.execute(statement)
    assert sorted(rows(on, "child")) == left


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("insert into child values (14, 3)", 1452),
        ("update child set pid = 3", 1452),
        ("delete from parent where id = 1", 1451),
        ("update parent set id = 9 where id = 1", 1451),
        ("truncate table parent", 1701),
    ],
)
def test_foreign_keys_hold_unless_they_are_off(statement: str, number: int) -> None:
    on = session(FAMILY.format(action=""))
    on.execute("insert into parent values (1, 1); insert into child values (11, 1)")
    assert error_number(on, statement) == number
    assert (rows(on, "parent"), rows(on, "child")) == ([("1", "1")], [("11", "1")])
    if number != 1701:
        on.execute(f"set foreign_key_checks = 0; {statement}")


DUMP = r"""
/*!40101 SET NAMES utf8mb4 */;
/*!40103 SET @OLD_TIME_ZONE=@@TIME_ZONE */;
/*!40103 SET TIME_ZONE='+00:00' */;
/*!40014 SET @OLD_UNIQUE_CHECKS=@@UNIQUE_CHECKS, UNIQUE_CHECKS=0 */;
/*!40014 SET @OLD_FOREIGN_KEY_CHECKS=@@FOREIGN_KEY_CHECKS, FOREIGN_KEY_CHECKS=0 */;
/*!40101 SET @OLD_SQL_MODE=@@SQL_MODE, SQL_MODE='NO_AUTO_VALUE_ON_ZERO' */;
/*!40101 SET @saved_cs_client = @@character_set_client */;
LOCK TABLES `items` WRITE;
INSERT INTO `items` VALUES (0,'a',1),(2,'it''s \\',2);
UNLOCK TABLES;
/*!40101 SET character_set_client = @saved_cs_client */;
/*!40101 SET SQL_MODE=@OLD_SQL_MODE */;
/*!40014 SET FOREIGN_KEY_CHECKS=@OLD_FOREIGN_KEY_CHECKS */;
/*!40103 SET TIME_ZONE=@OLD_TIME_ZONE */;
"""


def test_a_file_of_mysqldump_runs(on: Session) -> None:
    on.execute(DUMP)
    assert rows(on) == [("0", "a", "1"), ("2", "it's \\", "2")]
    on.execute("insert into items values (0, 'b', 1)")
    assert rows(on)[-1] == ("3", "b", "1")


def test_rows_of_temporary_tables_are_refused(on: Session) -> None:
    with pytest.raises(DdlError, match="local temporary tables"):
        on.execute("create temporary table g (id int)")
    on.execute("create global temporary table g (id int) on commit delete rows; drop temporary table if exists items")
    with pytest.raises(UnsupportedStatementError, match="a change of the temporary table"):
        on.execute("insert into g values (1)")


# -- changes that are not SQL ------------------------------------------------------------------------------------------


def test_sql_and_other_changes_act_on_the_same_rows(on: Session) -> None:
    change = {"schema": "shop", "table": "items", "op": "insert", "commit_ts": 5, "before": None}
    on.database.take([{**change, "after": {"id": "4", "name": "d", "stock": "1"}}])
    on.execute("update items set stock = stock + 1 where id = 4; insert into items (name) values ('e')")
    assert rows(on) == [("4", "d", "2"), ("5", "e", "3")]
    on.database.take([{**change, "op": "delete", "before": {"id": "5", "name": "e", "stock": "3"}}])
    on.execute("insert into items values (5, 'e', 3)")
    on.execute("begin; delete from items")
    with pytest.raises(StateError, match="open"):
        on.apply("drop table items", 1 << 60)
    on.rollback()
    on.apply("alter table items add column size int", 1 << 60)
    assert sorted(rows(on)) == [("4", "d", "2", None), ("5", "e", "3", None)]


# -- SET ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "set global max_connections = 1; set persist x = 2; set @@global.gtid_purged = /*!80000 '+'*/ 'a:1-7'",
        "set @a = @@session.sql_log_bin; set @@session.sql_log_bin = 0; set @@session.sql_log_bin = @a",
        "set default_storage_engine = InnoDB, sql_auto_is_null = 0, sql_require_primary_key = off",
        "set binlog_format = row; set session tidb_isolation_read_engines = 'tikv', timestamp = default",
        "set tidb_txn_mode = 'pessimistic', tidb_enable_clustered_index = on",
        "set names binary; set names utf8mb4 collate utf8mb4_general_ci; set names default",
        "set @c = @@collation_connection; set collation_connection = utf8mb4_0900_ai_ci; set collation_connection = @c",
        "set @m = @@sql_mode, @z = @@time_zone, @k = @@foreign_key_checks, @u = @@unique_checks;"
        " set foreign_key_checks = 0; set sql_mode = @m, time_zone = @z, foreign_key_checks = @k, unique_checks = @u",
        "set global sql_mode = 'NO_SUCH_MODE'; set global time_zone = 'nowhere'",
        "set session sql_mode = @@global.sql_mode, time_zone = @@global.time_zone",
        "set session transaction isolation level read committed; set role none; set password = 'x'",
        "set auto_increment_increment = 1; set @i = @@auto_increment_increment; set auto_increment_increment = @i",
    ],
)
def test_a_variable_on_which_no_row_depends_is_skipped(on: Session, statement: str) -> None:
    assert {result.kind for result in on.execute(statement)} <= {"set", "skipped"}
    on.execute("insert into items (name) values ('Zürich'), (_binary 'ö'); update items set stock = 4")
    assert rows(on) == [("1", "Zürich", "4"), ("2", "ö", "4")]


@pytest.mark.parametrize(
    ("value", "accepted"),
    [
        ("concat(@@sql_mode, ',NO_AUTO_VALUE_ON_ZERO')", False),
        ("(select replace(@@sql_mode, 'NO_ZERO_DATE', ''))", True),
        ("(select replace(@@session.sql_mode, 'NO_ZERO_DATE', 'PIPES_AS_CONCAT'))", True),
        ("replace(@mode, 'ONLY_FULL_GROUP_BY,', '')", False),
        ("replace(@mode, 'NO_ZERO_DATE', '')", True),
        ("concat(@@global.sql_mode, ',ANSI')", False),
    ],
)
def test_an_sql_mode_of_an_expression_is_evaluated(value: str, accepted: bool) -> None:
    on = session("create table shop.items (id int primary key, d date)")
    on.execute(f"set @mode = @@sql_mode; set sql_mode = {value}")
    statement = "insert into items values (1, '0000-00-00')"
    if accepted:
        on.execute(statement)
    else:
        with pytest.raises(StatementError):
            on.execute(statement)


MOMENTS = """
create table shop.items (id int primary key, t timestamp null, d datetime null, n timestamp default current_timestamp,
 m datetime default current_timestamp, u timestamp null on update current_timestamp)
"""


def in_zone(zone: str, script: str, schema: str = MOMENTS) -> Session:
    on = session_of(schema, "Asia/Shanghai")
    on.execute(f"set time_zone = {zone}; {script}")
    return on


@pytest.mark.parametrize(
    ("zone", "value", "timestamp", "datetime"),
    [
        ("'+00:00'", "'2024-03-01 10:00:00'", "2024-03-01 18:00:00", "2024-03-01 10:00:00"),
        ("'-03:30'", "20240301100000", "2024-03-01 21:30:00", "2024-03-01 10:00:00"),
        ("'Europe/Berlin'", "'2024-07-01 10:00:00'", "2024-07-01 16:00:00", "2024-07-01 10:00:00"),
        ("'Europe/Berlin'", "'2024-07-01 10:00:00+00:00'", "2024-07-01 18:00:00", "2024-07-01 12:00:00"),
        ("'Europe/Berlin'", "'2024-10-27 02:30:00'", "2024-10-27 08:30:00", "2024-10-27 02:30:00"),
        ("'America/New_York'", "'2024-11-03 01:30:00'", "2024-11-03 13:30:00", "2024-11-03 01:30:00"),
        ("SYSTEM", "'2024-03-01 10:00:00'", "2024-03-01 10:00:00", "2024-03-01 10:00:00"),
        ("default", "'2024-03-01 10:00:00'", "2024-03-01 10:00:00", "2024-03-01 10:00:00"),
        ("'UTC'", "now()", "2024-01-01 08:00:01", "2024-01-01 00:00:01"),
        ("'UTC'", "current_timestamp(6)", "2024-01-01 08:00:01", "2024-01-01 00:00:01"),
    ],
)
def test_values_of_timestamps_are_in_the_time_zone_of_the_session(
    zone: str, value: str, timestamp: str, datetime: str
) -> None:
    on = in_zone(zone, f"insert into items (id, t, d) values (1, {value}, {value})")
    ((_, t, d, *_),) = rows(on)
    assert (t, d) == (timestamp, datetime)


def test_expressions_see_timestamps_in_the_time_zone_of_the_session() -> None:
    on = in_zone("'+00:00'", "insert into items (id, t) values (1, '2024-03-01 10:00:00'), (2, '2024-03-01 23:00:00')")
    assert [row[3:5] for row in rows(on)] == [("2024-01-01 08:00:01", "2024-01-01 00:00:01")] * 2
    on.execute("update items set d = t, t = date_add(t, interval 1 hour) where t = '2024-03-01 10:00:00'")
    on.execute("update items set d = t where date(t) = '2024-03-01' and id = 2")
    assert [(t, d, u) for _, t, d, _, _, u in rows(on)] == [
        ("2024-03-01 19:00:00", "2024-03-01 10:00:00", "2024-01-01 08:00:02"),
        ("2024-03-02 07:00:00", "2024-03-01 23:00:00", "2024-01-01 08:00:03"),
    ]
    on.execute("set time_zone = @@global.time_zone; update items set d = t where id = 1")
    assert dict(row[0:3:2] for row in rows(on))["1"] == "2024-03-01 19:00:00"


def test_a_generated_column_of_a_timestamp_has_the_time_zone_of_the_session() -> None:
    generated = "h int as (hour(t)) stored, c timestamp as (t) stored"
    schema = f"create table shop.items (id int primary key, t timestamp, {generated})"
    on = in_zone("'+00:00'", "insert into items (id, t) values (1, '2024-03-01 10:00:00')", schema)
    assert rows(on) == [("1", "2024-03-01 18:00:00", "10", "2024-03-01 18:00:00")]


@pytest.mark.parametrize(
    ("statement", "number"),
    [
        ("insert into items (id, t) values (2, '2024-03-31 02:30:00')", 1292),
        ("update items set t = '2024-03-31 02:30:00'", 8179),
        ("insert into items (id, t) values (2, '1970-01-01 01:00:00')", 1292),
        ("set time_zone = 'Mars/North'", 1298),
        ("set time_zone = '+14:01'", 1298),
        ("set time_zone = '-13:00'", 1298),
    ],
)
def test_a_time_that_a_zone_does_not_have_fails_as_in_tidb(statement: str, number: int) -> None:
    on = in_zone("'Europe/Berlin'", "insert into items (id, t) values (1, '1970-01-01 01:00:01')")
    assert error_number(on, statement) == number


@pytest.mark.parametrize(
    "statement",
    [
        "create table b (a int primary key, t timestamp default '2024-01-01 00:00:00')",
        "alter table items add column x timestamp not null default 20240101",
        "alter table items alter column n set default '2024-01-01'",
    ],
)
def test_a_default_of_timestamp_in_another_time_zone_is_refused(statement: str) -> None:
    others = "t timestamp default '0000-00-00', d date default '2024-01-01'"
    on = in_zone("'+00:00'", f"set sql_mode = ''; create table c (a int primary key, {others})")
    with pytest.raises(UnsupportedStatementError, match="a DEFAULT of TIMESTAMP in the time zone"):
        on.execute(statement)
    on.execute(f"set time_zone = 'Asia/Shanghai'; {statement}")


def test_user_statements_commit_and_other_skipped_ones_do_not(on: Session) -> None:
    assert sent(on, "begin; insert into items values (1, 'a', 1); create user u; rollback") == [("insert", None, "1")]
    trigger = "create trigger b before insert on items for each row set @a = 1"
    assert sent(on, f"begin; delete from items; {trigger}; rollback") == []
