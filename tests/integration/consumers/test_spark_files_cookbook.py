"""Spark reads CSV files of the storage sink as tables and as a stream: docs/cookbook.md#spark-files."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_files import EDGES, EDGES_BYTES, checkpoint_in_the_middle, tables_at, write_edges, write_files
from cookbook_send import Measured
from page_blocks import page_block
from wire_values import shaped, stored_csv

pyspark = pytest.importorskip("pyspark")
pytestmark = [pytest.mark.integration, pytest.mark.spark]

VERSION = ".".join(pyspark.__version__.split(".")[:2])
FEED = {"terminator": "\n", "csv": {"include-commit-ts": True}}
FIXED = 'LAKE, "shop/orders", ["id"]).orderBy("id").show()'


@pytest.fixture
def page(spark: Any) -> Callable[..., dict[str, Any]]:
    """The names that the page's code defines, with changes to what it says."""

    def page(**places: str) -> dict[str, Any]:
        names = {"spark": spark}
        exec(page_block("spark-files", "python", "def table_now", places={f"table_now({FIXED}": "", **places}), names)
        stream = page_block("spark-files", "python", "def stage")
        exec(stream.partition("\n\n\n")[0], names)
        return names

    return page


def _compared(table: str, expected: Any, frame: Any) -> Comparison:
    read = {tuple(str(row[name]) for name in KEYS[table]): row.asDict() for row in frame.collect()}
    return compared(table, shaped(table, expected, stored_csv), read)


def test_csv(page: Callable[..., dict[str, Any]], measured: Measured, tmp_path: Path) -> None:
    data = write_files(f"file://{tmp_path}?protocol=csv&flush-interval=2s", FEED)
    names, total = page(), Comparison(0, 0, ())
    for table, rows in data.tables().items():
        total += _compared(table, rows, names["table_now"](f"file://{tmp_path}", f"shop/{table}", list(KEYS[table])))
    measured("Spark, `read.csv`", VERSION, "CSV files", total)


def test_a_table_at_the_checkpoint(page: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    data = write_files(f"file://{tmp_path}?protocol=csv&flush-interval=2s", FEED)
    ts = checkpoint_in_the_middle(data)
    (tmp_path / "metadata").write_text(json.dumps({"checkpoint-ts": ts}), encoding="utf-8")
    table_now = page()["table_now"]
    for table in ("orders", "lines"):
        read = table_now(f"file://{tmp_path}", f"shop/{table}", list(KEYS[table]))
        result = _compared(table, tables_at(data, ts)[table], read)
        assert result.rows > 100
        assert not result.differences, str(result)
        assert len(read.columns) < len(next(iter(data.tables()[table].values()))), "a DDL is still to come"


def test_old_values_and_hexadecimal_digits(page: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    csv = FEED["csv"] | {"output-old-value": True, "binary-encoding-method": "hex"}
    data = write_files(f"file://{tmp_path}?protocol=csv", FEED | {"csv": csv})
    names = page(**{"FIRST = 4": "FIRST = 5", "F.unbase64": "F.unhex"})
    result = _compared("kinds", data.tables()["kinds"], names["table_now"](f"file://{tmp_path}", "shop/kinds", ["id"]))
    assert not result.differences, str(result)


@pytest.mark.slow
def test_a_stream(page: Callable[..., dict[str, Any]], spark: Any, measured: Measured, tmp_path: Path) -> None:
    """The stream sees a third of the files first, and the columns that DDL added with the others."""
    lake = tmp_path / "lake"
    data = write_files(f"file://{lake}?protocol=csv&flush-interval=2s", FEED)
    names, total = page(), Comparison(0, 0, ())
    for table, rows in data.tables().items():
        folder, staged = f"file://{lake}/shop/{table}", str(tmp_path / f"staged-{table}")
        files = sorted((lake / "shop" / table).rglob("CDC*.csv"))
        hidden = {path: tmp_path / f"{table}-{number}" for number, path in enumerate(files[len(files) // 3 :])}
        for path, place in hidden.items():
            path.rename(place)
        names["stage"](f"file://{lake}", f"shop/{table}", staged)
        for path, place in hidden.items():
            place.rename(path)
        names["stage"](f"file://{lake}", f"shop/{table}", staged)
        changes = names["typed"](spark.read.parquet(staged), names["versions"](folder, data.ddl[-1][0]))
        assert changes.count() == sum(path.read_text("utf-8").count(f'","{table}","shop",') for path in files)
        total += _compared(table, rows, names["newest"](changes, list(KEYS[table])))
    measured("Spark, Structured Streaming", VERSION, "CSV files", total)


def test_what_is_difficult(page: Callable[..., dict[str, Any]], spark: Any, tmp_path: Path) -> None:
    """Each remark of the page about values, and what happens without its option."""
    lake = f"file://{tmp_path}"
    write_edges(f"{lake}?protocol=csv", FEED)
    names = page()
    read = {row["id"]: row.asDict() for row in names["table_now"](lake, "shop/edges", ["id"]).collect()}
    expected = {
        key: {"id": key, **row, "bytes": EDGES_BYTES[key], "huge": row["huge"] and Decimal(row["huge"])}
        for key, row in EDGES.items()
    }
    expected["marker"]["word"] = None  # `\N` is read as NULL, with quotes too
    assert not (result := compared("edges", expected, read)).differences, str(result)
    converted = names["table_now"](lake, "shop/edges", ["id"]).selectExpr(
        "id", "try_to_date(day) day", "cast(huge as string)"
    )
    days = {row["id"]: row["day"] and str(row["day"]) for row in converted.collect()}
    assert days == {"null": None, "empty": None, "ends": None, "marker": "9999-12-31"}
    for change in ({"escape": "\\"}, {"multiLine": False}):
        with_one = page()
        with_one["CSV"].update(change)
        broken = with_one["lines"](spark.read, f"{lake}/shop/edges").select("f5").collect()
        assert EDGES["ends"]["word"] not in [row["f5"] for row in broken], change
