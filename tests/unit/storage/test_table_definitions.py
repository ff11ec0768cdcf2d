"""Schema files: the checksums and the example of the rulebook, and what is and is not part of a checksum."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import ColumnFlag, MySQLType
from ticdc_emit.storage import TableDefinition

NOT_NULL, KEY = ColumnFlag.NOT_NULL, ColumnFlag.NOT_NULL | ColumnFlag.PRIMARY_KEY
ORDERS = """create table shop.orders (
    id bigint unsigned primary key, Amount decimal(12,2) default 0.00, at datetime(3) default current_timestamp(3),
    y year, b bit(8) default b'1', note varchar(20) default 'a<b & "c"', state enum('new','paid'), bin varbinary(16),
    doc json)"""
"""The table of the example."""
EXAMPLE = """{
    "Table": "orders",
    "Schema": "shop",
    "Version": 1,
    "TableVersion": 450253245302439944,
    "Query": "CREATE TABLE `orders` (`id` BIGINT UNSIGNED PRIMARY KEY)",
    "Type": 3,
    "TableColumns": [
        {
            "ColumnName": "id",
            "ColumnType": "BIGINT UNSIGNED",
            "ColumnPrecision": "20",
            "ColumnNullable": "false",
            "ColumnIsPk": "true"
        },
        {
            "ColumnName": "Amount",
            "ColumnType": "DECIMAL",
            "ColumnDefault": "0.00",
            "ColumnPrecision": "12",
            "ColumnScale": "2"
        },
        {
            "ColumnName": "at",
            "ColumnType": "DATETIME",
            "ColumnDefault": "CURRENT_TIMESTAMP",
            "ColumnScale": "3"
        },
        {
            "ColumnName": "y",
            "ColumnType": "YEAR UNSIGNED",
            "ColumnPrecision": "4"
        },
        {
            "ColumnName": "b",
            "ColumnType": "BIT UNSIGNED",
            "ColumnDefault": "\\u0001",
            "ColumnPrecision": "8"
        },
        {
            "ColumnName": "note",
            "ColumnType": "VARCHAR",
            "ColumnDefault": "a\\u003cb \\u0026 \\"c\\"",
            "ColumnPrecision": "20"
        },
        {
            "ColumnName": "state",
            "ColumnType": "ENUM",
            "ColumnElems": [
                "new",
                "paid"
            ]
        },
        {
            "ColumnName": "bin",
            "ColumnType": "VARBINARY",
            "ColumnPrecision": "16"
        },
        {
            "ColumnName": "doc",
            "ColumnType": "JSON"
        }
    ],
    "TableColumnsTotal": 9
}"""


def orders() -> TableInfo:
    return catalog_from_sql(ORDERS).table("shop", "orders")


def of(info: TableInfo, *, ids: bool = False, labels: bool = False) -> TableDefinition:
    return TableDefinition.of_table(info, 1, shows_ids=ids, shows_labels=labels)


@pytest.mark.parametrize(("name", "checksum"), [("schema1", 3233644819), ("shop", 2805160324)])
def test_checksums_of_databases(name: str, checksum: int) -> None:
    made = TableDefinition(name, "", 7, None, "create database x", 1)
    assert made.checksum == checksum
    assert made.file.path(name) == f"{name}/meta/schema_7_{checksum}.json"
    assert json.loads(made.content())["TableColumns"] is None


def test_the_checksum_of_a_table_does_not_depend_on_the_order_of_its_columns() -> None:
    columns = (
        Column(1, "Id", MySQLType.LONG, 11, 0, flags=KEY),
        Column(2, "LastName", MySQLType.VARCHAR, 128, 0, "utf8mb4", flags=NOT_NULL, default="Default LastName"),
        Column(3, "FirstName", MySQLType.VARCHAR, 64, 0, "utf8mb4", default="Default FirstName"),
    )
    made = TableDefinition("a", "b", 1, columns)
    assert made.checksum == replace(made, columns=columns[::-1], query="x", action=5, version=9).checksum
    assert made.content() != replace(made, columns=columns[::-1]).content()
    assert made.checksum != replace(made, columns=columns[:2]).checksum


def test_the_example_of_the_rulebook() -> None:
    assert of(orders(), labels=True).checksum == 643427229
    assert of(orders()).checksum == 265415983
    query = "CREATE TABLE `orders` (`id` BIGINT UNSIGNED PRIMARY KEY)"
    made = replace(of(orders(), labels=True), version=450253245302439944, query=query, action=3)
    assert made.content().decode() == EXAMPLE
    assert made.file.path("shop/orders") == "shop/orders/meta/schema_450253245302439944_0643427229.json"


def test_ids_are_part_of_the_checksum() -> None:
    shown = json.loads(of(orders(), ids=True).content())["TableColumns"][1]
    assert list(shown.items())[:2] == [("ColumnId", "2"), ("ColumnName", "Amount")]
    assert of(orders(), ids=True).checksum != of(orders()).checksum


def test_types_and_sizes() -> None:
    table = """create table t.x (a tinyint zerofill, b float(7,3), c float, d double, e time(2), f char, g binary(3)
        default 'x', h text, i longblob, j decimal, k set('p','q'), l date, m bigint default '', v int as (a) virtual,
        primary key (j))"""
    info = catalog_from_sql(table.replace("default '',", ",")).table("t", "x")
    columns = {each["ColumnName"]: each for each in json.loads(of(info).content())["TableColumns"]}
    sizes = {name: (each.get("ColumnPrecision"), each.get("ColumnScale")) for name, each in columns.items()}
    assert sizes == {
        "a": ("3", None),
        "b": ("7", "3"),
        "c": ("12", None),
        "d": ("22", None),
        "e": (None, "2"),
        "f": ("1", None),
        "g": ("3", None),
        "h": ("65535", None),
        "i": ("4294967295", None),
        "j": ("10", "0"),
        "k": (None, None),
        "l": (None, None),
        "m": ("20", None),
        "v": ("11", None),
    }
    types = {name: each["ColumnType"] for name, each in columns.items()}
    assert (types["a"], types["g"], types["i"], types["v"]) == ("TINYINT UNSIGNED", "BINARY", "LONGBLOB", "INT")
    assert columns["g"]["ColumnDefault"] == "x\0\0"
