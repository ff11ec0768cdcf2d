"""The tables of ``docs/releases.md`` and ``docs/api/switches.md``, made from the records of all releases.

``python -m tests.release_page`` writes them into the pages, after a comment or a heading;
``tests/unit/config/test_release_page.py`` fails if the pages have others.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import partial
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, TypeVar

from ticdc_emit.config.protocols import WRITTEN
from ticdc_emit.config.releases import CLASSIC, LINEAGES, RELEASES, Release
from ticdc_emit.config.switches import Defect

_Text = TypeVar("_Text")

PAGE = Path(__file__).parents[1] / "docs" / "releases.md"
SWITCHES = PAGE.parent / "api" / "switches.md"
RECORDS = [each.name for each in fields(Release) if each.name != "name"]


def spans(releases: Iterable[Release], text: Callable[[Release], _Text]) -> Iterator[tuple[_Text, str]]:
    """Yield the texts in order, each with the releases that have it: ``8.5.0 to 8.5.3``."""
    for shown, group in groupby(releases, key=text):
        names = [each.name.partition("-")[2] or each.name for each in group]
        yield shown, names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _shown(value: Any) -> str:
    if isinstance(value, Defect):
        return "fails"
    if isinstance(value, frozenset):
        return ", ".join(f"`{each}`" for each in sorted(value)) or "none"
    if value is None or isinstance(value, bool):
        return "yes" if value else "no"
    return f"`{value.decode() if isinstance(value, bytes) else value}`"


def _cells(text: Callable[[Release], str]) -> list[str]:
    """Return a cell for each lineage: the text of its oldest release, and the others with that since which they are."""
    cells = []
    for releases in LINEAGES.values():
        (first, _), *later = spans(releases, text)
        cells.append("; ".join([first, *(f"since {names.partition(' to ')[0]} {shown}" for shown, names in later)]))
    return cells


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(line) + " |" for line in [head, *rows]]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]]) + "\n"


def _docstrings(record: type) -> dict[str, str]:
    """Return what the record says of each switch: the text below the field."""
    (body,) = ast.parse(inspect.getsource(record)).body
    texts = {}
    for field, text in pairwise(body.body):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            texts[ast.unparse(field.target)] = " ".join(str(text.value.value).replace("``", "`").split())
    return texts


def protocols() -> str:
    """Which release has which protocol."""

    def kept(protocol: str, release: Release) -> str:
        if protocol in release.options.unknown_protocols:
            return "no"
        return "rows only" if protocol in release.options.rows_only else "yes"

    rows = [[f"`{each}`", *_cells(partial(kept, each.value))] for each in WRITTEN]
    return _table(["protocol", *LINEAGES], rows)


def options() -> str:
    """Which releases know which option, of those that not all know."""
    names = sorted(set().union(*(release.options.unknown for release in RELEASES.values())))

    def known(option: str, releases: Iterable[Release]) -> str:
        having = [names for has, names in spans(releases, lambda each: option not in each.options.unknown) if has]
        return ", ".join(having).replace(" to classic", " on").replace(" to master", " on") or "none"

    rows: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        rows.setdefault(tuple(known(name, each) for each in LINEAGES.values()), []).append(f"`{name}`")
    return _table(["option", *LINEAGES], [[", ".join(same), *cells] for cells, same in rows.items()])


def defects() -> str:
    """What fails in some releases."""
    found: dict[Defect, None] = {}
    for release in RELEASES.values():
        for record in RECORDS:
            for switch in fields(getattr(release, record)):
                value = getattr(getattr(release, record), switch.name)
                if isinstance(value, Defect):
                    found[value] = None
    return _table(["what fails", "releases", "gone in"], [[each.cause, each.releases, each.gone] for each in found])


def switches_of(record: str) -> str:
    """Return the table of one record's switches."""
    texts = _docstrings(type(getattr(CLASSIC, record)))

    def kept(switch: str, release: Release) -> str:
        return _shown(getattr(getattr(release, record), switch))

    names = [switch.name for switch in fields(getattr(CLASSIC, record)) if switch.name != "unknown"]
    rows = [[f"`{name}`", *_cells(partial(kept, name)), texts[name].rstrip(".")] for name in names]
    return _table(["switch", *LINEAGES, "effect"], rows)


def written(page: str) -> str:
    """Return the page with its tables as the records make them."""
    tables = {"protocols-by-release": protocols, "options-by-release": options, "defects-by-release": defects}
    for name, table in tables.items():
        page = _replaced(page, rf"<!-- {name} -->\n", table())
    return page


def switches(page: str) -> str:
    """Return the page of switches with its tables as the records make them."""
    for record in RECORDS:
        page = _replaced(page, rf"## [^\n]* \(`{record}`\)\n\n", switches_of(record))
    return page


def _replaced(page: str, before: str, table: str) -> str:
    page, count = re.subn(rf"({before})(?:\|[^\n]*\n)*", lambda found: found[1] + table, page)
    assert count == 1, f"the page has no place for the table after {before!r}"
    return page


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
    SWITCHES.write_text(switches(SWITCHES.read_text()))
