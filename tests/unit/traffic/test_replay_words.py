"""What change tables, DDL files and state records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.config import Secret
from ticdc_emit.errors import ConfigError, DdlError, StateError, UnknownTableError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.backfill import versions_of
from ticdc_emit.traffic.replay.ddl_file import read_ddl
from ticdc_emit.traffic.replay.moments import tso_of
from ticdc_emit.traffic.replay.operations import operation_of, unknown_operations
from ticdc_emit.traffic.replay.record import check_record
from ticdc_emit.traffic.replay.sources import format_of
from ticdc_emit.tso import compose


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (["I", "insert", "c", "r", " U ", "UPDATE", "update_postimage", "+U", "+I"], "put"),
        (["D", "d", "delete", "-D"], "delete"),
        (["update_preimage", "-U"], "before"),
        (["t", "x", "", "m", None], None),
    ],
)
def test_words_for_operations(words: list[str | None], meaning: str | None) -> None:
    assert {operation_of(word) for word in words} == {meaning}


def test_words_of_ones_own() -> None:
    assert operation_of("X", {"x": "D"}) == "delete"
    assert operation_of("i", {"I": "delete"}) == "delete", "they go before the known ones"
    assert unknown_operations(["i", None, "t"]) == [None, "t"]


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
    assert [stamp for stamp, _ in found] == [
        463358184652800000,
        eight - (3_599_500 << 18),
        eight,
        eight + 1,
    ]
    assert [query.split()[0] for _, query in found] == ["drop", "create", "alter", "alter"]
    assert read_ddl("-- nothing\n") == ()


def test_ddl_without_a_time_is_refused() -> None:
    with pytest.raises(DdlError, match="has no time"):
        read_ddl("drop table t; -- at 2026-01-05T08:00:00Z")
    with pytest.raises(DdlError, match="is no moment"):
        read_ddl("-- at noon\ndrop table t")


def test_a_moment_is_a_place_in_time() -> None:
    with pytest.raises(ConfigError, match="is no moment"):
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
    with pytest.raises(UnknownTableError, match="no such table"):
        versions_of(catalog_from_sql("create table shop.t (id int primary key)"), (), "shop.u")


def test_formats_by_name() -> None:
    names = ["a/b.parquet", "x.CSV.gz", "rows.ndjson", "jdbc:mysql://h/db", "shop.orders", "folder/"]
    assert [format_of(name) for name in names] == ["parquet", "csv", "json", "jdbc", None, None]


def test_a_replay_knows_its_own_record(tmp_path: Path) -> None:
    state = Secret(str(tmp_path / "state"))
    cut = {"slice_ms": 1000, "first_ts": 5, "last_ts": 9, "rows": 3}
    assert check_record(None, cut, 4) == 4
    assert check_record(state, cut, 4) == 4
    assert check_record(state, cut, 9) == 4, "where the first slice was"
    with pytest.raises(StateError, match="another slice"):
        check_record(state, {**cut, "slice_ms": 2000}, 4)
    with pytest.raises(StateError, match="another history"):
        check_record(state, {**cut, "rows": 4}, 4)
    (tmp_path / "state" / "replay.json").write_text("{}")
    with pytest.raises(StateError, match="cannot be used"):
        check_record(state, cut, 4)
