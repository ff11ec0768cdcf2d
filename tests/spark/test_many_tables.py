"""Typed DataFrames of many tables as one batch: what is wrong names the table; test_generate_both_ways sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from spark_history import tso

from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError, UnknownTableError, UnsupportedTypeError
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

TABLES = "create table shop.orders (id bigint primary key); create table shop.items (id int, orders_id bigint not null)"


def test_what_is_wrong_names_the_table(spark: Any, tmp_path: Path) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?protocol=debezium&partition-num=3", TABLES, force_replicate=True)
    orders = spark.createDataFrame([("c", tso(1), (1,))], "op string, commit_ts long, after struct<id:long>")
    with pytest.raises(ConfigError, match="no DataFrame"):
        sink.write({})
    with pytest.raises(UnknownTableError, match=r"shop\.nothing"):
        sink.write({"shop.nothing": orders})
    wrong = spark.sql("select 'c' op, 1L commit_ts, named_struct('id', 1, 'orders_id', array(1)) after")
    with pytest.raises(UnsupportedTypeError) as refused:
        sink.write({"shop.orders": orders, "shop.items": wrong})
    assert refused.value.context["table"] == "shop.items"
    assert list(read_files(tmp_path)) == []
