"""Files of ``emit``: which are found, and what is read from them; errors come before Spark starts."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticdc_emit.cli import input_files, session
from ticdc_emit.cli.app import Emit, Replay
from ticdc_emit.cli.input_files import InputFiles, check_readable, columns_of, find_files, json_batch, unified
from ticdc_emit.errors import ConfigError


def found(path: str | Path) -> InputFiles:
    files = find_files(str(path), {})
    assert files is not None
    return files


def read(path: str | Path, file_format: str, *, nested: bool = False) -> dict[str, list[Any]]:
    """The values of all batches, by column."""
    files = found(path)
    _, pieces = files.layout(file_format)
    batches = [batch for piece in pieces for batch in files.read(piece, file_format, nested=nested)]
    tables = [pa.Table.from_batches([batch]) for batch in batches if batch.num_rows or batch.schema.names]
    return pa.concat_tables(tables, promote_options="permissive").to_pydict() if tables else {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,v\n1,a\n", {"id": ["1"], "v": ["a"]}),
        ('id,v\r\n1," a,""b""\n"\r\n2,""', {"id": ["1", "2"], "v": [' a,"b"\n', ""]}),
        ("id,v\n1,\n,2\n,", {"id": ["1", None, None], "v": [None, "2", None]}),
        ("id,v", {"id": [], "v": []}),
        ("id,v\n\n1,2\n", {"id": ["1"], "v": ["2"]}),
        ('id,v\n1,a"b"\n', {"id": ["1"], "v": ['a"b"']}),
        ('id,v\r\n1,"a\r\nb"\r\n', {"id": ["1"], "v": ["a\r\nb"]}),
        ("id,v\n1,2\r\n", {"id": ["1"], "v": ["2"]}),
        ("id,v\r1,2\r", {"id": ["1"], "v": ["2"]}),
        ("id,ID\n1,2\n", {"id": ["1"], "ID": ["2"]}),
        ("\ufeffid,v\n1,2\n", {"id": ["1"], "v": ["2"]}),
        ("id,v\n1,NULL\n", {"id": ["1"], "v": ["NULL"]}),
        ("", {}),
        ("id,v\n1\n", "Expected 2 columns, got 1"),
        ("id,v\n1,2,3\n", "Expected 2 columns, got 3"),
        ('id,v\n1,"a\n', "a quoted field has no end"),
        ('id,v\n1,a"\n', "a quoted field has no end"),
        ("id,\n1,2\n", "a column without a name"),
        ("id,id\n1,2\n", "two columns of one name"),
    ],
)
def test_csv(tmp_path: Path, text: str, expected: dict[str, list[str | None]] | str) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes(text.encode())
    with pytest.raises(ConfigError, match=expected) if isinstance(expected, str) else nullcontext():
        assert read(file, "csv") == expected


def test_text_that_is_not_utf_8(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    for data in (b"id,v\n1,\xff\n", b"\xff\n1\n"):
        file.write_bytes(data)
        with pytest.raises(ConfigError, match="the input cannot be read") as refused:
            read(file, "csv")
        assert refused.value.context["path"] == str(file)
    file.write_bytes(b'{"a": "\xff"}')
    with pytest.raises(ConfigError, match="a line is not a JSON object"):
        read(file, "json")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"b": 1.50, "a": "x\\u00e9"}\n\n {"a": null}\r\n', {"a": ["x\xe9", None], "b": ["1.50", None]}),
        ('{"a": [ 1,{"k" : 2}]}', {"a": ['[ 1,{"k" : 2}]']}),
        ('{ "a" : -0.0 , "b" : true , "c":{ } }', {"a": ["-0.0"], "b": ["true"], "c": ["{ }"]}),
        (
            '{"op": "c", "after": {"id": 7, "v": true}, "a": {}}',
            {"op": ["c"], "a": ["{}"], "after": [{"id": "7", "v": "true"}]},
        ),
        ('{"op": "d", "after": null}\n{"op": "c", "after": {"i": 1}}', {"op": ["d", "c"], "after": [None, {"i": "1"}]}),
        ('{"after": {"id": 7}}', {"after": ['{"id": 7}']}),
        ('{"a": 1}\n{"A": 2}', {"a": ["1", None], "A": [None, "2"]}),
        ('\ufeff{"a": 1}', {"a": ["1"]}),
        ('{"a": "\u2028"}', {"a": ["\u2028"]}),
        ("", {}),
        ('{"a": 1} {"a": 2}', "Extra data"),
        ('[{"a": 1}]', "it is not an object"),
        ('{"a": NaN}', "NaN is not JSON"),
        ('{"a": [Infinity]}', "Infinity is not JSON"),
        ('{"a": 1,}', "a line is not a JSON object"),
        ('{"a"', "a line is not a JSON object"),
        ('{"op": "c", "after": 1}', "it is not an object"),
        ('{"a": 1}\r{"a": 2}', "Extra data"),
    ],
)
def test_json_lines(tmp_path: Path, text: str, expected: dict[str, Any] | str) -> None:
    file = tmp_path / "t.json"
    file.write_bytes(text.encode())
    with pytest.raises(ConfigError, match=expected) if isinstance(expected, str) else nullcontext():
        assert read(file, "json", nested=True) == expected


def test_pieces_hold_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [f'{{"id": {number}}}' for number in range(100)]
    file, parquet = tmp_path / "t.json", tmp_path / "t.parquet"
    file.write_text("\n".join(lines), encoding="utf-8")
    pq.write_table(pa.table({"id": list(range(100))}), parquet, row_group_size=7)
    whole = {"id": [str(number) for number in range(100)]}
    for size in (1, 9, 10, 11, 64, 10_000):
        monkeypatch.setattr(input_files, "_PIECE_BYTES", size)
        assert read(file, "json") == whole
        assert read(parquet, "parquet") == {"id": list(range(100))}
    assert len(found(parquet).layout("parquet")[1]) == 1
    monkeypatch.setattr(input_files, "_PIECE_BYTES", 1)
    assert len(found(parquet).layout("parquet")[1]) == 15


def test_compressed_files_and_folders(tmp_path: Path) -> None:
    folder = tmp_path / "rows" / "day=2024-05-25" / "kind=a%2Fb"
    folder.mkdir(parents=True)
    (folder / "1.csv.gz").write_bytes(gzip.compress(b"id\n1\n"))
    (folder / "_SUCCESS").touch()
    other = tmp_path / "rows" / "day=__HIVE_DEFAULT_PARTITION__"
    other.mkdir()
    (other / "2.csv").write_text("id,v\n2,b\n")
    (tmp_path / "rows" / ".hidden").mkdir()
    (tmp_path / "rows" / ".hidden" / "3.csv").write_text("id\n3\n")
    assert read(tmp_path / "rows", "csv") == {
        "id": ["1", "2"],
        "day": ["2024-05-25", None],
        "kind": ["a/b", None],
        "v": [None, "b"],
    }
    assert columns_of(found(tmp_path / "rows"), "csv") == ["id", "day", "kind", "v"]
    assert columns_of(found(tmp_path / "rows"), "json") is None
    (folder / "1.json.gz").write_bytes(gzip.compress(b'{"id": 1}\n' * 3))
    assert read(folder / "1.json.gz", "json") == {"id": ["1"] * 3}


def test_a_file_system_of_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name in ("a.csv", "b.csv", "c.json"):
        memory.pipe(f"/rows/{name}", b"id\n" + name.encode() + b"\n")
    try:
        assert read("memory://rows/*.csv", "csv") == read("memory://rows/?.csv".replace("?", "*"), "csv")
        assert read("memory://rows/*.csv", "csv") == {"id": ["a.csv", "b.csv"]}
        assert read("memory://rows/a.csv", "csv") == {"id": ["a.csv"]}
        with pytest.raises(ConfigError, match="no file or folder"):
            check_readable("memory://rows/none.csv", "input", find_files("memory://rows/none.csv", {}))
        assert find_files("memory://rows/a.csv", {"spark.a": "b"}) is None
        assert find_files("memory://rows/a.csv", {}, remote=False) is None
    finally:
        memory.rm("/rows", recursive=True)


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files of rows in the current folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b c.csv"):
        (tmp_path / name).write_text("id\n1\n")
    return tmp_path


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("a.csv", 1),
        ("{folder}", 2),
        ("{folder}/a.csv", 1),
        ("file:{folder}/a.csv", 1),
        ("file://{folder}/b%20c.csv", 1),
        ("file://localhost{folder}/a.csv", 1),
        ("*.csv", 2),
        ("{folder}/?.csv", 1),
        ("none.csv", 0),
        ("file:///none/none.csv", 0),
        ("none/*.csv", 0),
        ("A?.csv", 0),
        ("file:none.csv", 0),
        ("hdfs://host/none.csv", None),
        ("strange://host/none.csv", None),
        ("{{none,a}}.csv", None),
        ("[a-z].csv", None),
    ],
)
def test_what_is_there_or_only_spark_can_tell(path: str, count: int | None, rows: Path) -> None:
    path = path.format(folder=rows)
    files = find_files(path, {})
    assert (None if files is None else len(files.files)) == count
    assert files is None or files.size == len(files.files) * len("id\n1\n")
    with nullcontext() if count != 0 else pytest.raises(ConfigError, match="no file or folder") as refused:
        check_readable(path, "input", files)
    if count == 0:
        assert refused.value.option == "input"
        assert "Check the path" in refused.value.remedy


def test_a_spark_with_another_file_system_is_asked_itself(rows: Path) -> None:
    assert find_files("none.csv", {"spark.hadoop.fs.defaultFS": "hdfs://host"}) is None


@pytest.fixture
def no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "local_spark", refuse)


@pytest.mark.usefixtures("no_spark")
def test_emit_and_replay_ask_before_spark_starts(rows: Path) -> None:
    (rows / "t.sql").write_text("create table test.t (id int primary key);")
    uri = f"jsonl://{rows}/out?protocol=canal-json"
    with pytest.raises(ConfigError, match="no file or folder"):
        Emit(schema=Path("t.sql"), input="none.csv", sink_uri=uri, as_json=True).run()
    options = Replay(
        schema=Path("t.sql"), tables=["t=none.parquet"], sink_uri=uri, mode="snapshot", at="2024-01-01T00:00:00Z"
    )
    with pytest.raises(ConfigError, match="no file or folder") as refused:
        options.run()
    assert refused.value.option == "table"
    assert not (rows / "out").exists()


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Iterator[Any]:
        raise PermissionError("denied")

    files = found(tmp_path)
    monkeypatch.setattr(input_files, "_files_in", refuse)
    check_readable(str(tmp_path), "table", files)
    assert columns_of(files, "csv") is None
    with pytest.raises(ConfigError, match=r"cannot be read: denied"):
        _ = files.files


def test_a_batch_of_deletes_alone_fits_those_of_other_changes() -> None:
    deleted, inserted = b'{"op": "d", "before": {"id": 1}, "after": null}', b'{"op": "c", "after": {"id": 1}}'
    schemas = [json_batch([line], nested=True, path="x").schema for line in (deleted, inserted)]
    assert unified(schemas).field("after").type == pa.struct([("id", pa.string())])
