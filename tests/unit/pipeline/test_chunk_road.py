"""Encoded where rows are, delivered by topic-partition: the same messages whatever tasks and files are between."""

from __future__ import annotations

import pickle
import random
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from arrow_feeds import generic
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis_profiles import examples
from shuffled_chunks import RULES, in_bucket, told_by_target

from ticdc_emit import Encoder
from ticdc_emit.config import load_changefeed
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import DeliveryError, DuplicateChangeError, TemporaryFileError
from ticdc_emit.pipeline.deliver.control_events import ControlSchedule
from ticdc_emit.pipeline.deliver.deliver_task import DeliverTask
from ticdc_emit.pipeline.encode import chunks
from ticdc_emit.pipeline.encode.chunks import (
    CHUNK_SCHEMA,
    Buckets,
    ChunkFiles,
    ChunkFolder,
    ChunkKind,
    ChunkStore,
    from_ipc,
    map_and_remove,
    map_file,
)
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.table_plans import make_plan
from ticdc_emit.schema.catalog import catalog_from_sql

SCHEMA = "create table s.a (id int primary key, u int unique, v varchar(9)); create table s.b (id int primary key)"


CONFIG = load_changefeed("memory://m/rest?protocol=canal-json&enable-tidb-extension=true&partition-num=3", RULES)


PLAN = make_plan(CONFIG, catalog_from_sql(SCHEMA).histories(), {"rest": 1, "a": 3})


def a_row(op: str, ts: int, seq: int | None, key: int, unique: int | None = None, before: int | None = None) -> Any:
    image = {"id": key, "u": unique, "v": "x"}
    return {
        "schema": "s", "table": "a", "op": op, "commit_ts": ts << 18, "seq": seq,
        "before": None if op == "c" else image | {"u": before}, "after": None if op == "d" else image,
    }  # fmt: skip


def b_row(ts: int, seq: int | None, key: int) -> Any:
    own = {"schema": "s", "table": "b", "op": "c", "commit_ts": ts << 18, "seq": seq}
    return {**own, "before": None, "after": {"id": key}}


Sent = dict[tuple[str, int], list[tuple[bytes, bytes, int]]]


def road(
    parts: list[list[Any]], *, count: int = 1, limit: int = 1 << 20, size: int = 1000, folder: ChunkFolder | None = None
) -> Sent:
    encode = pickle.dumps(EncodeTask(PLAN, "error", None, Buckets(PLAN.targets, count), folder=folder))
    sent = [batch for part in parts for batch in pickle.loads(encode)(iter(generic(part).to_batches(size)))]
    made = [batch.slice(row, 1) for batch in sent for row in range(batch.num_rows)]
    random.Random(1).shuffle(made)  # a shuffle promises no order
    deliver = DeliverTask(PLAN, ControlSchedule(), None, memory_limit=limit, folder=folder)
    return told_by_target(batch for bucket in range(count) for batch in deliver(iter(in_bucket(made, bucket))))


def history(seed: int, seq: bool) -> list[Any]:
    dice, rows, place = random.Random(seed), [], 0
    for ts in range(1, 60):
        for key in dice.sample(range(9), dice.randint(0, 4)):
            place += 1
            number = place if seq else None
            op = dice.choice("cud")
            rows.append(a_row(op, ts // 3 + 1 if seq else ts, number, key, dice.randint(0, 2), dice.randint(0, 2)))
        if dice.random() < 0.4:
            place += 1
            rows.append(b_row(ts, place if seq else None, ts))
    return rows


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("seq", [False, True])
def test_messages_may_stay_in_files(seq: bool, once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[str] = []
    take = chunks.map_and_remove
    monkeypatch.setattr(chunks, "map_and_remove", lambda path: taken.append(path) or take(path))
    monkeypatch.setattr(chunks, "_SMALL_BYTES", 500)  # some chunks travel, the others stay
    rows = history(5, seq)
    folder = ChunkFolder(str(tmp_path), 1 << 30, read_once=once)
    shuffled = random.Random(2).sample(rows, len(rows))
    assert road([shuffled[n::3] for n in range(3)], count=3, size=13, folder=folder) == road([rows])
    assert len(set(taken)) == len(taken)
    written = len(list(tmp_path.iterdir())) - 1 + len(taken)  # one is what the tasks count in
    assert written > 3
    assert len(taken) == (written if once else 0)


@settings(max_examples=examples(60))
@given(st.integers(0, 10_000), st.integers(1, 5), st.booleans())
def test_any_history(seed: int, parts: int, seq: bool) -> None:
    rows = history(seed, seq)
    cut = random.Random(seed).sample(rows, len(rows))
    assert road([cut[n::parts] for n in range(parts)], count=parts, limit=1, size=7) == plainly(rows)


def plainly(rows: list[Any]) -> Sent:
    encoder = Encoder(CONFIG, SCHEMA, partitions=3)
    encoder.plan = PLAN
    own = {table: generic([row for row in rows if row["table"] == table]) for table in "ab"}
    return told_by_target(
        encoder.encode(each.drop_columns(["schema", "table"]), f"s.{table}") for table, each in own.items()
    )


def test_chunks_are_cut_by_size(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [b_row(ts, None, ts) for ts in range(1, 300)]
    whole = road([rows])
    monkeypatch.setattr(chunks, "_BODY_BYTES", 1_000)
    encode = EncodeTask(PLAN, "error", None, Buckets(PLAN.targets, 1))
    assert sum(batch.num_rows for batch in encode(iter(generic(rows).to_batches()))) > 20
    assert road([rows]) == whole


def test_a_change_told_twice_by_two_tasks_is_refused() -> None:
    with pytest.raises(DuplicateChangeError) as refused:
        road([[a_row("c", 5, None, 1)], [a_row("d", 5, None, 1)]])
    assert refused.value.context["row"] == {"id": 1}
    assert len(road([[a_row("c", 5, 1, 1)], [a_row("d", 5, 2, 1)]])) == 1


@pytest.mark.parametrize("in_files", [False, True])
def test_a_change_told_twice_by_one_task_is_refused(
    in_files: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_SMALL_BYTES", 1)
    folder = ChunkFolder(str(tmp_path), 1 << 30, read_once=True) if in_files else None
    with pytest.raises(DuplicateChangeError) as refused:
        road([[a_row("c", 5, None, 1), a_row("c", 5, None, 2), a_row("d", 5, None, 1)]], folder=folder)
    assert refused.value.context["row"] == {"id": 1}
    assert len(list(tmp_path.glob("*-0"))) == in_files


def test_objects_are_stored_before_their_messages(tmp_path: Any) -> None:
    handle = {"large-message-handle-option": "claim-check", "claim-check-storage-uri": f"file://{tmp_path}"}
    sink = {**RULES["sink"], "kafka-config": {"large-message-handle": handle}}
    config = load_changefeed(
        "memory://m/rest?protocol=canal-json&enable-tidb-extension=true&max-message-bytes=400", {"sink": sink}
    )
    plan = make_plan(
        config, catalog_from_sql(SCHEMA.replace("varchar(9)", "varchar(999)")).histories(), {"rest": 1, "a": 3}
    )
    row = a_row("c", 5, None, 1)
    row["after"]["v"] = "x" * 900
    encode = EncodeTask(plan, "error", None, Buckets(plan.targets, 1))
    claims = ClaimStore.of(config.codec.large_message_handle)
    assert list(tmp_path.iterdir()) == []
    made = list(encode(iter(generic([row]).to_batches())))
    assert list(tmp_path.iterdir()) == []
    (batch,) = DeliverTask(plan, ControlSchedule(), None, claims)(iter(made))
    (stored,) = tmp_path.iterdir()
    assert stored.name.encode() in batch.column("value")[0].as_py()


@pytest.mark.parametrize("name", ["a", "b"])
def test_a_task_of_one_table_needs_the_plan_of_no_other(name: str) -> None:
    one = pa.struct({"id": pa.int32()})
    images = [{"id": number} for number in range(5)]
    rows = pa.record_batch({"op": ["c"] * 5, "commit_ts": [7] * 5, "after": pa.array(images, one)})
    tasks = [
        EncodeTask(plan, "error", None, Buckets(PLAN.targets, 2), ("s", name))
        for plan in (PLAN, PLAN.of_table("s", name))
    ]
    whole, own = (list(task(iter([rows]))) for task in tasks)
    assert whole == own
    assert list(tasks[1].plan.tables) == [("s", name)]


MESSAGES = pa.record_batch({"key": pa.array([b"k"] * 1_000), "value": pa.array([b"v" * 200] * 1_000)})
SMALL = MESSAGES.slice(0, 10)


def test_messages_come_back_once(tmp_path: Path) -> None:
    folder = ChunkFolder(str(tmp_path), 1 << 30)
    files = ChunkFiles(folder)
    parts = [MESSAGES, MESSAGES.slice(100, 900), MESSAGES]
    paths = [folder.file(files.keep(part) or "") for part in parts]
    assert [from_ipc(map_file(path)) for path in paths] == parts
    assert len(list(tmp_path.iterdir())) == 3 + 1  # and what they count in
    assert [from_ipc(map_and_remove(path)) for path in paths] == parts
    assert len(list(tmp_path.iterdir())) == 1


def test_without_a_folder_nothing_is_written() -> None:
    assert ChunkFiles(None).keep(MESSAGES) is None


def test_few_messages_are_not_worth_a_file(tmp_path: Path) -> None:
    assert ChunkFiles(ChunkFolder(str(tmp_path), 1 << 30)).keep(SMALL) is None
    assert not list(tmp_path.iterdir())


def test_all_tasks_together_keep_the_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "_TALLY_BYTES", 1)
    monkeypatch.setattr(chunks, "_PLAIN_SHARE", 1)
    folder = ChunkFolder(str(tmp_path), 2 * MESSAGES.nbytes)
    one, other = ChunkFiles(folder), ChunkFiles(folder)
    assert [files.keep(MESSAGES) is None for files in (one, other, one, other)] == [False, False, True, True]


def test_the_first_files_of_all_tasks_are_plain_and_the_others_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunks, "_TALLY_BYTES", 1)
    folder = ChunkFolder(str(tmp_path), chunks._PLAIN_SHARE * 2 * MESSAGES.nbytes)
    one, other = ChunkFiles(folder), ChunkFiles(folder)
    paths = [folder.file(files.keep(MESSAGES) or "") for files in (one, other, one, other)]
    assert [Path(path).stat().st_size > MESSAGES.nbytes for path in paths] == [True, True, False, False]
    assert folder.written() == sum(Path(path).stat().st_size for path in paths)
    assert [from_ipc(map_file(path)) for path in paths] == [MESSAGES] * 4


def test_a_disk_that_refuses_is_not_asked_again(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    files = ChunkFiles(ChunkFolder(str(folder), 1 << 30))
    assert files.keep(MESSAGES) is None
    folder.mkdir()
    assert files.keep(MESSAGES) is None


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    folder = ChunkFolder(str(tmp_path), 1 << 30)
    path = folder.file(ChunkFiles(folder).keep(MESSAGES) or "")
    Path(path).unlink()
    with pytest.raises(TemporaryFileError, match="No such file") as caught:
        map_and_remove(path)
    assert caught.value.folder == str(tmp_path)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("name", ["/etc/passwd", "../a-0", "tally", "", "a-0/../../b", ".", "A-0", "a-0\n"])
def test_a_chunk_names_no_file_outside_the_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="not the name of a file of messages"):
        ChunkFolder(str(tmp_path), 1 << 30).file(name)


def test_a_chunk_names_no_file_where_there_are_none() -> None:
    chunk = {"bucket": 0, "kind": ChunkKind.MESSAGES, "topic": "t", "partition": 0, "rows": 1}
    chunk |= {"first": b"a", "last": b"b", "file": "/etc/passwd"}
    with closing(ChunkStore(1000)) as store:
        store.add(pa.RecordBatch.from_pylist([chunk], schema=CHUNK_SCHEMA))
        ((_, (held,)),) = store.chunks()
        with pytest.raises(DeliveryError, match="names a file"):
            store.messages(held)
