"""``replay`` as a user runs it: in a process of its own, stopped by nothing, and again."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from child import command

from ticdc_emit.cli.app import Replay
from ticdc_emit.cli.options import SparkOptions
from ticdc_emit.cli.replay import check_options, print_report, seconds_of
from ticdc_emit.delivery.files import read_files
from ticdc_emit.errors import ConfigError
from ticdc_emit.pipeline.report import RunTotal
from ticdc_emit.traffic.replay.run import ReplayReport

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
        *("--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json&enable-tidb-extension=true&partition-num=1"),
        *("--state-uri", f"{tmp_path}/state"),
    ]
    done = command("replay", *arguments)
    assert done.returncode == 0, done.stderr
    assert "3 of 3 slices" in done.stdout
    assert "slice 1 of 3 from 2026-01-05 06:00:00.000Z: 1 row," in done.stderr
    values = [json.loads(message.value or b"{}") for message in read_files(tmp_path / "out")]
    assert [value["type"] for value in values] == [
        *("INSERT", "TIDB_WATERMARK"),
        *("ALTER", "TIDB_WATERMARK", "TIDB_WATERMARK"),  # that of the DDL, then that of the slice
        *("UPDATE", "INSERT", "TIDB_WATERMARK"),
    ]
    marks = [value["_tidb"]["watermarkTs"] for value in values if value["type"] == "TIDB_WATERMARK"]
    assert marks == sorted(set(marks))
    assert marks[1] == values[2]["_tidb"]["commitTs"]
    assert values[5]["old"][0]["paid"] == "1"
    again = command("replay", *arguments, "--json")
    assert again.returncode == 0, again.stderr
    assert (json.loads(again.stdout)["messages"], json.loads(again.stdout)["nothing_to_do"]) == (0, True)
    refused = command("replay", *arguments, "--slice", "1h")
    assert refused.returncode == 2
    assert "another" in refused.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("mode", "option", "value"),
    [
        ("operations", "valid_from", "valid_from"),
        ("operations", "at", "2026-01-05T08:00:00Z"),
        ("validity", "time_column", "at"),
        ("validity", "transaction", "tx"),
        ("validity", "operations", ["X=delete"]),
        ("operations", "step", "1ms"),
        ("operations", "deleted_when", "gone"),
        ("changes", "overlaps", "cut"),
        ("diff", "order_by", ["lsn"]),
        ("snapshot", "order_by", ["lsn"]),
        ("operations", "start", "0"),
        ("snapshots", "end", "5"),
    ],
)
def test_options_of_another_mode_are_refused(mode: str, option: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"has no meaning with --mode {mode}") as refused:
        check_options(Replay(tables=(), sink_uri="memory://x", mode=mode, **{option: value}))
    assert "It is for" in refused.value.remedy
    assert refused.value.option == option.replace("_", "-")


def test_settings_of_spark() -> None:
    assert SparkOptions(spark=["spark.a=b=c", "spark.d="]).spark_settings == {"spark.a": "b=c", "spark.d": ""}
    for wrong in ("spark.secret", "fs.s3a.secret.key=hidden", "=x"):
        with pytest.raises(ConfigError, match=r"number 2 is not spark\.name=value") as refused:
            _ = SparkOptions(spark=["spark.a=b", wrong]).spark_settings
        assert "hidden" not in str(refused.value)


def test_lengths_of_time() -> None:
    assert [seconds_of(text) for text in ("90", "500ms", "10m", "1h", "2d")] == [90, 0.5, 600, 3600, 172800]
    for wrong in ("", "h", "1w", "10 minutes"):
        with pytest.raises(ConfigError, match="is not a length of time"):
            seconds_of(wrong)


def test_what_an_earlier_run_has_delivered_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = Replay(tables=(), sink_uri="memory://x")
    done = ReplayReport(
        total=RunTotal.of(()), slices=3, first_slice=3, done_slices=3, finished=True, seconds=0, prepare_seconds=1
    )
    print_report(done, options)
    assert capsys.readouterr().out == "nothing to do: an earlier run delivered everything (3 of 3 slices)\n"
    print_report(done, replace(options, as_json=True))
    assert json.loads(capsys.readouterr().out)["nothing_to_do"] is True
