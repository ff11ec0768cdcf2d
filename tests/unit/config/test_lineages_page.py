"""docs/releases.md lists every switch with what it is in both lineages."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path
from typing import Any

from ticdc_emit.config import CLASSIC, NEXT

PAGE = (Path(__file__).parents[3] / "docs" / "releases.md").read_text()
SECTION = re.compile(r"^### [^\n]* \(`(\w+)`\)\n(.*?)(?=^### |\Z)", re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) \| .+ \|$", re.MULTILINE)


def shown(value: Any) -> str:
    if isinstance(value, frozenset):
        return ", ".join(f"`{each}`" for each in sorted(value)) or "none"
    text = value.decode() if isinstance(value, bytes) else str(value)
    return f"`{text.lower() if value is None or isinstance(value, bool) else text}`"


def test_the_page_has_every_switch_of_every_record() -> None:
    listed = {
        (record, switch): (classic, following)
        for record, rows in SECTION.findall(PAGE)
        for switch, classic, following in ROW.findall(rows)
    }
    records = [each.name for each in fields(CLASSIC) if each.name != "name"]
    held = {
        (record, switch.name): tuple(shown(getattr(getattr(each, record), switch.name)) for each in (CLASSIC, NEXT))
        for record in records
        for switch in fields(getattr(CLASSIC, record))
    }
    assert listed == held
    assert [record for record, _ in SECTION.findall(PAGE)] == records
