"""The storage sink on Spark: the same files as without Spark, however rows are partitioned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from arrow_feeds import generic

from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.spark import TicdcSink

TS, SECOND = 450000000262144000, 1000 << 18
SCHEMA = "create table shop.orders (id int primary key, n int); create table shop.stock (id int primary key, n int)"
URI = "protocol=csv&flush-interval=5s"
DDL = [(TS + 20 * SECOND, "alter table shop.orders add column note varchar(9)")]
GENERIC = "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>"


def rows() -> list[dict[str, Any]]:
    made = []
    for number in range(120):
        stamp = TS + number * SECOND // 3
        image = {"id": str(number), "n": str(number)}
        table = "stock" if number % 3 == 0 else "orders"
        if table == "orders" and stamp > DDL[0][0]:
            image["note"] = "new"
        made.append({"schema": "shop", "table": table, "op": "c", "commit_ts": stamp, "before": None, "after": image})
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("release", ["classic", "next"])
def test_the_same_files_as_without_spark(spark: Any, tmp_path: Path, release: str) -> None:
    frame = spark.createDataFrame(rows(), GENERIC)
    for parts in (1, 5):
        sink = TicdcSink(f"file://{tmp_path}/{parts}?{URI}", SCHEMA, ddl=DDL, release=release)
        report = sink.write(frame.repartition(parts))
        assert report.rows == 120
    config = load_changefeed(f"file://{tmp_path}/plain?{URI}", release=release)
    feed = Changefeed(config, sink_for(config), SCHEMA, ddl=DDL)
    feed.run(ArrowBatch(generic(rows())), 0, final=True)
    assert files(tmp_path / "1") == files(tmp_path / "5") == files(tmp_path / "plain")
    assert len([path for path in files(tmp_path / "plain") if path.endswith(".csv")]) > 15
