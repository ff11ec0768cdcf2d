"""Histories from tables: each kind folds to what its source ends with, and a stopped replay goes on byte for byte."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.errors import ConfigError, InvalidValueError, MissingColumnError, MissingDependencyError, StateError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.ddl_history import backfilled, versions_of
from ticdc_emit.traffic.replay.history_forms import (
    HistoryWarning,
    from_operations,
    from_validity,
    snapshot_diff,
    snapshot_inserts,
)
from ticdc_emit.traffic.replay.run import replay
from ticdc_emit.traffic.replay.sources import read_source
from ticdc_emit.tso import tso_from_datetime

pytestmark = pytest.mark.spark

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=1"
DAY = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)
HOUR = dt.timedelta(hours=1)

Run = Callable[..., tuple[dict[tuple[str, str], dict[Any, Any]], list[Message]]]


@pytest.fixture
def run(spark: Any, store: str) -> Any:
    """Replay into memory; return the tables that a consumer ends with, and the messages."""

    def go(source: Any, schema: str, *, uri: str = URI, time_zone: str = "UTC", **options: Any) -> Any:
        clear(store)
        config = load_changefeed(f"memory://{store}?{uri}", time_zone=time_zone)
        report = replay(spark, config, source, schema, **options)
        assert report.finished
        found = messages(store)
        consumer = ReferenceConsumer(config, catalog_from_sql(schema, time_zone=time_zone))
        consumer.take_all(found)
        consumer.finish()
        return consumer.tables, found

    return go


RIDES = """create table city.rides (id bigint primary key, driver int not null, fare decimal(8,2));
create table city.drivers (id int primary key, name varchar(20) not null, town varchar(20));
create table city.zones (id int primary key, name varchar(20))"""
DDL = [(tso_from_datetime(DAY + 8 * HOUR), "alter table city.rides add column tip decimal(8,2) not null default 1.5")]


def rides(spark: Any) -> Any:
    """Eight of a change table's rows, with moments of one hour each and some of the same moment."""
    rows = [
        ("I", 1, 7, "10.00", None, 1, 1),
        ("I", 2, 7, "20.00", None, 1, 2),
        ("U", 1, 7, "11.00", None, 2, 3),
        ("U", 1, 8, "11.00", None, 2, 4),  # the same row in the same moment
        ("U", 1, 8, "11.00", None, 3, 5),  # changes nothing
        ("D", 2, None, None, None, 4, 6),  # its keys only
        ("I", 3, 9, "30.00", None, 5, 7),
        ("U", 3, 9, "33.00", "2.00", 9, 8),
        ("U", 1, 8, "12.00", "0.00", 10, 9),
        ("D", 5, None, None, None, 10, 10),  # of the base
        ("I", 2, 9, "5.00", "0.50", 12, 11),
    ]
    kind = "op string, id long, driver int, fare string, tip string, hour int, lsn long"
    df = spark.createDataFrame(rows, kind).repartition(2)
    return df.selectExpr(
        "op",
        "id",
        "driver",
        "cast(fare as decimal(8,2)) fare",
        "cast(tip as decimal(8,2)) tip",
        f"timestamp'{DAY:%Y-%m-%d} 00:00:00' + make_interval(0, 0, 0, 0, hour) as at",
        "lsn",
    )


def changes(spark: Any) -> dict[str, Any]:
    """Three tables' histories: a change table with a base, versions with validity, two snapshots."""
    versions = versions_of(catalog_from_sql(RIDES), DDL, "city.rides")
    base = spark.createDataFrame([(5, 7, Decimal("1.00"))], "id long, driver int, fare decimal(8,2)")
    log = from_operations(
        backfilled(rides(spark), versions, "at"),
        ["id"],
        "op",
        "at",
        order_by=["lsn"],
        base=backfilled(base, versions, DAY),
    )
    start = snapshot_inserts(base, DAY)
    valid = spark.createDataFrame(VERSIONS, "id int, name string, town string, since int, until int").selectExpr(
        "id",
        "name",
        "town",
        f"to_date('{DAY:%Y-%m-%d}') + since as since",
        f"to_date('{DAY:%Y-%m-%d}') + until as until",
    )
    with pytest.warns(HistoryWarning, match="overlap, 1 in all: id=8"):
        drivers = from_validity(valid, ["id"], "since", "until", overlaps="cut")
    zones = [spark.createDataFrame(rows, "id int, name string") for rows in ZONES]
    return {
        "city.rides": start.unionByName(log, allowMissingColumns=True),
        "city.drivers": drivers,
        "city.zones": snapshot_inserts(zones[0], DAY).unionByName(
            snapshot_diff(zones[0], zones[1], ["id"], DAY + 30 * HOUR), allowMissingColumns=True
        ),
    }


VERSIONS = [
    (7, "Ann", "Bern", 0, 1),
    (7, "Ann", "Basel", 1, 2),
    (7, "Ann", "Basel", 2, 3),  # changes nothing
    (7, "Ann", "Jena", 5, None),  # behind a gap
    (8, "Bo", None, 1, 4),  # replaced before its end
    (8, "Bo", "Ulm", 2, None),
    (9, "Cy", "Rom", 1, 2),
    (9, "Cy", "Ob", 2, 2),  # never seen
]
ZONES = [[(1, "a"), (2, None), (3, "c")], [(1, "a"), (2, "b"), (4, None)]]
FINAL = {
    ("city", "rides"): {
        ("1",): {"id": "1", "driver": "8", "fare": "12.00", "tip": "0.00"},
        ("2",): {"id": "2", "driver": "9", "fare": "5.00", "tip": "0.50"},
        ("3",): {"id": "3", "driver": "9", "fare": "33.00", "tip": "2.00"},
    },
    ("city", "drivers"): {
        ("7",): {"id": "7", "name": "Ann", "town": "Jena"},
        ("8",): {"id": "8", "name": "Bo", "town": "Ulm"},
    },
    ("city", "zones"): {
        ("1",): {"id": "1", "name": "a"},
        ("2",): {"id": "2", "name": "b"},
        ("4",): {"id": "4", "name": None},
    },
}


def kinds(found: list[Message], table: str) -> list[tuple[str, str, Any]]:
    """Return type, id and old values of a table's messages, in order."""
    values = [json.loads(message.value or b"{}") for message in found]
    rows = [value for value in values if value["table"] == table and not value["isDdl"]]
    return [(value["type"], value["data"][0]["id"], (value["old"] or [None])[0]) for value in rows]


def test_three_kinds_of_history_in_one_stream_end_as_their_sources_do(spark: Any, run: Run) -> None:
    history = changes(spark)
    tables, found = run(history, RIDES, ddl=DDL, slice=6 * HOUR, uri=URI + "&content-compatible=true")
    assert tables == FINAL
    assert [(kind, key) for kind, key, _ in kinds(found, "drivers")] == [
        ("INSERT", "7"),
        ("UPDATE", "7"),
        ("INSERT", "8"),
        ("INSERT", "9"),
        ("DELETE", "9"),  # deletes of a moment first: drivers have no order of their own, whatever rides have
        ("UPDATE", "8"),
        ("DELETE", "7"),
        ("INSERT", "7"),
    ]
    log = kinds(found, "rides")
    assert [(kind, key) for kind, key, _ in log] == [
        ("INSERT", "5"),
        ("INSERT", "1"),
        ("INSERT", "2"),
        ("UPDATE", "1"),
        ("UPDATE", "1"),
        ("DELETE", "2"),
        ("INSERT", "3"),
        ("UPDATE", "3"),
        ("UPDATE", "1"),
        ("DELETE", "5"),
        ("INSERT", "2"),
    ]
    assert log[7][2] == {"fare": "30.00", "tip": "1.50"}, "a row older than the column has its default"
    marks = [
        json.loads(m.value or b"{}")["_tidb"]["watermarkTs"] for m in found if b"TIDB_WATERMARK" in (m.value or b"")
    ]
    assert len(marks) == 22, "one behind each slice, be it empty, and one behind the DDL"
    assert marks == sorted(marks)
    assert marks[0] == tso_from_datetime(DAY + 6 * HOUR) - 1


def test_a_stopped_and_a_killed_replay_go_on_byte_for_byte(spark: Any, tmp_path: Path) -> None:
    schema = "create table shop.t (id int primary key, v int)"
    moment = f"timestamp'{DAY:%Y-%m-%d} 00:10:00' + make_interval(0, 0, 0, 0, id)"
    day = spark.range(12).selectExpr("id", "id as v", "id as w", f"{moment} as at")
    rows = snapshot_inserts(day.filter("id not between 3 and 5"), "at")  # the second slice has none

    def part(name: str, source: Any = rows, **options: Any) -> Any:
        return replay(
            spark,
            f"jsonl://{tmp_path / name}?protocol=simple&partition-num=2",
            {"shop.t": source},
            schema,
            ddl=[(tso_from_datetime(DAY + 4 * HOUR), "alter table shop.t add column w int default 3")],
            slice=3 * HOUR,
            state_uri=f"{tmp_path / name}-state",
            watermark_interval=1800,
            **options,
        )

    whole = part("whole")
    assert (whole.finished, whole.slices, whole.first_slice, whole.total.rows) == (True, 4, 0, 9)
    seen: list[int] = []
    stopped = part("parts", on_slice=lambda each: seen.append(each.number), stop=lambda: len(seen) == 1)
    assert (stopped.finished, stopped.done_slices, seen) == (False, 1, [0])

    def dies(slice_report: Any) -> None:
        if slice_report.number == 2:
            raise RuntimeError("the process dies")

    with pytest.raises(RuntimeError, match="the process dies"):
        part("parts", on_slice=dies)
    last = part("parts")
    assert (last.finished, last.first_slice, last.done_slices) == (True, 3, 4)
    assert list(read_files(tmp_path / "parts")) == list(read_files(tmp_path / "whole"))
    again = part("parts")
    assert (again.finished, again.first_slice, again.total.messages) == (True, 4, 0)
    with pytest.raises(StateError, match="another history"):
        part("parts", rows.limit(3))


def test_rows_of_one_transaction_have_one_commit_in_all_tables(spark: Any, run: Run) -> None:
    schema = "create table b.account (id int primary key, sum int); create table b.entry (id int primary key, sum int)"
    accounts = "op string, id int, sum int, ms long, tx string"
    base = int(DAY.timestamp() * 1000)
    account = spark.createDataFrame(
        [("I", 1, 10, 0, None), ("I", 2, 0, 0, None), ("U", 1, 7, 1000, "x"), ("U", 2, 3, 1500, "x")], accounts
    )
    entry = spark.createDataFrame([("I", 1, 3, 2000, "x"), ("I", 2, 4, 2500, "y"), ("I", 3, 5, 1700, None)], accounts)
    history = {
        name: from_operations(
            df.selectExpr("*", f"timestamp_millis({base} + ms) at").drop("ms"), ["id"], "op", "at", transaction="tx"
        )
        for name, df in (("b.account", account), ("b.entry", entry))
    }
    assert all("transaction" in df.columns for df in history.values())
    tables, found = run(history, schema, slice=HOUR)
    assert tables["b", "account"] == {("1",): {"id": "1", "sum": "7"}, ("2",): {"id": "2", "sum": "3"}}
    values = [json.loads(message.value or b"{}") for message in found[:-1]]
    shown = [(value["table"], value["data"][0]["id"], value["_tidb"]["commitTs"] - (base << 18)) for value in values]
    commit = 2000 << 18  # of the transaction's last row
    assert shown == [
        ("account", "1", 0),
        ("account", "2", 0),
        ("entry", "3", 1700 << 18),
        ("account", "1", commit),
        ("account", "2", commit),
        ("entry", "1", commit),
        ("entry", "2", 2500 << 18),
    ]


def test_what_cannot_be_replayed_is_said_before_anything_is_sent(spark: Any, run: Run, tmp_path: Path) -> None:
    log = rides(spark)
    with pytest.raises(InvalidValueError, match="'U' is not an operation"):
        from_operations(log.filter("op = 'U'"), ["id"], "op", "at", operations={"u": "?"})
    with pytest.raises(MissingColumnError, match="lacks a column"):
        from_validity(log, ["id"], "at", "until")
    with pytest.raises(MissingDependencyError, match="cannot read delta") as missing:
        read_source(spark, str(tmp_path), format="delta")
    assert "io.delta" in missing.value.remedy
    with pytest.raises(MissingDependencyError, match="cannot read jdbc") as driver:
        read_source(spark, "jdbc:mysql://user:hidden@h/db", options={"dbtable": "t"})
    assert "hidden" not in str(driver.value)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_source(spark, str(tmp_path / "absent.parquet"))
    timeless = snapshot_inserts(log.selectExpr("id", "driver", "fare", "cast(null as timestamp) as at"), "at")
    with pytest.raises(InvalidValueError, match="11 rows without a commit time"):
        run({"city.rides": timeless}, RIDES, slice=HOUR)
