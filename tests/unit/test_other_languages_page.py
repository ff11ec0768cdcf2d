"""docs/control.md shows the examples' own text: what is on the page is what runs at night."""

from __future__ import annotations

import re
import textwrap

import pytest
from documented import ROOT, Block, blocks_of, text_of

PAGE = "docs/control.md"
PLACES = {"java": "java/src", "go": "go", "py": "python"}
BLOCKS = [block for block in blocks_of(PAGE) if block.language in PLACES]


def _lines(text: str) -> list[str]:
    """Return the lines without the indentation that all of them have; a tab of Go is four spaces on the page."""
    return textwrap.dedent(text.replace("\t", "    ")).strip("\n").split("\n")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.language}-{block.line}")
def test_a_block_is_the_text_of_a_file(block: Block) -> None:
    wanted = _lines(block.code)
    files = [path for path in (ROOT / "examples" / PLACES[block.language]).rglob("*.*") if path.is_file()]
    for path in files:
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        for start in range(len(lines) - len(wanted) + 1):
            if wanted[0] in lines[start] and _lines("\n".join(lines[start : start + len(wanted)])) == wanted:
                return
    pytest.fail(f"{block.place} is not in examples/{PLACES[block.language]}")


def test_each_language_has_a_test_and_a_recipe_for_docker() -> None:
    linked = re.findall(r"\]\(\.\./(examples/[^)]+\.\w+)\)", text_of(PAGE))
    for language in PLACES.values():
        code = [(ROOT / each).read_text("utf-8") for each in linked if each.startswith(f"examples/{language}/")]
        assert any("UPDATE shop.orders SET id = 3" in each for each in code), language
        assert any("/ready" in each for each in code), language


def test_every_project_has_the_same_tables() -> None:
    files = sorted((ROOT / "examples").glob("*/**/orders.sql"))
    own = [path for path in files if not {"target", "testcontainers"} & set(path.parts)]
    assert len(own) == 3
    assert len({path.read_bytes() for path in own}) == 1
