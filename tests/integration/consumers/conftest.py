"""Topics with the cookbook's rows on a real broker, databases, and the figures that the table of results must show."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from comparison import Comparison, Result, results_of_page
from cookbook_send import Measured, Send, sender
from embedded_clickhouse import ClickHouse
from missing_parts import missing
from postgres import Postgres, find_postgres

from ticdc_emit.testing.kraft import KraftBroker


@pytest.fixture(scope="session")
def send(kraft: KraftBroker) -> Send:
    """Sends the cookbook's rows and DDL: see :class:`cookbook_send.Send`."""
    return sender(kraft.bootstrap)


@pytest.fixture
def measured(request: pytest.FixtureRequest) -> Measured:
    """Takes what a test compared: there must be no difference, and measured.md must show these figures.

    Versions are not compared: those of Python packages move.
    """

    def measured(consumer: str, version: str, protocol: str, comparison: Comparison) -> None:
        test = f"{request.path.name}::{request.function.__name__}"
        assert comparison.rows > 0
        assert not comparison.differences, str(comparison)
        line = Result(consumer, version, protocol, f"{comparison.rows:,}", f"{comparison.values:,}", "0", test)
        lines = [replace(each, version=version) for each in results_of_page()]
        assert line in lines, f"measured.md must have the line\n{line}"

    return measured


@pytest.fixture
def clickhouse(tmp_path: Path) -> Iterator[ClickHouse]:
    server = ClickHouse(tmp_path / "clickhouse")
    yield server
    server.close()


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    bin_folder = find_postgres()
    if bin_folder is None:
        missing("PostgreSQL is not installed (Debian: apt install postgresql)")
    # The server is another user, who may not enter the folders that pytest makes.
    with tempfile.TemporaryDirectory(prefix="postgres-", ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        with Postgres(bin_folder, Path(folder) / "server") as server:
            yield server
