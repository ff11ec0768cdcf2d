"""Typed DataFrames of many tables as one batch; and that no partitioning of the source changes a byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark_history import tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError, UnknownTableError, UnsupportedTypeError
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

TABLES = """
create table shop.orders (id bigint primary key, code varchar(9) unique, total decimal(9,2));
create table shop.items (id int primary key, orders_id bigint not null);
"""
RULES = "[sink]\ndispatchers = [{ matcher = ['*.*'], topic = '{schema}_{table}', partition = 'index-value' }]"
URI = "protocol=debezium&partition-num=3"
ORDER = "struct<id:long,code:string,total:decimal(9,2)>"
ORDERS = f"op string, commit_ts long, before {ORDER}, after {ORDER}"
ITEMS = "op string, commit_ts long, after struct<id:int,orders_id:long>"


def frames(spark: Any, rows: int = 40) -> dict[str, Any]:
    """Orders, every third of which gets another code in its own transaction, and items of the same commits."""
    orders: list[Any] = [("c", tso(n), None, (n, f"c{n}", None)) for n in range(rows)]
    orders += [("u", tso(rows + n), (n, f"c{n}", None), (n, f"d{n}", None)) for n in range(0, rows, 3)]
    items = [("c", tso(n), (n * 2 + place, n)) for n in range(rows) for place in range(2)]
    return {"shop.orders": spark.createDataFrame(orders, ORDERS), "shop.items": spark.createDataFrame(items, ITEMS)}


def generic(spark: Any, tables: dict[str, Any]) -> Any:
    rows = []
    for name, df in tables.items():
        schema, table = name.split(".")
        for row in df.collect():
            images = (row.asDict().get(each) for each in ("before", "after"))
            rows.append((schema, table, row.op, row.commit_ts, *map(_texts, images)))
    maps = "before map<string,string>, after map<string,string>"
    return spark.createDataFrame(rows, f"schema string, table string, op string, commit_ts long, {maps}")


def _texts(image: Any) -> dict[str, str | None] | None:
    if image is None:
        return None
    return {name: None if value is None else str(value) for name, value in image.asDict().items()}


def sink(folder: Path) -> TicdcSink:
    return TicdcSink(f"jsonl://{folder}?{URI}", TABLES, changefeed=RULES)


def test_tables_side_by_side_send_what_one_generic_frame_sends(spark: Any, tmp_path: Path) -> None:
    tables = frames(spark)
    report = sink(tmp_path / "typed").write(tables)
    assert report.rows == 40 + 2 * 14 + 80
    sink(tmp_path / "generic").write(generic(spark, tables))
    sent = list(read_files(tmp_path / "typed"))
    assert sent == list(read_files(tmp_path / "generic"))
    assert {message.topic for message in sent} == {"shop_orders", "shop_items"}


def test_what_is_wrong_names_the_table(spark: Any, tmp_path: Path) -> None:
    tables = frames(spark, 3)
    with pytest.raises(ConfigError, match="no DataFrame"):
        sink(tmp_path).write({})
    with pytest.raises(UnknownTableError, match=r"shop\.nothing"):
        sink(tmp_path).write({"shop.nothing": tables["shop.items"]})
    wrong = spark.sql("select 'c' op, 1L commit_ts, named_struct('id', 1, 'orders_id', array(1)) after")
    with pytest.raises(UnsupportedTypeError) as refused:
        sink(tmp_path).write(tables | {"shop.items": wrong})
    assert refused.value.context["table"] == "shop.items"
    assert list(read_files(tmp_path)) == []
