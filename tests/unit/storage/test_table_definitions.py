"""Schema files: the checksums and the example of the rulebook, and what is and is not part of a checksum."""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.types import ColumnFlag
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


def test_the_example_of_the_rulebook() -> None:
    assert of(orders(), labels=True).checksum == 643427229
    assert of(orders()).checksum == 265415983
    query = "CREATE TABLE `orders` (`id` BIGINT UNSIGNED PRIMARY KEY)"
    made = replace(of(orders(), labels=True), version=450253245302439944, query=query, action=3)
    assert made.content().decode() == EXAMPLE
    assert made.file.path("shop/orders") == "shop/orders/meta/schema_450253245302439944_0643427229.json"
