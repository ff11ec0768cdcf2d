"""Which tables have a handle key: a primary key, or a unique key over columns that are NOT NULL.

TiCDC replicates only these tables, unless ``force-replicate`` is set. Views need no key.

Rule sources: pingcap/tiflow ``cdc/model/schema_storage.go`` (IsEligible, IsIndexUnique); pingcap/ticdc
``pkg/common/table_info.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig, EventFilter
from ticdc_emit.config.document import refused, warn_of_option
from ticdc_emit.config.filters import EVENT_TYPES
from ticdc_emit.config.lineages import FilterSwitches
from ticdc_emit.errors import ConfigError, DdlError
from ticdc_emit.regexp import GoRegexp, GoRegexpError, compile_regexp
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = [
    "KEYLESS",
    "KIND",
    "RULES",
    "START_TS",
    "EventFilters",
    "EventRule",
    "Guards",
    "KeyRule",
    "Result",
    "Snapshot",
    "TableRules",
    "UnknownObjectError",
    "Verdict",
    "failure",
    "is_rename_of_many",
]


@dataclass(frozen=True)
class KeyRule:
    """``forced``: every table is replicated. ``virtual_keys``: whether a unique key over virtual columns counts."""

    forced: bool
    virtual_keys: bool

    @classmethod
    def of(cls, config: ChangefeedConfig) -> KeyRule:
        return cls(config.force_replicate, config.profile.filtering.virtual_keys == "accepted")

    def allows(self, info: TableInfo) -> bool:
        """Return whether this version of a table (or view) can be replicated."""
        if self.forced or info.is_view or info.whole_handle_key:
            return True
        return self.virtual_keys and _has_virtual_key(info)


def _has_virtual_key(info: TableInfo) -> bool:
    """Return whether a unique key has only declared columns that are NOT NULL; an expression's column is hidden."""
    filled = {column.name for column in info.columns if not column.nullable and not column.hidden}
    return any(index.unique and filled.issuperset(index.columns) for index in info.indexes)


_EVERYTHING = ("*.*",)
_SYSTEM = frozenset(
    {
        *("mysql", "sys", "information_schema", "performance_schema", "metrics_schema", "inspection_schema"),
        *("dm_heartbeat", "tidb_cdc", "lightning_task_info", "workload_schema"),
    }
)


@dataclass(frozen=True)
class TableRules:
    """The rules of a changefeed."""

    tables: TableFilter

    @classmethod
    def of(cls, config: ChangefeedConfig) -> TableRules:
        """Read the rules; :class:`~ticdc_emit.errors.ConfigError` (CDC:ErrFilterRuleInvalid) for a wrong one."""
        rules = config.filter.rules or _EVERYTHING
        return cls(TableFilter.parse(rules, case_sensitive=config.case_sensitive, option="filter.rules"))

    def has_table(self, schema: str, table: str) -> bool:
        """Return whether a table (or view) is among those that the changefeed replicates."""
        return to_lower(schema) not in _SYSTEM and self.tables.matches(schema, table)

    def has_schema(self, schema: str) -> bool:
        """Return whether the DDL of a database is replicated."""
        return to_lower(schema) not in _SYSTEM and self.tables.matches_schema(schema)


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

    def ignored_by(self, action: str, query: str) -> str | None:
        """Return the option that ignores a DDL job of a matching table; ``None`` if it is not ignored."""
        event = EVENT_TYPES[action]
        if event in self.types or "all ddl" in self.types or ("alter table" in self.types and action in _ALTERS):
            return f"{self.name}.ignore-event"
        if self.text is not None and query and self.text.search(query):
            return f"{self.name}.ignore-sql"
        return None


@dataclass(frozen=True)
class EventFilters:
    """All event filters of a changefeed, in order."""

    rules: tuple[EventRule, ...]
    switches: FilterSwitches

    @classmethod
    def of(cls, config: ChangefeedConfig) -> EventFilters:
        """Read the event filters; :class:`~ticdc_emit.errors.ConfigError` for what TiCDC refuses at start."""
        sensitive = config.profile.filtering.event_matchers == "sensitive" or config.case_sensitive
        rules = []
        for index, entry in enumerate(config.filter.event_filters):
            name = f"event-filters[{index}]"
            tables = TableFilter.parse(entry.matcher, case_sensitive=sensitive, option=f"{_OPTION}[{index}].matcher")
            types = frozenset(_ALIASES.get(event, event) for event in entry.ignore_event)
            try:
                text = _pattern(entry.ignore_sql)
            except GoRegexpError as fault:
                if config.profile.filtering.bad_ignore_sql == "refused":
                    raise _bad_pattern(entry, index, fault) from None
                # TiCDC logs it and continues without the rule's types and texts
                warn_of_option(f"{_OPTION}[{index}] has no effect on event types and DDL texts, as in TiCDC: {fault}")
                types, text = frozenset(), None
            rules.append(EventRule(name, tables, types, text, entry))
        return cls(tuple(rules), config.profile.filtering)

    def ignored_by(self, schema: str, table: str, action: str, query: str) -> str | None:
        """Return the name of the filter that ignores a DDL of a table ("" for a database); ``None`` if it is sent.

        Raises :class:`~ticdc_emit.errors.DdlError` where TiCDC fails: a foreign key of a table that a filter matches.
        """
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
            rule_name = rule.ignored_by(action, query)
            if rule_name is not None:
                return rule_name
        return None

    def ignored_kinds(self, schema: str, table: str) -> dict[Op, str]:
        """Return the kinds of a table's row changes that are ignored whatever their values, with the name of the filter
        for each.
        """
        rules: dict[Op, str] = {}
        for rule in self.rules:
            if rule.tables.matches(schema, table):
                for op in Op:
                    if op.value in rule.types or "all dml" in rule.types:
                        rules.setdefault(op, f"{rule.name}.ignore-event")
        return rules


def _pattern(patterns: tuple[str, ...]) -> GoRegexp | None:
    """Return one expression for all patterns, joined without groups, as in TiCDC."""
    return compile_regexp("|".join(patterns), ignore_case=True) if patterns else None


def _bad_pattern(entry: EventFilter, index: int, fault: GoRegexpError) -> ConfigError:
    return refused(
        "ErrFilterRuleInvalid",
        "filter rule is invalid failed to create binlog event filter: "
        f"compile regular expression [{' '.join(entry.ignore_sql)}]: {fault}",
        option=f"{_OPTION}[{index}].ignore-sql",
        remedy="Give a Go regular expression",
    )


Result = Literal["sent", "ignored", "discarded"]

RULES = "rules"
START_TS = "ignore-txn-start-ts"
KEYLESS = "no handle key"
KIND = "not a replicated kind of DDL"

_SYNC_RENAME = "ErrSyncRenameTableFailed"


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


@dataclass(frozen=True)
class Guards:
    """A changefeed's rules for tables and events."""

    rules: TableRules
    filters: EventFilters
    keys: KeyRule
    start_ts: frozenset[int]
    bdr_mode: bool

    @classmethod
    def of(cls, config: ChangefeedConfig) -> Guards:
        """Raises :class:`~ticdc_emit.errors.ConfigError` for rules that TiCDC refuses at start."""
        return cls(
            TableRules.of(config),
            EventFilters.of(config),
            KeyRule.of(config),
            frozenset(config.filter.ignore_txn_start_ts),
            config.bdr_mode,
        )

    def has(self, info: TableInfo) -> bool:
        """Return whether the rules accept a table."""
        return self.rules.has_table(info.schema, info.name)

    @staticmethod
    def is_replicated_kind(event: DdlEvent) -> bool:
        return event.action in EVENT_TYPES

    def ignored_by(self, event: DdlEvent, info: TableInfo | None) -> str | None:
        """Return the event filter that ignores the event, by the name of ``info`` (``None``: of its database)."""
        text = event.filter_text or event.query
        if info is None:
            return self.filters.ignored_by(event.schema, "", event.action, text)
        return self.filters.ignored_by(info.schema, info.name, event.action, text)


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
        _SYNC_RENAME,
        "Add the old name to filter.rules",
    )


def with_before(event: DdlEvent, before: TableInfo | None) -> DdlEvent:
    """Return the event with the previous version that the changefeed knows."""
    return event if before is event.pre_table_info else replace(event, pre_table_info=before)


_CREATES = ("create table", "create tables", "create view", "recover table")
_DROPS = ("drop table", "drop view")
_NEW_IDS = ("truncate table", "alter table partition by", "alter table remove partitioning")


class UnknownObjectError(LookupError):
    """A statement is about a table or database that the changefeed does not know; ``str()`` names it."""


class Snapshot:
    """Tables by id, databases by name in lower case."""

    def __init__(self, schemas: Iterable[str], tables: Iterable[TableInfo]) -> None:
        self._schemas = {to_lower(name) for name in schemas}
        self._tables = {info.id: info for info in tables}

    def has_schema(self, name: str) -> bool:
        return to_lower(name) in self._schemas

    def table(self, table_id: int) -> TableInfo | None:
        """Return a table as it was last applied."""
        return self._tables.get(table_id)

    def physical(self, table_id: int) -> TableInfo | None:
        """Return the table whose rows have this id: its own or that of a partition."""
        table = self._tables.get(table_id)
        if table is not None:
            return table
        return next((info for info in self._tables.values() if any(p.id == table_id for p in info.partitions)), None)

    def apply_schema(self, event: DdlEvent) -> None:
        """Apply the DDL of a database."""
        name = to_lower(event.schema)
        if event.action == "create schema":
            self._schemas.add(name)
            return
        if name not in self._schemas:
            raise UnknownObjectError(f"database {event.schema}")
        if event.action == "drop schema":
            self._schemas.remove(name)
            self._tables = {key: info for key, info in self._tables.items() if to_lower(info.schema) != name}

    def apply(self, event: DdlEvent) -> None:
        """Apply the DDL of one table, except RENAME and EXCHANGE PARTITION."""
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
                raise UnknownObjectError(f"database {info.schema}")
            self._tables[info.id] = info

    def exchange(self, partitioned: TableInfo) -> None:
        """Exchange a table with a partition; ``partitioned`` is the partitioned table afterwards."""
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
            raise UnknownObjectError(f"table {info.full_name}")
        return self._tables[table_id]
