"""Time travel of real Delta and Iceberg tables as a history: a consumer has at each version what the format has."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest
from folded_versions import consumed_versions, held_rows, uri
from random_history import DeltaHistory, IcebergHistory, RandomHistory

from ticdc_emit import from_versions, messages, replay, table_ddl
from ticdc_emit.delivery.memory import clear
from ticdc_emit.traffic.replay.table_versions import versioned_table

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SEEDS, COMMITS = (20, 200) if NIGHTLY else (2, 25)
HISTORIES = {"delta": (DeltaHistory, "versions_{}"), "iceberg": (IcebergHistory, "ice.db.versions_{}")}


@pytest.fixture
def store() -> Iterator[str]:
    clear("lake")
    yield "lake"
    clear("lake")


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("format", HISTORIES)
def test_every_version_of_a_random_history(spark: Any, store: str, format: str, seed: int) -> None:
    kind, name = HISTORIES[format]
    table = name.format(seed)
    history: RandomHistory = kind(spark, table, seed)
    commits = [history.commit() for _ in range(COMMITS)]
    schema, ddl = table_ddl(spark, table, "lake.goods", "id")
    replay(spark, uri(store), {"lake.goods": from_versions(spark, table, "id")}, schema, ddl=ddl)
    versions = [version for version in versioned_table(spark, table).versions if version.id is not None]
    stamps = [version.commit_ts for version in versions]
    seen = consumed_versions(messages(store), schema, ("lake", "goods"), stamps)
    for version, consumed in zip(versions, seen, strict=True):
        held = held_rows(spark.sql(f"SELECT * FROM {table} VERSION AS OF {version.id}"), ["id"])
        assert consumed == held, f"version {version.id} of {commits}"
    spark.sql(f"DROP TABLE {table}")
