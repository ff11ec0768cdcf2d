"""Table rules: which tables and databases a changefeed replicates, by name.

In: ``filter.rules`` and ``case-sensitive``. Out: :class:`TableRules`. Without rules all tables are replicated, except
those of system databases.

Rule source: ``pkg/filter/{filter,utils}.go`` of pingcap/tiflow; ``pkg/util/{filter,table-filter}`` of pingcap/tidb.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.sql.words import to_lower

__all__ = ["TableRules"]

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
