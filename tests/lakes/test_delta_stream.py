"""The change feed of a real Delta table as a stream: what a consumer has at each version, also after a kill."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from feed_job import MOMENTS, run_until_death, tail_feed
from folded_versions import HeldVersions, check_killed_stream, row_values
from random_history import DeltaHistory

from ticdc_emit import table_ddl
from ticdc_emit.delivery.files import read_files

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SEEDS, COMMITS = (2, 24) if os.environ.get("HYPOTHESIS_PROFILE") == "nightly" else (1, 8)
"""Histories, and their commits until the kill; half as many come later."""


@pytest.mark.parametrize("seed", range(SEEDS))
def test_every_version_after_a_kill_and_later_commits(tiny: Any, tmp_path: Path, seed: int) -> None:
    table, folder = f"{tmp_path}/goods", tmp_path / "tail"
    history = DeltaHistory(tiny, table, seed, fixed_columns=True)
    commits = [history.commit() for _ in range(COMMITS)]
    moment = MOMENTS[seed % len(MOMENTS)]
    run_until_death(tiny, table, folder, random.Random(seed).randint(1, COMMITS // 6), moment)
    before = row_values(read_files(folder / "out"))
    assert len(before) > 0
    tail_feed(tiny, table, folder)
    commits += [history.commit() for _ in range(COMMITS // 2)]
    tail_feed(tiny, table, folder)

    received = list(read_files(folder / "out"))
    schema, _ = table_ddl(tiny, table, "lake.goods", "id")
    check_killed_stream(received, schema, HeldVersions(tiny, table), commits)
    assert len(row_values(received)) > len(set(row_values(received))), "the batch of the kill was not sent again"
