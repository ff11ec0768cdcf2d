"""Change feeds of real Delta tables: what is a change, what is refused, columns that changed, the command."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from documented import blocks_of
from folded_versions import uri

from ticdc_emit import from_changes, messages, read_changes, replay, send_new_versions, table_ddl
from ticdc_emit.cli.app import Replay
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import clear
from ticdc_emit.errors import ConfigError
from ticdc_emit.schema.frames.any_frame import AssumedSchemaWarning
from ticdc_emit.traffic.replay import column_history, table_versions
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = pytest.mark.spark


def feed_of(spark: Any, table: str, **options: Any) -> Any:
    return spark.read.option("readChangeFeed", True).options(**{"startingVersion": 0, **options}).table(table)


def test_versions_without_rows_are_sent_once(spark: Any, store: str, tmp_path: Path) -> None:
    spark.sql("CREATE TABLE still (id bigint) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")

    def sent() -> list[int | None]:
        state = str(tmp_path / "state")
        reports = [send_new_versions(spark, uri(store), "still", "lake.still", "id", state_uri=state) for _ in "ab"]
        return [None if report is None else report.rows for report in reports]

    assert sent() == [0, None]
    spark.sql("INSERT INTO still VALUES (1)")
    spark.sql("INSERT INTO still VALUES (2)")
    assert sent() == [2, None]
    spark.sql("OPTIMIZE still")
    spark.sql("ALTER TABLE still ADD COLUMN n int")
    assert sent() == [0, None]
    spark.sql("INSERT INTO still VALUES (3, 3)")
    assert sent() == [1, None]
    assert [json.loads(message.value)["isDdl"] for message in messages(store) if b"WATERMARK" not in message.value] == [
        *(False, False, True, False)
    ]
    spark.sql("DROP TABLE still")


def test_a_table_without_a_feed_is_refused(spark: Any) -> None:
    spark.sql("CREATE TABLE mute (id bigint) USING delta")
    spark.sql("INSERT INTO mute VALUES (1)")
    with pytest.raises(ConfigError, match=r"kept no change feed.*DELTA_MISSING_CHANGE_DATA") as refused:
        from_changes(feed_of(spark, "mute"), "id")
    assert "delta.enableChangeDataFeed" in str(refused.value)
    assert "from_snapshots" in str(refused.value)
    spark.sql("ALTER TABLE mute SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql("INSERT INTO mute VALUES (2)")
    assert [row.after.id for row in from_changes(feed_of(spark, "mute", startingVersion=2), "id").collect()] == [2]
    spark.sql("DROP TABLE mute")


def test_a_feed_that_began_late_is_tailed_from_the_rows_of_then(spark: Any, store: str, tmp_path: Path) -> None:
    mapped = "TBLPROPERTIES (delta.columnMapping.mode = 'name')"
    spark.sql(f"CREATE TABLE lately (id bigint, name string) USING delta {mapped}")
    spark.sql("INSERT INTO lately VALUES (1, 'a'), (2, 'b')")
    spark.sql("ALTER TABLE lately RENAME COLUMN name TO title")
    spark.sql("ALTER TABLE lately SET TBLPROPERTIES (delta.enableChangeDataFeed = true)")

    def send(**options: Any) -> Any:
        return send_new_versions(spark, uri(store), "lately", "lake.t", "id", state_uri=f"{tmp_path}/state", **options)

    with pytest.raises(ConfigError, match="kept no change feed"):
        send()
    assert messages(store) == []
    spark.sql("UPDATE lately SET title = 'c' WHERE id = 1")
    assert send(begin_with="rows").rows == 2
    assert send(begin_with="rows") is None
    spark.sql("ALTER TABLE lately DROP COLUMN title")
    spark.sql("DELETE FROM lately WHERE id = 2")
    assert send(begin_with="rows").rows == 1
    found = [json.loads(message.value) for message in messages(store) if b"WATERMARK" not in message.value]
    assert [(each["type"], each["data"] and each["data"][0].get("title")) for each in found] == [
        ("INSERT", "c"),
        ("INSERT", "b"),
        ("ALTER", None),
        ("DELETE", None),
    ]
    spark.sql("DROP TABLE lately")


def test_a_changed_type_without_column_mapping_is_refused(spark: Any) -> None:
    kept = "USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    spark.sql(f"CREATE TABLE changed (id bigint, n int) {kept}")
    spark.sql("INSERT INTO changed VALUES (1, 1)")
    spark.sql(f"CREATE OR REPLACE TABLE changed (id bigint, n string) {kept}")
    spark.sql("INSERT INTO changed VALUES (1, 'one')")
    with pytest.raises(ConfigError, match=r"columns of the table changed between these versions.*\w+_\w+") as refused:
        from_changes(read_changes(spark, "changed"), "id")
    assert "from_snapshots" in str(refused.value)
    spark.sql("DROP TABLE changed")


def test_vacuumed_versions_are_refused(spark: Any, tmp_path: Path) -> None:
    table = f"delta.`{tmp_path}/worn`"
    spark.sql(f"CREATE TABLE {table} (id bigint, n int) USING delta TBLPROPERTIES (delta.enableChangeDataFeed = true)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    spark.sql(f"UPDATE {table} SET n = 3 WHERE id = 1")
    spark.sql(f"INSERT OVERWRITE {table} VALUES (5, 5)")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM {table} RETAIN 0 HOURS")
    with pytest.raises(ConfigError, match=r"no longer has these versions, or files of them") as refused:
        from_changes(feed_of(spark, table), "id")
    assert "start= of read_changes" in str(refused.value)
    assert str(refused.value).count("Begin at a later version") == 1
    with pytest.raises(ConfigError, match=r"no longer has these versions, or files of them"):
        from_changes(feed_of(spark, table, startingVersion=1), "id")


def test_the_feed_of_a_table_by_its_name(spark: Any, store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    spark.sql(
        "CREATE TABLE named (id bigint, a int, b string) USING delta TBLPROPERTIES "
        "(delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name', delta.enableTypeWidening = true)"
    )
    spark.sql("INSERT INTO named VALUES (1, 1, 'x'), (2, 2, 'y')")
    spark.sql("ALTER TABLE named RENAME COLUMN id TO code")
    spark.sql("UPDATE named SET b = 'z' WHERE code = 2")
    schema, ddl = table_ddl(spark, "named", "lake.goods", "code")
    # the handle key has two names in the feed; each version has one of them
    replay(spark, uri(store), {"lake.goods": "named"}, schema, ddl=ddl)
    found = [json.loads(message.value or b"") for message in messages(store)]
    rows = [(each["type"], *each["data"]) for each in found if each["data"] is not None]
    assert rows == [
        ("INSERT", {"id": "1", "a": "1", "b": "x"}),
        ("INSERT", {"id": "2", "a": "2", "b": "y"}),
        ("UPDATE", {"code": "2", "a": "2", "b": "z"}),
    ]
    told = [(message.key, message.value) for message in messages(store)]
    clear(store)
    for module in (table_versions, column_history):  # the table is looked up once
        monkeypatch.delattr(module, "versioned_table")
    with pytest.warns(AssumedSchemaWarning, match=r"`id` BIGINT NOT NULL,[^;]*;\nALTER TABLE .* RENAME COLUMN `id` TO"):
        replay(spark, uri(store), {"lake.goods": "named"}, keys="code")
    monkeypatch.undo()
    assert [(message.key, message.value) for message in messages(store)] == told
    times = [version.commit_ts for version in versioned_table(spark, "named").versions]
    at = dt.datetime.fromtimestamp((times[3] >> 18) / 1000, dt.timezone.utc)
    for bounds in ({"start": 3}, {"start": at}, {"start": 3, "end": 3}):
        feed = read_changes(spark, "named", **bounds)
        assert feed.columns[0] == "code"
        assert feed.count() == 2
    assert read_changes(spark, "named", end=1).count() == 2
    with pytest.raises(ConfigError, match="has no version 9"):
        read_changes(spark, "named", start=9)
    with pytest.raises(ConfigError, match="no version to read"):
        read_changes(spark, "named", start=3, end=1)
    spark.sql("ALTER TABLE named DROP COLUMN a")
    spark.sql("RESTORE TABLE named TO VERSION AS OF 3")
    with pytest.raises(ConfigError, match="version 5 brought the column a back") as refused:
        read_changes(spark, "named")
    assert "from_snapshots" in str(refused.value)
    assert read_changes(spark, "named", start=5).count() == 0
    spark.sql("DROP TABLE named")


def test_the_command_takes_some_versions(spark: Any, tmp_path: Path) -> None:
    table, out = f"{tmp_path}/orders", tmp_path / "out"
    properties = "(delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name')"
    spark.sql(f"CREATE TABLE delta.`{table}` (id int, n int) USING delta TBLPROPERTIES {properties}")
    for statement in (
        f"INSERT INTO delta.`{table}` VALUES (1, 1)",
        f"ALTER TABLE delta.`{table}` ADD COLUMN a int",
        f"INSERT INTO delta.`{table}` VALUES (2, 2, 2)",
        f"ALTER TABLE delta.`{table}` ADD COLUMN b int",
        f"UPDATE delta.`{table}` SET b = 3 WHERE id = 2",
        f"DELETE FROM delta.`{table}` WHERE id = 2",
    ):
        spark.sql(statement)
    uri = f"jsonl://{out}?protocol=canal-json&partition-num=1"
    options = Replay(tables=[f"lake.orders={table}"], sink_uri=uri, mode="changes", keys="id", start="3", end="5")
    with pytest.warns(AssumedSchemaWarning, match="`a` INT"):
        assert options.run() == 0
    found = [json.loads(message.value or b"") for message in read_files(out)]
    assert [(each["type"], each["data"] or each["sql"]) for each in found] == [
        ("INSERT", [{"id": "2", "n": "2", "a": "2"}]),
        ("ALTER", "ALTER TABLE `lake`.`orders` ADD COLUMN `b` INT"),
        ("UPDATE", [{"id": "2", "n": "2", "a": "2", "b": "3"}]),
    ]


def test_the_page(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    clear("orders")
    shared: dict[str, Any] = {}
    blocks = [block for block in blocks_of("docs/cookbook.md#replay-delta") if block.language == "python"]
    for block in blocks:
        exec(compile(block.code, block.place, "exec"), shared)
        if block.printed is not None:
            assert capsys.readouterr().out == block.printed
    clear("orders")
    spark.sql("DROP TABLE orders")
