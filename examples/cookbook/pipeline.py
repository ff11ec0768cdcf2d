"""A Declarative Pipeline sends row changes: definitions/cdc.py beside spark-pipeline.yml."""

# %%
from pathlib import Path

from pyspark import pipelines as dp
from pyspark.sql import SparkSession

spark = SparkSession.active()
columns = spark.read.parquet("file:///tmp/changes").schema  # a flow may not ask for it

dp.create_sink(
    "cdc",
    "ticdc",
    {
        "sinkUri": "jsonl:///tmp/orders?protocol=canal-json",  # or kafka://127.0.0.1:9092/orders?...
        "schema": Path("tables.sql").read_text(encoding="utf-8"),  # beside spark-pipeline.yml
        "stateUri": "file:///tmp/pipeline/state",
    },
)


@dp.append_flow(target="cdc")
def orders():
    return spark.readStream.schema(columns).parquet("file:///tmp/changes")
