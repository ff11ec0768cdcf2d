"""DuckDB reads CSV and Canal-JSON files of the storage sink: docs/cookbook.md#duckdb."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from comparison import Comparison, compared
from cookbook_data import KEYS
from cookbook_files import EDGES, EDGES_BYTES, checkpoint_in_the_middle, tables_at, write_edges, write_files
from cookbook_send import Measured
from page_blocks import page_block
from wire_values import canal, shaped, stored_csv

duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.integration

VERSION = ".".join(version("duckdb").split(".")[:2])
FEED = {"csv": {"include-commit-ts": True}}
_AT_END = ('LAKE = "/tmp/duck_csv"', "until = load(LAKE", "for _, key, row in rows")
"""Where the blocks of the page stop to define things, and begin to print."""


@pytest.fixture(autouse=True)
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A database of the test's own, to which the page's code goes."""
    with duckdb.connect(":memory:") as connection:
        monkeypatch.setattr(duckdb, "sql", connection.sql)
        yield


def _page(**places: str) -> dict[str, Any]:
    """Return the names that the page's code for CSV defines, with changes to what it says."""
    names: dict[str, Any] = {}
    for block, end in zip(("def changes_sql", "def load"), _AT_END, strict=False):
        code = page_block("duckdb", "python", block).partition(end)[0]
        for written, place in places.items():
            code = code.replace(written, place)
        exec(code, names)
    return names


def _rows(table: str, query: str) -> dict[Any, dict[str, Any]]:
    """Return the rows of a query by key."""
    shown = duckdb.sql(query)
    rows = [dict(zip(shown.columns, row, strict=True)) for row in shown.fetchall()]
    found = {tuple(str(row[name]) for name in KEYS[table]): row for row in rows}
    assert len(found) == len(rows)
    return found


def _newest(names: dict[str, Any], lake: str, table: str, until: int) -> dict[Any, dict[str, Any]]:
    """Return the rows of the page's first query for a table."""
    (query,) = page_block("duckdb", "python", "def changes_sql").partition("orders = duckdb.sql(f")[2].split('"""')[1:2]
    changes = names["changes_sql"](lake, f"shop/{table}", until)
    query = re.sub(r"\{changes_sql\(.*?\)\}", lambda _: changes, query)
    query = query.replace("{until}", str(until)).replace("BY id", f"BY {', '.join(KEYS[table])}")
    return _rows(table, query)


def test_csv(measured: Measured, tmp_path: Path) -> None:
    data = write_files(f"file://{tmp_path}?protocol=csv&flush-interval=2s", FEED)
    names, total = _page(), Comparison(0, 0, ())
    for table, rows in data.tables().items():
        read = _newest(names, str(tmp_path), table, names["checkpoint"](tmp_path))
        total += compared(table, shaped(table, rows, stored_csv), read)
    measured("DuckDB, `read_csv`", VERSION, "CSV files", total)


def test_merge(measured: Measured, tmp_path: Path) -> None:
    """Tables are loaded up to a checkpoint in the middle, and then to the last one."""
    data = write_files(f"file://{tmp_path}?protocol=csv&flush-interval=2s", FEED)
    last, middle = json.loads((tmp_path / "metadata").read_text())["checkpoint-ts"], checkpoint_in_the_middle(data)
    names, since = _page(), 0
    for ts, tables in ((middle, tables_at(data, middle)), (last, data.tables())):
        (tmp_path / "metadata").write_text(json.dumps({"checkpoint-ts": ts}), encoding="utf-8")
        total = Comparison(0, 0, ())
        for table, rows in tables.items():
            assert names["load"](str(tmp_path), f"shop/{table}", list(KEYS[table]), since) == ts
            total += compared(table, shaped(table, rows, stored_csv), _rows(table, f"FROM {table}"))
        assert not total.differences, str(total)
        since = ts
    measured("DuckDB, `MERGE`", VERSION, "CSV files", total)


def test_canal_json(measured: Measured, tmp_path: Path) -> None:
    data = write_files(f"file://{tmp_path}?protocol=canal-json&flush-interval=2s&enable-tidb-extension=true")
    query = (
        page_block("duckdb", "python", "read_json('/tmp/duck_json")
        .split('"""')[1]
        .replace("/tmp/duck_json", str(tmp_path))
    )
    read: dict[str, dict[Any, Any]] = {table: {} for table in KEYS}
    for table, key, row in duckdb.sql(query).fetchall():
        read[table][tuple(key)] = row
    total = Comparison(0, 0, ())
    for table, rows in data.tables(defaults=False).items():
        every_column = dict.fromkeys(next(iter(rows.values())))
        by_key = {key: every_column | row for key, row in read[table].items()}
        total += compared(table, shaped(table, rows, canal), by_key)
    measured("DuckDB, `read_json`", VERSION, "Canal-JSON files", total)


def test_old_values_and_hexadecimal_digits(tmp_path: Path) -> None:
    csv = FEED["csv"] | {"output-old-value": True, "binary-encoding-method": "hex"}
    data = write_files(f"file://{tmp_path}?protocol=csv", {"csv": csv})
    names = _page(from_base64="unhex")
    names["HEAD"] |= {"is_update": "BOOLEAN"}
    read = _newest(names, str(tmp_path), "kinds", names["checkpoint"](tmp_path))
    result = compared("kinds", shaped("kinds", data.tables()["kinds"], stored_csv), read)
    assert not result.differences, str(result)


def test_what_is_difficult(tmp_path: Path) -> None:
    """Each remark of the page about values, and what happens without its option."""
    write_edges(f"file://{tmp_path}?protocol=csv", FEED)
    query = _page()["changes_sql"](str(tmp_path), "shop/edges", 1 << 63)
    shown = duckdb.sql(f"SELECT *, TRY_CAST(day AS DATE)::VARCHAR AS date FROM ({query})")
    read = {row[2]: dict(zip(shown.columns, row, strict=True)) for row in shown.fetchall()}
    expected = {
        key: {"id": key, **row, "bytes": EDGES_BYTES[key], "huge": row["huge"] and int(row["huge"])}
        for key, row in EDGES.items()
    }
    assert not (result := compared("edges", expected, read)).differences, str(result)
    assert {key: row["date"] for key, row in read.items()} == {
        "null": None,
        "empty": None,
        "ends": None,
        "marker": "9999-12-31",
    }
    quoted = query.replace("allow_quoted_nulls = false", "allow_quoted_nulls = true")
    assert duckdb.sql(f"SELECT word FROM ({quoted}) WHERE id = 'marker'").fetchall() == [(None,)]


def test_virtual_columns_are_refused(tmp_path: Path) -> None:
    """They are in the schema file, but in no row."""
    write_edges(f"file://{tmp_path}?protocol=csv", FEED, more="twice int as (length(word) * 2) virtual")
    with pytest.raises(duckdb.Error, match="olumn"):
        duckdb.sql(_page()["changes_sql"](str(tmp_path), "shop/edges", 1 << 63)).fetchall()
