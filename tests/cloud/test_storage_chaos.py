"""Changes to files on S3 while a worker and the driver are killed: none is lost, and each table's order is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.storage import run_on_s3


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("protocol", ["csv", "canal-json"])
def test_no_change_is_lost(protocol: str, tmp_path: Path) -> None:
    verdict = run_on_s3(tmp_path, 20_000, protocol=protocol)
    assert verdict.faults == []
    assert verdict.distinct_rows == verdict.expected == 20_000
    assert (verdict.workers_killed, verdict.drivers_killed) == (1, 1)
