"""Short rows are handed to workers without Spark's limit of bytes; a long one brings the limit back."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812
from spark_history import FIRST_TSO
from spark_session import ON_CONNECT

from ticdc_emit.delivery.files import read_files
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.spark import TicdcSink
from ticdc_emit.spark import batch as batch_module
from ticdc_emit.spark.frames import are_short
from ticdc_emit.spark.worker import Step, in_worker

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(ON_CONNECT, reason="jobs have no properties there, and all rows are measured"),
]

SCHEMA = """
create table test.a (id bigint primary key, name varchar(4000), doc json, code varbinary(9000), `an``odd.name` char(1));
"""
ROWS = 9_000
LIMIT = 64 * 1024 * 1024
WIDE = {"name": "repeat('x', 3900)", "code": "binary(repeat('y', 5000))"}
PROPERTY = "spark.sql.execution.arrow.maxBytesPerBatch"


def rows_of(spark: Any, name: str = "'n'", doc: str = "'{}'", code: str = "binary('c')", rows: int = ROWS) -> Any:
    """Return inserts in one partition; the arguments are expressions over ``id``."""
    image = f"named_struct('id', id, 'name', {name}, 'doc', {doc}, 'code', {code}, 'an`odd.name', 'o') as after"
    return spark.range(0, rows, 1, 1).selectExpr("'c' as op", f"{FIRST_TSO}L + id as commit_ts", image)


@pytest.fixture
def batches(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that returns how many rows were in each Arrow batch since it was called last."""
    folder = tmp_path / "tally"
    folder.mkdir()

    def count(given: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in given:
            yield batch
            with (folder / str(os.getpid())).open("a") as notes:
                notes.write(f"{batch.num_rows}\n")

    def counting(*steps: Step) -> Step:
        return in_worker(count, *steps) if isinstance(steps[0], EncodeTask) else in_worker(*steps)

    monkeypatch.setattr(batch_module, "in_worker", counting)

    def since() -> list[int]:
        found = [int(line) for notes in folder.iterdir() for line in notes.read_text().splitlines()]
        for notes in folder.iterdir():
            notes.unlink()
        return found

    return since


def file_sink(folder: Path, schema: str = SCHEMA) -> TicdcSink:
    return TicdcSink(f"jsonl://{folder}?protocol=canal-json&partition-num=1", schema)


def sent(folder: Path) -> list[Any]:
    return [message.value for message in read_files(folder)]


def test_short_rows_are_not_limited_by_bytes(spark: Any, batches: Any, tmp_path: Path) -> None:
    sink = file_sink(tmp_path / "a")
    assert ROWS * 8_900 > LIMIT
    sink.write(rows_of(spark, **WIDE))
    assert batches() == [ROWS]
    assert spark.sparkContext.getLocalProperty(PROPERTY) is None
    assert len(sent(tmp_path / "a")) == ROWS


def test_a_long_row_brings_the_limit_back(
    spark: Any, batches: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    one_long = "if(id = 8500, concat('\"', repeat('z', 17000), '\"'), '{}')"
    sink = file_sink(tmp_path / "a")
    sink.write(rows_of(spark, **WIDE, doc=one_long))
    assert len(batches()) == 2
    values = sent(tmp_path / "a")
    assert len(values) == ROWS
    assert [number for number, value in enumerate(values) if len(value) > 17_000] == [8_500]
    later = rows_of(spark, **WIDE).withColumn("commit_ts", F.col("commit_ts") + ROWS)
    sink.write(later)
    assert len(batches()) == 2  # what the sink has learned holds
    assert [each.message.partition(",")[0] for each in caplog.records if each.name.startswith("ticdc_emit.spark.")] == [
        "a row has more than 16384 bytes of text or binary data"
    ]


def test_a_long_type_keeps_the_limit(spark: Any, batches: Any, tmp_path: Path) -> None:
    sink = file_sink(tmp_path / "a", SCHEMA.replace("varchar(4000)", "text"))
    sink.write(rows_of(spark, **WIDE))
    assert len(batches()) == 2


@pytest.mark.parametrize(("columns", "short"), [(50, True), (51, False)])
def test_many_columns_keep_the_limit(spark: Any, columns: int, short: bool) -> None:
    """Else Spark's optimizer would copy the image for each text in it, which fills the heap if there are 1,000."""
    image = f"struct({', '.join(f'id as c{n}' for n in range(columns))})"
    both = spark.range(1).selectExpr("'u' as op", "1L as commit_ts", f"{image} as before", f"{image} as after")
    assert are_short(both, []) is short
    assert are_short(both.drop("before"), [])


def test_what_the_user_has_set_counts(spark: Any, batches: Any, tmp_path: Path) -> None:
    spark.conf.set(PROPERTY, str(1024 * 1024))
    try:
        file_sink(tmp_path / "a").write(rows_of(spark, name="repeat('x', 3900)", rows=900))
    finally:
        spark.conf.unset(PROPERTY)
    assert len(batches()) > 2
