"""How far apart the commands let watermarks stand."""

from __future__ import annotations

import math

import pytest

from ticdc_emit.cli.demo_data import span_s
from ticdc_emit.cli.place import sparse_interval
from ticdc_emit.config import load_changefeed


@pytest.mark.parametrize("partitions", [1, 3, 16])
@pytest.mark.parametrize("rows", [1, 99, 300, 4_800, 1_000_000])
@pytest.mark.parametrize("seconds", [1.0, 3_600.0, 86_400.0 * 30])
def test_there_is_at_most_one_message_per_hundred_rows(partitions: int, rows: int, seconds: float) -> None:
    config = load_changefeed(f"memory://x/?protocol=simple&partition-num={partitions}")
    interval = sparse_interval(config, rows, seconds)
    ticks = math.floor(seconds / interval) if interval else 0
    assert ticks * partitions <= rows / 100
    assert interval == int(interval)


def test_the_demo_ends_within_its_span() -> None:
    assert 3_600 > span_s(300) > 300 / 5 * 2
