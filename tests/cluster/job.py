"""A job as users write it, for ``spark-submit``: bank traffic over all partitions. Arguments: brokers, rows."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from ticdc_emit import generate

brokers, rows = sys.argv[1], int(sys.argv[2])
spark = SparkSession.builder.getOrCreate()
traffic = generate(spark, "bank", rows=rows, partitions=4)
by_key = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "index-value"}]}}
report = traffic.sink(f"kafka://{brokers}/bank?protocol=simple", changefeed=by_key).write(traffic.changes)
print("JOB", report.rows, report.messages, flush=True)
spark.stop()
