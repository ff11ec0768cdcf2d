"""Which DDL TiCDC's new architecture sends: a store applies every job, and each changefeed filters what it reads.

A table without a handle key at its creation has no dispatcher, so its rows and most of its DDL are left out even when
it gets a key. The DDL that the changefeed reads for all tables is then sent, and where it makes the table anew
(TRUNCATE), the table is replicated from there on. Rule source:
``logservice/schemastore/persist_storage_ddl_handlers.go`` (buildDDLEvent...) and ``pkg/filter/filter.go`` of
pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

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

_OF_ALL_TABLES = frozenset(
    {
        "add partition",
        "alter table partition by",
        "alter table remove partitioning",
        "alter table reorganize partition",
        "create table",
        "create tables",
        "create view",
        "drop partition",
        "drop table",
        "drop view",
        "recover table",
        "truncate partition",
        "truncate table",
    }
)
"""The kinds that a changefeed reads even of tables without a dispatcher, beside RENAME and EXCHANGE PARTITION."""


class StoreDdlFilter:
    """Gives verdicts on DDL in order. ``tables``: those that exist at the start."""

    def __init__(self, rules: FilterRules, tables: Iterable[TableInfo]) -> None:
        self._rules = rules
        self._unseen = {info.id for info in tables if not rules.allows_key(info)}

    def knows(self, info: TableInfo) -> bool:
        """Return whether a table had a key when it was created."""
        return info.id not in self._unseen

    def table_of_rows(self, info: TableInfo) -> TableInfo | None:
        """Return the table itself: the store applies every job."""
        return info

    def verdicts(self, events: Sequence[DdlEvent], start_ts: int, bdr_role: str) -> list[Verdict]:
        """Return the verdicts on a statement's events; ``bdr_role`` has no effect on Kafka sinks here."""
        ignored = START_TS if start_ts in self._rules.start_ts else None
        for event in events:
            self._follow(event)
        if is_rename_of_many(events):
            return [self._rename(event, ignored) for event in events]
        return [self._one(event, ignored) for event in events]

    def _follow(self, event: DdlEvent) -> None:
        """Remember tables that are created without a key; they stay unseen even under a new id."""
        info, before = event.table_info, event.pre_table_info
        if info is None:
            return
        is_new = before is None or before.id != info.id
        allowed = self._rules.allows_key(info)
        if is_new and not allowed:
            self._unseen.add(info.id)
        elif allowed and (
            event.action == "recover table" or (before is not None and self._is_made_anew(event, before))
        ):
            self._unseen.discard(info.id)

    def _is_made_anew(self, event: DdlEvent, before: TableInfo) -> bool:
        """Return whether an unseen table gets only new partitions; refuse a mix: TiCDC replicates the new alone."""
        info = event.table_info
        if info is None or info.id not in self._unseen or event.action == "exchange partition":
            return False
        new, old = ({each.id for each in table.partitions} for table in (info, before))
        if not new - old or not self._rules.has(info):
            return False
        if new & old:
            message = "TiCDC replicates only the new partitions of this table, which had no handle key at its creation"
            raise failure(event, message, "ErrTableIneligible", "Filter the table, or truncate it first")
        return True

    def _one(self, event: DdlEvent, ignored: str | None) -> Verdict:
        if not self._rules.replicates(event):
            return Verdict.discarded(event, KIND)
        info = event.table_info
        if info is None:
            if self._rules.switches.database_ddl == "sent" and not self._rules.is_system(event.schema):
                return Verdict.sent(event)
            if not self._rules.has_schema(event.schema):
                return Verdict.discarded(event, RULES)
            return _judged(event, ignored or self._rules.ignored_by(event, None))
        if event.action == "rename table":
            return self._rename(event, ignored)
        if event.action == "exchange partition":
            return self._exchange(event, info, ignored)
        if event.action in ("create view", "drop view"):
            info = replace(info, name=to_lower(info.name))  # the name in the job
        if not self._rules.has(info):
            return Verdict.discarded(event, RULES)
        if not self._rules.allows_key(info) or not (self.knows(info) or event.action in _OF_ALL_TABLES):
            return Verdict.discarded(event, KEYLESS)
        return _judged(event, ignored or self._rules.ignored_by(event, info))

    def _exchange(self, event: DdlEvent, info: TableInfo, ignored: str | None) -> Verdict:
        normal = event.pre_table_info
        assert normal is not None
        if not self._rules.allows_key(info):
            return Verdict.discarded(event, KEYLESS)
        if self._rules.has(info):  # the event filters check only the partitioned table
            return _judged(event, ignored or self._rules.ignored_by(event, info))
        return Verdict.sent(event) if self._rules.has(normal) else Verdict.discarded(event, RULES)

    def _rename(self, event: DdlEvent, ignored: str | None) -> Verdict:
        info, old = event.table_info, event.pre_table_info
        assert info is not None
        assert old is not None
        if info.is_view:
            message = "TiCDC's schema store does not know views, and crashes where one is renamed"
            raise failure(
                event, message, "ErrSchemaStorageTableMiss", "Drop the view, and create it under its new name"
            )
        if not self._rules.allows_key(info):
            return Verdict.discarded(event, KEYLESS)
        if event.given is not None:  # rules may be case-sensitive, and the store takes the old name from the statement
            old = replace(old, schema=event.given.renamed_as[0], name=event.given.renamed_as[1])
        if not self._rules.has(old):
            if self._rules.has(info):
                raise renamed_into(event)
            return Verdict.discarded(event, RULES)
        return _judged(event, ignored or self._rules.ignored_by(event, old))


def _judged(event: DdlEvent, ignored: str | None) -> Verdict:
    return Verdict.sent(event) if ignored is None else Verdict.ignored(event, ignored)
