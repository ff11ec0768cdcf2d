"""One local Spark session for every test that wants one, one hypothesis profile, and what pytest-xdist may part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis_profiles import load_profile

load_profile()

# Spark's JVMs, those of other processes too, live for minutes at most: compiling harder than this costs more than it
# gives.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:+UseSerialGC -XX:TieredStopAtLevel=1")

# Declarative Pipelines need pyspark[pipelines], which ``tox -e connect``, ``spark41`` and ``spark43`` install.
if not all(map(find_spec, ("pyspark", "grpc", "yaml"))):
    collect_ignore = ["spark/test_pipelines.py", "integration/consumers/test_auto_cdc_cookbook.py"]

# What starts servers or Spark sessions stays in one process each, every other module in one for its fixtures' sake.
_TOGETHER = {
    "tests/cluster": "servers",
    "tests/faults": "servers",
    "tests/integration": "servers",
    "tests/lakes": "lakes",
    "tests/scale": "spark",
    "tests/spark": "spark",
    "tests/unit/cli": "commands",
}

_LONGEST = ("vector", "spark")  # begin first, so that no process waits for another at the end
_NEEDS_SERVERS = ("cloud", "cluster", "faults", "image", "integration", "lakes", "scale")
_STARTERS = ("test_benchmarks", "test_broken_consumers", "test_canary", "test_confluent_registry",
             "test_check", "test_embedded_registry", "test_generate_command", "test_glue_registry",
             "test_hostile_registry", "test_kafka_gateway", "test_kafka_reader", "test_kafka_writer", "test_plugin",
             "test_random_requests", "test_serve", "test_serve_control", "test_signals", "test_stdout",
             "test_topics")  # fmt: skip
_TESTS = Path(__file__).parent


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not read the folders of servers' tests where these are left out."""
    leaves_out = "not system" in (config.option.markexpr or "") and collection_path.parent == _TESTS
    return True if leaves_out and collection_path.name in _NEEDS_SERVERS else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as ``system`` what `tox` leaves to `tox -e system`: servers, the embedded ones too, processes of their own,
    and Spark but for its smoke tests.
    """
    for item in items:
        folder = item.path.relative_to(_TESTS).parts[0]
        on_spark = folder == "spark" or item.get_closest_marker("spark") or "spark" in getattr(item, "fixturenames", ())
        alone = folder in _NEEDS_SERVERS or item.path.stem in _STARTERS or "emulator" in item.path.parts
        if alone or (on_spark and not item.get_closest_marker("smoke")):
            item.add_marker("system")
    items.sort(key=lambda item: item.path.relative_to(_TESTS).parts[0] not in _LONGEST)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """What a process of pytest-xdist sends for each of thousands of tests is short."""
    if report.passed:
        report.keywords = {}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            module = nodeid.partition("::")[0]
            return next((name for folder, name in _TOGETHER.items() if module.startswith(f"{folder}/")), module)

    return Scheduling(config, log)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    pytest.importorskip("pyspark")
    from spark_session import local_session

    session = local_session(spark_sql_shuffle_partitions="3")
    yield session
    session.stop()


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of a memory sink's store of the test's own."""
    from ticdc_emit.delivery.memory import clear

    yield (name := request.node.name)
    clear(name)


@pytest.fixture(scope="module")
def kafka() -> Iterator[Any]:
    """An embedded Kafka for the tests of one module."""
    from ticdc_emit.testing import EmbeddedKafka

    with EmbeddedKafka() as running:
        yield running
