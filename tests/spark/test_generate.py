"""Generated traffic on a real Spark: its frames, streams and final tables; test_generate_both_ways has the messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.generate import generate, generate_arrow, generate_stream
from ticdc_emit.traffic.generate.arrays import canonical_text
from ticdc_emit.traffic.generate.changes import plan_traffic
from ticdc_emit.traffic.generate.model import read_model
from ticdc_emit.traffic.generate.settings import Settings
from ticdc_emit.traffic.history import History
from ticdc_emit.traffic.sample_schemas import sample_schema

pytestmark = pytest.mark.spark

MODELS = Path(__file__).parents[1] / "scale" / "models"


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


def test_a_full_model_makes_the_same_changes_here_on_spark_and_in_a_stream(spark: Any, tmp_path: Path) -> None:
    schema, rows = MODELS / "fleet.sql", 20_000
    settings: dict[str, Any] = {"seed": 5, "model": MODELS / "fleet.toml"}
    here = generate_arrow(schema, rows=rows, **settings)
    made = {name: pa.Table.from_batches(list(batches)) for name, batches in here.changes.items()}
    assert any("TRUNCATE" in statement for _, statement in here.ddl)
    for count, names in ((3, list(made)), (50, ["fleet.trips"])):
        on_spark = generate(spark, schema, rows=rows, partitions=count, **settings)
        for name in names:
            assert on_spark.changes[name].toArrow().cast(made[name].schema) == made[name], (name, count)
    batches = []
    stream = generate_stream(spark, schema, rows=rows, rows_per_batch=7_000, **settings)
    query = (
        stream.changes.writeStream.foreachBatch(lambda frame, _: batches.extend(frame.toArrow().to_pylist()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start()
    )
    try:
        while len(batches) < rows and query.isActive:
            query.awaitTermination(1)
    finally:
        query.stop()
    model = read_model(settings["model"])
    plan, fewer = (plan_traffic(here.schema, Settings(count, seed=5, model=model)) for count in (rows, rows // 2))
    generic = [row for batch in plan.changes(np.arange(rows)) for row in batch.to_pylist()]
    assert sorted(map(repr, batches)) == sorted(map(repr, generic))
    prefix, whole = (list(each.changes(np.arange(rows // 2))) for each in (plan, fewer))
    assert prefix == whole
    assert fewer.ddl == plan.ddl[: len(fewer.ddl)]


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
