"""The measurement of public scripts reads what its manifest names, and tells what comes through."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from benchmarks.public_scripts import Source, read_manifest, scripts_of, translate
from ticdc_emit.source_schemas import DIALECTS

FILES = {
    "ddl/a.sql": b"CREATE TABLE a (id int);",
    "ddl/more/b.sql": "\ufeffCREATE TABLE b (id int);".encode("utf-16-le"),
    "ddl/old/c.sql": b"CREATE TABLE c (id int);",
    "ddl/query.sql": b"SELECT 1; -- CREATE TABLE q (id int)",
    "ddl/as_select.sql": b"CREATE TABLE s AS SELECT (1); CREATE TEMP TABLE t (id int);",
    "ddl/rows.sql": b"CREATE TABLE r (id int);" + b" " * 4 * 1024 * 1024,
    "other/d.sql": b"CREATE TABLE d (id int);",
}


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """A repository among the clones, which are in ``tmp_path``."""
    folder = tmp_path / "owner+name"
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(content)

    def git(*arguments: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        command = ["git", "-C", str(folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "scripts")
    return Source("postgres", "owner/name", git("rev-parse", "HEAD"), ("ddl/**/*.sql", "!ddl/old/**"), 250)


def test_scripts_are_the_files_that_create_tables(source: Source, tmp_path: Path) -> None:
    assert dict(scripts_of(source, tmp_path)) == {
        "ddl/a.sql": "CREATE TABLE a (id int);",
        "ddl/more/b.sql": "CREATE TABLE b (id int);",
    }


def test_an_outcome_tells_what_comes_through() -> None:
    assert translate("CREATE TABLE a (id int);", "postgres").kind == "whole"
    part = translate("CREATE TABLE a (id int); CREATE TABLE b AS SELECT 1;", "postgres")
    assert (part.kind, part.tables) == ("in part", 1)
    assert "test.b" in part.reason
    assert translate("CREATE TABLE a (id int, PRIMARY KEY (b));", "postgres").kind == "refused"


def test_the_manifest_names_commits_of_all_dialects() -> None:
    sources = read_manifest()
    assert {source.dialect for source in sources} == set(DIALECTS)
    assert all(len(source.commit) == 40 and source.paths for source in sources)
