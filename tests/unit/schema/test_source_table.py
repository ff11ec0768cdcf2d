"""A table of another system as CREATE TABLE: keys that fit, names that TiDB accepts, and what was assumed."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit.errors import MissingColumnError, SchemaError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.frames.source_table import SourceColumn, SourceTable
from ticdc_emit.sql.types import MySQLType


def test_the_statement_is_one_that_the_catalog_reads() -> None:
    columns = [
        SourceColumn("id", "BIGINT", auto_increment=True),
        SourceColumn("sel`ect", "LONGTEXT", comment="it's \\ a"),
        SourceColumn("price", "DECIMAL(10,2)", nullable=False, default="0"),
    ]
    table = SourceTable.of("sh-op", "or ders", columns, "id", comment="Orders, 'all'")
    assert table.create_table() == (
        "CREATE TABLE `sh-op`.`or ders` (\n"
        "  `id` BIGINT NOT NULL AUTO_INCREMENT,\n"
        "  `sel``ect` LONGTEXT COMMENT 'it''s \\\\ a',\n"
        "  `price` DECIMAL(10,2) NOT NULL DEFAULT 0,\n"
        "  PRIMARY KEY (`id`)\n"
        ") COMMENT='Orders, ''all'''"
    )
    info = catalog_from_sql(table.create_table()).table("sh-op", "or ders")
    assert [column.comment for column in info.columns] == ["", "it's \\ a", ""]
    assert info.comment == "Orders, 'all'"
    assert table.assumptions == ("`id` is NOT NULL, because it is in the key.",)


@pytest.mark.parametrize(
    ("types", "keys", "lengths"),
    [
        ({"a": "LONGTEXT"}, "a", {"a": "VARCHAR(768)"}),
        ({"a": "LONGBLOB", "b": "BIGINT"}, "a", {"a": "VARBINARY(3072)"}),
        ({"a": "TEXT", "b": "LONGTEXT"}, ("a", "b"), {"a": "VARCHAR(384)", "b": "VARCHAR(384)"}),
        ({"a": "LONGTEXT", "b": "BIGINT", "c": "DATETIME(6)"}, ("b", "a", "c"), {"a": "VARCHAR(764)"}),
        ({"a": "VARCHAR(768)"}, "a", {"a": "VARCHAR(768)"}),
        ({"a": "LONGTEXT", "d": "DECIMAL(38,10)"}, ("d", "a"), {"a": "VARCHAR(763)"}),
        ({"a": "VARCHAR(700)", "b": "VARCHAR(100)"}, ("a", "b"), {"a": "VARCHAR(668)", "b": "VARCHAR(100)"}),
        ({"a": "VARCHAR(700)", "b": "LONGTEXT"}, ("a", "b"), {"a": "VARCHAR(384)", "b": "VARCHAR(384)"}),
    ],
)
def test_a_key_of_text_has_the_longest_length_that_fits(
    types: dict[str, str], keys: Any, lengths: dict[str, str]
) -> None:
    table = SourceTable.of("shop", "t", [SourceColumn(name, kind) for name, kind in types.items()], keys)
    by_name = {column.name: column for column in table.columns}
    assert {name: by_name[name].type for name in lengths} == lengths
    changed = [name for name in lengths if types[name] != lengths[name]]
    assert [
        name for name in changed if not any(f"`{name}` is {lengths[name]}" in each for each in table.assumptions)
    ] == []


def test_unique_keys_keep_their_nulls() -> None:
    table = SourceTable.of(
        "shop", "t", [SourceColumn("id", "INT"), SourceColumn("mail", "LONGTEXT")], "id", unique=[["mail"]]
    )
    assert "`mail` VARCHAR(768),\n" in table.create_table()
    info = catalog_from_sql(table.create_table()).table("shop", "t")
    assert [index.columns for index in info.indexes if index.unique] == [("mail",)]


def test_names_of_a_key_ignore_case() -> None:
    table = SourceTable.of("shop", "t", [SourceColumn("Id", "INT")], "ID")
    assert table.keys == ("Id",)
    assert [column.nullable for column in table.columns] == [False]


@pytest.mark.parametrize(
    ("columns", "keys", "message"),
    [
        ({"a": "INT", "A": "INT"}, (), "duplicate column name 'A'"),
        ({"x" * 65: "INT"}, (), "a name has 1 to 64 characters"),
        ({"x ": "INT"}, (), "no trailing space"),
        ({"": "INT"}, (), "a name has 1 to 64 characters"),
        ({"_TiDB_rowid": "INT"}, (), "the name is reserved"),
        ({}, (), "at least one column"),
        ({"a": "JSON"}, "a", "which cannot be in a key"),
        ({f"d{number}": "DECIMAL(65,30)" for number in range(110)}, [f"d{number}" for number in range(110)], "3,072"),
        ({"a": "INT"}, ("a", "A"), "has a column twice"),
        ({"a": "WAT"}, (), "expected a column type"),
        ({str(number): "INT" for number in range(1018)}, (), "at most 1017 columns"),
    ],
)
def test_what_tidb_refuses_names_the_table(columns: dict[str, str], keys: Any, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as refused:
        SourceTable.of("shop", "t", [SourceColumn(name, kind) for name, kind in columns.items()], keys)
    assert refused.value.table == "shop.t"
    assert refused.value.remedy


@pytest.mark.parametrize(
    ("schema", "name"), [("", "t"), ("shop", ""), ("shop", "t" * 65), ("s" * 65, "t"), ("s ", "t")]
)
def test_names_of_tables(schema: str, name: str) -> None:
    with pytest.raises(SchemaError, match="name"):
        SourceTable.of(schema, name, [SourceColumn("a", "INT")])


def test_a_key_that_is_not_a_column() -> None:
    with pytest.raises(MissingColumnError, match="Did you mean order_id"):
        SourceTable.of("shop", "t", [SourceColumn("order_id", "INT")], ["ordr_id"])


def test_one_auto_increment_column_at_most_and_it_begins_a_key() -> None:
    columns = [SourceColumn(name, "BIGINT", auto_increment=True) for name in ("a", "b", "c")]
    table = SourceTable.of("shop", "t", columns, ["b", "a"], unique=[["c"]])
    assert [column.name for column in table.columns if column.auto_increment] == ["b"]
    assert [each for each in table.assumptions if "AUTO_INCREMENT" in each] == [
        "`a` is not AUTO_INCREMENT, because no key begins with it.",
        "`c` is not AUTO_INCREMENT, because a table has one such column.",
    ]


def test_long_comments_are_cut_and_said_so() -> None:
    table = SourceTable.of("shop", "t", [SourceColumn("a", "INT", comment="x" * 2000)], comment="y" * 3000)
    info = catalog_from_sql(table.create_table()).table("shop", "t")
    assert (len(info.columns[0].comment), len(info.comment)) == (1024, 2048)
    assert len([each for each in table.assumptions if "is cut to" in each]) == 2


def test_types_are_those_of_the_statement() -> None:
    table = SourceTable.of("shop", "t", [SourceColumn("a", "DATETIME(6)"), SourceColumn("b", "LONGTEXT")])
    info = catalog_from_sql(table.create_table()).table("shop", "t")
    assert [column.type for column in info.columns] == [MySQLType.DATETIME, MySQLType.LONG_BLOB]
