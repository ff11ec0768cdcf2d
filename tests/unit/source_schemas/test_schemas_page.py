"""docs/schemas.md has the tables that ``tests/schemas_page.py`` makes of the types of all dialects."""

from __future__ import annotations

import re

import pytest

from tests.schemas_page import PAGE, written
from ticdc_emit.errors import UnsupportedTypeError
from ticdc_emit.source_schemas import DIALECTS, source_schema
from ticdc_emit.source_schemas.source_types import TYPES


def test_the_page_has_the_types_of_now() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page), "run: python -m tests.schemas_page"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_script_has_the_types_of_the_page(dialect: str) -> None:
    """What the page says of a type holds in a script: the grammar reads every name of it."""
    rows = re.search(
        rf"(?ms)^### {re.escape(DIALECTS[dialect].title)}\n\n(.*?)(?=^#|\Z)", PAGE.read_text(encoding="utf-8")
    )
    assert rows is not None
    seen = set()
    for line in rows[1].strip().splitlines()[2:]:
        types, becomes, plain = (cell.strip() for cell in line.strip("|").split("|"))
        for shown in re.findall(r"`([^`]+)`", types):
            seen.add(re.sub(r"\((n|p,s)\)|\[\]", "", shown).upper())
            written_type = shown.replace("(n)", "(3)").replace("(p,s)", "(12,3)").replace("type[]", "int[]")
            expected = becomes.replace("(n)", "(3)").replace("(p,s)", "(12,3)")
            assert _in_script(dialect, written_type) == expected, shown
            if plain:
                assert _in_script(dialect, re.sub(r"\(.*\)", "", shown)) == plain, shown
    assert seen - {"TYPE"} == set(TYPES[dialect])


def _in_script(dialect: str, kind: str) -> str:
    nested = {"array": "array<int>", "struct": "struct<a int>", "map": "map<int,int>", "range": "range<date>"}
    if dialect in ("bigquery", "spark", "hive"):
        kind = nested.get(kind, kind)
    try:
        return source_schema(f"CREATE TABLE t (c {kind})", dialect).tables[0].columns[0].type
    except UnsupportedTypeError:
        return "refused"
