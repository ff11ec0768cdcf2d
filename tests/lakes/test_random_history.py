"""Random histories of real Delta and Iceberg tables: a consumer has at each version what ``VERSION AS OF`` has."""

from __future__ import annotations

import os
from typing import Any

import pytest
from folded_versions import HeldVersions, check_every_version
from random_history import DeltaHistory, IcebergHistory, RandomHistory

from ticdc_emit import read_changes

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SEEDS, COMMITS = (20, 200) if NIGHTLY else (2, 20)
"""Histories of each format, and their commits."""

HISTORIES = {"delta": (DeltaHistory, "history_{}"), "iceberg": (IcebergHistory, "ice.db.history_{}")}


@pytest.mark.timeout(7200)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("format", HISTORIES)
def test_every_version_of_a_random_history(tiny: Any, store: str, format: str, seed: int) -> None:
    kind, name = HISTORIES[format]
    table = name.format(seed)
    history: RandomHistory = kind(tiny, table, seed)
    held = HeldVersions(tiny, table)
    commits = [history.commit() for _ in range(COMMITS)]
    check_every_version(held, store, read_changes(tiny, table), commits)
    tiny.sql(f"DROP TABLE {history.table}")
