"""When rows of a history were committed, in whatever form it is told; and what tells no time is refused in words."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from ticdc_emit.delivery.memory import clear, messages
from ticdc_emit.errors import ConfigError, InvalidValueError, MissingColumnError
from ticdc_emit.spark.row_changes import TimeUnit, commit_ts_of, end_ts_of, refusing_rows
from ticdc_emit.traffic.replay.history_forms import from_operations, from_validity, snapshot_diff, snapshot_inserts
from ticdc_emit.traffic.replay.run import replay
from ticdc_emit.tso import compose, tso_from_datetime

pytestmark = pytest.mark.spark

STORE = "replay-moments"
URI = f"memory://{STORE}?protocol=canal-json&enable-tidb-extension=true&partition-num=1"
TABLE = "create table a.t (id int primary key, name varchar(10))"
SEVEN = dt.datetime(2026, 1, 5, 7, tzinfo=dt.timezone.utc)
SEVEN_MS = int(SEVEN.timestamp() * 1000)
SEVEN_SQL = "timestamp'2026-01-05 07:00:00'"


def sent(spark: Any, changes: Any, schema: str = TABLE, **options: Any) -> list[tuple[str, str, int]]:
    """Replay changes of ``a.t``; return type, id and commit_ts of each row's message."""
    clear(STORE)
    assert replay(spark, URI, {"a.t": changes}, schema, **options).finished
    values = [json.loads(message.value or b"{}") for message in messages(STORE)]
    rows = [value for value in values if value["data"]]
    return [(value["type"], value["data"][0]["id"], value["_tidb"]["commitTs"]) for value in rows]


def versions(spark: Any, start: str, end: str) -> Any:
    return spark.sql(f"select 1 as id, 'a' as name, {start} as valid_from, {end} as valid_to")


ENDS: list[tuple[str, TimeUnit, int | None]] = [
    ("timestamp'9999-12-31 23:59:59'", "tso", None),
    ("date'9999-12-31'", "tso", None),
    ("'9999-12-31'", "tso", None),
    ("253402214400000L", "ms", None),
    ("'253402214400000'", "ms", None),
    ("9223372036854775807L", "s", None),
    ("9223372036854775807L", "tso", None),
    ("'18446744073709551615'", "tso", None),
    ("cast(null as timestamp)", "tso", None),
    ("cast(null as bigint)", "s", None),
    ("cast(null as string)", "tso", None),
    ("date'2026-01-05'", "tso", SEVEN_MS + 17 * 3_600_000),
    (f"{SEVEN_MS}L", "ms", SEVEN_MS + 86_400_000),
    (f"{SEVEN_MS << 18}L", "tso", SEVEN_MS + 86_400_000),
]


def test_an_open_end_is_none(spark: Any) -> None:
    ends = ", ".join(f"{end} as end{place}" for place, (end, _, _) in enumerate(ENDS))
    df = spark.sql(f"select {ends}")
    day = dt.timedelta(days=1)
    stamps = [end_ts_of(df, f"end{place}", unit, day).alias(f"ts{place}") for place, (_, unit, _) in enumerate(ENDS)]
    assert list(df.select(stamps).first()) == [None if ms is None else compose(ms) for _, _, ms in ENDS]


NO_MOMENTS: list[tuple[str, TimeUnit, str]] = [
    ("timestamp'3500-01-01 00:00:00'", "tso", "'3500-01-01 00:00:00'"),
    ("timestamp'1900-01-01 00:00:00'", "tso", "'1900-01-01 00:00:00'"),
    ("'no''on'", "ms", "'noon'"),
    ("''", "tso", "''"),
    (f"{SEVEN_MS * 1000}L", "s", f"'{SEVEN_MS * 1000}'"),  # microseconds
    ("-1L", "tso", "'-1'"),
    ("'99999999999999999999'", "us", "'99999999999999999999'"),
]


def test_what_is_no_moment_is_named(spark: Any) -> None:
    for value, unit, shown in NO_MOMENTS:
        df = spark.sql(f"select {value} as at")
        with pytest.raises(InvalidValueError, match="is not a time between 1970 and 3084") as refused, refusing_rows():
            df.select(commit_ts_of(df, "at", unit)).collect()
        assert refused.value.column == "at"
        assert shown in str(refused.value)
        assert "unit" in refused.value.remedy
    with pytest.raises(InvalidValueError, match="is not a time"):
        sent(spark, from_validity(versions(spark, SEVEN_SQL, "date'3500-01-01'"), ["id"], "valid_from", "valid_to"))
    assert messages(STORE) == []


def test_a_moment_that_cannot_be_is_named_where_it_is_read_at_once_and_by_workers(spark: Any, tmp_path: Any) -> None:
    df = spark.sql("select 1 as id, 'x' as name, 'noon' as at")
    with pytest.raises(InvalidValueError, match="'noon' is not a time"):
        snapshot_diff(df.select("id", "name"), df, ["id"], "at")
    changes = snapshot_inserts(df.repartition(2), "at")
    with pytest.raises(InvalidValueError, match="'noon' is not a time"):
        replay(spark, f"jsonl://{tmp_path}?protocol=canal-json&partition-num=1", {"a.t": changes}, TABLE)


TEXTS: list[tuple[str | None, TimeUnit, int | None]] = [
    (str(SEVEN_MS), "ms", compose(SEVEN_MS)),
    (str(SEVEN_MS // 1000), "s", compose(SEVEN_MS)),
    (f"{SEVEN_MS}001", "us", compose(SEVEN_MS, 262)),
    (str(compose(SEVEN_MS, 5)), "tso", compose(SEVEN_MS, 5)),
    ("2026-01-05 07:00:00", "ms", compose(SEVEN_MS)),
    (" 2026-01-05T07:00:00Z ", "tso", compose(SEVEN_MS)),
    (None, "ms", None),
]


def test_digits_in_text_are_whole_numbers_in_the_unit(spark: Any) -> None:
    names = [f"at{place}" for place in range(len(TEXTS))]
    kinds = ", ".join(f"{name} string" for name in names)
    df = spark.createDataFrame([tuple(text for text, _, _ in TEXTS)], kinds)
    stamps = [commit_ts_of(df, name, unit).alias(name) for name, (_, unit, _) in zip(names, TEXTS, strict=True)]
    assert list(df.select(stamps).first()) == [moment for _, _, moment in TEXTS]


@pytest.mark.parametrize("options", [{}, {"slice": 3600}])
def test_rows_without_a_time_are_refused(spark: Any, options: dict[str, Any]) -> None:
    df = spark.sql("select 1 as id, 'x' as name, cast(null as timestamp) as at")
    with pytest.raises(InvalidValueError, match=r"commit_ts is null|without a commit time") as refused:
        sent(spark, snapshot_inserts(df, "at"), **options)
    assert "leave those rows out" in refused.value.remedy
    some = df.unionByName(spark.sql("select 2 as id, 'y' as name, timestamp'2026-01-05 07:00:00' as at"))
    with pytest.raises(InvalidValueError, match=r"commit_ts is null|without a commit time"):
        sent(spark, snapshot_inserts(some, "at"), **options)


def test_deletes_alone_need_a_time_of_their_own(spark: Any) -> None:
    before = spark.sql(f"select 1 as id, 'x' as name, {SEVEN_SQL} as at")
    with pytest.raises(ConfigError, match="the time of the deletes is not known"):
        snapshot_diff(before, before.filter("false"), ["id"], "at")
    changes = snapshot_diff(before, before.filter("false"), ["id"], SEVEN)
    schema = "create table a.t (id int primary key, name varchar(10), at datetime)"
    assert sent(spark, changes, schema) == [("DELETE", "1", tso_from_datetime(SEVEN))]
    assert snapshot_diff(before.filter("false"), before.filter("false"), ["id"], SEVEN).count() == 0


STAMPED = "create table a.t (id int primary key, name varchar(10), made datetime)"


def test_a_column_of_the_table_that_tells_the_time_is_named(spark: Any) -> None:
    df = spark.sql("select 1 as id, 'x' as name, timestamp_ntz'2026-01-05 07:00:00' as made")
    with pytest.raises(MissingColumnError, match="lack a column") as refused:
        sent(spark, snapshot_inserts(df, "made"), STAMPED)
    assert refused.value.column == "made"
    assert "columns=" in refused.value.remedy
    named = snapshot_inserts(df, "made", columns=["id", "name", "made"])
    assert sent(spark, named, STAMPED) == [("INSERT", "1", compose(SEVEN_MS))]


def test_what_the_base_has_is_of_the_table(spark: Any) -> None:
    base = spark.sql("select 1 as id, 'x' as name, timestamp_ntz'2026-01-05 06:00:00' as made")
    log = spark.sql("select 'U' as op, 1 as id, 'x' as name, timestamp_ntz'2026-01-05 07:00:00' as made, 5 as lsn")
    changes = from_operations(log, ["id"], "op", "made", order_by=["lsn"], base=base)
    assert [(row.op, sorted(row.after.asDict())) for row in changes.collect()] == [("u", ["id", "made", "name"])]
    assert sent(spark, changes, STAMPED) == [("UPDATE", "1", compose(SEVEN_MS))]
