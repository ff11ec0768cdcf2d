"""Real servers for tests.  What is missing on this machine skips a test, and fails it where ``CI=true``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest
from kraft import KraftBroker
from locked_jars import JarsMissingError, locked_jars

from ticdc_emit.errors import MissingDependencyError
from ticdc_emit.java import find_java

_MESSAGE_MAX_BYTES = 12 * 1024 * 1024

MakeBroker = Callable[[], KraftBroker]


def missing(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def make_broker(tmp_path_factory: pytest.TempPathFactory) -> MakeBroker:
    """Makes brokers that are not started yet."""
    pytest.importorskip("confluent_kafka")
    try:
        java = find_java()
        jars = locked_jars(Path(__file__).parent / "kafka")
    except (MissingDependencyError, JarsMissingError) as error:
        missing(str(error))
    settings = {"message.max.bytes": _MESSAGE_MAX_BYTES}
    return lambda: KraftBroker(java, jars, tmp_path_factory.mktemp("kraft") / "node", settings)


@pytest.fixture(scope="session")
def kraft(make_broker: MakeBroker) -> Iterator[KraftBroker]:
    """One broker for all tests that leave it running."""
    with make_broker() as broker:
        yield broker
