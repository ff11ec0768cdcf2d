"""table_sql and table_ddl of real Delta and Iceberg tables: comments, keys, lengths, partitions, changed columns."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from folded_versions import uri

from ticdc_emit import from_snapshots, messages, read_changes, replay, table_ddl
from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.frames.any_frame import table_of
from ticdc_emit.traffic.replay.table_versions import versioned_table


def test_iceberg_shows_its_key(spark: Any) -> None:
    spark.sql("""
        create table ice.db.orders (id bigint not null comment 'the id', note string, at timestamp, raw binary)
        using iceberg partitioned by (bucket(8, id)) comment 'Ice orders'""")
    spark.sql("alter table ice.db.orders set identifier fields id")
    table = table_of("ice.db.orders", spark=spark)
    assert table.create_table() == (
        "CREATE TABLE `db`.`orders` (\n  `id` BIGINT NOT NULL COMMENT 'the id',\n  `note` LONGTEXT,\n"
        "  `at` DATETIME(6),\n  `raw` LONGBLOB,\n  PRIMARY KEY (`id`)\n) COMMENT='Ice orders'"
    )
    assert table.assumptions[-2] == "The key is Iceberg's identifier fields: id."


def test_other_partitions_are_left_out(spark: Any) -> None:
    spark.sql(
        "create table ice.db.`odd name` (id bigint, at timestamp, c string) using iceberg partitioned by (days(at), c)"
    )
    table = table_of("ice.db.`odd name`", "shop.odd", "id", spark=spark)
    assert "PARTITION" not in table.create_table()
    assert "The partitioning by days(at), c is left out" in table.assumptions[-1]


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


def test_deltas_identity_is_auto_increment_in_a_replay(spark: Any, identity_table: str) -> None:
    first, later = table_ddl(spark, identity_table, "shop.counted", "id")
    assert "`id` BIGINT NOT NULL AUTO_INCREMENT" in first
    assert len(later) == 1


def test_columns_keep_their_identity(spark: Any) -> None:
    table = "ice.db.columns"
    spark.sql(f"CREATE TABLE {table} (id int, a int, b string) USING iceberg TBLPROPERTIES ('format-version' = '3')")
    with pytest.raises(ConfigError, match=r"there is no version to read.*Write rows"):
        read_changes(spark, table)
    assert table_ddl(spark, table, "lake.goods", "id").ddl == ()
    spark.sql(f"INSERT INTO {table} VALUES (1, 1, 'x'), (2, 2, 'y')")
    for change in ("RENAME COLUMN id TO no", "RENAME COLUMN a TO c", "RENAME COLUMN b TO a", "RENAME COLUMN c TO b"):
        spark.sql(f"ALTER TABLE {table} {change}")
    spark.sql(f"UPDATE {table} SET b = 9 WHERE no = 1")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN a")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN a decimal(8,2) FIRST")
    schema, ddl = table_ddl(spark, table, "lake.goods", "no")
    assert "`id` INT NOT NULL" in schema
    assert [statement.removeprefix("ALTER TABLE `lake`.`goods` ") for _, statement in ddl] == [
        "RENAME COLUMN `id` TO `no`",
        "RENAME COLUMN `a` TO `renamed_0`",
        "RENAME COLUMN `b` TO `a`",
        "RENAME COLUMN `renamed_0` TO `b`",
        "DROP COLUMN `a`",
        "ADD COLUMN `a` DECIMAL(8,2) FIRST",
    ]
    first, second, _ = (version.commit_ts for version in versioned_table(spark, table).versions)
    assert first < ddl[0][0] < ddl[3][0] < second < ddl[4][0] < ddl[5][0], "DDL comes before its version's rows"


def test_versions_that_the_log_no_longer_has(spark: Any, tmp_path: Path) -> None:
    table = f"{tmp_path}/worn"
    spark.sql(
        f"CREATE TABLE delta.`{table}` (id int, n int) USING delta "
        "TBLPROPERTIES ('delta.checkpointInterval' = '3', 'delta.columnMapping.mode' = 'name')"
    )
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (1, 1), (2, 2)")
    spark.sql(f"ALTER TABLE delta.`{table}` RENAME COLUMN n TO m")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (3, 3)")
    spark.sql(f"INSERT OVERWRITE delta.`{table}` VALUES (5, 5)")
    log = Path(table, "_delta_log")
    for version in range(3):  # as the log is cleaned up
        for file in log.glob(f"*{version:020d}.*"):
            file.unlink()
    copy = shutil.copytree(table, f"{tmp_path}/copy")  # whose log Spark has not read
    assert [version.id for version in versioned_table(spark, copy).versions] == [3, 4]
    assert table_ddl(spark, copy, "lake.t", "id")[0].count("`m` INT") == 1


def test_a_table_without_a_feed_is_a_series_of_snapshots(spark: Any) -> None:
    spark.sql(
        "CREATE TABLE back (id int, n int, s string) USING delta TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    )
    spark.sql("INSERT INTO back VALUES (1, 1, 'a'), (2, 2, NULL), (3, 3, 'c')")
    spark.sql("ALTER TABLE back DROP COLUMN s")
    spark.sql("UPDATE back SET n = 9 WHERE id = 3")
    spark.sql("RESTORE TABLE back TO VERSION AS OF 1")
    versions = versioned_table(spark, "back").versions
    frames = {each.commit_ts: spark.read.option("versionAsOf", each.id).table("back") for each in versions}
    found = [(row.op, *row.after) for row in from_snapshots(frames, "id").orderBy("commit_ts", "after.id").collect()]
    first = [("c", 1, 1, "a"), ("c", 2, 2, None), ("c", 3, 3, "c")]
    assert found == [
        *first,
        ("u", 1, 1, None),
        ("u", 3, 3, None),
        ("u", 3, 9, None),
        ("u", 1, 1, "a"),
        ("u", 3, 3, "c"),
    ]
    spark.sql("DROP TABLE back")


@pytest.mark.parametrize("mapping", ["none", "name"])
def test_a_field_that_is_added_is_null_before(spark: Any, store: str, mapping: str) -> None:
    table = f"nested_{mapping}"
    spark.sql(
        f"CREATE TABLE {table} (id bigint, b struct<d:decimal(38,10),n:string>) USING delta TBLPROPERTIES "
        f"(delta.enableChangeDataFeed = true, delta.columnMapping.mode = '{mapping}')"
    )
    spark.sql(f"INSERT INTO {table} SELECT 1, named_struct('d', 12345678901234567890.1234567891BD, 'n', null)")
    spark.sql(f"ALTER TABLE {table} ADD COLUMN b.y string")
    spark.sql(f"INSERT INTO {table} SELECT 2, named_struct('d', 1.5BD, 'n', 'x', 'y', 'z')")
    schema, ddl = table_ddl(spark, table, "lake.goods", "id")
    replay(spark, uri(store), {"lake.goods": read_changes(spark, table)}, schema, ddl=ddl)
    sent = [json.loads(message.value or b"") for message in messages(store)]
    assert [json.loads(each["data"][0]["b"]) for each in sent if each["type"] == "INSERT"] == [
        {"d": "12345678901234567890.1234567891", "n": None, "y": None},
        {"d": "1.5000000000", "n": "x", "y": "z"},
    ]


def test_maps_in_lists_of_inserts_only(spark: Any, store: str) -> None:
    """Spark 4.1 gives its workers lists without offsets there."""
    feed = "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    spark.sql(f"CREATE TABLE maps (id int, v array<map<string,int>>) USING delta {feed}")
    spark.sql("INSERT INTO maps VALUES (1, array(map('a', 1)))")
    spark.sql("UPDATE maps SET v = array(map('a', 2), map())")
    replay(spark, uri(store), {"lake.goods": "maps"}, table_ddl(spark, "maps", "lake.goods", "id")[0])
    sent = [json.loads(message.value or b"") for message in messages(store)]
    assert [each["data"][0]["v"] for each in sent if each["type"] in ("INSERT", "UPDATE")] == [
        '[{"a": 1}]',
        '[{"a": 2}, {}]',
    ]
