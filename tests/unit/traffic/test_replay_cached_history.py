"""Packs of rows: no row is lost or in another slice, and each slice's packs are spread over all lanes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pytest

from ticdc_emit.traffic.replay.cached_history import (
    PACK_SCHEMA,
    ROW_HASH,
    ROWS_PER_PACK,
    PackTask,
    UnpackTask,
    slice_name,
)
from ticdc_emit.tso import compose

HOUR = 3_600_000


def rows(*stamps: int | None, **more: list[object]) -> pa.RecordBatch:
    images = pa.array([{"id": number} for number in range(len(stamps))], pa.struct([("id", pa.int64())]))
    columns = {"op": ["c"] * len(stamps), "commit_ts": pa.array(stamps, pa.int64()), "after": images}
    return pa.record_batch(columns | more)


def packs_of(task: PackTask, *batches: pa.RecordBatch, number: int = 0) -> list[dict[str, object]]:
    made = list(task(iter(batches), number))
    assert all(batch.schema == PACK_SCHEMA for batch in made)
    return [row for batch in made for row in batch.to_pylist()]


@dataclass(frozen=True)
class Seen:
    """A task that hands its rows on, with the table that it was told."""

    table: tuple[str, str] | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            names = pa.repeat(str(self.table), batch.num_rows)
            yield pa.record_batch({"told": names, "commit_ts": batch.column("commit_ts")})


def test_rows_come_back_slice_by_slice_with_their_table() -> None:
    stamps = [compose(0), compose(HOUR - 1, 7), compose(HOUR), compose(5 * HOUR)]
    found = packs_of(PackTask("a.t", HOUR, 4), rows(*stamps[:2]), rows(*stamps[2:]))
    assert [each["slice"] for each in found] == [slice_name(0), slice_name(1), slice_name(5)]
    assert [(each["first_ts"], each["last_ts"], each["rows"]) for each in found] == [
        (stamps[0], stamps[1], 2),
        (stamps[2], stamps[2], 1),
        (stamps[3], stamps[3], 1),
    ]
    packs = pa.RecordBatch.from_pylist(found, schema=PACK_SCHEMA)
    unpack = UnpackTask(Seen(), {"a.t": ("a", "t")})  # type: ignore[arg-type]
    back = pa.Table.from_batches(unpack(iter([packs])))
    assert back.column("commit_ts").to_pylist() == stamps
    assert set(back.column("told").to_pylist()) == {"('a', 't')"}


def test_without_a_width_all_rows_are_in_one_slice() -> None:
    found = packs_of(PackTask("", None, 1), rows(compose(1), compose(10 * HOUR)))
    assert [(each["slice"], each["rows"]) for each in found] == [(slice_name(0), 2)]


def test_large_slices_are_of_several_packs_in_all_lanes() -> None:
    stamps = [compose(0, number) for number in range(ROWS_PER_PACK * 8 + 1)]
    found = packs_of(PackTask("", HOUR, 4), rows(*stamps))
    assert [each["rows"] for each in found] == [ROWS_PER_PACK] * 8 + [1]
    assert max(Counter(each["lane"] for each in found).values()) <= 3
    wide = packs_of(PackTask("", HOUR, 1), rows(*stamps[:64], note=["x" * (1 << 20)] * 64))
    assert [each["rows"] for each in wide] == [7] * 9 + [1], "8 MiB each"


@pytest.mark.parametrize("lanes", [2, 3, 200])
def test_small_slices_of_many_tasks_are_spread_too(lanes: int) -> None:
    found = [pack for number in range(12) for pack in packs_of(PackTask("", 1, lanes), rows(compose(0)), number=number)]
    halves = Counter(pack["lane"] * 2 // lanes for pack in found)  # type: ignore[operator]
    assert halves.keys() == {0, 1}
    assert max(halves.values()) - min(halves.values()) <= (4 if lanes == 3 else 2)


def test_rows_without_a_time_are_counted() -> None:
    found = packs_of(PackTask("", HOUR, 2), rows(None, None, compose(0)))
    assert sorted((each["rows"], each["untimed"]) for each in found) == [(0, 2), (1, 0)]


def test_hashes_are_added_up_and_not_packed() -> None:
    (found,) = packs_of(PackTask("", HOUR, 1), rows(compose(0), compose(1), **{ROW_HASH: [-3, 10]}))
    assert found["hash"] == 7
    assert ROW_HASH not in pa.ipc.open_stream(found["body"]).schema.names  # type: ignore[arg-type]


def test_rows_that_name_their_tables() -> None:
    names = {"schema": ["a", "b", "a", "a"], "table": ["t", "u", "t", None]}
    ddl = {"query": [None, "drop table b.u", None, None]}
    batch = rows(*[compose(0)] * 4, **names, **ddl)  # type: ignore[arg-type]
    batch = batch.set_column(0, "op", pa.array(["c", "DDL", "c", "c"]))
    (found,) = packs_of(PackTask("", HOUR, 1), batch)
    assert json.loads(str(found["tables"])) == [["a", "t"]]
