"""Random tables of all types and options: what must hold for each of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.strategies import tables
from ticdc_emit.strategies.columns import TableShape

TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def quoted(text: str, quote: str = "'") -> str:
    if quote == "`":
        return "`" + text.replace("`", "``") + "`"
    return quote + text.replace("\\", "\\\\").replace(quote, quote * 2) + quote


SPELLED = """
    tinyint zerofill|INTEGER UNSIGNED zerofill|int(7)|bool|real|float(7,3)|vector|char(9) charset latin1
    varchar(16383) charset gbk|longtext character set utf8mb4 collate utf8mb4_general_ci|char(3) binary|datetime(0)
"""
TYPES = TableShape().column_types().map(lambda kind: kind.sql) | st.sampled_from(
    [kind.strip() for line in SPELLED.strip().splitlines() for kind in line.split("|")]
)


@settings(max_examples=examples(100), deadline=None)
@given(tables(), TYPES, st.data())
def test_add_then_drop_column_gives_the_table_back(table: str, kind: str, data: st.DataObject) -> None:
    catalog = Catalog()
    catalog.apply(table)
    (info,) = catalog.tables()
    names = [column.name for column in info if not column.hidden]
    after = data.draw(st.sampled_from(["", " first", *(f" after {quoted(name, '`')}" for name in names)]))
    name = f"`test`.{quoted(info.name, '`')}"
    catalog.apply(f"alter table {name} add column `added column` {kind}{after}")
    assert len(catalog.tables()[0].columns) == len(info.columns) + 1
    (event,) = catalog.apply(f"alter table {name} drop column `added column`")
    assert event.table_info is not None
    assert replace(event.table_info, version=info.version, update_ts=info.update_ts) == info


@settings(max_examples=examples(100), deadline=None)
@given(TEXTS, st.sampled_from("'\""))
def test_any_string_is_a_comment_and_a_default(text: str, quote: str) -> None:
    catalog = Catalog()
    literal = quoted(text, quote)
    catalog.apply(f"create table t (a varchar(99) default {literal} comment {literal}) comment {literal}")
    info = catalog.table("test", "t")
    assert (info.columns[0].default, info.columns[0].comment, info.comment) == (text, text, text)


@settings(max_examples=examples(100), deadline=None)
@given(TYPES)
def test_every_type_stays_itself_when_modified_to_itself(kind: str) -> None:
    catalog = catalog_from_sql(f"create table t (a {kind}, b int)")
    info = catalog.table("test", "t")
    (event,) = catalog.apply(f"alter table t modify column a {kind}")
    assert event.table_info.columns == info.columns
    assert info.columns[0].type is not MySQLType.UNSPECIFIED
