"""Bad rows of several tables in several tasks: refused together, or skipped, counted and written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import InvalidValueError
from ticdc_emit.pipeline.encode.bad_rows import BadRows
from ticdc_emit.spark import TicdcSink
from ticdc_emit.spark.session import register
from ticdc_emit.tso import compose

pytestmark = pytest.mark.spark

SCHEMA = "create table s.a (id int primary key, n tinyint); create table s.b (id int primary key, v varchar(3))"
URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=3"
FORM = "schema string, table string, op string, commit_ts long, before map<string,string>, after map<string,string>"


def changes(count: int = 200) -> list[tuple[Any, ...]]:
    """Rows of two tables; every ninth of one and every twentieth of the other is bad."""
    rows: list[tuple[Any, ...]] = []
    for key in range(count):
        after = {"id": str(key), "n": "300" if key % 9 == 8 else "1"}
        rows.append(("s", "a", "c", compose(1_700_000_000_000 + key), None, after))
        after = {"id": str(key), "v": "long" if key % 20 == 0 else "x"}
        rows.append(("s", "b", "c", compose(1_700_000_000_000 + key), None, after))
    return rows


def is_bad(row: tuple[Any, ...]) -> bool:
    return "300" in row[5].values() or "long" in row[5].values()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_a_refused_batch_tells_the_same_for_any_partitions(spark: Any, tmp_path: Path) -> None:
    told: list[tuple[BadRows, str]] = []
    for parts in (1, 2, 7):
        df = spark.createDataFrame(changes(), FORM).repartition(parts)
        with pytest.raises(InvalidValueError) as refused:
            TicdcSink(f"jsonl://{tmp_path}?{URI}", SCHEMA).write(df)
        assert set(files(tmp_path).values()) == {b""}
        told.append((refused.value.bad_rows, str(refused.value.bad_rows)))
    assert told[0] == told[1] == told[2]
    rows, text = told[0]
    assert rows.tables == {"s.a": 22, "s.b": 10}
    assert [(row.table, row.key["id"]) for row in rows.first][:4] == [("b", "0"), ("a", "8"), ("a", "17"), ("b", "20")]
    assert "32 rows are bad (s.a: 22, s.b: 10). The first 10:" in text


def test_skipped_rows_are_as_if_they_had_never_been(spark: Any, tmp_path: Path) -> None:
    rows = changes()
    good = [row for row in rows if not is_bad(row)]
    TicdcSink(f"jsonl://{tmp_path}/plain?{URI}", SCHEMA).write(spark.createDataFrame(good, FORM))
    written = []
    for parts in (1, 7):
        sink = TicdcSink(
            f"jsonl://{tmp_path}/{parts}?{URI}", SCHEMA, bad_rows="skip", bad_rows_path=f"file://{tmp_path}/bad{parts}"
        )
        df = spark.createDataFrame(rows, FORM).repartition(parts)
        report = sink.write(df)
        assert (report.rows, dict(report.skipped), report.skipped_rows) == (len(good), {"s.a": 22, "s.b": 10}, 32)
        assert sink.total.skipped_rows == 32
        assert files(tmp_path / str(parts)) == files(tmp_path / "plain")
        written.append(files(tmp_path / f"bad{parts}"))
        with pytest.raises(Exception, match="32 rows are bad"):
            sink.messages(df).collect()
    assert [*written[0].values()] == [*written[1].values()]
    (lines,) = written[0].values()
    told = [json.loads(line) for line in lines.splitlines()]
    assert [each["commit_ts"] for each in told] == sorted(row[3] for row in rows if is_bad(row))
    assert told[1] == {
        "schema": "s", "table": "a", "commit_ts": compose(1_700_000_000_008), "op": "c", "key": {"id": "8"},
        "column": "n", "error": "InvalidValueError", "reason": "Column `n` is TINYINT: 300 is outside -128..127",
    }  # fmt: skip


def test_the_data_source_takes_the_options(spark: Any, tmp_path: Path) -> None:
    register(spark)
    rows = changes(30)
    written = (
        spark.createDataFrame(rows, FORM)
        .write.format("ticdc")
        .mode("append")
        .options(sinkUri=f"jsonl://{tmp_path}/out?{URI}", schema=SCHEMA)
    )
    with pytest.raises(Exception, match="badRowsPath"):
        written.options(badRowsPath=str(tmp_path / "bad")).save()
    written.options(badRows="skip", badRowsPath=str(tmp_path / "bad")).save()
    (lines,) = files(tmp_path / "bad").values()
    assert len(lines.splitlines()) == sum(map(is_bad, rows))
