"""Which DDL TiCDC's classic lineage sends: the rules check a job, it is applied to a snapshot, and then filtered.

A job that the rules (or ``ignore-txn-start-ts``) discard is never applied: its tables stay unknown, and a later
statement about them fails the changefeed. Rule source: ``cdc/puller/ddl_puller.go`` (handleJob, handleRenameTables,
checkIneligibleTableDDL), ``cdc/owner/ddl_manager.go`` (tick, shouldSkipDDL) and ``pkg/filter/filter.go`` of
pingcap/tiflow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.routing.filter_rules import (
    KEYLESS,
    KIND,
    RULES,
    START_TS,
    FilterRules,
    Verdict,
    failure,
    is_rename_of_many,
    renamed_into,
)
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

_UNKNOWN_REMEDY = "Do not filter out the statement that makes it, or leave this one out too"


class SnapshotDdlFilter:
    """Gives verdicts on DDL in order. ``schemas`` and ``tables``: those that exist at the start."""

    def __init__(self, rules: FilterRules, schemas: Iterable[str], tables: Iterable[TableInfo]) -> None:
        self._rules = rules
        known = [name for name in schemas if rules.has_schema(name)]
        self._snapshot = _Snapshot(known, (info for info in tables if rules.has(info)))

    def knows(self, info: TableInfo) -> bool:
        """Return whether the statement that created a table was applied."""
        return self._snapshot.table(info.id) is not None

    def table_of_rows(self, info: TableInfo) -> TableInfo | None:
        """Return the table to which rows with this physical id belong for TiCDC; ``None`` for no table."""
        return self._snapshot.physical(info.id)

    def verdicts(self, events: Sequence[DdlEvent], start_ts: int, bdr_role: str) -> list[Verdict]:
        """Return the verdicts on a statement's events. Raises ``DdlError`` where the changefeed fails."""
        ignored = start_ts in self._rules.start_ts
        if ignored and self._rules.switches.ignored_start_ts == "ignored":
            verdicts = self._judged(events, ignored=False)
            return [Verdict.ignored(each.event, START_TS) if each.is_sent else each for each in verdicts]
        return [self._filtered(verdict, bdr_role) for verdict in self._judged(events, ignored=ignored)]

    def _judged(self, events: Sequence[DdlEvent], *, ignored: bool) -> list[Verdict]:
        if is_rename_of_many(events):
            return self._renames(events, ignored=ignored)
        return [self._one(event, ignored=ignored) for event in events]

    def _filtered(self, verdict: Verdict, bdr_role: str) -> Verdict:
        if not verdict.is_sent:
            return verdict
        event = verdict.event
        renamed = event.action == "rename table" and self._rules.finds_by_old_name(event)
        info = event.pre_table_info if renamed else event.table_info
        rule = self._rules.ignored_by(event, info)
        sends_role = bdr_role == "primary" and self._rules.switches.bdr_ddl == "of-primary"
        if rule is None and self._rules.bdr_mode and not sends_role:
            rule = "bdr-mode"
        return verdict if rule is None else Verdict.ignored(event, rule)

    def _one(self, event: DdlEvent, *, ignored: bool) -> Verdict:
        if not self._rules.replicates(event):
            return Verdict.discarded(event, KIND)
        try:
            if event.table_info is None:
                return self._of_schema(event, ignored=ignored)
            if event.action == "rename table":
                return self._rename(event, event.table_info, ignored=ignored)
            return self._of_table(event, event.table_info, ignored=ignored)
        except _UnknownObjectError as fault:
            raise self._unknown(event, fault) from None

    def _unknown(self, event: DdlEvent, fault: _UnknownObjectError) -> DdlError:
        message = f"the changefeed does not know the {fault}, whose creation it discarded: TiCDC fails here"
        return failure(event, message, "ErrHandleDDLFailed", _UNKNOWN_REMEDY)

    def _of_schema(self, event: DdlEvent, *, ignored: bool) -> Verdict:
        name = event.schema
        if event.action not in ("create schema", "drop schema") and not self._snapshot.has_schema(name):
            name = to_lower(name)
        if ignored or not self._rules.has_schema(name):
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
        if ignored or not self._rules.has_table(schema, name):
            return Verdict.discarded(event, START_TS if ignored else RULES)
        if not is_known:
            raise _UnknownObjectError(f"database {job.schema}")
        old = self._snapshot.table(job.id if is_exchange or before is None else before.id)
        if is_exchange:
            self._snapshot.exchange(info)
        else:
            self._snapshot.apply(event)
        if event.action == "create tables":
            return Verdict.sent(event) if self._rules.allows_key(info) else Verdict.discarded(event, KEYLESS)
        return self._eligible(_with_before(event, old), old, info)

    def _rename(self, event: DdlEvent, info: TableInfo, *, ignored: bool) -> Verdict:
        old = self._snapshot.table(info.id)
        is_out = ignored or not self._rules.has(info)
        if old is None or ignored or not self._rules.has(old):
            if not is_out:
                raise renamed_into(event)
            return Verdict.discarded(event, START_TS if ignored else RULES)
        self._snapshot.rename(info)
        return self._eligible(_with_before(event, old), old, info)

    def _renames(self, events: Sequence[DdlEvent], *, ignored: bool) -> list[Verdict]:
        verdicts: list[Verdict] = []
        renamed: list[TableInfo] = []
        first, last = events[0], events[-1]
        before_first = self._snapshot.table(_info(first).id)
        for event in events:
            info = _info(event)
            old = self._snapshot.table(info.id)
            old_is_out = old is None or ignored or not self._rules.has(old)
            new_is_out = ignored or not self._snapshot.has_schema(info.schema) or not self._rules.has(info)
            if old_is_out and not new_is_out:
                raise renamed_into(event)
            if old_is_out:
                verdicts.append(Verdict.discarded(event, START_TS if ignored else RULES))
            else:
                verdicts.append(Verdict.sent(_with_before(event, old)))
                renamed.append(info)
        if not renamed:
            return verdicts
        if len({info.id for info in renamed}) < len(renamed):
            message = "classic TiCDC cannot follow a RENAME that moves one table twice: its changefeed fails here"
            raise failure(first, message, "ErrHandleDDLFailed", "Write two RENAME statements, or use release next")
        try:
            self._snapshot.rename_all(renamed)
        except _UnknownObjectError as fault:
            raise self._unknown(first, fault) from None
        # for all of them, TiCDC checks the first table before the job and the last one after it
        whole = self._eligible(last, before_first, _info(last))
        return verdicts if whole.is_sent else [Verdict.discarded(event, KEYLESS) for event in events]

    def _eligible(self, event: DdlEvent, old: TableInfo | None, info: TableInfo) -> Verdict:
        after = self._snapshot.table(info.id)
        unchecked = event.action in _NEW_IDS and self._rules.switches.new_ids == "unchecked"
        if after is None or unchecked or self._rules.allows_key(after):
            return Verdict.sent(event)
        if old is None or not self._rules.allows_key(old):
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


def _with_before(event: DdlEvent, before: TableInfo | None) -> DdlEvent:
    return event if before is event.pre_table_info else replace(event, pre_table_info=before)


_CREATES = ("create table", "create tables", "create view", "recover table")
_DROPS = ("drop table", "drop view")
_NEW_IDS = ("truncate table", "alter table partition by", "alter table remove partitioning")


class _UnknownObjectError(LookupError):
    """A statement is about a table or database that the changefeed does not know; ``str()`` names it."""


class _Snapshot:
    def __init__(self, schemas: Iterable[str], tables: Iterable[TableInfo]) -> None:
        self._schemas = {to_lower(name) for name in schemas}
        self._tables = {info.id: info for info in tables}

    def has_schema(self, name: str) -> bool:
        return to_lower(name) in self._schemas

    def table(self, table_id: int) -> TableInfo | None:
        return self._tables.get(table_id)

    def physical(self, table_id: int) -> TableInfo | None:
        table = self._tables.get(table_id)
        if table is not None:
            return table
        return next((info for info in self._tables.values() if any(p.id == table_id for p in info.partitions)), None)

    def apply_schema(self, event: DdlEvent) -> None:
        name = to_lower(event.schema)
        if event.action == "create schema":
            self._schemas.add(name)
            return
        if name not in self._schemas:
            raise _UnknownObjectError(f"database {event.schema}")
        if event.action == "drop schema":
            self._schemas.remove(name)
            self._tables = {key: info for key, info in self._tables.items() if to_lower(info.schema) != name}

    def apply(self, event: DdlEvent) -> None:
        info, before = event.table_info, event.pre_table_info
        assert info is not None
        if event.action in _CREATES:
            self._tables[info.id] = info
            return
        old_id = before.id if before is not None and event.action in (*_DROPS, *_NEW_IDS) else info.id
        self._known(old_id, info)
        if event.action in (*_DROPS, *_NEW_IDS):
            del self._tables[old_id]
        if event.action not in _DROPS:
            self._tables[info.id] = info

    def rename(self, info: TableInfo) -> None:
        """Rename one table; a table that moves to an unknown database is forgotten."""
        self._known(info.id, info)
        del self._tables[info.id]
        if self.has_schema(info.schema):
            self._tables[info.id] = info

    def rename_all(self, infos: Iterable[TableInfo]) -> None:
        """Rename the tables of one statement at once; each must move to a known database."""
        renamed = list(infos)
        for info in renamed:
            self._known(info.id, info)
            del self._tables[info.id]
        for info in renamed:
            if not self.has_schema(info.schema):
                raise _UnknownObjectError(f"database {info.schema}")
            self._tables[info.id] = info

    def exchange(self, partitioned: TableInfo) -> None:
        old = self._known(partitioned.id, partitioned)
        left, joined = ({each.id for each in info.partitions} for info in (old, partitioned))
        (normal_id,) = joined - left
        (partition_id,) = left - joined
        normal = self._known(normal_id, partitioned)
        self._tables[partitioned.id] = partitioned
        del self._tables[normal_id]
        self._tables[partition_id] = replace(normal, id=partition_id, version=partitioned.version)

    def _known(self, table_id: int, info: TableInfo) -> TableInfo:
        if table_id not in self._tables:
            raise _UnknownObjectError(f"table {info.full_name}")
        return self._tables[table_id]
