"""What comes back: RECOVER and FLASHBACK; and jobs about what is no table, of which the catalog keeps names and ids."""

from __future__ import annotations

import pytest

from ticdc_emit import restore_ddl
from ticdc_emit.errors import DdlError, UnprintableDdlError
from ticdc_emit.schema.catalog import Catalog

A = "create table a (id int primary key, v int) partition by hash (id) partitions 2"


def after(*statements: str) -> Catalog:
    catalog = Catalog()
    for number, statement in enumerate(statements, start=1):
        catalog.apply(statement, schema="test", commit_ts=number * 10)
    return catalog


@pytest.mark.parametrize("gone", ["drop table a", "truncate table a"])
def test_a_table_comes_back_as_it_was(gone: str) -> None:
    catalog = after(A)
    was = catalog.table("test", "a")
    catalog.apply(gone, schema="test", commit_ts=20)
    (event,) = catalog.apply("flashback table A to b", schema="test", commit_ts=30)
    back = catalog.table("test", "b")
    assert (event.action, event.table, event.pre_table_info, event.table_info) == ("recover table", "b", None, back)
    assert (back.id, back.partitions, back.columns, back.version) == (was.id, was.partitions, was.columns, 30)


def test_the_last_dropped_one_comes_back_or_that_of_a_job() -> None:
    drops = ("drop table a", "create table a (id int primary key)", "drop table a")
    assert _recovered("recover table a", A, *drops) == ["id"]
    assert _recovered("recover table by job 120", A, *drops) == ["id", "v"]


def _recovered(query: str, *before: str) -> list[str]:
    catalog = after(*before)
    (event,) = catalog.apply(query, schema="test", commit_ts=1000)
    return [column.name for column in event.table_info.columns]


@pytest.mark.parametrize(
    ("query", "before"),
    [
        ("recover table a", (A,)),
        ("recover table a", (A, "truncate table a")),  # the name is taken
        ("flashback table a to b", (A, "drop table a", "flashback table a to c")),  # it is back already
        ("recover table by job 1", (A, "drop table a")),
        ("recover table two.a", ("create database two", "create table two.a (id int)", "drop database two")),
        ("flashback database two", ("create database two", "drop database two")),
    ],
)
def test_what_cannot_come_back_changes_nothing(query: str, before: tuple[str, ...]) -> None:
    catalog = after(*before)
    tables = catalog.tables()
    with pytest.raises(DdlError):
        catalog.apply(query, schema="test", commit_ts=1000)
    assert catalog.tables() == tables


def test_to_a_time_is_a_job_of_the_cluster() -> None:
    for query in ("flashback cluster to timestamp '2024-01-01'", "flashback table a, b to tso 4"):
        (event,) = after().apply(query)
        assert event.action == "flashback cluster"


def test_jobs_about_what_is_no_table() -> None:
    catalog = after()
    statements = (
        "create sequence s start 5 cache 10 comment='x'",
        "create sequence if not exists S",
        "alter sequence s restart",
        "create resource group rg ru_per_sec=1, priority=high",
        "alter resource group if exists nobody ru_per_sec=1",
        "create placement policy p followers=2",
        "lock tables a read",
        "unlock tables",
        "drop sequence if exists s, t",
        "drop placement policy p",
        "drop placement policy if exists p",
        "drop resource group unseen",
    )
    jobs = [(e.action, e.schema, e.table) for query in statements for e in catalog.apply(query, schema="test")]
    assert jobs == [
        ("create sequence", "test", "s"),
        ("alter sequence", "test", "s"),
        ("create resource group", "rg", ""),
        ("create placement policy", "p", ""),
        ("drop sequence", "test", "s"),
        ("drop placement policy", "p", ""),
        ("drop resource group", "unseen", ""),
    ]
    catalog.apply("create table a (id int)", schema="test")
    assert catalog.table("test", "a").id == 125  # seven jobs, a sequence and a resource group before


def test_temporary_tables() -> None:
    catalog = after(A)
    for query in ("create temporary table a (x int)", "create temporary table b like a"):
        with pytest.raises(DdlError, match="local temporary tables"):
            catalog.apply(query, schema="test")
    assert catalog.apply("create global temporary table g (id int primary key) on commit delete rows", schema="test")
    assert catalog.apply("drop global temporary table g", schema="test")
    assert catalog.apply("drop temporary table if exists nobody", schema="test") == ()


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (
            "create sequence if not exists d.s increment -1 start with +5 minvalue=-9 no maxvalue nocycle",
            "CREATE SEQUENCE IF NOT EXISTS `d`.`s` INCREMENT BY -1 START WITH 5 MINVALUE -9 NO MAXVALUE NOCYCLE",
        ),
        ("create sequence s nominvalue no cache comment 'x'", "CREATE SEQUENCE `s` NO MINVALUE NOCACHE COMMENT = 'x'"),
        ("alter sequence s restart cycle", "ALTER SEQUENCE `s` RESTART CYCLE"),
        ("alter sequence if exists s restart = 7", "ALTER SEQUENCE IF EXISTS `s` RESTART WITH 7"),
        ("drop sequence if exists s, d.`t```", "DROP SEQUENCE IF EXISTS `s`, `d`.`t```"),
        ("drop resource group if exists rg", "/*T![resource_group] DROP RESOURCE GROUP IF EXISTS `rg` */"),
    ],
)
def test_their_texts(query: str, text: str) -> None:
    assert restore_ddl(query) == text


def test_options_of_a_resource_group_have_no_text() -> None:
    with pytest.raises(UnprintableDdlError) as caught:
        restore_ddl("create resource group rg ru_per_sec=1")
    assert caught.value.context["position"] == 25
