"""A stream of a change feed into a sink: one order over all micro-batches, the same bytes after a restart, idleness."""

from __future__ import annotations

import datetime as dt
import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql.functions import lit
from spark_session import ON_CONNECT

from ticdc_emit import TicdcSink
from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import LateRowError
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning
from ticdc_emit.tso import LOGICAL_PER_MICROSECOND, compose

pytestmark = pytest.mark.spark

SCHEMA = "create table shop.orders (id bigint primary key, state varchar(9))"
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
NOON = dt.datetime(2026, 1, 5, 12, tzinfo=dt.timezone.utc)
COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("state", pa.string()),
        ("_change_type", pa.string()),
        ("_commit_version", pa.int64()),
        ("_commit_timestamp", pa.timestamp("us", "UTC")),
    ]
)
COMMITS = [
    (0, [(1, "new", "insert"), (2, "new", "insert")]),
    (60, [(1, "new", "update_preimage"), (1, "paid", "update_postimage")]),
    (-60, [(2, "new", "delete"), (3, "new", "insert")]),  # the clock of this writer is behind
    (120, [(3, "new", "update_preimage"), (3, "paid", "update_postimage")]),
]
"""Seconds after noon, and images: of each version in turn."""


def commit(version: int, at: dt.datetime, images: list[tuple[int, str, str]]) -> pa.Table:
    rows = [(*image, version, at) for image in images]
    return pa.Table.from_arrays([pa.array(column) for column in zip(*rows, strict=True)], schema=COLUMNS)


def sink_in(folder: Path, **options: Any) -> TicdcSink:
    return TicdcSink(f"jsonl://{folder}/out?{URI}", SCHEMA, state_uri=str(folder / "state"), **options)


def sent(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(message.value or b"") for message in read_files(folder / "out")]


def rows_of(messages: list[dict[str, Any]]) -> list[tuple[str, int, str]]:
    rows = [each for each in messages if each["type"] != "TIDB_WATERMARK"]
    return [(each["type"], each["_tidb"]["commitTs"], each["data"][0]["id"]) for each in rows]


@pytest.fixture(scope="module")
def feed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("feed")
    for version, (seconds, images) in enumerate(COMMITS):
        rows = commit(version, NOON + dt.timedelta(seconds=seconds), images)
        pq.write_table(rows, folder / f"{version}.parquet")
        time.sleep(0.01)  # the stream reads files in the order of their times
    return folder


def run(spark: Any, feed: Path, folder: Path, stops_after: int | None = None) -> None:
    """Run the stream until it has read all commits, each in a batch of its own; or end it before Spark knows that a
    batch is done.
    """
    with sink_in(folder) as sink:

        def send_and_stop(df: Any, batch_id: int) -> None:
            sink(df, batch_id)
            if batch_id == stops_after:
                raise RuntimeError("stopped")

        kind = spark.read.parquet(str(feed)).schema
        stream = spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(str(feed))
        writer = stream.writeStream.foreachBatch(send_and_stop).option("checkpointLocation", str(folder / "checks"))
        writer.trigger(availableNow=True).start().awaitTermination()
        sink.finish()


@pytest.mark.skipif(ON_CONNECT, reason="batches run in the server's process")
def test_commits_keep_their_order_and_a_restart_sends_the_same(spark: Any, feed: Path, tmp_path: Path) -> None:
    run(spark, feed, tmp_path / "whole")
    noon = compose(int(NOON.timestamp() * 1000))
    minute = compose(60_000)
    after = noon + minute + LOGICAL_PER_MICROSECOND
    assert rows_of(sent(tmp_path / "whole")) == [
        ("INSERT", noon, "1"),
        ("INSERT", noon, "2"),
        ("UPDATE", noon + minute, "1"),
        ("DELETE", after, "2"),
        ("INSERT", after, "3"),
        ("UPDATE", noon + 2 * minute, "3"),
    ]
    parts = tmp_path / "parts"
    with pytest.raises(Exception, match="stopped"):
        run(spark, feed, parts, stops_after=1)
    run(spark, feed, parts)
    whole, again = ([message.value for message in read_files(each / "out")] for each in (tmp_path / "whole", parts))
    assert list(dict.fromkeys(again)) == whole
    assert len(again) > len(whole)


def test_a_batch_that_was_sent_is_sent_again_after_a_column_was_added(spark: Any, feed: Path, tmp_path: Path) -> None:
    rows = spark.read.parquet(str(feed / "0.parquet"))
    with sink_in(tmp_path) as sink:
        sink(rows, 0)
    first = sent(tmp_path)
    added = compose(int(NOON.timestamp() * 1000) + 1000)
    with sink_in(tmp_path, ddl=[(added, "alter table shop.orders add column note text")]) as sink:
        sink(rows.withColumn("note", lit(None).cast("string")), 0)
        assert sent(tmp_path) == [*first, *first]
        sink(spark.read.parquet(str(feed / "1.parquet")).withColumn("note", lit("x")), 1)
    told = sent(tmp_path)[2 * len(first) :]
    assert [each["sql"] or each["data"] for each in told if each["type"] != "TIDB_WATERMARK"] == [
        "ALTER TABLE `shop`.`orders` ADD COLUMN `note` TEXT",
        [{"id": "1", "state": "paid", "note": "x"}],
    ]


def test_watermarks_while_the_table_is_idle_and_commits_behind_them(spark: Any, tmp_path: Path) -> None:
    def batch(version: int, seconds_ago: float) -> Any:
        at = dt.datetime.now(dt.timezone.utc) - dt.timedelta(seconds=seconds_ago)
        return spark.createDataFrame(commit(version, at, [(version, "new", "insert")]).to_pandas())

    with sink_in(tmp_path, clock="wall", heartbeat=3600, allowed_lateness=30) as sink:
        sink(batch(0, 100), 0)
        assert sink.changefeed.beat() is not None
        watermark = sent(tmp_path)[-1]["_tidb"]["watermarkTs"]
        assert compose(int((time.time() - 60) * 1000)) < watermark < compose(int((time.time() - 30) * 1000))
        with pytest.raises(LateRowError):
            sink(batch(1, 90), 1)
        sink(batch(1, 5), 1)
        sink(batch(2, 200), 2)  # right after the commit before it, so not late


def test_a_feed_is_written_at_once_with_and_without_a_schema(spark: Any, feed: Path, tmp_path: Path) -> None:
    rows = spark.read.parquet(str(feed))
    with sink_in(tmp_path / "schema") as sink:
        assert sink.write(rows).rows == 6
    known = {"table": "shop.orders", "keys": "id"}
    assumed = pytest.warns(AssumedSchemaWarning, match=r"`state` LONGTEXT,\n  PRIMARY KEY \(`id`\)\n")
    with TicdcSink(f"jsonl://{tmp_path}/none/out?{URI}", **known) as sink, assumed:
        sink.write({"shop.orders": rows})
    assert rows_of(sent(tmp_path / "none")) == rows_of(sent(tmp_path / "schema"))
