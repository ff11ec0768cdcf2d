"""The total order: by value, never by the place of a row in the input."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit import Encoder
from ticdc_emit.arrange import duplicates
from ticdc_emit.arrange.duplicates import OrderCheck
from ticdc_emit.arrange.order import sort_changes
from ticdc_emit.errors import DuplicateChangeError
from ticdc_emit.plan.tables import TablePlan
from ticdc_emit.schema.catalog import catalog_from_sql
from ticdc_emit.schema.model import TableInfo


def info(columns: str) -> TableInfo:
    return catalog_from_sql(f"create table test.t ({columns})").table("test", "t")


def batch(rows: list[tuple[Any, ...]], **kinds: Any) -> pa.RecordBatch:
    names = ["commit_ts", *(name for name in ("seq", "before", "after") if name in kinds)]
    arrays = [pa.array([row[place] for row in rows], kinds.get(name)) for place, name in enumerate(names)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


KEYED = info("id int primary key, v varchar(9)")
KEYLESS = info("a int, b varchar(9)")


def planned(columns: str) -> TablePlan:
    return Encoder(
        "memory://x?protocol=canal-json", f"create table test.t ({columns})", force_replicate=True
    ).plan.table("test", "t")


ID = pa.struct([("id", pa.int32())])
TEXTS = pa.map_(pa.string(), pa.string())


def orders(table: TableInfo, rows: list[tuple[Any, ...]], **kinds: Any) -> list[Any]:
    """The after images in total order; the same for every order of the input."""
    found = None
    for seed in range(5):
        shuffled = random.Random(seed).sample(rows, len(rows))
        after = sort_changes(batch(shuffled, **kinds), table).column("after").to_pylist()
        assert found is None or after == found
        found = after
    assert found is not None
    return found


def test_integer_keys_compare_by_value_in_every_form() -> None:
    ids = [10, 9, -5, -10, 0, 2**31 - 1]
    typed = orders(KEYED, [(7, {"id": key}) for key in ids], after=ID)
    assert [row["id"] for row in typed] == sorted(ids)
    text = orders(KEYED, [(7, [("id", str(key)), ("v", "x")]) for key in ids], after=TEXTS)
    assert [int(dict(row)["id"]) for row in text] == sorted(ids)


def test_commit_ts_then_seq_then_key() -> None:
    rows = [(2, 0, {"id": 1}), (1, 5, {"id": 2}), (1, 4, {"id": 3}), (1, 4, {"id": 1})]
    after = orders(KEYED, rows, seq=pa.int64(), after=ID)
    assert [row["id"] for row in after] == [1, 3, 2, 1]


def test_a_table_without_a_key_is_ordered_by_all_its_columns() -> None:
    kind = pa.struct([("a", pa.int32()), ("b", pa.string())])
    rows = [(1, {"a": a, "b": b}) for a in (2, None, 1) for b in ("y", "x", None)]
    assert [(row["a"], row["b"]) for row in orders(KEYLESS, rows, after=kind)][:4] == [
        (None, None),
        (None, "x"),
        (None, "y"),
        (1, None),
    ]


def test_a_delete_takes_its_place_by_its_before_image() -> None:
    rows = [(1, {"id": 2}, None), (1, None, {"id": 3}), (1, None, {"id": 1})]
    done = sort_changes(batch(rows, before=ID, after=ID), KEYED)
    assert [(b or a)["id"] for b, a in zip(done["before"].to_pylist(), done["after"].to_pylist(), strict=True)] == [
        1,
        2,
        3,
    ]


def test_two_changes_of_a_key_are_refused_across_batches_too() -> None:
    check = OrderCheck(planned("id int primary key"))
    check.check(batch([(1, {"id": 1}), (2, {"id": 2})], after=ID))
    with pytest.raises(DuplicateChangeError, match="seq") as caught:
        check.check(batch([(2, {"id": 2}), (3, {"id": 2})], after=ID))
    assert caught.value.row == {"id": 2}
    assert caught.value.commit_ts == 2
    OrderCheck(planned("a int")).check(batch([(1, {"a": 1}), (1, {"a": 1})], after=pa.struct([("a", pa.int32())])))


def inserts(keys: pa.Array, **more: pa.Array) -> pa.RecordBatch:
    after = pa.StructArray.from_arrays([keys], ["id"])
    count = len(keys)
    return pa.record_batch({"op": ["c"] * count, "commit_ts": pa.repeat(7, count), "after": after, **more})


def test_the_work_for_one_commit_grows_with_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of what a commit holds already, nothing is grouped again, and its hashes are united a few times each."""
    united = 0
    whole = duplicates._united

    def counted(hashes: Any, roles: Any) -> Any:
        nonlocal united
        united += len(hashes)
        return whole(hashes, roles)

    monkeypatch.setattr(duplicates, "_united", counted)
    monkeypatch.setattr(duplicates, "_refuse_twice", lambda *_: pytest.fail("no two rows have one key"))
    check, count, size = OrderCheck(planned("id int primary key")), 256, 50
    for start in range(0, count * size, size):
        check.check(inserts(pa.array(range(start, start + size))))
    assert united < count * size * 12
    monkeypatch.undo()
    for key in (0, 6_000, count * size - 1):
        with pytest.raises(DuplicateChangeError):
            check.check(inserts(pa.array([key])))


def test_equal_hashes_alone_are_no_duplicates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duplicates, "_hashes", lambda told: np.zeros(told.num_rows, np.uint64))
    check = OrderCheck(planned("id varchar(9) primary key"))
    check.check(inserts(pa.array(["a", "b"])))
    check.check(inserts(pa.array(["c", "d"])))
    with pytest.raises(DuplicateChangeError) as refused:
        check.check(inserts(pa.array(["e", "b"])))
    assert refused.value.row == {"id": "b"}


def test_a_null_in_the_handle_key_is_no_identity() -> None:
    check = OrderCheck(planned("id int primary key"))
    for _ in range(2):
        check.check(inserts(pa.array([None, None, None], pa.int32())))


@pytest.mark.parametrize("kinds", ["cc", "cd", "dc", "cu", "uu", "dd", "du"])
@pytest.mark.parametrize("halves", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("apart", [False, True])
def test_only_the_halves_of_updates_share_a_key(kinds: str, halves: tuple[bool, bool], apart: bool) -> None:
    image = pa.array([{"id": 1}] * 2, ID)
    rows = pa.record_batch(
        {
            "op": list(kinds),
            "commit_ts": pa.array([7, 7]),
            "before": image,
            "after": image,
            "_split": pa.array(halves),
        }
    )
    check = OrderCheck(planned("id int primary key"))
    if apart:
        check.check(rows.slice(0, 1))
        rows = rows.slice(1)
    if set(kinds) == set("cd") and any(halves):
        check.check(rows)
        return
    with pytest.raises(DuplicateChangeError):
        check.check(rows)
