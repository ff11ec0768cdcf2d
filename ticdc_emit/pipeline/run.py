"""A changefeed: batches of rows in, messages, reports and records of state out, on any engine.

What touches the world comes in this order: topics and subjects, the record that a batch was begun, messages, the record
that it is done. A batch that failed in between is run again in the state that it had.
"""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ticdc_emit.changes.commit_ts import warn_unlikely
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import DeliveryReport, PartitionCount, Sink, Target
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import ConfigError, RegistryError, RowError, SchemaError, StateError
from ticdc_emit.pipeline.batch import Batch, CommitHooks, EncodedBatch, Encoding
from ticdc_emit.pipeline.deliver.control_events import (
    ControlEncoder,
    ControlRules,
    ControlSchedule,
    FinalControls,
    count_controls,
    final_controls,
    highest_watermark,
)
from ticdc_emit.pipeline.deliver.deliver_task import DIGEST_END, DeliverTask, TaskResult, add_counts, deliver_controls
from ticdc_emit.pipeline.deliver.file_delivery import warn_discarded
from ticdc_emit.pipeline.encode.bad_rows import SkippedFile, new_run_name
from ticdc_emit.pipeline.encode.chunks import Buckets
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.heartbeat import PeriodicTask
from ticdc_emit.pipeline.options import RunOptions
from ticdc_emit.pipeline.plan.ddl import DdlStatement, catalog_for, ddl_statements
from ticdc_emit.pipeline.plan.table_plans import Plan, verify_tables, warn_keyless
from ticdc_emit.pipeline.planning import BatchPlan, Planner
from ticdc_emit.pipeline.report import ReportCallback, ReportLog, RunReport, RunTotal
from ticdc_emit.pipeline.state import GREATEST, BatchState
from ticdc_emit.pipeline.state_store import open_state_store
from ticdc_emit.registry.base import SchemaRegistry
from ticdc_emit.schema.catalog import Catalog, current_database
from ticdc_emit.schema.model import schema_and_name
from ticdc_emit.tso import compose


class Changefeed:
    """Runs batches one after the other. Holds no connection between them.

    ``schema``: SQL text of the tables before the first row, or a catalog (copied); empty if later DDL makes them.
    ``table``: of rows that name none. ``ddl``: later DDL as (commit_ts, statement) or (commit_ts, statement, schema).
    """

    def __init__(
        self,
        config: ChangefeedConfig,
        sink: Sink,
        schema: str | Catalog,
        *,
        table: str | None = None,
        ddl: Iterable[tuple[Any, ...]] = (),
        options: RunOptions | None = None,
        registry: SchemaRegistry | None = None,
        on_report: Iterable[ReportCallback] = (),
    ) -> None:
        self.config = config
        self.sink = sink
        self._log = ReportLog(on_report)
        self._options = options or RunOptions()
        catalog = copy.deepcopy(catalog_for(config, schema))
        verify_tables(config, catalog.tables())
        self._database = current_database(table, catalog)
        self._ddl = ddl_statements(ddl, self._database)
        where = self._options.state_uri
        self._store = open_state_store(None if where is None else where.reveal())
        self._heartbeat = PeriodicTask(self.beat, self._options.heartbeat)
        self._claims = ClaimStore.of(config.codec.large_message_handle)
        self._planner = Planner(
            config,
            sink,
            catalog,
            interval_ms=self._options.interval_ms,
            lateness=self._options.lateness,
            verbatim_json=self._options.verbatim_json,
            registry=registry,
        )
        self._run_name = new_run_name()  # if the state has none
        self._warned_keyless: set[tuple[str, str]] = set()
        self._warned_early = self._warned_discarded = False
        # a wrong schema or option is refused here, before any data
        plan = self.outline
        only = next(iter(plan.tables)) if len(plan.tables) == 1 else None
        key = only if table is None else schema_and_name(table, [])
        if key is not None and key in plan.tables:
            plan.tables[key].refuse_keyless()
        self._warn_keyless(plan)

    @property
    def options(self) -> RunOptions:
        return self._options

    @property
    def reports(self) -> deque[RunReport]:
        """The reports of the last thousand batches, in order."""
        return self._log.newest

    @property
    def total(self) -> RunTotal:
        """The sum over all batches."""
        return self._log.total

    @property
    def ddl(self) -> tuple[DdlStatement, ...]:
        """The later DDL given at the beginning: (commit_ts, schema, statement)."""
        return self._ddl

    @property
    def outline(self) -> Plan:
        """The tables, with every version that the schema and the first DDL define; partition counts are assumptions."""
        return self._planner.of(BatchState(-1, ddl=self._ddl)).outline

    def outline_of(self, batch_id: int) -> Plan:
        """The tables as :attr:`outline` has them, for one batch: a batch that was sent keeps the DDL that it had."""
        return self._planner.of(self._state_of((), batch_id)).outline

    def next_batch_id(self) -> int:
        """Return the id of the unfinished batch if there is one, else the id after the last one."""
        newest = self._store.newest()
        if newest is None:
            return 0
        return newest.batch_id + 1 if newest.done else newest.batch_id

    def complete_before(self, batch_id: int) -> int:
        """Return the TSO up to which earlier batches have all rows: the greatest commit_ts or ``until``, or -1."""
        return self._state_of((), batch_id).max_commit_ts

    def run(
        self,
        batch: Batch,
        batch_id: int,
        *,
        final: bool,
        until: int | None = None,
        watermark: bool = True,
        hooks: CommitHooks | None = None,
        is_idle: Callable[[], bool] | None = None,
    ) -> RunReport:
        """Send one batch. With ``final``, also send DDL and the watermark after its last row.

        ``until``: a TSO up to which no later batch will have rows: DDL and the watermark are sent up to it.
        ``watermark``: whether the batch ends with one; without, a later one covers its rows. ``hooks``: called before
        messages are sent; with them, a batch refused before its first message leaves no record. ``is_idle``: whether
        there is nothing more to read; the heartbeat waits until then. Raises
        :class:`~ticdc_emit.errors.TicdcEmitError`, also of the heartbeat since the last batch. A batch that failed may
        be run again.
        """
        if not 0 <= batch_id <= GREATEST:
            raise ConfigError(
                f"batch_id={batch_id} is not in 0..2^63-1",
                remedy="Number the batches from 0. After the last number, use a new state_uri",
                option="batch_id",
            )
        with self._heartbeat.batch(is_idle), self._planner.ask_again_after_failure():
            return self._run(batch, batch_id, final, until, watermark, hooks)

    def _run(
        self, batch: Batch, batch_id: int, final: bool, until: int | None, watermark: bool, hooks: CommitHooks | None
    ) -> RunReport:
        started = time.monotonic()
        statements = batch.ddl_rows(self._database)
        state = self._state_of(statements, batch_id, batch)
        planned = self._planner.of(state)
        batch.check(planned.outline)
        if self._store.claim():  # another writer may have been here since
            state = self._state_of(statements, batch_id, batch)
            planned = self._planner.of(state)
        # from here on the world outside is touched: topics, subjects, records, messages
        plan = self._planner.registered(planned, batch)
        self._warn_keyless(plan)
        schedule, rules = planned.schedule, planned.rules
        results = self._send_rows(batch, planned, plan, hooks)
        bootstraps = None
        if rules is not None:
            counts = next((result.counts for result in results.values() if result.counts), b"")
            schedule, bootstraps = rules.with_rows(schedule, plan, counts)
        last_row = top = max((result.max_commit_ts for result in results.values()), default=-1)
        if final:
            top = _greatest_ts(state.ddl, top, state.max_commit_ts)
        limit = top if final else highest_watermark(top, self._options.lateness)
        limit = limit if until is None else max(limit, until)
        report, sent_until = self._end_batch(planned, plan, schedule, results, top, limit, started, watermark=watermark)
        done = state.complete(
            watermark=report.watermark,
            sent_until=sent_until,
            rows=report.rows + report.discarded_rows,
            max_commit_ts=last_row if until is None else max(last_row, until),
            bootstraps=state.end_bootstraps if state.done else bootstraps,  # a heartbeat may have gone further
            digest=self._digest(results),
        )
        self._store.save(done)
        self._log.add(report)
        # last, as it may raise where warnings are errors
        self._warned_early = self._warned_early or warn_unlikely(last_row)
        if report.discarded and not self._warned_discarded:
            self._warned_discarded = True
            warn_discarded(report.discarded)
        return report

    def _send_rows(
        self, batch: Batch, planned: BatchPlan, plan: Plan, hooks: CommitHooks | None
    ) -> Mapping[Target, TaskResult]:
        """Record that the batch is begun and send its rows; one that is sent again is checked for other rows first."""
        state, schedule, rules = planned.state, planned.schedule, planned.rules
        encode = self._encode_task(plan, schedule.late_until, rules)
        path, skipped = self._options.bad_rows_path, None
        if path is not None:
            skipped = SkippedFile(path, state.run or self._run_name, state.batch_id)
        is_kept = self._options.state_uri is not None
        deliver = DeliverTask(plan, schedule, self.sink, self._claims, digests=is_kept, skipped=skipped)
        deliver = replace(deliver, table_digests=self._options.message_digests)
        if state.done:
            checked = batch.run(encode, replace(deliver, check_only=True))
            state.refuse_other_rows(sum(result.rows for result in checked.values()), self._digest(checked))
        else:
            self._store.save(state)
        if hooks is not None:
            hooks.begin()
        if skipped is not None:
            skipped.remove()
        try:
            return batch.run(encode, replace(deliver, rules=rules))
        except (RowError, SchemaError, RegistryError) as error:
            if hooks is not None and not state.done and "messages_sent" not in error.context:
                self._store.forget(state.batch_id)
                hooks.undo()
                if skipped is not None:
                    skipped.remove()
            raise

    def _state_of(self, statements: Sequence[DdlStatement], batch_id: int, batch: Batch | None = None) -> BatchState:
        known = self._store.load(batch_id)
        if known is not None and known.done:
            known.refuse_other_ddl(statements)
            return batch.begin_in(known) if isinstance(batch, EncodedBatch) else known
        if known is None:
            before = self._store.latest_before(batch_id) or BatchState(-1)
            known = before.next(batch_id, self._options.now(), before.run or self._run_name)
        state = known.with_ddl([*self._ddl, *statements])
        self._planner.of(state)  # a statement that does not apply must not be in a record
        return batch.begin_in(state) if isinstance(batch, EncodedBatch) else state

    def _encode_task(self, plan: Plan, late_until: int | None, rules: ControlRules | None = None) -> EncodeTask:
        how = self._options
        return EncodeTask(
            plan,
            how.late,
            late_until,
            Buckets(plan.targets, 1),
            bad_rows=how.bad_rows,
            tells_skipped=how.bad_rows_path is not None,
            tick_ms=None if rules is None else rules.bootstrap_rules.tick_ms,
        )

    def _end_batch(
        self,
        planned: BatchPlan,
        plan: Plan,
        schedule: ControlSchedule,
        results: Mapping[Target, TaskResult],
        top: int,
        limit: int,
        started: float,
        *,
        watermark: bool = True,
    ) -> tuple[RunReport, int]:
        """Send what comes after the rows; return the report and the TSO up to which DDL is sent.

        ``top``: the batch's greatest commit_ts, or -1. ``limit``: the TSO of its ``watermark``. ``started``:
        ``time.monotonic``.
        """
        state = planned.state
        counts = {t: PartitionCount(r.messages, r.bytes) for t, r in results.items() if r.messages}
        delivery = DeliveryReport(counts, sum(result.retries for result in results.values()))
        end = FinalControls([], [], state.watermark, state.sent_until)
        if max(top, limit) >= 0:
            encoder = ControlEncoder(plan)
            last_rows = {t: r.max_commit_ts for t, r in results.items() if r.rows}
            end = final_controls(plan, encoder, schedule, last_rows, limit, watermark=watermark)
            delivery += deliver_controls(self.sink, encoder, end.messages)
        sent_until = max(end.sent_until, state.sent_until)
        discarded = add_counts(*(result.discarded for result in results.values()))
        report = RunReport(
            batch_id=state.batch_id,
            rows=sum(result.rows for result in results.values()) - sum(discarded.values()),
            late_rows=sum(result.late_rows for result in results.values()),
            delivery=delivery,
            seconds=time.monotonic() - started,
            watermark=end.watermark,
            max_commit_ts=top if top >= 0 else None,
            controls=add_counts(count_controls(end.events), *(result.controls for result in results.values())),
            ddl_events=len(schedule.sent_ddl(sent_until)),
            claims=sum(result.claims for result in results.values()),
            finished_ms=time.time_ns() // 1_000_000,
            live=self._options.clock == "wall",
            skipped=add_counts(*(result.skipped for result in results.values())),
            filtered=add_counts(*(result.filtered for result in results.values())),
            filtered_ddl=planned.filtered_ddl(sent_until),
            discarded=discarded,
            changes=add_counts(*(result.changes for result in results.values())),
        )
        return report, sent_until

    def finish(self) -> RunReport | None:
        """Send DDL after the last row, and the last watermark; ``None`` if nothing was sent. Ends the heartbeat.

        More batches may follow. Raises :class:`~ticdc_emit.errors.StateError` if the last batch was not finished.
        """
        self._heartbeat.stop()
        newest = self._store.newest()
        if newest is None:
            return None
        self._store.claim()
        if not newest.done:
            raise StateError(
                "the last batch was begun and not finished",
                remedy="Run it again, then finish. For a stream, start the query again on its checkpoint with "
                "trigger(availableNow=True) and await its end. TicdcSink.stop(query) ends a stream between batches",
                batch_id=newest.batch_id,
            )
        started = time.monotonic()
        top = _greatest_ts(newest.ddl, newest.end_sent_until, newest.end_max_commit_ts)
        state = newest.next(newest.batch_id, newest.build_ts)
        with self._planner.ask_again_after_failure():
            planned = self._planner.of(state)
            report, top = self._end_batch(planned, self._planner.plan(planned), planned.schedule, {}, top, top, started)
        done = newest.complete(
            watermark=report.watermark,
            sent_until=top,
            rows=newest.rows,
            bootstraps=newest.end_bootstraps,
            digest=newest.digest,
        )
        self._store.save(done)
        self._log.add(report)
        return report

    def beat(self) -> RunReport | None:
        """Send what is due by the wall clock while no rows come: a watermark, DDL and BOOTSTRAPs.

        Returns ``None`` while a batch runs, before the first one, after one that was not finished, and where the
        watermark would not rise.
        """
        with self._heartbeat.between_batches() as is_free, self._planner.ask_again_after_failure():
            return self._send_heartbeat() if is_free else None

    def _send_heartbeat(self) -> RunReport | None:
        started = time.monotonic()
        if self._store.newest() is None:
            return None
        self._store.claim()
        newest, now = self._store.newest(), self._options.now()
        if newest is None or not newest.done or now is None:
            return None
        limit = highest_watermark(compose(now), self._options.lateness)
        planned = self._planner.of(newest.next(newest.batch_id, now))
        plan, schedule, bootstraps = self._planner.plan(planned), planned.schedule, None
        if not (self.config.codec.has_watermarks and schedule.rises_to(limit)):
            return None
        if planned.rules is not None:
            schedule, bootstraps = planned.rules.without_rows(schedule, plan, now, limit)
        marked = replace(newest, end_watermark=limit)
        sent = replace(marked, end_sent_until=max(limit, newest.end_sent_until), end_bootstraps=bootstraps)
        waits = bool(schedule.sent_ddl(limit) or schedule.bootstraps)
        self._store.save(marked if waits else sent)
        report, _ = self._end_batch(planned, plan, schedule, {}, -1, limit, started)
        if waits:
            self._store.save(sent)
        return report

    def _warn_keyless(self, plan: Plan) -> None:
        new = [key for key in plan.keyless if key not in self._warned_keyless]
        if new:
            self._warned_keyless.update(new)
            warn_keyless(new)

    def close(self) -> None:
        """End the heartbeat and release the state store for another process. Another batch starts both again."""
        self._heartbeat.stop()
        self._store.release()

    def _digest(self, results: Mapping[Target, TaskResult]) -> str | None:
        """Return what a record keeps of the rows' messages; ``None`` without a store that outlives this object."""
        if self._options.state_uri is None:
            return None
        return f"{sum(result.digest for result in results.values()) % DIGEST_END:016x}"

    def message_tasks(self, batch: Batch) -> tuple[EncodeTask, DeliverTask]:
        """Return tasks that make a batch's messages for a caller that delivers them; no row is late or skipped."""
        ddl = [*self._ddl, *batch.ddl_rows(self._database)]
        state = BatchState(-1, self._options.now()).with_ddl(ddl)
        planned = self._planner.of(state)
        batch.check(planned.outline)
        plan = self._planner.registered(planned, batch)
        encode = replace(self._encode_task(plan, None), bad_rows="refuse")
        return encode, DeliverTask(plan, ControlSchedule(), None, self._claims)

    def rehearse(self, batch: Batch) -> None:
        """Do what :meth:`run` does, topics and schemas too, but send nothing and write no state; no row is late."""
        with self._planner.ask_again_after_failure():
            encode, deliver = self.message_tasks(batch)
            encode = replace(encode, bad_rows=self._options.bad_rows)
            batch.run(encode, replace(deliver, sink=self.sink, check_only=True, connects=True))
            self.sink.open(deliver.plan.large.max_message_bytes).close()

    def encoding(self, batch_id: int, table: tuple[str, str] | None) -> Encoding | None:
        """Return what encodes a batch's rows, not DDL, before :meth:`run`, of one ``table`` or in the generic form.

        ``None`` if PLAN must see the rows first. Writes no state. Creates topics and registers schemas.
        """
        state = self._state_of((), batch_id)
        planned = self._planner.of(state)
        if table is None and planned.registers:
            return None
        plan = self._planner.registered(planned, EncodedBatch(state, table, ()))
        encode = self._encode_task(plan, planned.schedule.late_until, planned.rules)
        return Encoding(state, encode.of_table(table))


def _greatest_ts(ddl: Iterable[DdlStatement], *seen: int) -> int:
    return max([*seen, *(commit_ts for commit_ts, _, _ in ddl)])
