"""Table routing: which names tables, databases and DDL get, and which tables may not have one name."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ticdc_emit import Encoder
from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.errors import ConfigError, TableRouteError
from ticdc_emit.routing.table_routes import TableRoutes

TS = 450000000262144000
ROUTING = ("next-8.5.7", "next-8.5.8", "next", "master")


def rule(matcher: str, schema: str = "", table: str = "", **others: Any) -> dict[str, Any]:
    targets = {"target-schema": schema, "target-table": table}
    return {"matcher": matcher.split()} | {name: text for name, text in targets.items() if text} | others


def config(*rules: dict[str, Any], release: str = "next", uri: str = "canal-json", **top: Any) -> ChangefeedConfig:
    return load_changefeed(
        f"memory://d/?protocol={uri}", {"sink": {"dispatchers": list(rules)}, **top}, release=release
    )


def routes(*rules: dict[str, Any], release: str = "next", **top: Any) -> TableRoutes:
    return TableRoutes.of(config(*rules, release=release, **top))


class Feed:
    def __init__(self, schema: str, *rules: dict[str, Any], release: str = "next", **options: Any) -> None:
        self.encoder = Encoder(config(*rules, release=release, **options), schema)
        self._ts = TS

    def ddl(self, statement: str, schema: str = "test") -> list[tuple[str, str, str]]:
        self._ts += 1 << 18
        messages = self.encoder.ddl(statement, self._ts, schema=schema).column("value").to_pylist()
        return [(each["database"], each["table"], each["sql"]) for each in map(json.loads, messages)]


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("release", ROUTING)
@pytest.mark.parametrize(
    ("source", "target"),
    [
        (("db1", "specific"), ("specific_db", "specific_table")),
        (("db1", "orders"), ("db1_archive", "orders")),
        (("staging", "events"), ("staging", "staging_events")),
        (("db2", "products"), ("fallback", "products")),
        (("", "products"), ("", "products")),
        (("", ""), ("", "")),
    ],
)
def test_the_first_rule_with_a_target_names_a_table(
    release: str, source: tuple[str, str], target: tuple[str, str]
) -> None:
    known = routes(
        rule("db1.*", topic="t"),
        rule("db1.specific", "specific_db", "specific_table"),
        rule("db1.*", "db1_archive"),
        rule("staging.*", "", "{schema}_{table}"),
        rule("*.*", "fallback", "{table}"),
        rule("db2.products", "too", "late"),
        release=release,
    )
    assert known.target(*source) == target


def test_tables_without_a_rule_keep_their_names() -> None:
    known = routes(rule("db1.*", topic="t"))
    assert not known.rules
    assert known.target("db1", "t") == ("db1", "t")
    assert routes(rule("shop.* !shop.t", "x")).target("shop", "t") == ("shop", "t")


def test_a_placeholder_inside_a_name() -> None:
    for release, schema in (("next-8.5.7", "dbt_t"), ("next", "dbt_t"), ("master", "db{table}_t")):
        known = routes(rule("*.*", "{schema}_{table}"), release=release)
        assert known.target("db{table}", "t")[0] == schema
    assert routes(rule("*.*", "", "{table}.{schema}"), release="master").target("{table}", "{schema}") == (
        "{table}",
        "{schema}.{table}",
    )


@pytest.mark.parametrize("release", ROUTING)
def test_names_keep_their_case(release: str) -> None:
    known = routes(rule("MyDB.*", "backup_{schema}"), release=release)
    assert known.target("mydb", "MyTable") == ("backup_mydb", "MyTable")


def test_matchers_obey_case_sensitive() -> None:
    known = routes(rule("Sales.*", "x"), **{"case-sensitive": True})
    assert known.target("sales", "t") == ("sales", "t")
    assert known.target("Sales", "t") == ("x", "t")


def test_a_database_needs_one_target_from_all_its_rules() -> None:
    same = routes(rule("db1.orders", "a", "o"), rule("db1.users", "a", "u"))
    assert same.target("db1", "") == ("a", "")
    assert same.target("db2", "") == ("db2", "")
    other = routes(rule("db1.orders", "a", "o"), rule("db1.users", "", "u"))
    with pytest.raises(TableRouteError) as refused:
        other.target("db1", "")
    assert refused.value.message == (
        "[CDC:ErrTableRoutingFailed]ambiguous schema routing for schema db1: target schema db1 conflicts with a"
    )
    feed = Feed("create database db1", rule("db1.a", "x"), rule("db1.b", "y"))
    with pytest.raises(TableRouteError, match="ambiguous") as failed:
        feed.ddl("alter database db1 charset latin1")
    assert failed.value.statement == "ALTER DATABASE `db1` CHARACTER SET = latin1"


# -- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["{db}", "{schema", "a}", "{ schema}", "{SCHEMA}", "{{schema}}"])
def test_targets_are_literals_and_two_placeholders(text: str) -> None:
    for option, given in (("target-schema", rule("*.*", text)), ("target-table", rule("*.*", "ok", text))):
        with pytest.raises(ConfigError) as refused:
            config(given)
        assert refused.value.message == (
            f'[CDC:ErrInvalidTableRoutingRule]{option} "{text}" must contain only literal text, '
            "{schema}, and {table}"
        )


@pytest.mark.filterwarnings("ignore::ticdc_emit.config.ConfigWarning")
@pytest.mark.parametrize("release", ["classic", "next-8.5.6", "next-26.3.4"])
def test_other_releases_ignore_targets(release: str) -> None:
    sink = {"dispatchers": [rule("*.*", "{x}", "y")]}
    loaded = load_changefeed("memory://d/?protocol=canal-json", {"sink": sink}, release=release, strict=False)
    assert not TableRoutes.of(loaded).rules


def test_a_rule_that_has_only_targets_shadows_topics_and_partitions_before_master() -> None:
    rules = (rule("sales.orders", "x"), rule("sales.*", topic="sales-events", partition="ts"))
    for release, topic in (("next-8.5.7", "ticdc"), ("next", "ticdc"), ("master", "sales-events")):
        plan = Encoder(config(*rules, release=release), "create table sales.orders (id int primary key)").plan
        table = plan.table("sales", "orders")
        assert (table.topic, table.rule.kind) == (topic, "ts" if release == "master" else "table")


# -- what goes by sources --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("partition", ["table", "index-value", "columns"])
def test_topics_partitions_filters_and_selectors_see_sources(partition: str) -> None:
    tables = "".join(f"create table shop.t{number} (id int primary key, v int, w int);" for number in range(8))
    dispatcher = {"topic": "{schema}-{table}", "partition": partition} | (
        {"columns": ["v"]} if partition == "columns" else {}
    )
    others = {"filter": {"rules": ["shop.*"]}}
    selectors = [{"matcher": ["shop.*"], "columns": ["*", "!w"]}]
    sent = []
    for targets in ({}, {"target-schema": "other", "target-table": "x_{table}"}):
        sink = {"dispatchers": [{"matcher": ["shop.*"], **dispatcher, **targets}], "column-selectors": selectors}
        encoder = Encoder(
            "memory://d/?protocol=canal-json", tables, changefeed={"sink": sink, **others}, release="next", partitions=5
        )
        messages = []
        for number in range(8):
            rows = [{"op": "c", "commit_ts": TS, "after": {"id": row, "v": row, "w": 1}} for row in range(20)]
            messages += encoder.encode(rows, table=f"shop.t{number}").to_pylist()
        messages += encoder.ddl("alter table shop.t1 add column x int", TS + 1).to_pylist()
        sent.append(messages)
    plain, routed = ([(each["topic"], each["partition"]) for each in messages] for messages in sent)
    assert plain == routed
    first = json.loads(sent[1][0]["value"])
    assert (first["database"], first["table"], first["data"]) == ("other", "x_t0", [{"id": "0", "v": "0"}])


def test_errors_name_the_source() -> None:
    feed = Feed("create table shop.t (id int primary key)", rule("shop.*", "other"))
    with pytest.raises(Exception, match=r"shop\.t") as refused:
        feed.encoder.encode([{"op": "c", "commit_ts": TS, "after": {"id": "x"}}], table="shop.t")
    assert "other" not in str(refused.value)
    feed = Feed(
        "create table shop.t (id int primary key)", rule("shop.*", "other", partition="columns", columns=["id"])
    )
    feed.ddl("alter table shop.t rename column id to k")
    with pytest.raises(Exception, match=r"columns not found when dispatch event, table: t,"):
        feed.encoder.encode([{"op": "c", "commit_ts": TS << 1, "after": {"k": 1}}], table="shop.t")


# -- DDL -------------------------------------------------------------------------------------------------------------

SHOP = "create database shop; create table shop.t (id int primary key, v varchar(9)); create table shop.o (id int);"
ARCHIVE = rule("shop.*", "archive", "{table}_r")


VIEW = "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `test`.`v` AS SELECT "
NEW = "(`id` INT PRIMARY KEY,`v` VARCHAR(9) DEFAULT {})"
STATEMENTS: dict[str, list[tuple[str, str, str]]] = {
    "create database shop2": [("shop2", "", "CREATE DATABASE `shop2`")],
    "drop database shop": [("archive", "", "DROP DATABASE `archive`")],
    "create table shop.n (id int primary key, v varchar(9) default 'x')": [
        ("archive", "n_r", "CREATE TABLE `archive`.`n_r` " + NEW.format("'x'"))],
    "create table n (id int primary key, v varchar(9) default 'x')": [
        ("test", "n", "CREATE TABLE `n` " + NEW.format("_UTF8MB4'x'"))],
    "create table shop.s (id int primary key, v varchar(9) default 'a;b')": [
        ("archive", "s_r", "CREATE TABLE `archive`.`s_r` " + NEW.format("'a;b'"))],
    "drop table shop.t": [("archive", "t_r", "DROP TABLE `archive`.`t_r`")],
    "truncate table shop.t": [("archive", "t_r", "TRUNCATE TABLE `archive`.`t_r`")],
    "rename table shop.t to test.t": [("test", "t", "RENAME TABLE `archive`.`t_r` TO `test`.`t`")],
    "rename table shop.t to shop.u, test.k to test.l": [
        ("archive", "u_r", "RENAME TABLE `archive`.`t_r` TO `archive`.`u_r`;"),
        ("test", "l", "RENAME TABLE `test`.`k` TO `test`.`l`;")],
    "create table shop.a (id int primary key, v char(1) default 'x'); create table shop.b (id int primary key)": [
        ("archive", "a_r", "CREATE TABLE `archive`.`a_r` (`id` INT PRIMARY KEY,`v` CHAR(1) DEFAULT _UTF8MB4'x');"),
        ("archive", "b_r", "CREATE TABLE `archive`.`b_r` (`id` INT PRIMARY KEY);")],
    "create table test.u like shop.t": [("test", "u", "CREATE TABLE `test`.`u` LIKE `archive`.`t_r`")],
    "alter table test.k add foreign key (x) references shop.t (id)": [
        ("test", "k", "ALTER TABLE `test`.`k` ADD CONSTRAINT FOREIGN KEY (`x`) REFERENCES `archive`.`t_r`(`id`)")],
    "create view test.v as select t.id from shop.t": [
        ("test", "v", f"{VIEW}`archive`.`t_r`.`id` AS `id` FROM `archive`.`t_r`")],
    "create view test.v as select o.id from shop.t as o": [
        ("test", "v", f"{VIEW}`o`.`id` AS `id` FROM `archive`.`t_r` AS `o`")],
}  # fmt: skip


@pytest.mark.parametrize(("statement", "messages"), STATEMENTS.items())
@pytest.mark.parametrize("release", ROUTING)
def test_ddl_has_the_names_of_targets(release: str, statement: str, messages: list[tuple[str, str, str]]) -> None:
    feed = Feed(SHOP + "create table test.k (id int primary key, x int);", ARCHIVE, release=release)
    assert feed.ddl(statement) == messages


def test_a_text_as_given_is_printed_only_where_names_change() -> None:
    own = {"ticdc-emit": {"ddl_text": "as-given", "sql_mode": "ANSI_QUOTES"}}
    feed = Feed(SHOP, ARCHIVE, **own)
    assert feed.ddl('alter  table shop."t" add w int')[0][2] == "ALTER TABLE `archive`.`t_r` ADD COLUMN `w` INT"
    assert feed.ddl('create  table "n" (id int primary key)')[0][2] == 'create  table "n" (id int primary key)'


def test_a_text_without_names_leaves_the_event_as_it_is() -> None:
    feed = Feed(SHOP, ARCHIVE)
    assert feed.ddl("alter database collate utf8mb4_general_ci", schema="shop") == [
        ("shop", "", "ALTER DATABASE COLLATE = utf8mb4_general_ci")
    ]


# -- conflicts -------------------------------------------------------------------------------------------------------

TWO = "create table a.t (id int primary key); create table b.t (id int primary key);"
_MESSAGE = (
    "[CDC:ErrTableRouteConflict]table route conflict: target `one`.`t` is mapped by both source `a`.`t` and source "
    "`b`.`t`"
)
ONE = rule("*.*", "one")


def test_two_tables_with_one_target_are_refused_at_the_start() -> None:
    with pytest.raises(TableRouteError) as refused:
        Feed(TWO, ONE)
    assert refused.value.message == _MESSAGE
    assert (refused.value.table, refused.value.code) == ("b.t", "CDC:ErrTableRouteConflict")
    assert Feed(TWO, ONE, filter={"rules": ["a.*"]}).encoder
    keyless = "create table a.t (id int); create table b.t (id int primary key);"
    assert Feed(keyless, ONE).encoder
    with pytest.raises(TableRouteError):
        Feed(keyless, ONE, **{"force-replicate": True})


def test_a_table_may_not_take_the_name_of_another_table() -> None:
    with pytest.raises(TableRouteError, match=r"target `b`\.`t` is mapped by both source `b`.`t` and source `a`.`t`"):
        Feed("create table b.t (id int primary key); create table a.t (id int primary key);", rule("a.*", "b"))


@pytest.mark.parametrize(
    "statement", ["create table b.t (id int primary key)", "create table b.t like a.t", "rename table b.u to b.t"]
)
def test_a_ddl_may_not_make_a_conflict(statement: str) -> None:
    feed = Feed("create table a.t (id int primary key); create table b.u (id int primary key);", ONE)
    with pytest.raises(TableRouteError) as refused:
        feed.ddl(statement)
    assert refused.value.message == _MESSAGE
    assert refused.value.statement == statement


@pytest.mark.parametrize(
    "statements",
    [
        ["rename table a.t to b.t"],
        ["drop table a.t", "create table b.t (id int primary key)"],
        ["drop database a", "create table b.t (id int primary key)", "create database a", "create table a.x like b.t"],
        ["rename table a.t to a.old, b.u to b.t"],
        ["truncate table a.t"],
        ["create view b.t as select id from a.t"],
    ],
)
def test_a_target_may_go_to_another_table(statements: list[str]) -> None:
    feed = Feed("create table a.t (id int primary key); create table b.u (id int primary key);", ONE)
    for statement in statements:
        assert feed.ddl(statement)


def test_two_new_tables_of_one_statement_conflict() -> None:
    feed = Feed("create table a.t (id int primary key);", rule("*.*", "one", "same"))
    with pytest.raises(TableRouteError, match=r"source `a`\.`t` and source `test`.`x`"):
        feed.ddl("create table x (id int primary key); create table y (id int primary key)")
    feed = Feed(
        "create table a.t (id int primary key); create table a.u (id int primary key); create database b;",
        rule("b.*", "", "same"),
    )
    with pytest.raises(TableRouteError, match=r"target `b`\.`same` .* source `b`.`t` and source `b`.`u`"):
        feed.ddl("rename table a.t to b.t, a.u to b.u")
