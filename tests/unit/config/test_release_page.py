"""docs/releases.md and docs/api/switches.md have the tables that ``tests/release_page.py`` makes of all releases."""

from __future__ import annotations

import re

from tests.release_page import PAGE, RECORDS, SWITCHES, switches, written


def test_the_pages_have_the_tables_of_the_records() -> None:
    for path, made in ((PAGE, written), (SWITCHES, switches)):
        page = path.read_text()
        assert page == made(page), "run: python -m tests.release_page"


def test_the_page_has_every_record() -> None:
    assert re.findall(r"^## [^\n]* \(`(\w+)`\)$", SWITCHES.read_text(), re.MULTILINE) == RECORDS
