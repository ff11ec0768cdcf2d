"""Change feeds of Delta, Iceberg and Spark become row changes: images paired by key, a commit one transaction."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F  # noqa: N812
from spark_session import ON_CONNECT

from ticdc_emit import from_changes, messages, replay
from ticdc_emit.cli.app import Replay
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import clear
from ticdc_emit.errors import (
    ConfigError,
    DuplicateChangeError,
    InvalidValueError,
    MissingColumnError,
    UnsupportedTypeError,
)
from ticdc_emit.spark import TicdcSink, change_feed
from ticdc_emit.spark.change_feed import rising
from ticdc_emit.spark.row_changes import refusing_rows
from ticdc_emit.tso import LOGICAL_PER_MICROSECOND, tso_from_datetime

pytestmark = pytest.mark.spark

START = dt.datetime(2026, 1, 5, tzinfo=dt.timezone.utc)
TABLE = "create table shop.stock (id int primary key, name varchar(9), amount double)"
NEW, OLD = ("insert", "update_postimage"), ("delete", "update_preimage")
ICEBERG_WORDS = {
    "insert": "INSERT",
    "delete": "DELETE",
    "update_preimage": "UPDATE_BEFORE",
    "update_postimage": "UPDATE_AFTER",
}

FEED = [
    # commit 0 only inserts, 1 updates, moves a key and deletes, 2 writes everything again, 3 only deletes
    (0, "insert", 1, "a", 1.0),
    (0, "insert", 2, None, 0.0),
    (0, "insert", 3, "c", None),
    (1, "update_postimage", 1, None, 1.0),
    (1, "update_preimage", 1, "a", 1.0),
    (1, "update_preimage", 2, None, 0.0),
    (1, "update_postimage", 9, None, 0.0),
    (1, "delete", 3, "c", None),
    (2, "delete", 1, None, 1.0),
    (2, "insert", 1, None, 1.0),
    (2, "insert", 9, None, -0.0),
    (2, "delete", 9, None, 0.0),
    (2, "insert", 4, "d", 4.0),
    (3, "delete", 4, "d", 4.0),
]
CHANGES = [
    (0, "c", None, (1, "a", 1.0)),
    (0, "c", None, (2, None, 0.0)),
    (0, "c", None, (3, "c", None)),
    (1, "c", None, (9, None, 0.0)),
    (1, "d", (2, None, 0.0), None),
    (1, "d", (3, "c", None), None),
    (1, "u", (1, "a", 1.0), (1, None, 1.0)),
    (2, "c", None, (4, "d", 4.0)),
    (2, "u", (9, None, 0.0), (9, None, -0.0)),
    (3, "d", (4, "d", 4.0), None),
]


def at(second: float) -> dt.datetime:
    return START + dt.timedelta(seconds=second)


def ts(second: float) -> int:
    return tso_from_datetime(at(second))


def delta(spark: Any, rows: Any = FEED, seconds: Any = None) -> Any:
    """Return a feed in the form of Delta and of Spark's ``changes``."""
    return spark.createDataFrame(
        [(*row, word, commit, at(commit if seconds is None else seconds[commit])) for commit, word, *row in rows],
        "id int, name string, amount double, _change_type string, _commit_version long, _commit_timestamp timestamp",
    )


def iceberg(spark: Any, rows: Any = FEED) -> Any:
    """Return a feed in the form of Iceberg's changelog view: snapshot ids have no order, and there is no time."""
    return spark.createDataFrame(
        [(*row, ICEBERG_WORDS[word], commit, snapshot(commit)) for commit, word, *row in rows],
        "id int, name string, amount double, _change_type string, _change_ordinal int, _commit_snapshot_id long",
    )


def snapshot(commit: int) -> int:
    return 9_000_000_000 - commit


def snapshots(spark: Any, seconds: Any = (0, 1, 2, 3)) -> Any:
    rows = [(at(second), snapshot(commit), "append") for commit, second in enumerate(seconds)]
    return spark.createDataFrame(rows, "committed_at timestamp, snapshot_id long, operation string")


def changes_of(changes: Any) -> list[tuple[Any, ...]]:
    """Return (commit_ts, op, before, after) in order."""
    found = [
        (row.commit_ts, row.op, row.before and tuple(row.before), row.after and tuple(row.after))
        for row in changes.collect()
    ]
    return sorted(found, key=repr)


def expected(stamps: Any) -> list[tuple[Any, ...]]:
    return sorted(((stamps[commit], *change) for commit, *change in CHANGES), key=repr)


@pytest.mark.parametrize("most_ranges", [100, 0], ids=["skips files", "pairs everything"])
def test_deltas_feed(spark: Any, monkeypatch: pytest.MonkeyPatch, most_ranges: int) -> None:
    monkeypatch.setattr(change_feed, "_MOST_RANGES", most_ranges)
    found = changes_of(from_changes(delta(spark), "id"))
    assert found == expected([ts(0), ts(1), ts(2), ts(3)])
    assert "-0.0" in repr(found)  # which equals 0.0 in Python


@pytest.mark.skipif(ON_CONNECT, reason="its DataFrames do not show their tasks")
@pytest.mark.parametrize("feed", [delta, iceberg])
def test_every_task_gives_paired_changes_commit_by_commit(spark: Any, feed: Any) -> None:
    rows = [
        (commit, word, key, "a", float(commit + (word in NEW)))
        for commit in range(4)
        for key in range(50)
        for word in ("update_preimage", "update_postimage")
    ]
    times = snapshots(spark) if feed is iceberg else None
    of_tasks = from_changes(feed(spark, rows), "id", times=times).rdd.glom().collect()
    stamps = [[row.commit_ts for row in rows] for rows in of_tasks if rows]
    assert sum(map(len, stamps)) == 200
    assert all(own == sorted(own) and set(own) == {ts(second) for second in range(4)} for own in stamps)


def test_icebergs_feed_has_the_times_of_the_snapshots(spark: Any) -> None:
    found = changes_of(from_changes(iceberg(spark), ["id"], times=snapshots(spark)))
    assert found == expected([ts(0), ts(1), ts(2), ts(3)])
    by_mapping = {snapshot(0): at(0), snapshot(1): ts(1), snapshot(2): at(2), snapshot(3): at(3)}
    assert changes_of(from_changes(iceberg(spark), ["id"], times=by_mapping)) == found


def test_the_order_of_commits_wins_over_a_clock_that_goes_back(spark: Any) -> None:
    stamps = [ts(5), ts(5) + LOGICAL_PER_MICROSECOND, ts(5) + 2 * LOGICAL_PER_MICROSECOND, ts(6)]
    seconds = [5, 5, 4, 6]
    assert changes_of(from_changes(delta(spark, seconds=seconds), "id")) == expected(stamps)
    assert changes_of(from_changes(iceberg(spark), "id", times=snapshots(spark, seconds))) == expected(stamps)


def test_rising_stamps_stay_as_they_are() -> None:
    assert rising([3, 1, 1, 9]) == [3, 265, 527, 789]
    assert rising(rising([3, 1, 1, 9])) == rising([3, 1, 1, 9])
    assert rising([5, 6], above=5) == [267, 529]


def test_a_feed_in_parts_continues_above_the_part_before_it(spark: Any) -> None:
    seconds = [5, 4, 3, 6]
    whole = changes_of(from_changes(delta(spark, seconds=seconds), "id"))
    feed = delta(spark, seconds=seconds)
    first = changes_of(from_changes(feed.filter("_commit_version < 2"), "id"))
    second = changes_of(from_changes(feed.filter("_commit_version >= 2"), "id", above=max(ts for ts, *_ in first)))
    assert sorted(first + second, key=repr) == whole


def test_a_feed_without_rows_has_no_changes(spark: Any) -> None:
    assert changes_of(from_changes(delta(spark).filter("false"), "id")) == []


def test_keys_of_several_columns_and_chosen_columns(spark: Any) -> None:
    found = changes_of(from_changes(delta(spark), ["name", "id"], columns=["id", "name"]))
    assert (ts(1), "d", (1, "a"), None) in found
    assert (ts(1), "c", None, (1, None)) in found
    # NULL is a key like any other; amount is no longer there to differ
    assert not any(stamp == ts(2) and (before or after)[0] in (1, 9) for stamp, _, before, after in found)


@pytest.mark.parametrize("source", ["changes", "feed", "feed of the only table"])
def test_a_replay_sends_a_commit_as_a_transaction(spark: Any, source: str) -> None:
    clear("feed")
    feed = delta(spark).withColumn("internal", F.lit(1))  # a column that the table does not have
    sources = {
        "changes": {"shop.stock": from_changes(delta(spark), "id")},
        "feed": {"shop.stock": feed},
        "feed of the only table": feed,
    }
    uri = "memory://feed?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
    replay(spark, uri, sources[source], TABLE)
    found = [json.loads(message.value or b"") for message in messages("feed")]
    clear("feed")
    assert [
        (each["_tidb"]["commitTs"], each["type"], each["data"][0]["id"]) for each in found if each["data"] is not None
    ] == [
        (ts(0), "INSERT", "1"),
        (ts(0), "INSERT", "2"),
        (ts(0), "INSERT", "3"),
        (ts(1), "DELETE", "2"),
        (ts(1), "DELETE", "3"),
        (ts(1), "UPDATE", "1"),
        (ts(1), "INSERT", "9"),
        (ts(2), "UPDATE", "9"),
        (ts(2), "INSERT", "4"),
        (ts(3), "DELETE", "4"),
    ]


@pytest.mark.parametrize(("commit", "word"), [(0, "insert"), (1, "insert"), (1, "delete"), (3, "delete")])
def test_a_key_twice_in_a_commit_is_refused(spark: Any, commit: int, word: str) -> None:
    rows = [*FEED, (commit, word, 5, "x", 1.0), (commit, word, 5, "y", 1.0)]
    with pytest.raises(DuplicateChangeError) as refused:
        replay(
            spark,
            "memory://feed?protocol=canal-json&partition-num=1",
            {"shop.stock": from_changes(delta(spark, rows), "id")},
            TABLE,
            slice=60,
        )
    assert "'5'" in str(refused.value) or "'id': 5" in str(refused.value)
    assert refused.value.context["commit_ts"] == ts(commit)
    assert refused.value.context["table"] == "shop.stock"
    assert "identify" in refused.value.remedy


def test_a_lost_file_is_one_error_with_one_remedy() -> None:
    with pytest.raises(ConfigError) as refused, refusing_rows():
        raise RuntimeError("[FAILED_READ_FILE.FILE_NOT_EXIST] part-0.parquet")
    assert str(refused.value).count("Begin at a later version") == 1
    assert "start= of read_changes" in refused.value.remedy


@pytest.mark.parametrize(
    ("columns", "hint"), [("id as key, name, amount", "It has: key, name, amount"), ("id as ID, name", "It has ID")]
)
def test_a_feed_without_the_key_of_its_table(spark: Any, columns: str, hint: str) -> None:
    feed = delta(spark).selectExpr(*columns.split(", "), "_change_type", "_commit_version", "_commit_timestamp")
    uri = "memory://feed?protocol=canal-json&partition-num=1"
    for send in (lambda: replay(spark, uri, {"shop.stock": feed}, TABLE), lambda: TicdcSink(uri, TABLE)(feed, 0)):
        with pytest.raises(MissingColumnError, match="lacks a column of the key") as refused:
            send()
        assert (refused.value.column, refused.value.table) == ("id", "shop.stock")
        assert hint in refused.value.remedy


def test_what_is_not_a_feed_is_refused(spark: Any) -> None:
    feed = delta(spark)
    with pytest.raises(MissingColumnError, match="not a change feed") as refused:
        from_changes(feed.drop("_commit_version"), "id")
    assert "readChangeFeed" in str(refused.value)
    with pytest.raises(ConfigError, match="changes need keys"):
        from_changes(feed, [])
    with pytest.raises(MissingColumnError, match="Did you mean name"):
        from_changes(feed, "nam")
    with pytest.raises(UnsupportedTypeError, match="string"):
        from_changes(feed.selectExpr("* except (_commit_version)", "'7' as _commit_version"), "id")
    with pytest.raises(InvalidValueError, match="'upsert!' is not an operation"):
        from_changes(feed.selectExpr("* except (_change_type)", "'upsert!' as _change_type"), "id")
    with pytest.raises(InvalidValueError, match="has no commit"):
        from_changes(feed.selectExpr("* except (_commit_version)", "cast(null as int) as _commit_version"), "id")


def test_commits_without_a_time_are_refused(spark: Any) -> None:
    with pytest.raises(ConfigError, match=r"times of its commits.*snapshots"):
        from_changes(iceberg(spark), "id")
    with pytest.raises(InvalidValueError, match=f"the commit {snapshot(3)} has no time"):
        from_changes(iceberg(spark), "id", times=snapshots(spark, (0, 1, 2)))
    with pytest.raises(MissingColumnError, match="snapshot_id and committed_at"):
        from_changes(iceberg(spark), "id", times=snapshots(spark).drop("committed_at"))
    with pytest.raises(ConfigError, match=r"'db.t.snapshots' holds no times.*spark.table\('db.t.snapshots'\)"):
        from_changes(iceberg(spark), "id", times="db.t.snapshots")  # type: ignore[arg-type]
    with pytest.raises(InvalidValueError, match="the commit 1 has no time"):
        from_changes(
            delta(spark)
            .filter("_commit_version = 1")
            .selectExpr("* except (_commit_timestamp)", "cast(null as timestamp) as _commit_timestamp"),
            "id",
        )


def test_the_command_replays_files_that_hold_a_feed(spark: Any, tmp_path: Path) -> None:
    delta(spark).write.parquet(str(tmp_path / "feed.parquet"))
    (tmp_path / "schema.sql").write_text(TABLE)
    options = Replay(
        schema=tmp_path / "schema.sql",
        tables=[f"shop.stock={tmp_path / 'feed.parquet'}"],
        sink_uri=f"jsonl://{tmp_path / 'out'}?protocol=canal-json&partition-num=1",
        mode="changes",
    )
    assert options.run() == 0
    types = [json.loads(message.value or b"")["type"] for message in read_files(tmp_path / "out")]
    assert types.count("INSERT") == 5
    assert types.count("UPDATE") == 2
    assert types.count("DELETE") == 3
