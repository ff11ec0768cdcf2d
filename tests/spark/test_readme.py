"""Every Python snippet of the README runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).parents[2] / "README.md"
SNIPPETS = re.findall(r"^### (.+?)$.*?^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def test_the_three_uses_have_snippets() -> None:
    assert len(SNIPPETS) == 3


@pytest.mark.spark
@pytest.mark.parametrize(("title", "code"), SNIPPETS, ids=[title for title, _ in SNIPPETS])
def test_a_snippet_runs(spark: Any, title: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, f"README.md: {title}", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    if "print(" in code:
        assert "TIDB_WATERMARK" in printed
