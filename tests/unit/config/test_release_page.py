"""docs/releases.md has the tables that ``tests/release_page.py`` makes of the records of all releases."""

from __future__ import annotations

import re

from tests.release_page import PAGE, RECORDS, written


def test_the_page_has_the_tables_of_the_records() -> None:
    page = PAGE.read_text()
    assert page == written(page), "run: python -m tests.release_page"


def test_the_page_has_every_record() -> None:
    assert re.findall(r"^### [^\n]* \(`(\w+)`\)$", PAGE.read_text(), re.MULTILINE) == RECORDS
