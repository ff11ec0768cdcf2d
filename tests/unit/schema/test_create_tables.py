"""Several CREATE TABLE of one job: the tables that they make, and the text of each on the wire."""

from __future__ import annotations

import pytest

from ticdc_emit.config import Release
from ticdc_emit.errors import DdlError
from ticdc_emit.pipeline.plan.ddl import ddl_texts
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.ddl_texts import DdlTexts
from ticdc_emit.schema.events import DdlEvent

A = "create table a (id bigint primary key nonclustered, v varchar(9) default 'x\\\\y') ttl = d + interval 1 day"
A = A.replace("v varchar", "d date, v varchar")
B = "CREATE TABLE `b` (id int primary key, n int as (1+2)) placement policy=`p`, comment='one\\\\dog' -- last\n"


def batch(query: str, *before: str, one: bool = False) -> tuple[Catalog, tuple[DdlEvent, ...]]:
    catalog = Catalog()
    for statement in before:
        catalog.apply(statement, schema="test")
    return catalog, catalog.apply(query, schema="test", commit_ts=7, batch=one)


def test_the_tables_of_one_job() -> None:
    catalog, events = batch(f"{A};{B};")
    assert [(event.action, event.table, event.commit_ts) for event in events] == [
        ("create tables", "a", 7),
        ("create tables", "b", 7),
    ]
    assert [(info.id, info.version) for info in catalog.tables()] == [(116, 7), (117, 7)]
    catalog.apply("create table c (id int)", schema="test")
    assert catalog.table("test", "c").id == 119  # 118 is the job


def test_one_table_is_a_batch_where_that_is_said() -> None:
    _, (event,) = batch(A, one=True)
    assert event.action == "create tables"


@pytest.mark.parametrize(
    "query",
    [
        f"{A};create table a (id int)",
        f"{A};drop table a",
        f"{A};create table two.b (id int)",
        f"{A};create temporary table b (id int)",
    ],
)
def test_what_is_no_batch_changes_nothing(query: str) -> None:
    catalog = Catalog()
    catalog.apply("create database two")
    with pytest.raises(DdlError):
        catalog.apply(query, schema="test")
    assert catalog.tables() == ()


def texts_of(lineage: str, *, restored: bool = True) -> DdlTexts:
    release = Release.parse(lineage)
    return ddl_texts(release, restored=restored)


TTL = "/*T![ttl] TTL = `d` + INTERVAL 1 DAY */ /*T![ttl] TTL_ENABLE = 'OFF' */"


def test_texts_are_taken_apart_by_printing_them() -> None:
    """A string that is no value loses a backslash each time it is printed and read again."""
    _, events = batch(f"{A};{B};")
    a = (
        "CREATE TABLE `a` (`id` BIGINT PRIMARY KEY /*T![clustered_index] NONCLUSTERED */,`d` DATE,"
        f"`v` VARCHAR(9) DEFAULT _UTF8MB4'x\\\\y') {TTL}"
    )
    b = "CREATE TABLE `b` (`id` INT PRIMARY KEY,`n` INT GENERATED ALWAYS AS(1+2) VIRTUAL)  COMMENT = 'onedog'"
    classic, new = texts_of("classic"), texts_of("next")
    assert [(classic.sent(event).action, classic.sent(event).query) for event in events] == [
        ("create tables", a),
        ("create tables", b),
    ]
    assert [(new.sent(event).action, new.sent(event).query) for event in events] == [
        ("create table", f"{a};"),
        ("create table", f"{b.replace(')  COMMENT', ') COMMENT')};"),  # the policy's blank is lost in reading
    ]


def test_filters_see_the_part_in_classic_and_the_job_in_next() -> None:
    _, events = batch(f"{A};{B};")
    seen = [texts_of("classic").seen(event).filter_text for event in events]
    assert seen[0] == (
        "CREATE TABLE `a` (`id` BIGINT PRIMARY KEY NONCLUSTERED,`d` DATE,"
        "`v` VARCHAR(9) DEFAULT _UTF8MB4'x\\\\y') TTL = `d` + INTERVAL 1 DAY;"
    )
    assert seen[1] == (
        "CREATE TABLE `b` (`id` INT PRIMARY KEY,`n` INT GENERATED ALWAYS AS(1+2) VIRTUAL) "
        "PLACEMENT POLICY = `p` COMMENT = 'onedog';"
    )
    whole = {texts_of("next").seen(event).filter_text for event in events}
    (text,) = whole
    assert text.startswith("CREATE TABLE `a`")
    assert text.endswith(
        ";CREATE TABLE `b` (`id` INT PRIMARY KEY,`n` INT GENERATED ALWAYS AS(1+2) VIRTUAL)  COMMENT = 'one\\dog'"
    )


def test_next_stops_at_a_new_table_whose_text_it_cannot_read_again() -> None:
    catalog = Catalog(sql_mode="NO_BACKSLASH_ESCAPES")
    (event,) = catalog.apply("create table t (id int primary key) comment='x\\'", schema="test")
    with pytest.raises(DdlError, match="cannot read its own text"):
        texts_of("next").check(event)
    texts_of("classic").check(event)
    texts_of("next", restored=False).check(event)
