"""The local session: its workers run this interpreter, and a running session is taken as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.spark import local_session
from ticdc_emit.spark.session import require_pyspark

ROOT = Path(__file__).parents[2]
JOB = """
import sys
from ticdc_emit.spark import TicdcSink, local_session

spark = local_session("job", spark_master="local[1]", **{"spark.sql.shuffle.partitions": "2"})
df = spark.sql("select 'c' op, 450000000262144000L commit_ts, named_struct('id', 1) after")
report = TicdcSink(f"jsonl://{sys.argv[1]}?protocol=canal-json", "create table t (id int primary key)").write(df)
names = ("spark.app.name", "spark.master", "spark.sql.shuffle.partitions", "spark.sql.session.timeZone")
print("JOB", report.rows, *(spark.conf.get(name) for name in names))
spark.stop()
"""


@pytest.mark.spark
def test_workers_run_this_interpreter_whatever_python3_the_path_has(tmp_path: Path) -> None:
    pytest.importorskip("pyspark")
    other = tmp_path / "bin" / "python3"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\nexit 7\n")
    other.chmod(0o755)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env["SPARK_SUBMIT_OPTS"] = os.environ["SPARK_SUBMIT_OPTS"]
    env |= {"PATH": f"{other.parent}{os.pathsep}{env['PATH']}", "PYTHONPATH": str(ROOT)}
    job = [sys.executable, "-c", JOB, str(tmp_path / "out")]
    done = subprocess.run(job, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "JOB 1 job local[1] 2 UTC" in done.stdout


@pytest.mark.spark
def test_a_running_session_is_taken(spark: Any) -> None:
    kept = spark.conf.get("spark.sql.shuffle.partitions")
    try:
        taken = local_session("other", spark_master="local[7]", spark_sql_shuffle_partitions="5")
        assert taken.conf.get("spark.sql.shuffle.partitions") == "5"
        assert taken.conf.get("spark.app.name") == spark.conf.get("spark.app.name") != "other"
        assert taken.range(3).count() == 3
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", kept)


COLLECTORS = """
import sys
from ticdc_emit.spark import local_session

spark = local_session(**dict(each.split("=", 1) for each in sys.argv[1:]))
beans = spark.sparkContext._jvm.java.lang.management.ManagementFactory.getGarbageCollectorMXBeans()
print("JVM", *(bean.getName() for bean in beans), spark.conf.get("spark.driver.defaultJavaOptions", "none"))
spark.stop()
"""


PARALLEL = "JVM PS MarkSweep PS Scavenge -XX:+UseParallelGC -XX:MaxNewSize=512m"
G1 = "JVM G1 Young Generation G1 Old Generation none"
NAMED = "spark.driver.extraJavaOptions"


@pytest.mark.spark
@pytest.mark.parametrize(
    ("given", "defaults", "shown"),
    [
        ("spark.app.name=job", f"# {NAMED} -XX:+UseG1GC", PARALLEL),
        pytest.param(f"{NAMED}=-Da=b -XX:+UseG1GC", "", G1, marks=pytest.mark.slow),
        pytest.param("spark.app.name=job", f"{NAMED} -Da=b -XX:+UseG1GC", G1, marks=pytest.mark.slow),
    ],
)
def test_the_jvm_collects_garbage_for_throughput_unless_told_otherwise(
    given: str, defaults: str, shown: str, tmp_path: Path
) -> None:
    pytest.importorskip("pyspark")
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    env = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    env |= {"PYTHONPATH": str(ROOT), "SPARK_CONF_DIR": str(tmp_path)}
    job = [sys.executable, "-c", COLLECTORS, given]
    done = subprocess.run(job, env=env, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-3000:]
    assert shown in done.stdout


def test_a_missing_pyspark_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(MissingDependencyError, match=r"ticdc-emit\[spark\]"):
        require_pyspark()
