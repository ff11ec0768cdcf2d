"""Words of change tables for operations."""

from __future__ import annotations

import pytest

from ticdc_emit.traffic.replay.history_forms import operation_of


@pytest.mark.parametrize(
    ("words", "meaning"),
    [
        (["I", "insert", "c", "r", " U ", "UPDATE", "update_postimage", "+U", "+I"], "put"),
        (["D", "d", "delete", "-D"], "delete"),
        (["update_preimage", "-U"], "before"),
        (["t", " Truncate"], "truncate"),
        (["x", "", "m", None], None),
    ],
)
def test_words_for_operations(words: list[str | None], meaning: str | None) -> None:
    assert {operation_of(word) for word in words} == {meaning}


def test_words_of_ones_own() -> None:
    assert operation_of("X", {"x": "D"}) == "delete"
    assert operation_of("i", {"I": "delete"}) == "delete", "they go before the known ones"
    assert [word for word in ("i", None, "m") if operation_of(word) is None] == [None, "m"]
