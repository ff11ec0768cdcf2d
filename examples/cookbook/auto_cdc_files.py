"""A Declarative Pipeline keeps a table from CSV files of the storage sink."""

# %%
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

spark = SparkSession.active()
CSV = {
    "sep": ",",
    "quote": '"',
    "escape": '"',
    "lineSep": "\n",
    "multiLine": True,
    "nullValue": "\\N",
    "emptyValue": "",
}
FILES = {"recursiveFileLookup": True, "pathGlobFilter": "CDC*.csv"}
FIELDS = """op string, table string, schema string, commit_ts bigint,
    id bigint, customer string, total decimal(10,2), note string, placed string, channel string, points bigint"""


@dp.temporary_view
def order_changes() -> DataFrame:
    rows = spark.readStream.schema(FIELDS).options(**CSV, **FILES).csv("s3a://bucket/lake/shop/orders")
    return rows.selectExpr(
        "id",
        "customer",
        "total",
        "note",
        "channel",
        "coalesce(points, 5) as points",
        "commit_ts",
        "op = 'D' as is_delete",
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
