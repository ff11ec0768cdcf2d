"""Spark's AUTO CDC keeps a table from Canal-JSON and from CSV files: auto-cdc.md, auto-cdc-files.md (docs/cookbook).

Runs where pyspark 4.2 is installed with ``pipelines`` (``tox -e connect``). No table format runs on that release that
AUTO CDC can write to, so the target is in the catalog of Spark's own tests. Messages are in files instead of Kafka.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from comparison import Comparison, compared
from cookbook_data import TIME_ZONE, data_set
from cookbook_files import write_files
from cookbook_send import Measured
from missing_parts import java_and_jars
from page_blocks import page_block

from ticdc_emit import load_changefeed
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.sinks import sink_for
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.run import Changefeed
from ticdc_emit.testing.java import java_env
from ticdc_emit.traffic.history import History

HERE = Path(__file__).parent
SPECIFICATION = (
    "name: orders\nstorage: {}\ncatalog: cat\ndatabase: shop\nlibraries:\n  - glob:\n      include: definitions/**\n"
)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(600),
    pytest.mark.skipif(not pyspark.__version__.startswith("4.2."), reason="the catalog is that of Spark 4.2"),
]


def write_messages(folder: Path, files: Path) -> None:
    """Send the cookbook's changes to ``folder``, and write the messages to files: each twice, in random order."""
    data = data_set()
    uri = f"jsonl://{folder}?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
    config = load_changefeed(uri, time_zone=TIME_ZONE)
    history = History(data.schema, data.rows, data.ddl, time_zone=TIME_ZONE)
    Changefeed(config, sink_for(config), data.schema, ddl=data.ddl).run(ArrowBatch(history.to_arrow()), 0, final=True)
    messages = [message.value for message in read_files(folder)] * 2
    random.Random(1).shuffle(messages)
    files.mkdir()
    for number in range(3):
        pq.write_table(pa.table({"value": pa.array(messages[number::3], pa.binary())}), files / f"{number}.parquet")


def _run(work: Path, definitions: str) -> dict[tuple[str], dict[str, str]]:
    """Run a pipeline, and return the rows of its table by key, as texts."""
    (work / "definitions").mkdir()
    (work / "spark-pipeline.yml").write_text(SPECIFICATION.format(f"file://{work}/storage"), encoding="utf-8")
    (work / "definitions/orders.py").write_text(definitions, encoding="utf-8")
    (jar,) = java_and_jars(HERE / "auto_cdc")[1].glob("*.jar")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"], "SPARK_DIST_CLASSPATH": str(jar), **java_env()}
    env |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"}
    job = [sys.executable, HERE / "auto_cdc_job.py", "spark-pipeline.yml", "rows.jsonl"]
    done = subprocess.run(job, cwd=work, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    rows = [json.loads(line) for line in (work / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    found = {(row["id"],): row for row in rows}
    assert len(found) == len(rows)
    return found


def _compared(found: Mapping[Any, Mapping[str, str]], *columns: str) -> Comparison:
    orders = data_set().tables()["orders"]
    return compared("orders", {key: {name: row[name] for name in columns} for key, row in orders.items()}, found)


def test_auto_cdc(tmp_path: Path, measured: Measured) -> None:
    write_messages(tmp_path / "out", tmp_path / "messages")
    kafka = 'spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9092")'
    load = 'kafka.option("subscribe", "shop_orders").option("startingOffsets", "earliest").load()'
    files = {kafka: 'spark.readStream.schema("value binary").option("maxFilesPerTrigger", 1)'}
    files[load] = f'kafka.parquet("file://{tmp_path}/messages")'
    found = _run(tmp_path, page_block("auto-cdc", "python", places=files))
    total = _compared(found, "id", "customer", "total", "note")
    measured("Spark, AUTO CDC (one table)", "4.2", "Canal-JSON", total)


def test_auto_cdc_of_files(tmp_path: Path, measured: Measured) -> None:
    """Four files in each micro-batch: rows come again in later ones."""
    feed = {"terminator": "\n", "csv": {"include-commit-ts": True}}
    write_files(f"file://{tmp_path}/lake?protocol=csv&flush-interval=2s", feed)
    places = {"s3a://bucket/lake": f"file://{tmp_path}/lake", '"CDC*.csv"}': '"CDC*.csv", "maxFilesPerTrigger": 4}'}
    found = _run(tmp_path, page_block("auto-cdc-files", "python", places=places))
    total = _compared(found, "id", "customer", "total", "note", "channel", "points")
    measured("Spark, AUTO CDC (one table)", "4.2", "CSV files", total)
