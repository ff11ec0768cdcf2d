"""``ticdc-emit sql``: a script from a file or standard input; messages shown or sent; errors before that."""

from __future__ import annotations

import io
import json
import pickle
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from child import exit_code

from ticdc_emit import History
from ticdc_emit.cli import sql
from ticdc_emit.errors import StatementError

SCRIPT = "create table t (id int primary key); insert into t values (1), (2); delete from t where id = 1;"


run = partial(exit_code, "sql")


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "changes.sql"
    path.write_text(SCRIPT)
    return path


def values(text: str) -> list[Any]:
    return [json.loads(line.split(" | ", 2)[2]) for line in text.splitlines()]


def test_without_a_sink_uri_the_messages_are_shown_in_order(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--start", "2025-01-01T00:00:00Z") == 0
    shown = values(capsys.readouterr().out)
    assert [each["type"] for each in shown if each["type"] != "TIDB_WATERMARK"] == [
        *("CREATE", "INSERT", "INSERT", "DELETE")
    ]
    assert shown[0]["es"] == 1_735_689_600_000


def test_json_has_the_messages_and_what_was_sent(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--protocol", "avro", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["protocol"], result["rows"], len(result["messages"])) == ("avro", 3, 3)


def test_a_sink_gets_the_messages(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(str(script), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 0
    assert "3 rows" in capsys.readouterr().out
    assert any((tmp_path / "out").rglob("*"))


def test_standard_input_over_a_schema(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = tmp_path / "tables.sql"
    schema.write_text("create table shop.t (id int primary key)")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(b"insert into t values (7)")))
    assert run("-", "--schema", str(schema)) == 0
    assert values(capsys.readouterr().out)[0]["data"] == [{"id": "7"}]


def test_a_failing_statement_sends_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.sql"
    path.write_text(SCRIPT + "\ninsert into t values (2)")
    assert run(str(path), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 2
    error = capsys.readouterr().err
    assert "Duplicate entry '2'" in error
    assert "line 2, column 1" in error
    assert not (tmp_path / "out").exists()


def test_all_independent_errors_come_at_once_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bad.sql"
    path.write_text(
        "create table a (id int primary key);\ncreate table b (id int primary key);\ninsert into a values ('x');\n"
        "insert into b values (1);\ninsert into a values (1), (1);\ninsert into a select * from b;\n"
        "create tabel c (id int);\nload data infile 'x' into table a;\ncreate table `d` (id foo);\n"
        "insert into `d` values (1);\ninsert into c values (1);\ninsert into b values (1);\nset insert_id = 7;\n"
    )
    assert run(str(path), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("place='line ")[2].partition(",")[0] for line in lines] == ["3", "6", "7", "8", "9", "13"]
    assert not (tmp_path / "out").exists()


def test_at_most_ten_errors_come_and_all_of_them_pickle() -> None:
    with pytest.raises(StatementError) as caught:
        History.from_sql(
            ";".join(f"create table t{n} (id int primary key); insert into t{n} values ('x')" for n in range(20))
        )
    again = pickle.loads(pickle.dumps(caught.value))
    assert [each.number for each in (again, *again.others)] == [1366] * 10
    assert str(again) == str(caught.value)


def test_an_error_of_the_schema_file_names_it(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = script.with_name("tables.sql")
    path.write_text("create table a (id int primary key);\ncreate table b (id VARCHR(3));")
    for arguments in (["sql", str(script)], ["generate", "--rows", "1"]):
        assert exit_code(*arguments, "--schema", str(path)) == 2
        error = capsys.readouterr().err
        assert "line 2, column 20" in error
        assert str(path) in error


def test_one_note_counts_the_statements_without_effect(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = script.with_name("tables.sql")
    schema.write_text("create user a; create table u (id int primary key); flush privileges; insert into u values (1);")
    script.write_text(f"flush tables; {SCRIPT} create trigger x before insert on t for each row set @a = 1; select 1;")
    assert run(str(script), "--schema", str(schema), "--json") == 0
    note = "skipped 4 statements that changed no row: 1 CREATE USER, 2 FLUSH, 1 CREATE TRIGGER"
    assert capsys.readouterr().err == f"ticdc-emit: note: {note}\n"


def test_the_last_line_counts_the_time_of_the_script_too(
    script: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    read = sql.text_of_file

    def slowly(*arguments: Any) -> str:
        clock.append(clock[-1] + 30.0)
        return read(*arguments)

    clock = [1.0]
    monkeypatch.setattr(sql, "text_of_file", slowly)
    monkeypatch.setattr(sql, "time", SimpleNamespace(monotonic=lambda: clock[-1]))
    assert run(str(script), "--sink-uri", f"jsonl://{tmp_path}/out?protocol=canal-json") == 0
    assert "in 30.0 s" in capsys.readouterr().out.splitlines()[-1]
