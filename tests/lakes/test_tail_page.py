"""The program of docs/cookbook.md#tail-delta on real Delta tables: what a consumer has, what goes on where columns
change, and what ends it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documented import blocks_of
from feed_job import URI
from folded_versions import held_rows
from pyspark.errors import StreamingQueryException

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.files import read_files
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

Program = Callable[..., dict[str, Any]]


def consumed(folder: Path, schema: str) -> dict[Any, Any]:
    consumer = ReferenceConsumer(load_changefeed(f"memory://read?{URI}"), catalog_from_sql(schema))
    for message in read_files(folder / "out"):
        consumer.take(message)
    (rows,) = consumer.tables.values()
    return {key: dict(row) for key, row in rows.items()}


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs the page's program on a table until it has read all; returns its names."""

    def run(table: Path, without: str | None = None) -> dict[str, Any]:
        places = {
            "/data/orders": str(table),
            "kafka://127.0.0.1:9092/orders?": f"jsonl://{tmp_path}/out?partition-num=1&",
            "/tmp/tail": str(tmp_path),
            'processingTime="10 seconds"': "availableNow=True",
        }
        (block,) = (each for each in blocks_of("docs/cookbook.md#tail-delta") if each.language == "python")
        code = block.code
        for written, place in [*places.items(), *([(without, "")] if without else [])]:
            assert written in code
            code = code.replace(written, place)
        names: dict[str, Any] = {}
        try:
            exec(compile(code, block.place, "exec"), names)
            names["sink"].finish()  # the watermark of a heartbeat a minute later
        finally:
            names["sink"].close()
        return names

    return run


def started_again(program: Program, table: Path) -> tuple[str, list[str]]:
    """Run the program until it does not end, three times at most; return its schema and Delta's words for each end."""
    ends: list[str] = []
    while True:
        try:
            return program(table)["schema"], ends
        except StreamingQueryException as end:
            ends += re.findall(r"\[(DELTA_\w+)\]", str(end))[:1] or [str(end)]
            if len(ends) == 3:
                raise


CHANGES = (
    "ADD COLUMN note string",
    "RENAME COLUMN name TO title",
    "ALTER COLUMN price TYPE decimal(12,2)",
    "DROP COLUMN title",
)
TRACKED = '.option("schemaTrackingLocation", "{}/checkpoint/columns")'


def mapped_table(spark: Any, folder: Path) -> str:
    name = f"delta.`{folder}`"
    spark.sql(
        f"CREATE TABLE {name} (id bigint, name string, price decimal(8,2)) USING delta TBLPROPERTIES "
        "(delta.enableChangeDataFeed = true, delta.columnMapping.mode = 'name', delta.enableTypeWidening = true)"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', NULL)")
    return name


def test_the_program_goes_on_after_changed_columns(spark: Any, tmp_path: Path, program: Program) -> None:
    table = tmp_path / "goods"
    name = mapped_table(spark, table)
    for nth, change in enumerate((None, *CHANGES)):
        if change is not None:
            spark.sql(f"UPDATE {name} SET price = {nth} WHERE id = 1")
            spark.sql(f"ALTER TABLE {name} {change}")
        spark.sql(f"UPDATE {name} SET price = -{nth} WHERE id = 2")
        schema, ends = started_again(program, table)
        assert ends == ([] if change is None else ["DELTA_STREAMING_METADATA_EVOLUTION"])
        assert consumed(tmp_path, schema) == held_rows(spark.read.format("delta").load(str(table)), ["id"]), change
    sent = [json.loads(message.value or b"") for message in read_files(tmp_path / "out")]
    assert [each["sql"].removeprefix("ALTER TABLE `shop`.`orders` ") for each in sent if each["isDdl"]] == [
        "ADD COLUMN `note` LONGTEXT",
        "RENAME COLUMN `name` TO `title`",
        "MODIFY COLUMN `price` DECIMAL(12,2)",
        "DROP COLUMN `title`",
    ]


def test_the_program_goes_on_when_the_log_was_cleaned(spark: Any, tmp_path: Path, program: Program) -> None:
    """Old versions go, as after ``delta.logRetentionDuration``, and with them the changes of columns that were sent."""
    table = tmp_path / "goods"
    name, log = mapped_table(spark, table), table / "_delta_log"
    spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES (delta.checkpointInterval = 1)")
    schemas = set()
    for nth, change in enumerate(CHANGES):
        spark.sql(f"ALTER TABLE {name} {change}")
        for price in (-nth, nth):  # a start reads the last micro-batch again
            spark.sql(f"UPDATE {name} SET price = {price} WHERE id = 2")
            schemas.add(started_again(program, table)[0])
        first = sorted(each.name[:20] for each in log.glob("*.checkpoint*.parquet"))[-2]
        for file in log.iterdir():
            if file.name[:20].isdigit() and file.name[:20] < first:
                file.unlink()
        spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()
        assert versioned_table(spark, str(table)).versions[0].id == int(first)
    (schema,) = schemas
    assert consumed(tmp_path, schema) == held_rows(spark.read.format("delta").load(str(table)), ["id"])


def test_what_the_program_needs_to_go_on(spark: Any, tmp_path: Path, program: Program) -> None:
    table = tmp_path / "goods"
    name, untracked = mapped_table(spark, table), TRACKED.format(tmp_path)
    program(table, without=untracked)
    spark.sql(f"ALTER TABLE {name} {CHANGES[0]}")
    spark.sql(f"UPDATE {name} SET note = 'x' WHERE id = 1")
    schema = program(table, without=untracked)["schema"]
    assert consumed(tmp_path, schema) == held_rows(spark.read.format("delta").load(str(table)), ["id"])
    spark.sql(f"ALTER TABLE {name} {CHANGES[1]}")
    spark.sql(f"UPDATE {name} SET title = 'y' WHERE id = 2")
    with pytest.raises(StreamingQueryException, match="DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG"):
        program(table, without=untracked)
    allowed = '"allowSourceColumnRename", '
    for error in ("METADATA_EVOLUTION", "METADATA_EVOLUTION", "CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION"):
        with pytest.raises(StreamingQueryException, match=rf"\[DELTA_STREAMING_{error}\]"):
            program(table, without=allowed)
    schema = program(table)["schema"]
    assert consumed(tmp_path, schema) == held_rows(spark.read.format("delta").load(str(table)), ["id"])
