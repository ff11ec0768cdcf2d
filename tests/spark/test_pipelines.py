"""The Declarative Pipeline of docs/rows.md, run by ``spark-pipelines``: the messages of a changefeed, run after run.

Needs ``pyspark[pipelines]``, which the environments ``connect``, ``spark41`` and ``spark43`` have. Each run
starts a Spark of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pyspark
import pytest
from documented import ROOT, blocks_of

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.testing.java import java_env

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(900)]

HOME = Path(pyspark.__file__).parent
TABLES = (ROOT / "examples/tables.sql").read_text(encoding="utf-8")
URI = "jsonl://{}?protocol=canal-json"


def project(folder: Path) -> Path:
    """Write the files of the page, with ``folder`` for its ``/tmp``."""
    root = folder / "project"
    (root / "definitions").mkdir(parents=True)
    (specification,) = (block for block in blocks_of("docs/rows.md#declarative-pipelines") if block.language == "yml")
    (definition,) = (
        block for block in blocks_of("docs/rows.md#declarative-pipelines") if "pipelines as dp" in block.code
    )
    for name, block in (("spark-pipeline.yml", specification), ("definitions/cdc.py", definition)):
        (root / name).write_text(block.code.replace("/tmp/", f"{folder}/"), encoding="utf-8")
    (root / "tables.sql").write_text(TABLES, encoding="utf-8")
    return root


def run_pipeline(root: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"SPARK_HOME": str(HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    env |= {"SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"], **java_env()}
    env |= {"SPARK_TESTING": "1"}  # the server takes a free port instead of 15002
    command = [str(HOME / "bin/spark-pipelines"), "run"]
    done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    return done.stdout + done.stderr


def halves() -> list[pa.Table]:
    rows = pq.read_table(ROOT / "examples/changes.parquet")
    rows = rows.sort_by("commit_time")
    middle = rows.column("commit_time")[rows.num_rows // 2]
    first = pc.less(rows.column("commit_time"), middle)
    return [rows.filter(first), rows.filter(pc.invert(first))]


def changefeed_messages(folder: Path, batches: list[pa.Table]) -> list[Any]:
    config = load_changefeed(URI.format(folder))
    changefeed = Changefeed(config, sink_for(config), TABLES)
    for number, rows in enumerate(batches):
        changefeed.run(ArrowBatch(rows), number, final=False)
    return list(read_files(folder))


def test_each_run_sends_what_is_new(tmp_path: Path) -> None:
    root = project(tmp_path)
    (tmp_path / "changes").mkdir()
    batches = halves()
    for number, rows in enumerate(batches):
        pq.write_table(rows, tmp_path / "changes" / f"{number}.parquet")
        assert "Run is COMPLETED" in run_pipeline(root)
        sent = list(read_files(tmp_path / "orders"))
        assert sent == changefeed_messages(tmp_path / f"expected-{number}", batches[: number + 1])
    assert run_pipeline(root)
    assert list(read_files(tmp_path / "orders")) == sent
