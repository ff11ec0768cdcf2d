"""Which files this process reads itself, and which it leaves to Spark. test_input_data.py compares the values."""

from __future__ import annotations

import datetime as dt
import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import exit_code

from ticdc_emit.cli import session
from ticdc_emit.cli.emit_input import changes_here
from ticdc_emit.cli.local_files import NeedsSparkError, csv_columns, json_columns
from ticdc_emit.errors import MissingColumnError, SchemaError
from ticdc_emit.schema.catalog import catalog_from_sql

INFO = catalog_from_sql("create table test.t (id int primary key, v varchar(9))").table("test", "t")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,v\n1,a\n", {"id": ["1"], "v": ["a"]}),
        ('id,v\r\n1," a,""b""\n"\r\n2,""', {"id": ["1", "2"], "v": [' a,"b"\n', ""]}),
        ("id,v\n1,\n,2\n,", {"id": ["1", None, None], "v": [None, "2", None]}),
        ("id,v", {"id": [], "v": []}),
        ("id,v\n1\n", None),
        ("id,v\n1,2,3\n", None),
        ("id,v\n\n1,2\n", None),
        ('id,v\n1,a"b\n', None),
        ('id,v\n1,"a"b\n', None),
        ('id,v\n1,"a\n', None),
        ('id,v\r\n1,"a\r\nb"\r\n', None),
        ("id,v\n1,2\r\n", None),
        ("id,v\r1,2\r", None),
        ("id,ID\n1,2\n", None),
        ("id,\n1,2\n", None),
        ("\ufeffid,v\n1,2\n", None),
        ("id,v\n1,\0\n", None),
        ("", None),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: dict[str, list[str | None]] | None) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode())
    with pytest.raises(NeedsSparkError) if expected is None else nullcontext():
        assert csv_columns([file]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b": 1.50, "a": "x\\u00e9"}\n\n {"a": null}\r\n', {"a": ["x\xe9", None], "b": ["1.50", None]}),
        ('{"a": [ 1,{"k" : 2}]}', {"a": ['[ 1,{"k" : 2}]']}),
        ('{"after": {"id": 7, "v": true}, "a": {}}', {"a": ["{}"], "after": [{"id": "7", "v": "true"}]}),
        ("{}", {}),
        ('{"a": 1} {"a": 2}', None),
        ('[{"a": 1}]', None),
        ('{"a": 1, "a": 2}', None),
        ('{"a": NaN}', None),
        ('{"a": [Infinity]}', None),
        ('{"a": 1, "A": 2}', None),
        ('{"a": 1,}', None),
        ('{"a"', None),
        ('{"after": 1}', None),
        ('{"a": 1}\r{"a": 2}', None),
    ],
)
def test_json_lines(tmp_path: Path, text: str, expected: dict[str, Any] | None) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(text.encode())
    with pytest.raises(NeedsSparkError) if expected is None else nullcontext():
        assert json_columns([file], ("before", "after")) == expected


def here(*files: Path, column: str | None = None, most_rows: int = 10) -> pa.Table | None:
    kind = {"csv": "csv", "parquet": "parquet"}.get(files[0].suffix[1:], "json")
    return changes_here(files, INFO, input_format=kind, commit_time_column=column, commit_ts=5, most_rows=most_rows)


def test_commit_times_that_are_cast_alike(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,v,at\n1,a,2024-05-25T05:09:30.5Z\n2,b,2024-05-25 05:09:30\n")
    found = here(file, column="at")
    assert found is not None
    at = dt.datetime(2024, 5, 25, 5, 9, 30, tzinfo=dt.timezone.utc)
    assert found.column("commit_time").to_pylist() == [at.replace(microsecond=500_000), at]
    for other in ("2024-05-25", "2024-05-25 05:09:30+01:00", "2024-02-31 00:00:00", "450000000262144000"):
        file.write_text(f"id,v,at\n1,a,{other}\n")
        assert here(file, column="at") is None
    file.write_text("op,commit_ts,after.id\nc,1.5,1\n")
    assert here(file) is None


def test_files_that_spark_reads(tmp_path: Path) -> None:
    plain = tmp_path / "t.csv"
    plain.write_text("id,v\n1,a\n")
    assert here(plain, plain, most_rows=2) is not None
    assert here(plain, plain, most_rows=1) is None
    for name in ("_t.csv", ".t.csv"):
        hidden = tmp_path / name
        hidden.write_text("id,v\n1,a\n")
        assert here(hidden) is None
    other = tmp_path / "u.csv"
    other.write_text("v,id\na,1\n")
    assert here(plain, other) is None
    (tmp_path / "folder.csv").mkdir()
    assert here(tmp_path / "folder.csv") is None
    file = tmp_path / "t.parquet"
    for kind, is_read in ((pa.int16(), True), (pa.uint32(), False), (pa.timestamp("ns"), False)):
        pq.write_table(pa.table({"id": pa.array([1]).cast(kind), "v": ["a"]}), file)
        assert (here(file) is not None) == is_read, kind
        assert here(file, most_rows=0) is None


def test_columns_are_compared_by_name(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("ID,v,more\n1,a,b\n")
    with pytest.raises(MissingColumnError, match="of the table: id") as missing:
        here(file)
    assert missing.value.remedy.startswith("Did you mean ID? It has: ID, v, more; names are case-sensitive.")
    file.write_text("id,v,at,_v\n1,a,5,b\n")
    with pytest.raises(SchemaError, match="does not have: _v ") as unknown:
        here(file, column="at")
    assert unknown.value.context == {"table": "test.t", "column": "_v"}


def test_emit_without_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(session, "local_spark")
    schema, rows = tmp_path / "t.sql", tmp_path / "rows.jsonl"
    schema.write_text("create table t (id int primary key, v varchar(3))", encoding="utf-8")
    rows.write_text('{"id": 1, "v": "abc"}\n{"id": 2, "v": null}\n', encoding="utf-8")
    uri = f"file://{tmp_path}/out/t?protocol=canal-json&partition-num=1"
    arguments = ["emit", "--schema", str(schema), "--input", str(rows), "--sink-uri", uri]
    assert exit_code(*arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out)["messages"] == 2
    rows.write_text('{"id": 7, "v": "abcd"}\n', encoding="utf-8")
    assert exit_code(*arguments) == 2
    assert "table='test.t', column='v', row={'id': '7'" in capsys.readouterr().err
    rows.write_text('{"id": 7, "v": "abc", "w": 1}\n', encoding="utf-8")
    assert exit_code(*arguments) == 2
    assert "the table does not have: w [" in capsys.readouterr().err
    assert exit_code(*arguments, "--ignore-unknown-columns") == 0
    assert capsys.readouterr().err.count("are left out: w\n") == 1
    config = tmp_path / "f.toml"
    config.write_text("[filter]\nrules = ['other.*']\n", encoding="utf-8")
    assert exit_code(*arguments, "--ignore-unknown-columns", "--config", str(config)) == 0
    assert "warning: [filter] left out all 1 rows (rules): nothing was sent\n" in capsys.readouterr().err
    rows.write_text("", encoding="utf-8")
    with pytest.raises(NameError):  # Spark is asked what an empty file holds
        exit_code(*arguments)
