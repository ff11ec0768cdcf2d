"""Generated traffic on a real Spark: the same for any partitions, lawful for its tables, accepted by the sink."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lawful_fold import violations

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.batch import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import Traffic, generate, generate_stream
from ticdc_emit.traffic.generate.changes import plan_traffic
from ticdc_emit.traffic.generate.on_spark import changes_of_stream
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.generate.sql import canonical_text
from ticdc_emit.traffic.generate.tables import source_tables
from ticdc_emit.traffic.generate.values import Moment, realistic
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_names, sample_schema
from ticdc_emit.tso import physical_ms

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
    assert violations(source_tables(catalog_from_sql(sql), sql), changes) == []
    assert {change["op"] for change in changes} == {"c", "u", "d"}
    assert len({change["commit_ts"] for change in changes}) < 4000


@pytest.mark.slow
def test_generated_columns_have_their_computed_values(spark: Any) -> None:
    for change in rows_of(generate(spark, "generated_columns", rows=300)):
        row = change["after"] or change["before"]
        if change["table"] == "people":
            assert row["full_name"] == f"{row['first_name']} {row['last_name']}"
            assert row["search_name"] == row["full_name"].lower()
            assert (row["birth_year"], row["name_length"]) == (row["birthday"][:4], str(len(row["full_name"])))
        else:
            cents = round(float(row["price"]) * 100) * int(row["quantity"]) - round(float(row["discount"] or 0) * 100)
            assert row["total"] == f"{cents / 100:.2f}"


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


def test_columns_have_the_values_that_were_asked_for(spark: Any) -> None:
    sql = """
        create table a.t (id int primary key, kind enum('x','y','z') not null, n int, price decimal(8,2) not null,
        low bigint not null, mid double not null, at timestamp(3) not null, day date not null,
        code varchar(20) not null, gone varchar(9), word text not null, y year not null, s set('p','q') not null,
        moves int not null)"""
    columns = {
        "kind": {"labels": ["z", "x"], "weights": [1, 9]},
        "n": {"range": [-3, 3], "nulls": 0.5},
        "price": {"range": [0.5, 1]},
        "low": {"range": [1, 1_000_000], "distribution": "zipf"},
        "mid": {"range": [0, 100], "distribution": "normal"},
        "at": {"range": ["2026-01-01T00:00:00", "2026-01-01T00:00:00.009"]},
        "day": {"range": ["2026-02-27", "2026-03-01"]},
        "code": {"pattern": "ORD-####-?^\\#"},
        "gone": {"nulls": 1.0},
        "word": {"labels": ["a|b;c~d\x01", "it's", "\\", ""]},
        "y": {"range": [1999, 2001]},
        "s": {"labels": ["p,q", ""]},
    }
    changes = [row.asDict(recursive=True) for row in generate(spark, sql, rows=3000, columns=columns).mixed().collect()]
    rows = [change["after"] for change in changes if change["op"] == "c"]
    seen = {name: Counter(row[name] for row in rows) for name in rows[0]}
    assert set(seen["kind"]) == {"x", "z"}
    assert 0.85 < seen["kind"]["x"] / len(rows) < 0.95
    assert set(seen["n"]) == {None, *range(-3, 4)}
    assert 0.42 < seen["n"][None] / len(rows) < 0.58
    assert (float(min(seen["price"])), float(max(seen["price"])), len(seen["price"])) == (0.5, 1.0, 51)
    assert 0.4 < sum(count for value, count in seen["low"].items() if value < 1000) / len(rows) < 0.6
    assert 0.6 < sum(count for value, count in seen["mid"].items() if 35 < value < 65) / len(rows) < 0.8
    assert {moment.isoformat(timespec="milliseconds") for moment in seen["at"]} == {
        f"2026-01-01T00:00:00.{ms:03}" for ms in range(10)
    }
    assert {day.isoformat() for day in seen["day"]} == {"2026-02-27", "2026-02-28", "2026-03-01"}
    assert all(re.fullmatch(r"ORD-[0-9]{4}-[a-z][A-Z]#", code) for code in seen["code"])
    assert len(seen["code"]) > len(rows) / 2
    assert set(seen["gone"]) == {None}
    assert set(seen["word"]) == {"a|b;c~d\x01", "it's", "\\", ""}
    assert (set(seen["y"]), set(seen["s"])) == ({1999, 2000, 2001}, {"p,q", ""})
    assert all(change["before"] != change["after"] for change in changes)


def test_a_controlled_column_alone_still_shows_every_update(spark: Any) -> None:
    sql = "create table a.t (id int primary key, kind varchar(9), n int)"
    columns = {"kind": {"labels": ["a", "b", "c"], "weights": [8, 1, 1], "nulls": 0.3}, "n": {"labels": [7]}}
    changes = [row.asDict(recursive=True) for row in generate(spark, sql, rows=2000, columns=columns).mixed().collect()]
    updates = [change for change in changes if change["op"] == "u"]
    assert len(updates) > 1000
    assert all(change["before"]["kind"] != change["after"]["kind"] for change in updates)
    assert {change["after"]["kind"] for change in updates} == {"a", "b", "c", None}


@pytest.mark.slow
def test_the_spark_sink_takes_the_changes_with_ddl_in_place(spark: Any, tmp_path: Path) -> None:
    traffic = generate(spark, "sysbench", rows=400, rate=100, ddl_rate=1, tables=["sbtest.sbtest2"])
    report = traffic.sink(f"file://{tmp_path}?{URI}").write(traffic.changes)
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
        texts = frame.selectExpr(*(f"{canonical_text(c, f'`{c.name}`', 'UTC')} as `{c.name}`" for c in columns))
        assert sorted(repr(row.asDict()) for row in texts.collect()) == sorted(map(repr, folded[key].values()))
    assert added


def test_the_final_table_of_typed_changes(spark: Any) -> None:
    traffic = generate(spark, "sysbench", tables=["sbtest.sbtest1"], rows=600)
    rows = {}
    for change in sorted(traffic.mixed().collect(), key=lambda row: row["commit_ts"]):
        rows[(change["after"] or change["before"])["id"]] = change["after"]
    (frame,) = traffic.tables().values()
    assert sorted(frame.collect()) == sorted(row for row in rows.values() if row is not None)


_KINDS = (
    "int", "tinyint", "tinyint(1)", "tinyint unsigned", "bigint", "bigint unsigned", "decimal(10,2)", "decimal(1,0)",
    "decimal(65,30)", "decimal(2,2)", "float", "double", "float(2,2)", "char(1)", "varchar(3)", "varchar(60)", "text",
    "blob", "binary(1)", "varbinary(9)", "binary(20)", "json", "enum('a','b')", "enum('a','b','c')", "set('x')",
    "set('x','y','z')", "date", "datetime", "datetime(6)", "timestamp(3)", "time", "time(6)", "year", "bit(1)",
    "bit(64)", "vector(3)", "char(2) charset latin1",
)  # fmt: skip
_NAMES = ("v", "status", "note", "updated_at", "tags", "score", "c", "url")


@pytest.mark.parametrize("null", ["not null", "null"])
def test_the_restless_column_of_any_type_is_another_one_at_every_step(spark: Any, null: str) -> None:
    kinds = [*enumerate(_KINDS), *([(len(_KINDS), "enum('only')")] if null == "null" else [])]
    wanted = [f"{_NAMES[(n + shift) % len(_NAMES)]}_{n} {kind} {null}" for n, kind in kinds for shift in (0, 3)]
    tables = "".join(f"create table t.t{n} (id int primary key, {each});" for n, each in enumerate(wanted))
    catalog = catalog_from_sql(tables)
    columns = [info.row_columns[1] for info in catalog.tables()]
    at = Moment("row", "step", "1700000000000000L", "1700000000000000L + step")
    values = [f"{realistic(column, ('seed',), at, restless=True)} as v{n}" for n, column in enumerate(columns)]
    steps = spark.range(12_000).selectExpr("id div 30L as row", "id % 30L as step").selectExpr("row", "step", *values)
    arrays = steps.orderBy("row", "step").toArrow()
    step = arrays.column("step").to_pylist()
    for n, column in enumerate(columns):
        shown = arrays.column(f"v{n}").to_pylist()
        neighbours = zip(step[1:], shown, shown[1:], strict=False)
        assert not [pair for here, *pair in neighbours if here and pair[0] == pair[1]], column.name
        assert (None in shown) == (null == "null")


@pytest.mark.slow
def test_schema_changes_are_the_same_for_partitions_and_streams(spark: Any) -> None:
    settings = {"rows": 700, "rate": 1000, "ddl_rate": 100, "seed": 3}
    one, three = (generate(spark, "sysbench", partitions=parts, **settings) for parts in (1, 3))
    plan = plan_traffic(sample_schema("sysbench"), Settings(**settings))
    streamed = changes_of_stream(spark.range(900).withColumnRenamed("id", "value"), plan)
    assert one.ddl == three.ddl == plan.ddl
    made = [sorted(map(repr, each.collect())) for each in (one.mixed(), three.mixed(), streamed)]
    assert made[0] == made[1] == made[2]
    assert len(made[0]) == 700


def test_texts_are_in_the_time_zone_of_the_changefeed(spark: Any, tmp_path: Path) -> None:
    sql = "".join(
        f"create table test.{name} (id bigint primary key, created_at timestamp(3) not null);" for name in "ab"
    )
    traffic = generate(spark, sql, rows=40, time_zone="Asia/Tokyo")
    traffic.sink(f"file://{tmp_path}?protocol=debezium&enable-tidb-extension=true&partition-num=1").write(
        traffic.changes
    )
    config = load_changefeed(f"file://{tmp_path}?protocol=debezium&enable-tidb-extension=true", time_zone="Asia/Tokyo")
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


@pytest.mark.slow
def test_live_changes_come_when_they_commit(spark: Any, tmp_path: Path) -> None:
    came: list[tuple[float, int]] = []

    def keep(df: Any, number: int) -> None:
        rows = df.select("commit_ts").collect()
        came.extend((time.time(), commit_ts) for (commit_ts,) in rows)

    began = time.time()
    stream = generate_stream(spark, "sysbench", live=True, rate=50.5, rows=150, seed=5)
    query = stream.changes.writeStream.foreachBatch(keep).option("checkpointLocation", str(tmp_path)).start()
    try:
        while len(came) < 150 and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    stamps = sorted(commit_ts for _, commit_ts in came)
    assert len(stamps) == 150
    assert all(physical_ms(commit_ts) / 1000 <= at for at, commit_ts in came)
    assert physical_ms(stamps[0]) / 1000 >= began - 0.001
