"""ALTER TABLE: next versions, actions, ids, refusals."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import DdlError, SchemaError, UnknownTableError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.defaults import with_original_defaults
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo

TABLE = "create table t (id int primary key, a varchar(10), b int, key kb (b), unique key ab (a, b))"


def run(*statements: str) -> tuple[Catalog, tuple[DdlEvent, ...]]:
    catalog = Catalog()
    events: tuple[DdlEvent, ...] = ()
    for number, statement in enumerate(statements, start=1):
        events = catalog.apply(statement, commit_ts=number << 18)
    return catalog, events


def after(*statements: str) -> TableInfo:
    return run(*statements)[0].table("test", "t")


def names(info: TableInfo) -> list[str]:
    return [column.name for column in info]


def test_ids_are_never_used_twice() -> None:
    info = after(TABLE, "alter table t add c int", "alter table t drop column c", "alter table t add d int")
    assert info.column("d").id == 5
    info = after(TABLE, "alter table t drop index ab", "alter table t add index (a)")
    assert [(index.name, index.id) for index in info.indexes] == [("kb", 1), ("a", 3)]


@pytest.mark.parametrize(
    ("old", "new", "rewritten"),
    [
        ("int", "bigint", False),
        ("bigint", "int", True),
        ("int", "int unsigned", True),
        ("int(5)", "int(3)", False),
        ("varchar(5)", "varchar(9)", False),
        ("varchar(9)", "varchar(5)", True),
        ("varchar(9)", "char(9)", True),
        ("char(5)", "varchar(50)", False),
        ("varchar(9)", "text", False),
        ("decimal(5,2)", "decimal(6,2)", True),
        ("enum('a')", "enum('a','b')", False),
        ("enum('a','b')", "enum('b','a')", True),
        ("datetime(3)", "datetime", True),
        ("datetime", "datetime(3)", False),
        ("int", "varchar(11)", True),
    ],
)
def test_a_column_whose_data_is_rewritten_gets_a_new_id(old: str, new: str, rewritten: bool) -> None:
    info = after(f"create table t (a {old}, b int)", f"alter table t modify a {new}")
    assert info.column("a").id == (3 if rewritten else 1)
    assert names(info) == ["a", "b"]


def test_char_becomes_varchar_without_rewriting_unless_it_is_indexed() -> None:
    modify = "alter table t modify a varchar(9)"
    assert after("create table t (a char(5), key (a))", modify).column("a").id == 2
    assert after("create table t (a char(5), b int, key (b))", modify).column("a").id == 1


def test_index_names() -> None:
    info = after(
        "create table t (`primary` int, Ab int, c int unique, key (ab), key (ab), key ab_3 (ab), unique (`primary`),"
        " key ((c + 1)))",
        "alter table t add index (Ab), add unique (c)",
    )
    expected = ["ab", "ab_2", "ab_3", "primary_2", "expression_index", "c", "Ab_4", "c_2"]
    assert [index.name for index in info.indexes] == expected
    info = after("create table t (a int, key (a), key (a), key (a))", "alter table t add key (a), add key (a)")
    assert [index.name for index in info.indexes] == ["a", "a_2", "a_3", "a_4", "a_5"]


@pytest.mark.parametrize(
    ("change", "action"),
    [
        ("add x int", "add column"),
        ("add (x int)", "add column"),
        ("add (x int, y int)", "alter table multi-schema change"),
        ("add (x int, key (x))", "alter table multi-schema change"),
        ("add index (b), algorithm=inplace, lock=none", "add index"),
        ("drop index kb", "drop index"),
        ("drop index ab, drop column b", "alter table multi-schema change"),
        ("alter a set default 'x'", "set default value"),
        ("alter column a drop default", "set default value"),
        ("alter index kb invisible", "alter index visibility"),
        ("rename index kb to kk", "rename index"),
        ("rename to u", "rename table"),
        ("comment 'x'", "modify table comment"),
        ("auto_increment 5", "rebase auto_increment ID"),
        ("force auto_increment 5", "rebase auto_increment ID"),
        ("auto_id_cache=7", "modify auto id cache"),
        ("auto_random_base=7", "rebase auto_random ID"),
        ("shard_row_id_bits=4", "shard row ID"),
        ("placement policy=p", "alter table placement"),
        ("set tiflash replica 1", "set tiflash replica"),
        ("attributes 'x'", "alter table attributes"),
        ("cache", "alter table cache"),
        ("nocache", "alter table nocache"),
        ("add foreign key (b) references p (x)", "add foreign key"),
        ("add constraint f foreign key (a) references p (x)", "add foreign key"),
        ("partition by hash (id) partitions 2", "alter table partition by"),
    ],
)
def test_actions(change: str, action: str) -> None:
    _, (event,) = run(TABLE, f"alter table t {change}")
    assert event.action == action
    assert event.pre_table_info is not None
    assert event.query == f"alter table t {change}"


def test_several_options_are_several_jobs() -> None:
    _, events = run(TABLE, "alter table t comment 'x' auto_increment 9 collate utf8mb4_general_ci")
    assert [event.action for event in events] == [
        "modify table comment",
        "rebase auto_increment ID",
        "modify table charset and collate",
    ]
    assert events[1].pre_table_info == events[0].table_info


@pytest.mark.parametrize(
    "change",
    ["engine innodb", "enable keys", "add check (b > 0)", "drop column if exists x", "add column if not exists b int"],
)
def test_changes_that_tidb_ignores_give_no_event(change: str) -> None:
    assert run(TABLE, f"alter table t {change}")[1] == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("add b int", "duplicate column name"),
        ("add x int after nope", "has no column 'nope'"),
        ("add x int primary key", "PRIMARY KEY"),
        ("add x int auto_increment", "AUTO_INCREMENT"),
        ("add x int as (b) stored", "stored generated expression"),
        ("add x int as (nope)", "has no column"),
        ("drop nope", "has no column"),
        ("drop id", "primary key"),
        ("drop b", "composite index"),
        ("modify nope int", "has no column"),
        ("change a b int", "duplicate column name"),
        ("modify a int unique", "UNIQUE"),
        ("modify id int auto_increment", "AUTO_INCREMENT"),
        ("modify a varchar(5) after a", "after itself"),
        ("rename column nope to x", "has no column"),
        ("alter nope set default 1", "has no column"),
        ("alter b set default 'x'", "invalid default"),
        ("drop index nope", "has no index"),
        ("drop primary key", "clustered primary key"),
        ("add primary key (a)", "multiple primary keys"),
        ("add index kb (a)", "duplicate key name"),
        ("add index (nope)", "doesn't exist"),
        ("add index i (a, a)", "duplicate column name"),
        ("add index i (a(11))", "prefix"),
        ("add index i (b(2))", "prefix"),
        ("add index i ((a))", "bare column"),
        ("rename index nope to x", "has no index"),
        ("alter index nope visible", "has no index"),
        ("drop foreign key nope", "no foreign key"),
        ("convert to charset nope", "unknown character set"),
        ("charset latin1", "cannot change character set"),
        ("collate latin1_bin charset utf8mb4", "conflicting"),
        ("charset utf8mb4 collate latin1_bin", "not valid"),
        ("add partition (partition p values less than (1))", "not partitioned"),
        ("drop partition p", "not partitioned"),
        ("remove partitioning", "not partitioned"),
        ("exchange partition p with table t", "not partitioned"),
        ("ttl_enable='ON'", "TTL"),
        ("ttl = a + interval 1 day", "TTL column"),
        ("add x int, add X int", "changed column"),
        ("rename to u, add x int", "cannot be combined"),
    ],
)
def test_what_does_not_apply_is_refused_and_changes_nothing(change: str, message: str) -> None:
    catalog, _ = run(TABLE)
    before = catalog.table("test", "t")
    with pytest.raises(DdlError, match=message) as caught:
        catalog.apply(f"alter table t {change}")
    assert caught.value.statement == f"alter table t {change}"
    assert caught.value.remedy
    assert catalog.table("test", "t") == before
    assert catalog.tables() == (before,)


def test_an_unknown_table_is_its_own_error() -> None:
    for statement in ("alter table nope add a int", "drop table nope", "truncate nope", "create table t like nope"):
        with pytest.raises(UnknownTableError) as caught:
            run(statement)
        assert caught.value.statement == statement


def test_foreign_keys_bring_an_index_once() -> None:
    info = after("create table t (a int, b int, foreign key (b) references p (x))")
    assert [(index.name, index.columns) for index in info.indexes] == [("fk_1", ("b",))]
    catalog, (event,) = run("create table t (a int, b int)", "alter table t add foreign key (b) references p (x)")
    assert event.action == "alter table multi-schema change"
    with pytest.raises(DdlError, match="needed by foreign key"):
        catalog.apply("alter table t drop index fk_1")
    (event,) = catalog.apply("alter table t drop foreign key FK_1")
    assert event.action == "drop foreign key"
    assert catalog.table("test", "t").indexes[0].name == "fk_1"


def test_partition_ids_and_names() -> None:
    catalog, _ = run("create table t (a int) partition by range (a) (partition p0 values less than (1))")

    def partitions(statement: str) -> tuple[str, list[tuple[str, int]]]:
        (event,) = catalog.apply(statement)
        return event.action, [(partition.name, partition.id) for partition in event.table_info.partitions]

    assert partitions("alter table t add partition (partition p1 values less than (9))") == (
        "add partition",
        [("p0", 117), ("p1", 119)],
    )
    assert partitions("alter table t truncate partition P0")[1] == [("p0", 121), ("p1", 119)]
    reorganized = "alter table t reorganize partition p0, p1 into (partition q values less than (9))"
    assert partitions(reorganized) == ("alter table reorganize partition", [("q", 123)])
    with pytest.raises(DdlError, match="all partitions"):
        catalog.apply("alter table t drop partition q")
    catalog.apply("alter table t add b int")
    with pytest.raises(DdlError, match="used by the partitioning"):
        catalog.apply("alter table t drop column a")
    catalog.apply("alter table t drop column b")
    with pytest.raises(DdlError, match="no partition 'p9'"):
        catalog.apply("alter table t truncate partition p9")
    assert partitions("alter table t remove partitioning") == ("alter table remove partitioning", [])
    assert partitions("alter table t partition by hash (a) partitions 3")[1] == [("p0", 129), ("p1", 130), ("p2", 131)]
    assert partitions("alter table t coalesce partition 1")[0] == "alter table reorganize partition"
    assert [name for name, _ in partitions("alter table t add partition partitions 2")[1]] == ["p0", "p1", "p2", "p3"]


def test_the_original_default_stays_until_the_column_is_rewritten() -> None:
    added = ("create table t (id int primary key)", "alter table t add x int default 5")
    changes = ["rename column x to y", "change x y bigint", "modify x int comment 'c'", "alter x set default 6"]
    kept = [after(*added, f"alter table t {change}").columns[1].original_default for change in changes]
    assert kept == ["5"] * 4
    assert after(*added, "create table u like t").column("x").original_default == "5"
    assert after(*added, "alter table t modify x varchar(5) default 'a'").column("x").original_default is None
    assert with_original_defaults(after(*added, "alter table t alter x drop default")).column("x").default == "5"
    assert after("create table t (x int default 5)").column("x").original_default is None


def test_only_tidb_knows_when_a_column_was_added() -> None:
    added = "alter table t add x datetime default current_timestamp"
    info = after("create table t (id int primary key)", added)
    assert with_original_defaults(info) is info
    dropped = after("create table t (id int primary key)", added, "alter table t alter x drop default")
    with pytest.raises(SchemaError, match="only TiDB knows it"):
        with_original_defaults(dropped)
