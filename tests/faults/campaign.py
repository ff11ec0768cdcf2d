"""One run under fire: a job on a cluster, faults at chosen points of its progress, and the verdict on what arrived.

In: a started cluster, a history's files, a protocol. Out: :class:`RunResult`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tests.kafka_cluster import KafkaCluster
from ticdc_emit.encoder import Encoder

from .driver import Driver
from .expected import expected_messages
from .history import History, schema_sql
from .injection import FaultPlan, Injected, Injector
from .protocols import FaultProtocol
from .topic_log import messages_of, partitions_of
from .verdict import Verdict, judge

_DECODED_ROWS = 20_000


@dataclass(frozen=True)
class Stage:
    cluster: KafkaCluster
    history: History
    changes: pa.Table
    source: Path
    folder: Path
    partitions: int = 6
    replicas: int = 3
    registry: str | None = None
    timeout_s: float = 900.0

    def options(self, protocol: FaultProtocol) -> dict[str, Any]:
        return {"schema_registry": self.registry or ""} if protocol.needs_registry else {}


@dataclass
class RunResult:
    protocol: str
    changes: int
    injected: Injected = field(default_factory=Injected)
    seconds: float = 0.0
    judge_seconds: float = 0.0
    verdict: Verdict | None = None

    @property
    def changes_per_second(self) -> float:
        return self.changes / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "protocol": self.protocol,
            "changes": self.changes,
            **asdict(self.injected),
            "seconds": round(self.seconds, 1),
            "judge_seconds": round(self.judge_seconds, 1),
            "changes_per_second": round(self.changes_per_second),
            "verdict": None if self.verdict is None else self.verdict.to_dict(),
        }


def run_under_faults(
    stage: Stage, protocol: FaultProtocol, *, say: Callable[[str], None] = print, **job: Any
) -> RunResult:
    topic = f"faults-{protocol.name}"
    result = RunResult(protocol.name, stage.history.rows)
    started = time.monotonic()
    with _driver(stage, protocol, topic, job) as driver:
        least = stage.history.rows // protocol.rows_per_message
        injector = Injector(stage.cluster, driver, topic, least, FaultPlan(), timeout_s=stage.timeout_s, say=say)
        result.injected = injector.run()
    result.seconds = time.monotonic() - started
    say(f"the job has ended after {result.seconds:.1f} s; judging")
    started = time.monotonic()
    result.verdict = judged(stage, protocol, topic, interruptions=result.injected.interruptions)
    result.judge_seconds = time.monotonic() - started
    return result


def run_job(
    stage: Stage, protocol: FaultProtocol, topic: str, deaths: Sequence[int | None]
) -> tuple[int, dict[str, Any]]:
    """Start a job once for each of ``deaths``: the batch behind which it kills itself before Spark's checkpoint,
    ``None`` for a run to the end. Return the first exit code, and what the last run says of itself.
    """
    with _driver(stage, protocol, topic, {}) as driver:
        codes = []
        for batch_id in deaths:
            driver.describe(die_after_batch=batch_id)
            driver.start()
            codes.append(driver.wait(stage.timeout_s))
        if codes[-1]:
            raise AssertionError(f"the job failed:\n{driver.log_tail()}")
        stage.cluster.wait_until_in_sync([topic])
        return codes[0], driver.result()


def judged(stage: Stage, protocol: FaultProtocol, topic: str, *, interruptions: int) -> Verdict:
    row_by_row = replace(protocol, options={**protocol.options, "max-batch-size": "1"})
    encoder = Encoder(
        row_by_row.sink_uri(stage.cluster.bootstrap, topic, stage.partitions, stage.replicas),
        schema_sql(stage.history.tables),
        **stage.options(protocol),
    )
    expected = expected_messages(encoder, stage.changes)
    brokers = stage.cluster.bootstrap
    log = {
        number: (part for record in messages_of(brokers, topic, number) for part in protocol.parts(*record))
        for number in partitions_of(brokers, topic)
    }
    return judge(
        expected,
        log,
        protocol.make_reader(stage.registry),
        interruptions=interruptions,
        watermark=max(change.commit_ts for change in expected.changes.values()) - 1,
        decode_every=max(1, stage.history.rows // _DECODED_ROWS),
    )


@contextmanager
def _driver(stage: Stage, protocol: FaultProtocol, topic: str, job: dict[str, Any]) -> Iterator[Driver]:
    folder = stage.folder / topic
    driver = Driver(
        folder,
        {
            "sink_uri": protocol.sink_uri(stage.cluster.bootstrap, topic, stage.partitions, stage.replicas),
            "options": stage.options(protocol),
            "schema": schema_sql(stage.history.tables),
            "source": str(stage.source),
            "checkpoint": str(folder / "checkpoint"),
            "state": str(folder / "state"),
            "files_per_batch": 1,
            **job,
        },
    )
    try:
        yield driver
    finally:
        driver.stop()
