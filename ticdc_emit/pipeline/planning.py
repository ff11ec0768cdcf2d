"""PLAN on the driver: from the changefeed, the base schema and the DDL so far to a plan and its control messages.

An outline is a plan that asks nobody anything: enough to check schemas, options, columns and values. A topic's
partition count and size limit is asked of the sink once, before the first batch that goes there, and again after a
batch that could not be delivered. Plans are kept for the DDL history that they were made for.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Sink
from ticdc_emit.errors import DeliveryError, MessageTooLargeError, TicdcEmitError
from ticdc_emit.pipeline.batch import Batch
from ticdc_emit.pipeline.deliver.bootstrap import BootstrapRules
from ticdc_emit.pipeline.deliver.control_events import ControlRules, ControlSchedule
from ticdc_emit.pipeline.plan.ddl import DdlStatement, SentDdl
from ticdc_emit.pipeline.plan.registration import Registrar, needed_by_all
from ticdc_emit.pipeline.plan.table_plans import KnownEncoders, Plan, make_plan, topics_of
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.routing.replication import Replication
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent

_MADE_UP_PARTITIONS = 32  # of a topic that is not asked: so many tasks can check rows at once


@dataclass
class _Applied:
    """The catalog after some DDL, and what of it is replicated and sent; ``filtered``: commit_ts and rule of others."""

    ddl: tuple[DdlStatement, ...]
    catalog: Catalog
    replication: Replication
    sent: list[DdlEvent]
    filtered: list[tuple[int, str]]


class _Outline(NamedTuple):
    plan: Plan
    events: tuple[DdlEvent, ...]
    filtered: tuple[tuple[int, str], ...]
    registers: bool


@dataclass(frozen=True)
class BatchPlan:
    """What follows from the state in which a batch begins, before the sink is asked for anything.

    ``outline``: the plan, whose partition counts are made up. ``registers``: whether a table needs schemas in a
    registry, so that the batch will be asked for its tables.
    """

    state: BatchState
    outline: Plan
    schedule: ControlSchedule
    rules: ControlRules | None
    registers: bool
    filtered: tuple[tuple[int, str], ...]

    def filtered_ddl(self, sent_until: int) -> dict[str, int]:
        """Return how many DDL events each rule kept back, of those that the batch reached by ``sent_until``."""
        reached = (reason for commit_ts, reason in self.filtered if self.state.sent_until < commit_ts <= sent_until)
        return dict(sorted(Counter(reached).items()))


@dataclass
class Planner:
    """Makes plans for batch states; ``catalog``: the tables before the first DDL."""

    config: ChangefeedConfig
    sink: Sink
    catalog: Catalog
    interval_ms: int | None = None
    lateness: int = 0
    verbatim_json: bool = False
    registry: SchemaRegistry | None = None
    _partitions: dict[str, int] = field(default_factory=dict, init=False)
    _limit: int | None = field(default=None, init=False)
    _ask_again: bool = field(default=False, init=False)
    _latest: _Applied | None = field(default=None, init=False)
    _encoders: KnownEncoders = field(default_factory=dict, init=False)
    _outlined: dict[tuple[DdlStatement, ...], _Outline] = field(default_factory=dict, init=False)
    _made: dict[tuple[DdlStatement, ...], Plan] = field(default_factory=dict, init=False)
    _newest: BatchPlan | None = field(default=None, init=False)

    def of(self, state: BatchState) -> BatchPlan:
        """Return what is known of a batch without the sink.

        The schedule depends on rows with the Simple protocol, and while the first watermarks are to follow the first
        row.
        """
        if self._newest is not None and self._newest.state == state:  # asked again in the same batch
            return self._newest
        made, codec = self._outline(state.ddl), self.config.codec
        outline = made.plan.at(state.build_ts)
        interval = (self.interval_ms or 0) if codec.has_watermarks else 0
        marks: list[int] = []
        if self.config.release.ddl.watermarks and codec.has_watermarks:
            marks = sorted({event.commit_ts for event in made.events})
        schedule = ControlSchedule(
            made.events, interval, self.lateness, state.sent_until, state.watermark, marks=tuple(marks)
        )
        ticks = codec.protocol.spec.default_ticks and self.interval_ms is None and state.build_ts is None
        begins = bool(self.interval_ms) and codec.has_watermarks and state.watermark is None
        rules = None
        if self._bootstraps.enabled or ticks or begins:
            rules = ControlRules(self._bootstraps, ticks, state.bootstraps)
        if rules is not None and self._bootstraps.enabled:
            rules.bootstraps(outline)
        self._newest = BatchPlan(state, outline, schedule, rules, made.registers, made.filtered)
        return self._newest

    def plan(self, batch: BatchPlan) -> Plan:
        """Return the plan of a batch, at the batch's clock; its topics exist from now on."""
        return self._plan(batch.state.ddl).at(batch.state.build_ts)

    def registered(self, batch: BatchPlan, rows: Batch) -> Plan:
        """Return the plan of a batch with every schema registered that its rows may need."""
        needed = [batch.outline.table(*key) for key in rows.tables(batch.outline)] if batch.registers else []
        plan = self._plan(batch.state.ddl)
        for table in needed:
            planned = plan.table(table.schema, table.name)
            plan = self._registrar.register_rows(plan, planned, needed_by_all(planned))
        self._made[batch.state.ddl] = plan
        return plan.at(batch.state.build_ts)

    @cached_property
    def _registrar(self) -> Registrar:
        return Registrar(self.config, self.registry)

    @cached_property
    def _bootstraps(self) -> BootstrapRules:
        return BootstrapRules.of(self.config)

    def _outline(self, ddl: tuple[DdlStatement, ...]) -> _Outline:
        if ddl not in self._outlined:
            applied = self._applied(tuple(sorted(ddl, key=lambda entry: entry[0])))
            histories, left_out = applied.replication.histories(applied.catalog.histories())
            topics = topics_of(self.config, histories, applied.sent)
            plan = make_plan(
                self.config,
                histories,
                dict.fromkeys(topics, self.config.kafka.partition_num or _MADE_UP_PARTITIONS),
                verbatim_json=self.verbatim_json,
                unreplicated=left_out,
                encoders=self._encoders,
            )
            registers = any(True for table in plan.tables.values() for _ in needed_by_all(table))
            self._outlined = {ddl: _Outline(plan, tuple(applied.sent), tuple(applied.filtered), registers)}
        return self._outlined[ddl]

    def _plan(self, ddl: tuple[DdlStatement, ...]) -> Plan:
        if ddl not in self._made:
            outline = self._outline(ddl)
            partitions, limit = self._ask_sink(tuple(outline.plan.router.partitions))
            plan = outline.plan.with_partitions(self.config, partitions, limit)
            self._made = {ddl: self._registrar.register_controls(plan, (None, *outline.events))}
        return self._made[ddl]

    def _applied(self, ddl: tuple[DdlStatement, ...]) -> _Applied:
        """Return what the DDL (in order) makes; what was applied before is not applied again."""
        latest, self._latest = self._latest, None  # a statement that fails leaves none
        if latest is None or latest.ddl != ddl[: len(latest.ddl)]:
            self._encoders.clear()
            catalog = copy.deepcopy(self.catalog) if ddl else self.catalog
            latest = _Applied((), catalog, Replication.of(self.config, self.catalog), [], [])
        elif latest.catalog is self.catalog and ddl:
            latest.catalog = copy.deepcopy(self.catalog)
        sending = SentDdl(self.config)
        for commit_ts, schema, query in ddl[len(latest.ddl) :]:
            events = latest.catalog.apply(query, schema=schema, commit_ts=commit_ts)
            verdicts = sending.verdicts(latest.replication, events, commit_ts)
            latest.sent.extend(sending.to_send(verdicts))
            latest.filtered.extend((commit_ts, verdict.reason) for verdict in verdicts if not verdict.is_sent)
        self._latest = _Applied(ddl, latest.catalog, latest.replication, latest.sent, latest.filtered)
        return self._latest

    @contextmanager
    def ask_again_after_failure(self) -> Iterator[None]:
        """If the block fails, ask the sink again before the next batch: a topic may be gone, or take less."""
        try:
            yield
        except Exception as error:
            if isinstance(error, (DeliveryError, MessageTooLargeError)) or not isinstance(error, TicdcEmitError):
                self._ask_again, self._made = True, {}
            raise

    def _ask_sink(self, topics: Sequence[str]) -> tuple[dict[str, int], int]:
        new = [topic for topic in topics if topic not in self._partitions]
        if new or self._ask_again:
            default = self.config.kafka.topic  # partition-num is about this topic alone, once it exists
            asked = {topic: self.config.kafka.partition_num if topic == default else None for topic in new}
            if self._ask_again:  # with as many partitions as before, whatever they have now: keys stay where they are
                asked |= self._partitions
                self._limit = None
            self._partitions |= self.sink.prepare(asked)
            limit = self.sink.message_limit(list(asked))
            self._limit = limit if self._limit is None else min(limit, self._limit)
            self._ask_again = False
        assert self._limit is not None
        return {topic: self._partitions[topic] for topic in topics}, self._limit
