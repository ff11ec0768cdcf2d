"""``ticdc-emit schema --dialect``, and schema files of other systems in the other commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from child import Cli

from ticdc_emit.cli.options import DIALECTS_HELP, complete_dialect
from ticdc_emit.delivery.files import read_files
from ticdc_emit.schema.scripts import DIALECTS


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    path = tmp_path / "dump.sql"
    path.write_text(
        "CREATE TABLE shop.orders (id serial, tags text[]);\n"
        "ALTER TABLE ONLY shop.orders ADD CONSTRAINT orders_pkey PRIMARY KEY (id);\n"
    )
    return path


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"jsonl://{tmp_path}/out?protocol=canal-json&partition-num=1"


_SQL = "CREATE TABLE `shop`.`orders` (\n  `id` INT NOT NULL AUTO_INCREMENT,\n  `tags` JSON,\n  PRIMARY KEY (`id`)\n)"


def test_the_tables_of_a_script_are_printed(dump: Path, cli: Cli) -> None:
    assert cli("schema", str(dump), "--dialect", "PostgreSQL").out == (
        "-- A schema of PostgreSQL in TiDB's SQL.\n\n"
        f"-- `tags` is JSON, which accepts lists, maps and structs.\n{_SQL};\n"
    )


def test_the_tables_of_a_script_are_printed_as_json(tmp_path: Path, cli: Cli) -> None:
    script = tmp_path / "t.sql"
    script.write_text("create table T (Id number(3) primary key);\ncreate index i on T (id);")
    printed = cli("schema", script, "--dialect", "oracle", "--schema", "hr", "--json").json
    sql = "CREATE TABLE `hr`.`T` (\n  `ID` DECIMAL(3,0) NOT NULL,\n  PRIMARY KEY (`ID`)\n)"
    assert printed == {
        "dialect": "oracle",
        "assumptions": ["Statements that make no table were skipped: 1 CREATE INDEX."],
        "tables": [{"table": "hr.T", "sql": sql, "assumptions": []}],
    }


def test_emit_reads_a_schema_file_of_another_system(dump: Path, tmp_path: Path, uri: str, cli: Cli) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"id": 1, "tags": ["a", "b"]}\n')
    options = ("--schema", str(dump), "--schema-dialect", "postgres", "--input", str(rows), "--sink-uri", uri)
    warning = cli("emit", *options).err
    assert warning.count("warning: the schema is read as TiDB's, with assumptions:") == 1
    assert "`tags` is JSON" in warning
    assert "CREATE TABLE `shop`.`orders` (" in warning
    (message,) = read_files(tmp_path / "out")
    assert json.loads(message.value or b"")["data"] == [{"id": "1", "tags": '["a", "b"]'}]


def test_generate_makes_rows_of_a_schema_without_assumptions_and_says_nothing(
    tmp_path: Path, uri: str, cli: Cli
) -> None:
    script = tmp_path / "t.sql"
    script.write_text("CREATE TABLE [dbo].[T]([Id] [int] NOT NULL PRIMARY KEY)\nGO\n")
    options = ("--schema", str(script), "--schema-dialect", "sqlserver", "--rows", "5", "--sink-uri", uri)
    assert "warning" not in cli("generate", *options).err
    assert len(list(read_files(tmp_path / "out"))) >= 5


def test_help_and_completion_have_dialects() -> None:
    assert set(re.split(r", | or ", DIALECTS_HELP)) - {"another that sqlglot reads"} < set(DIALECTS)
    assert complete_dialect("sn") == ["snowflake"]
