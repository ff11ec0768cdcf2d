"""Generated traffic on a real Spark: its frames, streams and final tables; test_generate_both_ways has the messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import generate, generate_stream
from ticdc_emit.traffic.generate.arrays import canonical_text
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_schema

pytestmark = pytest.mark.spark


def test_final_tables_are_those_of_the_folded_changes(spark: Any) -> None:
    traffic = generate(spark, "bank", rows=1500, rate=1000, model="load.ddl_rate=13")
    catalog = catalog_from_sql(traffic.schema)
    for stamp, statement in traffic.ddl:
        catalog.apply(statement, commit_ts=stamp)
    rows = [row.asDict(recursive=True) for row in traffic.mixed().collect()]
    folded = History(traffic.schema, rows, traffic.ddl).tables()
    final = traffic.tables()
    assert final.keys() == folded.keys()
    added = 0
    for key, frame in final.items():
        columns = catalog.table(*key).row_columns
        assert frame.columns == [column.name for column in columns]
        added += any(column.startswith("extra_") for column in frame.columns)
        values = frame.toArrow().combine_chunks()
        texts = {c.name: canonical_text(c, values[c.name].chunk(0), "UTC") for c in columns}
        assert sorted(map(repr, pa.table(texts).to_pylist())) == sorted(map(repr, folded[key].values()))
    assert added


@pytest.mark.slow
def test_a_stream_is_made_of_the_same_changes(spark: Any, tmp_path: Path) -> None:
    batches: list[Any] = []
    stream = generate_stream(spark, "orders", rows=250, rows_per_batch=200, seed=5)
    query = (
        stream.changes.writeStream.foreachBatch(lambda df, number: batches.extend(df.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        while len(batches) < 250 and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    batch = generate(spark, "orders", rows=250, seed=5).mixed().collect()
    assert sorted(map(repr, batches)) == sorted(map(repr, batch))


@pytest.mark.parametrize("more", ["", "; create table test.other (id int primary key)"])
def test_code_of_many_columns_is_compiled(spark: Any, more: str) -> None:
    """With the switch, code that the JVM refuses is an error instead of a stack trace and a slower plan."""
    spark.conf.set("spark.sql.codegen.fallback", "false")
    try:
        traffic = generate(spark, sample_schema("all_types") + more, rows=300, rate=100, model="load.ddl_rate=5")
        assert len(traffic.mixed().collect()) == 300
        assert all(frame.count() for frame in traffic.tables().values())
    finally:
        spark.conf.unset("spark.sql.codegen.fallback")
