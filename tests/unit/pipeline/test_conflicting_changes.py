"""Two changes of one key in one transaction: every pair is seen wherever windows end, and nothing else is."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit import Encoder
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.pipeline.arrange import conflicting_changes
from ticdc_emit.pipeline.arrange.conflicting_changes import ConflictCheck
from ticdc_emit.pipeline.arrange.sort_key import order_keys, order_of
from ticdc_emit.pipeline.arrange.transactions import ranks, with_whole_numbers
from ticdc_emit.pipeline.plan.table_plans import TablePlan

ID = pa.struct([("id", pa.int32())])


def planned(columns: str) -> TablePlan:
    encoder = Encoder("memory://x?protocol=canal-json", f"create table test.t ({columns})", force_replicate=True)
    return encoder.plan.table("test", "t")


TABLE = planned("id int primary key")


def keys_of(batch: pa.RecordBatch, table: TablePlan = TABLE) -> pa.Array:
    batch = with_whole_numbers(batch, "test.t")
    keys = order_keys(batch, table, 0, ranks(batch, "by-kind"))
    order = order_of(keys)
    return keys if order is None else keys.take(order)


def inserts(keys: pa.Array, **more: pa.Array) -> pa.RecordBatch:
    count = len(keys)
    after = pa.StructArray.from_arrays([keys], ["id"])
    return pa.record_batch({"op": ["c"] * count, "commit_ts": pa.repeat(7, count), "after": after, **more})


def deletes(keys: pa.Array) -> pa.RecordBatch:
    count = len(keys)
    before = pa.StructArray.from_arrays([keys], ["id"])
    return pa.record_batch({"op": ["d"] * count, "commit_ts": pa.repeat(7, count), "before": before})


# commit_ts, start_ts, op, whether it is half of an update, seq, key
CHANGES = st.tuples(
    st.integers(1, 2), st.integers(1, 2), st.sampled_from("dcu"), st.booleans(), st.integers(1, 2), st.integers(0, 3)
)
ROLES = {"d": {"ends"}, "c": {"begins"}, "u": {"ends", "begins"}}


def roles(change: tuple[Any, ...]) -> set[str]:
    return ROLES[change[2]] | (set() if change[3] else {"whole"})


def collide(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    same = (one[0], one[1], one[4], one[5]) == (other[0], other[1], other[4], other[5])
    return same and bool(roles(one) & roles(other))


@settings(max_examples=examples(800))
@given(st.lists(CHANGES, max_size=10), st.lists(st.integers(0, 10), max_size=4))
def test_pairs_are_seen_wherever_windows_end(changes: list[tuple[Any, ...]], cuts: list[int]) -> None:
    changes = [change if change[2] != "u" else (*change[:3], False, *change[4:]) for change in changes]
    stamps, starts, ops, halves, seqs, ids = ([change[place] for change in changes] for place in range(6))
    images = pa.array([{"id": key} for key in ids], ID)
    keys = keys_of(
        pa.record_batch(
            {
                "op": pa.array(ops, pa.string()),
                "commit_ts": pa.array(stamps, pa.int64()),
                "start_ts": pa.array(starts, pa.int64()),
                "seq": pa.array(seqs, pa.int64()),
                "before": images,
                "after": images,
                "_split": pa.array(halves, pa.bool_()),
            }
        )
    )
    check = ConflictCheck([TABLE])
    twice = any(collide(one, other) for one, other in combinations(changes, 2))
    borders = [0, *(min(cut, len(keys)) for cut in sorted(cuts)), len(keys)]
    with pytest.raises(DuplicateChangeError) if twice else nullcontext():
        for start, stop in pairwise(borders):
            check.check(keys.slice(start, stop - start))


def test_the_error_names_table_key_and_commit() -> None:
    check = ConflictCheck([TABLE])
    check.check(keys_of(inserts(pa.array([1, 2]))))
    with pytest.raises(DuplicateChangeError, match="nothing orders them") as refused:
        check.check(keys_of(inserts(pa.array([3, 2]))))
    error = refused.value
    assert (error.table, error.row, error.commit_ts) == ("test.t", {"id": 2}, 7)
    assert "seq" in str(error)


def test_changes_of_one_rank_are_compared_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicting_changes, "_hashes", pytest.fail)
    check = ConflictCheck([TABLE])
    for start in range(0, 40, 2):
        check.check(keys_of(inserts(pa.array([start, start + 1]))))
    with pytest.raises(DuplicateChangeError) as refused:
        check.check(keys_of(inserts(pa.array([39, 40]))))
    assert refused.value.row == {"id": 39}


def test_a_commit_of_many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a transaction holds already is not gone through again, and its hashes are united a few times each."""
    united = 0
    whole = conflicting_changes._distinct

    def counted(hashes: Any, roles: Any) -> Any:
        nonlocal united
        united += len(hashes)
        return whole(hashes, roles)

    monkeypatch.setattr(conflicting_changes, "_distinct", counted)
    check, count, size = ConflictCheck([TABLE]), 256, 50
    for change, first in ((deletes, 0), (inserts, count * size // 2)):
        for start in range(first, first + count * size // 2, size):
            check.check(keys_of(change(pa.array(range(start, start + size)))))
    assert 0 < united < count * size * 12
    for key in (0, 6_000, count * size - 1):
        with pytest.raises(DuplicateChangeError):
            check.check(keys_of(inserts(pa.array([key]))))


def test_equal_hashes_alone_are_not_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicting_changes, "_hashes", lambda identities: np.zeros(len(identities), np.int64))
    table = planned("id varchar(9) primary key")
    check = ConflictCheck([table])
    check.check(keys_of(deletes(pa.array(["a", "b"])), table))
    check.check(keys_of(inserts(pa.array(["c", "d"])), table))
    with pytest.raises(DuplicateChangeError) as refused:
        check.check(keys_of(inserts(pa.array(["b", "e"])), table))
    assert refused.value.row == {"id": "b"}


@pytest.mark.parametrize(("columns", "keys"), [("id int primary key", [None] * 3), ("id int", [1, 1, 1])])
def test_a_change_without_a_key_is_never_told_twice(columns: str, keys: list[int | None]) -> None:
    table = planned(columns)
    check = ConflictCheck([table])
    for _ in range(2):
        check.check(keys_of(inserts(pa.array(keys, pa.int32())), table))
