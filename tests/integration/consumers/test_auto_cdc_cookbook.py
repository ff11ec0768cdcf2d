"""Spark's AUTO CDC keeps a table from Canal-JSON: docs/cookbook/auto-cdc.md.

Runs where pyspark 4.2 is installed with ``pipelines`` (``tox -e connect``). No table format runs on that release that
AUTO CDC can write to, so the target is in the catalog of Spark's own tests. Messages are in files instead of Kafka.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from comparison import compared
from cookbook_data import TIME_ZONE, data_set
from cookbook_send import Measured
from missing_parts import java_and_jars
from page_blocks import page_block

from ticdc_emit import load_changefeed
from ticdc_emit.delivery import sink_for
from ticdc_emit.delivery.files import read_files
from ticdc_emit.java import java_env
from ticdc_emit.pipeline import ArrowBatch, Changefeed
from ticdc_emit.traffic import History

HERE = Path(__file__).parent
COLUMNS = ("id", "customer", "total", "note")
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


def test_auto_cdc(tmp_path: Path, measured: Measured) -> None:
    write_messages(tmp_path / "out", tmp_path / "messages")
    (tmp_path / "definitions").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPECIFICATION.format(f"file://{tmp_path}/storage"), encoding="utf-8")
    kafka = 'spark.readStream.format("kafka").option("kafka.bootstrap.servers", "127.0.0.1:9092")'
    load = 'kafka.option("subscribe", "shop_orders").option("startingOffsets", "earliest").load()'
    files = {kafka: 'spark.readStream.schema("value binary").option("maxFilesPerTrigger", 1)'}
    files[load] = f'kafka.parquet("file://{tmp_path}/messages")'
    definitions = page_block("auto-cdc", "python", places=files)
    (tmp_path / "definitions/orders.py").write_text(definitions, encoding="utf-8")
    (jar,) = java_and_jars(HERE / "auto_cdc")[1].glob("*.jar")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"SPARK_SUBMIT_OPTS": os.environ["SPARK_SUBMIT_OPTS"], "SPARK_DIST_CLASSPATH": str(jar), **java_env()}
    env |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_TESTING": "1"}
    job = [sys.executable, HERE / "auto_cdc_job.py", "spark-pipeline.yml", "rows.jsonl"]
    done = subprocess.run(job, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text(encoding="utf-8").splitlines()]
    orders = data_set().tables()["orders"]
    expected = {key: {name: row[name] for name in COLUMNS} for key, row in orders.items()}
    found = {(row["id"],): row for row in rows}
    assert len(found) == len(rows)
    measured("Spark, AUTO CDC (one table)", "4.2", "Canal-JSON", compared("orders", expected, found))
