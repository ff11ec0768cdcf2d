"""table_sql of real Delta and Iceberg tables: comments, keys, lengths and partitions as the formats show them."""

from __future__ import annotations

from typing import Any

from ticdc_emit.source_schemas import table_of


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
