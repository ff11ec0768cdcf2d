"""Parts are joined in their order, in a tree of little depth."""

from __future__ import annotations

import pytest

from ticdc_emit.spark.frames import balanced_reduce


@pytest.mark.parametrize(
    ("parts", "joined"),
    [("a", "a"), ("ab", "(ab)"), ("abc", "((ab)c)"), ("abcd", "((ab)(cd))"), ("abcde", "(((ab)(cd))e)")],
)
def test_neighbours_are_joined_first(parts: str, joined: str) -> None:
    assert balanced_reduce(lambda one, other: f"({one}{other})", list(parts)) == joined


def test_a_thousand_parts_are_ten_deep_and_stay_as_they_were() -> None:
    parts = [(0, [number]) for number in range(1000)]
    depth, order = balanced_reduce(lambda one, other: (max(one[0], other[0]) + 1, one[1] + other[1]), parts)
    assert (depth, order) == (10, list(range(1000)))
    assert len(parts) == 1000
