"""Spark reads CSV files of the storage sink, as a table and as a stream."""

# %% files for this example
from ticdc_emit import TicdcSink, local_session

spark = local_session()
LAKE = "/tmp/lake_of_csv"
changefeed = {"sink": {"terminator": "\n", "csv": {"include-commit-ts": True}}}
ts = 450000000262144000
schema = "create table shop.orders (id bigint primary key, customer varchar(40), total decimal(10,2))"
changes = spark.createDataFrame(
    [
        ("c", ts, {"id": "1", "customer": 'Ann "A"', "total": "9.50"}),
        ("c", ts + 1, {"id": "2", "customer": None, "total": "4.00"}),
        ("c", ts + 9, {"id": "3", "customer": "Łódź", "total": "1.25", "points": "7"}),
    ],
    "op string, commit_ts long, after map<string, string>",
)
ddl = [(ts + 5, "alter table shop.orders add column points int not null default 5")]
sink = TicdcSink(f"file://{LAKE}?protocol=csv", schema, changefeed=changefeed, ddl=ddl)
print(sink.write(changes).rows)

# %% the table at the checkpoint
import json

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

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
FIRST = 4  # fields before the columns: operation, table, schema, commit_ts
MOST = 100  # columns at most


def checkpoint(lake: str) -> int:
    return json.loads(spark.read.text(f"{lake}/metadata").first().value)["checkpoint-ts"]


def versions(table: str, until: int) -> dict[int, list[dict]]:
    """Return the columns of each version of a table, in order."""
    files = spark.read.text(f"{table}/meta", wholetext=True, pathGlobFilter="schema_*.json").collect()
    found = {made["TableVersion"]: made["TableColumns"] for made in (json.loads(file.value) for file in files)}
    return {version: found[version] for version in sorted(found) if version <= until}


def spark_type(column: dict) -> str:
    kind = column["ColumnType"].split()[0]
    if column["ColumnType"] in ("BIGINT UNSIGNED", "BIT UNSIGNED"):
        return "decimal(20,0)"
    if kind in ("TINYINT", "SMALLINT", "MEDIUMINT", "INT", "BIGINT", "YEAR"):
        return "bigint"
    if kind == "DECIMAL" and int(column["ColumnPrecision"]) <= 38:
        return f"decimal({column['ColumnPrecision']},{column['ColumnScale']})"
    return kind if kind in ("FLOAT", "DOUBLE") else "binary" if kind.endswith(("BINARY", "BLOB")) else "string"


def lines(reader, table: str) -> DataFrame:
    """Return the fields of each row as texts, f0, f1 ..., and the version of the table that they belong to."""
    fields = ", ".join(f"f{number} string" for number in range(FIRST + MOST))
    rows = reader.schema(fields).options(**CSV, **FILES).csv(table)
    version = F.regexp_extract("_metadata.file_path", r"/(\d{10,})/", 1).cast("bigint")
    return rows.withColumn("version", version)


def typed(rows: DataFrame, versions: dict[int, list[dict]]) -> DataFrame:
    """Return the rows with the columns of the newest version. One that a row is too old for has its default."""
    *_, newest = versions.values()
    names = {version: [column["ColumnName"] for column in columns] for version, columns in versions.items()}

    def value(column: dict) -> Column:
        kind = spark_type(column)
        value = F.lit(column.get("ColumnDefault")).cast(kind)
        for version, known in names.items():
            if column["ColumnName"] in known:
                field = F.col(f"f{FIRST + known.index(column['ColumnName'])}")
                field = F.unbase64(field) if kind == "binary" else field.cast(kind)
                value = F.when(F.col("version") == version, field).otherwise(value)
        return value.alias(column["ColumnName"])

    head = [F.col("f0").alias("op"), F.col("f3").cast("bigint").alias("commit_ts")]
    return rows.select(*head, *map(value, newest))


def newest(changes: DataFrame, keys: list[str]) -> DataFrame:
    """Return the newest row of each key, unless it was deleted."""
    row = F.max_by(F.struct(*changes.columns), F.struct("commit_ts", F.col("op") != "D")).alias("row")
    return changes.groupBy(*keys).agg(row).where("row.op != 'D'").select("row.*").drop("op", "commit_ts")


def table_now(lake: str, name: str, keys: list[str]) -> DataFrame:
    """Return a table as it was at the checkpoint."""
    until, table = checkpoint(lake), f"{lake}/{name}"
    changes = typed(lines(spark.read, table), versions(table, until))
    return newest(changes.where(F.col("commit_ts") <= until), keys)


table_now(LAKE, "shop/orders", ["id"]).orderBy("id").show()

# %% prints
# +---+--------+-----+------+
# | id|customer|total|points|
# +---+--------+-----+------+
# |  1| Ann "A"| 9.50|     5|
# |  2|    NULL| 4.00|     5|
# |  3|    Łódź| 1.25|     7|
# +---+--------+-----+------+
#


# %% a stream
def stage(lake: str, name: str, target: str) -> None:
    rows = lines(spark.readStream, f"{lake}/{name}")
    query = rows.writeStream.format("parquet").option("checkpointLocation", f"{target}/_checkpoint")
    query.trigger(availableNow=True).start(target).awaitTermination()


STAGED = "/tmp/orders_staged"
stage(LAKE, "shop/orders", STAGED)
changes = typed(spark.read.parquet(STAGED), versions(f"{LAKE}/shop/orders", checkpoint(LAKE)))
newest(changes, ["id"]).orderBy("id").show(1)
