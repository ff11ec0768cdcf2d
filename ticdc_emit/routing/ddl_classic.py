"""Which DDL TiCDC's classic lineage sends: the rules check a job, it is applied to a snapshot, and then filtered.

In: the events of each statement in order. Out: a :class:`~ticdc_emit.routing.ddl_verdicts.Verdict` on each. A job that
the rules (or ``ignore-txn-start-ts``) discard is never applied: its tables stay unknown, and a later statement about
them fails the changefeed.

Rule source: ``cdc/puller/ddl_puller.go`` (handleJob, handleRenameTables, checkIneligibleTableDDL),
``cdc/owner/ddl_manager.go`` (tick, shouldSkipDDL) and ``pkg/filter/filter.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ticdc_emit.errors import DdlError
from ticdc_emit.routing.ddl_verdicts import (
    KEYLESS,
    KIND,
    RULES,
    START_TS,
    Guards,
    Snapshot,
    UnknownObjectError,
    Verdict,
    failure,
    is_rename_of_many,
    renamed_into,
    with_before,
)
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = ["SnapshotJudge"]


_UNKNOWN_REMEDY = "Do not filter out the statement that makes it, or leave this one out too"


class SnapshotJudge:
    """Judges DDL in order. ``schemas`` and ``tables``: those that exist at the start."""

    def __init__(self, guards: Guards, schemas: Iterable[str], tables: Iterable[TableInfo]) -> None:
        self._guards = guards
        known = [name for name in schemas if guards.rules.has_schema(name)]
        self._snapshot = Snapshot(known, (info for info in tables if guards.has(info)))

    def knows(self, info: TableInfo) -> bool:
        """Return whether the statement that created a table was applied."""
        return self._snapshot.table(info.id) is not None

    def taken_for(self, info: TableInfo) -> TableInfo | None:
        """Return the table to which rows with this physical id belong for TiCDC; ``None`` for no table."""
        return self._snapshot.physical(info.id)

    def judge(self, events: Sequence[DdlEvent], start_ts: int, bdr_role: str) -> list[Verdict]:
        """Return the verdicts on one statement's events.

        Raises :class:`~ticdc_emit.errors.DdlError` where the changefeed fails.
        """
        ignored = start_ts in self._guards.start_ts
        judged = []
        if is_rename_of_many(events):
            judged = self._renames(events, ignored=ignored)
        else:
            judged = [self._one(event, ignored=ignored) for event in events]
        return [self._filtered(verdict, bdr_role) for verdict in judged]

    def _filtered(self, verdict: Verdict, bdr_role: str) -> Verdict:
        if not verdict.is_sent:
            return verdict
        event = verdict.event
        info = event.pre_table_info if event.action == "rename table" else event.table_info
        rule = self._guards.ignored_by(event, info)
        if rule is None and self._guards.bdr_mode and bdr_role != "primary":
            rule = "bdr-mode"
        return verdict if rule is None else Verdict.ignored(event, rule)

    def _one(self, event: DdlEvent, *, ignored: bool) -> Verdict:
        if not self._guards.is_replicated_kind(event):
            return Verdict.discarded(event, KIND)
        try:
            if event.table_info is None:
                return self._of_schema(event, ignored=ignored)
            if event.action == "rename table":
                return self._rename(event, event.table_info, ignored=ignored)
            return self._of_table(event, event.table_info, ignored=ignored)
        except UnknownObjectError as fault:
            raise self._unknown(event, fault) from None

    def _unknown(self, event: DdlEvent, fault: UnknownObjectError) -> DdlError:
        message = f"the changefeed does not know the {fault}, whose creation it discarded: TiCDC fails here"
        return failure(event, message, "ErrHandleDDLFailed", _UNKNOWN_REMEDY)

    def _of_schema(self, event: DdlEvent, *, ignored: bool) -> Verdict:
        name = event.schema
        if event.action not in ("create schema", "drop schema") and not self._snapshot.has_schema(name):
            name = to_lower(name)
        if ignored or not self._guards.rules.has_schema(name):
            return Verdict.discarded(event, START_TS if ignored else RULES)
        self._snapshot.apply_schema(event)
        return Verdict.sent(event)

    def _of_table(self, event: DdlEvent, info: TableInfo, *, ignored: bool) -> Verdict:
        is_exchange = event.action == "exchange partition"
        before = event.pre_table_info
        # the job of an EXCHANGE names the database of the exchanged table; TiCDC takes the table from the result
        job = before if is_exchange and before is not None else info
        schema, name = job.schema, info.name
        is_known = self._snapshot.has_schema(schema)
        if not is_known:
            # the job of several tables names none of them, and has its database in lower case
            schema, name = to_lower(schema), "" if event.action == "create tables" else to_lower(job.name)
        if ignored or not self._guards.rules.has_table(schema, name):
            return Verdict.discarded(event, START_TS if ignored else RULES)
        if not is_known:
            raise UnknownObjectError(f"database {job.schema}")
        old = self._snapshot.table(job.id if is_exchange or before is None else before.id)
        if is_exchange:
            self._snapshot.exchange(info)
        else:
            self._snapshot.apply(event)
        if event.action == "create tables":
            return Verdict.sent(event) if self._guards.keys.allows(info) else Verdict.discarded(event, KEYLESS)
        return self._eligible(with_before(event, old), old, info)

    def _rename(self, event: DdlEvent, info: TableInfo, *, ignored: bool) -> Verdict:
        old = self._snapshot.table(info.id)
        is_out = ignored or not self._guards.has(info)
        if old is None or ignored or not self._guards.has(old):
            if not is_out:
                raise renamed_into(event)
            return Verdict.discarded(event, START_TS if ignored else RULES)
        self._snapshot.rename(info)
        return self._eligible(with_before(event, old), old, info)

    def _renames(self, events: Sequence[DdlEvent], *, ignored: bool) -> list[Verdict]:
        verdicts: list[Verdict] = []
        renamed: list[TableInfo] = []
        first, last = events[0], events[-1]
        before_first = self._snapshot.table(_info(first).id)
        for event in events:
            info = _info(event)
            old = self._snapshot.table(info.id)
            old_is_out = old is None or ignored or not self._guards.has(old)
            new_is_out = ignored or not self._snapshot.has_schema(info.schema) or not self._guards.has(info)
            if old_is_out and not new_is_out:
                raise renamed_into(event)
            if old_is_out:
                verdicts.append(Verdict.discarded(event, START_TS if ignored else RULES))
            else:
                verdicts.append(Verdict.sent(with_before(event, old)))
                renamed.append(info)
        if not renamed:
            return verdicts
        try:
            self._snapshot.rename_all(renamed)
        except UnknownObjectError as fault:
            raise self._unknown(first, fault) from None
        # for all of them, TiCDC checks the first table before the job and the last one after it
        whole = self._eligible(last, before_first, _info(last))
        return verdicts if whole.is_sent else [Verdict.discarded(event, KEYLESS) for event in events]

    def _eligible(self, event: DdlEvent, old: TableInfo | None, info: TableInfo) -> Verdict:
        """Decide by the table's key before and after the job, which is applied."""
        after = self._snapshot.table(info.id)
        if after is None or self._guards.keys.allows(after):
            return Verdict.sent(event)
        if old is None or not self._guards.keys.allows(old):
            return Verdict.discarded(event, KEYLESS)
        raise failure(
            event,
            "the statement removes the table's only handle key: TiCDC's changefeed fails here",
            "ErrTableIneligible",
            "Keep a primary key or a unique key over NOT NULL columns, or set force-replicate = true",
        )


def _info(event: DdlEvent) -> TableInfo:
    assert event.table_info is not None
    return event.table_info
