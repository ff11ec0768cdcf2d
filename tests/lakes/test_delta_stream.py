"""The change feed of a real Delta table as a stream: what a consumer has at the end, also if the job was killed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from documented import blocks_of
from folded_versions import held_rows
from stream_job import SCHEMA, URI, tail

from ticdc_emit.config import load_changefeed
from ticdc_emit.consume.reference_consumer import ReferenceConsumer
from ticdc_emit.delivery.files import read_files
from ticdc_emit.schema.catalog import catalog_from_sql

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

COMMITS = 30 if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else 6
KILLED_AFTER = 1


def write_history(spark: Any, table: Path, commits: int, seed: int) -> None:
    draw = random.Random(seed)
    name = f"delta.`{table}`"
    for _ in range(commits):
        low = draw.randint(0, 30)
        spark.range(low, low + draw.randint(1, 9)).createOrReplaceTempView("drawn")
        price = f"cast({draw.randint(-300, 300)} / 100 as decimal(8,2))"
        spark.sql(
            draw.choice(
                (
                    f"MERGE INTO {name} t USING drawn d ON t.id = d.id WHEN MATCHED THEN UPDATE SET price = {price} "
                    f"WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (d.id, concat('n', d.id), {price})",
                    f"MERGE INTO {name} t USING drawn d ON t.id = d.id WHEN MATCHED AND t.id % 2 = 0 THEN DELETE "
                    f"WHEN NOT MATCHED THEN INSERT (id, name, price) VALUES (d.id, 'new', NULL)",
                    f"UPDATE {name} SET id = id + 1000, name = 'moved' WHERE id < 900 AND id % 7 = {low % 7}",
                    f"DELETE FROM {name} WHERE id % 5 = {low % 5}",
                    f"OPTIMIZE {name}",
                )
            )
        )


def consumed(folder: Path, schema: str = SCHEMA) -> dict[Any, Any]:
    consumer = ReferenceConsumer(load_changefeed(f"memory://read?{URI}"), catalog_from_sql(schema))
    for message in read_files(folder / "out"):
        consumer.take(message)
    (rows,) = consumer.tables.values()
    return {key: dict(row) for key, row in rows.items()}


def new_table(spark: Any, folder: Path) -> Path:
    spark.sql(
        f"CREATE TABLE delta.`{folder}` (id bigint, name string, price decimal(8,2)) USING delta "
        "TBLPROPERTIES (delta.enableChangeDataFeed = true)"
    )
    return folder


def rows_of(folder: Path) -> list[bytes]:
    values = [message.value or b"" for message in read_files(folder / "out")]
    return [value for value in values if b"TIDB_WATERMARK" not in value]


def test_a_consumer_has_the_table_after_a_kill_and_later_commits(spark: Any, tmp_path: Path) -> None:
    table, folder = new_table(spark, tmp_path / "goods"), tmp_path / "killed"
    write_history(spark, table, COMMITS, 1)
    known = spark.sparkContext.getConf().getAll()
    settings = {
        name: value for name, value in known if name.startswith(("spark.jars", "spark.sql.", "spark.databricks"))
    }
    settings |= {"spark.master": "local[2]"}
    job = [sys.executable, Path(__file__).parent / "stream_job.py", json.dumps(settings), table, folder]
    done = subprocess.run([*job, str(KILLED_AFTER)], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 9, done.stderr[-3000:]
    assert len(list(read_files(folder / "out"))) > 0
    tail(spark, table, folder)
    write_history(spark, table, COMMITS, 2)
    tail(spark, table, folder)
    assert consumed(folder) == held_rows(spark.read.format("delta").load(str(table)), ["id"])

    tail(spark, table, tmp_path / "whole")
    whole, again = (rows_of(tmp_path / name) for name in ("whole", "killed"))
    assert list(dict.fromkeys(again)) == whole
    assert len(again) > len(whole), "the batch of the kill was not sent again"


def test_the_program_of_the_page(spark: Any, tmp_path: Path) -> None:
    table = new_table(spark, tmp_path / "goods")
    places = {
        "/data/orders": str(table),
        "kafka://127.0.0.1:9092/orders?": f"jsonl://{tmp_path}/out?partition-num=1&",
        "/tmp/tail": str(tmp_path),
        'processingTime="10 seconds"': "availableNow=True",
    }
    (block,) = (each for each in blocks_of("docs/cookbook/tail-delta.md") if each.language == "python")
    code = block.code
    for written, place in places.items():
        assert written in code
        code = code.replace(written, place)
    for seed in (3, 4):
        write_history(spark, table, 3, seed)
        names: dict[str, Any] = {}
        exec(compile(code, block.place, "exec"), names)
        names["sink"].finish()  # the watermark of a heartbeat a minute later
        names["sink"].close()
        assert consumed(tmp_path, names["schema"]) == held_rows(spark.read.format("delta").load(str(table)), ["id"])
