"""What a changefeed's filter accepts: tables by name and handle key, events by kind and text; and verdicts on DDL.

The DDL filters (``ddl_classic.py``, ``ddl_next.py``) and row filters ask. A :class:`Verdict` is: sent, ignored
(applied, but not sent), or discarded. Rule source: ``pkg/filter/{filter,sql_event_filter}.go`` and
``cdc/model/schema_storage.go`` (IsEligible, IsIndexUnique) of pingcap/tiflow; ``pkg/common/table_info.go`` of
pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig, EventFilter
from ticdc_emit.config.document import refused, warn_of_option
from ticdc_emit.config.filters import EVENT_TYPES, STATEMENT_EVENTS
from ticdc_emit.config.switches import FilterSwitches
from ticdc_emit.errors import DdlError
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.nodes.statements import RenameTables
from ticdc_emit.sql.regexp import GoRegexp, GoRegexpError, compile_regexp
from ticdc_emit.sql.script import parse_ddl
from ticdc_emit.sql.words import to_lower

_EVERYTHING = ("*.*",)
_SYSTEM = frozenset(
    {
        *("mysql", "sys", "information_schema", "performance_schema", "metrics_schema", "inspection_schema"),
        *("dm_heartbeat", "tidb_cdc"),
    }
)


_OPTION = "filter.event-filters"
_ALIASES = {"create schema": "create database", "drop schema": "drop database"}
# the jobs that "alter table" covers: not those that create, truncate or drop a table, nor foreign keys
_ALTERS = frozenset(EVENT_TYPES) - {
    *("create schema", "drop schema", "modify schema charset and collate", "create table", "create tables"),
    *("drop table", "truncate table", "recover table", "create view", "drop view"),
    *("add foreign key", "drop foreign key"),
}


@dataclass(frozen=True)
class EventRule:
    """One event filter. ``name``: its name in reports and errors; ``text``: what ``ignore-sql`` searches for."""

    name: str
    tables: TableFilter
    types: frozenset[str]
    text: GoRegexp | None
    config: EventFilter


@dataclass(frozen=True)
class EventFilters:
    """All event filters of a changefeed, in order."""

    rules: tuple[EventRule, ...]
    switches: FilterSwitches

    @classmethod
    def of(cls, config: ChangefeedConfig) -> EventFilters:
        """Read the event filters; :class:`~ticdc_emit.errors.ConfigError` for what TiCDC refuses at start."""
        sensitive = config.release.filtering.event_matchers == "sensitive" or config.case_sensitive
        rules = []
        for index, entry in enumerate(config.filter.event_filters):
            name = f"event-filters[{index}]"
            tables = TableFilter.parse(entry.matcher, case_sensitive=sensitive, option=f"{_OPTION}[{index}].matcher")
            types = frozenset(_ALIASES.get(event, event) for event in entry.ignore_event)
            try:
                sources = entry.ignore_sql  # joined without groups, as in TiCDC
                text = compile_regexp("|".join(sources), ignore_case=True) if sources else None
            except GoRegexpError as fault:
                if config.release.filtering.bad_ignore_sql == "refused":
                    raise refused(
                        "ErrFilterRuleInvalid",
                        "filter rule is invalid failed to create binlog event filter: "
                        f"compile regular expression [{' '.join(entry.ignore_sql)}]: {fault}",
                        option=f"{_OPTION}[{index}].ignore-sql",
                        remedy="Give a Go regular expression",
                    ) from None
                # TiCDC logs it and continues without the rule's types and texts
                warn_of_option(f"{_OPTION}[{index}] has no effect on event types and DDL texts, as in TiCDC: {fault}")
                types, text = frozenset(), None
            rules.append(EventRule(name, tables, types, text, entry))
        return cls(tuple(rules), config.release.filtering)

    def ignored_by(self, schema: str, table: str, action: str, query: str) -> str | None:
        """Return the filter that ignores a DDL of a table ("" for a database); ``None`` if it is sent.

        Raises :class:`~ticdc_emit.errors.DdlError` where TiCDC fails: a foreign key of a table that a filter matches.
        """
        kinds = self._kinds(action, query)
        if not kinds:
            return None
        for rule in self.rules:
            matches = rule.tables.matches(schema, table) if table else rule.tables.matches_schema(schema)
            if not matches:
                continue
            if self.switches.foreign_key_events == "failing" and EVENT_TYPES[action].endswith("foreign key"):
                raise DdlError(
                    "an event filter matches the table, and TiCDC's new architecture fails at its foreign keys",
                    remedy=f"Leave {schema}.{table} out of the matcher of {_OPTION}",
                    statement=query,
                    table=f"{schema}.{table}",
                )
            if kinds & rule.types:
                return f"{rule.name}.ignore-event"
            if rule.text is not None and query and rule.text.search(query):
                return f"{rule.name}.ignore-sql"
        return None

    def _kinds(self, action: str, query: str) -> frozenset[str]:
        """Return the names of a DDL job in ``ignore-event``; none for one that no event filter finds."""
        event = EVENT_TYPES[action]
        if self.switches.event_kinds == "by-action":
            return frozenset({event, "all ddl", "alter table" if action in _ALTERS else event})
        if action == "recover table":
            return frozenset()
        if event not in STATEMENT_EVENTS or (action == "rename table" and not is_rename_statement(query)):
            event = "alter database" if action == "modify schema charset and collate" else "alter table"
        return frozenset({event, "all ddl"})

    def ignored_kinds(self, schema: str, table: str) -> dict[Op, str]:
        """Return the kinds of a table's row changes that are ignored whatever their values, by which filter."""
        rules: dict[Op, str] = {}
        for rule in self.rules:
            if rule.tables.matches(schema, table):
                for op in Op:
                    if op.value in rule.types or "all dml" in rule.types:
                        rules.setdefault(op, f"{rule.name}.ignore-event")
        return rules


@dataclass(frozen=True)
class FilterRules:
    """All rules of a changefeed: for tables, events and transactions; ``forced``: keyless tables are replicated."""

    tables: TableFilter
    events: EventFilters
    start_ts: frozenset[int]
    forced: bool
    bdr_mode: bool
    switches: FilterSwitches

    @classmethod
    def of(cls, config: ChangefeedConfig) -> FilterRules:
        """Raises :class:`~ticdc_emit.errors.ConfigError` for rules that TiCDC refuses at start."""
        patterns = config.filter.rules or _EVERYTHING
        return cls(
            TableFilter.parse(patterns, case_sensitive=config.case_sensitive, option="filter.rules"),
            EventFilters.of(config),
            frozenset(config.filter.ignore_txn_start_ts),
            config.force_replicate,
            config.bdr_mode,
            config.release.filtering,
        )

    def has_table(self, schema: str, table: str) -> bool:
        """Return whether the rules accept a table (or view)."""
        return not self.is_system(schema) and self.tables.matches(schema, table)

    def has_schema(self, schema: str) -> bool:
        """Return whether the DDL of a database is replicated."""
        return not self.is_system(schema) and self.tables.matches_schema(schema)

    def is_system(self, schema: str) -> bool:
        """Return whether a database is never replicated."""
        return to_lower(schema) in _SYSTEM or to_lower(schema) in self.switches.system_schemas

    def has(self, info: TableInfo) -> bool:
        """Return whether the rules accept a table."""
        return self.has_table(info.schema, info.name)

    def allows_key(self, info: TableInfo) -> bool:
        """Return whether a version has a primary key or a unique key that is NOT NULL, or needs none, as views do."""
        if self.forced or info.is_view or info.whole_handle_key:
            return True
        return self.switches.virtual_keys == "accepted" and bool(info.tidb_primary_key)

    def replicates(self, event: DdlEvent) -> bool:
        """Return whether TiCDC replicates this kind of DDL at all."""
        return bool(ACTIONS[event.action].event) and event.action not in self.switches.ddl_left_out

    def finds_by_old_name(self, event: DdlEvent) -> bool:
        """Return whether event filters find a RENAME by its old name."""
        by_statement = self.switches.event_kinds == "by-statement"
        return self.switches.rename_names == "old" and (not by_statement or is_rename_statement(_searched(event)))

    def ignored_by(self, event: DdlEvent, info: TableInfo | None) -> str | None:
        """Return the event filter that ignores the event, by the name of ``info`` (``None``: of its database)."""
        text = _searched(event)
        if info is None:
            return self.events.ignored_by(event.schema, "", event.action, text)
        return self.events.ignored_by(info.schema, info.name, event.action, text)


def _searched(event: DdlEvent) -> str:
    return event.filter_text or event.query


def is_rename_statement(query: str) -> bool:
    """Return whether a text is RENAME TABLE, not ALTER TABLE ... RENAME."""
    return isinstance(parse_ddl(query), RenameTables)


Result = Literal["sent", "ignored", "discarded"]

RULES = "rules"
START_TS = "ignore-txn-start-ts"
KEYLESS = "no handle key"
KIND = "not a replicated kind of DDL"


@dataclass(frozen=True)
class Verdict:
    """The verdict on one event. ``reason``: the option or rule that kept it from being sent; "" if it is sent."""

    event: DdlEvent
    result: Result
    reason: str = ""

    @classmethod
    def sent(cls, event: DdlEvent) -> Verdict:
        return cls(event, "sent")

    @classmethod
    def ignored(cls, event: DdlEvent, reason: str) -> Verdict:
        return cls(event, "ignored", reason)

    @classmethod
    def discarded(cls, event: DdlEvent, reason: str) -> Verdict:
        return cls(event, "discarded", reason)

    @property
    def is_sent(self) -> bool:
        return self.result == "sent"


def is_rename_of_many(events: Sequence[DdlEvent]) -> bool:
    """Return whether the events of a statement are those of a RENAME of several tables, which is one job."""
    return len(events) > 1 and all(event.action == "rename table" for event in events)


def failure(event: DdlEvent, message: str, code: str, remedy: str) -> DdlError:
    """Return the error for a DDL at which TiCDC's changefeed fails; the caller raises it."""
    table = f"{event.schema}.{event.table}" if event.table else None
    schema = None if event.table else event.schema
    return DdlError(message, remedy=remedy, statement=event.query, table=table, schema=schema, code=f"CDC:{code}")


def renamed_into(event: DdlEvent) -> DdlError:
    """Return the error for a RENAME from a name that the rules refuse to one that they accept."""
    return failure(
        event,
        "filter.rules include the table's new name, but not its old name: TiCDC's changefeed fails here",
        "ErrSyncRenameTableFailed",
        "Add the old name to filter.rules",
    )
