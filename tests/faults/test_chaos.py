"""The campaign in small: one run through a killed broker, a killed worker and a killed driver."""

from __future__ import annotations

import pytest

from .campaign import run_under_faults
from .conftest import MakeStage
from .protocols import PROTOCOLS

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(540)]

_ROWS = 20_000


def test_every_change_arrives_in_order_through_all_faults(make_stage: MakeStage) -> None:
    stage = make_stage(_ROWS)
    # A small queue makes sending slow enough for a worker to be killed in the middle of it.
    small = {"queue.buffering.max.messages": 200}
    result = run_under_faults(stage, PROTOCOLS["simple-json"], librdkafka=small)
    print(result.to_dict())
    verdict = result.verdict
    assert verdict.holds, verdict.examples
    assert verdict.expected == verdict.distinct_rows == _ROWS
    assert (result.injected.brokers_killed, result.injected.drivers_killed) == (1, 1)
    assert result.injected.tasks_lost >= 1
    assert verdict.replays >= 1, "no fault came in the middle of sending"
    assert verdict.duplicate_rows >= 1
    assert verdict.distinct_watermarks > 100
    assert verdict.watermarks >= verdict.distinct_watermarks
