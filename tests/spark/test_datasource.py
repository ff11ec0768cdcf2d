"""``format("ticdc")``: the messages of the foreachBatch sink, by batch writes and by streams that stop and go on."""

from __future__ import annotations

import inspect
import json
import pickle
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from spark_history import SCHEMA, tso

from ticdc_emit import replay
from ticdc_emit.config import Secret
from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError, DeliveryError
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning
from ticdc_emit.spark import TicdcSink
from ticdc_emit.spark.datasource import SourceOptions, StagedFile, Staging, TicdcDataSource
from ticdc_emit.spark.session import register

pytestmark = pytest.mark.spark

CANAL = "protocol=canal-json&enable-tidb-extension=true&partition-num=3"
BY_VALUE = "[[sink.dispatchers]]\nmatcher = ['*.*']\npartition = 'index-value'\n"
FORCED = "force-replicate = true\n"
OFTEN = "[sink]\nsend-bootstrap-interval-in-sec = 1\nsend-bootstrap-in-msg-count = 5\n"
TABLES = """
create table test.a (id int primary key, code varchar(9), n int, unique key (code));
create table test.b (x varchar(9), y int, n int, primary key (x, y));
create table test.c (a varchar(9), n int);
"""


def written(df: Any, **options: str) -> None:
    df.write.format("ticdc").mode("append").options(**options).save()


def mixed_tables(spark: Any) -> Any:
    """Changes of tables in the generic form, in transactions with a seq, with splits and a DDL."""
    rows: list[Any] = [("test", None, "ddl", tso(6), None, "alter table a add column extra int", None, None)]
    for step in range(12):
        for place in range(3):
            key = step * 3 + place
            extra = {"extra": "1"} if step > 6 else {}
            old = {"id": str(key), "code": f"c{key}", "n": None} | extra
            new = old | {"n": "5"} | ({"code": f"d{key}"} if place == 1 else {})
            rows.append(("test", "a", "u", tso(step), 9 - place, None, old, new))
            pair = {"x": f"k{key % 2}", "y": str(key), "n": str(place)}
            op = "cd"[key % 2]
            rows.append(("test", "b", op, tso(step), place, None, *((None, pair) if op == "c" else (pair, None))))
    for old_a, new_a in (("z", None), ("a", "m")):
        old, new = ({"a": a, "n": "1"} for a in (old_a, new_a))
        rows.append(("test", "c", "u", tso(3), 0, None, old, new))
    images = "before map<string,string>, after map<string,string>"
    kind = f"schema string, table string, op string, commit_ts long, seq long, query string, {images}"
    return spark.createDataFrame(rows, kind).repartition(4)


def test_a_batch_write_sends_what_the_sink_sends(spark: Any, tmp_path: Path) -> None:
    protocol, changefeed = "protocol=simple&partition-num=2", FORCED + OFTEN + BY_VALUE
    df = mixed_tables(spark)
    report = TicdcSink(f"jsonl://{tmp_path}/sink?{protocol}", TABLES, changefeed=changefeed).write(df)
    assert report.rows == 86
    assert report.ddl_events == 1
    uri, staging = f"jsonl://{tmp_path}/source?{protocol}", tmp_path / "staging"
    written(df, sinkUri=uri, schema=TABLES, changefeed=changefeed, stagingUri=str(staging))
    assert list(read_files(tmp_path / "source")) == list(read_files(tmp_path / "sink"))
    assert list(staging.iterdir()) == []


def test_without_a_schema_the_columns_make_the_table(
    spark: Any, changes: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = changes(6)
    with pytest.warns(AssumedSchemaWarning):
        TicdcSink(f"jsonl://{tmp_path}/sink?{CANAL}", table="test.account", keys="id").write(rows)
    options = {"sinkUri": f"jsonl://{tmp_path}/source?{CANAL}", "table": "test.account", "keys": "id"}
    written(rows, **options)
    assert list(read_files(tmp_path / "source")) == list(read_files(tmp_path / "sink"))
    with pytest.warns(AssumedSchemaWarning, match="CREATE TABLE `test`.`account`"):
        TicdcDataSource(options).writer(rows.schema, overwrite=False)
    with pytest.raises(ConfigError, match=r"the key of .* is not known"):
        TicdcDataSource({name: text for name, text in options.items() if name != "keys"}).writer(
            rows.schema, overwrite=False
        )
    with pytest.raises(ConfigError, match="the table of the rows has no name"):
        TicdcDataSource({"sinkUri": options["sinkUri"], "keys": "id"}).writer(rows.schema, overwrite=False)

    changes(5).coalesce(1).write.parquet(str(tmp_path / "in"))
    streamed = options | {"sinkUri": f"jsonl://{tmp_path}/stream?{CANAL}", "stateUri": str(tmp_path / "state")}
    with pytest.warns(AssumedSchemaWarning):
        TicdcDataSource(streamed).streamWriter(rows.schema, overwrite=False)
    stream(spark, tmp_path, streamed)
    assert len(list(read_files(tmp_path / "stream"))) > 5
    with warnings.catch_warnings():  # a batch that goes on warns no more
        warnings.simplefilter("error")
        TicdcDataSource(streamed).streamWriter(rows.schema, overwrite=False)


def stream(spark: Any, folder: Path, options: dict[str, str]) -> None:
    kind = spark.read.parquet(str(folder / "in")).schema
    rows = spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    writer = rows.writeStream.format("ticdc").options(**options).option("checkpointLocation", str(folder / "checks"))
    writer.trigger(availableNow=True).start().awaitTermination()


def test_a_stream_goes_on_where_it_stopped(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    folder, state = tmp_path / "in", str(tmp_path / "state")
    (tmp_path / "schema.sql").write_text(SCHEMA)
    options = {"SINKURI": f"jsonl://{tmp_path}/source?{CANAL}", "schemaPath": f"{tmp_path}/schema.sql"}
    options |= {"stateUri": state}
    sink = TicdcSink(f"jsonl://{tmp_path}/sink?{CANAL}", SCHEMA)

    def arrive(start: int) -> None:
        changes(5, start=start).coalesce(1).write.mode("append").parquet(str(folder))

    def sent(where: str) -> list[Any]:
        return list(read_files(tmp_path / where))

    for number, start in enumerate((0, 10)):
        arrive(start)
        sink(changes(5, start=start), number)
    stream(spark, tmp_path, options)
    assert sent("source") == sent("sink")
    arrive(20)
    sink(changes(5, start=20), 2)
    stream(spark, tmp_path, options)
    before = sent("source")
    assert before == sent("sink")

    for name in ("2", ".2.crc"):
        (tmp_path / "checks" / "commits" / name).unlink()
    stream(spark, tmp_path, options)
    sink(changes(5, start=20), 2)
    assert sent("source") == sent("sink")
    assert len(sent("source")) > len(before)
    assert not list((tmp_path / "state" / "staging").iterdir())


def test_what_is_wrong_is_told_in_words(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    uri = f"jsonl://{tmp_path}/out?{CANAL}"
    bad = spark.createDataFrame(
        [("c", tso(1), (1, 5)), ("c", tso(2), (2, 300))], "op string, commit_ts long, after struct<id:int,n:int>"
    )
    with pytest.raises(Exception, match="InvalidValueError") as caught:
        written(bad, sinkUri=uri, schema="create table test.t (id int primary key, n tinyint)")
    assert "[table='test.t', column='n', row={'id': 2" in str(caught.value)
    assert list(read_files(tmp_path / "out")) == []
    for df, options, said in (
        (bad, {"schema": SCHEMA, "sinkUrl": "x"}, "the option 'sinkurl' is unknown"),
        (bad.drop("op"), {"schema": SCHEMA, "sinkUri": uri}, "the changes have no op"),
        (bad, {"schema": "create table", "sinkUri": uri}, "DdlError"),
    ):
        with pytest.raises(Exception, match=said):
            written(df, **options)
    with pytest.raises(Exception, match="a topic can only be appended to"):
        bad.write.format("ticdc").mode("overwrite").options(sinkUri=uri, schema=SCHEMA).save()
    for read in (spark.read, spark.readStream):
        with pytest.raises(Exception, match="is write-only"):
            read.format("ticdc").load().schema  # noqa: B018 - Spark Connect looks at a source no earlier
        register(spark)  # a session that has found the format takes it again
    changes(1).write.parquet(str(tmp_path / "in"))
    with pytest.raises(Exception, match="a stream needs a stateUri"):
        stream(spark, tmp_path, {"sinkUri": uri, "schema": SCHEMA})


def test_spark_refuses_real_time_mode(spark: Any, tmp_path: Path) -> None:
    """docs/rows.md shows the message; a release that lets the mode through would need a refusal of ours."""
    rows = spark.readStream.format("rate").load()
    rows = rows.selectExpr("'c' op", "timestamp commit_time", "named_struct('id', value) after")
    uri, schema = f"jsonl://{tmp_path}/out?{CANAL}", "create table test.t (id bigint primary key)"
    if "realTime" not in inspect.signature(rows.writeStream.trigger).parameters:
        pytest.skip("only Scala has the trigger in this release")
    by_sink = rows.writeStream.foreachBatch(TicdcSink(uri, schema))
    by_source = rows.writeStream.format("ticdc").options(sinkUri=uri, schema=schema, stateUri=str(tmp_path / "state"))
    for writer in (by_sink, by_source):
        started = writer.outputMode("update").trigger(realTime="5 seconds")
        with pytest.raises(Exception, match=r"STREAMING_REAL_TIME_MODE\.OPERATOR_OR_SINK_NOT_IN_ALLOWLIST"):
            started.option("checkpointLocation", str(tmp_path / "checks")).start()


@pytest.mark.filterwarnings("ignore:options unknown")  # a file sink has no use for a password
@pytest.mark.parametrize("kind", ["writer", "streamWriter"])
def test_executors_get_no_options(tmp_path: Path, kind: str) -> None:
    from pyspark.sql.types import MapType, StringType, StructType

    uri = f"jsonl://{tmp_path}?{CANAL}&sasl-password=canary"
    source = TicdcDataSource({"sinkUri": uri, "schema": SCHEMA, "stateUri": str(tmp_path / "state")})
    rows = StructType().add("op", "string").add("commit_ts", "long")
    rows.add("after", MapType(StringType(), StringType()))
    writer = getattr(source, kind)(rows, False)
    assert b"canary" not in pickle.dumps(writer)
    assert (b"canary" in pickle.dumps(writer)) == (kind == "writer")
    assert "canary" not in f"{writer!r} {source!r} {vars(writer)}"


@pytest.mark.parametrize("profiled", [False, True])
def test_a_process_that_is_not_profiled_sends_no_profile(profiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark import accumulators

    kept = {7: "a user's"}
    empty = {accumulators.SpecialAccumulatorIds.SQL_UDF_PROFIER: "empty"}
    monkeypatch.setattr(accumulators, "_accumulatorRegistry", kept | empty)
    if profiled:
        monkeypatch.setattr(sys, "getprofile", lambda: print)
    TicdcDataSource({})
    assert accumulators._accumulatorRegistry == (kept | empty if profiled else kept)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"ddl": "{"}, r"the option ddl is not a JSON list of \[commit_ts"),
        ({"clock": "noon"}, "the option clock is not commit, wall or ms"),
        ({"late": "never"}, "late='never' is unknown"),
        ({"allowedlateness": "-1"}, "allowedLateness"),
        ({"allowedlateness": "soon"}, "allowedLateness"),
        ({"watermarkinterval": "0.0001"}, "watermarkInterval"),
        ({"verbatimJson": "yes"}, "not true or false"),
        ({"path": "/x"}, "the option 'path' is unknown"),
        ({"schemaPath": "/x"}, "both give the tables"),
        ({"keys": "id"}, "keys is for a table without a schema"),
        ({"sinkUri": "memory://x?protocol=simple"}, "a process that ends"),
    ],
)
def test_options_are_checked(given: dict[str, str], said: str) -> None:
    options = {"sinkUri": f"jsonl:///tmp/x?{CANAL}", "schema": SCHEMA}
    with pytest.raises(ConfigError, match=said) as refused:
        SourceOptions.read(options | given)
    assert "_" not in str(refused.value).replace("commit_ts", "")


def test_options_mean_what_the_sink_takes() -> None:
    given = {"ddl": '[[5, "drop table test.t"], [6, "create table t (id int)", "test"]]', "allowedlateness": "1.5"}
    given |= {"librdkafka.Linger.ms": "5", "TIMEZONE": "Asia/Shanghai", "integrity": "true", "checkpointLocation": "/x"}
    read = SourceOptions.read({"sinkUri": f"jsonl:///tmp/x?{CANAL}", "schema": SCHEMA} | given)
    assert read.values["ddl"] == [(5, "drop table test.t"), (6, "create table t (id int)", "test")]
    assert read.running.lateness == 1500 << 18
    assert read.librdkafka == {"linger.ms": "5"}
    assert read.config.time_zone == "Asia/Shanghai"
    assert read.config.integrity.enabled


def test_rows_that_the_driver_cannot_see(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="stagingUri") as caught:
        Staging(Secret(str(tmp_path))).read([StagedFile(None, "one"), StagedFile("lost.arrow", "two")])
    assert caught.value.executor == "two"


def test_lists_of_maps_of_inserts_by_each_way_into_a_worker(spark: Any, tmp_path: Path) -> None:
    """Spark 4.1 leaves out the offsets of the empty ones among the before images."""
    register(spark)
    rows = spark.sql(f"""
        select op, commit_ts, before, after from values
          ('c', {tso(1)}, null, named_struct('id', 1, 'v', array(map('a', 1)))),
          ('u', {tso(2)}, named_struct('id', 1, 'v', array(map('a', 1))),
           named_struct('id', 1, 'v', array(map('a', 2))))
          as t(op, commit_ts, before, after)""")
    table = "create table test.m (id int primary key, v json)"
    sink, source, slices = (f"jsonl://{tmp_path}/{way}?{CANAL}" for way in ("sink", "source", "slices"))
    TicdcSink(sink, table).write(rows)
    written(rows, sinkUri=source, schema=table)
    replay(spark, slices, {"test.m": rows}, table, slice=1, state_uri=f"{tmp_path}/state")
    for way in ("sink", "source", "slices"):
        values = [json.loads(message.value or b"") for message in read_files(tmp_path / way)]
        assert [each["data"][0]["v"] for each in values if each["data"]] == ['[{"a": 1}]', '[{"a": 2}]']
