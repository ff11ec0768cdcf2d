"""The Spark sink: PLAN on the driver, ENCODE and DELIVER on the workers, REPORT back.

    sink = TicdcSink("kafka://127.0.0.1:9092/orders?protocol=canal-json", "create table test.orders (...)")
    changes.writeStream.foreachBatch(sink).start()          # streaming
    report = sink.write(changes)                            # or one batch

A micro-batch is one Spark job: rows are shuffled by topic-partition, sorted in total order, encoded and produced in the
same stage; control messages are merged into the rows by the workers, and what stands behind a topic-partition's last
row is sent by the driver once every row is acknowledged.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.delivery.contract import DeliveryReport, PartitionCount, Sink
from ticdc_emit.delivery.factory import sink_for
from ticdc_emit.delivery.memory import MemorySink
from ticdc_emit.encode.encoder import split_name
from ticdc_emit.encode.plan import Plan
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.registry.contract import SchemaRegistry
from ticdc_emit.schedule.control import Controls
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.spark.frame import arrange_generic, arrange_typed, is_generic, without_ddl
from ticdc_emit.spark.planning import Planner, current_database, ddl_rows, ddl_statements
from ticdc_emit.spark.report import RunReport
from ticdc_emit.spark.state import BatchState, open_state_store
from ticdc_emit.spark.tail import Tail, send_tail
from ticdc_emit.spark.worker import RESULT_SCHEMA, Task, TaskResult, read_results
from ticdc_emit.tso import LOGICAL_BITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["TicdcSink", "encode"]

_RESULT_DDL = (
    "topic string, partition int, rows long, late_rows long, messages long, bytes long, "
    "first_commit_ts long, max_commit_ts long, error binary"
)
_MESSAGE_DDL = "topic string, partition int, key binary, value binary, commit_ts long"


class TicdcSink:
    """A ``foreachBatch`` callable that emits row changes as TiCDC would.

    ``sink_uri``, ``changefeed``: TiCDC's two inputs. ``schema``: SQL text of the tables as they are before the first
    row, read in the changefeed's time zone, or a :class:`Catalog`. ``table``: ``schema.name`` of a typed DataFrame,
    needed if there are several tables. ``ddl``: later DDL as (commit_ts, statement) or (commit_ts, statement, schema),
    emitted in its place; without a schema it runs in the database of the table or tables. ``clock``: ``commit``
    (messages carry the commit time), ``wall`` (the time at which the batch was first seen), or fixed ms.
    ``watermark_interval``: seconds of commit time between watermarks inside a batch, 0 for one at its end only; by
    default 1 for a replay with the Simple protocol (more where that would be over 100,000 in a batch), else 0.
    ``allowed_lateness``: seconds that the watermark stays behind. ``late``: what becomes of a row at or below a sent
    watermark. ``validate``: ``task`` checks a Spark task's rows before its first message, ``batch`` checks the whole
    batch in a pass of its own. ``state_uri``: where per-batch state is kept (any fsspec URI); without one it lives as
    long as the object. ``librdkafka``: further client settings. ``sink``: where messages go instead of to the sink
    URI's place. ``registry``: where Avro schemas are registered instead of the configured schema registry, by the
    driver.
    """

    def __init__(
        self,
        sink_uri: str | ChangefeedConfig,
        schema: str | Catalog,
        *,
        table: str | None = None,
        changefeed: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        ddl: Iterable[tuple[int, str] | tuple[int, str, str]] = (),
        clock: Literal["commit", "wall"] | int = "commit",
        watermark_interval: float | None = None,
        allowed_lateness: float = 0,
        late: Literal["error", "emit", "drop"] = "error",
        validate: Literal["task", "batch"] = "task",
        state_uri: str | None = None,
        verbatim_json: bool = False,
        librdkafka: Mapping[str, Any] | None = None,
        sink: Sink | None = None,
        registry: SchemaRegistry | None = None,
        **options: Any,
    ) -> None:
        if late not in ("error", "emit", "drop"):
            raise ConfigError(f"late={late!r} is unknown", remedy="Use error, emit or drop", option="late")
        if validate not in ("task", "batch"):
            raise ConfigError(f"validate={validate!r} is unknown", remedy="Use task or batch", option="validate")
        if not (clock in ("commit", "wall") or isinstance(clock, int)):
            raise ConfigError(f"clock={clock!r} is unknown", remedy="Use commit, wall or ms", option="clock")
        if isinstance(sink_uri, ChangefeedConfig):
            self.config = sink_uri
        else:
            self.config = load_changefeed(sink_uri, changefeed, **options)
        self.sink: Sink = sink or sink_for(self.config, librdkafka)
        self.reports: list[RunReport] = []
        self._table = table
        if isinstance(schema, str):
            catalog = catalog_from_sql(schema, time_zone=self.config.time_zone)
        else:
            catalog = copy.deepcopy(schema)
        self._database = current_database(table, catalog)
        self._ddl = ddl_statements(ddl, self._database)
        self._clock = clock
        self._lateness_ms = round(allowed_lateness * 1000)
        self._late = late
        self._validate = validate
        self._store = open_state_store(state_uri)
        self._planner = Planner(
            self.config,
            self.sink,
            catalog,
            interval_ms=None if watermark_interval is None else round(watermark_interval * 1000),
            lateness_ms=self._lateness_ms,
            verbatim_json=verbatim_json,
            registry=registry,
        )
        # a wrong schema or option is refused here, before any data
        if not self._planner.plan(BatchState(-1, ddl=self._ddl)).tables:
            raise SchemaError(
                "the schema has no table", remedy="Give CREATE TABLE statements, or a catalog with tables"
            )

    def __call__(self, df: DataFrame, batch_id: int) -> None:
        """Send one micro-batch; a batch_id that was begun before is replayed with its own state."""
        self._run(df, batch_id, final=False)

    def write(self, df: DataFrame, *, batch_id: int | None = None) -> RunReport:
        """Send a whole DataFrame and the watermark behind its last row.

        ``batch_id`` defaults to the one after the last batch in the state store; a batch that was begun and not
        finished is begun again, with the DDL that it had then and what ``df`` adds to it.
        """
        return self._run(df, self._next_batch_id() if batch_id is None else batch_id, final=True)

    def messages(self, df: DataFrame) -> DataFrame:
        """Return the messages of a DataFrame's rows instead of sending them (see :func:`encode`).

        Neither reads nor changes the per-batch state, so no row is late.
        """
        state = BatchState(-1, self._now()).with_ddl([*self._ddl, *ddl_rows(df, self._database)])
        rows = without_ddl(df)
        table = self._table_of(rows, self._planner.plan(state))
        plan = self._planner.registered(state, rows, table)
        arranged = _arranged(rows, plan, table)
        task = Task(plan, Controls(), self._late, table, None)
        return arranged.mapInArrow(lambda batches: task(batches), _MESSAGE_DDL)

    def finish(self) -> RunReport | None:
        """Send what waits for the end: DDL behind the last row and the last watermark. ``None`` if nothing was sent.

        It belongs to the last batch, whose id the report has; further batches may follow.
        """
        if not self.reports:
            return None
        started = time.monotonic()
        record = self._store.load(self.reports[-1].batch_id)
        assert record is not None
        stamps = (report.max_commit_ts for report in self.reports if report.max_commit_ts is not None)
        top = max([record.end_sent_until, *stamps, *(ts for ts, _, _ in record.ddl)])
        state = record.next(record.batch_id, record.build_ts)
        plan, controls = self._planner.plan(state), self._planner.controls(state)
        report, top = self._closed(state, plan, controls, {}, top, top, started)
        done = record.completed(
            watermark=report.watermark, sent_until=top, rows=record.rows, bootstraps=record.end_bootstraps
        )
        self._store.save(done)
        self.reports.append(report)
        return report

    def _next_batch_id(self) -> int:
        newest = self._store.newest()
        if newest is None:
            return 0
        return newest.batch_id + 1 if newest.done else newest.batch_id

    def _run(self, df: DataFrame, batch_id: int, *, final: bool) -> RunReport:
        started = time.monotonic()
        _refuse_speculation(df)
        state = self._begin(df, batch_id)
        rows = without_ddl(df)
        table = self._table_of(rows, self._planner.plan(state))
        plan = self._planner.registered(state, rows, table)
        arranged = _arranged(rows, plan, table)
        controls = self._planner.controls(state)
        task = Task(plan, controls, self._late, table, self.sink)
        if self._validate == "batch" or state.done:
            checked = self._job(arranged, replace(task, sink=None, check_only=True))
            state.refuse_other_rows(sum(result.rows for result in checked.values()))
        controls, bootstraps = self._planner.scheduled(controls, state, rows, table, late=self._late)
        results = self._job(arranged, replace(task, controls=controls))
        top = max((result.max_commit_ts for result in results.values()), default=-1)
        if final:
            top = max([top, *(ts for ts, _, _ in state.ddl)])
        limit = top if final else top - 1 - (self._lateness_ms << LOGICAL_BITS)
        report, sent_until = self._closed(state, plan, controls, results, top, limit, started)
        self._store.save(
            state.completed(watermark=report.watermark, sent_until=sent_until, rows=report.rows, bootstraps=bootstraps)
        )
        self.reports.append(report)
        return report

    def _closed(
        self,
        state: BatchState,
        plan: Plan,
        controls: Controls,
        results: dict[tuple[str, int], TaskResult],
        top: int,
        limit: int,
        started: float,
    ) -> tuple[RunReport, int]:
        """Send what stands behind the rows; return the report and the TSO up to which DDL is sent.

        ``top`` is the batch's greatest commit_ts, -1 for a batch without rows.
        """
        sent = DeliveryReport({t: PartitionCount(r.messages, r.bytes) for t, r in results.items() if r.messages})
        tail = Tail(DeliveryReport(), state.watermark, state.sent_until)
        if top >= 0:
            tail = send_tail(self.sink, plan, controls, results, top, limit)
        report = RunReport(
            batch_id=state.batch_id,
            rows=sum(result.rows for result in results.values()),
            late_rows=sum(result.late_rows for result in results.values()),
            delivery=sent + tail.delivery,
            seconds=time.monotonic() - started,
            watermark=tail.watermark,
            max_commit_ts=top if top >= 0 else None,
        )
        return report, max(tail.sent_until, state.sent_until)

    def _begin(self, df: DataFrame, batch_id: int) -> BatchState:
        rows = ddl_rows(df, self._database)
        known = self._store.load(batch_id)
        if known is not None and known.done:
            known.refuse_other_ddl(rows)
            return known
        before = self._store.latest_before(batch_id) or BatchState(-1)
        state = (known or before.next(batch_id, self._now())).with_ddl([*self._ddl, *rows])
        self._planner.plan(state)  # a statement that does not apply must not be in a record
        self._store.save(state)
        return state

    def _job(self, arranged: DataFrame, task: Task) -> dict[tuple[str, int], TaskResult]:
        if isinstance(task.sink, MemorySink):
            return self._deliver_here(arranged, task)
        return read_results(arranged.mapInArrow(lambda batches: task(batches), _RESULT_DDL).toArrow())

    def _deliver_here(self, arranged: DataFrame, task: Task) -> dict[tuple[str, int], TaskResult]:
        """Run the worker stage without a sink and write from the driver: for a store that lives in this process."""
        batches = arranged.toArrow().combine_chunks().to_batches()
        produced = list(task(iter(batches)))
        return read_results(pa.Table.from_batches(produced, schema=RESULT_SCHEMA))

    def _table_of(self, df: DataFrame, plan: Plan) -> tuple[str, str] | None:
        """Return whose changes a DataFrame in the typed form holds, ``None`` for the generic form."""
        if is_generic(df):
            return None
        return split_name(self._table, [key for key, table in plan.tables.items() if any(table.encoders)])

    def _now(self) -> int | None:
        if self._clock == "commit":
            return None
        return time.time_ns() // 1_000_000 if self._clock == "wall" else int(self._clock)


def encode(df: DataFrame, sink_uri: str | ChangefeedConfig, schema: str | Catalog, **options: Any) -> DataFrame:
    """Return the messages of a DataFrame of row changes as a DataFrame: topic, partition, key, value, commit_ts.

    For whoever brings a sink of their own (``df.write.format("kafka")`` takes these columns). Takes the arguments of
    :class:`TicdcSink`; rows of a topic-partition are in order within one Spark partition. Rows only: DDL (``ddl``, or
    rows of ``df``) gives each row the table version of its commit time, but is no message here, nor is a watermark.
    """
    sink = TicdcSink(sink_uri, schema, **options)
    return sink.messages(df)


def _arranged(df: DataFrame, plan: Plan, table: tuple[str, str] | None) -> DataFrame:
    return arrange_generic(df, plan) if table is None else arrange_typed(df, plan.table(*table))


def _refuse_speculation(df: DataFrame) -> None:
    if df.sparkSession.conf.get("spark.speculation", "false") == "true":
        raise ConfigError(
            "spark.speculation would send a task's messages twice",
            remedy="Set spark.speculation=false",
            option="spark.speculation",
        )
