"""The budget of lines: what is above it is told."""

from __future__ import annotations

import pytest

from tests.lines import above, rooms

_MOST = {"ticdc_emit": 5, "tests": 5}


def test_a_room_is_a_folder_and_the_unit_tests_have_one_for_each() -> None:
    files = [
        ("ticdc_emit/tso.py", b"1\n2\n"),
        ("ticdc_emit/sql/nodes/a.py", b"1\n"),
        ("tests/unit/sql/x/test_a.py", b"1\n"),
    ]
    assert rooms(files) == {"ticdc_emit": 2, "ticdc_emit/sql": 1, "tests/unit/sql": 1}


@pytest.mark.parametrize(
    ("lines", "budget", "told"),
    [
        ({"tests": 5}, {"tests": 5}, None),
        ({"tests": 6}, {"tests": 5}, "tests has 6 lines, and 5 are its budget"),
        ({"tests": 4, "tests/new": 1}, {"tests": 4}, "tests/new has no budget in tests/lines.toml"),
        ({}, {"tests/gone": 1}, "tests/gone is in tests/lines.toml only"),
        ({"tests": 1, "tests/a": 1}, {"tests": 3, "tests/a": 3}, "sum up to 6, and 5 is the most: lower another one"),
    ],
)
def test_what_is_above_the_budget_is_told(lines: dict[str, int], budget: dict[str, int], told: str | None) -> None:
    found = above(lines, budget, _MOST)
    assert found == [] if told is None else told in found[0]
