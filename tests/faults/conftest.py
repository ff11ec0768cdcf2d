"""One real cluster of three brokers for all tests here. A missing part skips a test, and fails it where ``CI=true``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from missing_parts import missing

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.errors import JarsMissingError, MissingDependencyError
from ticdc_emit.testing.java import find_java
from ticdc_emit.testing.kraft import kafka_jars

from .campaign import Stage
from .history import History

MakeStage = Callable[..., Stage]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    pytest.importorskip("confluent_kafka")
    try:
        java, jars = find_java(), kafka_jars()
    except (MissingDependencyError, JarsMissingError) as error:
        missing(str(error))
    with KafkaCluster(java, jars, tmp_path_factory.mktemp("faults-brokers")) as cluster:
        yield cluster


@pytest.fixture
def make_stage(cluster: KafkaCluster, tmp_path: Path) -> MakeStage:
    def make(rows: int, *, tables: int = 20, files: int = 4, registry: str | None = None) -> Stage:
        history = History(rows, tables, files)
        changes = history.write(tmp_path / "history")
        return Stage(
            cluster, history, changes, tmp_path / "history", tmp_path, partitions=4, registry=registry, timeout_s=420
        )

    return make
