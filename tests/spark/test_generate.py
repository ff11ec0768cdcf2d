"""Generated traffic on a real Spark: the same for any partitions, lawful for its tables, accepted by the sink."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from lawful_fold import violations

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import Traffic, generate, generate_stream
from ticdc_emit.traffic.generate.arrays import canonical_text
from ticdc_emit.traffic.generate.changes import plan_traffic
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.tables import Refusals, source_tables
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_names, sample_schema

pytestmark = pytest.mark.spark

_QUICK = ("partitioned",)

IMAGES = ("before", "after")
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"


def rows_of(traffic: Traffic) -> list[dict[str, Any]]:
    """Every change as a plain mapping, typed ones with the table's name."""
    found = []
    for row in traffic.mixed().collect():
        change = row.asDict(recursive=True)
        if traffic.table is not None:
            change["schema"], change["table"] = traffic.table.split(".")
        found.append(change)
    return found


def test_partitions_and_the_number_of_rows_change_nothing(spark: Any) -> None:
    one, five = (rows_of(generate(spark, "bank", rows=1000, seed=7, partitions=parts)) for parts in (1, 5))
    place = ("commit_ts", "table")
    assert sorted(one, key=lambda row: [row[name] for name in place]) == sorted(
        five, key=lambda row: [row[name] for name in place]
    )
    fewer = rows_of(generate(spark, "bank", rows=300, seed=7))
    assert Counter(map(repr, fewer)) <= Counter(map(repr, one))
    assert rows_of(generate(spark, "bank", rows=300, seed=8)) != fewer


@pytest.mark.parametrize("name", ["shop", pytest.param("generated_columns", marks=pytest.mark.slow)])
def test_changes_obey_keys_and_foreign_keys(spark: Any, name: str) -> None:
    changes = rows_of(generate(spark, name, rows=6000, transaction_size=4, deletes=0.8, seed=3))
    sql = sample_schema(name)
    assert violations(source_tables(catalog_from_sql(sql), None, Refusals()), changes) == []
    assert {change["op"] for change in changes} == {"c", "u", "d"}
    assert len({change["commit_ts"] for change in changes}) < 4000


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] if name not in _QUICK else []) for name in sample_names()]
)
def test_every_sample_becomes_messages(spark: Any, name: str) -> None:
    traffic = generate(spark, name, rows=400, rate=100, ddl_rate=1, transaction_size=2)
    config = load_changefeed(f"memory://ignored/{name}?{URI}")
    store = f"generate-{name}"
    sink = MemorySink(store, config.codec.max_message_bytes, new_partitions=2)
    feed = Changefeed(config, sink, traffic.schema, table=traffic.table, ddl=traffic.ddl)
    changes = traffic.mixed().toArrow()
    try:
        assert feed.run(ArrowBatch(changes), 0, final=True).rows == 400
        sent = messages(store)
    finally:
        clear(store)
    assert {"INSERT", "UPDATE", "ALTER"} <= {json.loads(message.value or b"")["type"] for message in sent}
    if traffic.table is None:  # images in canonical text: what a consumer ends up with is what was generated
        consumer = ReferenceConsumer(config, traffic.schema, partitions=2)
        consumer.take_all(sent)
        consumer.finish()
        rows = [
            row | {which: dict(row[which]) if row[which] else None for which in IMAGES} for row in changes.to_pylist()
        ]
        assert consumer.tables == History(traffic.schema, rows, traffic.ddl).tables()


@pytest.mark.slow
def test_the_spark_sink_takes_the_changes_with_ddl_in_place(spark: Any, tmp_path: Path) -> None:
    traffic = generate(spark, "sysbench", rows=400, rate=100, ddl_rate=1, tables=["sbtest.sbtest2"])
    report = traffic.sink(f"jsonl://{tmp_path}?{URI}").write(traffic.changes)
    assert report.rows == 400
    sent = [json.loads(message.value or b"") for message in read_files(tmp_path)]
    versions = ["extra_1" in message["data"][0] for message in sent if message["type"] in ("INSERT", "UPDATE")]
    assert {True, False} == set(versions)
    added = next(m["_tidb"]["commitTs"] for m in sent if m["type"] == "ALTER" and "ADD COLUMN" in m["sql"])
    assert all("extra_1" not in m["data"][0] for m in sent if m["type"] == "INSERT" and m["_tidb"]["commitTs"] < added)


def test_rows_have_the_columns_of_their_version_and_defaults(spark: Any) -> None:
    traffic = generate(spark, "sysbench", rows=1500, rate=1000, ddl_rate=200, updates=10)
    changes = sorted(rows_of(traffic), key=lambda row: row["commit_ts"])
    assert len(traffic.ddl) == 299  # three times through all columns
    assert {len(change["after"] or change["before"]) for change in changes} == {4, 5}
    history = History(traffic.schema, changes, traffic.ddl)
    tables = history.tables()  # refuses rows that lack a column of their version
    assert {len(next(iter(rows.values()))) for rows in tables.values()} <= {4, 5}
    defaults = {"INT": "7", "VARCHAR(40)": "none", "DECIMAL(10,2)": "1.50"}
    waiting = list(traffic.ddl)
    there: dict[str, tuple[str, str | None, int]] = {}  # by table: the column, its default, since when
    rows: dict[tuple[str, str], Any] = {}
    checked = Counter[str]()
    for change in changes:
        while waiting and waiting[0][0] < change["commit_ts"]:
            stamp, statement = waiting.pop(0)
            words = [word.strip("`") for word in statement.split()]
            table = words[2].rpartition(".")[2].strip("`")
            if words[3:5] == ["ADD", "COLUMN"]:
                there[table] = (words[5], defaults.get(words[6]), stamp)
            elif words[3:5] == ["RENAME", "COLUMN"]:
                there[table] = (words[7], *there[table][1:])
            elif words[3:5] == ["DROP", "COLUMN"]:
                del there[table]
        table, image = change["table"], change["after"] or change["before"]
        if change["before"] is not None and table in there:
            name, default, since = there[table]
            written, last = rows[table, image["id"]]
            kept = written > since
            own = {column.removesuffix("_renamed"): value for column, value in last.items()}
            assert change["before"][name] == (own[name.removesuffix("_renamed")] if kept else default)
            checked["kept" if kept else "default"] += 1
        rows[table, image["id"]] = change["commit_ts"], image
    assert min(checked["kept"], checked["default"]) > 10


def test_no_update_changes_nothing_and_images_are_of_their_version(spark: Any) -> None:
    narrow = "create table bank.toggles (id int primary key, kind enum('a','b') not null, ok tinyint(1) not null);"
    traffic = generate(spark, f"{sample_schema('bank')};{narrow}", rows=3000, rate=1000, ddl_rate=10)
    catalog = catalog_from_sql(traffic.schema)
    waiting = list(traffic.ddl)
    updates = Counter[str]()
    for change in sorted(rows_of(traffic), key=lambda row: row["commit_ts"]):
        while waiting and waiting[0][0] < change["commit_ts"]:
            stamp, statement = waiting.pop(0)
            catalog.apply(statement, commit_ts=stamp)
        columns = {column.name for column in catalog.table(change["schema"], change["table"]).row_columns}
        for image in filter(None, (change["before"], change["after"])):
            assert image.keys() == columns
        if change["op"] == "u":
            assert change["before"] != change["after"]
            updates[change["table"]] += 1
    assert len(traffic.ddl) > 20
    assert updates.keys() == {"customers", "accounts", "transfers", "toggles"}


def test_a_typed_image_has_null_in_columns_of_other_versions(spark: Any) -> None:
    traffic = generate(spark, "sysbench", tables=["sbtest.sbtest1"], rows=400, rate=1000, ddl_rate=20)
    [added, _, renamed, *_] = [stamp for stamp, _ in traffic.ddl]
    for row in traffic.mixed().collect():
        image = row["after"] or row["before"]
        assert (image["extra_1"] is not None) == (added < row["commit_ts"] <= renamed)


def test_final_tables_are_those_of_the_folded_changes(spark: Any) -> None:
    traffic = generate(spark, "bank", rows=1500, rate=1000, ddl_rate=13)
    catalog = catalog_from_sql(traffic.schema)
    for stamp, statement in traffic.ddl:
        catalog.apply(statement, commit_ts=stamp)
    folded = History(traffic.schema, rows_of(traffic), traffic.ddl).tables()
    final = traffic.tables()
    assert final.keys() == folded.keys()
    added = 0
    for key, frame in final.items():
        columns = catalog.table(*key).row_columns
        assert frame.columns == [column.name for column in columns]
        added += any(column.startswith("extra_") for column in frame.columns)
        values = frame.toArrow().combine_chunks()
        texts = {c.name: canonical_text(c, values[c.name].chunk(0), "UTC") for c in columns}
        assert sorted(map(repr, pa.table(texts).to_pylist())) == sorted(map(repr, folded[key].values()))
    assert added


def test_the_final_table_of_typed_changes(spark: Any) -> None:
    traffic = generate(spark, "sysbench", tables=["sbtest.sbtest1"], rows=600)
    rows = {}
    for change in sorted(traffic.mixed().collect(), key=lambda row: row["commit_ts"]):
        rows[(change["after"] or change["before"])["id"]] = change["after"]
    (frame,) = traffic.tables().values()
    assert sorted(frame.collect()) == sorted(row for row in rows.values() if row is not None)


@pytest.mark.slow
def test_schema_changes_are_the_same_for_partitions_and_streams(spark: Any) -> None:
    settings = {"rows": 700, "rate": 1000, "ddl_rate": 100, "seed": 3}
    one, three = (generate(spark, "sysbench", partitions=parts, **settings) for parts in (1, 3))
    plan = plan_traffic(sample_schema("sysbench"), Settings(**settings))
    here = [row for batch in plan.changes(np.arange(700)) for row in batch.to_pylist()]
    assert one.ddl == three.ddl == plan.ddl
    made = [sorted(map(repr, each.mixed().collect())) for each in (one, three)]
    assert made[0] == made[1]
    assert sorted(map(repr, one.mixed().toArrow().to_pylist())) == sorted(map(repr, here))
    assert len(made[0]) == 700


def test_texts_are_in_the_time_zone_of_the_changefeed(spark: Any, tmp_path: Path) -> None:
    sql = "".join(
        f"create table test.{name} (id bigint primary key, created_at timestamp(3) not null);" for name in "ab"
    )
    traffic = generate(spark, sql, rows=40, time_zone="Asia/Tokyo")
    traffic.sink(f"jsonl://{tmp_path}?protocol=debezium&enable-tidb-extension=true&partition-num=1").write(
        traffic.changes
    )
    config = load_changefeed(f"jsonl://{tmp_path}?protocol=debezium&enable-tidb-extension=true", time_zone="Asia/Tokyo")
    consumer = ReferenceConsumer(config, traffic.schema, partitions=1)
    consumer.take_all(read_files(tmp_path))
    consumer.finish()
    assert consumer.tables == History(traffic.schema, rows_of(traffic), time_zone="Asia/Tokyo").tables()
    clocks = {row["created_at"] for rows in consumer.tables.values() for row in rows.values()}
    assert {clock[:16] for clock in clocks} == {"2024-01-01 09:00"}


@pytest.mark.slow
def test_a_stream_is_made_of_the_same_changes(spark: Any, tmp_path: Path) -> None:
    batches: list[Any] = []
    stream = generate_stream(spark, "orders", rows=250, rows_per_batch=200, seed=5)
    query = (
        stream.changes.writeStream.foreachBatch(lambda df, number: batches.extend(df.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        while len(batches) < 250 and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    batch = generate(spark, "orders", rows=250, seed=5).mixed().collect()
    assert sorted(map(repr, batches)) == sorted(map(repr, batch))
