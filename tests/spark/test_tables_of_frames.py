"""CREATE TABLE of DataFrames and of a catalog's tables, and sinks that make their tables of the rows they get."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from spark_session import ON_CONNECT

from ticdc_emit import (
    ReferenceConsumer,
    TicdcSink,
    catalog_from_sql,
    from_operations,
    from_snapshots,
    from_validity,
    messages,
    replay,
    table_sql,
)
from ticdc_emit.cli.app import Replay
from ticdc_emit.errors import ConfigError, MissingColumnError, TicdcEmitError
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning, table_of
from ticdc_emit.spark import encode
from ticdc_emit.traffic.replay.history_forms import snapshot_diff, snapshot_inserts
from ticdc_emit.tso import tso_from_datetime

pytestmark = pytest.mark.spark
UTC = dt.timezone.utc
AT = dt.datetime(2026, 1, 5, tzinfo=UTC)

_ALL_TYPES = """
    select 7L as id, true as a_boolean, -1Y as a_byte, -2S as a_short, -3 as an_int, 1.5F as a_float,
      -2.5e-7D as a_double, cast('-12345678901234567890123456.123456789012' as decimal(38,12)) as a_decimal,
      'é' as a_string, x'00ff' as a_binary, date'2024-05-05' as a_date,
      timestamp'2024-05-05 12:34:56.789' as a_timestamp,
      timestamp_ntz'0001-01-01 00:00:00.000001' as a_timestamp_ntz, null as a_null,
      interval '-1 02:03:04.5' day to second as an_interval, array(1, null) as an_array,
      map('b', 1.10, 'a', null) as a_map, named_struct('x', date'2024-05-05', 'y', array(x'00')) as a_struct,
      parse_json('{"b": 1.5, "a": []}') as a_variant
"""
_EXPECTED = {
    "id": "7",
    "a_boolean": "1",
    "a_byte": "-1",
    "a_short": "-2",
    "an_int": "-3",
    "a_float": "1.5",
    "a_double": "-0.00000025",
    "a_decimal": "-12345678901234567890123456.123456789012",
    "a_string": "é",
    "a_binary": "AP8=",
    "a_date": "2024-05-05",
    "a_timestamp": "2024-05-05 12:34:56.789000",
    "a_timestamp_ntz": "0001-01-01 00:00:00.000001",
    "an_interval": "-26:03:04.500000",
    "a_null": None,
    "an_array": "[1, null]",
    "a_map": '{"a": null, "b": "1.10"}',
    "a_struct": '{"x": "2024-05-05", "y": ["AA=="]}',
    "a_variant": '{"a": [], "b": 1.5}',
}


def _uri(name: str) -> str:
    return f"memory://{name}?protocol=canal-json&enable-tidb-extension=true&partition-num=1"


def _rows(name: str, schema: str, table: tuple[str, str] = ("shop", "t")) -> list[dict[str, str | None]]:
    consumer = ReferenceConsumer(_uri(name), schema)
    consumer.take_all(messages(name))
    consumer.finish()
    return list(consumer.tables[table].values())


def _images(name: str) -> list[dict[str, str | None]]:
    """Return the rows of the messages, those of deletes too."""
    values = [json.loads(message.value or b"") for message in messages(name)]
    return [value["data"][0] for value in values if value["type"] in ("INSERT", "UPDATE", "DELETE")]


def test_every_type_comes_back(spark: Any) -> None:
    df = spark.sql(_ALL_TYPES)
    schema = table_sql(df, "shop.t", keys="id")
    replay(spark, _uri("all-types"), {"shop.t": snapshot_inserts(df, AT)}, schema)
    assert _rows("all-types", schema) == [_EXPECTED]


def test_time_of_day(spark: Any) -> None:
    spark.conf.set("spark.sql.timeType.enabled", "true")
    try:
        df = spark.sql("select 1L as id, time'12:34:56.5' as t, cast(null as time(0)) as n")
        schema = table_sql(df, "shop.t", keys="id")
        assert "`t` TIME(6) NOT NULL" in schema
        assert "`n` TIME," in schema
        replay(spark, _uri("time-type"), {"shop.t": snapshot_inserts(df, AT)}, schema)
    finally:
        spark.conf.unset("spark.sql.timeType.enabled")
    assert _rows("time-type", schema) == [{"id": "1", "t": "12:34:56.500000", "n": None}]


def _log(spark: Any) -> Any:
    return spark.sql("""
        select op, id, name, cast(at as timestamp) as at from values
          ('I', 1, 'a', '2026-01-05 08:00:00'), ('I', 2, 'b', '2026-01-05 08:00:00'),
          ('U', 1, 'c', '2026-01-05 09:00:00'), ('D', 2, null, '2026-01-05 10:00:00') as log(op, id, name, at)""")


def test_a_replay_without_a_schema_says_what_it_assumed(spark: Any) -> None:
    changes = from_operations(_log(spark), "id", "op", "at")
    with pytest.warns(AssumedSchemaWarning) as warned:
        report = replay(spark, _uri("replayed"), {"shop.t": changes})
    assert report.total.rows == 4
    (warning,) = [each for each in warned if each.category is AssumedSchemaWarning]
    assert "CREATE TABLE `shop`.`t` (\n  `id` INT NOT NULL,\n  `name` LONGTEXT,\n  PRIMARY KEY (`id`)\n);" in str(
        warning.message
    )
    assert warning.filename == __file__
    assert _rows("replayed", str(warning.message).partition("columns:\n")[2]) == [{"id": "1", "name": "c"}]


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_all_forms_know_their_keys(spark: Any) -> None:
    rows = spark.sql("select 1 as id, 'a' as name, date'2026-01-05' as dt")
    versions = spark.sql("select 1 as id, 'a' as name, timestamp'2026-01-05' as f, cast(null as timestamp) as t")
    snapshot = rows.drop("dt")
    for name, changes in {
        "snapshots": from_snapshots(rows, "id", "dt"),
        "validity": from_validity(versions, "id", "f", "t"),
        "diff": snapshot_diff(snapshot.limit(0), snapshot, "id", AT),
    }.items():
        report = replay(spark, _uri(name), {"shop.t": changes})
        assert report.total.rows == 1, name


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_a_sink_makes_its_tables_once(spark: Any) -> None:
    changes = snapshot_inserts(spark.sql("select 1 as id, 'a' as name"), AT)
    more = snapshot_inserts(spark.sql("select 2 as id, 'b' as name"), AT + dt.timedelta(hours=1))
    sink = TicdcSink(_uri("sink"), table="shop.t", keys="id")
    assert (sink.reports, sink.total.rows, sink.finish()) == ([], 0, None)
    with pytest.raises(ConfigError, match="before the first rows"):
        _ = sink.changefeed
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", AssumedSchemaWarning)
        sink.write(changes)
        sink.write(more)
    assert [each.category for each in warned].count(AssumedSchemaWarning) == 1
    assert sink.total.rows == 2
    assert len(list(messages("sink"))) >= 2


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_several_tables_and_their_keys(spark: Any) -> None:
    one = snapshot_inserts(spark.sql("select 1 as a"), AT)
    other = snapshot_inserts(spark.sql("select 1 as b, 2 as c"), AT)
    sink = TicdcSink(_uri("several"), keys={"shop.one": "a", "shop.other": ["c", "b"]})
    assert sink.write({"shop.one": one, "shop.other": other}).rows == 2
    tables = {info.full_name: info for info in sink.changefeed.outline.tables.values()}
    assert tables.keys() == {"shop.one", "shop.other"}


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_messages_of_arrow_rows_and_of_encode(spark: Any) -> None:
    rows = pa.table({"op": ["c"], "commit_ts": [tso_from_datetime(AT)], "after": [{"id": 1, "tags": ["x"]}]})
    assert TicdcSink(_uri("arrow"), table="shop.t", keys="id").write(rows).rows == 1
    df = snapshot_inserts(spark.sql("select 1 as id, array('x') as tags"), AT)
    (message,) = encode(df, _uri("encoded"), table="shop.t", keys="id").collect()
    assert json.loads(message["value"])["data"] == [{"id": "1", "tags": '["x"]'}]


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_a_table_without_a_key_needs_force_replicate(spark: Any) -> None:
    changes = snapshot_inserts(spark.sql("select 1 as id"), AT)
    with pytest.raises(ConfigError, match="not known, because no schema was given"):
        TicdcSink(_uri("keyless"), table="shop.t").write(changes)
    assert TicdcSink(_uri("keyless"), table="shop.t", force_replicate=True).write(changes).rows == 1


def test_what_does_not_show_its_table(spark: Any) -> None:
    changes = snapshot_inserts(spark.sql("select 1 as id"), AT)
    generic = spark.sql("select 'c' as op, 1L as commit_ts, 's' as `schema`, 't' as `table`, map('id', '1') as after")
    for refused, message in (
        (lambda: replay(spark, _uri("no"), changes), "no name"),
        (lambda: replay(spark, _uri("no"), generic), "no name"),
        (lambda: TicdcSink(_uri("no"), table="s.t", keys="id").write(generic), "do not show the columns"),
        (lambda: TicdcSink(_uri("no"), "create table s.t (id int primary key)", keys="id"), "without a schema"),
        (lambda: TicdcSink(_uri("no"), table="s.t", keys={"s.u": "id"}).write(changes), "no rows of that table"),
    ):
        with pytest.raises(ConfigError, match=message):
            refused()
    with pytest.raises(MissingColumnError, match="Did you mean id"):
        TicdcSink(_uri("no"), table="s.t", keys="idd").write(changes)


def test_a_table_of_the_catalog(spark: Any, tmp_path: Path) -> None:
    spark.sql(f"""
        create table emit_orders (id bigint comment 'the id', code char(5), name varchar(20) default 'x', note string,
          country string) using parquet partitioned by (country) comment 'All orders'
          location '{tmp_path / "orders"}'""")
    try:
        table = table_of("emit_orders", keys="id", spark=spark)
        assert table.create_table() == (
            "CREATE TABLE `test`.`emit_orders` (\n  `id` BIGINT NOT NULL COMMENT 'the id',\n  `code` VARCHAR(5),\n"
            "  `name` VARCHAR(20) DEFAULT 'x',\n  `note` LONGTEXT,\n  `country` LONGTEXT,\n  PRIMARY KEY (`id`)\n"
            ") COMMENT='All orders'"
        )
        assert any("partitioning by country is left out" in each for each in table.assumptions)
        of_rows = table_sql(spark.table("emit_orders"), "shop.orders", keys="id")
        assert "`name` VARCHAR(20) DEFAULT 'x'" in of_rows
        catalog_from_sql(of_rows)
    finally:
        spark.sql("drop table emit_orders")
    with pytest.raises(TicdcEmitError, match="does not describe"):
        table_sql("emit_orders", spark=spark)


def test_a_view_has_the_name_that_it_gets(spark: Any) -> None:
    spark.sql("select 1 as id").createOrReplaceTempView("emit_view")
    assert table_sql("emit_view", "shop.v", keys="id", spark=spark).startswith("CREATE TABLE `shop`.`v`")


@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_the_command_needs_no_schema_file(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticdc_emit.cli.session.local_spark", lambda *_, **__: nullcontext(spark))
    _log(spark).selectExpr("*", "'a' as tx").write.parquet(f"{tmp_path}/log")
    spark.sql("select 1 as id, 'a' as name, 1.5 as price").write.parquet(f"{tmp_path}/rows")

    def replayed(name: str, table: str, **columns: Any) -> list[dict[str, str | None]]:
        options = Replay(tables=[f"shop.t={tmp_path}/{table}"], sink_uri=_uri(name), as_json=True, **columns)
        assert options.run() == 0
        return _images(name)

    log = {"mode": "operations", "time_column": "at", "transaction": "tx", "keys": "id"}
    assert replayed("by-log", "log", **log)[-2:] == [{"id": "1", "name": "c"}, {"id": "2", "name": "b"}]
    assert replayed("by-rows", "rows", mode="snapshot", at="2026-01-05T00:00:00Z", keys="id") == [
        {"id": "1", "name": "a", "price": "1.5"}
    ]
    with pytest.raises(ConfigError, match="no schema is given"):
        replayed("no", "rows", mode="snapshot", at="2026-01-05T00:00:00Z")


@pytest.mark.skipif(ON_CONNECT, reason="batches run in the server's process, and so does their memory sink")
@pytest.mark.filterwarnings("ignore::ticdc_emit.AssumedSchemaWarning")
def test_a_stream_makes_its_tables_of_its_first_batch(spark: Any, tmp_path: Path) -> None:
    changes = snapshot_inserts(spark.range(6).selectExpr("id", "cast(id as string) as name"), AT)
    changes.repartition(3).write.parquet(f"{tmp_path}/changes")
    stream = spark.readStream.schema(changes.schema).option("maxFilesPerTrigger", 1).parquet(f"{tmp_path}/changes")
    sink = TicdcSink(_uri("stream"), table="shop.t", keys="id", late="emit", state_uri=f"file://{tmp_path}/state")
    query = stream.writeStream.foreachBatch(sink).option("checkpointLocation", f"{tmp_path}/check")
    query.trigger(availableNow=True).start().awaitTermination()
    schema = table_sql(changes.select("after.*"), "shop.t", keys="id")
    assert {row["name"] for row in _images("stream")} == set("012345")
    assert len(_rows("stream", schema)) == 6
