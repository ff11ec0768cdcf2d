"""Small histories without Spark: clean rows become the changes that Spark makes of them, all others are Spark's."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from child import exit_code

from ticdc_emit.delivery.files import read_files
from ticdc_emit.traffic.replay.small_history import changes_here
from ticdc_emit.tso import tso_from_datetime

DAY = dt.datetime(2026, 1, 1, tzinfo=dt.timezone.utc)
NAMES, KEYS = ["id", "v"], ["id"]
Rows = list[tuple[Any, ...]]


def ts(day: float) -> int:
    return tso_from_datetime(DAY + dt.timedelta(days=day))


def table(rows: Rows, *more: str) -> pa.Table:
    columns = zip(*rows, strict=True)
    return pa.table({name: pa.array(values) for name, values in zip(["id", "v", *more], columns, strict=True)})


def shown(changes: pa.Table | None) -> list[tuple[Any, ...]] | None:
    if changes is None:
        return None
    rows = [
        (
            row["commit_ts"],
            row["op"],
            (row["after"] or row["before"])["id"],
            (row.get("before") or {}).get("v"),
            (row["after"] or {}).get("v"),
        )
        for row in changes.to_pylist()
    ]
    return sorted(rows, key=repr)


VALIDITY: list[tuple[Rows, list[tuple[Any, ...]] | None]] = [
    (
        [(1, "a", "2026-01-01", "2026-01-02"), (1, "b", "2026-01-02 00:00:00Z", None), (2, "c", "2026-01-03", None)],
        [(ts(0), "c", 1, None, "a"), (ts(1), "u", 1, "a", "b"), (ts(2), "c", 2, None, "c")],
    ),
    ([(1, "a", "2026-01-01T02:00:00+02:00", "9999-12-31")], [(ts(0), "c", 1, None, "a")]),
    (
        [(1, "a", dt.date(2026, 1, 1), None), (1, "b", dt.date(2026, 1, 1), dt.date(2026, 1, 1))],
        [(ts(0), "c", 1, None, "a")],
    ),
    (
        [(1, "a", DAY, DAY + dt.timedelta(days=1)), (1, "a", DAY + dt.timedelta(days=5), None)],
        [(ts(0), "c", 1, None, "a"), (ts(1), "d", 1, "a", None), (ts(5), "c", 1, None, "a")],
    ),
    ([(1, "a", "2026-01-02", "2026-01-01")], None),  # a bad row
    ([(1, "a", "2026-01-01", "2026-01-03"), (1, "b", "2026-01-02", None)], None),  # overlaps
    ([(1, "a", "2026-01-01", None)] * 2, None),  # twice
    ([(1, "a", "2026-01-01", "2026-01-02"), (1, "b", "2026-01-03", None)], None),  # a day that --step would close
    ([(1, "a", "yesterday", None)], None),
    ([(1, "a", None, None)], None),
    ([(1, "a", 1_767_225_600, None)], None),  # a count without its unit
    ([(1, "a", "1960-01-01", None)], None),
]


@pytest.mark.parametrize(("rows", "expected"), VALIDITY)
def test_validity(rows: Rows, expected: list[tuple[Any, ...]] | None) -> None:
    held = table(rows, "f", "t")
    assert shown(changes_here(held, "validity", NAMES, KEYS, "f", "tso", valid_to="t")) == expected


def test_an_end_that_is_included() -> None:
    held = table([(1, "a", "2026-01-01", "2026-01-01"), (1, "b", "2026-01-02", None)], "f", "t")
    changes = changes_here(held, "validity", NAMES, KEYS, "f", "tso", valid_to="t", step=dt.timedelta(days=1))
    assert shown(changes) == [(ts(0), "c", 1, None, "a"), (ts(1), "u", 1, "a", "b")]


def test_snapshots() -> None:
    rows = [(1, "a", "2026-01-01"), (2, "b", "2026-01-01"), (1, "c", "2026-01-03")]
    assert shown(changes_here(table(rows, "dt"), "snapshots", NAMES, KEYS, "dt", "tso")) == [
        *((ts(0), "c", 1, None, "a"), (ts(0), "c", 2, None, "b")),
        *((ts(2), "d", 2, "b", None), (ts(2), "u", 1, "a", "c")),
    ]
    assert changes_here(table([*rows, (1, "x", "2026-01-03")], "dt"), "snapshots", NAMES, KEYS, "dt", "tso") is None


def test_operations() -> None:
    seconds = int(DAY.timestamp())
    rows = [(1, "a", "I", seconds), (1, "b", "U", seconds + 86_400), (1, None, "gone", seconds + 2 * 86_400)]
    held = table(rows, "op", "at")
    assert shown(changes_here(held, "operations", NAMES, KEYS, "at", "s", op="op", operations={"gone": "delete"})) == [
        *((ts(0), "c", 1, None, "a"), (ts(1), "u", 1, "a", "b"), (ts(2), "d", 1, "b", None))
    ]
    for word in ("gone", None, "truncate"):
        assert (
            changes_here(table([(1, "a", word, seconds)], "op", "at"), "operations", NAMES, KEYS, "at", "s", op="op")
            is None
        )


def test_one_snapshot() -> None:
    held = table([(1, "a", "2026-01-01")], "at")
    assert shown(changes_here(held, "snapshot", NAMES, [], "at", "tso")) == [(ts(0), "c", 1, None, "a")]
    assert shown(changes_here(held, "snapshot", NAMES, [], ts(3), "tso")) == [(ts(3), "c", 1, None, "a")]


def test_the_command_starts_no_spark_for_a_small_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("ticdc_emit.cli.replay.spark_for", None)
    (tmp_path / "t.sql").write_text("create table a.t (id int primary key, v varchar(9))")
    (tmp_path / "log.csv").write_text("op,id,v,at\nI,1,a,2026-01-01\nU,1,b,2026-01-02\nD,1,,2026-01-03\n")
    options = ["--schema", f"{tmp_path}/t.sql", "--table", f"a.t={tmp_path}/log.csv", "--time-column", "at"]
    sink = ["--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json&partition-num=1"]
    assert exit_code("replay", *options, *sink, "--mode", "operations", "--json") == 0
    assert json.loads(capsys.readouterr().out)["changes"]["a.t"].keys() == {"insert", "update", "delete", "digest"}
    sent = [json.loads(message.value or b"") for message in read_files(tmp_path / "out")]
    assert [(each["type"], each["data"][0]["v"]) for each in sent] == [
        ("INSERT", "a"),
        ("UPDATE", "b"),
        ("DELETE", "b"),
    ]
