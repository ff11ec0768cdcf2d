"""Every Python snippet of the README runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "README.md"
SNIPPETS = re.findall(r"^### (.+?)$.*?^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_every_use_has_a_snippet() -> None:
    titles = [title for title, _ in SNIPPETS]
    assert titles == ["Generate traffic", "Replay history", "Property tests", "Without Spark", "From Spark"]


@pytest.mark.spark
@pytest.mark.parametrize(("title", "code"), SNIPPETS, ids=[title for title, _ in SNIPPETS])
def test_a_snippet_runs(spark: Any, title: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, f"README.md: {title}", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    if "print(" in code:
        assert "TIDB_WATERMARK" in printed
