"""The history of an Iceberg table becomes the messages of a changefeed."""

# %% Spark with Iceberg
from ticdc_emit import local_session

spark = local_session(
    spark_jars_packages="org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0",
    spark_sql_extensions="org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    spark_sql_catalog_lake="org.apache.iceberg.spark.SparkCatalog",
    spark_sql_catalog_lake_type="hadoop",
    spark_sql_catalog_lake_warehouse="/tmp/lake",
)

# %% a table with four snapshots
spark.sql("""
    CREATE TABLE lake.shop.orders (id BIGINT, state STRING, price DECIMAL(8,2))
    USING iceberg""")
spark.sql("INSERT INTO lake.shop.orders VALUES (1, 'new', 9.50), (2, 'new', 4.00)")
spark.sql("ALTER TABLE lake.shop.orders RENAME COLUMN state TO status")
spark.sql("UPDATE lake.shop.orders SET status = 'sent' WHERE id = 1")
spark.sql("""
    CALL lake.system.rewrite_data_files(
      table => 'shop.orders', options => map('rewrite-all', 'true'))""")
spark.sql("ALTER TABLE lake.shop.orders ADD COLUMN note STRING")
spark.sql("""
    MERGE INTO lake.shop.orders o USING (
      VALUES (2, 'paid', 4.00, 'card'), (3, 'new', 7.25, NULL)
      AS n(id, status, price, note)
    ) n ON o.id = n.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""")

# %% its history as messages
import json

from ticdc_emit import messages, read_changes, replay, table_ddl

schema, ddl = table_ddl(spark, "lake.shop.orders", "shop.orders", keys="id")
feed = read_changes(spark, "lake.shop.orders")
sink_uri = "memory://iceberg?protocol=canal-json&partition-num=1"
replay(spark, sink_uri, {"shop.orders": feed}, schema, ddl=ddl)
for message in messages("iceberg"):
    value = json.loads(message.value)
    print(value["sql"] or f"{value['type']} {value['data']}")

# %% prints
# INSERT [{'id': '1', 'state': 'new', 'price': '9.50'}]
# INSERT [{'id': '2', 'state': 'new', 'price': '4.00'}]
# ALTER TABLE `shop`.`orders` RENAME COLUMN `state` TO `status`
# UPDATE [{'id': '1', 'status': 'sent', 'price': '9.50'}]
# ALTER TABLE `shop`.`orders` ADD COLUMN `note` LONGTEXT
# UPDATE [{'id': '2', 'status': 'paid', 'price': '4.00', 'note': 'card'}]
# INSERT [{'id': '3', 'status': 'new', 'price': '7.25', 'note': None}]

# %% the snapshots since the last call
from ticdc_emit import send_new_versions

sink_uri = "memory://tail?protocol=canal-json&partition-num=1"
for id in (4, 5):
    spark.sql(f"INSERT INTO lake.shop.orders VALUES ({id}, 'new', 1.00, NULL)")
    report = send_new_versions(spark, sink_uri, "lake.shop.orders", "shop.orders", "id", state_uri="/tmp/tail-iceberg")
    print(report.rows)

# %% prints
# 6
# 1
