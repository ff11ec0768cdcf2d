"""A batch that comes twice: sent again by a driver that was killed before its checkpoint, or handed over once more."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ticdc_emit.spark import TicdcSink

from .campaign import judged, run_job
from .conftest import MakeStage
from .history import schema_sql
from .protocols import PROTOCOLS

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(420)]


def test_a_driver_killed_between_send_and_checkpoint(make_stage: MakeStage) -> None:
    stage = make_stage(4_000)
    protocol, topic = PROTOCOLS["canal-json"], "send-and-checkpoint"
    died, result = run_job(stage, protocol, topic, [1, None])
    assert (died, result["batches"]) == (-9, [1, 2, 3])
    records = [json.loads(file.read_text()) for file in sorted((stage.folder / topic / "state").glob("batch-*.json"))]
    assert [record["done"] for record in records] == [True] * 4
    verdict = judged(stage, protocol, topic, interruptions=1)
    assert verdict.holds, verdict.examples
    assert verdict.duplicate_rows == 1_000
    assert verdict.replays == stage.partitions
    assert verdict.watermarks > verdict.distinct_watermarks, "the batch's watermarks are replayed, too"


@pytest.mark.parametrize("name", ["canal-json", "simple-avro"])
def test_a_batch_handed_over_again(spark: Any, make_stage: MakeStage, name: str) -> None:
    stage = make_stage(2_000)
    protocol, topic = PROTOCOLS[name], f"handed-over-{name}"
    uri = protocol.sink_uri(stage.cluster.bootstrap, topic, stage.partitions, stage.replicas)
    files = sorted(stage.source.iterdir())

    def sink() -> TicdcSink:
        return TicdcSink(uri, schema_sql(20), watermark_interval=1, state_uri=str(stage.folder / "state"))

    def send(to: TicdcSink, batch_id: int, file: Path) -> None:
        to(spark.read.parquet(str(file)), batch_id)

    first = sink()
    for batch_id in (0, 1):
        send(first, batch_id, files[batch_id])
    send(first, 1, files[1])
    restarted = sink()
    for batch_id in (1, 2, 3):
        send(restarted, batch_id, files[batch_id])
    verdict = judged(stage, protocol, topic, interruptions=2)
    assert verdict.holds, verdict.examples
    assert verdict.duplicate_rows == 2 * 500
    assert verdict.replays == 2 * stage.partitions
