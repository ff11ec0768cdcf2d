"""The catalog as a whole: databases, history, ids, scripts, all-or-nothing, views."""

from __future__ import annotations

import copy
import pickle

import pytest

from ticdc_emit.errors import DdlError, SchemaError, UnknownTableError
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.model import type_desc
from ticdc_emit.schema.store import AssignedIds, IdSource

SCRIPT = """
-- the shop; it's small
CREATE DATABASE IF NOT EXISTS shop CHARSET latin1;
USE shop;
create table orders (id bigint primary key, note varchar(9) default 'a;b'); # end
/*!40101 CREATE TABLE `items` (id int) */;
create table test.other like orders;
rename table items to goods, orders to shop.Orders2;
"""


def test_a_script_gives_a_catalog() -> None:
    catalog = catalog_from_sql(SCRIPT)
    assert sorted(info.full_name for info in catalog.tables()) == ["shop.Orders2", "shop.goods", "test.other"]
    assert catalog.table("SHOP", "orders2").column("note").charset == "latin1"
    with pytest.raises(DdlError) as caught:
        catalog_from_sql("create table a (x int); create table b (x);")
    assert caught.value.statement == "create table b (x)"


def test_a_scripts_own_schema_is_made() -> None:
    assert catalog_from_sql("create table a (x int)", schema="odd`db").table("odd`db", "a").id == 118


def test_names_are_found_in_any_case_and_keep_theirs() -> None:
    catalog = catalog_from_sql("create table Tab (Col int)")
    assert catalog.table("TEST", "tAB").full_name == "test.Tab"
    with pytest.raises(DdlError, match="exists"):
        catalog.apply("create table TAB (x int)")


def test_a_rename_names_its_database_in_lower_case_until_the_tables_next_ddl() -> None:
    catalog = catalog_from_sql("create database Ärger; create table Ärger.A (x int); create table Ärger.B (x int)")
    (renamed,) = catalog.apply("rename table ärger.a to Ärger.C")
    assert (renamed.schema, renamed.table) == ("ärger", "C")
    assert (renamed.table_info.schema, renamed.pre_table_info.schema) == ("ärger", "Ärger")
    assert catalog.table("ÄRGER", "c").schema == "ärger"
    (altered,) = catalog.apply("alter table ärger.C add y int")
    assert (altered.schema, altered.pre_table_info.schema) == ("Ärger", "ärger")
    assert catalog.table("ärger", "c").schema == "Ärger"
    assert catalog.apply("alter table ärger.c rename to Ärger.C") == ()
    catalog.apply("alter table ärger.c rename to ärger.D")
    several = catalog.apply("rename table ärger.d to ärger.E, ärger.B to test.F")
    assert [(event.schema, event.query) for event in several] == [
        ("Ärger", "RENAME TABLE `Ärger`.`D` TO `Ärger`.`E`"),
        ("test", "RENAME TABLE `Ärger`.`B` TO `test`.`F`"),
    ]


def test_the_new_architecture_keeps_the_case_of_a_renamed_tables_database() -> None:
    script = "create database Db; create table Db.a (x int); rename table Db.a to Db.b"
    assert catalog_from_sql(script).tables()[0].schema == "db"
    assert catalog_from_sql(script, renamed_schema="as-created").tables()[0].schema == "Db"


@pytest.mark.parametrize(
    "columns", ["id int auto_increment, a int", "a int, id int auto_increment, key (a, id)", "id float auto_increment"]
)
def test_auto_increment_needs_no_key(columns: str) -> None:
    assert catalog_from_sql(f"create table t ({columns})").table("test", "t").column("id").name == "id"


def test_history_by_commit_ts() -> None:
    catalog = Catalog()
    catalog.apply("create table t (a int)", commit_ts=100)
    catalog.apply("alter table t add b int", commit_ts=200)
    catalog.apply("rename table t to u", commit_ts=300)
    catalog.apply("drop table u", commit_ts=400)
    assert [len(catalog.at("test", "t", ts).columns) for ts in (100, 199, 200, 299)] == [1, 1, 2, 2]
    assert catalog.at("test", "U", 399).name == "u"
    for name, ts in (("t", 99), ("t", 300), ("u", 299), ("u", 400)):
        with pytest.raises(UnknownTableError):
            catalog.at("test", name, ts)
    with pytest.raises(UnknownTableError):
        catalog.table("test", "u")


def test_ids_given_by_the_caller() -> None:
    catalog = Catalog(ids=IdSource(first_id=500))
    ids = AssignedIds(table_id=7, column_ids={"a": 3}, partition_ids={"p": 9}, version=11, update_ts=10)
    partition = "partition by range (a) (partition p values less than (1), partition q values less than (2))"
    (event,) = catalog.apply(f"create table t (a int, b int) {partition}", ids=ids)
    info = event.table_info
    assert (info.id, info.column("a").id, info.version, info.update_ts) == (7, 3, 11, 10)
    assert [partition.id for partition in info.partitions] == [9, 500]
    catalog.apply("alter table t add c int")
    assert catalog.table("test", "t").column("c").id == 4


def test_several_tables_are_several_events() -> None:
    catalog = catalog_from_sql("create table a (x int); create table b (x int); create database d")
    renamed = catalog.apply("rename table a to d.a2, b to a", ids=[AssignedIds(version=5), AssignedIds(version=6)])
    assert [event.query for event in renamed] == [
        "RENAME TABLE `test`.`a` TO `d`.`a2`",
        "RENAME TABLE `test`.`b` TO `test`.`a`",
    ]
    assert [(event.schema, event.table, event.action) for event in renamed] == [
        ("d", "a2", "rename table"),
        ("test", "a", "rename table"),
    ]
    assert [event.table_info.version for event in renamed if event.table_info] == [5, 6]
    dropped = catalog.apply("drop table if exists a, nope, d.a2")
    assert [event.query for event in dropped] == ["DROP TABLE `test`.`a`", "DROP TABLE `d`.`a2`"]
    assert catalog.tables() == ()


@pytest.mark.parametrize(
    "statement",
    [
        "rename table a to c, nope to d",
        "rename table a to b",
        "drop table a, nope",
        "alter table a add y int, drop column nope",
        "alter table a comment 'x' charset nope",
        "create table a (x int)",
        "create table nope.a (x int)",
        "create view a as select 1",
        "create view v as select * from nope",
        "drop view a",
        "drop database nope",
        "use nope",
        "create database test",
        "alter database test charset nope",
    ],
)
def test_a_statement_that_fails_leaves_nothing_behind(statement: str) -> None:
    catalog = catalog_from_sql("create table a (x int); create table b (x int)")
    before, untouched = catalog.tables(), copy.deepcopy(catalog)
    with pytest.raises(SchemaError) as caught:
        catalog.apply(statement)
    assert caught.value.statement == statement
    assert pickle.loads(pickle.dumps(caught.value)).context == caught.value.context
    assert catalog.tables() == before
    assert catalog.apply("create table n (x int)") == untouched.apply("create table n (x int)")
    assert catalog.tables() == untouched.tables()


def test_statements_without_effect_give_no_event() -> None:
    catalog = catalog_from_sql("create table a (x int)")
    for statement in (
        "create table if not exists a (y int)",
        "create table if not exists a like a",
        "create database if not exists test",
        "drop table if exists nope",
        "drop view if exists nope",
        "drop database if exists nope",
        "use test",
        "drop temporary table tmp",
        "alter database test charset utf8mb4",
    ):
        assert catalog.apply(statement) == ()


def test_like_copies_all_but_foreign_keys() -> None:
    catalog = catalog_from_sql("create table t (a int, b int unique, foreign key (a) references p (x)) comment 'c'")
    catalog.apply("create table u like t")
    source, clone = catalog.table("test", "t"), catalog.table("test", "u")
    assert (clone.columns, clone.indexes, clone.comment) == (source.columns, source.indexes, "c")
    with pytest.raises(DdlError, match="no foreign key"):
        catalog.apply("alter table u drop foreign key fk_1")


@pytest.mark.parametrize(
    ("view", "names"),
    [
        ("v as select * from t", ["id", "A b"]),
        ("v as select x.*, 1 from t as x join u", ["id", "A b", "1"]),
        ("v as select `A b` , t.id, id+1, count(*) n, 'lit', max( id ) as `m x` from t group by 1", None),
        ("v (p, q) as select 1, 2 union all select 3, 4", ["p", "q"]),
        ("v as (select id from t)", ["id"]),
        (
            "v as select (id), +(`A b`), null, true, ( 1.50 ), (7), ('x'), id + 1, -id from t",
            ["id", "A b", "NULL", "TRUE", "1.50", "(7)", "x", "id + 1", "-id"],
        ),
        ("v as select distinct id x from t where id in (select id from u) with local check option", ["x"]),
    ],
)
def test_view_columns(view: str, names: list[str] | None) -> None:
    catalog = catalog_from_sql("create table t (id int, `A b` int, key ((id + 1))); create table u (id int)")
    (event,) = catalog.apply(f"create view {view}")
    info = event.table_info
    assert info.is_view
    expected = names or ["A b", "id", "id+1", "n", "lit", "m x"]
    assert [column.name for column in info] == expected
    assert {type_desc(column) for column in info} == {"unspecified"}
    with pytest.raises(DdlError, match="is a view"):
        catalog.apply("alter table v add x int")


@pytest.mark.parametrize(
    "view",
    [
        "v as select",
        "v as insert into t values (1)",
        "v (a) as select 1, 2",
        "v as select id, id from t",
        "v as select * from (select 1) x",
        "v as with c as (select 1) select * from c",
        "v as select * from nope",
    ],
)
def test_views_that_cannot_be_resolved_are_refused(view: str) -> None:
    catalog = catalog_from_sql("create table t (id int)")
    with pytest.raises(SchemaError):
        catalog.apply(f"create view {view}")


@pytest.mark.parametrize(
    "statement",
    [
        "create table t (a int, A int)",
        "create table t (a int, primary key (a), b int primary key)",
        "create table t (a int null primary key)",
        "create table t (a int null, primary key (a))",
        "create table t (a int, key k (a), key K (a))",
        "create table t (a text, key (a))",
        "create table t (a json, key (a))",
        "create table t (a int auto_increment key, b int auto_increment unique)",
        "create table t (a varchar(5) auto_increment key)",
        "create table t (a bigint auto_random)",
        "create table t (a int auto_random primary key)",
        "create table t (a int as (b) virtual, b int as (1))",
        "create table t (a int as (a + 1))",
        "create table t (a int as (nope))",
        "create table t (a int as (1) primary key)",
        "create table t (a char(256))",
        "create table t (a decimal(66))",
        "create table t (a decimal(5, 31))",
        "create table t (a float(54))",
        "create table t (a double(5))",
        "create table t (a bit(65))",
        "create table t (a bit(0))",
        "create table t (a datetime(7))",
        "create table t (a year(2))",
        "create table t (a int(256))",
        "create table t (a vector(16384))",
        "create table t (a enum('x', 'x'))",
        "create table t (a enum('x', 'X') collate utf8mb4_general_ci)",
        "create table t (a set('x,y'))",
        "create table t (a varchar(3) collate utf8mb4_german2_ci)",
        "create table t (a varchar(3) charset latin1 collate utf8mb4_bin)",
        "create table t (a int collate nope)",
        "create table t (a int on update now())",
        "create table t (a datetime(3) on update now())",
        "create table t (`a ` int)",
        "create table `` (a int)",
        "create table t (_tidb_rowid int)",
        "create table t (" + "x" * 65 + " int)",
        "create table t (a int, unique k (a) clustered)",
        "create table t (a int) partition by range (a) (partition p values less than (1), partition P values in (2))",
        "create table t (a int) charset utf8 collate utf8mb4_bin",
        "create table t (a int) partition by range (nope) (partition p values less than (1))",
        "create table t (a int) partition by key (nope) partitions 2",
        "create table t (a int) partition by range (a) (partition p)",
        "create table t (a int) partition by list (a) (partition p values less than (1))",
        "create table t (a int default 1e999)",
        "create table t (a int default .5.)",
        "create table t (a int(99999999999999999999999))",
        "create table t (a varchar(3) default '\ud800')",
        "create table t (a int default " + "(" * 5000 + "1" + ")" * 5000 + ")",
    ],
)
def test_tables_that_tidb_refuses(statement: str) -> None:
    catalog = Catalog()
    with pytest.raises(DdlError) as caught:
        catalog.apply(statement)
    assert caught.value.statement == statement
    assert isinstance(caught.value.position, int)
    assert catalog.tables() == ()


def test_an_unknown_time_zone_is_refused() -> None:
    with pytest.raises(SchemaError, match="time zone"):
        Catalog(time_zone="Mars/Olympus")
