"""A batch on Spark: tasks that deliver it, the folder of its messages, and chunks that cross a shuffle."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pyspark
import pytest

from ticdc_emit.errors import DeliveryError
from ticdc_emit.pipeline.encode.chunks import CHUNK_SCHEMA
from ticdc_emit.pipeline.plan.table_plans import Plan
from ticdc_emit.spark.batch import SEGMENT_BYTES, SEGMENT_SCHEMA, SparkBatch, chunk_folder, join_chunks, split_chunks

SIZES = (0, 1, SEGMENT_BYTES - 1, SEGMENT_BYTES, SEGMENT_BYTES + 1, 3 * SEGMENT_BYTES, 5 * SEGMENT_BYTES + 7)


def delivering_tasks(targets: int, cores: int | None, **settings: str) -> int:
    """``cores``: ``None`` for a session of Spark Connect, which has no context."""
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    session: dict[str, Any] = {"conf": conf}
    if cores is not None:
        session["sparkContext"] = SimpleNamespace(defaultParallelism=cores)
    batch = SparkBatch({"s.t": cast("Any", SimpleNamespace(sparkSession=SimpleNamespace(**session)))}, None)
    plan = SimpleNamespace(targets=tuple(("t", number) for number in range(targets)))
    return batch._bucket_count(cast("Plan", plan))


@pytest.mark.parametrize(
    ("targets", "cores", "settings", "tasks"),
    [
        (0, 2, {}, 1),
        (3, 2, {}, 3),
        (1000, 2, {}, 8),
        (1000, 100, {}, 200),
        (1000, 100, {"spark_sql_shuffle_partitions": "7"}, 7),
        (1000, 2, {"spark_dynamicAllocation_enabled": "true"}, 200),
        (1000, None, {}, 200),
    ],
)
def test_as_many_as_cores_can_balance(targets: int, cores: int | None, settings: dict[str, str], tasks: int) -> None:
    assert delivering_tasks(targets, cores, **settings) == tasks


def session(master: str | None, **settings: str) -> Any:
    conf = {name.replace("_", "."): value for name, value in settings.items()}
    context = {}
    if master is not None:
        conf["spark.master"] = master
        context["sparkContext"] = SimpleNamespace(master=master)
    return SimpleNamespace(conf=conf, **context)


@pytest.mark.parametrize(
    ("master", "once"), [("local", True), ("local[2]", True), ("local[*]", True), ("local[2,3]", False)]
)
def test_a_local_session_has_one_while_a_job_runs(
    master: str, once: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path)))
    with chunk_folder(session(master)) as folder:
        assert folder.most > 0
        assert folder.read_once == once  # a task that runs again needs what it has read
        assert Path(folder.path).parent == tmp_path
        Path(folder.path, "left").write_bytes(b"x")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("master", ["spark://host:7077", "local-cluster[2,1,1024]", "yarn", "k8s://host", None])
def test_tasks_elsewhere_have_none(master: str | None) -> None:
    with chunk_folder(session(master)) as folder:
        assert folder is None


@pytest.mark.parametrize("value", ["true", "True", " TRUE "])
def test_what_spark_would_encrypt_is_not_written(value: str) -> None:
    with chunk_folder(session("local[2]", spark_io_encryption_enabled=value)) as folder:
        assert folder is None


def test_where_no_folder_can_be_made_messages_are_shuffled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = str(tmp_path / "gone")
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: gone))
    with chunk_folder(session("local[2]")) as folder:
        assert folder is None


def test_an_error_of_the_job_is_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspark, "SparkFiles", SimpleNamespace(getRootDirectory=lambda: str(tmp_path)))
    with pytest.raises(OSError, match="of the job"), chunk_folder(session("local[2]")):
        raise OSError("of the job")
    assert not list(tmp_path.iterdir())


def _chunks(bodies: list[bytes | None]) -> pa.RecordBatch:
    rows = [
        {"bucket": n % 3, "kind": 5, "topic": f"t{n}", "partition": n, "rows": n, "first": b"%d" % n, "body": body}
        for n, body in enumerate(bodies)
    ]
    return pa.RecordBatch.from_pylist(rows, CHUNK_SCHEMA)


def _drawn(numbers: random.Random) -> pa.RecordBatch:
    bodies: list[bytes | None] = [numbers.randbytes(size) for size in SIZES]
    return _chunks([*bodies, None])


def _rows(batches: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return sorted(
        (row for batch in batches for row in batch.to_pylist()), key=lambda row: (row["partition"], row["body"] or b"")
    )


def test_segments_are_short_and_stay_in_their_bucket() -> None:
    chunks = _drawn(random.Random(1))
    [segments] = split_chunks([chunks])
    assert segments.schema == SEGMENT_SCHEMA
    assert max(len(body or b"") for body in segments.column("body").to_pylist()) == SEGMENT_BYTES
    counted = {row["topic"]: (row["bucket"], row["segments"]) for row in segments.to_pylist() if row["topic"]}
    assert counted == {f"t{n}": (n % 3, max(1, -(-size // SEGMENT_BYTES))) for n, size in enumerate((*SIZES, 0))}
    buckets = {row["name"]: row["bucket"] for row in segments.to_pylist() if row["topic"]}
    assert all(buckets[row["name"]] == row["bucket"] for row in segments.to_pylist() if not row["topic"])


@pytest.mark.parametrize("rows_of_a_batch", [1, 2, 1000])
@pytest.mark.parametrize("shuffled", [False, True])
def test_chunks_come_back_whole(rows_of_a_batch: int, shuffled: bool) -> None:
    numbers = random.Random(2)
    given = [_drawn(numbers), _chunks([b"small"])]
    moved = pa.Table.from_batches(split_chunks(given))
    if shuffled:
        moved = moved.take(pa.array(numbers.sample(range(moved.num_rows), moved.num_rows)))
    came = list(join_chunks(moved.combine_chunks().to_batches(max_chunksize=rows_of_a_batch)))
    assert all(batch.schema == CHUNK_SCHEMA for batch in came)
    assert _rows(came) == _rows(given)


def test_a_chunk_keeps_no_bytes_of_the_rows_that_came_with_it() -> None:
    chunks = _chunks([bytes(2 * SEGMENT_BYTES)] * 9)
    keys = pa.array([bytes(SEGMENT_BYTES)] * 9, pa.binary())
    [segments] = split_chunks(
        [chunks.set_column(CHUNK_SCHEMA.get_field_index("order_keys"), CHUNK_SCHEMA.field("order_keys"), keys)]
    )
    assert all(chunk.get_total_buffer_size() < 4 * SEGMENT_BYTES for chunk in join_chunks([segments]))


def test_a_lost_segment_is_an_error() -> None:
    [segments] = split_chunks([_drawn(random.Random(3))])
    kept = segments.filter(pa.array([row["segment"] != 2 for row in segments.to_pylist()]))
    with pytest.raises(DeliveryError, match="segments of 2 chunks are missing"):
        list(join_chunks([kept]))
