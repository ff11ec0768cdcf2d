"""What the library makes of a case: an :class:`Outcome` per event and sink, a :class:`Target` per row and route.

In: a case, its schemas and one sink's configuration. Rows take the same steps as in
:class:`~ticdc_emit.encoder.Encoder` and in a Spark worker: change form, total order, :func:`encode_batches`. A
``row`` event is one change as TiCDC's encoder received it. The rows of a ``txn`` event are one transaction in the order
of ``seq``; the library splits and orders them. DDL and watermarks are the codec's control messages.

A message of several rows belongs to the last event of its group: the rows between two statements or watermarks. A
refused row is in no message. Which partitions receive a DDL is the protocol's decision, so its target has none.
"""

from __future__ import annotations

import base64
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import chain, groupby
from typing import Any

import pyarrow as pa

from ticdc_emit.changes.attributes import ATTRIBUTES, ROW_KEY, START_TS
from ticdc_emit.changes.codec import one_row_messages
from ticdc_emit.changes.model import Encoded
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, ConfigWarning, Protocol, Release, load_changefeed
from ticdc_emit.errors import (
    InvalidValueError,
    RegistryError,
    ReleaseDefectError,
    SchemaError,
    SharedSubjectError,
    TicdcEmitError,
    UnknownTableError,
)
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.arrange.row_batch import RowBatch
from ticdc_emit.pipeline.arrange.row_reader import change_form, read_changes
from ticdc_emit.pipeline.arrange.row_sorter import RowSorter
from ticdc_emit.pipeline.deliver.bootstrap import Bootstrap
from ticdc_emit.pipeline.deliver.control_events import ControlEncoder, Event, Watermark
from ticdc_emit.pipeline.encode.message_packing import packed_messages
from ticdc_emit.pipeline.encode.messages import targets_of
from ticdc_emit.pipeline.plan.large_messages import LargeMessages
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan, make_plan, topics_of
from ticdc_emit.registry.base import MemoryRegistry
from ticdc_emit.registry.headers import confluent_schema
from ticdc_emit.routing.replication import TableHistory
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.events import DdlEvent

from .compare import SHARED_SUBJECT
from .encoded_rows import encode_rows
from .history import CaseHistory
from .vectors import DML_KINDS, Case, Outcome, Record, Route, SinkConfig, Target

_KINDS = ("delete", "update", "insert")


def _recorded_claim_name(*_: object) -> str:
    return "00000000-0000-4000-8000-000000000000"


class CaseChanges:
    """The changes of each event of a case. They do not depend on a configuration, so each is read once."""

    def __init__(self, case: Case, history: CaseHistory) -> None:
        self.case = case
        self.history = history
        self._read: dict[tuple[int, ...], pa.RecordBatch] = {}

    def batch(self, *indexes: int) -> pa.RecordBatch:
        """Return the changes of a transaction, or of rows of one table; raises the
        :class:`~ticdc_emit.errors.RowError` family.
        """
        if indexes not in self._read:
            events = [self.case.events[index] for index in indexes]
            info, *others = (self.history.version(each["schema"], each["table"], each["commit_ts"]) for each in events)
            if any(other is not info for other in others):
                raise SchemaError("rows of two versions of a table are encoded one by one")
            is_txn = events[0]["kind"] == "txn"
            changes = transaction(events[0], self.case.release) if is_txn else list(map(_change, events))
            self._read[indexes] = change_form(rows_to_batch(changes, info), info.full_name)
        return self._read[indexes]


class PlannedChanges:
    """The changes of a case under one configuration. Every topic has ``partitions`` partitions.

    ``plan`` is for control events and has no tables. Raises :class:`~ticdc_emit.errors.ConfigError` for rules that
    name no table or topic.
    """

    def __init__(self, changes: CaseChanges, config: ChangefeedConfig, partitions: int) -> None:
        self._changes = changes
        self._config = config
        ddl = [event for event in changes.history.ddl.values() if isinstance(event, DdlEvent)]
        self._partitions = dict.fromkeys(topics_of(config, changes.history.tables, ddl), partitions)
        self._planned: dict[tuple[str, str], Plan] = {}
        self.plan = self._plan({})

    def of_event(self, index: int, *more: int) -> tuple[Plan, TablePlan, pa.RecordBatch]:
        """Return an event's changes in output order, with their plan; with ``more`` rows, those of all.

        Raises the :class:`~ticdc_emit.errors.RowError` and :class:`~ticdc_emit.errors.SchemaError` families.
        """
        event = self._changes.case.events[index]
        key = event["schema"], event["table"]
        if key not in self._planned:
            # one by one, so that a schema that cannot be planned fails the events of its own table only
            self._planned[key] = self._plan({key: self._changes.history.table(*key)})
        plan = self._planned[key]
        table = plan.table(*key)
        batch = self._changes.batch(index, *more)
        return plan, table, in_order(batch, table, plan) if event["kind"] == "txn" else batch

    def _plan(self, tables: Mapping[tuple[str, str], TableHistory]) -> Plan:
        now_ms = self._changes.case.now_ms
        return make_plan(self._config, tables, self._partitions, build_ts=now_ms, claim_names=_recorded_claim_name)


def in_order(
    rows: pa.RecordBatch, table: TablePlan, plan: Plan, left_out: Counter[str] | None = None
) -> pa.RecordBatch:
    """Return one table's changes as they are sent; ``left_out`` counts the others, by reason."""
    sorter = RowSorter(plan, (table.schema, table.name), "any", None, whole=True)
    batches = [each.batch for each in sorter.sort(rows)]
    if left_out is not None:
        left_out.update(sorter.kept_back)
    return batches[0] if batches else rows.slice(0, 0)


def transaction(event: Mapping[str, Any], release: Release) -> list[dict[str, Any]]:
    """Return the rows of a recorded transaction as changes, in the order in which TiCDC reads them."""
    rows = event["rows"]
    if release.transactions.split_order == "inserts-last":
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


_BREAKS = frozenset({"ddl", "watermark"})


def packed_outcomes(events: Iterable[Mapping[str, Any]], outcomes: Iterable[Outcome], plan: Plan) -> list[Outcome]:
    """Return the outcomes of a case's events with packed messages; the given ones have one row per message."""
    packed: list[Outcome] = []
    group: list[Record] = []
    last = None
    for event, outcome in zip(events, outcomes, strict=True):
        if event["kind"] in _BREAKS and last is not None:
            packed[last] = _with(packed[last], _packed(group, plan))
            group, last = [], None
        if event["kind"] in DML_KINDS and outcome.left_out is None and not outcome.crashed:
            group += [record for record in outcome.records if record.error is None]
            outcome = Outcome(tuple(record for record in outcome.records if record.error is not None), outcome.error)
            last = len(packed)
        packed.append(outcome)
    if last is not None:
        packed[last] = _with(packed[last], _packed(group, plan))
    return packed


def _with(outcome: Outcome, records: Iterator[Record]) -> Outcome:
    return Outcome((*outcome.records, *records), outcome.error)


def _packed(rows: list[Record], plan: Plan) -> Iterator[Record]:
    keys, values = (pa.array([record[part] for record in rows], pa.binary()) for part in range(2))
    stamps = pa.array([0] * len(rows), pa.int64())
    messages = packed_messages(Encoded(values, keys), "", 0, stamps, plan)
    return map(Record, messages.column("key").to_pylist(), messages.column("value").to_pylist())


_RECORDED_REGISTRY = "http://127.0.0.1:8081"


def load_variant(case: Case, sink: SinkConfig) -> ChangefeedConfig:
    """Load a sink's configuration; :class:`~ticdc_emit.errors.ConfigError` where it is refused."""
    # the recorder has one version of a table at a time, for all its partitions
    release = case.release.but(case.release.name, ddl={"surviving_partitions": "new"})
    return _loaded(
        sink.sink_uri,
        sink.changefeed,
        release,
        case.time_zone,
        case.cluster_id,
        integrity=case.integrity,
        force_replicate=case.force_replicate,
    )


@lru_cache(maxsize=256)  # many cases have the same sinks
def _loaded(uri: str, changefeed: str | None, release: Release, zone: str, cluster: str, **flags: Any) -> Any:
    # the recorder gave its registry's address to variants whose URI has a protocol that needs one
    named = any(f"protocol={each.value}" in uri for each in Protocol if each.spec.registers_schemas)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            uri,
            changefeed,
            release=release,
            time_zone=zone,
            cluster_id=cluster,
            strict=False,  # the recorder read the file itself, not by cdc cli
            schema_registry=_RECORDED_REGISTRY if named else None,
            **flags,
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
        self._routes = TableRoutes.of(config)
        self._planned = PlannedChanges(changes, config, config.kafka.partition_num or DEFAULT_PARTITION_NUM)
        self.registry = MemoryRegistry(reject=changes.case.registry_reject)
        self._registrar = Registrar(config, self.registry)
        self._registers = config.codec.protocol.spec.registers_schemas

    @property
    def large(self) -> LargeMessages:
        """The configuration's settings for large messages and compression."""
        return self._planned.plan.large

    def outcomes(self) -> Iterator[Outcome]:
        """Yield the outcome of each event, in order."""
        events = self._case.events
        runs = groupby(
            range(len(events)), lambda at: (events[at]["schema"], events[at]["table"]) if self._joins(at) else at
        )
        plain = chain.from_iterable(self._of_run(list(run)) for _, run in runs)
        return iter(packed_outcomes(events, plain, self._planned.plan)) if self._packs else plain

    def _joins(self, index: int) -> bool:
        return not self._registers and self._case.events[index]["kind"] == "row"

    def _of_run(self, run: Sequence[int]) -> Iterable[Outcome]:
        """Return the outcomes of rows of one table that follow each other, encoded together unless one is refused.

        Rows that are encoded together have the messages that each has alone, as a property test shows.
        """
        if len(run) > 1:
            with suppress(Exception):  # which the rows alone tell
                records = self._encoded(*self._planned.of_event(*run))
                if len(records) == len(run):
                    return [Outcome((record,)) for record in records]
        return map(self.encode, run)

    @property
    def _packs(self) -> bool:
        packing = self._planned.plan.large.packing
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

        Where one is refused or has a stored object, rows are encoded one by one.
        """
        plan, table, batch = self._planned.of_event(index)
        if batch.num_rows == 1:
            return self._encoded(plan, table, batch)
        alone: tuple[Record, ...] = ()
        if self._registers:  # row by row, as the requests are recorded
            alone = tuple(self._alone(plan, table, batch.slice(place, 1)) for place in range(batch.num_rows))
        if not any(record.error for record in alone):
            with suppress(TicdcEmitError):
                together = self._encoded(plan, table, batch)
                if len(together) == batch.num_rows:
                    return together
        return alone or tuple(self._alone(plan, table, batch.slice(place, 1)) for place in range(batch.num_rows))

    def _alone(self, plan: Plan, table: TablePlan, row: pa.RecordBatch) -> Record:
        try:
            (record,) = self._encoded(plan, table, row)
        except TicdcEmitError as fault:
            if isinstance(fault, SharedSubjectError) and "subject" in fault.context:
                raise
            return Record(None, None, error=fault.message)
        return record

    def _encoded(self, plan: Plan, table: TablePlan, batch: pa.RecordBatch) -> tuple[Record, ...]:
        needed = list(needed_by(batch, table)) if self._registers else []
        if needed:
            try:
                with suppress(RegistryError, ReleaseDefectError):  # whose headers decide; values are checked before
                    encode_rows(batch, table, plan)
            except InvalidValueError as fault:
                self._registrar.register_rows(plan, table, needed, fault.column or "")
                raise
        plan = self._registrar.register_rows(plan, table, needed)
        encoded = encode_rows(batch, plan.table(table.schema, table.name), plan).encoded.whole()
        if encoded.claims and batch.num_rows > 1:
            return ()  # which object belongs to which row, the rows alone tell
        if not self._packs:
            encoded = one_row_messages(encoded, plan.large.packing)
        messages = zip(encoded.filled_keys().to_pylist(), encoded.values.to_pylist(), strict=True)
        claim = encoded.claims[0][1].content if batch.num_rows == 1 and encoded.claims else None
        return tuple(Record(key, value, claim) for key, value in messages)

    def _ddl(self, index: int) -> tuple[Record, ...]:
        event = self._history.ddl[index]
        if isinstance(event, Exception):
            raise event
        return self._control_records(self._routes.event(event))

    def _bootstrap(self, event: Mapping[str, Any]) -> Bootstrap:
        recorded = event["table_info"]
        history = self._history.table(event["schema"], event["table"])
        info = next((info for _, info in history if info is not None and info.version == recorded["version"]), None)
        if info is None:
            raise UnknownTableError(
                "the DDL of the case made no such version", table=f"{event['schema']}.{event['table']}"
            )
        return Bootstrap(info.id, self._routes.table(info), ((self._topic, 0),), self._case.now_ms, "start")

    def _control_records(self, event: Event) -> tuple[Record, ...]:
        """Return the event's message, if the protocol has one; every target receives the same."""
        plan = self._planned.plan
        if not isinstance(event, Bootstrap):
            plan = self._registrar.register_controls(plan, [None if isinstance(event, Watermark) else event])
        message = ControlEncoder(plan).message(event)
        return () if message is None else (Record(message.key, message.value),)


class RouteDispatcher:
    """Routes the events of one case. Raises :class:`~ticdc_emit.errors.ConfigError` for refused dispatchers."""

    def __init__(self, changes: CaseChanges, route: Route) -> None:
        self._case = changes.case
        self._history = changes.history
        self._planned = PlannedChanges(changes, load_variant(changes.case, route), route.partitions)

    def targets(self, index: int) -> tuple[Target, ...]:
        """Return where an event goes: nowhere if it is neither row nor DDL. A refused row is a target with its error.

        Raises what the library raises where that is not a refusal of a row.
        """
        kind = self._case.events[index]["kind"]
        if kind == "ddl":
            return (self._ddl(index),)
        return self._rows(index) if kind in DML_KINDS else ()

    def _ddl(self, index: int) -> Target:
        event = self._history.ddl[index]
        if isinstance(event, Exception):
            raise event
        return Target(self._planned.plan.router.ddl_topic(event))

    def _rows(self, index: int) -> tuple[Target, ...]:
        plan, table, batch = self._planned.of_event(index)
        try:
            return self._dispatched(plan, table, batch)
        except TicdcEmitError:  # of which row, the rows alone tell
            return tuple(self._alone(plan, table, batch.slice(place, 1)) for place in range(batch.num_rows))

    def _alone(self, plan: Plan, table: TablePlan, row: pa.RecordBatch) -> Target:
        try:
            (target,) = self._dispatched(plan, table, row)
        except TicdcEmitError as fault:
            return Target(table.topic, error=fault.message)
        return target

    def _dispatched(self, plan: Plan, table: TablePlan, batch: pa.RecordBatch) -> tuple[Target, ...]:
        rows = RowBatch.of(batch, table)
        groups = read_changes(rows, plan.rendering, plan.build_ts)
        (topic,), partitions = targets_of(groups, table, batch.num_rows)
        return tuple(Target(topic, number) for number in partitions.tolist())
