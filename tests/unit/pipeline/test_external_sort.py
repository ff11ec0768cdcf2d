"""The external sort: every row once, in order, whatever fits in memory."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from ticdc_emit.pipeline.encode.external_sort import SortedRuns


@pytest.mark.parametrize("limit", [1, 300, 2_000, 100_000])
def test_windows_follow_each_other_and_have_every_row_once(limit: int) -> None:
    dice = random.Random(9)
    rows = [{"order_key": bytes([dice.randint(0, 9), dice.randint(0, 3)]), "n": n} for n in range(200)]
    kinds = pa.schema([("order_key", pa.binary()), ("n", pa.int64())])
    with SortedRuns(limit) as runs:
        for start in range(0, 200, 13):
            runs.add(pa.RecordBatch.from_pylist(rows[start : start + 13], schema=kinds))
        windows = [window.to_pylist() for window in runs.windows()]
    keys = [row["order_key"] for window in windows for row in window]
    assert all(one <= two for one, two in pairwise(keys))
    assert (len(windows) > 1) == (limit < 100_000)
    assert sorted(row["n"] for window in windows for row in window) == list(range(200))
