"""Column selectors: what is left of a table, and what they must leave."""

from __future__ import annotations

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.errors import ColumnSelectorError, ConfigError
from ticdc_emit.routing.partitions import PartitionRule
from ticdc_emit.routing.selectors import ColumnSelectors
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column, TableInfo

KEYED = "create table test.T (id int, u int, a int, v int as (a) virtual, b int, primary key (id), unique uk (u, a))"


def table(sql: str = KEYED) -> TableInfo:
    return catalog_from_sql(sql).tables()[0]


def selectors(*entries: tuple[str, list[str]], case_sensitive: bool = False) -> ColumnSelectors:
    chosen = [{"matcher": [matcher], "columns": columns} for matcher, columns in entries]
    return ColumnSelectors.of(
        load_changefeed(
            "kafka://h:9092/t?protocol=canal-json",
            {"case-sensitive": case_sensitive, "sink": {"column-selectors": chosen}},
        )
    )


def names(columns: tuple[Column, ...]) -> list[str]:
    return [column.name for column in columns]


@pytest.mark.parametrize(
    ("sql", "columns", "passes"),
    [
        (KEYED, ["id"], True),
        (KEYED, ["u", "a"], True),  # a whole unique index, nullable or not
        (KEYED, ["u", "b"], False),
        ("create table test.t (a int, b int)", ["x"], True),  # nothing to keep
        ("create table test.t (a int unique, b int)", ["b"], True),
        ("create table test.t (a int not null unique, b int)", ["b"], False),
        ("create table test.t (a int not null unique, b int unique)", ["b"], True),
        ("create table test.t (a varchar(9), b int, primary key (a, b) nonclustered)", ["a"], False),
        ("create table test.t (a int primary key, v int as (a) virtual, unique (v))", ["v"], False),  # no row has v
    ],
)
def test_a_key_must_be_left(sql: str, columns: list[str], passes: bool) -> None:
    chosen, info = selectors(("*.*", columns)), table(sql)
    if passes:
        assert names(chosen.select(info).data_columns) == [name for name in names(info.row_columns) if name in columns]
        return
    with pytest.raises(ColumnSelectorError) as refused:
        chosen.select(info)
    assert refused.value.message == (
        "[CDC:ErrColumnSelectorFailed]no primary key columns or unique key columns obtained after filter out, "
        f"table: {info.full_name}"
    )
    assert (refused.value.code, refused.value.table) == ("CDC:ErrColumnSelectorFailed", info.full_name)


def test_what_ticdc_verifies_when_a_changefeed_is_made() -> None:
    info, by_columns = table(), PartitionRule("columns", columns=("a", "b"))
    selectors(("test.*", ["id", "a", "b"])).verify(info, by_columns)
    selectors(("test.*", ["id"])).verify(info, PartitionRule("ts"))
    with pytest.raises(ColumnSelectorError) as refused:
        selectors(("test.*", ["id", "a"])).verify(info, by_columns)
    assert refused.value.message == (
        "[CDC:ErrColumnSelectorFailed]the filtered out column is used in the column dispatcher, "
        "table: test.T, column: b"
    )
    every = selectors(("test.*", ["id"]), ("test.t", ["b"]))
    assert every.select(info).selected == {"id"}
    with pytest.raises(ColumnSelectorError, match="no primary key columns"):
        every.verify(info, PartitionRule())  # it asks every selector that matches, rows only meet the first


@pytest.mark.parametrize(("matcher", "column"), [("test", "*"), ("*.*", "a.b")])
def test_wrong_patterns(matcher: str, column: str) -> None:
    with pytest.raises(ConfigError, match="CDC:ErrFilterRuleInvalid"):
        selectors((matcher, [column]))
