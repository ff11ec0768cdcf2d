"""The code of the cookbook as the nightly tests run it: what a reader copies, with this run's addresses."""

from __future__ import annotations

import re
from collections.abc import Mapping

from documented import blocks_of, text_of

KAFKA = "127.0.0.1:9092"
REGISTRY = "http://127.0.0.1:8081"
"""What the pages call Kafka and the schema registry: the addresses of ``ticdc-emit serve``."""


def page_block(page: str, language: str, containing: str = "", *, places: Mapping[str, str] | None = None) -> str:
    """Return the one block of ``docs/cookbook.md#{page}`` in a language that contains a text.

    ``places``: what the page writes, and what is put instead of it; each must be there.
    """
    blocks = [block.code for block in blocks_of(f"docs/cookbook.md#{page}") if block.language == language]
    (code,) = [each for each in blocks if containing in each]
    for written, place in (places or {}).items():
        assert written in code, f"{page}.md: `{written}` is not in the block that contains `{containing}`"
        code = code.replace(written, place)
    return code


def page_table(page: str, first: str) -> dict[str, dict[str, str]]:
    """Return the one table of ``docs/cookbook.md#{page}`` whose first heading is ``first``: cells by row and column."""
    text = text_of(f"docs/cookbook.md#{page}")
    (table,) = re.findall(rf"^\| {first} \|.*\n(?:\|.*\n)+", text, re.MULTILINE)
    head, _, *rows = ([cell.strip() for cell in line.strip("|\n").split("|")] for line in table.splitlines())
    return {row[0]: dict(zip(head[1:], row[1:], strict=True)) for row in rows}
