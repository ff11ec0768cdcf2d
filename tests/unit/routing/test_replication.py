"""Which DDL a changefeed sends in each lineage, and what it fails at."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ConfigError, DdlError
from ticdc_emit.routing.replication import Replication
from ticdc_emit.schema.catalog import Catalog

URI = "memory://x/?protocol=canal-json"
KEEP = {"rules": ["test.keep*"]}
LINEAGES = ("classic", "next")


class Feed:
    def __init__(self, release: str, filter_table: dict[str, Any], before: str = "", **options: Any) -> None:
        self.config = load_changefeed(URI, {"filter": filter_table, **options}, release=release)
        self.catalog = Catalog(renamed_schema=self.config.release.ddl.renamed_schema)
        for statement in filter(None, before.split(";")):
            self.catalog.apply(statement)
        self.replication = Replication.of(self.config, self.catalog)
        self.ts = 0

    def run(self, *statements: str, bdr_role: str = "") -> list[str]:
        found = []
        for statement in statements:
            self.ts += 10
            events = self.catalog.apply(statement, schema="test", commit_ts=self.ts)
            found += [each.result for each in self.replication.verdicts(events, self.ts, bdr_role)]
        return found

    def left_out(self, table: str) -> list[tuple[int, int | None, str]]:
        _, left_out = self.replication.histories(self.catalog.histories())
        return [tuple(span[:3]) for span in left_out.get(("test", table), ())]  # type: ignore[misc]


CREATE = "create table {} (id int primary key, v int)"


@pytest.mark.parametrize("release", LINEAGES)
def test_of_several_renames_the_parts_that_are_in_are_sent(release: str) -> None:
    feed = Feed(release, KEEP)
    feed.run(CREATE.format("keep1"), CREATE.format("other1"), CREATE.format("keep2"))
    assert feed.run("rename table keep1 to keep3, other1 to other2, keep2 to gone2") == ["sent", "discarded", "sent"]
    with pytest.raises(DdlError, match="old name"):
        feed.run("rename table keep3 to keep4, other2 to keep5")


def test_classic_fails_at_a_table_that_is_renamed_twice_in_one_statement() -> None:
    swap = "rename table a to tmp, b to a, tmp to b"
    feed = Feed("next", {})
    feed.run(CREATE.format("a"), CREATE.format("b"))
    assert feed.run(swap) == ["sent", "sent", "sent"]
    feed = Feed("classic", {})
    feed.run(CREATE.format("a"), CREATE.format("b"))
    with pytest.raises(DdlError, match="moves one table twice") as caught:
        feed.run(swap)
    assert caught.value.code == "CDC:ErrHandleDDLFailed"


def test_ddl_of_an_ignored_transaction_is_discarded_or_ignored() -> None:
    statements = (CREATE.format("a"), "alter table a add column w int")
    feed = Feed("next", {"ignore-txn-start-ts": [9]})
    assert feed.run(*statements) == ["ignored", "sent"]
    feed = Feed("classic", {"ignore-txn-start-ts": [9]})
    with pytest.raises(DdlError, match="does not know") as caught:
        feed.run(*statements)
    assert caught.value.code == "CDC:ErrHandleDDLFailed"


def test_a_discarded_alter_leaves_the_version_before_it_in_force() -> None:
    feed = Feed("classic", {"ignore-txn-start-ts": [19]})
    assert feed.run(CREATE.format("a"), "alter table a add column w int", "alter table a add column x int") == [
        "sent",
        "discarded",
        "sent",
    ]
    histories, left_out = feed.replication.histories(feed.catalog.histories())
    assert [since for since, _ in histories["test", "a"]] == [10, 30]
    assert not left_out
    again = Feed("classic", {"ignore-txn-start-ts": [19]})
    again.run(CREATE.format("a"), "alter table a add column w int")
    (span,) = again.replication.histories(again.catalog.histories())[1]["test", "a"]
    assert span[:4] == (0, 0, "ignore-txn-start-ts", {"w"})  # no row is left out, and each may have the column


def test_a_discarded_rename_leaves_rows_their_old_name() -> None:
    feed = Feed("classic", {"ignore-txn-start-ts": [19]})
    assert feed.run(CREATE.format("a"), "rename table a to b", "alter table b add column x int")[1] == "discarded"
    histories, left_out = feed.replication.histories(feed.catalog.histories())
    assert [info and info.name for _, info in histories["test", "b"]] == ["a", "b"]
    assert not left_out


def test_tables_without_a_key() -> None:
    keyless = "create table t (id int not null, v int)"
    key, drop = "alter table t add unique key (id)", "alter table t drop key id"
    feed = Feed("classic", {})
    assert feed.run(keyless, key, "alter table t add column w int") == ["discarded", "sent", "sent"]
    assert feed.left_out("t") == [(10, 20, "no handle key")]
    with pytest.raises(DdlError, match="only handle key"):
        feed.run(drop)
    feed = Feed("next", {})
    assert feed.run(keyless, key, drop, "drop table t") == ["discarded"] * 4
    feed = Feed("classic", {})
    assert feed.run(keyless, "drop table t") == ["discarded", "sent"]
    feed = Feed("next", {})
    assert feed.run("create table t (id int not null unique, v int)", drop) == ["sent", "discarded"]
    assert feed.left_out("t") == []


def test_a_table_of_next_that_got_its_key_later_is_replicated_once_it_is_made_anew() -> None:
    feed = Feed("next", {})
    assert feed.run("create table t (id int, v int)", "alter table t add primary key (id)") == ["discarded"] * 2
    assert feed.run("rename table t to u", "alter table u add column w int") == ["sent", "discarded"]
    assert feed.run("truncate table u", "alter table u add column x int") == ["sent", "sent"]
    assert feed.left_out("u") == [(30, 40, "no handle key"), (40, 50, "no handle key")]
    feed.run("create table p (id int) partition by range (id) (partition a values less than (1))")
    feed.run("alter table p add primary key (id)")
    with pytest.raises(DdlError, match="replicates only the new partitions"):
        feed.run("alter table p add partition (partition b values less than (2))")


def test_the_schema_store_fails_where_a_view_is_renamed() -> None:
    feed = Feed("next", {}, before=f"{CREATE.format('t')};create view v as select id from t")
    with pytest.raises(DdlError, match="crashes where one is renamed"):
        feed.run("rename table v to w")


def test_exchange_partition_under_rules() -> None:
    tables = (
        "create table p (id int primary key) partition by range (id) (partition p0 values less than (10))",
        "create table n (id int primary key)",
    )
    exchange = "alter table p exchange partition p0 with table n"
    for rules, classic, following in (
        (["test.p"], DdlError, "sent"),
        (["test.n"], "discarded", "sent"),
        (["*.*"], "sent", "sent"),
        (["test.x"], "discarded", "discarded"),
    ):
        feed = Feed("next", {"rules": rules})
        feed.run(*tables)
        assert feed.run(exchange) == [following]
        feed = Feed("classic", {"rules": rules})
        feed.run(*tables)
        if classic is DdlError:
            with pytest.raises(DdlError):
                feed.run(exchange)
        else:
            assert feed.run(exchange) == [classic]


def test_a_bad_pattern_drops_the_rule_or_is_refused() -> None:
    rules = {"event-filters": [{"matcher": ["*.*"], "ignore-sql": ["(x"], "ignore-event": ["create table"]}]}
    assert Feed("classic", rules).run(CREATE.format("a")) == ["sent"]
    with pytest.raises(ConfigError, match=r"missing closing \)"):
        Feed("next", rules)


def test_foreign_keys_and_event_filters() -> None:
    rules = {"event-filters": [{"matcher": ["test.a"], "ignore-event": ["drop table"]}]}
    keyed = "create table a (id int primary key, v int, key (v))"
    statements = (CREATE.format("p"), keyed, "alter table a add foreign key f (v) references p (id)")
    assert Feed("classic", rules).run(*statements) == ["sent"] * 3
    with pytest.raises(DdlError, match="foreign key"):
        Feed("next", rules).run(*statements)


@pytest.mark.parametrize(
    ("release", "event", "is_refused"),
    [
        ("classic", "all", True), ("classic", "Insert", True), ("classic", "create index", False),
        ("classic", "add foreign key", False), ("next", "add foreign key", True), ("next", "alter ttl info", False),
        ("next", "none ddl", True),
    ],
)  # fmt: skip
def test_names_of_events(release: str, event: str, is_refused: bool) -> None:
    rules = {"event-filters": [{"matcher": ["*.*"], "ignore-event": [event]}]}
    if is_refused:
        with pytest.raises(ConfigError):
            Feed(release, rules)
    else:
        Feed(release, rules)


def test_a_table_of_a_discarded_exchange_is_unknown_in_classic() -> None:
    feed = Feed("classic", {"rules": ["test.n"]}, CREATE.format("n"))
    feed.run(CREATE.format("p") + " partition by hash (id) partitions 2")
    assert feed.run("alter table p exchange partition p0 with table n") == ["discarded"]
    assert feed.left_out("n") == [(20, None, "rules")]
    with pytest.raises(DdlError, match="does not know the table"):
        feed.run("alter table n add w int")


def test_classic_is_refused_behind_an_exchange_partition_that_rules_discard() -> None:
    feed = Feed("classic", {"rules": ["d.*", "test.n"]}, f"create database d;{CREATE.format('test.n')}")
    feed.run(CREATE.format("d.p") + " partition by hash (id) partitions 2")
    with pytest.raises(DdlError, match="rows after a discarded EXCHANGE PARTITION are not supported") as refused:
        feed.run("alter table d.p exchange partition p0 with table test.n")
    assert refused.value.table == "d.p"


@pytest.mark.parametrize(("release", "result"), [("classic-8.5.3", "discarded"), ("classic-8.5.4", "sent")])
def test_foreign_keys_by_release(release: str, result: str) -> None:
    feed = Feed(release, {})
    feed.run(CREATE.format("keep1"), "create table keep2 (id int primary key, v int, key (v))")
    statements = "alter table keep2 add constraint f foreign key (v) references keep1 (id)", "drop foreign key f"
    assert feed.run(statements[0], f"alter table keep2 {statements[1]}") == [result, result]
    filtered = {"event-filters": [{"matcher": ["*.*"], "ignore-event": ["add foreign key"]}]}
    if result == "sent":
        Feed(release, filtered)
    else:
        with pytest.raises(ConfigError, match="invalid ignore event type: 'add foreign key'"):
            Feed(release, filtered)


@pytest.mark.parametrize(
    ("release", "results"),
    [
        ("classic-8.1.2", ["sent", "sent", "discarded"]),
        ("classic-8.5.0", ["discarded", "sent", "discarded"]),
        ("classic", ["discarded", "discarded", "discarded"]),
        ("next-8.5.4", ["discarded", "discarded", "discarded"]),
    ],
)
def test_system_databases_by_release(release: str, results: list[str]) -> None:
    names = "Lightning_Task_Info", "workload_schema", "TiDB_CDC"
    assert Feed(release, {}).run(*(f"create database {name}" for name in names)) == results


@pytest.mark.parametrize("release", ["classic-8.1.2", "classic-8.5.3"])
def test_older_releases_apply_the_ddl_of_an_ignored_transaction(release: str) -> None:
    feed = Feed(release, {"ignore-txn-start-ts": [9, 19]})
    statements = CREATE.format("keep1"), "rename table keep1 to keep2", "alter table keep2 add column w int"
    assert feed.run(*statements) == ["ignored", "ignored", "sent"]
    assert not feed.left_out("keep2")
    with pytest.raises(DdlError, match="whose creation it discarded"):
        Feed("classic-8.5.4", {"ignore-txn-start-ts": [9]}).run(statements[0], "alter table keep1 add column w int")


def test_in_7_5_event_filters_know_statements_only() -> None:
    events = {"matcher": ["test.keep*"], "ignore-event": ["alter table"], "ignore-sql": ["t100"]}
    feed = Feed("classic-7.5.7", {"event-filters": [events]})
    parted = (
        "create table keep1 (id int primary key, v int) partition by range (id) (partition p0 values less than (9))"
    )
    assert feed.run(parted) == ["sent"]
    statements = {
        "create index i on keep1 (v)": "ignored",
        "drop index i on keep1": "ignored",
        "alter table keep1 add column w int": "ignored",
        "alter table keep1 add partition (partition p1 values less than (19))": "sent",
        "alter table keep1 truncate partition p1": "sent",
        "alter table keep1 drop partition p1": "sent",
        "alter table keep1 rename to keep2": "ignored",
        "/* by statement */ rename table keep2 to keep3": "sent",
        "truncate table keep3": "sent",
        "drop table keep3": "sent",
        "create table keep4 (id int primary key) comment 't100'": "ignored",
    }
    assert {statement: feed.run(statement)[0] for statement in statements} == statements
    with pytest.raises(ConfigError, match="invalid ignore event type: 'create index'"):
        Feed("classic-7.5.7", {"event-filters": [{"matcher": ["*.*"], "ignore-event": ["create index"]}]})


def test_in_7_5_a_rename_by_alter_table_is_found_by_its_new_name() -> None:
    events = {"matcher": ["test.new"], "ignore-event": ["all ddl"]}
    feed = Feed("classic-7.5.7", {"event-filters": [events]})
    statements = (
        CREATE.format("old"),
        "rename table old to new",
        "rename table new to old",
        "alter table old rename new",
    )
    assert feed.run(*statements) == ["sent", "sent", "ignored", "ignored"]


@pytest.mark.parametrize(("release", "result"), [("next-8.5.4-release.1", "sent"), ("next-8.5.4", "discarded")])
def test_the_first_release_of_next_does_not_filter_the_ddl_of_databases(release: str, result: str) -> None:
    events = {"matcher": ["*.*"], "ignore-event": ["drop database"]}
    feed = Feed(release, {"rules": ["d.*"], "event-filters": [events]})
    assert feed.run("create database e", "drop database e") == [result, result]
    assert feed.run("create database d", "drop database d") == ["sent", "sent" if result == "sent" else "ignored"]
    assert feed.run("create database tidb_cdc") == ["discarded"]


@pytest.mark.parametrize("release", ["classic-7.5.7", "classic-8.1.2", "classic-8.5.0"])
def test_older_releases_send_the_truncation_of_a_table_without_a_key(release: str) -> None:
    result = "sent" if release == "classic-8.1.2" else "discarded"
    feed = Feed(release, {})
    statements = "create table a (v int)", "truncate table a", "alter table a add column w int", "drop table a"
    assert feed.run(*statements) == ["discarded", result, "discarded", "sent"]
    assert feed.left_out("a")[0][2] == "no handle key"
