"""The text of each DDL event on the wire, by lineage: what is built anew, and what stops a changefeed."""

from __future__ import annotations

import json

import pytest

from ticdc_emit import Encoder, load_changefeed
from ticdc_emit.config import Release
from ticdc_emit.errors import ConfigError, DdlError, UnprintableDdlError
from ticdc_emit.pipeline.plan.ddl import ddl_texts
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.ddl_texts import DdlTexts

BEFORE = (
    "create database two",
    "create table a (id int primary key, v int)",
    "create table `B b` (id int primary key, v int)",
    "create table p (id int primary key, v int) partition by range (id) (partition p0 values less than (9))",
)


def rules_of(lineage: str, *, restored: bool = True) -> DdlTexts:
    release = Release.parse(lineage)
    return ddl_texts(release, restored=restored)


def catalog_of(lineage: str, *before: str) -> Catalog:
    catalog = Catalog(renamed_schema=Release.parse(lineage).ddl.renamed_schema)
    for statement in (*BEFORE, *before):
        catalog.apply(statement, schema="test")
    return catalog


def texts(query: str, lineage: str, *before: str, restored: bool = True) -> list[str]:
    rules = rules_of(lineage, restored=restored)
    events = catalog_of(lineage, *before).apply(query, schema="test")
    return [rules.sent(rules.seen(event)).query for event in events]


EXCHANGED = "ALTER TABLE `test`.`p` EXCHANGE PARTITION `p0` WITH TABLE `test`.`a`"


@pytest.mark.parametrize(
    ("query", "classic", "new"),
    [
        ("alter table a rename c", ["ALTER TABLE `a` RENAME AS `c`"], ["RENAME TABLE `test`.`a` TO `test`.`c`"]),
        (
            "alter table p exchange partition p0 with table a without validation",
            [EXCHANGED + " WITHOUT VALIDATION"],
            None,
        ),
        (
            "alter table p exchange  partition p0 with table a /* ı */ without  validation",
            [EXCHANGED.replace("`p0`", "`hange  partition p0`")],
            [EXCHANGED + " WITHOUT VALIDATION"],
        ),
        ("create table two.c like a", ["CREATE TABLE `two`.`c` LIKE `a`"], ["CREATE TABLE `two`.`c` LIKE `test`.`a`"]),
    ],
)
def test_the_text_that_goes_out(query: str, classic: list[str], new: list[str] | None) -> None:
    assert texts(query, "classic") == classic
    assert texts(query, "next") == (classic if new is None else new)


def test_the_text_as_given_stays() -> None:
    query = "drop  table if exists a"
    assert texts(query, "classic", restored=False) == texts(query, "next", restored=False) == [query]


@pytest.mark.parametrize(
    ("query", "before"),
    [
        ("drop table `a``b`", "create table `a``b` (id int)"),
        ("alter table p exchange partition `p0` with table a", "create table z (id int)"),
    ],
)
def test_names_at_which_classic_stops(query: str, before: str) -> None:
    with pytest.raises(DdlError, match="its changefeed stops"):
        texts(query, "classic", before)
    assert len(texts(query, "next", before)) == 1


HEAD = "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` AS SELECT "


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("id from a", "`id` FROM `a`"),
        ("x.id from a x", "`x`.`id` FROM `a` AS `x`"),
        ("a.* from a", "`a`.* FROM `a`"),
        ("a.id, a.v w from a", "`test`.`a`.`id` AS `id`,`test`.`a`.`v` AS `w` FROM `test`.`a`"),
        (
            "*, 1+1 from two.t where n>(select max(v) from a)",
            "`two`.`T`.`id` AS `id`,`two`.`T`.`n` AS `n`,1+1 AS `1+1` FROM `two`.`t` "
            "WHERE `n`>(SELECT MAX(`v`) AS `max(v)` FROM `test`.`a`)",
        ),
        (
            "x.*, t.n from a x left join two.t on x.id=t.id and t.n=v order by n limit 3",
            "`test`.`x`.`id` AS `id`,`test`.`x`.`v` AS `v`,`two`.`t`.`n` AS `n` FROM `test`.`a` AS `x` "
            "LEFT JOIN `two`.`t` ON `x`.`id`=`two`.`t`.`id` AND `two`.`t`.`n`=`v` ORDER BY `n` LIMIT 3",
        ),
        (
            "a.id from a where exists (select 1 from two.a where a.v=1)",
            "`test`.`a`.`id` AS `id` FROM `test`.`a` "
            "WHERE EXISTS (SELECT 1 AS `1` FROM `two`.`a` WHERE `two`.`a`.`v`=1)",
        ),
        ("a.id from a join two.a where a.v=1", "`a`.`id` AS `id` FROM `test`.`a` JOIN `two`.`a` WHERE `a`.`v`=1"),
        ("id from a union select n from two.t", "`id` AS `id` FROM `test`.`a` UNION SELECT `n` AS `n` FROM `two`.`t`"),
        ("v k from a group by k", "`v` AS `k` FROM `a` GROUP BY `k`"),
    ],
)
def test_next_sends_the_select_that_tidb_stores_of_another_database(select: str, expected: str) -> None:
    tables = ("create table two.T (id int primary key, n int)", "create table two.a (v int)")
    assert texts(f"create view v as select {select}", "next", *tables) == [HEAD + expected]


@pytest.mark.parametrize(
    "select", ["a.v k from a group by k", "a.v from a group by 1", "a.id i, b.* from a natural join `B b` b"]
)
def test_a_stored_select_that_is_not_known_is_refused(select: str) -> None:
    with pytest.raises(UnprintableDdlError, match="is unknown"):
        texts(f"create view v as select {select}", "next")
    assert texts(f"create view v as select {select}", "classic")


def test_next_sends_the_given_text_where_tidb_prints_none() -> None:
    query = "create table E (id int primary key) engine_attribute='{}'"
    assert texts(query, "next") == [query]
    with pytest.raises(UnprintableDdlError, match="ENGINE_ATTRIBUTE"):
        texts(query, "classic")


def test_next_takes_names_of_a_rename_from_the_statement() -> None:
    before = ("create database `Up`", "create table UP.Tab (id int primary key)")
    assert texts("rename table uP.tab to TEST.x", "next", *before) == ["RENAME TABLE `uP`.`tab` TO `test`.`x`"]
    assert texts("rename table `Up`.TAB to TEST.x, A to c", "next", *before) == [
        "RENAME TABLE `Up`.`TAB` TO `TEST`.`x`;",
        "RENAME TABLE `test`.`A` TO `test`.`c`;",
    ]
    (event, _) = catalog_of("next", *before).apply("rename table `Up`.TAB to TEST.x, A to c", schema="test")
    whole = "RENAME TABLE `Up`.`TAB` TO `TEST`.`x`;RENAME TABLE `test`.`A` TO `test`.`c`;"
    assert rules_of("next").seen(event).filter_text == whole
    assert texts("rename table uP.tab to TEST.x, A to c", "classic", *before) == [
        "RENAME TABLE `Up`.`Tab` TO `test`.`x`",
        "RENAME TABLE `test`.`a` TO `test`.`c`",
    ]


def test_the_filter_of_classic_sees_the_text_as_given_that_of_next_the_restored_one() -> None:
    catalog = Catalog()
    (event,) = catalog.apply("create table t (a integer primary key)", schema="test")
    assert rules_of("classic").seen(event).filter_text == "create table t (a integer primary key)"
    assert rules_of("next").seen(event).filter_text == "CREATE TABLE `t` (`a` INT PRIMARY KEY)"


@pytest.mark.parametrize(("option", "expected"), [("", "TRUNCATE TABLE `t`"), ('ddl_text = "as-given"', "truncate t")])
def test_the_option_of_the_changefeed(option: str, expected: str) -> None:
    changefeed = f"[ticdc-emit]\n{option}"
    schema = "create table t (id int primary key)"
    encoder = Encoder("memory://x/?protocol=canal-json", schema, changefeed=changefeed)
    (message,) = encoder.ddl("truncate t", 450000000000000000, schema="test").to_pylist()
    assert json.loads(message["value"])["sql"] == expected


def test_the_sql_mode_of_the_changefeed() -> None:
    changefeed = '[ticdc-emit]\nsql_mode = "ANSI_QUOTES"'
    schema = 'create table "t" ("id" int primary key)'
    encoder = Encoder("memory://x/?protocol=canal-json", schema, changefeed=changefeed)
    (message,) = encoder.ddl('truncate "t"', 450000000000000000, schema="test").to_pylist()
    assert json.loads(message["value"])["sql"] == "TRUNCATE TABLE `t`"


@pytest.mark.parametrize(("role", "sent"), [("", 0), ('bdr_role = "secondary"', 0), ('bdr_role = "primary"', 1)])
def test_the_role_of_the_cluster(role: str, sent: int) -> None:
    changefeed = f"bdr-mode = true\n[ticdc-emit]\n{role}"
    encoder = Encoder("memory://x/?protocol=canal-json", "create table t (id int primary key)", changefeed=changefeed)
    assert encoder.ddl("truncate t", 450000000000000000, schema="test").num_rows == sent


@pytest.mark.parametrize(
    ("line", "option"),
    [('ddl_text = "raw"', "ddl_text"), ('sql_mode = "FAST"', "sql_mode"), ('bdr_role = "first"', "bdr_role")],
)
def test_wrong_options_are_refused(line: str, option: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_changefeed("memory://x/?protocol=canal-json", f"[ticdc-emit]\n{line}")
    assert caught.value.option == f"ticdc-emit.{option}"


def names_in_next(schema: str, ddl: str) -> list[tuple[str, str]]:
    encoder = Encoder("memory://x/?protocol=canal-json", schema, release="next")
    sent = map(json.loads, encoder.ddl(ddl, 450000000262144000).column("value").to_pylist())
    return [(each["table"], each["sql"]) for each in sent]


def test_swapped_tables_have_their_last_names_in_each_event() -> None:
    schema = "create table test.a (id int primary key); create table test.b (id int primary key)"
    assert names_in_next(schema, "rename table test.a to test.t, test.b to test.a, test.t to test.b") == [
        ("b", "RENAME TABLE `test`.`a` TO `test`.`t`;"),
        ("a", "RENAME TABLE `test`.`b` TO `test`.`a`;"),
        ("b", "RENAME TABLE `test`.`t` TO `test`.`b`;"),
    ]


def test_the_schema_store_knows_views_by_their_names_in_lower_case() -> None:
    schema = "create table test.T (id int primary key); create view test.V2 as select id from test.T"
    assert names_in_next(schema, "drop view test.V2") == [("v2", "DROP VIEW `test`.`v2`")]
    ((table, sql),) = names_in_next("create table test.t (id int primary key)", "create view V1 as select 1 as a")
    assert table == "v1"
    assert "VIEW `V1`" in sql


LIKE, VIEW = "create table two.c like a", "create view two.w as select id from a"


@pytest.mark.parametrize("release", ["next-8.5.4", "next-8.5.6", "next-26.3.4"])
def test_releases_that_send_views_and_likes_as_given(release: str) -> None:
    assert texts(LIKE, release) == ["CREATE TABLE `two`.`c` LIKE `a`"]
    (view,) = texts(VIEW, release)
    assert view.endswith("VIEW `two`.`w` AS SELECT `id` FROM `a`")
    assert texts(LIKE, "next-8.5.7") == ["CREATE TABLE `two`.`c` LIKE `test`.`a`"]
    assert texts(VIEW, "next-8.5.7")[0].endswith("AS SELECT `id` AS `id` FROM `test`.`a`")


@pytest.mark.parametrize(("release", "name"), [("next-8.5.5", "x`y"), ("next-8.5.6", "x``y"), ("next-26.3.4", "x``y")])
def test_backticks_in_texts_of_the_schema_store(release: str, name: str) -> None:
    table = "create table `x``y` (id int primary key, v int)"
    parted = f"{table} partition by range (id) (partition `p``0` values less than (9))"
    exchange = "alter table `x``y` exchange partition `p``0` with table a"
    for query, text in (
        ("drop table `x``y`", f"DROP TABLE `test`.`{name}`"),
        ("rename table `x``y` to c", f"RENAME TABLE `test`.`{name}` TO `test`.`c`"),
        ("rename table a to `x``z`", f"RENAME TABLE `test`.`a` TO `test`.`{name[:-1]}z`"),
    ):
        assert texts(query, release, table) == [text]
    partition = "p``0" if release == "next-26.3.4" else "p0"
    assert texts(exchange, release, parted) == [
        f"ALTER TABLE `test`.`{name}` EXCHANGE PARTITION `{partition}` WITH TABLE `test`.`a`"
    ]


def test_several_renames_with_a_backtick_stop_the_release_that_does_not_double_it() -> None:
    renames = "rename table a to `x``y`, `B b` to c"
    assert texts(renames, "next-8.5.6")[0] == "RENAME TABLE `test`.`a` TO `test`.`x``y`;"
    with pytest.raises(DdlError, match="cannot read its own text") as stopped:
        texts(renames, "next-8.5.5")
    assert "statement of its own" in stopped.value.remedy
