"""Parquet, CSV and JSON as row changes, without loss; Spark and this process read the same."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticdc_emit.cli.emit_input import changes_here, format_of, read_changes
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import ConfigError, MissingColumnError, SchemaError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.traffic.replay import read_source

pytestmark = pytest.mark.spark

DDL = (
    "create table test.t (id bigint unsigned primary key, d decimal(30,10), j json, b varbinary(10), `a.b` varchar(20))"
)
INFO = catalog_from_sql(DDL).table("test", "t")
TSO = 450_000_000_262_144_000
DATA = '"data":[{"id":"18446744073709551615","d":"12345678901234567.8900000000",'


def messages(spark: Any, path: Path, **options: Any) -> list[str]:
    given = {"input_format": None, "commit_time_column": None, "commit_ts": TSO} | options
    rows = read_changes(spark, str(path), INFO, **given).toArrow()
    here = changes_here(
        [path], INFO, **given | {"input_format": format_of(str(path), given["input_format"])}, most_rows=9
    )
    assert here is not None
    assert here.schema.names == rows.schema.names
    assert here.to_pylist() == rows.to_pylist()
    made = [Encoder("memory://x?protocol=canal-json", DDL).encode(each) for each in (rows, here)]
    assert made[0] == made[1]
    return [value.decode() for value in made[0].column("value").to_pylist()]


def test_json_rows_keep_every_digit_and_nested_objects(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"id": 18446744073709551615, "d": 12345678901234567.89, "j": {"b": [1, 2.5]}, "b": "AAE=", "a.b": "x"}\n'
        ' {"id":2 , "d": 1e2, "j" : [ 1.50,  {"k":"\\u00e9\\n" }], "b": null, "a.b": "\\ud83d\\ude00\\"" }\r\n\n'
        '{"id": "3", "j": true, "other": -0.0}',
        encoding="utf-8",
    )
    with pytest.warns(ConfigWarning, match="test.t does not have are left out: other"):
        made = messages(spark, path, ignore_unknown=True)
    value = next(value for value in made if '"18446744073709551615"' in value)
    assert DATA + r'"j":"{\"b\": [1, 2.5]}","b":"\u0000\u0001","a.b":"x"}]' in value
    assert f'"es":{TSO >> 18}' in value


def test_json_changes(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "changes.json"
    image = '{"id": 1, "d": 1.5, "j": null, "b": null, "a.b": "%s"}'
    path.write_text(
        f'{{"op": "c", "commit_ts": {TSO}, "after": {image % "x"}}}\n'
        f'{{"op": "u", "commit_ts": {TSO + 1}, "before": {image % "x"}, "after": {image % "y"}}}\n'
        f'{{"op": "d", "commit_ts": {TSO + 2}, "before": {image % "y"}, "after": null}}\n',
        encoding="utf-8",
    )
    kinds = [value.split('"type":"')[1].split('"')[0] for value in messages(spark, path)]
    assert kinds == ["INSERT", "UPDATE", "DELETE"]


def test_csv_changes(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "changes.csv"
    path.write_text(
        "op,commit_ts,seq,before.id,before.d,before.j,before.b,before.a.b,after.id,after.d,after.j,after.b,after.a.b\n"
        f'c,{TSO},1,,,,,,1,1.5,"{{""a"": 1}}",AAE=,"q""uo\nte"\n'
        f'u,{TSO},2,1,1.5,"{{""a"": 1}}",AAE=,"q""uo\nte",1,,,,new\n',
        encoding="utf-8",
    )
    insert, update = messages(spark, path)
    assert r'"j":"{\"a\": 1}","b":"\u0000\u0001","a.b":"q\"uo\nte"' in insert
    assert '"data":[{"id":"1","d":null,"j":null,"b":null,"a.b":"new"}]' in update


def test_an_empty_csv_field_is_null_and_empty_quotes_are_the_empty_text(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b'id,d,j,b,a.b\r\n1,1,,"",""\r\n2,2,,"",\r\n3,3,,,""\r\n4,4,,," "\r\n5,5,,,NULL\r\n6,6,,,""""')
    ends = [value.split('"data":[')[1].split("]")[0] for value in messages(spark, path)]
    assert [end.split('"j":')[1] for end in ends] == [
        'null,"b":"","a.b":""}',
        'null,"b":"","a.b":null}',
        'null,"b":null,"a.b":""}',
        'null,"b":null,"a.b":" "}',
        'null,"b":null,"a.b":"NULL"}',
        r'null,"b":null,"a.b":"\""}',
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "id,d,j,b,a.b,Zz,note\n1,1,1,,,5,6\n"),
        ("rows.json", '{"id": 1, "d": 1, "j": 1, "b": null, "a.b": "", "Zz": 5}\n{"note": 6}\n'),
        ("changes.csv", f"op,commit_ts,after.id,after.Zz,after.note\nc,{TSO},1,5,6\n"),
        ("changes.json", f'{{"op": "c", "commit_ts": {TSO}, "after": {{"id": 1, "Zz": 5, "note": 6}}}}\n'),
        ("rows.parquet", "plain"),
        ("changes.parquet", "images"),
    ],
)
def test_unknown_columns_are_refused_or_left_out(spark: Any, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    if path.suffix == ".parquet":
        row = {"id": Decimal(1), "d": Decimal(1), "j": "1", "b": b"", "a.b": "", "Zz": 5, "note": 6}
        pq.write_table(
            pa.Table.from_pylist([row if text == "plain" else {"op": "c", "commit_ts": TSO, "after": row}]), path
        )
    else:
        path.write_text(text, encoding="utf-8")
    how: dict[str, Any] = {"input_format": format_of(str(path), None), "commit_time_column": None, "commit_ts": TSO}
    ways = (
        lambda **more: read_changes(spark, str(path), INFO, **how, **more).toArrow(),
        lambda **more: changes_here([path], INFO, most_rows=9, **how, **more),
    )
    for read in ways:
        with pytest.raises(SchemaError, match="the table does not have: Zz, note") as caught:
            read()
        assert caught.value.remedy.endswith("leave them out with --ignore-unknown-columns")
        with pytest.warns(ConfigWarning, match="left out: Zz, note") as warned:
            rows = read(ignore_unknown=True)
        assert len(warned) == 1
        assert "Zz" not in str(rows.schema)


def test_empty_csv_text_in_changes_and_a_replayed_source(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "changes.csv"
    path.write_text(f'op,commit_ts,after.id,after.a.b\nc,{TSO},1,""\nc,{TSO + 1},2,\n', encoding="utf-8")
    changes = read_changes(spark, str(path), INFO, input_format=None, commit_time_column=None, commit_ts=TSO)
    assert [row.after["a.b"] for row in changes.orderBy("commit_ts").collect()] == ["", None]
    source = read_source(spark, str(path)).orderBy("commit_ts").collect()
    assert [row["after.a.b"] for row in source] == ["", None]
    named = read_source(spark, str(path), format="csv", options={"nullValue": "1"}).orderBy("commit_ts").collect()
    assert [row["after.id"] for row in named] == [None, "2"], "the caller's options go before these"


@pytest.mark.filterwarnings("ignore:columns that")
def test_parquet_brings_its_types(spark: Any, tmp_path: Path) -> None:
    moment = dt.datetime(2024, 5, 25, 5, 9, 30, 531_000, tzinfo=dt.timezone.utc)
    table = pa.table(
        {
            "id": pa.array([Decimal(2**64 - 1)], pa.decimal128(20, 0)),
            "d": pa.array([Decimal("12345678901234567.89")], pa.decimal128(30, 10)),
            "j": ["{}"],
            "b": pa.array([b"\x00\x01"]),
            "a.b": ["x"],
            "at": pa.array([moment]),
            "tso": [TSO + 7],
        }
    )
    path = tmp_path / "rows.parquet"
    pq.write_table(table, path)
    (value,) = messages(spark, path, commit_time_column="tso", ignore_unknown=True)
    assert DATA + r'"j":"{}","b":"\u0000\u0001","a.b":"x"}]' in value
    messages(spark, path, commit_time_column="at", ignore_unknown=True)
    changes = read_changes(
        spark, str(path), INFO, input_format=None, commit_time_column="at", commit_ts=TSO, ignore_unknown=True
    )
    assert changes.columns == ["op", "commit_time", "after"]
    assert changes.toArrow().column("commit_time").to_pylist() == [moment]


def test_refusals(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,d\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match=r"of the table: j, b, a\.b "):
        messages(spark, path)
    with pytest.raises(MissingColumnError, match=r"of the table: j, b, a\.b "):
        changes_here([path], INFO, input_format="csv", commit_time_column=None, commit_ts=TSO, most_rows=9)
    with pytest.raises(ConfigError, match="cannot tell the input's format"):
        messages(spark, tmp_path / "rows.dat")
    with pytest.raises(ConfigError, match="unknown input format 'orc'"):
        messages(spark, path, input_format="orc")
    path.write_text("id,d,j,b,a.b\n1,2,,,\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match="lacks the commit time column"):
        messages(spark, path, commit_time_column="nope")
