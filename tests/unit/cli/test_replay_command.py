"""``replay`` as a user runs it: in a process of its own, stopped by nothing, and again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from child import command

from ticdc_emit.cli.replay import seconds_of
from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError

SCHEMA = "create table shop.orders (id int primary key, total decimal(8,2) not null)"
DDL = "-- at 2026-01-05T12:00:00Z\nalter table shop.orders add column paid tinyint(1) not null default 1"
LOG = """op,id,total,paid,at,lsn
I,1,10.00,,2026-01-05 06:00:00,1
U,1,12.50,0,2026-01-05 18:00:00,2
I,2,7.00,1,2026-01-05 18:00:00,3
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_change_table_goes_out_once(tmp_path: Path) -> None:
    files = {"schema.sql": SCHEMA, "ddl.sql": DDL, "log.csv": LOG}
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    arguments = [
        *("--schema", f"{tmp_path}/schema.sql", "--ddl", f"{tmp_path}/ddl.sql"),
        *("--table", f"shop.orders={tmp_path}/log.csv", "--mode", "operations"),
        *("--time-column", "at", "--order-by", "cast(lsn as bigint)", "--slice", "6h", "--speed", "1e6"),
        *("--sink-uri", f"file://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=1"),
        *("--state-uri", f"{tmp_path}/state"),
    ]
    done = command("replay", *arguments)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 slices" in done.stdout
    assert "slice 1 of 3 from 2026-01-05 06:00:00.000Z: 1 rows" in done.stderr
    values = [json.loads(message.value or b"{}") for message in read_files(tmp_path / "out")]
    assert [value["type"] for value in values] == [
        *("INSERT", "TIDB_WATERMARK", "ALTER", "TIDB_WATERMARK", "UPDATE", "INSERT", "TIDB_WATERMARK")
    ]
    assert values[4]["old"][0]["paid"] == "1"
    again = command("replay", *arguments, "--json")
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout)["messages"] == 0
    refused = command("replay", *arguments, "--slice", "1h")
    assert refused.returncode == 2
    assert "another" in refused.stderr.splitlines()[-1]


def test_wrong_usage_is_refused_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "schema.sql").write_text(SCHEMA, encoding="utf-8")
    common = ["--schema", f"{tmp_path}/schema.sql", "--sink-uri", "memory://x?protocol=canal-json"]
    for arguments, words in [
        (["--table", "orders.parquet"], "is not name=path"),
        (["--table", "shop.orders=x.csv", "--before", "shop.other=y.csv"], "which no --table does"),
        (["--table", "shop.orders=x.csv", "--mode", "snapshot", "--state-uri", f"{tmp_path}/s"], "Add --at"),
        (["--table", "shop.orders=x.csv", "--slice", "soon"], "is no length of time"),
    ]:
        done = command("replay", *common, *arguments)
        assert done.returncode == 2
        assert words in done.stderr.splitlines()[-1]


def test_lengths_of_time() -> None:
    assert [seconds_of(text) for text in ("90", "500ms", "10m", "1h", "2d")] == [90, 0.5, 600, 3600, 172800]
    for wrong in ("", "h", "1w", "10 minutes"):
        with pytest.raises(ConfigError, match="is no length of time"):
            seconds_of(wrong)
