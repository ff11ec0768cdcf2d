"""Time travel of real Delta and Iceberg tables as a history: changed columns, chosen versions, those that are gone."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from folded_versions import consumed_versions, held_rows, uri

from ticdc_emit import from_versions, messages, read_changes, replay, table_ddl
from ticdc_emit.delivery.memory import clear
from ticdc_emit.errors import ConfigError, DuplicateChangeError, MissingColumnError
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = pytest.mark.spark


@pytest.fixture
def store() -> Iterator[str]:
    clear("lake")
    yield "lake"
    clear("lake")


def test_columns_keep_their_identity(spark: Any, store: str) -> None:
    table = "ice.db.columns"
    spark.sql(f"CREATE TABLE {table} (id int, a int, b string) USING iceberg TBLPROPERTIES ('format-version' = '3')")
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
    found = sorted(from_versions(spark, table, "no").collect(), key=lambda row: (row.commit_ts, row.after[0]))
    assert [(row.op, row.before and row.before.b, row.after.b) for row in found[-1:]] == [
        ("u", "1", "9")  # text, because `b` was text in the first version
    ]
    stamps = sorted({row.commit_ts for row in found})
    assert stamps[0] < ddl[0][0] < ddl[3][0] < stamps[1] < ddl[4][0] < ddl[5][0], "DDL comes before its version's rows"
    replay(spark, uri(store), {"lake.goods": from_versions(spark, table, "no")}, schema, ddl=ddl)
    (last,) = consumed_versions(messages(store), schema, ("lake", "goods"), [ddl[-1][0]])
    assert last == {("1",): {"a": None, "no": "1", "b": "9"}, ("2",): {"a": None, "no": "2", "b": "2"}}


def test_chosen_versions(spark: Any, tmp_path: Path) -> None:
    table = f"{tmp_path}/chosen"
    spark.sql(f"CREATE TABLE delta.`{table}` (id int, n int) USING delta")
    for number in range(1, 5):
        spark.sql(f"INSERT INTO delta.`{table}` VALUES ({number}, {number})")
    spark.sql(f"UPDATE delta.`{table}` SET n = 0 WHERE id = 1")
    stamps = {version.id: version.commit_ts for version in versioned_table(spark, table).versions}

    def changes(**options: Any) -> list[tuple[str, int, int]]:
        rows = from_versions(spark, table, "id", **options).collect()
        versions = {stamp: version for version, stamp in stamps.items()}
        return sorted((row.op, versions[row.commit_ts], row.after.id) for row in rows)

    assert changes(versions=[5, 2]) == [("c", 2, 1), ("c", 2, 2), ("c", 5, 3), ("c", 5, 4), ("u", 5, 1)]
    assert changes(versions=range(4, 99)) == [*(("c", 4, each) for each in range(1, 5)), ("u", 5, 1)]
    assert changes(timestamps=[stamps[3] + 1, stamps[4] - 1]) == [("c", 3, each) for each in (1, 2, 3)]
    with pytest.raises(ConfigError, match=r"no version 9 .*Choose among 0, 1, 2, 3, 4, 5"):
        changes(versions=[9])
    with pytest.raises(ConfigError, match="no version of that time"):
        changes(timestamps=[stamps[0] - 1])
    with pytest.raises(MissingColumnError, match="not a column of the last version"):
        from_versions(spark, table, "key")
    spark.sql(f"INSERT INTO delta.`{table}` VALUES (4, 5)")
    doubled = from_versions(spark, table, "id", versions=[4, 6])
    with pytest.raises(DuplicateChangeError, match="two rows of one version have the key '4'"):
        replay(spark, uri("lake"), {"lake.t": doubled}, "create table lake.t (id int primary key, n int)")


def test_versions_that_are_gone(spark: Any, tmp_path: Path) -> None:
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
    assert from_versions(spark, copy, "id").count() == 7
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{copy}` RETAIN 0 HOURS")
    schema = "create table lake.t (id int primary key, m int)"
    with pytest.raises(ConfigError, match=r"no longer has a file of its history: .*FILE_NOT_EXIST.*Begin at a later"):
        replay(spark, uri("lake"), {"lake.t": from_versions(spark, copy, "id")}, schema)
    assert from_versions(spark, copy, "id", versions=range(4, 99)).count() == 1


def test_expired_snapshots(spark: Any) -> None:
    table = "ice.db.expired"
    spark.sql(f"CREATE TABLE {table} (id int, n int) USING iceberg")
    with pytest.raises(ConfigError, match=r"there is no version to read.*Write rows"):
        from_versions(spark, table, "id")
    assert table_ddl(spark, table, "lake.t", "id").ddl == ()
    for number in range(3):
        spark.sql(f"INSERT INTO {table} VALUES ({number}, {number})")
    first = versioned_table(spark, table).versions[0].id
    spark.sql(f"UPDATE {table} SET n = 9 WHERE id = 1")
    spark.sql(
        "CALL ice.system.expire_snapshots(table => 'db.expired', older_than => timestamp'2999-01-01 00:00:00', "
        "retain_last => 2)"
    )
    with pytest.raises(ConfigError, match=f"no version {first} "):
        from_versions(spark, table, "id", versions=[first])
    found = from_versions(spark, table, "id").collect()
    assert sorted((row.op, row.after.id, row.after.n) for row in found) == [
        ("c", 0, 0),
        ("c", 1, 1),
        ("c", 2, 2),
        ("u", 1, 9),
    ]


def test_a_column_that_comes_back(spark: Any, store: str) -> None:
    spark.sql(
        "CREATE TABLE back (id int, n int, s string) USING delta TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    )
    spark.sql("INSERT INTO back VALUES (1, 1, 'a'), (2, 2, NULL)")
    spark.sql("INSERT INTO back VALUES (3, 3, 'c')")
    spark.sql("ALTER TABLE back DROP COLUMN s")
    spark.sql("UPDATE back SET n = 9 WHERE id = 3")
    spark.sql("RESTORE TABLE back TO VERSION AS OF 2")
    schema, ddl = table_ddl(spark, "back", "lake.goods", "id")
    changes = from_versions(spark, "back", "id")
    found = [(row.commit_ts, row.op, row.before, row.after) for row in changes.where("op = 'u'").collect()]
    assert sorted(tuple(after) for _, _, _, after in found) == [(1, 1, "a"), (3, 3, "c"), (3, 9, None)]
    assert {before.s for _, _, before, _ in found} == {None}
    replay(spark, uri(store), {"lake.goods": changes}, schema, ddl=ddl)
    *_, last = consumed_versions(messages(store), schema, ("lake", "goods"), [max(row[0] for row in found)])
    assert last == held_rows(spark.table("back"), ["id"])
    assert table_ddl(spark, "back", "lake.goods", "id", versions=[2, 5]).ddl == ()
    assert from_versions(spark, "back", "id", versions=[2, 5]).where("op != 'c'").count() == 0
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
    for source in (read_changes(spark, table), from_versions(spark, table, "id")):
        clear(store)
        replay(spark, uri(store), {"lake.goods": source}, schema, ddl=ddl)
        sent = [json.loads(message.value or b"") for message in messages(store)]
        assert [json.loads(each["data"][0]["b"]) for each in sent if each["type"] == "INSERT"] == [
            {"d": "12345678901234567890.1234567891", "n": None, "y": None},
            {"d": "1.5000000000", "n": "x", "y": "z"},
        ]


def test_a_table_with_char_by_its_name(spark: Any) -> None:
    spark.sql("CREATE TABLE padded (id int, c char(3), v varchar(3)) USING delta")
    spark.sql("INSERT INTO padded VALUES (1, 'a', 'a')")
    spark.sql("UPDATE padded SET c = 'b'")
    found = sorted(from_versions(spark, "padded", "id").collect(), key=lambda row: row.commit_ts)
    assert [(row.op, *row.after) for row in found] == [("c", 1, "a  ", "a"), ("u", 1, "b  ", "a")]


def test_maps_in_lists_of_inserts_only(spark: Any, store: str) -> None:
    """Spark 4.1 gives its workers lists without offsets there."""
    spark.sql("CREATE TABLE maps (id int, v array<map<string,int>>) USING delta")
    spark.sql("INSERT INTO maps VALUES (1, array(map('a', 1)))")
    spark.sql("UPDATE maps SET v = array(map('a', 2), map())")
    replay(
        spark,
        uri(store),
        {"lake.goods": from_versions(spark, "maps", "id")},
        table_ddl(spark, "maps", "lake.goods", "id")[0],
    )
    sent = [json.loads(message.value or b"") for message in messages(store)]
    assert [each["data"][0]["v"] for each in sent if each["type"] in ("INSERT", "UPDATE")] == [
        '[{"a": 1}]',
        '[{"a": 2}, {}]',
    ]
