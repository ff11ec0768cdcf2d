"""``ticdc-emit schema``, and ``emit`` without a schema file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import Cli, exit_code

from ticdc_emit.delivery.files import read_files


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    path = tmp_path / "orders.parquet"
    pq.write_table(pa.table({"id": [1, 2], "price": [1.5, None], "tags": [["a"], []]}), path)
    return path


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"jsonl://{tmp_path}/out?protocol=canal-json&partition-num=1"


def _sent(tmp_path: Path) -> list[dict[str, str | None]]:
    values = [json.loads(message.value or b"") for message in read_files(tmp_path / "out")]
    return [row for value in values for row in value["data"]]


def test_parquet_has_types(orders: Path, cli: Cli) -> None:
    assert cli("schema", str(orders), "--name", "shop.orders", "--keys", "id").out == (
        "-- `id` is NOT NULL, because it is in the key.\n"
        "CREATE TABLE `shop`.`orders` (\n  `id` BIGINT NOT NULL,\n  `price` DOUBLE,\n  `tags` JSON,\n"
        "  PRIMARY KEY (`id`)\n);\n"
    )


def test_csv_and_json_are_text(tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,a\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": 2, "name": {"a": 1}}\n', encoding="utf-8")
    for name in ("a.csv", "a.jsonl"):
        options = ("--name", "t", "--keys", "id", "--type", "id=bigint", "--json")
        printed = cli("schema", str(tmp_path / name), *options).json
        assert printed == {
            "table": "test.t",
            "sql": "CREATE TABLE `test`.`t` (\n  `id` bigint NOT NULL,\n  `name` LONGTEXT,\n  PRIMARY KEY (`id`)\n)",
            "assumptions": ["`id` is NOT NULL, because it is in the key."],
        }


def test_emit_makes_the_schema_of_plain_rows(orders: Path, uri: str, tmp_path: Path, cli: Cli) -> None:
    arguments = ("emit", "--table", "shop.orders", "--keys", "id", "--input", str(orders), "--sink-uri", uri)
    assert "warning: no schema was given, so that of shop.orders is made" in cli(*arguments).err
    assert _sent(tmp_path) == [{"id": "1", "price": "1.5", "tags": '["a"]'}, {"id": "2", "price": None, "tags": "[]"}]
    cli(*arguments, "--strict", code=2)


@pytest.mark.parametrize("form", ["structs", "flat"])
def test_emit_makes_the_schema_of_changes(form: str, uri: str, tmp_path: Path) -> None:
    changes: dict[str, list[object]] = {"op": ["c"], "commit_ts": [450_000_000_262_144_000]}
    if form == "structs":
        path = tmp_path / "a.parquet"
        pq.write_table(pa.table(changes | {"after": [{"id": 1, "name": "a"}]}), path)
    else:
        path = tmp_path / "a.csv"
        path.write_text("op,commit_ts,after.id,after.name\nc,450000000262144000,1,a\n", encoding="utf-8")
    assert exit_code("emit", "--table", "s.t", "--keys", "id", "--input", str(path), "--sink-uri", uri) == 0
    assert _sent(tmp_path) == [{"id": "1", "name": "a"}]


def test_the_time_column_is_not_a_column_of_the_table(uri: str, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [1], "at": pa.array([1_700_000_000], pa.timestamp("s", "UTC"))}), path)
    options = ("--table", "s.t", "--keys", "id", "--commit-time-column", "at")
    assert exit_code("emit", *options, "--input", str(path), "--sink-uri", uri) == 0
    assert _sent(tmp_path) == [{"id": "1"}]
