"""DDL files with times, and the versions of tables that they make."""

from __future__ import annotations

import pytest

from ticdc_emit.errors import ConfigError, DdlError, UnknownTableError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.ddl_history import read_ddl, versions_of
from ticdc_emit.tso import compose, tso_of


def test_ddl_with_its_times() -> None:
    text = """
    -- made by hand
    -- at 2026-01-05T08:00:00Z
    alter table t add column a int comment 'a;b';
    alter table t add column b int;
    -- AT 463358184652800000
    drop table t
    -- at 2026-01-05 08:00:00.500+01:00
    create table u (id int primary key, v varchar(20) default '-- at')
    """
    eight = compose(1_767_600_000_000)
    found = read_ddl(text)
    assert [stamp for stamp, _ in found] == [463358184652800000, eight - (3_599_500 << 18), eight, eight + 1]
    assert [query.split()[0] for _, query in found] == ["drop", "create", "alter", "alter"]
    assert read_ddl("-- nothing\n") == ()


def test_ddl_without_a_time_is_refused() -> None:
    with pytest.raises(DdlError, match="has no time"):
        read_ddl("drop table t; -- at 2026-01-05T08:00:00Z")
    with pytest.raises(DdlError, match="is not a time"):
        read_ddl("-- at noon\ndrop table t")
    with pytest.raises(DdlError, match="'2026-01-05 08:01:10' has no time zone") as refused:
        read_ddl("-- made by hand\n-- at 5\ndrop table t;\n-- at 2026-01-05 08:01:10\ndrop table u")
    assert refused.value.place == "line 4"
    assert refused.value.remedy.startswith("Add Z or an offset: 2026-01-05 08:01:10Z or")
    assert "ordinary comment" in refused.value.remedy
    with pytest.raises(DdlError, match="has no time") as first:
        read_ddl("-- made by hand\n\ndrop table t;\n-- at 5\ndrop table u")
    assert first.value.place == "line 3"


@pytest.mark.parametrize(
    "mark",
    [
        "-- at: 2026-01-06",
        "--at noon",
        "-- at 2026-01-06",
        "-- at 2026-01-06 08:00:00",
        "# at",
        "-- AT 0",
        "-- at 99999999999999999999",
    ],
)
def test_a_mark_that_tells_no_time_is_no_comment(mark: str) -> None:
    with pytest.raises(DdlError, match=r"is not a time|has no time zone") as refused:
        read_ddl(f"-- at 2026-01-05T08:00:00Z\ndrop table t;\n{mark}\ndrop table u")
    assert refused.value.place == "line 3"


@pytest.mark.parametrize(
    "mark",
    [
        "-- at 2026-01-06 08:00:00 UTC",
        "--at 2026-01-06T08:00:00z",
        "-- at 2026-01-06 09:00:00.0 +01:00",
        "  # AT 2026-01-06 08:00:00.00Z\r",
        "--- at\t463388383641600000",
        "-- at2026-01-06 08:00:00.0000000UTC",
    ],
)
def test_spellings_of_a_moment(mark: str) -> None:
    ((stamp, query),) = read_ddl(f"{mark}\n  -- what is new\n/* on\nMonday */ # really\nalter table t add column y int")
    assert (stamp, query) == (compose(1_767_686_400_000), "alter table t add column y int")


def test_a_mark_behind_a_statement_is_refused() -> None:
    with pytest.raises(DdlError, match="on a line of its own"):
        read_ddl("-- at 5\ndrop table t; -- at 6\ndrop table u")
    assert read_ddl("-- at 5\n/*T! drop */ drop table t; -- at home\n") == ((5, "/*T! drop */ drop table t"),)
    assert read_ddl("-- at 5\ndrop table t; -- attic\n-- athome\ndrop table u")[1] == (6, "drop table u")


def test_a_moment_is_a_place_in_time() -> None:
    with pytest.raises(ConfigError, match="is not a time"):
        tso_of(0)


def test_versions_follow_the_ddl() -> None:
    catalog = catalog_from_sql("create table shop.t (id int primary key)")
    versions = versions_of(
        catalog, [(9, "alter table t add column b int"), (5, "alter table t add column a int")], "shop.t"
    )
    assert [(since, [c.name for c in info.columns]) for since, info in versions] == [
        (0, ["id"]),
        (5, ["id", "a"]),
        (9, ["id", "a", "b"]),
    ]
    for wrong, hint in (("shop.tt", "shop.t"), ("test.t", "shop.t"), ("test.zebra", "")):
        with pytest.raises(UnknownTableError, match="no such table") as unknown:
            versions_of(catalog_from_sql("create table shop.t (id int primary key)"), (), wrong)
        assert unknown.value.remedy.startswith(f"Did you mean {hint}? " if hint else "Name it")


def test_ddl_that_names_no_database_is_that_of_the_replay() -> None:
    sql = "create table shop.t (id int primary key); create table bank.t (id int primary key)"
    ddl = [(5, "alter table t add column a int"), (6, "alter table t add column b int", "bank")]
    found = versions_of(catalog_from_sql(sql), ddl, "shop.t", database="shop")
    assert [[c.name for c in info.columns] for _, info in found] == [["id"], ["id", "a"]]
    with pytest.raises(UnknownTableError, match=r"test\.t does not exist"):
        versions_of(catalog_from_sql(sql), ddl, "shop.t")
