"""``[filter]`` of the changefeed file, with checked event names; ``routing`` parses rules, patterns and expressions.

Rule source: ``pkg/config/filter.go``, ``pkg/filter/{sql_event_filter,utils}.go`` of pingcap/tiflow and pingcap/ticdc.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config.binding import declare, read_options
from ticdc_emit.config.document import Section, refused, warn_of_option
from ticdc_emit.config.switches import FilterSwitches
from ticdc_emit.errors import ConfigError
from ticdc_emit.hints import did_you_mean, hold_names
from ticdc_emit.sql.actions import ACTIONS

EVENT_TYPES = {action: facts.event for action, facts in ACTIONS.items() if facts.event}
"""The DDL actions that TiCDC replicates, and their names in ``ignore-event``."""

_FOREIGN_KEYS = ("add foreign key", "drop foreign key")
STATEMENT_EVENTS = frozenset(
    {
        *("create database", "drop database", "create table", "drop table", "rename table", "truncate table"),
        *("create view", "drop view", "add table partition", "drop table partition", "truncate table partition"),
    }
)
"""The names in ``ignore-event`` of releases that know only statements, beside ``alter table``."""
_GENERAL = frozenset(
    {"all dml", "all ddl", "insert", "update", "delete", "alter table", "create schema", "drop schema"}
)
# known only to the new architecture, which recognises these two by their text
_INDEX_KINDS = ("add fulltext index", "create hybrid index")


@dataclass(frozen=True)
class EventFilter:
    """One ``[[filter.event-filters]]`` entry. Texts as given; an empty expression means no expression."""

    matcher: tuple[str, ...] = declare((), "matcher", "", in_uri=False)
    ignore_event: tuple[str, ...] = declare((), "ignore-event", "", in_uri=False)
    ignore_sql: tuple[str, ...] = declare((), "ignore-sql", "", in_uri=False)
    ignore_insert_value_expr: str = declare("", "ignore-insert-value-expr", "", in_uri=False)
    ignore_update_old_value_expr: str = declare("", "ignore-update-old-value-expr", "", in_uri=False)
    ignore_update_new_value_expr: str = declare("", "ignore-update-new-value-expr", "", in_uri=False)
    ignore_delete_value_expr: str = declare("", "ignore-delete-value-expr", "", in_uri=False)
    ignore_update_only_columns: tuple[str, ...] = declare((), "ignore-update-only-columns", "", in_uri=False)

    def __post_init__(self) -> None:
        hold_names(self, "matcher", "ignore_event", "ignore_sql", "ignore_update_only_columns")


@dataclass(frozen=True)
class FilterConfig:
    """``[filter]``: which tables, DDL and rows are replicated. Without rules, all tables are replicated."""

    rules: tuple[str, ...] = ()
    ignore_txn_start_ts: tuple[int, ...] = ()
    event_filters: tuple[EventFilter, ...] = ()

    def __post_init__(self) -> None:
        hold_names(self, "rules")


def read_filter(root: Section, switches: FilterSwitches) -> FilterConfig:
    """Read the table ``filter``; :class:`ConfigError` for a wrong type or an event that TiCDC does not accept."""
    table = root.table("filter")
    if table is None:
        return FilterConfig()
    rules = table.texts("rules") or ()
    _check_mysql_rules(table, rules)
    return FilterConfig(
        rules=rules,
        ignore_txn_start_ts=table.integers("ignore-txn-start-ts") or (),
        event_filters=tuple(_read_event_filter(entry, switches) for entry in table.tables("event-filters")),
    )


def _check_mysql_rules(table: Section, rules: tuple[str, ...]) -> None:
    """Read the rules that 7.5 also takes, in MySQL's form, where there are no others."""
    given = [name for name in ("do-dbs", "ignore-dbs") if table.texts(name)]
    given += [name for name in ("do-tables", "ignore-tables") if table.tables(name)]
    if given and rules:
        warn_of_option(f"{', '.join(given)} have no effect beside filter.rules")
    elif given:
        raise ConfigError(
            f"{given[0]} is not read by this version", remedy="Write it as filter.rules", option=f"filter.{given[0]}"
        )


def _read_event_filter(entry: Section, switches: FilterSwitches) -> EventFilter:
    read = EventFilter(**read_options(EventFilter, None, entry))
    for event in read.ignore_event:
        _check_event(event, switches)
    return read


def _check_event(event: str, switches: FilterSwitches) -> None:
    if switches.foreign_key_events == "failing" and event in (*_FOREIGN_KEYS, *_INDEX_KINDS):
        raise refused(
            "ErrFilterRuleInvalid",
            f"filter rule is invalid failed to create binlog event filter: event type {event} not valid",
            option="filter.event-filters.ignore-event",
            remedy=f"TiCDC's new architecture cannot ignore it: remove {event!r}",
        )
    if switches.event_kinds == "by-statement":
        known = _GENERAL | STATEMENT_EVENTS
    else:
        known = _GENERAL | {name for action, name in EVENT_TYPES.items() if action not in switches.ddl_left_out}
    if event not in known:
        raise refused(
            "ErrInvalidIgnoreEventType",
            f"invalid ignore event type: '{event}'",
            option="filter.event-filters.ignore-event",
            remedy=f"{did_you_mean(event, sorted(known))}Names are lower case; docs/config.md lists them",
        )
