"""The history of a Delta table becomes the messages of a changefeed."""

# %% Spark with Delta
from ticdc_emit import local_session

spark = local_session(
    spark_jars_packages="io.delta:delta-spark_4.1_2.13:4.3.0",
    spark_sql_extensions="io.delta.sql.DeltaSparkSessionExtension",
    **{"spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog"},
)

# %% a table with seven commits
spark.sql("""
    CREATE TABLE orders (id BIGINT, state STRING, price DECIMAL(8,2)) USING delta
    TBLPROPERTIES (
      delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name')""")
spark.sql("INSERT INTO orders VALUES (1, 'new', 9.50), (2, 'new', 4.00)")
spark.sql("ALTER TABLE orders RENAME COLUMN state TO status")
spark.sql("UPDATE orders SET status = 'sent' WHERE id = 1")
spark.sql("OPTIMIZE orders")
spark.sql("ALTER TABLE orders ADD COLUMN note STRING")
spark.sql("""
    MERGE INTO orders o USING (
      VALUES (2, 'paid', 4.00, 'card'), (3, 'new', 7.25, NULL)
      AS n(id, status, price, note)
    ) n ON o.id = n.id
    WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *""")

# %% its history as messages
import json

from ticdc_emit import messages, read_changes, replay, table_ddl

schema, ddl = table_ddl(spark, "orders", "shop.orders", keys="id")
sink_uri = "memory://orders?protocol=canal-json&partition-num=1"
replay(spark, sink_uri, {"shop.orders": read_changes(spark, "orders")}, schema, ddl=ddl)
for message in messages("orders"):
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
