"""The tables of ``docs/schemas.md``, made from the rules of ``source_schemas/source_types.py``.

``python -m tests.schemas_page`` writes them into the page, between a heading and the next one;
``tests/unit/source_schemas/test_schemas_page.py`` fails if the page has others.
"""

from __future__ import annotations

import re
from pathlib import Path

from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.source_schemas import DIALECTS
from ticdc_emit.source_schemas.source_types import TYPES, SourceType, tidb_type

PAGE = Path(__file__).parents[1] / "docs" / "schemas.md"
_REFUSED = "refused"


def _type(dialect: str, name: str, *arguments: str) -> str:
    try:
        choice = tidb_type(dialect, SourceType(name, arguments, name))
    except UnsupportedTypeError:
        return _REFUSED
    return "" if choice is None else choice.text


def _row(dialect: str, name: str) -> tuple[str, str, str]:
    """Return a type as it is written, what it becomes, and what it becomes without its arguments."""
    plain, shown = _type(dialect, name), name.lower()
    digits = _type(dialect, name, "12", "3")
    if digits == "DECIMAL(12,3)":
        return f"{shown}(p,s)", "DECIMAL(p,s)", plain
    for length in ("7", "3"):
        found = _type(dialect, name, length)
        if found != plain and f"({length})" in found:
            first, space, zone = shown.partition(" ") if shown.endswith(" zone") else (shown, "", "")
            return f"{first}(n){space}{zone}", found.replace(f"({length})", "(n)"), plain
    return shown, plain, ""


def table(dialect: str) -> str:
    """Return the table of a dialect: types that become the same are one row."""
    groups: dict[tuple[str, str], list[str]] = {}
    for name in TYPES[dialect]:
        shown, becomes, plain = _row(dialect, name)
        groups.setdefault((becomes, plain), []).append(f"`{shown}`")
    if dialect == "postgres":
        groups.setdefault(("JSON", ""), []).append("`type[]`")
    lines = [f"| {DIALECTS[dialect].title} | TiDB | without arguments |", "|---|---|---|"]
    lines += [f"| {' '.join(names)} | {becomes} | {plain} |" for (becomes, plain), names in groups.items()]
    return "\n".join(line.replace("|  |", "| |") for line in lines) + "\n"


def written(page: str) -> str:
    """Return the page with the tables of now."""
    for dialect, lexicon in DIALECTS.items():
        heading = f"### {lexicon.title}\n"
        before, _, rest = page.partition(heading)
        following = re.search(r"(?m)^#", rest)
        after = rest[following.start() :] if following is not None else ""
        page = f"{before}{heading}\n{table(dialect)}\n{after}"
    return page.rstrip("\n") + "\n"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
