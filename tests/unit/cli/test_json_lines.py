"""Every command with ``--json`` prints JSON objects, each on one line, and nothing else on stdout."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from child import Cli
from typer.main import get_command

from ticdc_emit.cli.app import app

EXAMPLES = Path(__file__).parents[3] / "examples"
TABLES = str(EXAMPLES / "tables.sql")
ROWS = str(EXAMPLES / "rows")
COMMANDS = {
    "demo": ("--rows", "20"),
    "emit": ("--schema", TABLES, "--input", ROWS, "--sink-uri", "memory://lines?protocol=canal-json"),
    "profile": (f"shop.orders={ROWS}",),
    "generate": ("--schema", "bank", "--rows", "20"),
    "schema": (ROWS, "--format", "csv", "--name", "shop.orders", "--keys", "id"),
    "check": ("--only", "b-a-b"),
    "sql": ("-",),
    "tail": ("--protocol", "simple"),
    "verify": ("--protocol", "simple"),
}
ELSEWHERE = {
    "replay": "needs Spark; tests/unit/cli/test_replay_command.py",
    "serve": "does not end; tests/unit/cli/test_serve.py",
}


def test_every_command_with_json_is_here() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    with_json = {name for name, each in commands.items() if any(option.name == "as_json" for option in each.params)}
    assert with_json == COMMANDS.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("command", COMMANDS)
def test_each_object_is_on_one_line(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cli: Cli) -> None:
    given = COMMANDS[command]
    if command in ("tail", "verify"):
        cli("check", "--only", "b-a-b", "--send", f"jsonl://{tmp_path}?protocol=simple")
        given = (str(tmp_path), *given)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"create table test.t (id int primary key)")))
    lines = cli(command, *given, "--json").out.splitlines()
    assert all(isinstance(json.loads(line), dict) for line in lines)
    assert len(lines) == 1 or command == "tail"
    changes = json.loads(lines[-1]).get("changes", {})  # of a sender, for verify --expect
    assert all(len(each["digest"]) == 16 for each in changes.values())
    assert bool(changes) is (command in ("demo", "emit", "generate"))


def test_a_list_is_one_line_too(cli: Cli) -> None:
    assert len(cli("check", "--list", "--json").json) > 10
