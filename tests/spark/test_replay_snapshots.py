"""A series of snapshots is the changes between each two consecutive ones, computed in one pass over all rows."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812

from ticdc_emit import from_snapshots, messages, replay, table_sql
from ticdc_emit.cli.app import Replay
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import clear
from ticdc_emit.errors import ConfigError, DuplicateChangeError, InvalidValueError, MissingColumnError
from ticdc_emit.spark.frames import union_of_reads
from ticdc_emit.traffic.replay.history_forms import from_operations, from_validity, snapshot_diff, snapshot_inserts
from ticdc_emit.tso import tso_from_datetime

pytestmark = pytest.mark.spark

DAY = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)
TABLE = "create table shop.stock (id int, place varchar(5), amount double, primary key (id, place))"
STORE = "series"


def day(number: int) -> dt.datetime:
    return DAY + dt.timedelta(days=number)


def ts(number: int) -> int:
    return tso_from_datetime(day(number))


def stock(spark: Any, *rows: tuple[Any, ...]) -> Any:
    return spark.createDataFrame(rows, "id int, place string, amount double")


def changes_of(changes: Any) -> list[tuple[Any, ...]]:
    """Return (day, op, id, amount before, amount after) in order."""
    days = {ts(number): number for number in range(20)}
    found = []
    for row in changes.collect():
        image = row.after or row.before
        found.append(
            (days[row.commit_ts], row.op, image.id, row.before and row.before.amount, row.after and row.after.amount)
        )
    return sorted(found, key=repr)


@pytest.mark.parametrize("count", [8, 9])
def test_many_sources_are_read_in_stages_of_their_own(spark: Any, count: int) -> None:
    parts = [spark.createDataFrame([(1, f"x{nth}")], f"id int, c{nth % 2} string") for nth in range(count)]
    whole = union_of_reads(parts)
    rows = sorted((row["id"], row["c0"], row["c1"]) for row in whole.collect() if row["c0"] is None)
    assert rows == [(1, None, f"x{nth}") for nth in range(1, count, 2)]
    if hasattr(whole, "_jdf"):  # Spark Connect does not show plans
        plan = whole._jdf.queryExecution().optimizedPlan().toString()
        assert plan.count("RebalancePartitions") == (count if count > 8 else 0)


def test_a_column_with_the_version(spark: Any) -> None:
    rows = spark.createDataFrame(
        [
            ("2026-01-05", 1, "a", 1.0),
            ("2026-01-05", 2, "a", 2.0),
            ("2026-01-05", 3, "a", None),
            # a day without a snapshot
            ("2026-01-07", 1, "a", 1.0),
            ("2026-01-07", 2, "a", 2.5),
            ("2026-01-07", 4, "a", 4.0),
            ("2026-01-08", 1, "a", -0.0),
            ("2026-01-08", 3, "a", None),
            ("2026-01-08", 4, "a", 4.0),
            ("2026-01-09", 1, "a", 0.0),
            ("2026-01-09", 4, "a", 4.0),
        ],
        "dt string, id int, place string, amount double",
    )
    expected = [
        (0, "c", 1, None, 1.0),
        (0, "c", 2, None, 2.0),
        (0, "c", 3, None, None),
        (2, "c", 4, None, 4.0),
        (2, "d", 3, None, None),
        (2, "u", 2, 2.0, 2.5),
        (3, "c", 3, None, None),
        (3, "d", 2, 2.5, None),
        (3, "u", 1, 1.0, -0.0),
        (4, "d", 3, None, None),
        (4, "u", 1, -0.0, 0.0),
    ]
    for df in (rows, rows.repartition(3), rows.withColumn("dt", rows.dt.cast("date"))):
        changes = from_snapshots(df, ["id", "place"], "dt")
        assert changes.columns == ["op", "commit_ts", "before", "after"]
        assert changes_of(changes) == sorted(expected, key=repr)
    assert changes.select("after.*").columns == ["id", "place", "amount"]


def test_a_data_frame_by_its_time_may_be_empty(spark: Any) -> None:
    first, again = stock(spark, (1, "a", 1.0), (2, "a", 2.0)), stock(spark, (2, "a", 2.0))
    nothing = first.filter("false")
    series = {day(3): again, day(0): nothing, day(1): first, ts(2): nothing}
    expected = [
        (1, "c", 1, None, 1.0),
        (1, "c", 2, None, 2.0),
        (2, "d", 1, 1.0, None),
        (2, "d", 2, 2.0, None),
        (3, "c", 2, None, 2.0),
    ]
    assert changes_of(from_snapshots(series, ["id", "place"])) == expected
    rows = first.selectExpr("*", f"{ts(1)} as at").unionByName(again.selectExpr("*", f"{ts(3)} as at"))
    assert changes_of(from_snapshots(rows, ["id", "place"], "at", versions=[ts(2)])) == expected
    assert changes_of(from_snapshots({day(0): nothing}, "id")) == []
    wider = {day(0): again, day(1): again.selectExpr("*", "5 as more"), day(2): again}
    assert [(op, after["more"]) for op, after in from_snapshots(wider, "id").select("op", "after").collect()] == [
        ("c", None),
        ("u", 5),
        ("u", None),
    ]


def test_a_key_twice_in_one_snapshot(spark: Any) -> None:
    clear(STORE)
    uri = f"memory://{STORE}?protocol=canal-json&partition-num=1"
    for second in (1.0, 2.0):
        series = {day(0): stock(spark, (1, "a", 1.0)), day(1): stock(spark, (1, "a", 1.0), (1, "a", second))}
        for options in ({}, {"slice": 3600}):
            with pytest.raises(DuplicateChangeError, match="two rows of one version have the key '1, a'") as refused:
                replay(spark, uri, {"shop.stock": from_snapshots(series, ["id", "place"])}, TABLE, **options)
            assert refused.value.commit_ts == ts(1)
    assert messages(STORE) == []


def test_what_is_no_series_is_refused(spark: Any) -> None:
    rows = stock(spark, (1, "a", 1.0))
    timed = rows.selectExpr("*", "cast(null as date) as dt")
    with pytest.raises(ConfigError, match="snapshots need keys"):
        from_snapshots(rows, [], "dt")
    with pytest.raises(ConfigError, match="snapshots need a time"):
        from_snapshots(rows, "id")
    with pytest.raises(ConfigError, match="both give the time"):
        from_snapshots({day(0): rows}, "id", "dt")
    with pytest.raises(ConfigError, match="there is no snapshot"):
        from_snapshots({}, "id")
    with pytest.raises(ConfigError, match="two snapshots have one time"):
        from_snapshots({day(0): rows, ts(0): rows}, "id")
    with pytest.raises(ConfigError, match="is not a time"):
        from_snapshots({"2026-01-05": rows}, "id")  # type: ignore[dict-item]
    with pytest.raises(InvalidValueError, match="a row has no time"):
        from_snapshots(timed, "id", "dt")
    with pytest.raises(InvalidValueError, match="'a' is not a time"):
        from_snapshots(rows, "id", "place")
    with pytest.raises(MissingColumnError, match="lacks a column"):
        from_snapshots({day(0): rows, day(1): timed.drop("id")}, "id")


def test_one_name_is_a_list_of_one(spark: Any) -> None:
    rows = spark.sql("select 'I' as op, 1 as id, 'x' as name, timestamp'2026-01-05 07:00:00' as at, 5 as lsn")
    changes = from_operations(rows, "id", "op", "at", order_by="lsn", columns="id")
    assert changes.select("after.*").columns == ["id"]
    assert changes.select("seq").first().seq == 5
    assert from_validity(rows.withColumn("until", rows.at), "id", "at", "until", columns="name").columns
    assert snapshot_diff(rows, rows.selectExpr("id", "name"), "id", DAY).count() == 0
    assert snapshot_inserts(rows, "at", columns="id").select("after.*").columns == ["id"]
    assert from_snapshots(rows, "id", "at", columns="name").select("after.*").columns == ["name"]
    for wrong, hint in (
        ("lsm", "Did you mean lsn?"),
        ("cast(lsm as long)", "It has: op, id, name, at, lsn"),
        ("sum(lsn)", "It has: op, id, name, at, lsn"),
        ("*", "It has: op, id, name, at, lsn"),
        ("lsn desc", "order_by='-lsn'"),  # for Spark a column lsn that is called desc
    ):
        with pytest.raises((MissingColumnError, ConfigError)) as refused:
            from_operations(rows, "id", "op", "at", order_by=wrong)
        assert hint in refused.value.remedy
    with pytest.raises(MissingColumnError) as missing:
        from_operations(rows, "idd", "op", "at")
    assert (missing.value.column, missing.value.remedy[:16]) == ("idd", "Did you mean id?")


def test_what_names_no_column_is_refused(spark: Any) -> None:
    rows = spark.sql("select 'I' as op, 1 as id, timestamp'2026-01-05 07:00:00' as at, 5 as lsn")
    refusals: list[tuple[str, Callable[[], Any]]] = [
        *(("keys", partial(from_operations, rows, keys, "op", "at")) for keys in (None, 5, F.col("id"), [F.col("id")])),
        *(("keys", partial(table_sql, rows, "s.t", keys)) for keys in (None, 5)),
        ("order_by", partial(from_operations, rows, "id", "op", "at", order_by=F.col("lsn"))),
        ("columns", partial(from_operations, rows, "id", "op", "at", columns=F.col("lsn"))),
        ("operations", partial(from_operations, rows, "id", "op", "at", operations="X")),
        ("versions", partial(from_snapshots, rows, "id", "at", versions="2026-01-07")),
        ("unit", partial(from_operations, rows, "id", "op", "lsn", unit="sec")),
        ("types", partial(table_sql, rows, "s.t", "id", types="int")),
    ]
    for option, call in refusals:
        with pytest.raises(ConfigError) as refused:
            call()
        assert refused.value.option == option
        assert refused.value.remedy
    with pytest.raises(ConfigError, match="is not a name"):
        from_operations(rows, "id", F.col("op"), "at")
    assert {row.op for row in from_snapshots(rows, "id", "at", columns="id", versions=str(ts(9))).collect()} == {
        "c",
        "d",
    }


def test_the_command_takes_folders_of_snapshots(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ticdc_emit.cli.session.local_spark", lambda *_, **__: nullcontext(spark))
    rows = spark.sql("""select * from values (date'2026-01-05', 1, 'a', 1.5D), (date'2026-01-05', 2, 'a', 2D),
        (date'2026-01-07', 2, 'a', 2D), (date'2026-01-07', 3, 'b', null) as rows(dt, id, place, price)""")
    rows.write.partitionBy("dt").parquet(f"{tmp_path}/daily")
    (tmp_path / "t.sql").write_text(
        "create table shop.stock (id int, place varchar(5), price decimal(6,2), primary key (id, place));"
    )
    (tmp_path / "ddl.sql").write_text(
        "-- at 2026-01-06T00:00:00Z\nalter table shop.stock add column amount int not null default 7"
    )
    uri = f"jsonl://{tmp_path}/out?protocol=canal-json&partition-num=1"
    tables = [f"shop.stock={tmp_path}/daily"]
    options = Replay(
        schema=tmp_path / "t.sql",
        tables=tables,
        sink_uri=uri,
        mode="snapshots",
        time_column="dt",
        ddl=tmp_path / "ddl.sql",
        slice="1d",
        as_json=True,
    )
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    with pytest.raises(InvalidValueError, match="NULL in a NOT NULL column"):
        replace(options, slice=None).run()
    spark.read.parquet(f"{tmp_path}/daily").selectExpr("*", "if(dt = '2026-01-05', null, 7) amount").write.partitionBy(
        "dt"
    ).parquet(f"{tmp_path}/wide")
    assert replace(options, tables=[f"shop.stock={tmp_path}/wide"]).run() == 0
    values = [json.loads(message.value or b"{}") for message in read_files(tmp_path / "out")]
    assert [(v["type"], v["data"] and v["data"][0]["id"], v["data"] and v["data"][0]["price"]) for v in values] == [
        ("INSERT", "1", "1.50"),
        ("INSERT", "2", "2.00"),
        ("ALTER", None, None),
        ("DELETE", "1", "1.50"),
        ("INSERT", "3", None),
    ]
    (one,) = Path(tmp_path / "wide" / "dt=2026-01-05").glob("*.parquet")
    single = Replay(
        schema=tmp_path / "t.sql",
        tables=[f"shop.stock=file://{one.parent}"],
        sink_uri=f"jsonl://{tmp_path}/again?protocol=canal-json&partition-num=1",
        mode="snapshot",
        at="2026-01-05T00:00:00Z",
        as_json=True,
    )
    assert single.run() == 0
    assert len(list(read_files(tmp_path / "again"))) == 2
    with pytest.raises(DuplicateChangeError) as refused:
        replace(single, tables=tables, sink_uri=f"jsonl://{tmp_path}/no?protocol=simple").run()
    assert "Replay a series of snapshots: --mode snapshots --time-column" in refused.value.remedy
