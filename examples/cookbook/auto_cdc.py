"""A Declarative Pipeline keeps a table from a topic of Canal-JSON."""

# %%
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.active()
WIRE = "table string, type string, data array<map<string, string>>, _tidb struct<commitTs: bigint>"


@dp.temporary_view
def order_changes() -> DataFrame:
    kafka = spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9092")
    messages = kafka.option("subscribe", "shop_orders").option("startingOffsets", "earliest").load()
    read = F.from_json(F.col("value").cast("string"), WIRE, {"mode": "FAILFAST"}).alias("m")
    changes = messages.select(read).where("m.table = 'orders' and m.type in ('INSERT', 'UPDATE', 'DELETE')")
    return changes.selectExpr(
        "cast(m.data[0]['id'] as bigint) as id",
        "m.data[0]['customer'] as customer",
        "cast(m.data[0]['total'] as decimal(10,2)) as total",
        "m.data[0]['note'] as note",
        "m._tidb.commitTs as commit_ts",
        "m.type = 'DELETE' as is_delete",
    )


dp.create_streaming_table("orders")
dp.create_auto_cdc_flow(
    target="orders",
    source="order_changes",
    keys=["id"],
    sequence_by="struct(commit_ts, not is_delete)",
    apply_as_deletes="is_delete",
    except_column_list=["commit_ts", "is_delete"],
)
