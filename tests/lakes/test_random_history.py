"""Random histories of real Delta and Iceberg tables: a consumer has at each version what ``VERSION AS OF`` has.

One history serves both ways: its change feed is replayed after the commits that a feed can show, and the differences of
all its versions at its end.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from folded_versions import HeldVersions, check_every_version
from random_history import DeltaHistory, IcebergHistory, RandomHistory

from ticdc_emit import from_versions, read_changes
from ticdc_emit.delivery.memory import clear

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SEEDS, FED, COMMITS = (20, 200, 240) if NIGHTLY else (2, 20, 30)
"""Histories of each format, their commits that a feed can show, and all."""

HISTORIES = {"delta": (DeltaHistory, "history_{}"), "iceberg": (IcebergHistory, "ice.db.history_{}")}
TINY = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.databricks.delta.stats.collect": "false",
}
"""Settings for writing and reading a few rows: they leave out what costs more than it gives there."""


@pytest.fixture
def store() -> Iterator[str]:
    clear("lake")
    yield "lake"
    clear("lake")


@pytest.fixture
def tiny(spark: Any) -> Iterator[Any]:
    """The session with settings for a few rows."""
    own = {name: spark.conf.get(name, None) for name in TINY}
    for name, value in TINY.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in own.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("format", HISTORIES)
def test_every_version_of_a_random_history(tiny: Any, store: str, format: str, seed: int) -> None:
    kind, name = HISTORIES[format]
    table = name.format(seed)
    history: RandomHistory = kind(tiny, table, seed)
    held = HeldVersions(tiny, table)
    commits = [history.commit() for _ in range(FED)]
    check_every_version(held, store, read_changes(tiny, table), commits)
    clear(store)
    history.leave_feed()
    commits += [history.commit() for _ in range(COMMITS - FED)]
    check_every_version(held, store, from_versions(tiny, table, "id"), commits)
    tiny.sql(f"DROP TABLE {table}")
