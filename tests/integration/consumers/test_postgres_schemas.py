"""A real PostgreSQL runs the scripts of ``tests/unit/source_schemas``: schema_sql leaves the same tables behind."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from missing_parts import missing
from postgres import Postgres, find_postgres

from ticdc_emit.source_schemas import source_schema

pytestmark = [pytest.mark.integration, pytest.mark.slow]

_SCRIPTS = Path(__file__).parents[2] / "unit" / "source_schemas" / "scripts" / "postgres.sql"
_TABLES = """
SELECT coalesce(json_agg(json_build_array(n.nspname, c.relname,
    (SELECT json_agg(json_build_array(a.attname, a.attnotnull OR t.typnotnull) ORDER BY a.attnum)
      FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
      WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
    (SELECT json_agg(a.attname ORDER BY array_position(i.indkey::int[], a.attnum::int)) FROM pg_index i
      JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = ANY (i.indkey)
      WHERE i.indrelid = c.oid AND i.indisprimary))), '[]')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND c.relpersistence <> 't'
  AND n.nspname NOT IN ('pg_catalog', 'information_schema')
"""
_NOT_HERE = ("every type", "constraints", "defaults that nothing holds")  # types of extensions, tables elsewhere
_WITHOUT_TYPES = "never"
"""What the names of tables begin with whose columns have no types in the script."""


@pytest.fixture(scope="module")
def server() -> Iterator[Postgres]:
    bin_folder = find_postgres()
    if bin_folder is None:
        missing("PostgreSQL is not installed (Debian: apt install postgresql)")
    with tempfile.TemporaryDirectory(prefix="ticdc-emit-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with Postgres(bin_folder, Path(folder) / "server") as server:
            yield server


def _parts() -> list[tuple[str, str]]:
    parts = ("\n" + _SCRIPTS.read_text(encoding="utf-8")).split("\n=== ")[1:]
    named = [part.partition("\n")[::2] for part in parts]
    scripts = [(name, text.partition("\n--- becomes\n")) for name, text in named]
    return [(name, script) for name, (script, becomes, _) in scripts if becomes]


def _run(server: Postgres, database: str, text: str) -> str:
    host, _, port = server.address.partition(":")
    command = ["psql", "-XqAt", "-h", host, "-p", port, "-U", server.user, "-d", database, "-f", "-"]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize(("name", "text"), [part for part in _parts() if part[0] not in _NOT_HERE])
def test_the_tables_are_those_of_postgresql(server: Postgres, name: str, text: str) -> None:
    tables = source_schema(text, "postgres", schema="public").tables
    database = re.sub(r"\W", "_", name).lower()
    _run(server, server.user, f"CREATE DATABASE {database};")
    schemas = "".join(f'CREATE SCHEMA IF NOT EXISTS "{table.schema}";\n' for table in tables if table.schema != "hr")
    script = re.sub(
        r"(?m)^(CREATE SCHEMA (?!hr)|ALTER \w+ .* OWNER|GRANT|\\restrict).*$|AUTHORIZATION boss|CREATE FOREIGN .*",
        "",
        text,
    )
    _run(server, database, f"SET search_path = public;\n{schemas}{script}")
    found: list[Any] = json.loads(_run(server, database, _TABLES))
    expected = {
        (table.schema, table.name): ([[column.name, not column.nullable] for column in table.columns], list(table.keys))
        for table in tables
    }
    actual = {(schema, table): (columns, keys or []) for schema, table, columns, keys in found}
    assert {key: value for key, value in actual.items() if not key[1].startswith(_WITHOUT_TYPES)} == expected
