"""The Python snippets of the pages run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SNIPPETS = [
    pytest.param(page, code, id=page)
    for page in (
        "avro.md",
        "simple.md",
        "debezium.md",
        "changefeed.md",
        "testing.md",
        "consumer.md",
        "scenarios.md",
        "verify.md",
    )
    for code in re.findall(
        r"^```python\n(.*?)^```", (DOCS / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
]


@pytest.mark.parametrize(("page", "code"), SNIPPETS)
def test_a_snippet_runs(page: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(code, page, "exec"), {"__name__": page})
    assert capsys.readouterr().out.strip()


def test_the_page_of_changefeeds_shows_its_messages(capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = (each.values[1] for each in SNIPPETS if each.id == "changefeed.md")
    exec(compile(str(code), "changefeed.md", "exec"), {"__name__": "changefeed"})
    shown = capsys.readouterr().out
    assert '"note":"first"' in shown
    assert '"note":"second"' in shown
