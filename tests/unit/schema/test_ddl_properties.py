"""Random tables of all types and options: what must hold for each of them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.types import MySQLType

LABELS = st.lists(
    # TiDB prints NUL and line ends in a label as \\0, \\n, \\r and a backslash bare: those two cannot be told apart
    st.text(st.characters(codec="utf-8", exclude_characters=",\0\n\r", exclude_categories=["Cs", "Z"]), max_size=6),
    min_size=1,
    max_size=6,
    unique_by=str.upper,
)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=12).filter(
    lambda name: name.lower() != "_tidb_rowid"
)
TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def quoted(text: str, quote: str = "'") -> str:
    if quote == "`":
        return "`" + text.replace("`", "``") + "`"
    return quote + text.replace("\\", "\\\\").replace(quote, quote * 2) + quote


def sized(name: str, most: int, least: int = 1) -> st.SearchStrategy[str]:
    return st.integers(least, most).map(lambda length: f"{name}({length})")


INTEGERS = st.builds(
    "{}{}".format,
    st.sampled_from(["tinyint", "smallint", "mediumint", "int", "bigint", "INTEGER", "int(7)"]),
    st.sampled_from(["", " unsigned", " zerofill", " UNSIGNED zerofill"]),
)
DECIMALS = st.tuples(st.integers(1, 65), st.integers(0, 30)).map(lambda p: f"decimal({max(p)},{min(p)})")
CHARSETS = st.sampled_from(
    ["", " charset latin1", " charset gbk", " character set utf8mb4 collate utf8mb4_general_ci", " binary"]
)
STRINGS = st.builds(
    "{}{}".format,
    st.one_of(sized("char", 255), sized("varchar", 16383), st.sampled_from(["text", "longtext"])),
    CHARSETS,
)
OTHERS = st.one_of(
    st.sampled_from(
        ["float", "double", "float(7,3)", "real", "date", "year", "json", "blob", "tinyblob", "bool", "vector"]
    ),
    sized("datetime", 6, 0),
    sized("timestamp", 6, 0),
    sized("time", 6, 0),
    sized("bit", 64),
    sized("binary", 255),
    sized("varbinary", 65535),
    sized("vector", 100),
    LABELS.map(lambda labels: f"enum({','.join(map(quoted, labels))})"),
    LABELS.map(lambda labels: f"set({','.join(map(quoted, labels))})"),
)
TYPES = st.one_of(INTEGERS, DECIMALS, STRINGS, OTHERS)
OPTIONS = st.builds(
    "{}{}{}".format,
    st.sampled_from(["", " null", " not null", " NOT NULL"]),
    TEXTS.map(lambda text: " comment " + quoted(text, '"') if text else ""),
    st.sampled_from(["", " /* x */", " column_format fixed"]),
)
COLUMNS = st.lists(st.tuples(NAMES, TYPES, OPTIONS), min_size=1, max_size=6, unique_by=lambda c: c[0].lower())


def create(columns: list[tuple[str, str, str]]) -> str:
    body = ", ".join(f"{quoted(name, '`')} {kind}{options}" for name, kind, options in columns)
    return f"create table t ({body})"


def built(columns: list[tuple[str, str, str]]) -> tuple[Catalog, TableInfo]:
    catalog = Catalog()
    catalog.apply(create(columns))
    return catalog, catalog.table("test", "t")


@settings(max_examples=examples(100), deadline=None)
@given(COLUMNS, TYPES, st.data())
def test_add_then_drop_column_gives_the_table_back(
    columns: list[tuple[str, str, str]], kind: str, data: st.DataObject
) -> None:
    catalog, info = built(columns)
    after = data.draw(st.sampled_from(["", " first", *(f" after {quoted(name, '`')}" for name, _, _ in columns)]))
    catalog.apply(f"alter table t add column `added column` {kind}{after}")
    assert len(catalog.table("test", "t").columns) == len(columns) + 1
    (event,) = catalog.apply("alter table t drop column `added column`")
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
    catalog, info = built([("a", kind, ""), ("b", "int", "")])
    (event,) = catalog.apply(f"alter table t modify column a {kind}")
    assert event.table_info is not None
    assert event.table_info.columns == info.columns
    assert info.columns[0].type is not MySQLType.UNSPECIFIED
