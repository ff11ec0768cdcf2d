"""What commands refuse: with one line that says what to do, before Spark starts, and before anything is sent."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from child import Cli

from ticdc_emit.cli import generate, replay, session

FILES = {
    "t.sql": "create table test.t (id int primary key)",
    "two.sql": "create table a (id int); create table b (id int)",
    "type.sql": "create table a (id no_such_type)",
    "none.sql": "create database d",
    "bank.sql": "create table bank.accounts (id int primary key); create table a (id int);",
    "orders.sql": "create table shop.orders (id int primary key, total decimal(8,2) not null)",
    "keyless.sql": "create table a.t (v int)",
    "postgres.sql": "CREATE TABLE t (\n  a int,\n  b nope\n);",
    "assumed.sql": "CREATE TABLE shop.orders (id serial primary key, tags text[]);",
    "ddl.sql": "\n-- at 2026-01-05 08:01:10\nalter table orders add column b int",
    "log.csv": "op,id,total,paid,at,lsn\nI,1,10.00,,2026-01-05 06:00:00,1\n",
    "valid.csv": "id,total,valid_from,valid_to,gone",
    "t.json": '{"id": 1}\n',
    "model.toml": "[columns.bank.accounts.currency]\nlabels = ['EURO']",
    "token": "short\n",
    "empty.txt": "\nx",
}
WORDS = {
    "OUT": "--sink-uri 'jsonl://out?protocol=canal-json'",
    "EMIT": "emit --schema t.sql --input t.json",
    "SIMPLE": "--protocol simple",
    "REPLAY": "replay --schema orders.sql --sink-uri memory://x?protocol=canal-json",
    "LOG": "--table shop.orders=log.csv",
    "ORDERS": "orders.parquet",
    "PARTS": "--table shop.orders=./daily --mode snapshots",
    "POSTGRES": "--schema postgres.sql --schema-dialect postgres",
    "SERVE": "serve --port 0 --registry-port 0",
}
REFUSED = Path(__file__).with_name("refusals.txt").read_text(encoding="utf-8").splitlines()
"""Each a command, in which :data:`WORDS` stand for more, and a part of its error."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("refused")
    for name, text in FILES.items():
        (path / name).write_text(text, encoding="utf-8")
    (path / "latin.txt").write_bytes(b"\xff")
    (path / "empty").mkdir()
    partition = path / "daily" / "dt=2026-01-05"
    partition.mkdir(parents=True)
    rows = pa.table({"id": [1], "total": [1.5]})
    pq.write_table(rows, path / "orders.parquet")
    pq.write_table(rows, partition / "part-0.parquet")
    return path


@pytest.mark.parametrize(("command", "option"), [("serve", "--ready-file"), ("check", "--junit")])
def test_a_folder_is_no_file_to_write(command: str, option: str, tmp_path: Path, cli: Cli) -> None:
    shown = cli(command, "--schema", "bank", option, tmp_path, code=2).err.replace("│", "")  # around its lines
    assert "is a directory" in " ".join(shown.split())


@pytest.mark.parametrize("line", REFUSED)
def test_it_is_refused(line: str, folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for module, name in ((session, "local_spark"), (replay, "spark_for"), (generate, "spark_for")):
        monkeypatch.setattr(module, name, None)
    given, _, said = line.partition(" | ")
    words = (WORDS.get(word, word) for word in given.split(" "))
    shown = cli(*shlex.split(" ".join(words).replace("jsonl://out", f"jsonl://{folder}/out")), code=2)
    assert shown.out == ""
    *_, last = shown.err.splitlines()
    assert said in last
    assert last.startswith("ticdc-emit: error: ") or "Error" not in last
    assert not (folder / "out").exists()
