"""The sink on a real Spark: what arrives, in which order, with which control messages, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from spark_history import SCHEMA

from ticdc_emit.delivery.files import read_files
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import (
    ConfigError,
    MissingColumnError,
    MissingDependencyError,
    SchemaError,
    UnknownTableError,
    UnsupportedTypeError,
)
from ticdc_emit.spark import TicdcSink, encode, register
from ticdc_emit.spark.functions import to_arrow

pytestmark = [pytest.mark.spark, pytest.mark.smoke]

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=4"


def sent(folder: Path) -> list[dict[str, Any]]:
    """Every message in the files, decoded, with its partition."""
    return [{**json.loads(m.value or b"{}"), "partition": m.partition} for m in read_files(folder)]


def test_the_spark_sink_and_the_plain_encoder_agree(spark: Any, changes: Callable[..., Any], tmp_path: Path) -> None:
    df = changes(25)
    TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(df)
    mine = [m.value for m in read_files(tmp_path) if b"TIDB_WATERMARK" not in (m.value or b"")]
    batch = Encoder(f"memory://x?{URI}", SCHEMA).encode(to_arrow(df))
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
    for option in ({"late": "never"}, {"clock": "sun"}, {"bad_rows": "x"}, {"bad_rows_path": "x"}):
        with pytest.raises(ConfigError):
            TicdcSink(uri, schema, **option)


@pytest.mark.parametrize("text", ["true", "True"])
def test_speculation_is_refused(text: str, tmp_path: Path) -> None:
    frame = SimpleNamespace(columns=["op"], sparkSession=SimpleNamespace(conf={"spark.speculation": text}))
    with pytest.raises(ConfigError, match="speculation"):
        TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(frame)  # type: ignore[arg-type]


def test_the_data_source_says_which_spark_it_needs_and_leaves_other_formats_alone(spark: Any) -> None:
    if spark.version >= "4.1":
        pytest.skip("test_datasource.py uses it here")
    with pytest.raises(MissingDependencyError, match=r'format\("ticdc"\) needs PySpark 4.1'):
        register(spark)
    if spark.version >= "4.0":
        for name, message in {"ticdc": "needs PySpark 4.1", "other": "DATA_SOURCE_NOT_FOUND"}.items():
            with pytest.raises(Exception, match=message):
                spark.range(1).write.format(name).mode("append").save()
