"""The vectors of the next lineage, Open Protocol, rare cases, older releases, running changefeeds and files match."""

from __future__ import annotations

from pathlib import Path

import pytest
from conformance.report import Report
from conformance.run import run_conformance
from conformance.vectors import find_vectors
from release_vectors import RELEASED, is_chosen
from vector_files import VECTORS

_ALL = VECTORS.parent
_RARE = sorted(path.relative_to(_ALL).as_posix() for path in _ALL.glob("exactness/*"))
_FOLDERS = sorted(folder.name for folder in RELEASED.iterdir() if folder.is_dir())
_SHARE = 60
_LATER = pytest.mark.system  # what the quick run has no time for


def check(files: list[Path]) -> Report:
    report = run_conformance(files)
    assert [f"{each.title}: {each.detail}" for each in report.mismatches] == []
    return report


@_LATER
def test_the_next_lineage() -> None:
    report = check([_ALL / "next"])
    assert report.total.total >= 15_100
    assert report.registrations.total >= 1_700
    assert report.routes.total >= 1_800
    assert report.catalog.total >= 230
    assert set(report.protocols()) >= {"avro", "canal-json", "debezium", "debezium-avro", "simple"}
    assert report.left_out == {}


OPEN = {"open", "open-noold", "open-delete-key", "open-updated", "open-handle-key"}
BATCHES = {"open-batch4", "open-batch", "open-batch-bytes", "open-batch-claim"}


@pytest.mark.parametrize(
    ("lineage", "variants", "events"),
    [("classic", OPEN | BATCHES, 2726), pytest.param("next", OPEN, 2076, marks=_LATER)],
)
def test_open_protocol_with_messages_of_several_rows(lineage: str, variants: set[str], events: int) -> None:
    report = check([_ALL / "open" / lineage])
    assert set(report.protocols()["open-protocol"]) == variants
    assert report.total.total == events
    assert report.left_out == {}


@pytest.mark.parametrize("folder", _RARE)
def test_rare_cases_in_the_folder_of_each_release_that_behaves_so(folder: str) -> None:
    report = check([_ALL / folder])
    assert report.catalog.matched > 0
    assert report.left_out == {}


@pytest.mark.parametrize(
    ("lineage", "verdicts", "events"),
    [("classic", 858, (529, 529)), pytest.param("next", 849, (515, 514), marks=_LATER)],
)
def test_what_becomes_of_jobs_and_rows_and_what_is_sent(lineage: str, verdicts: int, events: tuple[int, int]) -> None:
    report = check([_ALL / "wire" / lineage])
    assert (report.files, report.verdicts.total) == (122, verdicts)
    sent = [report.protocols()[name].values() for name in ("canal-json", "open-protocol")]
    assert tuple(sum(each.total for each in tallies) for tallies in sent) == events


@pytest.mark.parametrize(("lineage", "checks"), [("classic", 1342), pytest.param("next", 1356, marks=_LATER)])
def test_every_write_of_the_storage_sink(lineage: str, checks: int) -> None:
    report = check([_ALL / "storage" / lineage])
    assert (report.files, report.total.total, report.catalog.total) == (33, checks, 57)
    assert [left.variants for left in report.left_out.values()] == [1]  # times of the clean-up job


@pytest.mark.parametrize("folder", _FOLDERS)
def test_some_cases_of_a_release(folder: str) -> None:
    files = find_vectors([RELEASED / folder])
    chosen = [file for file in files if is_chosen(f"run {file.relative_to(RELEASED).as_posix()}", _SHARE)]
    assert check(chosen or files[:1]).total.total > 0


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("folder", _FOLDERS)
def test_every_case_of_a_release(folder: str) -> None:
    assert check([RELEASED / folder]).total.total > 0


def test_the_vectors_are_of_both_lineages_and_small() -> None:
    assert _RARE == ["exactness/classic", "exactness/classic-v8.5.3", "exactness/next"]
    classic = ("base", "v7.5.7", "v8.1.2", "v8.5.3", "v8.5.7")
    new = ("base", "v26.3.4", "v8.5.4-release.1", "v8.5.5", "v8.5.6", "v8.5.7")
    assert [*(f"classic-{name}" for name in classic), *(f"next-{name}" for name in new)] == _FOLDERS
    assert sum(file.stat().st_size for file in _ALL.rglob("*") if file.is_file()) < 25 << 20
