"""The sink on a real Spark: what arrives, in which order, with which control messages, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from spark_history import FIRST_TSO, SCHEMA, tso

from ticdc_emit import restore_ddl
from ticdc_emit.delivery.files import read_files
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import (
    ConfigError,
    DuplicateChangeError,
    InvalidValueError,
    LateRowError,
    MissingColumnError,
    MissingImageError,
    SchemaError,
    TicdcEmitError,
    UnknownTableError,
    UnsupportedTypeError,
)
from ticdc_emit.spark import TicdcSink, encode

pytestmark = [pytest.mark.spark, pytest.mark.smoke]

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=4"


def sent(folder: Path) -> list[dict[str, Any]]:
    """Every message in the files, decoded, with its partition."""
    return [{**json.loads(m.value or b"{}"), "partition": m.partition} for m in read_files(folder)]


def test_rows_arrive_in_commit_order(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    report = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(changes(30))
    rows = [m for m in sent(tmp_path) if m["type"] != "TIDB_WATERMARK"]
    assert report.rows == len(rows) == 70
    assert len({m["partition"] for m in rows}) == 1
    stamps = [m["_tidb"]["commitTs"] for m in rows]
    assert stamps == sorted(stamps)
    assert [m["type"] for m in rows[:3]] == ["INSERT", "UPDATE", "DELETE"]
    assert rows[1]["old"][0]["note"] is None
    assert rows[1]["data"][0]["note"] == 'changed "twice"'


def test_every_partition_ends_with_the_watermark_of_the_last_row(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    report = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(changes(10))
    last = {m["partition"]: m for m in sent(tmp_path)}
    assert {m["_tidb"].get("watermarkTs") for m in last.values()} == {report.max_commit_ts}
    assert set(last) == {0, 1, 2, 3}


def test_watermarks_inside_a_batch_are_monotone_and_never_pass_a_row(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, watermark_interval=1).write(changes(40))
    for partition in range(4):
        passed = -1
        marks = 0
        for message in (m for m in sent(tmp_path) if m["partition"] == partition):
            extension = message["_tidb"]
            if "watermarkTs" in extension:
                assert extension["watermarkTs"] > passed
                passed = extension["watermarkTs"]
                marks += 1
            else:
                assert extension["commitTs"] > passed
        assert marks == 13  # a tick in each of 12 seconds, and the last row


def test_the_spark_sink_and_the_plain_encoder_agree(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    df = changes(25)
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(df)
    mine = [m.value for m in read_files(tmp_path) if b"TIDB_WATERMARK" not in (m.value or b"")]
    batch = Encoder(f"memory://x?{URI}", SCHEMA).encode(df.toArrow())
    assert batch.column("value").to_pylist() == mine


def test_the_generic_form_gives_the_same_messages(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    typed = changes(20)
    text = (
        "map('id', cast({0}.id as string), 'owner', {0}.owner, 'balance', cast({0}.balance as string), 'note', {0}.note"
    )
    text += ", 'touched', date_format({0}.touched, 'yyyy-MM-dd HH:mm:ss.SSS'))"
    typed.createOrReplaceTempView("typed")
    generic = spark.sql(f"""
        select 'test' as schema, 'account' as table, op, commit_ts,
               if(before is null, null, {text.format("before")}) as before,
               if(after is null, null, {text.format("after")}) as after from typed""")
    TicdcSink(f"jsonl://{tmp_path}/a?{URI}", SCHEMA).write(typed)
    TicdcSink(f"jsonl://{tmp_path}/b?{URI}", SCHEMA).write(generic)
    assert [m.value for m in read_files(tmp_path / "a")] == [m.value for m in read_files(tmp_path / "b")]


def test_typed_rows_may_have_maps_as_images(spark: Any, tmp_path: Path) -> None:
    df = spark.sql(f"select 'c' op, {tso(0)}L commit_ts, map('id', '1', 'n', '2') after")
    TicdcSink(f"jsonl://{tmp_path}?{URI}", "create table test.t (id int primary key, n int)").write(df)
    sent = [json.loads(message.value or b"") for message in read_files(tmp_path)]
    assert [{"id": "1", "n": "2"}] in [message["data"] for message in sent]


def test_many_tables_in_one_frame(spark: Any, tmp_path: Path) -> None:
    schema = "".join(f"create table test.t{n} (id int primary key, v varchar(9));" for n in range(7))
    rows = [
        ("test", f"t{n % 7}", "c", tso(n), None, {"id": str(n), "v": f"x{n}" if n % 5 else None}) for n in range(200)
    ]
    columns = (
        "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>"
    )
    report = TicdcSink(f"jsonl://{tmp_path}?{URI}", schema).write(spark.createDataFrame(rows, columns))
    assert report.rows == 200
    found = [m for m in sent(tmp_path) if m["type"] == "INSERT"]
    assert sorted(int(m["data"][0]["id"]) for m in found) == list(range(200))
    for partition in range(4):
        stamps = [m["_tidb"]["commitTs"] for m in found if m["partition"] == partition]
        assert stamps == sorted(stamps)
    assert {m["table"]: m["partition"] for m in found} == {
        m["table"]: m["partition"] for m in reversed(found)
    }  # a table stays on its partition


def test_ddl_stands_between_the_rows_of_its_versions(spark: Any, tmp_path: Path) -> None:
    schema = "create table test.t (id int primary key, old_name int)"
    ddl = [(tso(10) + 5, "alter table test.t add column extra varchar(5) default 'x'")]
    rows = [("c", tso(n), {"id": n, "old_name": n, "extra": "new"}) for n in range(20)]
    df = spark.createDataFrame(rows, "op string, commit_ts long, after struct<id:int,old_name:int,extra:string>")
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI.replace('partition-num=4', 'partition-num=1')}", schema, ddl=ddl)
    sink.write(df)
    messages = [m for m in sent(tmp_path) if m["type"] != "TIDB_WATERMARK"]
    place = next(n for n, m in enumerate(messages) if m["isDdl"])
    assert messages[place]["sql"] == restore_ddl(ddl[0][1])
    assert messages[place]["type"] == "ALTER"
    assert [set(m["data"][0]) for m in messages[:place]] == [{"id", "old_name"}] * 11
    assert [set(m["data"][0]) for m in messages[place + 1 :]] == [{"id", "old_name", "extra"}] * 9


def test_ddl_rows_in_the_frame(spark: Any, tmp_path: Path) -> None:
    kind = "op string, commit_ts long, query string, after struct<id:int,extra:string>"
    rows = [("c", tso(n), None, (n, "x")) for n in range(6)]
    rows.append(("ddl", tso(2) + 1, "alter table test.t add column extra varchar(5)", None))
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", "create table test.t (id int primary key)")
    sink.write(spark.createDataFrame(rows, kind))
    rows_sent = [m for m in sent(tmp_path) if m["type"] == "INSERT"]
    assert ["extra" in m["data"][0] for m in rows_sent] == [False] * 3 + [True] * 3
    assert sum(m["isDdl"] for m in sent(tmp_path)) == 1


def test_commit_time_becomes_a_tso(spark: Any, tmp_path: Path) -> None:
    df = spark.sql("select 'c' op, timestamp_micros(1700000000123456) commit_time, named_struct('id', 1) after")
    TicdcSink(f"jsonl://{tmp_path}?{URI}", "create table test.t (id int primary key)").write(df)
    row = next(m for m in sent(tmp_path) if m["type"] == "INSERT")
    assert row["es"] == 1700000000123
    assert row["_tidb"]["commitTs"] == (1700000000123 << 18) + 456 * 262


def test_encode_gives_the_columns_that_a_kafka_sink_takes(spark: Any, changes: Callable[..., Any]) -> None:
    df = encode(changes(5), f"memory://unused?{URI}", SCHEMA)
    assert df.columns == ["topic", "partition", "key", "value", "commit_ts"]
    assert df.count() == 12


@pytest.mark.parametrize(
    ("row", "error", "text"),
    [
        (("c", FIRST_TSO, None, (1, None)), InvalidValueError, "NULL"),
        (("x", FIRST_TSO, None, (1, "a")), InvalidValueError, "'x'"),
        (("c", FIRST_TSO, None, None), MissingImageError, "after"),
        (("u", FIRST_TSO, None, (1, "a")), MissingImageError, "before"),
        (("c", None, None, (1, "a")), InvalidValueError, "commit_ts"),
        (("c", FIRST_TSO, None, (1, "a" * 11)), InvalidValueError, "more than 10"),
    ],
)
def test_a_bad_row_is_refused_before_anything_is_sent(
    spark: Any, tmp_path: Path, row: Any, error: type[TicdcEmitError], text: str
) -> None:
    kind = "op string, commit_ts long, before struct<id:int,v:string>, after struct<id:int,v:string>"
    good = [("c", tso(n), None, (n + 10, "good")) for n in range(300)]
    df = spark.createDataFrame([*good, row], kind)
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", "create table test.t (id int primary key, v varchar(10) not null)")
    with pytest.raises(error, match=text) as caught:
        sink.write(df)
    assert caught.value.table == "test.t"
    assert sent(tmp_path) == []


def test_two_changes_of_a_key_at_one_commit_ts_need_a_seq(spark: Any, tmp_path: Path) -> None:
    kind = "op string, commit_ts long, seq long, before struct<id:int>, after struct<id:int>"
    rows = [("c", FIRST_TSO, 1, None, (1,)), ("d", FIRST_TSO, 2, (1,), None), ("c", FIRST_TSO, 3, None, (1,))]
    schema = "create table test.t (id int primary key)"
    TicdcSink(f"jsonl://{tmp_path}/ok?{URI}", schema).write(spark.createDataFrame(rows, kind))
    assert [m["type"] for m in sent(tmp_path / "ok") if "commitTs" in m["_tidb"]] == ["INSERT", "DELETE", "INSERT"]
    with pytest.raises(DuplicateChangeError, match="seq"):
        TicdcSink(f"jsonl://{tmp_path}/no?{URI}", schema).write(spark.createDataFrame(rows, kind).drop("seq"))


def test_wrong_frames_and_options_are_refused_on_the_driver(spark: Any, tmp_path: Path) -> None:
    uri, schema = f"jsonl://{tmp_path}?{URI}", "create table test.t (id int primary key)"
    with pytest.raises(MissingColumnError, match="commit_time"):
        TicdcSink(uri, schema).write(spark.sql("select 'c' op, named_struct('id', 1) after"))
    with pytest.raises(MissingColumnError, match="before nor after"):
        TicdcSink(uri, schema).write(spark.sql("select 'c' op, 1L commit_ts"))
    frame = spark.sql("select 'c' op, 1L commit_ts, named_struct('id', 1) after")
    with pytest.raises(UnknownTableError, match=r"test\.other"):
        TicdcSink(uri, schema, table="test.other").write(frame)
    with pytest.raises(SchemaError, match="no table"):
        TicdcSink(uri, "").write(frame)
    with pytest.raises(UnsupportedTypeError, match="`op` is int64, but it needs text"):
        TicdcSink(uri, schema).write(frame.withColumn("op", frame.commit_ts))
    for option in ({"late": "never"}, {"validate": "not"}, {"clock": "sun"}, {"bad_rows": "x"}, {"bad_rows_path": "x"}):
        with pytest.raises(ConfigError):
            TicdcSink(uri, schema, **option)


def test_nothing_is_sent_before_every_row_is_encoded(spark: Any, tmp_path: Path) -> None:
    kind = "schema string, table string, op string, commit_ts long, after map<string,string>"
    rows = [("test", f"t{n % 3}", "c", tso(n), {"id": str(n) if n < 89 else "none"}) for n in range(90)]
    schema = "".join(f"create table test.t{n} (id int primary key);" for n in range(3))
    with pytest.raises(InvalidValueError, match="none"):
        TicdcSink(f"jsonl://{tmp_path}?{URI}", schema).write(spark.createDataFrame(rows, kind))
    assert sent(tmp_path) == []


def test_late_rows(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    late = changes(3)
    for choice, rows in (("emit", 7), ("drop", 0)):
        sink = TicdcSink(f"jsonl://{tmp_path}/{choice}?{URI}", SCHEMA, late=choice)
        sink(changes(10), 0)
        sink(late, 1)
        assert sink.reports[-1].rows == rows
        assert sink.reports[-1].late_rows == 7 - rows
    sink = TicdcSink(f"jsonl://{tmp_path}/error?{URI}", SCHEMA)
    sink(changes(10), 0)
    with pytest.raises(LateRowError, match="watermark"):
        sink(late, 1)
    patient = TicdcSink(f"jsonl://{tmp_path}/patient?{URI}", SCHEMA, allowed_lateness=60)
    patient(changes(10), 0)
    patient(late, 1)
    assert patient.reports[-1].rows == 7


@pytest.mark.parametrize("text", ["true", "True"])
def test_speculation_is_refused(text: str, tmp_path: Path) -> None:
    frame = SimpleNamespace(columns=["op"], sparkSession=SimpleNamespace(conf={"spark.speculation": text}))
    with pytest.raises(ConfigError, match="speculation"):
        TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(frame)  # type: ignore[arg-type]


def test_with_lateness_every_partition_gets_the_same_ticks(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    sink = TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA, watermark_interval=1, allowed_lateness=3)
    sink(changes(40), 0)
    ticks: dict[int, list[int]] = {}
    for message in sent(tmp_path):
        if message["type"] == "TIDB_WATERMARK":
            ticks.setdefault(message["partition"], []).append(message["_tidb"]["watermarkTs"])
    assert len(ticks[0]) > 5
    assert ticks[0] == ticks[1] == ticks[2] == ticks[3]
