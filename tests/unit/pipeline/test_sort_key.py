"""The total order: by value, never by the place of a row. Keys give their values back, and show what comes twice."""

from __future__ import annotations

import datetime as dt
import random
from contextlib import nullcontext
from itertools import combinations, pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples

from ticdc_emit import Encoder
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.pipeline.arrange import conflicting_changes
from ticdc_emit.pipeline.arrange.conflicting_changes import ConflictCheck
from ticdc_emit.pipeline.arrange.sort_key import commit_stamps, key_values, order_keys, order_of, rank_by_kind
from ticdc_emit.pipeline.arrange.transactions import ranks, with_whole_numbers
from ticdc_emit.pipeline.plan.table_plans import TablePlan


def planned(columns: str) -> TablePlan:
    encoder = Encoder("memory://x?protocol=canal-json", f"create table test.t ({columns})", force_replicate=True)
    return encoder.plan.table("test", "t")


ID = pa.struct([("id", pa.int32())])
KEYED = planned("id int primary key, v varchar(9)")
KEYLESS = planned("a int, b varchar(9)")


def batch(rows: list[tuple[Any, ...]], **kinds: Any) -> pa.RecordBatch:
    names = ["commit_ts", *(name for name in ("start_ts", "seq", "before", "after") if name in kinds)]
    arrays = [pa.array([row[place] for row in rows], kinds.get(name)) for place, name in enumerate(names)]
    ops = ["d" if "before" in kinds and row[-1] is None else "c" for row in rows]
    return pa.RecordBatch.from_arrays([pa.array(ops, pa.string()), *arrays], names=["op", *names])


def keys_of(rows: pa.RecordBatch, table: TablePlan) -> pa.Array:
    rows = with_whole_numbers(rows, "test.t")
    return order_keys(rows, table, 0, ranks(rows, "by-kind"))


def in_order(table: TablePlan, rows: list[tuple[Any, ...]], **kinds: Any) -> list[Any]:
    found = None
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        order = order_of(keys_of(batch(shuffled, **kinds), table))
        after = shuffled if order is None else [shuffled[place] for place in order.to_pylist()]
        assert found is None or after == found
        found = after
    assert found is not None
    return found


def test_a_delete_takes_its_place_by_its_before_image() -> None:
    rows = [(1, {"id": 1}, None), (1, {"id": 3}, None), (1, None, {"id": 2})]
    assert in_order(KEYED, rows, before=ID, after=ID) == rows


CELLS: dict[str, tuple[str, pa.DataType, st.SearchStrategy[Any]]] = {
    "integer": ("bigint", pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "unsigned": ("bigint unsigned", pa.uint64(), st.integers(0, 2**64 - 1)),
    "decimal": ("decimal(20,3)", pa.decimal128(20, 3), st.decimals(-(10**16), 10**16, places=3)),
    "long decimal": ("decimal(60,3)", pa.decimal256(60, 3), st.decimals(-(10**50), 10**50, places=3)),
    "double": ("double", pa.float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "text": ("varchar(99)", pa.string(), st.text(st.characters(codec="utf-8"), max_size=5)),
    "bytes": ("varbinary(99)", pa.binary(), st.binary(max_size=5)),
    "date": ("date", pa.date32(), st.dates()),
    "datetime": ("datetime(6)", pa.timestamp("us"), st.datetimes()),
    "time": ("time(6)", pa.duration("us"), st.timedeltas(dt.timedelta(hours=-838), dt.timedelta(hours=838))),
}


@pytest.mark.parametrize("name", CELLS)
def test_keys_compare_as_their_values_and_give_them_back(name: str) -> None:
    column, kind, values = CELLS[name]
    table = planned(f"id {column}, w bigint, primary key (id, w)")

    @settings(max_examples=examples(100))
    @given(st.lists(st.tuples(values, st.integers(-3, 3)), min_size=2, max_size=6))
    def check(pairs: list[tuple[Any, int]]) -> None:
        image = pa.array([{"id": one, "w": two} for one, two in pairs], pa.struct([("id", kind), ("w", pa.int64())]))
        rows = pa.record_batch({"op": ["c"] * len(pairs), "commit_ts": pa.repeat(7, len(pairs)), "after": image})
        keys = keys_of(rows, table)
        order = order_of(keys)
        ordered = pairs if order is None else [pairs[place] for place in order.to_pylist()]
        assert ordered == sorted(pairs, key=lambda pair: (_comparable(pair[0]), pair[1]))
        info = table.newest
        assert [tuple(key_values(key, info).values()) for key in keys.to_pylist()] == pairs

    check()


def _comparable(value: Any) -> Any:
    return value.encode() if isinstance(value, str) else value


def test_a_short_text_comes_before_what_it_begins() -> None:
    table = planned("id varchar(9), w varchar(9), primary key (id, w)")
    kind = pa.struct([("id", pa.string()), ("w", pa.string())])
    rows = [(1, {"id": one, "w": two}) for one in ("", "\x00", "\x00a", "a", "a\x00", "ab") for two in ("", "z")]
    assert in_order(table, rows, after=kind) == rows


def test_long_texts_without_a_key_differ_and_never_change_places() -> None:
    kind = pa.struct([("a", pa.int32()), ("b", pa.string())])
    rows = [(1, {"a": 1, "b": "x" * 5000 + end}) for end in "abc"]
    assert len(in_order(KEYLESS, rows, after=kind)) == 3
    keys = keys_of(batch(rows, after=kind), KEYLESS)
    assert len(set(keys.to_pylist())) == 3
    assert max(map(len, keys.to_pylist())) < 1200


def test_the_sections_of_a_key() -> None:
    rows = pa.record_batch(
        {
            "op": ["d", "u", "c"],
            "commit_ts": pa.array([2**64 - 1, 5, 1 << 63], pa.uint64()),
            "before": pa.array([{"id": 1}] * 3, ID),
            "after": pa.array([{"id": 1}] * 3, ID),
        }
    )
    keys = keys_of(rows, KEYED)
    assert commit_stamps(keys).tolist() == [2**64 - 1, 5, 1 << 63]
    assert [key[30] for key in keys.to_pylist()] == [0, 1, 2]
    flat = order_keys(with_whole_numbers(rows, "test.t"), KEYED, 0, pa.array([0, 0, 0]).to_numpy())

    assert rank_by_kind(flat, pa.array([key[:30] for key in flat.to_pylist()[1:]])).to_pylist() == keys.to_pylist()
    assert key_values(keys[0].as_py(), KEYED.newest) == {"id": 1}


@given(
    st.lists(
        st.tuples(st.sampled_from(["a" * 12, "a" * 11 + "b", "b" * 12, "b"]), st.text("xy", max_size=2)), min_size=2
    )
)
def test_bytes_of_any_length_are_in_their_order(parts: list[tuple[str, str]]) -> None:
    keys = [(head + tail).encode() for head, tail in parts]
    order = order_of(pa.array(keys, pa.binary()))
    expected = sorted(range(len(keys)), key=lambda place: keys[place])
    assert (list(range(len(keys))) if order is None else order.to_pylist()) == expected


TABLE = planned("id int primary key")


def conflict_keys_of(batch: pa.RecordBatch, table: TablePlan = TABLE) -> pa.Array:
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
    keys = conflict_keys_of(
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
    check.check(conflict_keys_of(inserts(pa.array([1, 2]))))
    with pytest.raises(DuplicateChangeError, match="nothing orders them") as refused:
        check.check(conflict_keys_of(inserts(pa.array([3, 2]))))
    error = refused.value
    assert (error.table, error.row, error.commit_ts) == ("test.t", {"id": 2}, 7)
    assert "seq" in str(error)


def test_changes_of_one_rank_are_compared_with_their_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conflicting_changes, "_named", pytest.fail)
    check = ConflictCheck([TABLE])
    for start in range(0, 40, 2):
        check.check(conflict_keys_of(inserts(pa.array([start, start + 1]))))
    with pytest.raises(DuplicateChangeError) as refused:
        check.check(conflict_keys_of(inserts(pa.array([39, 40]))))
    assert refused.value.row == {"id": 39}


def test_a_commit_of_many_windows() -> None:
    check, count, size = ConflictCheck([TABLE]), 256, 50
    for change, first in ((deletes, 0), (inserts, count * size // 2)):
        for start in range(first, first + count * size // 2, size):
            check.check(conflict_keys_of(change(pa.array(range(start, start + size)))))
    for key in (0, 6_000, count * size - 1):
        with pytest.raises(DuplicateChangeError) as refused:
            check.check(conflict_keys_of(inserts(pa.array([key]))))
        assert refused.value.row == {"id": key}


@pytest.mark.parametrize(("columns", "keys"), [("id int primary key", [None] * 3), ("id int", [1, 1, 1])])
def test_a_change_without_a_key_is_never_told_twice(columns: str, keys: list[int | None]) -> None:
    table = planned(columns)
    check = ConflictCheck([table])
    for _ in range(2):
        check.check(conflict_keys_of(inserts(pa.array(keys, pa.int32())), table))
