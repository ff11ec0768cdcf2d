"""Change feeds of real Iceberg tables: columns that changed, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ticdc_emit import from_changes, read_changes
from ticdc_emit.errors import ConfigError
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = pytest.mark.spark


def test_columns_have_their_names_of_each_snapshot(spark: Any) -> None:
    table = "ice.db.named"
    spark.sql(f"CREATE TABLE {table} (id int, a int, b string) USING iceberg")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1, 'x')")
    for change in (
        "RENAME COLUMN a TO c",
        "RENAME COLUMN b TO a",
        "RENAME COLUMN c TO b",
        "ALTER COLUMN b TYPE bigint",
    ):
        spark.sql(f"ALTER TABLE {table} {change}")
    spark.sql(f"INSERT INTO {table} VALUES (2, 2, 'y')")
    spark.sql("CALL ice.system.rewrite_data_files(table => 'db.named', options => map('rewrite-all', 'true'))")
    first, second, third = (version.id for version in versioned_table(spark, table).versions)

    def rows(**bounds: Any) -> list[tuple[Any, ...]]:
        changes = from_changes(read_changes(spark, table, **bounds), "id").collect()
        return sorted((row.op, row.after.id, row.after.a, row.after.b) for row in changes)

    assert rows() == [("c", 1, "1", "x"), ("c", 2, "y", "2")], "numbers and text of one name are text"
    assert rows(start=second) == [("c", 2, "y", 2)]
    assert rows(end=first) == [("c", 1, 1, "x")]
    assert rows(start=third) == []
    view = spark.sql("CALL ice.system.create_changelog_view(table => 'db.named')").first()[0]
    raw = from_changes(spark.table(view), "id", times=spark.table(f"{table}.snapshots")).collect()
    assert sorted((row.op, row.after.id, row.after.a, row.after.b) for row in raw) == [
        ("c", 1, "x", 1),
        ("c", 2, "y", 2),
    ], "with the columns of today"
    spark.sql(f"ALTER TABLE {table} DROP COLUMN a")
    with pytest.raises(ConfigError, match="has the column a, which was dropped since") as refused:
        rows(start=second)
    assert "from_versions" in str(refused.value)


def test_delete_files_and_expired_snapshots_are_refused(spark: Any) -> None:
    table = "ice.db.deleted"
    spark.sql(
        f"CREATE TABLE {table} (id int, n int) USING iceberg "
        "TBLPROPERTIES ('format-version' = '3', 'write.update.mode' = 'merge-on-read')"
    )
    for number in range(3):
        spark.sql(f"INSERT INTO {table} VALUES ({number}, {number}), (1{number}, {number})")
    last = versioned_table(spark, table).versions[-1].id
    spark.sql(f"UPDATE {table} SET n = 9 WHERE id = 1")
    with pytest.raises(
        ConfigError, match=r"has delete files .*Delete files are currently not supported.*from_versions"
    ):
        from_changes(read_changes(spark, table), "id")
    assert from_changes(read_changes(spark, table, end=last), "id").count() == 6
    spark.sql(
        "CALL ice.system.expire_snapshots(table => 'db.deleted', older_than => timestamp'2999-01-01 00:00:00', "
        "retain_last => 2)"
    )
    with pytest.raises(ConfigError, match=f"no longer has the versions before {last}"):
        read_changes(spark, table)
    assert from_changes(read_changes(spark, table, start=last, end=last), "id").count() == 2
