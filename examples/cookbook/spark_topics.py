"""Spark reads the current tables from topics."""

# %% Canal-JSON
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

spark = SparkSession.builder.getOrCreate()
kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9092")
strictly = {"mode": "FAILFAST"}


def newest(changes: DataFrame) -> DataFrame:
    """Return the newest row of each key, unless it was deleted."""
    latest = F.max_by(F.struct("op", "row"), "offset").alias("latest")
    rows = changes.groupBy("table", "key").agg(latest)
    return rows.where("latest.op not in ('DELETE', 'd')").select("table", "latest.row")


def canal_json(topics: str) -> DataFrame:
    wire = "table string, type string, pkNames array<string>, data array<map<string, string>>"
    messages = kafka.option("subscribe", topics).load()
    messages = messages.select(F.from_json(F.col("value").cast("string"), wire, strictly).alias("m"), "offset")
    changes = messages.where("m.type in ('INSERT', 'UPDATE', 'DELETE')").selectExpr(
        "m.table", "m.type as op", "m.data[0] as row", "transform(m.pkNames, name -> m.data[0][name]) as key", "offset"
    )
    return newest(changes)


rows = canal_json("shop_kinds,shop_orders,shop_lines").where("table = 'orders'")
orders = rows.selectExpr(
    "bigint(row['id']) as id", "row['customer'] as customer", "cast(row['total'] as decimal(10, 2)) as total"
)
orders.show()


# %% Debezium
def debezium(topics: str) -> DataFrame:
    row = "map<string, string>"
    wire = f"payload struct<op: string, before: {row}, after: {row}, source: struct<table: string>>"
    messages = kafka.option("subscribe", topics).load()
    messages = messages.select("key", F.from_json(F.col("value").cast("string"), wire, strictly).alias("m"), "offset")
    changes = messages.where("m.payload.op in ('c', 'u', 'd')").selectExpr(
        "m.payload.source.table", "m.payload.op", "m.payload.after as row", "key", "offset"
    )
    return newest(changes)


debezium("shop_kinds,shop_orders,shop_lines").show()

# %% Avro
import json
from urllib.request import urlopen

from pyspark.sql.avro.functions import from_avro


def schema_text(schema_id: int) -> str:
    with urlopen(f"http://127.0.0.1:8081/schemas/ids/{schema_id}") as answer:
        return json.load(answer)["schema"]


def avro(topic: str) -> DataFrame:
    messages = kafka.option("subscribe", topic).load()
    latest = messages.groupBy("key").agg(F.max_by("value", "offset").alias("value")).where("value is not null")
    latest = latest.withColumn("schema_id", F.conv(F.hex(F.substring("value", 2, 4)), 16, 10).cast("int"))
    found = None
    for schema_id in sorted(row.schema_id for row in latest.select("schema_id").distinct().collect()):
        row = from_avro(F.expr("substring(value, 6)"), schema_text(schema_id), strictly).alias("row")
        rows = latest.where(F.col("schema_id") == schema_id).select(row).select("row.*")
        found = rows if found is None else found.unionByName(rows, allowMissingColumns=True)
    return found


avro("shop_orders").show()
