"""Recorded sequences of a running changefeed: the statements in TiDB, and TiCDC's output.

In: JSON documents with ``inputs`` (``README.md``). Out: checks in the report: one for each job and each row
(``changefeed``), one for each sent event and each protocol. The verdicts are compared first, then the messages byte for
byte. The library's output is made from the inputs only; of the recorded events only the messages are read, for
comparison. A :class:`Feed` takes the steps of :class:`~ticdc_emit.encoder.Encoder`: catalog, replication, plan, sorted
rows, messages.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Sequence as Many
from dataclasses import dataclass, replace
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from ticdc_emit.changes.codec import one_row_messages
from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig, ConfigWarning, Release, load_changefeed
from ticdc_emit.config.filters import EVENT_TYPES
from ticdc_emit.errors import ConfigError, DdlError, TicdcEmitError
from ticdc_emit.pipeline.arrange.python_rows import rows_to_batch
from ticdc_emit.pipeline.arrange.row_reader import change_form
from ticdc_emit.pipeline.deliver.control_events import ControlEncoder
from ticdc_emit.pipeline.plan.ddl import SentDdl
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan, make_plan, topics_of, verify_tables
from ticdc_emit.routing.filter_rules import Verdict
from ticdc_emit.routing.replication import Replication
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.script import split_statements

from .compare import KEPT_FLAGS, compare_outcomes, differ_in_flags
from .encoded_rows import encode_rows
from .produce import in_order, transaction
from .report import Dump, Mismatch, Report
from .vectors import (
    Outcome,
    Record,
    SinkConfig,
    Variant,
    is_written,
    read_document,
    read_variant,
    release_of,
    sink_protocol,
    vector_file,
    vector_name,
)


@dataclass(frozen=True)
class Sequence:
    """One file. ``before``: SQL from before the changefeed's start. ``changefeed``: TiCDC's TOML, "" without.

    ``inputs``: sessions, DDL and transactions in order, with TiCDC's verdicts. ``config_error``: why TiCDC refuses the
    changefeed, if it does.
    """

    name: str
    release: Release
    time_zone: str
    now_ms: int
    changefeed: str
    config_error: str | None
    force_replicate: bool
    before: Many[str]
    inputs: Many[Mapping[str, Any]]
    variants: Many[Variant]


def is_sequence(document: object) -> bool:
    """Return whether a document is a sequence, not a vector of codecs."""
    return isinstance(document, Mapping) and ("inputs" in document or "config_error" in document)


def read_sequence(path: Path, release: str | Release | None = None) -> Sequence:
    """Read one file; :class:`VectorError` if it is not one. ``release``: as for ``vectors.read_case``."""
    data = read_document(path)
    with vector_file(path):
        return Sequence(
            name=data.get("name", vector_name(path)),
            release=release_of(path, data.get("lineage") if release is None else release),
            time_zone=data.get("timezone", "UTC"),
            now_ms=data["now_ms"],
            changefeed=data.get("changefeed") or "",
            config_error=data.get("config_error"),
            force_replicate=bool(data.get("force_replicate")),
            before=tuple(data.get("before") or ()),
            inputs=tuple(data.get("inputs") or ()),
            variants=tuple(read_variant(entry) for entry in data.get("variants") or ()),
        )


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
        release = config.release
        self._catalog = Catalog(time_zone=config.time_zone, renamed_schema=release.ddl.renamed_schema)
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
                    verdicts = self._sending.verdicts(
                        self._replication, events, job["commit_ts"], job.get("bdr_role") or ""
                    )
                    going_out = self._sending.to_send(verdicts)
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
        message = ControlEncoder(self._plan()).message(event)
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
        self, given: Mapping[str, Any], schema: str, table: str, rows: list[Mapping[str, Any]], left_out: Counter[str]
    ) -> Outcome:
        plan = self._plan()
        try:
            planned = plan.table(*self._name(plan, schema, table))
            if not any(planned.encoders):
                return Outcome()
            batch = self._batch(given, rows, planned)
            if not batch.num_rows:
                return Outcome()
            batch = in_order(batch, planned, plan, left_out)
            encoded = one_row_messages(encode_rows(batch, planned, plan).encoded.whole(), plan.large.packing)
        except TicdcEmitError as fault:
            return Outcome(error=fault.message)
        messages = zip(encoded.filled_keys().to_pylist(), encoded.values.to_pylist(), strict=True)
        return Outcome(tuple(Record(key, value) for key, value in messages))

    def _batch(self, given: Mapping[str, Any], rows: list[Mapping[str, Any]], planned: TablePlan) -> Any:
        kept = [row for row in rows if not self._is_keyless(planned, given["commit_ts"])]
        changes = transaction({**given, "rows": kept}, self._config.release)
        return change_form(rows_to_batch(changes, planned, self._config.time_zone), planned.full_name)

    @staticmethod
    def _is_keyless(planned: TablePlan, commit_ts: int) -> bool:
        return any(span.covers(np.uint64(commit_ts)) for span in planned.left_out)

    @staticmethod
    def _name(plan: Plan, schema: str, table: str) -> tuple[str, str]:
        """Return a table's name in the plan, where the database may be in lower case."""
        folded = (schema.lower(), table.lower())
        return next((key for key in plan.tables if (key[0].lower(), key[1].lower()) == folded), (schema, table))

    def _plan(self) -> Plan:
        if self._known is None:
            histories, left_out = self._replication.histories(self._catalog.histories())
            topics = topics_of(self._config, histories, self._ddl)
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


_SINK = "memory://wire/?protocol=canal-json&enable-tidb-extension=true"
_VERDICTS = "changefeed"


def run_sequence(sequence: Sequence, report: Report, dump: Dump | None, asked: Callable[[SinkConfig], bool]) -> None:
    """Run every variant that ``asked`` accepts. A sequence without variants is run only for its verdicts."""
    run = _Run(sequence, report, dump)
    variants = [variant for variant in sequence.variants if asked(variant)]
    written = [variant for variant in variants if is_written(variant)]
    for variant in variants:
        if variant not in written:
            protocol, _ = sink_protocol(variant)
            expected = len(variant.expected or ())
            report.leave_out(f"{protocol}: not written by this version", variants=1, events=expected)
    if written:
        run.verdicts(written[0])
        for variant in written:
            run.messages(variant)
    elif not sequence.variants:
        run.verdicts(None)


class _Run:
    def __init__(self, sequence: Sequence, report: Report, dump: Dump | None) -> None:
        self._sequence = sequence
        self._report = report
        self._dump = dump

    def _feed(self, variant: Variant | None) -> Feed:
        return Feed(_config(self._sequence, variant), self._sequence.before, self._sequence.now_ms)

    def verdicts(self, variant: Variant | None) -> None:
        """Compare the verdicts on each job and each row, up to the one at which the changefeed fails."""
        expected = self._sequence.config_error
        try:
            feed = self._feed(variant)
        except ConfigError as fault:
            detail = None if expected is not None else f"the library refuses this configuration: {fault.message}"
            self._check(detail, "configuration")
            return
        if expected is not None:
            self._check(f"TiCDC refuses this configuration ({expected}), the library accepts it", "configuration")
            return
        for place, given in enumerate(self._sequence.inputs):
            if given["kind"] == "session":
                continue
            wanted = [each["result"] for each in given.get("jobs" if given["kind"] == "ddl" else "rows") or ()]
            got, _ = _run_input(feed, given)
            for number, (left, right) in enumerate(zip_longest(wanted, got, fillvalue="nothing")):
                same = left == right or (left in ("error", "panic") and right.startswith("error"))
                detail = None if same else f"{_shown(given, number)}: TiCDC: {left}, the library: {right}"
                self._check(detail, f"input {place}")
            if any(each.startswith("error") for each in got):
                return

    def _check(self, detail: str | None, what: str) -> None:
        self._report.verdicts.count(matched=detail is None)
        if detail is not None:
            name, release = self._sequence.name, self._sequence.release.name
            self._report.mismatches.append(Mismatch(name, release, _VERDICTS, None, what, detail))

    def messages(self, variant: Variant) -> None:
        """Compare the output of one variant, event by event."""
        protocol, _ = sink_protocol(variant)
        try:
            feed = self._feed(variant)
        except ConfigError as fault:
            if self._dump is not None:
                self._dump.refused(self._sequence.name, variant.id, fault.message)
            return  # reported with the verdicts
        index, ignored = 0, False
        for given in self._sequence.inputs:
            results, sent = ([], []) if given["kind"] == "session" else _run_input(feed, given)
            ignored = ignored or "ignored" in results
            for each in sent:
                self._message(variant, str(protocol), index, each, behind_ignored=ignored)
                index += 1
            if any(result.startswith("error") for result in results):
                break
        for missing in range(index, max(variant.expected or (), default=-1) + 1):
            detail = "TiCDC sends this event, the library has none left"
            mismatch = Mismatch(self._sequence.name, variant.id, str(protocol), missing, "", detail)
            self._report.check(str(protocol), variant.id, mismatch)

    def _message(self, variant: Variant, protocol: str, index: int, sent: Sent, *, behind_ignored: bool) -> None:
        if self._dump is not None:
            self._dump.event(self._sequence.name, variant.id, index, "ddl" if sent.is_ddl else "txn", sent.outcome)
        if variant.expected is None:
            self._report.leave_out("variants without recorded messages", events=1)
            return
        expected = variant.expected.get(index, Outcome())
        detail = compare_outcomes(expected, sent.outcome, dml=not sent.is_ddl)
        mismatch = None
        if detail is not None and behind_ignored and differ_in_flags(expected, sent.outcome):
            self._report.leave_out(KEPT_FLAGS, events=1)
            return
        if detail is not None:
            mismatch = Mismatch(self._sequence.name, variant.id, protocol, index, sent.what, detail)
        self._report.check(protocol, variant.id, mismatch)


def _run_input(feed: Feed, given: Mapping[str, Any]) -> tuple[list[str], list[Sent]]:
    try:
        return feed.ddl(given) if given["kind"] == "ddl" else feed.transaction(given)
    except Exception as fault:  # one input must not hide the others
        return [f"refused: {type(fault).__name__}: {fault}"], []


def _shown(given: Mapping[str, Any], number: int) -> str:
    sql = given["sql"] if isinstance(given["sql"], str) else "; ".join(given["sql"])
    return f"{sql[:100]} ({'job' if given['kind'] == 'ddl' else 'row'} {number})"


def _config(sequence: Sequence, variant: Variant | None) -> ChangefeedConfig:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfigWarning)
        return load_changefeed(
            _SINK if variant is None else variant.sink_uri,
            sequence.changefeed or None,
            release=sequence.release,
            time_zone=sequence.time_zone,
            force_replicate=sequence.force_replicate or None,
            strict=False,
        )
