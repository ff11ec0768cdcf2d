"""Rare cases, in the folder of each release in which TiCDC behaves so."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import run_conformance
from vector_files import VECTORS

FOLDERS = sorted((VECTORS.parent / "exactness").iterdir())


@pytest.mark.parametrize(
    "file", [file for folder in FOLDERS for file in sorted(folder.iterdir())], ids=lambda file: file.name
)
def test_every_case_matches(file: Path) -> None:
    report = run_conformance([file])
    assert [f"{each.title}: {each.detail}" for each in report.mismatches] == []
    assert report.catalog.matched > 0
    assert report.left_out == {}


def test_the_cases_are_of_both_lineages() -> None:
    assert [folder.name for folder in FOLDERS] == ["classic", "classic-v8.5.3", "next"]
