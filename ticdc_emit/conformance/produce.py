"""Encode the events of a case with the library, as a changefeed would.

In: the changes of a case and one variant's configuration. Out: an :class:`Outcome` per event. Rows take the same steps
as in :class:`~ticdc_emit.encoder.Encoder` and in a Spark worker (change form, total order, :func:`prepare`, messages);
DDL and watermarks are the codec's control messages.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from ticdc_emit.changes.codec import RegisteredRows, alone
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, ConfigWarning, Protocol, load_changefeed
from ticdc_emit.conformance.changes import CaseChanges, PlannedChanges
from ticdc_emit.conformance.packing import packed_outcomes
from ticdc_emit.conformance.scope import SHARED_SUBJECT
from ticdc_emit.conformance.vectors import DML_KINDS, Case, Outcome, Record, SinkConfig
from ticdc_emit.errors import SharedSubjectError, TicdcEmitError
from ticdc_emit.pipeline.bootstrap import Bootstrap
from ticdc_emit.pipeline.control_events import Announcer, Event, Watermark
from ticdc_emit.pipeline.encode import prepare
from ticdc_emit.pipeline.large_messages import LargeMessages
from ticdc_emit.pipeline.plan import Plan, TablePlan
from ticdc_emit.pipeline.registration import Registrar, needed_by
from ticdc_emit.registry.base import confluent_schema
from ticdc_emit.registry.memory import MemoryRegistry

__all__ = ["VariantEncoder", "load_variant", "refusal"]

_RECORDED_REGISTRY = "http://127.0.0.1:8081"


def load_variant(case: Case, sink: SinkConfig) -> ChangefeedConfig:
    """Load a sink's configuration; :class:`~ticdc_emit.errors.ConfigError` where it is refused."""
    # the recorder gave its registry's address to variants whose URI has a protocol that needs one
    named = any(f"protocol={each.value}" in sink.sink_uri for each in Protocol if each.traits.registers_schemas)
    registry = _RECORDED_REGISTRY if named else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            sink.sink_uri,
            sink.changefeed,
            profile=case.profile,
            time_zone=case.time_zone,
            cluster_id=case.cluster_id,
            integrity=case.integrity,
            force_replicate=case.force_replicate,
            schema_registry=registry,
        )


def refusal(fault: Exception) -> Outcome:
    """Return the outcome of an event whose encoding raised ``fault``."""
    if isinstance(fault, TicdcEmitError):
        return Outcome(error=fault.message)
    return Outcome(error=f"{type(fault).__name__}: {fault}", crashed=True)


class VariantEncoder:
    """Encodes the events of one case under one configuration.

    It does not depend on earlier events, except for the ``registry``, which remembers its requests. Raises
    :class:`~ticdc_emit.errors.ConfigError` for a configuration whose rules are refused.
    """

    def __init__(self, changes: CaseChanges, config: ChangefeedConfig) -> None:
        self._case = changes.case
        self._history = changes.history
        self._topic = config.kafka.topic
        self._planned = PlannedChanges(changes, config, config.kafka.partition_num or DEFAULT_PARTITION_NUM)
        self.registry = MemoryRegistry(reject=changes.case.registry_reject)
        self._registrar = Registrar(config, self.registry)

    @property
    def large(self) -> LargeMessages:
        """The configuration's settings for large messages and compression."""
        return self._planned.plan.large

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each event, in order."""
        plain = map(self.encode, range(len(self._case.events)))
        return iter(packed_outcomes(self._case.events, plain, self._planned.plan)) if self._packs else plain

    @property
    def _packs(self) -> bool:
        packing = self._planned.plan.packing
        return packing is not None and packing.max_rows > 1

    def encode(self, index: int) -> Outcome:
        """Return the outcome of the event. Every exception is an outcome, because one event must not hide the
        others.
        """
        event = self._case.events[index]
        try:
            if event["kind"] in DML_KINDS:
                return Outcome(self._rows(index))
            if event["kind"] == "ddl":
                return Outcome(self._ddl(index))
            if event["kind"] == "watermark":
                return Outcome(self._control_records(Watermark(event["ts"])))
            if event["kind"] == "bootstrap":
                return Outcome(self._control_records(self._bootstrap(event)))
            return Outcome()  # skipped
        except SharedSubjectError as fault:
            return self._borrowed(fault)
        except Exception as fault:
            return refusal(fault)

    def _borrowed(self, fault: SharedSubjectError) -> Outcome:
        """Return the refusal of a row that TiCDC writes with the schema of another table, which the subject holds."""
        subject = fault.context.get("subject")
        ids = [post.id for post in self.registry.posts if post.subject == subject and post.id is not None]
        if not ids:  # TiCDC fails, too
            return refusal(fault)
        return Outcome(error=fault.message, left_out=SHARED_SUBJECT, borrowed=confluent_schema(ids[-1]).header)

    def _rows(self, index: int) -> tuple[Record, ...]:
        """Return a message or refusal per row; of rows that share messages, what each has in one.

        Rows are encoded one by one, to get each one's refusal and stored object.
        """
        plan, table, batch = self._planned.of_event(index)
        if batch.num_rows == 1:
            return self._encoded(plan, table, batch)
        alone = [self._alone(plan, table, batch.slice(place, 1)) for place in range(batch.num_rows)]
        if any(record.error for record in alone):
            return tuple(alone)
        together = self._encoded(plan, table, batch)
        return tuple(record._replace(claim=one.claim) for record, one in zip(together, alone, strict=True))

    def _alone(self, plan: Plan, table: TablePlan, row: pa.RecordBatch) -> Record:
        try:
            (record,) = self._encoded(plan, table, row)
        except TicdcEmitError as fault:
            if isinstance(fault, SharedSubjectError) and "subject" in fault.context:
                raise
            return Record(None, None, error=fault.message)
        return record

    def _encoded(self, plan: Plan, table: TablePlan, batch: pa.RecordBatch) -> tuple[Record, ...]:
        needed = list(needed_by(batch, table))
        if any(isinstance(encoder, RegisteredRows) and not encoder.registers_refused for encoder, _ in needed):
            prepare(batch, table, plan)
        plan = self._registrar.registered(plan, table, needed)
        encoded = prepare(batch, plan.table(table.schema, table.name), plan).messages().whole()
        if not self._packs:
            encoded = alone(encoded, plan.packing)
        messages = zip(encoded.filled_keys().to_pylist(), encoded.values.to_pylist(), strict=True)
        claim = encoded.claims[0][1].content if batch.num_rows == 1 and encoded.claims else None
        return tuple(Record(key, value, claim) for key, value in messages)

    def _ddl(self, index: int) -> tuple[Record, ...]:
        event = self._history.ddl[index]
        if isinstance(event, Exception):
            raise event
        return self._control_records(event)

    def _bootstrap(self, event: Mapping[str, Any]) -> Bootstrap:
        recorded = event["table_info"]
        history = self._history.table(event["schema"], event["table"])
        info = next(info for _, info in history if info is not None and info.version == recorded["version"])
        return Bootstrap(info.id, info, ((self._topic, 0),), self._case.now_ms, "start")

    def _control_records(self, event: Event) -> tuple[Record, ...]:
        """Return the event's message, if the protocol has one; every target receives the same."""
        plan = self._planned.plan
        if not isinstance(event, Bootstrap):
            plan = self._registrar.announced(plan, [None if isinstance(event, Watermark) else event])
        message = Announcer(plan).message(event)
        return () if message is None else (Record(message.key, message.value),)
