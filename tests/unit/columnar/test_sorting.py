"""Orders of numbers, against a sort of everything."""

from __future__ import annotations

import numpy as np
import pytest

from ticdc_emit.columnar.buffers import order_of_codes, order_of_pairs


@pytest.mark.parametrize("most", [1, 60, 1 << 16, (1 << 16) + 1, 1 << 40])
def test_equal_codes_stay_in_their_order(most: int) -> None:
    codes = np.random.default_rng(1).integers(0, most, 500)
    codes[::50] = most - 1
    assert order_of_codes(codes).tolist() == sorted(range(500), key=lambda place: codes[place])


@pytest.mark.parametrize("tables", [1, 5, 1 << 32])
@pytest.mark.parametrize("least", [0, (1 << 64) - (1 << 32), (1 << 64) - 40])
def test_pairs_go_by_the_first_number_then_by_the_second(tables: int, least: int) -> None:
    rng = np.random.default_rng(2)
    stamps = rng.choice(rng.integers(least, (1 << 64) - 1, 30, np.uint64, endpoint=True), 500)
    for firsts in (stamps, np.sort(stamps), np.sort(stamps)[::-1]):
        seconds = rng.integers(0, tables, 500, np.uint32) if tables < 1 << 32 else np.full(500, tables - 1, np.uint32)
        order = order_of_pairs(firsts, seconds).tolist()
        assert order == sorted(range(500), key=lambda place: (firsts[place], seconds[place]))


def test_nothing_to_order() -> None:
    none = np.zeros(0, np.uint64)
    assert order_of_codes(none).tolist() == order_of_pairs(none, none.astype(np.uint32)).tolist() == []
