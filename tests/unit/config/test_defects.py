"""What some releases crash or fail at: one typed error, made by the record of the defect."""

from __future__ import annotations

import pickle
from dataclasses import fields

import pytest

from tests.release_page import RECORDS, spans
from ticdc_emit.config.releases import CLASSIC, LINEAGES, NEXT, RELEASES, Release
from ticdc_emit.config.switches import Defect
from ticdc_emit.errors import ReleaseDefectError, RowError

DEFECT = Defect("a DELETE of a table with a key crashes", "8.5.4 to 8.5.6, 26.3.1", "next-8.5.7, next-26.3.2")


def test_the_error_names_the_defect_its_releases_and_the_way_out() -> None:
    error = DEFECT.error(table="test.t", row={"id": 1})
    assert isinstance(error, RowError)
    assert str(error) == (
        "a DELETE of a table with a key crashes in TiCDC 8.5.4 to 8.5.6, 26.3.1 [table='test.t', row={'id': 1}]. "
        "Set release to next-8.5.7 or next-26.3.2 or newer, or leave the row out"
    )
    assert (error.releases, error.table) == (DEFECT.releases, "test.t")


def test_the_error_crosses_processes() -> None:
    error = DEFECT.error(table="test.t", column="v", row={"id": 1})
    copied = pickle.loads(pickle.dumps(error))
    assert isinstance(copied, ReleaseDefectError)
    assert (str(copied), copied.context) == (str(error), error.context)


def _defects(release: Release) -> dict[tuple[str, str], Defect]:
    values = {
        (record, switch.name): getattr(getattr(release, record), switch.name)
        for record in RECORDS
        if record not in release.options.unknown_protocols
        for switch in fields(getattr(release, record))
    }
    return {place: value for place, value in values.items() if isinstance(value, Defect)}


PLACES = sorted({place for release in RELEASES.values() for place in _defects(release)})


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_a_defect_names_the_releases_that_have_it(place: tuple[str, str]) -> None:
    for releases in LINEAGES.values():
        having = [names for defect, names in spans(releases, lambda each: _defects(each).get(place)) if defect]
        defect = next((each for release in releases if (each := _defects(release).get(place))), None)
        if defect is not None:
            assert ", ".join(having).replace("-release.1", "") == defect.releases
            for name in defect.gone.split(", "):
                assert place not in _defects(RELEASES[name])


def test_the_newest_releases_have_no_defect() -> None:
    assert (_defects(CLASSIC), _defects(NEXT)) == ({}, {})
