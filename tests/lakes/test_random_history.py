"""Random histories of real Delta and Iceberg tables: a consumer has at each version what ``VERSION AS OF`` has.

Shorter ones are replayed by a process that is killed, and by another one that goes on.
"""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from feed_job import MOMENTS, replay_feed, run_until_death
from folded_versions import HeldVersions, check_every_version, check_received, row_values, uri
from random_history import DeltaHistory, IcebergHistory, RandomHistory

from ticdc_emit import messages, read_changes, table_ddl
from ticdc_emit.consume.verify import verify
from ticdc_emit.delivery.files import read_files
from ticdc_emit.delivery.memory import clear

pytestmark = pytest.mark.spark

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
SEEDS, COMMITS = (20, 200) if NIGHTLY else (2, 20)
"""Histories of each format, and their commits."""

KILLED_SEEDS, KILLED_COMMITS = (2, 24) if NIGHTLY else (1, 10)
"""Histories of each format whose replay is killed, and their commits."""

HISTORIES = {"delta": (DeltaHistory, "history_{}"), "iceberg": (IcebergHistory, "ice.db.history_{}")}


@pytest.fixture
def store() -> Iterator[str]:
    clear("lake")
    yield "lake"
    clear("lake")


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


@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", range(KILLED_SEEDS))
@pytest.mark.parametrize("format", HISTORIES)
def test_every_version_after_a_killed_replay(tiny: Any, store: str, tmp_path: Path, format: str, seed: int) -> None:
    kind, _ = HISTORIES[format]
    table = f"{tmp_path}/goods" if format == "delta" else f"ice.db.killed_{seed}"  # what another process can read
    history: RandomHistory = kind(tiny, table, 100 + seed)
    held = HeldVersions(tiny, table)
    commits = [history.commit() for _ in range(KILLED_COMMITS)]
    check_every_version(held, store, read_changes(tiny, table), commits)
    whole = row_values(messages(store))

    folder = tmp_path / "replayed"
    moment = MOMENTS[seed % len(MOMENTS)]
    run_until_death(tiny, "replay", table, folder, random.Random(seed).randint(1, 4), moment)
    before = row_values(read_files(folder / "out"))
    assert 0 < len(before) < len(whole)
    replay_feed(tiny, table, folder)
    received = list(read_files(folder / "out"))
    schema, _ = table_ddl(tiny, table, "lake.goods", "id")
    check_received(received, schema, held, held.stamps(), commits)
    assert verify(received, uri("read")) == []
    assert list(dict.fromkeys(row_values(received))) == whole
    assert (len(row_values(received)) > len(whole)) == (moment == "sending")
    tiny.sql(f"DROP TABLE {history.table}")
