"""Two changes of one key in one commit_ts, in a stream of batches: every one is seen, and nothing else."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit import Encoder
from ticdc_emit.arrange.duplicates import OrderCheck
from ticdc_emit.errors import DuplicateChangeError, InvalidValueError

SCHEMA = "create table d.t (id int primary key, v int)"
PLAN = Encoder("memory://t?protocol=canal-json", SCHEMA).plan

changes = st.lists(st.tuples(st.integers(1, 3), st.sampled_from("dci"), st.integers(0, 5)), max_size=12)


@settings(max_examples=examples(400))
@given(changes, st.lists(st.integers(0, 12), max_size=3), st.booleans())
def test_what_is_told_twice(rows: list[tuple[int, str, int]], cuts: list[int], descending: bool) -> None:
    rows = [(stamp, "d" if op == "d" else "c", key) for stamp, op, key in rows]
    rows.sort(key=lambda row: (row[0], row[1] == "c", -row[2] if descending else row[2]))
    check = OrderCheck(PLAN.table("d", "t"))
    borders = [0, *(min(cut, len(rows)) for cut in sorted(cuts)), len(rows)]
    batches = [_batch(rows[start:stop]) for start, stop in pairwise(borders)]
    twice = len({(stamp, key) for stamp, _, key in rows}) < len(rows)
    with pytest.raises(DuplicateChangeError) if twice else nullcontext():
        _check_all(check, batches)


def _check_all(check: OrderCheck, batches: list[pa.RecordBatch]) -> None:
    for batch in batches:
        check.check(batch)


def _batch(rows: list[tuple[int, str, int]]) -> pa.RecordBatch:
    image = pa.struct([("id", pa.int32()), ("v", pa.int32())])
    images = [{"id": key, "v": 0} for _, _, key in rows]
    return pa.record_batch(
        {
            "op": pa.array([op for _, op, _ in rows], pa.string()),
            "commit_ts": pa.array([stamp for stamp, _, _ in rows], pa.int64()),
            "before": pa.array(
                [each if row[1] == "d" else None for each, row in zip(images, rows, strict=True)], image
            ),
            "after": pa.array([None if row[1] == "d" else each for each, row in zip(images, rows, strict=True)], image),
        }
    )


@pytest.mark.parametrize("stamps", [[None, None], [5, None], [None, 5]])
def test_a_change_without_a_time_is_refused(stamps: list[int | None]) -> None:
    batch = _batch([(1, "c", 1), (1, "c", 2)])
    batch = batch.set_column(1, "commit_ts", pa.array(stamps, pa.int64()))
    with pytest.raises(InvalidValueError, match="a commit_ts is null") as refused:
        OrderCheck(PLAN.table("d", "t")).check(batch)
    assert refused.value.row == {"position": stamps.index(None)}
