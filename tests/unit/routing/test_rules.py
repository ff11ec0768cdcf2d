"""What each partition rule hashes of a table, by release, and what it refuses."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from ticdc_emit.config import CLASSIC, NEXT, RELEASES
from ticdc_emit.config.changefeed import DispatchRule
from ticdc_emit.config.releases import Release
from ticdc_emit.errors import DispatcherError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo

COLUMNS = (
    "create table test.t (Id int, v int as (Id) virtual, a int, b int, primary key (Id), unique uk (b, a), key k (v))"
)
KEYLESS = "create table test.t (a int, unique u (a))"


def table(sql: str = COLUMNS) -> TableInfo:
    (event,) = Catalog().apply(sql, commit_ts=1)
    assert event.table_info is not None
    return event.table_info


def named(rule: PartitionRule, release: Release, info: TableInfo | None = None) -> list[tuple[str, str]]:
    return [(name.decode(), column.name) for name, column in rule.hashed(info or table(), release.routing)]


@pytest.mark.parametrize(
    ("text", "kind", "by_value"),
    [
        ("", "table", False),
        ("default", "table", False),
        ("Table", "table", False),
        ("TS", "ts", False),
        ("index-value", "index-value", True),
        ("RowID", "index-value", True),
        ("columns", "columns", True),
    ],
)
def test_kinds_in_any_case(text: str, kind: str, by_value: bool, caplog: pytest.LogCaptureFixture) -> None:
    rule = PartitionRule.of(DispatchRule(("*.*",), partition=text, index="i", columns=("c",)))
    assert (rule.kind, rule.by_value, rule.index, rule.columns) == (kind, by_value, "i", ("c",))
    assert pickle.loads(pickle.dumps(rule)) == rule
    assert not caplog.records


def test_an_unknown_rule_spreads_by_table() -> None:
    assert PartitionRule.of(DispatchRule(("*.*",), partition="some-key")).kind == "table"


@pytest.mark.parametrize("rule", [PartitionRule(), PartitionRule("ts"), PartitionRule("columns")])
def test_rules_that_hash_no_value(rule: PartitionRule) -> None:
    assert named(rule, CLASSIC) == []


def test_index_value_hashes_the_handle_key() -> None:
    assert named(PartitionRule("index-value"), CLASSIC) == [("Id", "Id")]
    assert named(PartitionRule("index-value"), NEXT, table(KEYLESS)) == []


def test_behind_a_virtual_column_classic_hashes_another_one() -> None:
    by_columns = PartitionRule("columns", columns=("ID", "a"))
    assert named(by_columns, NEXT) == [("Id", "Id"), ("a", "a")]
    # "a" stands third in the table, where a row without "v" has "b"
    assert named(by_columns, CLASSIC) == [("Id", "Id"), ("b", "b")]
    by_index = PartitionRule("index-value", index="K")
    assert named(by_index, CLASSIC) == [("v", "a")]  # the index's name with another column's value


def test_beyond_the_end_of_the_row_classic_refuses_where_ticdc_crashes() -> None:
    rule = PartitionRule("index-value", index="UK")
    assert named(rule, NEXT) == [("b", "b"), ("a", "a")]
    with pytest.raises(DispatcherError, match="offset 3 of the table, and a row has 3 values") as refused:
        named(rule, CLASSIC)
    assert refused.value.code == "CDC:ErrDispatcherFailed"


@pytest.mark.parametrize("release", [CLASSIC, NEXT], ids=["classic", "next"])
@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            PartitionRule("columns", columns=("a", "Nope")),
            "columns not found when dispatch event, table: t, columns: [a Nope], column: nope",
        ),
        (
            PartitionRule("columns", columns=("V", "nope")),
            "found virtual generated columns when dispatch event, table: t, columns: [V nope] column: v",
        ),
        (PartitionRule("index-value", index="Nope"), "index not found when dispatch event, table: t, index: Nope"),
        # the integer primary key is the row's handle, no index
        (
            PartitionRule("index-value", index="primary"),
            "index not found when dispatch event, table: t, index: primary",
        ),
    ],
)
def test_refusals_have_the_text_of_ticdc(rule: PartitionRule, text: str, release: Release) -> None:
    with pytest.raises(DispatcherError) as refused:
        named(rule, release)
    assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text}"
    assert refused.value.table == "test.t"


def test_next_hashes_nothing_of_a_virtual_column() -> None:
    assert named(PartitionRule("index-value", index="k"), NEXT) == []
    mixed = table(
        "create table test.t (id int primary key, a int, v int as (a) virtual, unique uk (v, a), unique e ((a + 1)))"
    )
    assert named(PartitionRule("index-value", index="uk"), NEXT, mixed) == [("a", "a")]
    assert named(PartitionRule("index-value", index="e"), NEXT, mixed) == []  # an expression is a hidden virtual column


def test_columns_that_a_selector_drops_are_hashed_in_next_only() -> None:
    dropped = replace(table("create table test.t (id int primary key, a int, b int)"), selected=frozenset({"a"}))
    for rule, whole in (
        (PartitionRule("index-value"), [("id", "id")]),
        (PartitionRule("columns", columns=("a", "b")), [("a", "a"), ("b", "b")]),
    ):
        assert named(rule, NEXT, dropped) == whole
        assert named(rule, CLASSIC, dropped) == [pair for pair in whole if pair[0] == "a"]


def test_what_ticdc_verifies_when_a_changefeed_is_made() -> None:
    for valid in (PartitionRule(), PartitionRule("index-value"), PartitionRule("index-value", index="uk")):
        valid.verify(table(), CLASSIC.routing)
    for rule, text in (
        (PartitionRule("index-value", index="k"), "index is not unique when verify the table, table: test.t, index: k"),
        (PartitionRule("index-value", index="x"), "index not found when verify the table, table: test.t, index: x"),
        (
            PartitionRule("columns", columns=("x",)),
            "columns not found when dispatch event, table: t, columns: [x], column: x",
        ),
    ):
        with pytest.raises(DispatcherError) as refused:
            rule.verify(table(), CLASSIC.routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text}"


@pytest.mark.parametrize(
    ("release", "hashed"),
    [
        ("classic-7.5.7", [("Id", "Id"), ("b", "b"), ("a", "a")]),
        ("classic-8.1.2", [("Id", "Id"), ("a", "b"), ("v", "a")]),  # with the names of the dispatcher
        ("classic-8.5.2", [("Id", "Id"), ("a", "b"), ("v", "a")]),
        ("classic-8.5.3", [("Id", "Id"), ("b", "b"), ("a", "a")]),
    ],
)
def test_older_releases_hash_another_column_for_a_virtual_one(release: str, hashed: list[tuple[str, str]]) -> None:
    assert named(PartitionRule("columns", columns=("Id", "a", "v")), RELEASES[release]) == hashed


@pytest.mark.parametrize("release", ["classic-8.1.2", "classic-8.5.0", "classic-8.5.1", "classic-8.5.2"])
def test_releases_that_match_names_with_case(release: str) -> None:
    routing = RELEASES[release].routing
    PartitionRule("index-value", index="uk").verify(table(), routing)
    for rule, text in (
        (PartitionRule("columns", columns=("Id", "A")), "columns not found when {}, columns: [Id A]"),
        (PartitionRule("index-value", index="UK"), "index not found when {}, index: UK"),
    ):
        with pytest.raises(DispatcherError) as refused:
            rule.hashed(table(), routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('dispatch event, table: t')}"
        with pytest.raises(DispatcherError) as refused:
            rule.verify(table(), routing)
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('verify the table, table: test.t')}"


def test_errors_for_rows_name_the_database_too_in_7_5() -> None:
    for rule, text in (
        (PartitionRule("columns", columns=("Nope",)), "columns not found {}, table: test.t, columns: [Nope]"),
        (PartitionRule("index-value", index="Nope"), "index not found {}, table: test.t, index: Nope"),
    ):
        with pytest.raises(DispatcherError) as refused:
            named(rule, RELEASES["classic-7.5.7"])
        assert refused.value.message == f"[CDC:ErrDispatcherFailed]{text.format('when dispatch event')}"
