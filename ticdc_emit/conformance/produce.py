"""Encode the events of a case with the library, as a changefeed would.

In: a case, its schemas and one variant's configuration. Out: an :class:`Outcome` per event. Rows take the same way as
in a Spark worker (change form, :func:`prepare`, message batch); DDL and watermarks are the codec's control messages.
"""

from __future__ import annotations

import base64
import warnings
from collections.abc import Mapping
from typing import Any

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, ConfigWarning, load_changefeed
from ticdc_emit.conformance.history import CaseHistory
from ticdc_emit.conformance.scope import SHARED_SUBJECT
from ticdc_emit.conformance.vectors import Case, Outcome, Record, Variant
from ticdc_emit.encode.announce import Announcer
from ticdc_emit.encode.attributes import ATTRIBUTES
from ticdc_emit.encode.encoder import control_batch, message_batch
from ticdc_emit.encode.plan import Plan, TablePlan, make_plan
from ticdc_emit.encode.registration import Registrar, needed_by
from ticdc_emit.encode.rows import rows_to_batch
from ticdc_emit.encode.run import prepare
from ticdc_emit.errors import SharedSubjectError, TicdcEmitError
from ticdc_emit.registry import MemoryRegistry
from ticdc_emit.schedule.bootstrap import Bootstrap
from ticdc_emit.schedule.control import Event, Watermark

__all__ = ["VariantEncoder", "load_variant", "refusal"]

_RECORDED_REGISTRY = "http://127.0.0.1:8081"


def load_variant(case: Case, variant: Variant) -> ChangefeedConfig:
    """Load a variant's configuration; :class:`~ticdc_emit.errors.ConfigError` where it is refused."""
    # The recorder gave its registry's address to the variants that say protocol=avro, outside the recorded URI.
    registry = _RECORDED_REGISTRY if "protocol=avro" in variant.sink_uri else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            variant.sink_uri,
            variant.changefeed,
            profile=case.profile,
            time_zone=case.time_zone,
            cluster_id=case.cluster_id,
            integrity=case.integrity,
            force_replicate=case.force_replicate,
            schema_registry=registry,
        )


def refusal(fault: Exception) -> Outcome:
    """Return the outcome of an event whose encoding raised ``fault``."""
    if isinstance(fault, SharedSubjectError):
        return Outcome(error=fault.message, left_out=SHARED_SUBJECT)
    if isinstance(fault, TicdcEmitError):
        return Outcome(error=fault.message)
    return Outcome(error=f"{type(fault).__name__}: {fault}", crashed=True)


class VariantEncoder:
    """Encodes the events of one case under one configuration.

    Nothing that it does depends on earlier events, but for the ``registry``, which remembers what it was sent.
    """

    def __init__(self, case: Case, history: CaseHistory, config: ChangefeedConfig) -> None:
        self._case = case
        self._history = history
        self._config = config
        self._partitions = {config.kafka.topic: config.kafka.partition_num or DEFAULT_PARTITION_NUM}
        self._announcer = Announcer(self._plan({}))
        self.registry = MemoryRegistry(reject=case.registry_reject)
        self._registrar = Registrar(config, self.registry)
        self._tables: dict[tuple[str, str], tuple[Plan, TablePlan]] = {}

    def encode(self, index: int) -> Outcome:
        """Return what the event becomes; every exception is an outcome, for one event must not hide the others."""
        event = self._case.events[index]
        try:
            if event["kind"] == "row":
                return Outcome(self._row(event))
            if event["kind"] == "ddl":
                return Outcome(self._ddl(index))
            if event["kind"] == "watermark":
                return Outcome(self._control_records(Watermark(event["ts"])))
            if event["kind"] == "bootstrap":
                return Outcome(self._control_records(self._bootstrap(event)))
            return Outcome()  # skipped
        except Exception as fault:
            return refusal(fault)

    def _plan(self, tables: Mapping[tuple[str, str], Any]) -> Plan:
        return make_plan(self._config, tables, self._partitions, build_ts=self._case.now_ms)

    def _row(self, event: Mapping[str, Any]) -> tuple[Record, ...]:
        plan, table = self._table(event["schema"], event["table"])
        info = table.encoder_at(event["commit_ts"]).table
        change = {"op": event["op"], "commit_ts": event["commit_ts"]}
        change |= {name: event.get(name) for name in ATTRIBUTES}
        change |= {name: _image(event.get(name)) for name in ("before", "after")}
        batch = rows_to_batch([change], info)
        plan = self._registrar.registered(plan, table, needed_by(batch, table))
        table = plan.table(table.schema, table.name)
        encoded = prepare(batch, table, plan).messages()
        messages = message_batch(encoded, table.topic, table.partition, batch.column("commit_ts"))
        return tuple(Record(row["key"], row["value"]) for row in messages.select(["key", "value"]).to_pylist())

    def _table(self, schema: str, name: str) -> tuple[Plan, TablePlan]:
        # Planned one by one, so that a schema that cannot be planned fails the events of its own table only.
        if (schema, name) not in self._tables:
            plan = self._plan({(schema, name): self._history.table(schema, name)})
            self._tables[schema, name] = plan, plan.table(schema, name)
        return self._tables[schema, name]

    def _ddl(self, index: int) -> tuple[Record, ...]:
        event = self._history.ddl[index]
        if isinstance(event, Exception):
            raise event
        return self._control_records(event)

    def _bootstrap(self, event: Mapping[str, Any]) -> Bootstrap:
        recorded = event["table_info"]
        history = self._history.table(event["schema"], event["table"])
        info = next(info for _, info in history if info is not None and info.version == recorded["version"])
        return Bootstrap(info.id, info, ((self._config.kafka.topic, 0),), self._case.now_ms, "start")

    def _control_records(self, event: Event) -> tuple[Record, ...]:
        """Return the event's message as its first target receives it; the vectors show one per event."""
        rows = control_batch(self._announcer.messages(event)[:1]).to_pylist()
        return tuple(Record(row["key"], row["value"]) for row in rows)


def _image(image: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if image is None else {name: _value(value) for name, value in image.items()}


def _value(value: Any) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(value, Mapping) else value
