"""Runs a pipeline as ``spark-pipelines run`` does, and writes the rows of its table, which is in memory.

``python auto_cdc_job.py SPECIFICATION OUT``. The table is ``cat.shop.orders``; OUT gets its rows as JSON lines of text.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.pipelines import cli
from pyspark.pipelines.spark_connect_graph_element_registry import SparkConnectGraphElementRegistry
from pyspark.pipelines.spark_connect_pipeline import create_dataflow_graph, handle_pipeline_events, start_run
from pyspark.sql import SparkSession

CATALOG = "org.apache.spark.sql.connector.catalog.SharedTablesInMemoryRowLevelOperationTableCatalog"


def main(specification: Path, out: Path) -> None:
    spec = cli.load_pipeline_spec(specification)
    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    spark = builder.config("spark.sql.catalog.cat", CATALOG).getOrCreate()
    spark.sql("create namespace cat.shop")
    graph = create_dataflow_graph(spark, default_catalog=spec.catalog, default_database=spec.database, sql_conf={})
    cli.register_definitions(specification, SparkConnectGraphElementRegistry(spark, graph), spec, spark, graph)
    none: list[str] = []
    events = start_run(
        spark, graph, full_refresh=none, full_refresh_all=False, refresh=none, dry=False, storage=spec.storage
    )
    handle_pipeline_events(events)
    rows = spark.table("cat.shop.orders").drop("__spark_autocdc_metadata")
    texts = rows.selectExpr(*(f"cast({name} as string) as {name}" for name in rows.columns)).collect()
    out.write_text("".join(json.dumps(row.asDict()) + "\n" for row in texts), encoding="utf-8")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
