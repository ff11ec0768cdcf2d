"""Every scenario of files: the reference consumer ends where it must, a loader with its false belief does not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import naive_loader as naive
import pytest
from hypothesis_profiles import sample

from ticdc_emit.consume.storage_folder import folder_findings
from ticdc_emit.errors import ConfigError, UnknownTableError
from ticdc_emit.storage.folder import MemoryFolder
from ticdc_emit.traffic.scenarios.comparison import Difference
from ticdc_emit.traffic.scenarios.files import FileScenario, file_scenario, file_scenarios
from ticdc_emit.traffic.scenarios.model import FileScenarioKind

CASES = [(kind.name, protocol) for kind in file_scenarios() for protocol in kind.protocols]


@cache
def made(name: str, protocol: str, release: str | None = None, seed: int = 1) -> FileScenario:
    return file_scenario(name, protocol=protocol, release=release, seed=seed)


# -- what a right loader ends up with ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "protocol"), CASES)
@pytest.mark.parametrize("seed", sample(range(3), 2))
def test_the_reference_consumer_ends_where_it_must(name: str, protocol: str, seed: int) -> None:
    case = made(name, protocol, seed=seed)
    assert case.read().tables == case.expected
    assert any(case.expected.values())


@pytest.mark.parametrize("kind", file_scenarios(), ids=lambda kind: kind.name)
def test_in_every_release_that_has_it(kind: FileScenarioKind) -> None:
    for release in sample(kind.releases("csv"), 4):
        case = made(kind.name, "csv", release)
        assert case.config.release.name == release
        assert case.read().tables == case.expected


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_another_right_loader(name: str, protocol: str) -> None:
    _, found = run(naive.Loader, made(name, protocol))
    assert found == []


@pytest.mark.parametrize(("name", "protocol"), CASES)
def test_the_files_are_those_of_ticdc(name: str, protocol: str) -> None:
    case, folder = made(name, protocol), MemoryFolder()
    for stage in case.stages:
        stage.write(folder)
    assert list(folder_findings(case.config, folder)) == []


# -- what a naive one does --------------------------------------------------------------------------------------------


def run(kind: type[naive.Loader], case: FileScenario) -> tuple[naive.Loader, list[Difference]]:
    loader = kind(case)
    loader.load_all()
    return loader, case.check(loader.rows)


WRONG: dict[str, tuple[type[naive.Loader], Callable[[FileScenario, Any, list[Difference]], object]]] = {
    "index-before-data": (
        naive.IndexedFilesAreThere,
        lambda case, _, found: (
            kinds(found) == {"missing"}
            and len(case.stages) == 2
            and case.stages[0].writes[-1].path.endswith("/meta/CDC.index")
        ),
    ),
    "known-checksum": (
        naive.KnownChecksumsAreOld,  # truncated rows stay
        lambda _, __, found: kinds(found) == {"extra"} and all(int(each.key[0] or 0) < 50 for each in found),
    ),
    "date-rollover": (
        naive.NumbersRiseInAVersion,
        lambda case, _, found: (
            {each.kind for each in found if int(each.key[0] or 0) >= 50} == {"missing"}
            and {write.path.split("/")[-2] for stage in case.stages for write in stage.writes if "/" in write.path}
            >= {"2025-06-15", "2025-06-16"}
        ),
    ),
    "partition-folders": (
        naive.CommitsRiseInATable,
        lambda _, loader, found: "missing" in kinds(found) and {each.key[0] for each in found} <= {*loader.dropped},
    ),
    "files-again": (
        naive.RowsComeOnce,
        lambda _, __, found: "extra" in kinds(found) and "50" in {each.key[0] for each in found},
    ),
    "old-version-again": (
        naive.NewFilesAreNewer,  # right before the rows come again
        lambda case, _, found: (
            ("1", "state", "returned") in {(each.key[0], each.column, each.actual) for each in found}
            and run(naive.NewFilesAreNewer, replace(case, stages=case.stages[:2]))[1] == []
        ),
    ),
}
"""By scenario: a loader that is wrong in one thing, and whether its tables show that."""


def kinds(found: list[Difference]) -> set[str]:
    return {each.kind for each in found}


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", WRONG)
def test_who_believes_what_is_not_so_has_other_tables(name: str, protocol: str, seed: int) -> None:
    kind, is_as_told = WRONG[name]
    case = made(name, protocol, seed=seed)
    loader, found = run(kind, case)
    assert is_as_told(case, loader, found), found


@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_who_expects_the_table_of_every_file_ends(protocol: str) -> None:
    with pytest.raises(UnknownTableError):
        run(naive.TablesOfFilesExist, made("renamed-again", protocol))


# -- the scenarios themselves -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", file_scenarios(), ids=lambda kind: kind.name)
def test_a_seed_tells_the_tables_for_both_protocols(kind: FileScenarioKind) -> None:
    first, second = (made(kind.name, protocol) for protocol in kind.protocols)
    assert (first.schema, first.expected, first.keys) == (second.schema, second.expected, second.keys)


def test_a_release_without_it_is_refused() -> None:
    with pytest.raises(
        ConfigError, match="needs a storage sink that writes the index first, which next does not have"
    ) as refused:
        file_scenario("index-before-data", release="next")
    assert "classic" in refused.value.remedy


def test_stages_are_saved_in_a_directory(tmp_path: Path) -> None:
    case = made("date-rollover", "csv")
    for stage in case.stages:
        stage.save(tmp_path)
    written = {write.path: write.content for stage in case.stages for write in stage.writes}
    assert written == {
        path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    }


def test_it_is_shown_in_a_few_words() -> None:
    case = made("date-rollover", "csv")
    assert repr(case) == "<FileScenario date-rollover as csv, seed 1>"
