"""Event filters: ``[[filter.event-filters]]`` by the type of an event and by the text of a DDL.

In: the changefeed's event filters. Out: :class:`EventFilters`, which tells whether a filter ignores a DDL or a kind of
row changes, and which filter. ``expressions.row_filter`` handles expressions over values.

Rule source: ``pkg/filter/sql_event_filter.go`` and ``pkg/binlog-filter`` of pingcap/tiflow and pingcap/ticdc. The two
lineages differ in the effect of a bad pattern, the case-sensitivity of matchers, and foreign keys
(:class:`~ticdc_emit.config.switches.FilterSwitches`).
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig, EventFilter
from ticdc_emit.config.filters import EVENT_TYPES
from ticdc_emit.config.refusal import refused, warn_of_option
from ticdc_emit.config.switches import FilterSwitches
from ticdc_emit.errors import ConfigError, DdlError
from ticdc_emit.routing.go_regexp import GoRegexpError
from ticdc_emit.routing.linear_regexp import CostlyRegexpError, GoRegexp, compile_regexp
from ticdc_emit.routing.table_filter import TableFilter

__all__ = ["EventFilters", "EventRule"]


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
            except CostlyRegexpError as fault:
                raise ConfigError(
                    f"the pattern {str(fault)!r} cannot be matched in linear time without RE2",
                    remedy="Install ticdc-emit[re2], or use fewer repetitions, none inside of another",
                    option=f"{_OPTION}[{index}].ignore-sql",
                ) from None
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
