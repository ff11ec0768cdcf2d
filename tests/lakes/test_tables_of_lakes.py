"""table_sql of real Delta and Iceberg tables: comments, keys, lengths and partitions as the formats show them."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit import table_ddl
from ticdc_emit.schema.frames import spark_types, table_of


def test_iceberg_shows_its_key_and_its_buckets(spark: Any) -> None:
    spark.sql("""
        create table ice.db.orders (id bigint not null comment 'the id', note string, at timestamp, raw binary)
        using iceberg partitioned by (bucket(8, id)) comment 'Ice orders'""")
    spark.sql("alter table ice.db.orders set identifier fields id")
    table = table_of("ice.db.orders", spark=spark)
    assert table.create_table() == (
        "CREATE TABLE `db`.`orders` (\n  `id` BIGINT NOT NULL COMMENT 'the id',\n  `note` LONGTEXT,\n"
        "  `at` DATETIME(6),\n  `raw` LONGBLOB,\n  PRIMARY KEY (`id`)\n) COMMENT='Ice orders' "
        "PARTITION BY KEY (`id`) PARTITIONS 8"
    )
    assert table.assumptions[-1] == "The key is Iceberg's identifier fields: id."


def test_other_partitions_are_left_out(spark: Any) -> None:
    spark.sql(
        "create table ice.db.`odd name` (id bigint, at timestamp, c string) using iceberg partitioned by (days(at), c)"
    )
    table = table_of("ice.db.`odd name`", "shop.odd", "id", spark=spark)
    assert table.partitioning == ""
    assert "The partitioning by days(at), c is left out" in table.assumptions[-1]


def test_delta_shows_lengths_defaults_and_partitions(spark: Any) -> None:
    spark.sql("""
        create table emit_types (id bigint not null comment 'the id', code char(5), name varchar(20) default 'x',
          day date, tags map<string, decimal(5,2)>) using delta partitioned by (day) comment 'Delta orders'
        tblproperties ('delta.feature.allowColumnDefaults' = 'supported')""")
    table = table_of("emit_types", "shop.types", "id", spark=spark)
    assert table.create_table() == (
        "CREATE TABLE `shop`.`types` (\n  `id` BIGINT NOT NULL COMMENT 'the id',\n  `code` VARCHAR(5),\n"
        "  `name` VARCHAR(20) DEFAULT 'x',\n  `day` DATE,\n  `tags` JSON,\n  PRIMARY KEY (`id`)\n) "
        "COMMENT='Delta orders'"
    )
    assert any("partitioning by day is left out" in each for each in table.assumptions)


@pytest.fixture
def identity_table(spark: Any) -> Any:
    """A Delta table with identity columns, by Delta's own API: its SQL has none outside of Databricks."""
    builder = spark.sparkContext._jvm.io.delta.tables.DeltaTable

    def column(name: str) -> Any:
        return builder.columnBuilder(spark._jsparkSession, name).dataType("bigint")

    table = builder.create(spark._jsparkSession).tableName("counted").comment("Counted by Delta")
    table = table.addColumn(column("id").generatedAlwaysAsIdentity(5, 1).build())
    table.addColumn(column("even").generatedByDefaultAsIdentity(0, 2).build()).execute()
    spark.sql("ALTER TABLE counted ADD COLUMN note string COMMENT 'a later one'")
    yield "counted"
    spark.sql("DROP TABLE counted")


COUNTED = (
    "CREATE TABLE `shop`.`counted` (\n  `id` BIGINT NOT NULL AUTO_INCREMENT,\n  `even` BIGINT,\n"
    "  `note` LONGTEXT COMMENT 'a later one',\n  PRIMARY KEY (`id`)\n) COMMENT='Counted by Delta'"
)


def test_deltas_identity_is_auto_increment(spark: Any, identity_table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (identity_table, f"spark_catalog.default.{identity_table}"):
        assert table_of(table, "shop.counted", "id", spark=spark).create_table() == COUNTED
    first, later = table_ddl(spark, identity_table, "shop.counted", "id")
    assert "`id` BIGINT NOT NULL AUTO_INCREMENT" in first
    assert len(later) == 1

    def refused(spark: Any, name: str) -> Any:
        spark.sql("SELECT * FROM `no such table`").collect()

    monkeypatch.setattr(spark_types, "current_schema", refused)
    table = table_of(identity_table, "shop.counted", "id", spark=spark)
    assert table.create_table() == COUNTED.replace(" AUTO_INCREMENT", "")
    assert "Spark cannot read the table's log" in table.assumptions[-1]


def test_the_log_of_a_table_without_an_identity_is_not_read(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(spark_types, "current_schema")
    spark.sql("CREATE TABLE uncounted (id bigint) USING delta")
    assert "AUTO_INCREMENT" not in table_of("uncounted", "shop.uncounted", "id", spark=spark).create_table()
    spark.sql("DROP TABLE uncounted")
