"""Parquet, CSV and JSON as row changes, without loss, in this process and on Spark's workers."""

from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import Cli

from ticdc_emit.cli import session
from ticdc_emit.cli.emit import ChangeForm, changes_here, changes_on_spark, format_of
from ticdc_emit.cli.input_files import find_files
from ticdc_emit.config.document import ConfigWarning
from ticdc_emit.encoder import Encoder
from ticdc_emit.errors import ConfigError, InvalidValueError, MissingColumnError, SchemaError
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.spark import TicdcSink
from ticdc_emit.traffic.replay.sources import read_source

DDL = (
    "create table test.t (id bigint unsigned primary key, d decimal(30,10), j json, b varbinary(10), `a.b` varchar(20))"
)
INFO = catalog_from_sql(DDL).table("test", "t")
TSO = 450_000_000_262_144_000
DATA = '"data":[{"id":"18446744073709551615","d":"12345678901234567.8900000000",'


def form(path: Path, input_format: str | None = None, **options: Any) -> ChangeForm:
    given = {"commit_time_column": None, "commit_ts": TSO} | options
    return ChangeForm(INFO, format_of(str(path), input_format), **given)


def changes(spark: Any, path: Path, *, opened_by_spark: bool = False, **options: Any) -> pa.Table:
    files = None if opened_by_spark else find_files(str(path), {})
    return changes_on_spark(spark, str(path), files, form(path, **options)).toArrow()


def here(path: Path, **options: Any) -> pa.Table:
    files = find_files(str(path), {})
    assert files is not None
    table = changes_here(files, form(path, **options), 9)
    assert table is not None
    return table


def messages(spark: Any, path: Path, **options: Any) -> list[str]:
    """Return the values of the messages, which are the same whoever reads the file."""
    first = here(path, **options)
    others = [changes(spark, path, **options), changes(spark, path, opened_by_spark=True, **options)]
    assert others[0].to_pylist() == first.to_pylist()
    assert others[1].num_rows == first.num_rows
    made = [Encoder("memory://x?protocol=canal-json", DDL).encode(each) for each in (first, *others)]
    assert made[0] == made[1] == made[2]
    return [value.decode() for value in made[0].column("value").to_pylist()]


@pytest.mark.spark
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


@pytest.mark.spark
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


@pytest.mark.spark
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


@pytest.mark.spark
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


@pytest.mark.spark
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "id,d,j,b,a.b,Zz,note\n1,1,1,,,5,6\n"),
        ("rows.json", '{"id": 1, "d": 1, "j": 1, "b": null, "a.b": "", "Zz": 5}\n{"note": 6}\n'),
        ("changes.csv", f"op,commit_ts,after.id,after.Zz,after.note\nc,{TSO},1,5,6\n"),
        ("changes.json", f'{{"op": "c", "commit_ts": {TSO}, "after": {{"id": 1, "Zz": 5, "note": 6}}}}\n'),
        ("tops.csv", f"op,commit_ts,after.id,Zz,note\nc,{TSO},1,5,6\n"),
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
    ways = (
        lambda **more: here(path, **more),
        lambda **more: changes(spark, path, **more),
        lambda **more: changes(spark, path, opened_by_spark=True, **more),
    )
    for read in ways:
        with pytest.raises(SchemaError, match="the table does not have: Zz, note") as caught:
            read()
        assert caught.value.remedy.endswith("leave them out with --ignore-unknown-columns")
        with pytest.warns(ConfigWarning, match="left out: Zz, note") as warned:
            rows = read(ignore_unknown=True)
        assert len(warned) == 1
        assert "Zz" not in str(rows.schema)


@pytest.mark.spark
def test_empty_csv_text_in_changes_and_a_replayed_source(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "changes.csv"
    path.write_text(f'op,commit_ts,after.id,after.a.b\nc,{TSO},1,""\nc,{TSO + 1},2,\n', encoding="utf-8")
    assert [row["a.b"] for row in changes(spark, path).column("after").to_pylist()] == ["", None]
    source = read_source(spark, str(path)).orderBy("commit_ts").collect()
    assert [row["after.a.b"] for row in source] == ["", None]
    named = read_source(spark, str(path), format="csv", options={"nullValue": "1"}).orderBy("commit_ts").collect()
    assert [row["after.id"] for row in named] == [None, "2"], "the caller's options go before these"


@pytest.mark.spark
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
    made = changes(spark, path, commit_time_column="at", ignore_unknown=True)
    assert made.schema.names == ["op", "commit_time", "after"]
    assert made.column("commit_time").to_pylist() == [moment]


@pytest.mark.spark
def test_refusals(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("id,d\n1,2\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match=r"of the table: j, b, a\.b "):
        messages(spark, path)
    with pytest.raises(ConfigError, match="cannot tell the input's format"):
        messages(spark, tmp_path / "rows.dat")
    with pytest.raises(ConfigError, match="unknown input format 'orc'"):
        messages(spark, path, input_format="orc")
    path.write_text("id,d,j,b,a.b\n1,2,,,\n", encoding="utf-8")
    with pytest.raises(MissingColumnError, match="lacks the commit time column"):
        messages(spark, path, commit_time_column="nope")


SMALL_DDL = "create table test.t (id int primary key, v varchar(9))"
SMALL = catalog_from_sql(SMALL_DDL).table("test", "t")


def small(*files: Path, column: str | None = None, most_rows: int = 10) -> Any:
    found = find_files(str(files[0]) if len(files) == 1 else f"{files[0].parent}/*", {})
    assert found is not None
    return changes_here(found, ChangeForm(SMALL, format_of(str(files[0]), None), column, 5), most_rows)


def test_commit_times_as_text(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(
        "id,v,at\n1,a,2024-05-25T05:09:30.5Z\n2,b,2024-05-25 05:09:30.000000999\n3,c,2024-05-25\n"
        "4,d,2024-05-25 07:09:30+02:00\n"
    )
    found = small(file, column="at")
    at = dt.datetime(2024, 5, 25, 5, 9, 30, tzinfo=dt.timezone.utc)
    expected = [at.replace(microsecond=500_000), at, at.replace(hour=0, minute=0, second=0), at]
    assert found.column("commit_time").to_pylist() == expected
    for other in ("2024-02-31 00:00:00", "450000000262144000", "soon"):
        file.write_text(f"id,v,at\n1,a,2024-05-25\n2,b,{other}\n")
        with pytest.raises(InvalidValueError, match=f"'{other}' is not a time") as refused:
            small(file, column="at")
        assert refused.value.column == "at"
    file.write_text("op,commit_ts,after.id\nc,1.5,1\n")
    with pytest.raises(InvalidValueError, match=r"'1\.5' is not a whole number"):
        small(file)


def test_files_of_a_folder_that_differ(tmp_path: Path) -> None:
    plain, other, more = (tmp_path / f"{name}.csv" for name in "abc")
    plain.write_text("id,v\n1,a\n")
    other.write_text("v,id\nb,2\n")
    more.write_text("id\n3\n")
    found = small(plain, other, more)
    assert found.column("after").to_pylist() == [{"id": "1", "v": "a"}, {"id": "2", "v": "b"}, {"id": "3", "v": None}]
    assert small(plain, other, more, most_rows=2) is None


@pytest.mark.parametrize("kind", [pa.int16(), pa.uint32(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())])
def test_types_of_parquet(tmp_path: Path, kind: pa.DataType) -> None:
    file, values = tmp_path / "t.parquet", pa.array([1])
    values = values.dictionary_encode() if pa.types.is_dictionary(kind) else values.cast(kind)
    pq.write_table(pa.table({"id": values, "v": ["a"]}), file)
    found = small(file)
    assert [row["id"] for row in found.column("after").to_pylist()] == [1]


def test_an_input_without_rows(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("id,v\n")
    found = small(file)
    assert found.schema.names == ["op", "commit_ts", "after"]
    assert not found.num_rows
    file.write_text("")
    with pytest.raises(MissingColumnError, match="of the table: id, v"):
        small(file)


def test_attributes_and_ddl_stay_in_changes(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(
        '{"op": "c", "commit_ts": 5, "start_ts": 4, "after": {"id": 1}}\n'
        '{"op": "ddl", "commit_ts": 6, "query": "alter table t comment = \'x\'"}\n'
    )
    found = small(file)
    assert found.select(["start_ts", "query"]).to_pylist() == [
        {"start_ts": "4", "query": None},
        {"start_ts": None, "query": "alter table t comment = 'x'"},
    ]
    with TicdcSink("memory://ddl/t?protocol=canal-json&partition-num=1", SMALL_DDL, table="test.t") as sink:
        report = sink.write({"test.t": found})
    assert (report.rows, report.controls["ddl"]) == (1, 1)


def test_columns_are_compared_by_name(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("ID,v,more\n1,a,b\n")
    with pytest.raises(MissingColumnError, match="of the table: id") as missing:
        small(file)
    assert missing.value.remedy.startswith("Did you mean ID? It has: ID, v, more; names are case-sensitive.")
    file.write_text("id,v,at,_v\n1,a,5,b\n")
    with pytest.raises(SchemaError, match="does not have: _v ") as unknown:
        small(file, column="at")
    assert unknown.value.context == {"table": "test.t", "column": "_v"}


def test_emit_without_spark(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(session, "local_spark")
    schema, rows = tmp_path / "t.sql", tmp_path / "rows.jsonl"
    schema.write_text("create table t (id int primary key, v varchar(3))", encoding="utf-8")
    rows.write_text('{"id": 1, "v": "abc"}\n{"id": 2, "v": null}\n', encoding="utf-8")
    uri = f"jsonl://{tmp_path}/out/t?protocol=canal-json&partition-num=1"
    arguments = ["emit", "--schema", str(schema), "--input", str(rows), "--sink-uri", uri]
    assert cli(*arguments, "--json").json["messages"] == 2
    rows.write_text('{"id": 7, "v": "abcd"}\n', encoding="utf-8")
    assert "table='test.t', column='v', row={'id': '7'" in cli(*arguments, code=2).err
    rows.write_text('{"id": 7, "v": "abc", "w": 1}\n', encoding="utf-8")
    assert "the table does not have: w [" in cli(*arguments, code=2).err
    assert cli(*arguments, "--ignore-unknown-columns").err.count("are left out: w\n") == 1
    config = tmp_path / "f.toml"
    config.write_text("[filter]\nrules = ['other.*']\n", encoding="utf-8")
    assert (
        "warning: [filter] left out all 1 rows (rules): nothing was sent\n"
        in cli(*arguments, "--ignore-unknown-columns", "--config", str(config)).err
    )


ROWS = pa.table(
    {
        "id": pa.array([7, 8], pa.uint64()),
        "d": ["1.5", None],
        "j": ['{"a": 1}', None],
        "b": [b"x", None],
        "a.b": ["p", "q"],
    }
)


def _arrow(stream: bool) -> bytes:
    sink = pa.BufferOutputStream()
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, ROWS.schema) as writer:
        writer.write_table(ROWS, max_chunksize=1)
    return sink.getvalue().to_pybytes()


def _parquet() -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(ROWS, sink)
    return sink.getvalue().to_pybytes()


INPUTS = {
    "arrow stream": _arrow(True),
    "arrow file": _arrow(False),
    "parquet": _parquet(),
    "csv": b'id,d,j,b,a.b\n7,1.5,"{""a"": 1}",eA==,p\n8,,,,q\n',
    "json": b'\n {"id":7,"d":1.5,"j":{"a": 1},"b":"eA==","a.b":"p"}\n{"id":8,"a.b":"q","d":null,"j":null,"b":null}\n',
}


@pytest.mark.parametrize("form", INPUTS)
def test_standard_input_in_any_format(form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    schema = tmp_path / "t.sql"
    schema.write_text(DDL, encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(INPUTS[form])))
    given = ["--schema", str(schema), "--input", "-", "--commit-ts", str(TSO)]
    lines = [
        json.loads(json.loads(line)["value"])
        for line in cli("emit", *given, "--sink-uri", "stdout://?protocol=canal-json&partition-num=1").out.splitlines()
    ]
    first = {"id": "7", "d": "1.5000000000", "j": '{"a": 1}', "b": "x", "a.b": "p"}
    assert [line["data"] for line in lines] == [[first], [{**dict.fromkeys(first), "id": "8", "a.b": "q"}]]


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows", "t.FEATHER", "t.ipc"])
def test_the_name_of_an_arrow_file(name: str, spark: Any, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(_arrow(name.endswith("s")))
    rows = here(path)
    assert rows.num_rows == 2
    assert changes(spark, path).slice().to_pylist() == rows.to_pylist()
    path.write_bytes(b"ARROW1")
    with pytest.raises(ConfigError, match="the input cannot be read"):
        here(path)


@pytest.mark.parametrize("stdin", [b"", None])
def test_an_empty_standard_input(stdin: bytes | None, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    monkeypatch.setattr("sys.stdin", None if stdin is None else io.TextIOWrapper(io.BytesIO(stdin)))
    given = ["--table", "a.t", "--keys", "id", "--input", "-"]
    assert (
        "standard input is empty [option='input']. Pipe rows"
        in cli("emit", *given, "--sink-uri", "stdout://?protocol=canal-json", code=2).err
    )
