"""docs/api/cli.md has every command and option as ``tests/cli_page.py`` makes them."""

from __future__ import annotations

from tests.cli_page import PAGE, page


def test_the_page_is_that_of_the_commands() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tests.cli_page"
