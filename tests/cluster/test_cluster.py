"""``spark-submit`` to a standalone cluster whose workers have no package but what the job ships to them."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from message_rows import has_messages

pyspark = pytest.importorskip("pyspark")

from standalone import StandaloneCluster  # noqa: E402

from ticdc_emit.testing.java import find_java, java_env  # noqa: E402
from ticdc_emit.testing.kraft import KraftBroker, kafka_jars  # noqa: E402

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.integration, pytest.mark.timeout(1200)]

ROOT = Path(__file__).parents[2]
JOB = Path(__file__).with_name("job.py")
ROWS = 200_000


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StandaloneCluster]:
    with StandaloneCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with KraftBroker(find_java(), kafka_jars(), tmp_path_factory.mktemp("kraft") / "node") as broker:
        yield broker.bootstrap


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with this package, packed as docs/operations.md says."""
    folder = tmp_path_factory.mktemp("packed")
    venv.create(folder / "job-env", with_pip=True)
    bin_ = folder / "job-env" / "bin"
    subprocess.run([bin_ / "pip", "install", "-q", f"{ROOT}[kafka,state]", "pandas", "venv-pack"], check=True)
    packed = folder / "job-env.tar.gz"
    subprocess.run([bin_ / "venv-pack", "-q", "-p", folder / "job-env", "-o", packed], check=True)
    return packed


def _submitted(cluster: StandaloneCluster, *arguments: object, options: tuple[object, ...] = ()) -> list[str]:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    local = ("--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.ui.enabled=false")
    words = [submit, "--master", cluster.url, "--executor-memory", "800m", *local, *options, JOB, *arguments]
    return [str(word) for word in words]


def _environment(python: object) -> dict[str, str]:
    own = {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": str(python), "SPARK_LOCAL_IP": "127.0.0.1"}
    return {**os.environ, **java_env(), **own, "PYTHONPATH": str(ROOT)}


def _executors(folder: Path) -> list[int]:
    """Return the executors that run in a cluster's folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_executor = b"CoarseGrainedExecutorBackend" in (process / "cmdline").read_bytes()
            if is_executor and (process / "cwd").readlink().is_relative_to(folder):
                found.append(int(process.name))
    return found


def test_a_job_with_its_environment_survives_the_loss_of_an_executor(
    cluster: StandaloneCluster, brokers: str, archive: Path, tmp_path: Path
) -> None:
    shipped = ("--archives", f"{archive}#environment")
    command = _submitted(cluster, brokers, ROWS, options=shipped)
    with (tmp_path / "shown").open("w") as shown:
        job = subprocess.Popen(
            command, env=_environment("./environment/bin/python"), stdout=shown, stderr=subprocess.STDOUT
        )
    try:
        while not has_messages(brokers, "bank"):
            assert job.poll() is None, (tmp_path / "shown").read_text()[-4000:]
            time.sleep(0.2)
        running = _executors(cluster.folder)
        assert len(running) == 2
        os.kill(running[0], signal.SIGKILL)
        assert job.wait(600) == 0, (tmp_path / "shown").read_text()[-4000:]
    finally:
        job.kill()
    assert f"JOB {ROWS} " in (tmp_path / "shown").read_text()
    assert "Lost task" in (tmp_path / "shown").read_text(), "the executor had nothing to do"
    verify = [sys.executable, "-m", "ticdc_emit", "verify", "--sink-uri", f"kafka://{brokers}/bank?protocol=simple"]
    checked = subprocess.run(verify, capture_output=True, text=True, timeout=500)
    assert checked.returncode == 0, checked.stdout[-4000:] + checked.stderr
    rows = re.search(r"([\d,]+) rows", checked.stdout)
    assert int(rows[1].replace(",", "")) >= ROWS, "those of the lost executor come again"


def test_workers_without_the_package_are_named(cluster: StandaloneCluster, brokers: str, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare")
    command = _submitted(cluster, brokers, 100)
    bare = tmp_path / "bare" / "bin" / "python"
    # spark-submit passes the job's own stderr on to stdout.
    done = subprocess.run(command, env=_environment(bare), capture_output=True, text=True, timeout=500)
    assert done.returncode != 0
    told = done.stdout + done.stderr
    assert "MissingDependencyError: the Python of Spark's executors cannot import" in told, told[-4000:]
