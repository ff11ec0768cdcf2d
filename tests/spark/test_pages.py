"""Every Python block and every command of README and docs/ that needs Spark runs as it stands there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from documented import (
    SHELLS,
    Block,
    Workplace,
    blocks_of,
    check_commands,
    check_snippets,
    pages_with,
    sinks_without_admin,
)
from spark_session import ON_CONNECT

from ticdc_emit.testing import EmbeddedKafka

pytestmark = pytest.mark.spark

README = [block for block in blocks_of("README.md") if block.language == "python"]
SLOW = "docs/rows.md#from-spark"  # a Python process for each step of the data source; test_datasource.py runs the same
TITLES = ["Execute SQL", "Generate traffic", "Replay history", "Property tests", "From Spark"]
LAST_PRINTED = {
    "Execute SQL": '"type":"UPDATE"',
    "Generate traffic": '"type":"INSERT"',
    "From Spark": '"type":"INSERT"',
}
"""In what a block of README prints; for others a watermark."""


@pytest.fixture
def workplace(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workplace]:
    with EmbeddedKafka() as kafka:
        here = Workplace(tmp_path, kafka)
        sinks_without_admin(monkeypatch)
        monkeypatch.chdir(here.folder)
        yield here


@pytest.mark.smoke
@pytest.mark.parametrize(("title", "block"), list(zip(TITLES, README, strict=True)), ids=TITLES)
def test_a_use_of_the_readme_runs(
    workplace: Workplace, title: str, block: Block, capsys: pytest.CaptureFixture[str]
) -> None:
    workplace.python(block, {"__name__": "readme"})
    printed = capsys.readouterr().out
    if "print(" in block.code:
        assert LAST_PRINTED.get(title, "TIDB_WATERMARK") in printed
    assert block.printed in (None, printed)


@pytest.mark.parametrize(
    ("page", "blocks"),
    [
        pytest.param(*each, id=each[0], marks=[pytest.mark.slow] if each[0] == SLOW else [])
        for each in pages_with("python", spark=True)
        if each[0] != "README.md"
    ],
)
def test_the_snippets_of_a_page_run(
    workplace: Workplace, page: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    if ON_CONNECT and any("foreachBatch" in block.code for block in blocks):
        pytest.skip("batches run in the server's process")
    check_snippets(workplace, page, blocks, capsys)


@pytest.mark.skipif(ON_CONNECT, reason="commands start a session of their own")
@pytest.mark.parametrize(
    ("page", "blocks"), [pytest.param(*each, id=each[0]) for each in pages_with(*SHELLS, spark=True)]
)
def test_the_commands_of_a_page_run(
    workplace: Workplace, page: str, blocks: list[Block], capsys: pytest.CaptureFixture[str]
) -> None:
    check_commands(workplace, blocks, capsys)
