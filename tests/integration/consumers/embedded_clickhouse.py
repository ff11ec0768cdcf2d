"""ClickHouse as a library (chDB), for the tests of its pages."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

from missing_parts import missing

_SHOWN = "output_format_json_quote_64bit_integers = 0, output_format_json_quote_decimals = 1"


class ClickHouse:
    """An embedded ClickHouse with a database of its own."""

    def __init__(self, folder: Path) -> None:
        try:
            from chdb import session
        except ImportError:
            missing("chDB is not installed (pip install chdb)")
        self._session = session.Session(str(folder))

    @property
    def version(self) -> str:
        """The releases of ClickHouse and of chDB."""
        (row,) = self.rows("SELECT version() AS version")
        major, minor, *_ = row["version"].split(".")
        return f"{major}.{minor} (chDB {version('chdb')})"

    def run(self, statements: str) -> None:
        for statement in filter(str.strip, statements.split(";\n")):
            self._session.query(statement)

    def rows(self, query: str, settings: str = "") -> list[dict[str, Any]]:
        """Return what a query shows: DECIMAL as text, other numbers as numbers."""
        given = f"{_SHOWN}, {settings}" if settings else _SHOWN
        shown = self._session.query(f"{query} SETTINGS {given}", "JSONEachRow").bytes().decode()
        return [json.loads(line) for line in shown.split("\n") if line]  # texts may hold other line ends

    def close(self) -> None:
        self._session.close()
