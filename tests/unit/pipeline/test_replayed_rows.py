"""A batch that comes again must have the rows that it had: values and order count, tasks and pieces do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.memory import MemorySink, messages
from ticdc_emit.errors import ConfigError, StateError
from ticdc_emit.pipeline.deliver.deliver_task import rows_digest
from ticdc_emit.pipeline.deliver.merge import MergedRows
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.tso import compose

SCHEMA = "create table s.t (id int primary key, v varchar(10))"
TYPE = pa.schema(
    [("op", pa.string()), ("commit_ts", pa.int64()), ("after", pa.struct([("id", pa.int64()), ("v", pa.string())]))]
)


def feed(store: str, state: Path, **options: Any) -> Changefeed:
    config = load_changefeed(
        f"memory://{store}/t?protocol=canal-json&partition-num=4", {"sink": {"dispatchers": _BY_KEY}}
    )
    return Changefeed(config, MemorySink(store), SCHEMA, options=RunOptions(state_uri=Secret(str(state)), **options))


_BY_KEY = [{"matcher": ["*.*"], "partition": "index-value"}]


def batch(values: dict[int, str | None], pieces: int = 1) -> ArrowBatch:
    rows: list[dict[str, Any]] = [
        {"op": "c", "commit_ts": compose(1_700_000_000_000 + id_), "after": {"id": id_, "v": value}}
        for id_, value in values.items()
    ]
    table = pa.Table.from_pylist(rows, schema=TYPE)
    size = -(-len(rows) // pieces)
    return ArrowBatch(table.combine_chunks().to_batches(max_chunksize=size), "s.t")


ROWS: dict[int, str | None] = {1: "a", 2: "b", 3: "c"}
OTHERS: dict[str, dict[int, str | None]] = {
    "a value": {1: "a", 2: "b", 3: "d"},
    "a NULL": {1: "a", 2: "b", 3: None},
    "a key": {1: "a", 2: "b", 4: "c"},
    "moved bytes": {1: "ab", 2: "", 3: "c"},
}


@pytest.mark.parametrize("others", OTHERS.values(), ids=OTHERS)
def test_a_finished_batch_with_other_values_is_refused_before_its_first_message(
    store: str, tmp_path: Path, others: dict[int, str | None]
) -> None:
    feed(store, tmp_path).run(batch(ROWS), 0, final=False)
    before = messages(store)
    with pytest.raises(StateError, match="as many rows as it had") as refused:
        feed(store, tmp_path).run(batch(others), 0, final=False)
    assert refused.value.batch_id == 0
    assert refused.value.remedy
    assert messages(store) == before


def test_the_same_rows_in_other_pieces_and_another_order_are_the_same_batch(store: str, tmp_path: Path) -> None:
    values: dict[int, str | None] = {id_: f"v{id_}" if id_ % 3 else None for id_ in range(1, 40)}
    feed(store, tmp_path).run(batch(values), 0, final=False)
    sent = [(each.partition, each.value) for each in messages(store)]
    feed(store, tmp_path).run(batch(dict(reversed(values.items())), pieces=7), 0, final=False)
    again = [(each.partition, each.value) for each in messages(store)]
    assert sorted(again) == sorted(2 * sent)


def test_finish_keeps_the_digest(store: str, tmp_path: Path) -> None:
    feed(store, tmp_path).run(batch(ROWS), 0, final=False)
    feed(store, tmp_path).finish()
    with pytest.raises(StateError, match="messages differ"):
        feed(store, tmp_path).run(batch(OTHERS["a value"]), 0, final=False)


def test_the_digest_is_the_same_on_every_machine() -> None:
    cells = {"key": pa.array([b"k", b"l", b""], pa.binary()), "value": pa.array([b"v", None, b"w"], pa.binary())}
    rows, stamps = pa.record_batch(cells), np.array([5, (1 << 64) - 1, 7], np.uint64)
    merged = MergedRows([rows.take(pa.array([2, 0, 1]))], stamps, np.array([1, 2, 0]))
    once = rows_digest(("t", 3), merged, 0)
    parts = [rows_digest(("t", 3), MergedRows([rows.slice(n, 1)], stamps[n : n + 1]), n) for n in range(3)]
    assert once == sum(parts) % (1 << 63) == 3650876614847988868
    assert once not in (rows_digest(("t", 2), merged, 0), rows_digest(("t", 3), merged, 1))


def one(number: int) -> ArrowBatch:
    return batch({number: str(number)})


@pytest.mark.parametrize(("count", "is_kept"), [(50, True), (105, True), (105, False)])
def test_a_deleted_checkpoint_is_no_new_changefeed(store: str, tmp_path: Path, count: int, is_kept: bool) -> None:
    """Spark begins at batch 0 again, where the state knows of later batches: of their watermark, DDL and BOOTSTRAPs."""
    running = feed(store, tmp_path) if is_kept else feed_in_memory(store)
    for number in range(count):
        running.run(one(number), number, final=False)
    before, records = messages(store), sorted(path.name for path in tmp_path.glob("batch-*"))
    if is_kept:
        running.close()
        running = feed(store, tmp_path)
    for rows in (batch({901: "a", 902: "b"}), batch({903: "c"}), batch({901: "a", 902: "b"})):
        with pytest.raises(StateError) as refused:
            running.run(rows, 0, final=False)
        if count > 100:
            assert refused.value.message.startswith(f"the batch has no record, but batch {count - 1} has one")
            assert "checkpoint" in refused.value.remedy
            assert refused.value.batch_id == 0
    assert messages(store) == before
    assert sorted(path.name for path in tmp_path.glob("batch-*")) == records
    assert running.run(one(count), count, final=False).rows == 1


def feed_in_memory(store: str) -> Changefeed:
    config = load_changefeed(f"memory://{store}/t?protocol=canal-json&partition-num=4")
    return Changefeed(config, MemorySink(store), SCHEMA)


def test_a_batch_between_two_others_does_not_go_back(store: str, tmp_path: Path) -> None:
    running = feed(store, tmp_path)
    for number in (0, 10):
        running.run(one(number), number, final=False)
    with pytest.raises(StateError, match="the batch has no record, but batch 10 has one"):
        running.run(one(20), 5, final=False)


def test_the_greatest_batch_id_is_the_last(store: str, tmp_path: Path) -> None:
    running, greatest = feed(store, tmp_path), 2**63 - 1
    running.run(one(1), greatest, final=False)
    for number in (running.next_batch_id(), -1):
        with pytest.raises(ConfigError, match=r"is not in 0\.\.2\^63-1") as refused:
            running.run(one(2), number, final=False)
        assert "state_uri" in refused.value.remedy
    assert running.run(one(1), greatest, final=False).rows == 1
