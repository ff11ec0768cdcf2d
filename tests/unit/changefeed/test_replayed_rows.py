"""A batch that comes again must have the rows that it had: values and order count, tasks and pieces do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ticdc_emit.changefeed import ArrowBatch, Changefeed
from ticdc_emit.changefeed.digest import RowsDigest
from ticdc_emit.changefeed.options import RunOptions
from ticdc_emit.config import Secret, load_changefeed
from ticdc_emit.delivery.memory_sink import MemorySink, clear, messages
from ticdc_emit.encode.window import Window
from ticdc_emit.errors import InvalidValueError, StateError
from ticdc_emit.tso import compose

SCHEMA = "create table s.t (id int primary key, v varchar(10))"
TYPE = pa.schema(
    [("op", pa.string()), ("commit_ts", pa.int64()), ("after", pa.struct([("id", pa.int64()), ("v", pa.string())]))]
)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"replayed-{request.node.name}"
    yield name
    clear(name)


def feed(store: str, state: Path, **options: Any) -> Changefeed:
    """Return a changefeed as a new process would make it."""
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


def test_a_batch_that_was_checked_whole_and_then_failed_is_refused_with_other_values(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changefeed = feed(store, tmp_path, validate="batch")
    with monkeypatch.context() as broken:
        broken.setattr(MemorySink, "open", lambda *_: (_ for _ in ()).throw(OSError("no sink")))
        with pytest.raises(OSError, match="no sink"):
            changefeed.run(batch(ROWS), 0, final=False)
    for validate in ("batch", "task"):
        with pytest.raises(StateError, match="messages differ"):
            feed(store, tmp_path, validate=validate).run(batch(OTHERS["a value"]), 0, final=False)
    assert feed(store, tmp_path).run(batch(ROWS), 0, final=False).rows == 3


def test_a_batch_that_failed_its_check_may_come_again_with_other_values(store: str, tmp_path: Path) -> None:
    changefeed = feed(store, tmp_path, validate="batch")
    with pytest.raises(InvalidValueError):
        changefeed.run(batch({1: "longer than ten"}), 0, final=False)
    assert changefeed.run(batch({1: "short"}), 0, final=False).rows == 1


def test_a_record_of_an_earlier_release_has_no_digest_and_is_replayed_by_its_count(store: str, tmp_path: Path) -> None:
    feed(store, tmp_path).run(batch(ROWS), 0, final=False)
    path = tmp_path / "batch-0.json"
    record = json.loads(path.read_text())
    del record["digest"]
    path.write_text(json.dumps(record))
    assert feed(store, tmp_path).run(batch(OTHERS["a value"]), 0, final=False).rows == 3
    with pytest.raises(StateError, match="messages differ"):
        feed(store, tmp_path).run(batch(ROWS), 0, final=False)


def test_finish_keeps_the_digest(store: str, tmp_path: Path) -> None:
    feed(store, tmp_path).run(batch(ROWS), 0, final=False)
    feed(store, tmp_path).finish()
    with pytest.raises(StateError, match="messages differ"):
        feed(store, tmp_path).run(batch(OTHERS["a value"]), 0, final=False)


def test_the_digest_is_the_same_on_every_machine() -> None:
    cells = {"key": pa.array([b"k", b"", b""], pa.binary()), "value": pa.array([b"v", None, b""], pa.binary())}
    rows, stamps = pa.record_batch(cells), np.array([5, (1 << 64) - 1, 7], np.uint64)
    once, in_parts = RowsDigest(("t", 3)), RowsDigest(("t", 3))
    once.add(Window([rows.take(pa.array([2, 0, 1]))], stamps, np.array([1, 2, 0])))
    for start in range(3):
        in_parts.add(Window([rows.slice(start, 1)], stamps[start : start + 1]))
    assert once.value() == in_parts.value() == bytes.fromhex("d110ed2984427832d1fa76f5d08da997")
    assert RowsDigest(("t", 2)).value() != RowsDigest(("t", 3)).value()
