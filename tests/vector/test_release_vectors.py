"""The vectors of older releases match: in each run a tenth of every release's cases, by night all of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance import find_vectors, run_conformance
from release_vectors import RELEASED, is_chosen

FOLDERS = sorted(folder.name for folder in RELEASED.iterdir() if folder.is_dir())
_TENTH = 10


def _check(files: list[Path]) -> None:
    report = run_conformance(files)
    assert [f"{each.title}: {each.detail}" for each in report.mismatches] == []
    assert report.total.matched == report.total.total > 0


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_tenth_of_the_cases_matches(folder: str) -> None:
    files = find_vectors([RELEASED / folder])
    _check([file for file in files if is_chosen(f"run {_place(file)}", _TENTH)] or files[:1])


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("folder", FOLDERS)
def test_every_case_matches(folder: str) -> None:
    _check(find_vectors([RELEASED / folder]))


def test_the_vectors_are_of_both_lineages_and_small() -> None:
    assert FOLDERS == [
        "classic-base",
        "classic-v7.5.7",
        "classic-v8.1.2",
        "classic-v8.5.3",
        "classic-v8.5.7",
        "next-base",
        "next-v26.3.4",
        "next-v8.5.4-release.1",
        "next-v8.5.5",
        "next-v8.5.6",
        "next-v8.5.7",
    ]
    assert sum(file.stat().st_size for file in RELEASED.parent.rglob("*") if file.is_file()) < 25 << 20


def _place(file: Path) -> str:
    return file.relative_to(RELEASED).as_posix()
