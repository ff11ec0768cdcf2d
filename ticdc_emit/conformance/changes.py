"""The row changes of a case as input of the library, and the plans of their tables.

In: a case, its schemas and one sink's configuration. Out: per event a batch in change form with the plan of its table,
as :class:`~ticdc_emit.encoder.Encoder` has them before it encodes. A ``row`` event is one change as TiCDC's encoder
received it. The rows of a ``txn`` event are one transaction in the order of ``seq``; the library splits and orders
them.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ticdc_emit.changes.attributes import ATTRIBUTES, ROW_KEY, START_TS
from ticdc_emit.config import ChangefeedConfig, Profile
from ticdc_emit.conformance.history import CaseHistory
from ticdc_emit.conformance.vectors import DML_KINDS, Case
from ticdc_emit.pipeline.conflicting_changes import ordered
from ticdc_emit.pipeline.large_messages import FixedName
from ticdc_emit.pipeline.plan import Plan, TablePlan, make_plan, topics_of
from ticdc_emit.pipeline.python_rows import rows_to_batch
from ticdc_emit.pipeline.row_reader import positioned
from ticdc_emit.routing.replication import TableHistory
from ticdc_emit.schema.events import DdlEvent

__all__ = ["CaseChanges", "PlannedChanges", "transaction"]

_CLAIM_NAMES = FixedName("00000000-0000-4000-8000-000000000000")  # the recorded UUID of every stored object
_KINDS = ("delete", "update", "insert")


class CaseChanges:
    """The changes of each event of a case. They do not depend on a configuration, so each is read once."""

    def __init__(self, case: Case, history: CaseHistory) -> None:
        self.case = case
        self.history = history
        self._read: dict[int, pa.RecordBatch] = {}

    def batch(self, index: int) -> pa.RecordBatch:
        """Return the changes of a row or transaction; raises the :class:`~ticdc_emit.errors.RowError` family."""
        if index not in self._read:
            event = self.case.events[index]
            info = self.history.version(event["schema"], event["table"], event["commit_ts"])
            changes = transaction(event, self.case.profile) if event["kind"] == "txn" else [_change(event)]
            self._read[index] = positioned(rows_to_batch(changes, info), info.full_name)
        return self._read[index]


class PlannedChanges:
    """The changes of a case under one configuration. Every topic has ``partitions`` partitions.

    ``pipeline`` is for control events and has no tables. Raises :class:`~ticdc_emit.errors.ConfigError` for rules that
    name no table or topic.
    """

    def __init__(self, changes: CaseChanges, config: ChangefeedConfig, partitions: int) -> None:
        self._changes = changes
        self._config = config
        events = changes.case.events
        tables = {(event["schema"], event["table"]) for event in events if event["kind"] in DML_KINDS}
        ddl = [event for event in changes.history.ddl.values() if isinstance(event, DdlEvent)]
        self._partitions = dict.fromkeys(topics_of(config, tables, ddl), partitions)
        self._planned: dict[tuple[str, str], Plan] = {}
        self.plan = self._plan({})

    def of_event(self, index: int) -> tuple[Plan, TablePlan, pa.RecordBatch]:
        """Return an event's changes in output order, with their plan.

        Raises the :class:`~ticdc_emit.errors.RowError` and :class:`~ticdc_emit.errors.SchemaError` families.
        """
        event = self._changes.case.events[index]
        key = event["schema"], event["table"]
        if key not in self._planned:
            # one by one, so that a schema that cannot be planned fails the events of its own table only
            self._planned[key] = self._plan({key: self._changes.history.table(*key)})
        plan = self._planned[key]
        table = plan.table(*key)
        batch = self._changes.batch(index)
        return plan, table, ordered(batch, table, plan) if event["kind"] == "txn" else batch

    def _plan(self, tables: Mapping[tuple[str, str], TableHistory]) -> Plan:
        now_ms = self._changes.case.now_ms
        return make_plan(self._config, tables, self._partitions, build_ts=now_ms, claim_names=_CLAIM_NAMES)


def transaction(event: Mapping[str, Any], profile: Profile) -> list[dict[str, Any]]:
    """Return the rows of a recorded transaction as changes, in the order in which TiCDC reads them."""
    rows = event["rows"]
    if profile.transactions.split_order == "inserts-last":
        # recorded in key order; the store of pingcap/ticdc (logservice/eventstore/format.go) sorts them by kind
        rows = sorted(rows, key=lambda row: _KINDS.index(row["op"]))
    whole = {"commit_ts": event["commit_ts"], START_TS: event.get(START_TS)}
    return [{**_change({**whole, **row}), "seq": seq} for seq, row in enumerate(rows)]


def _change(row: Mapping[str, Any]) -> dict[str, Any]:
    change = {"op": row["op"], "commit_ts": row["commit_ts"]}
    change |= {name: row.get(name) for name in ATTRIBUTES}
    if row.get(ROW_KEY) is not None:
        change[ROW_KEY] = base64.b64decode(row[ROW_KEY])
    return change | {name: _image(row.get(name)) for name in ("before", "after")}


def _image(image: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if image is None else {name: _value(value) for name, value in image.items()}


def _value(value: Any) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(value, Mapping) else value
