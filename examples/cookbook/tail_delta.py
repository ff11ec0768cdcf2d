"""A Delta table's commits become messages while it changes."""

# %%
from ticdc_emit import TicdcSink, local_session, table_ddl

spark = local_session(
    **{
        "spark.jars.packages": "io.delta:delta-spark_4.1_2.13:4.3.0",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    }
)
table = "/data/orders"  # a folder, or a name in Spark's catalog
state = "/tmp/tail/state"  # any fsspec URI, such as s3://bucket/state
schema, ddl = table_ddl(spark, table, "shop.orders", "id", state_uri=state)
sink_uri = "kafka://127.0.0.1:9092/orders?protocol=canal-json&enable-tidb-extension=true"
options = {"ddl": ddl, "state_uri": state, "clock": "wall", "allowed_lateness": 60, "heartbeat": 5}
reader = spark.readStream.format("delta").option("readChangeFeed", True).option("startingVersion", 0)
tracked = reader.option("schemaTrackingLocation", "/tmp/tail/checkpoint/columns")
allowed = ("allowSourceColumnRename", "allowSourceColumnDrop", "allowSourceColumnTypeChange")
feed = tracked.options(**dict.fromkeys(allowed, "always")).load(table)

with TicdcSink(sink_uri, schema, **options) as sink:
    writer = feed.writeStream.foreachBatch(sink).option("checkpointLocation", "/tmp/tail/checkpoint")
    writer.trigger(processingTime="10 seconds").start().awaitTermination()
