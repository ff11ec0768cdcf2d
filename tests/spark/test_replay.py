"""Same input, same bytes: across partition counts, hash seeds, crashed and replayed batches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from replay_job import digests
from spark_history import SCHEMA

from ticdc_emit.delivery.files import read_files
from ticdc_emit.spark import TicdcSink

pytestmark = pytest.mark.spark

URI = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"
ROOT = Path(__file__).parents[2]


def _digests_of_a_process(folder: Path, partitions: int, seed: int) -> list[str]:
    # without what this process's own session left behind
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env["SPARK_SUBMIT_OPTS"] = os.environ["SPARK_SUBMIT_OPTS"]
    env |= {"PYTHONHASHSEED": str(seed), "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    env["TICDC_EMIT_TEST_CONNECT"] = "0"  # its server's port is this process's
    job = [sys.executable, str(Path(__file__).with_name("replay_job.py")), str(folder), str(partitions), str(seed)]
    done = subprocess.run(job, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return [line for line in done.stdout.splitlines() if line.startswith("SHA")]


def test_partition_counts_input_order_and_hash_seeds_change_no_byte(spark: Any, tmp_path: Path) -> None:
    one = digests(spark, tmp_path / "one", partitions=1, seed=1)
    other = _digests_of_a_process(tmp_path / "other", partitions=7, seed=99)
    assert len(one) == 3
    assert one == other


def test_a_killed_and_replayed_batch_sends_identical_bytes(
    spark: Any, changes: Callable[..., Any], tmp_path: Path
) -> None:
    source, out, state = tmp_path / "source", tmp_path / "out", tmp_path / "state"
    for step in range(3):
        changes(6, start=step * 100).coalesce(1).write.mode("append").parquet(str(source))
    kind = spark.read.parquet(str(source)).schema

    def run(crash_at: int | None) -> None:
        sink = TicdcSink(f"jsonl://{out}?{URI}", SCHEMA, clock="wall", state_uri=str(state), late="emit")

        def emit(df: Any, batch_id: int) -> None:
            sink(df, batch_id)
            if batch_id == crash_at:  # between the last acknowledgement and Spark's checkpoint
                raise RuntimeError("killed before the checkpoint")

        stream = spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(str(source))
        writer = stream.writeStream.foreachBatch(emit).trigger(availableNow=True)
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()

    with pytest.raises(Exception, match="killed before the checkpoint"):
        run(crash_at=1)
    first = [m.value for m in read_files(out)]
    run(crash_at=None)
    values = [m.value for m in read_files(out)]
    rows = [v for v in values if b"TIDB_WATERMARK" not in (v or b"")]
    once = [v for v in first if b"TIDB_WATERMARK" not in (v or b"")]
    # batches of 14 rows: 0 and 1, then the replay of 1, then 2
    assert len(once) == 28
    assert rows[:28] == once
    assert rows[28:42] == once[14:], "the replayed batch differs from its first run"
    assert len(rows) == 56
    records = [json.loads(path.read_text()) for path in sorted(state.glob("batch-*.json"))]
    assert [record["done"] for record in records] == [True] * 3
    assert len({record["build_ts"] for record in records}) == 3
