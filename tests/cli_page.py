"""``docs/api/cli.md``: every command with its options, made from the commands themselves.

``python -m tests.cli_page`` writes it; ``tests/unit/cli/test_cli_page.py`` fails if the page is another one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from ticdc_emit.cli.app import app

PAGE = Path(__file__).parents[1] / "docs" / "api" / "cli.md"
_HEAD = """# All commands and options

This page is what `--help` prints. [The command line](../cli.md) shows how to use the commands.
"""
_TABLE = ["| option | default | effect |", "|---|---|---|"]


def _row(parameter: Any) -> str:
    is_argument = parameter.param_type_name == "argument"
    names = [parameter.metavar] if is_argument else [*parameter.opts, *parameter.secondary_opts]
    default = "" if parameter.default in (None, False, ()) or callable(parameter.default) else str(parameter.default)
    cells = [", ".join(f"`{name}`" for name in names), f"`{default}`" if default else "", parameter.help or ""]
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def page() -> str:
    """Return the page."""
    parts = [_HEAD]
    for name, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        about = " ".join((command.help or "").split("\n\n")[0].split())
        rows = [_row(each) for each in command.params if not getattr(each, "hidden", False)]
        parts.append(
            "\n".join([f"## {name}", "", about, "", "| option | default | effect |", "|---|---|---|", *rows, ""])
        )
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
