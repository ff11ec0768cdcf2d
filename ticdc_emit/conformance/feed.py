"""One changefeed that runs a recorded sequence of DDL and transactions.

In: the inputs of a :class:`~ticdc_emit.conformance.sequences.Sequence`, one after the other. Out: a verdict on each job
and each row, and the messages of those that are sent. The steps are those of :class:`~ticdc_emit.encoder.Encoder`:
catalog, replication, plan, arranged rows, messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from ticdc_emit.changes.codec import alone
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig
from ticdc_emit.config.filters import EVENT_TYPES
from ticdc_emit.conformance.changes import transaction
from ticdc_emit.conformance.vectors import Outcome, Record
from ticdc_emit.errors import DdlError, TicdcEmitError
from ticdc_emit.pipeline.conflicting_changes import ordered
from ticdc_emit.pipeline.control_events import Announcer
from ticdc_emit.pipeline.encode import prepare
from ticdc_emit.pipeline.plan import (
    Plan,
    SentDdl,
    TablePlan,
    living,
    make_plan,
    topics_of,
    verify_tables,
)
from ticdc_emit.pipeline.python_rows import rows_to_batch
from ticdc_emit.pipeline.row_reader import positioned
from ticdc_emit.routing.ddl_verdicts import Verdict
from ticdc_emit.routing.replication import Replication
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.script import split_statements

__all__ = ["Feed", "Sent"]

_DATA = re.compile(r"\s*(?:insert|replace|update|delete)\b", re.IGNORECASE)
_RESULTS = ("sent", "ignored", "discarded")


@dataclass(frozen=True)
class Sent:
    """The output of one job, or of one table in a transaction: its name for people, and its messages."""

    what: str
    outcome: Outcome
    is_ddl: bool


class Feed:
    """A changefeed that starts after the SQL ``before``. Raises :class:`~ticdc_emit.errors.ConfigError` for what TiCDC
    refuses.
    """

    def __init__(self, config: ChangefeedConfig, before: Iterable[str], now_ms: int) -> None:
        self._config = config
        self._now_ms = now_ms
        profile = config.profile
        self._catalog = Catalog(time_zone=config.time_zone, renamed_schema=profile.ddl.renamed_schema)
        for statement in before:
            if not _DATA.match(statement):
                self._catalog.apply(statement, schema="test")
        verify_tables(config, self._catalog.tables())
        self._replication = Replication.of(config, self._catalog)
        self._sending = SentDdl(config)
        self._ddl: list[DdlEvent] = []
        self._known: Plan | None = None

    def ddl(self, given: Mapping[str, Any]) -> tuple[list[str], list[Sent]]:
        """Apply one statement; return the verdict on each job, and the output.

        Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError` for a statement that cannot be parsed.
        """
        results: list[str] = []
        sent: list[Sent] = []
        for sql, jobs in _statements(given):
            self._known = None
            for job, events in self._applied(sql, jobs, given):
                try:
                    verdicts = self._sending.judged(
                        self._replication, events, job["commit_ts"], job.get("bdr_role") or ""
                    )
                    going_out = self._sending.sent(verdicts)
                except TicdcEmitError as fault:
                    return [*results, f"error: {fault.message}"], sent
                results.append(_whole(verdicts))
                sent += map(self._announced, going_out)
        return results, sent

    def _applied(
        self, sql: str, jobs: list[Mapping[str, Any]], given: Mapping[str, Any]
    ) -> list[tuple[Mapping[str, Any], list[DdlEvent]]]:
        """Apply one statement; return its jobs with their events.

        TiCDC checks the kind of a job before its text, so a job of a kind that is not replicated need not be parsed.
        """
        first, is_batch = jobs[0], _is_batch(jobs)
        try:
            events = self._catalog.apply(
                sql,
                schema=first["job_schema"] if is_batch else given["current_db"],
                commit_ts=first["commit_ts"],
                sql_mode=given.get("sql_mode"),
                charset=first.get("charset") or "utf8mb4",
                batch=is_batch,
            )
        except DdlError:
            if any(job["action"] in EVENT_TYPES for job in jobs):
                raise
            return [(job, []) for job in jobs]
        of_jobs = [list(events)] if len(jobs) == 1 else [[event] for event in events]
        return [
            (job, [replace(event, commit_ts=job["commit_ts"]) for event in own])
            for job, own in zip(jobs, of_jobs, strict=False)
        ]

    def _announced(self, event: DdlEvent) -> Sent:
        self._ddl.append(event)
        self._known = None
        message = Announcer(self._plan()).message(event)
        records = () if message is None else (Record(message.key, message.value),)
        return Sent(f"ddl {event.action} {event.schema}.{event.table}", Outcome(records), is_ddl=True)

    def transaction(self, given: Mapping[str, Any]) -> tuple[list[str], list[Sent]]:
        """Return the verdict on each row of a transaction, and the output by table and physical table."""
        results = [self._row(given, row) for row in given["rows"] or ()]
        if any(result.startswith("error") for result in results):
            return results, []
        groups: dict[tuple[int, str, str], list[Mapping[str, Any]]] = {}
        for row in given["rows"] or ():
            groups.setdefault((row["physical_table_id"], row["schema"], row["table"]), []).append(row)
        sent = []
        for (_, schema, table), rows in sorted(groups.items(), key=lambda group: group[0][0]):
            outcome = self._encoded(given, schema, table, rows, Counter())
            if outcome.records or outcome.error:
                sent.append(Sent(f"txn {schema}.{table}", outcome, is_ddl=False))
        return results, sent

    def _row(self, given: Mapping[str, Any], row: Mapping[str, Any]) -> str:
        left_out: Counter[str] = Counter()
        outcome = self._encoded(given, row["schema"], row["table"], [row], left_out)
        if outcome.error:
            return f"error: {outcome.error}"
        if outcome.records:
            return "sent"
        return "filtered" if any(_is_of_rows(reason) for reason in left_out) else "table not replicated"

    def _encoded(
        self,
        given: Mapping[str, Any],
        schema: str,
        table: str,
        rows: list[Mapping[str, Any]],
        left_out: Counter[str],
    ) -> Outcome:
        plan = self._plan()
        try:
            planned = plan.table(*self._name(plan, schema, table))
            if not any(planned.encoders):
                return Outcome()
            batch = self._batch(given, rows, planned)
            if not batch.num_rows:
                return Outcome()
            batch = ordered(batch, planned, plan, left_out)
            encoded = alone(prepare(batch, planned, plan).messages().whole(), plan.packing)
        except TicdcEmitError as fault:
            return Outcome(error=fault.message)
        messages = zip(encoded.filled_keys().to_pylist(), encoded.values.to_pylist(), strict=True)
        return Outcome(tuple(Record(key, value) for key, value in messages))

    def _batch(self, given: Mapping[str, Any], rows: list[Mapping[str, Any]], planned: TablePlan) -> Any:
        kept = [row for row in rows if not self._is_keyless(planned, given["commit_ts"])]
        changes = transaction({**given, "rows": kept}, self._config.profile)
        return positioned(rows_to_batch(changes, planned, self._config.time_zone), f"{planned.schema}.{planned.name}")

    @staticmethod
    def _is_keyless(planned: TablePlan, commit_ts: int) -> bool:
        return any(
            not span.physical and span.since < commit_ts and (span.until is None or commit_ts <= span.until)
            for span in planned.left_out
        )

    @staticmethod
    def _name(plan: Plan, schema: str, table: str) -> tuple[str, str]:
        """Return a table's name in the plan, where the database may be in lower case."""
        folded = (schema.lower(), table.lower())
        return next((key for key in plan.tables if (key[0].lower(), key[1].lower()) == folded), (schema, table))

    def _plan(self) -> Plan:
        if self._known is None:
            histories, left_out = self._replication.histories(self._catalog.histories())
            topics = topics_of(self._config, living(histories), self._ddl)
            partitions = dict.fromkeys(topics, self._config.kafka.partition_num or DEFAULT_PARTITION_NUM)
            self._known = make_plan(self._config, histories, partitions, build_ts=self._now_ms, unreplicated=left_out)
        return self._known


def _statements(given: Mapping[str, Any]) -> Iterator[tuple[str, list[Mapping[str, Any]]]]:
    """Yield each statement of an input that has jobs, with its jobs; a job never belongs to two statements."""
    jobs: list[Mapping[str, Any]] = given["jobs"] or []
    is_one = len(jobs) < 2 or _is_batch(jobs) or len(split_statements(given["sql"], given.get("sql_mode") or "")) < 2
    if is_one and jobs:
        yield given["sql"], jobs
    elif jobs:
        for query, own in groupby(jobs, key=lambda job: str(job["query"])):
            yield query, list(own)


def _is_batch(jobs: Iterable[Mapping[str, Any]]) -> bool:
    return any(job["action"] == "create tables" for job in jobs)


def _whole(verdicts: Iterable[Verdict]) -> str:
    """Return the verdict on a job with parts: the best verdict of its parts."""
    results = {verdict.result for verdict in verdicts}
    return next((result for result in _RESULTS if result in results), "discarded")


def _is_of_rows(reason: str) -> bool:
    return reason.startswith("event-filters") or reason == "ignore-txn-start-ts"
