"""Parts that are slow or full: the job waits for them, and nothing arrives out of order."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import pytest

from ticdc_emit.errors import RegistryUnreachableError
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.registry.confluent import ConfluentRegistry
from ticdc_emit.spark import TicdcSink
from ticdc_emit.testing import EmbeddedRegistry

from .campaign import Stage, judged
from .conftest import MakeStage
from .history import schema_sql
from .protocols import PROTOCOLS, FaultProtocol
from .topic_log import messages_of, partitions_of

pytestmark = [pytest.mark.integration, pytest.mark.spark, pytest.mark.timeout(420)]

_DELAY_S = 0.05


class _SlowStore:
    def __init__(self, store: Any, delay_s: float) -> None:
        self._store = store
        self._delay_s = delay_s

    def __getattr__(self, name: str) -> Any:
        time.sleep(self._delay_s)
        return getattr(self._store, name)


def _slow_registry(delay_s: float) -> EmbeddedRegistry:
    registry = EmbeddedRegistry("NONE")
    registry.store = _SlowStore(registry.store, delay_s)  # type: ignore[assignment]
    return registry


def _send(
    spark: Any,
    stage: Stage,
    protocol: FaultProtocol,
    topic: str,
    librdkafka: Mapping[str, Any] | None = None,
    registry: SchemaRegistry | None = None,
) -> float:
    uri = protocol.sink_uri(stage.cluster.bootstrap, topic, stage.partitions, stage.replicas)
    options = stage.options(protocol)
    sink = TicdcSink(uri, schema_sql(20), watermark_interval=1, librdkafka=librdkafka, registry=registry, **options)
    for batch_id, file in enumerate(sorted(stage.source.iterdir())):
        sink(spark.read.parquet(str(file)), batch_id)
    return sink.reports[0].seconds


@pytest.mark.slow
def test_a_slow_registry_is_waited_for(spark: Any, make_stage: MakeStage) -> None:
    with _slow_registry(_DELAY_S) as registry:
        stage = make_stage(2_000, files=2, registry=registry.url)
        seconds = _send(spark, stage, PROTOCOLS["avro"], "slow-registry")
        verdict = judged(stage, PROTOCOLS["avro"], "slow-registry", interruptions=0)
    assert verdict.holds, verdict.examples
    assert (verdict.distinct_rows, verdict.duplicate_rows) == (2_000, 0)
    assert seconds > 20 * 2 * _DELAY_S, "each of the 20 tables registers a key and a value before the first row"


def test_a_registry_too_slow_is_an_error_before_anything_is_sent(spark: Any, make_stage: MakeStage) -> None:
    with _slow_registry(2.0) as registry:
        stage = make_stage(200, files=1, registry=registry.url)
        impatient = ConfluentRegistry(registry.url, timeout_s=0.3, attempts=2, backoff_s=0.1)
        with pytest.raises(RegistryUnreachableError):
            _send(spark, stage, PROTOCOLS["avro"], "too-slow", registry=impatient)
        impatient.close()
    brokers = stage.cluster.bootstrap
    assert [list(messages_of(brokers, "too-slow", number)) for number in partitions_of(brokers, "too-slow")] == [[]] * 4


@pytest.mark.slow
def test_a_full_queue_only_slows_down(spark: Any, make_stage: MakeStage) -> None:
    stage = make_stage(2_000, files=2)
    protocol = PROTOCOLS["debezium"]
    _send(spark, stage, protocol, "full-queue", {"queue.buffering.max.messages": 20, "linger.ms": 1})
    verdict = judged(stage, protocol, "full-queue", interruptions=0)
    assert verdict.holds, verdict.examples
    assert (verdict.distinct_rows, verdict.duplicate_rows) == (2_000, 0)
