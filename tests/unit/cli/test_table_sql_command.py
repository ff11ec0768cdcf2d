"""``ticdc-emit schema``, and ``emit`` without a schema file."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import exit_code

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


def test_parquet_has_types(orders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("schema", str(orders), "--name", "shop.orders", "--keys", "id") == 0
    assert capsys.readouterr().out == (
        "-- `id` is NOT NULL, because it is in the key.\n"
        "CREATE TABLE `shop`.`orders` (\n  `id` BIGINT NOT NULL,\n  `price` DOUBLE,\n  `tags` JSON,\n"
        "  PRIMARY KEY (`id`)\n);\n"
    )


def test_csv_and_json_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.csv").write_text("id,name\n1,a\n", encoding="utf-8")
    (tmp_path / "a.jsonl").write_text('{"id": 1}\n{"id": 2, "name": {"a": 1}}\n', encoding="utf-8")
    for name in ("a.csv", "a.jsonl"):
        options = ("--name", "t", "--keys", "id", "--type", "id=bigint", "--json")
        assert exit_code("schema", str(tmp_path / name), *options) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == {
            "table": "test.t",
            "sql": "CREATE TABLE `test`.`t` (\n  `id` bigint NOT NULL,\n  `name` LONGTEXT,\n  PRIMARY KEY (`id`)\n)",
            "assumptions": ["`id` is NOT NULL, because it is in the key."],
        }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "the table has no name"),
        (("--name", "t", "--keys", "idd"), "Did you mean id?"),
        (("--name", "t", "--type", "id"), "is not column=type"),
        (("--name", "t", "--type", "nix=int"), "types= names a column"),
        (("--name", "t", "--type", "id=wat"), "expected a column type"),
    ],
)
def test_wrong_options(options: tuple[str, ...], said: str, orders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("schema", str(orders), *options) == 2
    assert said in capsys.readouterr().err


def test_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("schema", f"{tmp_path}/nix.csv", "--name", "t") == 2
    assert "there is no file or folder" in capsys.readouterr().err


def test_emit_makes_the_schema_of_plain_rows(
    orders: Path, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ("emit", "--table", "shop.orders", "--keys", "id", "--input", str(orders), "--sink-uri", uri)
    assert exit_code(*arguments) == 0
    assert "warning: no schema was given, so that of shop.orders is made" in capsys.readouterr().err
    assert _sent(tmp_path) == [
        {"id": "1", "price": "1.5", "tags": '["a"]'},
        {"id": "2", "price": None, "tags": "[]"},
    ]
    assert exit_code(*arguments, "--strict") == 2


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


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Add --schema, or --table and --keys"),
        (("--table", "s.t"), "the key of s.t is not known"),
        (("--table", "s.t", "--keys", "nix"), "the key is not a column"),
    ],
)
def test_what_emit_needs_without_a_schema(
    options: tuple[str, ...], said: str, orders: Path, uri: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code("emit", *options, "--input", str(orders), "--sink-uri", uri) == 2
    assert said in capsys.readouterr().err


def test_keys_beside_a_schema_are_refused(
    orders: Path, uri: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "t.sql"
    schema.write_text("create table s.t (id int primary key)", encoding="utf-8")
    arguments = ("emit", "--schema", str(schema), "--keys", "id", "--input", str(orders), "--sink-uri", uri)
    assert exit_code(*arguments) == 2
    assert "Leave out --keys" in capsys.readouterr().err
