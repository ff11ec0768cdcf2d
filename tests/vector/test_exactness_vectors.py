"""Rare cases, each in the lineages in which TiCDC behaves so."""

from __future__ import annotations

import pytest
from conformance import run_conformance
from vector_files import VECTORS, vector_path

CASES = {
    "rename_lower_case_topic": ("classic", "classic-v8.5.3"),
    "routed_ddl_spaces": ("next",),
}


def test_every_case_is_run() -> None:
    found = {path.name.removesuffix(".json.gz") for path in (VECTORS.parent / "exactness").rglob("*.json.gz")}
    assert found == CASES.keys()


@pytest.mark.parametrize(("name", "release"), [(name, release) for name in CASES for release in CASES[name]])
def test_every_case_matches(name: str, release: str) -> None:
    report = run_conformance([vector_path(name, f"exactness/{release.partition('-')[0]}")], release=release)
    assert [f"{each.title}: {each.detail}" for each in report.mismatches] == []
    assert report.total.matched + report.catalog.matched > 0
    assert report.left_out == {}
