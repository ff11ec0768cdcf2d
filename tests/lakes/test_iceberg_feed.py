"""Change feeds of real Iceberg tables: columns that changed, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from folded_versions import HeldVersions, check_received, consumed_versions, uri
from pyspark.errors import StreamingQueryException

from ticdc_emit import TicdcSink, from_changes, messages, read_changes, replay, send_new_versions, table_ddl
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]


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
    assert "from_snapshots" in str(refused.value)


ROUNDS = (
    ("INSERT INTO {} VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')", "ALTER TABLE {} RENAME COLUMN name TO title"),
    (
        "UPDATE {} SET title = 'x', n = 9 WHERE id = 1",
        "DELETE FROM {} WHERE id = 2",
        "CALL ice.system.rewrite_data_files(table => '{}', options => map('rewrite-all', 'true'))",
        "ALTER TABLE {} ADD COLUMN note string",
    ),
    ("UPDATE {} SET note = 'first' WHERE id > 1", "INSERT INTO {} VALUES (4, 4, 'd', 'e')"),
    ("ALTER TABLE {} DROP COLUMN title", "UPDATE {} SET n = 0"),
)
"""Statements between two calls. Iceberg knows the time of changed columns only once there is another snapshot."""

COMMITS = (
    "INSERT INTO {} VALUES (1, 10, 'a'), (2, 20, NULL), (3, 30, 'c'), (4, 40, 'd')",
    "MERGE INTO {} t USING (SELECT * FROM VALUES (1, 11), (2, 0), (5, 50) AS v(id, n)) d ON t.id = d.id "
    "WHEN MATCHED AND d.n = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET n = d.n "
    "WHEN NOT MATCHED THEN INSERT (id, n, name) VALUES (d.id, d.n, 'e')",
    "UPDATE {} SET name = 'all', n = n + 1 WHERE id IN (1, 3)",
    "DELETE FROM {} WHERE id = 4",
    "UPDATE {} SET id = 10 WHERE id = 1",
    "CALL ice.system.rewrite_data_files(table => 'db.viewed', options => map('rewrite-all', 'true'))",
    "INSERT INTO {} VALUES (2, 21, 'back'), (1, 12, 'again')",
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("", {"INSERT", "DELETE"}),
        (
            ", compute_updates => true, identifier_columns => array('id')",
            {"INSERT", "DELETE", "UPDATE_BEFORE", "UPDATE_AFTER"},
        ),
    ],
    ids=["deletes and inserts", "computed updates"],
)
def test_a_changelog_view_of_several_commits(spark: Any, store: str, options: str, words: set[str]) -> None:
    table = "ice.db.viewed"
    spark.sql(f"CREATE TABLE {table} (id int, n int, name string) USING iceberg")
    for commit in COMMITS:
        spark.sql(commit.format(table))
    view = spark.table(
        spark.sql(f"CALL ice.system.create_changelog_view(table => 'db.viewed'{options})").collect()[0][0]
    )
    assert {row[0] for row in view.select("_change_type").collect()} == words
    changes = from_changes(view, "id", times=spark.table(f"{table}.snapshots"))
    assert [row.op for row in changes.orderBy("commit_ts", "op").collect()] == [
        *"cccc",
        *"cdu",
        *"uu",
        "d",
        *"cd",
        *"cc",
    ]
    versions = versioned_table(spark, table).versions
    schema = "create table lake.goods (id int primary key, n int, name text)"
    replay(spark, uri(store), {"lake.goods": changes}, schema)
    stamps = {version.id or 0: version.commit_ts for version in versions}
    check_received(messages(store), schema, HeldVersions(spark, table), stamps, COMMITS)
    spark.sql(f"DROP TABLE {table}")


def test_a_stream_of_appended_rows_is_refused(spark: Any, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE ice.db.streamed (id int, n int) USING iceberg")
    spark.sql("INSERT INTO ice.db.streamed VALUES (1, 1)")
    schema = "create table lake.goods (id int primary key, n int)"
    with TicdcSink(f"jsonl://{tmp_path}/out?protocol=canal-json", schema) as sink:
        stream = spark.readStream.format("iceberg").load("ice.db.streamed")
        writer = stream.writeStream.foreachBatch(sink).option("checkpointLocation", str(tmp_path / "checks"))
        query = writer.trigger(availableNow=True).start()
        with pytest.raises(StreamingQueryException, match=r"plain rows are not row changes: id, n must be in an image"):
            query.awaitTermination()
    assert not (tmp_path / "out").exists()
    spark.sql("DROP TABLE ice.db.streamed")


def fails(*arguments: Any, **options: Any) -> Any:
    raise RuntimeError("the power is off")


def test_new_snapshots_are_sent_in_rounds(
    spark: Any, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "ice.db.tailed"
    spark.sql(f"CREATE TABLE {table} (id int, n int, name string) USING iceberg")
    state = str(tmp_path / "state")

    def send() -> Any:
        return send_new_versions(spark, uri(store), table, "lake.goods", "id", state_uri=state)

    assert send() is None
    for nth, statements in enumerate(ROUNDS):
        for statement in statements:
            spark.sql(statement.format(table))
        if nth == 2:  # the rows of this round are sent twice
            with monkeypatch.context() as patched:
                patched.setattr(Changefeed, "_end_batch", fails)
                with pytest.raises(RuntimeError, match="the power is off"):
                    send()
            spark.sql(f"INSERT INTO {table} (id, n) VALUES (30, 3)")
        assert send() is not None
        assert send() is None
    spark.sql("CALL ice.system.rewrite_data_files(table => 'db.tailed', options => map('rewrite-all', 'true'))")
    assert [None if report is None else report.rows for report in (send(), send())] == [0, None]
    versions = [version for version in versioned_table(spark, table).versions if version.id is not None]
    schema = table_ddl(spark, table, "lake.goods", "id").create_table
    stamps = {version.id or 0: version.commit_ts for version in versions}
    check_received(messages(store), schema, HeldVersions(spark, table), stamps, [])
    sent = [json.loads(message.value or b"") for message in messages(store)]
    ddl = [each["sql"].removeprefix("ALTER TABLE `lake`.`goods` ") for each in sent if each["isDdl"]]
    assert list(dict.fromkeys(ddl)) == [
        "RENAME COLUMN `name` TO `title`",
        "ADD COLUMN `note` LONGTEXT",
        "DROP COLUMN `title`",
    ]
    spark.sql(f"DROP TABLE {table}")


def test_snapshots_that_were_sent_may_expire(spark: Any, store: str, tmp_path: Path) -> None:
    table = "ice.db.kept"
    spark.sql(f"CREATE TABLE {table} (id int, n int, name string) USING iceberg")

    def send() -> Any:
        return send_new_versions(spark, uri(store), table, "lake.goods", "id", state_uri=str(tmp_path / "state"))

    stamps, held = [], []
    for nth, statements in enumerate(ROUNDS):
        for statement in statements:
            spark.sql(statement.format(table))
        assert send().rows > 0, nth
        last = [version for version in versioned_table(spark, table).versions if version.id is not None][-1]
        stamps.append(last.commit_ts)
        held.append(HeldVersions(spark, table).rows(last.id or 0))
        spark.sql(
            "CALL ice.system.expire_snapshots(table => 'db.kept', older_than => timestamp'2999-01-01 00:00:00', "
            "retain_last => 1)"
        )
        assert send() is None
    schema = "create table lake.goods (id int primary key, n int, name longtext)"
    assert list(consumed_versions(messages(store), schema, ("lake", "goods"), stamps)) == held
    found = [json.loads(message.value or b"") for message in messages(store)]
    assert [each["sql"].removeprefix("ALTER TABLE `lake`.`goods` ") for each in found if each["isDdl"]] == [
        "RENAME COLUMN `name` TO `title`",
        "ADD COLUMN `note` LONGTEXT",
        "DROP COLUMN `title`",
    ]
    spark.sql(f"DROP TABLE {table}")


def test_snapshots_that_expired_before_they_were_sent(spark: Any, store: str, tmp_path: Path) -> None:
    table, expire = "ice.db.late", "older_than => timestamp'2999-01-01 00:00:00'"
    spark.sql(f"CREATE TABLE {table} (id int, n int) USING iceberg")

    def send(**options: Any) -> Any:
        return send_new_versions(spark, uri(store), table, "lake.goods", "id", **options)

    spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
    with pytest.raises(ConfigError, match="without a state nobody knows"):
        send()
    state = {"state_uri": str(tmp_path / "state")}
    assert send(**state).rows == 1
    spark.sql(f"INSERT INTO {table} VALUES (2, 2)")
    spark.sql(f"CALL ice.system.expire_snapshots(table => 'db.late', {expire})")
    with pytest.raises(ConfigError, match="no longer has the last version that was sent"):
        send(**state)
    with pytest.raises(ConfigError, match="no longer has the versions before"):
        send(state_uri=str(tmp_path / "other"))
    spark.sql(f"DROP TABLE {table}")


def test_a_table_that_lost_its_first_snapshots_begins_with_its_rows(
    spark: Any, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = "ice.db.grown"
    spark.sql(f"CREATE TABLE {table} (id int, n int, name string) USING iceberg")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN name TO title")
    spark.sql(f"DELETE FROM {table} WHERE id = 3")
    expire = "older_than => timestamp'2999-01-01 00:00:00', retain_last => 1"
    spark.sql(f"CALL ice.system.expire_snapshots(table => 'db.grown', {expire})")

    def send(**options: Any) -> Any:
        return send_new_versions(spark, uri(store), table, "lake.goods", "id", state_uri=f"{tmp_path}/state", **options)

    with pytest.raises(ConfigError, match=r'no longer has the versions before .*begin_with="rows"'):
        send()
    with pytest.raises(ConfigError, match="'all' is nothing to begin with"):
        send(begin_with="all")
    assert not (tmp_path / "state").exists()
    with monkeypatch.context() as patched:
        patched.setattr(Changefeed, "_end_batch", fails)
        with pytest.raises(RuntimeError, match="the power is off"):
            send(begin_with="rows")
    spark.sql(f"DELETE FROM {table} WHERE id = 2")  # its row was sent, perhaps
    spark.sql(f"ALTER TABLE {table} ADD COLUMN note string")
    spark.sql(f"INSERT INTO {table} VALUES (4, 4, 'd', 'e')")
    versions = [version for version in versioned_table(spark, table).versions if version.id is not None]
    assert [send(begin_with="rows").rows for _ in range(2)] == [2, 2]
    assert send(begin_with="rows") is None
    schema = "create table lake.goods (id int primary key, n int, title longtext)"
    stamps = {version.id or 0: version.commit_ts for version in versions}
    check_received(messages(store), schema, HeldVersions(spark, table), stamps, [])
    spark.sql(f"CALL ice.system.expire_snapshots(table => 'db.grown', {expire})")
    spark.sql(f"UPDATE {table} SET n = 0")
    assert send().rows == 2, "what to begin with is told once"
    with pytest.raises(ConfigError, match=r"the state has batches, and knows nothing of lake\.other"):
        send_new_versions(spark, uri(store), table, "lake.other", "id", state_uri=f"{tmp_path}/state")
    before, after = (version.id for version in versioned_table(spark, table).versions)
    spark.sql(f"CALL ice.system.rollback_to_snapshot('db.grown', {before})")
    with pytest.raises(ConfigError, match=f"was rolled back behind version {after}, which may have been sent"):
        send()
    spark.sql(f"DROP TABLE {table}")


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
    with pytest.raises(ConfigError, match=r"has delete files .*Delete files are currently not supported"):
        from_changes(read_changes(spark, table), "id")
    assert from_changes(read_changes(spark, table, end=last), "id").count() == 6
    spark.sql(
        "CALL ice.system.expire_snapshots(table => 'db.deleted', older_than => timestamp'2999-01-01 00:00:00', "
        "retain_last => 2)"
    )
    with pytest.raises(ConfigError, match=f"no longer has the versions before {last}"):
        read_changes(spark, table)
    assert from_changes(read_changes(spark, table, start=last, end=last), "id").count() == 2
