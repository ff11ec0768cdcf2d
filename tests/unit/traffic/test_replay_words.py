"""What change tables, DDL files and state records say."""

from __future__ import annotations

from pathlib import Path

import pytest

from ticdc_emit.config import Secret
from ticdc_emit.errors import ConfigError, DdlError, StateError, UnknownTableError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.ddl_history import read_ddl, versions_of
from ticdc_emit.traffic.replay.history_forms import operation_of
from ticdc_emit.traffic.replay.record import ReplayRecord
from ticdc_emit.traffic.replay.sources import format_of
from ticdc_emit.tso import compose, tso_of


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
    assert [word for word in ("i", None, "t") if operation_of(word) is None] == [None, "t"]


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


def test_formats_by_name() -> None:
    names = ["a/b.parquet", "x.CSV.gz", "rows.ndjson", "jdbc:mysql://h/db", "shop.orders", "folder/"]
    assert [format_of(name) for name in names] == ["parquet", "csv", "json", "jdbc", None, None]


def test_a_folder_has_the_format_of_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, expected in (
        ("snap/dt=2026-01-02/part-0.snappy.parquet", "parquet"),
        ("daily/dt=2026-01-02/part-0.csv.gz", "csv"),
        ("delta/_delta_log/0.json", "delta"),
        ("ice/metadata/v1.metadata.json", "iceberg"),
        ("other/metadata/rows.orc", "orc"),
        ("none/_SUCCESS", None),
        ("a folder/_temporary.csv", None),
        ("shop.orders/x.json", "json"),
    ):
        file, folder = tmp_path / name, name.partition("/")[0]
        file.parent.mkdir(parents=True)
        file.write_text("")
        (file.parent / ".x.parquet.crc").write_text("")
        if expected == "delta":
            (tmp_path / folder / "x.parquet").write_text("")
        sources = [folder, f"{folder}/", f"{tmp_path}/{folder}", f"file://{tmp_path}/{folder}".replace(" ", "%20")]
        assert {format_of(source) for source in sources} == {expected}, name
    assert format_of("snap/dt=2026-01-02") == "parquet"
    assert format_of("no/such") is None


def test_a_replay_knows_its_own_record(tmp_path: Path) -> None:
    state = Secret(str(tmp_path / "state"))
    cut = {"slice_ms": 1000, "first_ts": 5, "last_ts": 9, "rows": 3}
    assert ReplayRecord.find(None, cut, 4).first_batch == 4
    began = ReplayRecord.find(state, cut, 4)
    assert began.first_batch == 4
    assert not (tmp_path / "state").exists(), "before the first message"
    began.begin()
    again = ReplayRecord.find(state, cut, 9)
    assert again.first_batch == 4, "where the first slice was"
    again.undo()
    assert ReplayRecord.find(state, cut, 9).first_batch == 4, "an earlier run has sent something"
    with pytest.raises(StateError, match="another slice"):
        ReplayRecord.find(state, {**cut, "slice_ms": 2000}, 4)
    with pytest.raises(StateError, match="another history"):
        ReplayRecord.find(state, {**cut, "rows": 4}, 4)
    for damage in ("{}", "[]", "{", '{"first_batch": -1}', '{"first_batch": true}', "[" * 9_999):
        (tmp_path / "state" / "replay.json").write_text(damage)
        with pytest.raises(StateError, match="cannot be used") as refused:
            ReplayRecord.find(state, cut, 4)
        assert refused.value.file == "replay.json"
    began.undo()
    assert ReplayRecord.find(state, cut, 9).first_batch == 9
