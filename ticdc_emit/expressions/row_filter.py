"""The effect of ``[[filter.event-filters]]`` on the rows of one table version.

In: the event filters and a version of a table. Out: :class:`RowFilter`: the ignored kinds of changes, the expressions
that ignore some rows, and the columns whose change alone is ignored. ``pipeline.row_filter`` applies it to rows.

Rule source: ``pkg/filter/{expr_filter,sql_event_filter,update_only_columns_filter}.go`` of pingcap/tiflow and
pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ticdc_emit.changes.model import Op
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import ConfigError
from ticdc_emit.expressions import TableExpression
from ticdc_emit.routing.ddl_verdicts import EventFilters, EventRule
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = ["OnlyColumns", "RowFilter", "ValueFilter", "check_expressions"]


_EXPRESSIONS: tuple[tuple[str, Op, Literal["before", "after"]], ...] = (
    ("ignore_insert_value_expr", Op.INSERT, "after"),
    ("ignore_update_old_value_expr", Op.UPDATE, "before"),
    ("ignore_update_new_value_expr", Op.UPDATE, "after"),
    ("ignore_delete_value_expr", Op.DELETE, "before"),
)


@dataclass(frozen=True)
class ValueFilter:
    """An expression over one image of changes of one kind. ``name``: the option that holds it."""

    name: str
    op: Op
    image: Literal["before", "after"]
    expression: TableExpression


@dataclass(frozen=True)
class OnlyColumns:
    """Updates that change only these columns are ignored. ``columns``: names of the table's row columns."""

    name: str
    columns: frozenset[str]


@dataclass(frozen=True)
class RowFilter:
    """The filters of one version of one table."""

    kinds: Mapping[Op, str]
    values: tuple[ValueFilter, ...] = ()
    only_columns: tuple[OnlyColumns, ...] = ()

    @classmethod
    def of(cls, filters: EventFilters, info: TableInfo, *, case_sensitive: bool, zone: str) -> RowFilter | None:
        """Return the filter of a table version, ``None`` if nothing is filtered.

        Raises :class:`~ticdc_emit.errors.ConfigError` for an expression that cannot be evaluated exactly.
        """
        rules = [rule for rule in filters.rules if rule.tables.matches(info.schema, info.name)]
        row_filter = cls(
            filters.ignored_kinds(info.schema, info.name),
            tuple(each for rule in rules for each in _value_filters(rule, info, zone)),
            tuple(each for rule in rules if (each := _only_columns(rule, info, case_sensitive)) is not None),
        )
        return row_filter if row_filter.kinds or row_filter.values or row_filter.only_columns else None

    @cached_property
    def read(self) -> frozenset[tuple[Op, str]]:
        """The images that the filter reads, by kind of change."""
        images = {(each.op, each.image) for each in self.values}
        if self.only_columns:
            images |= {(Op.UPDATE, "before"), (Op.UPDATE, "after")}
        return frozenset(images)


def check_expressions(filters: EventFilters, info: TableInfo, config: ChangefeedConfig) -> None:
    """Refuse expressions that cannot be evaluated for a table that exists at the start, and those that TiCDC refuses at
    the start.

    Raises :class:`~ticdc_emit.errors.ConfigError`.
    """
    row_filter = RowFilter.of(filters, info, case_sensitive=config.case_sensitive, zone=config.time_zone)
    if row_filter is None or config.profile.filtering.checked_expressions != "at-start":
        return
    for each in row_filter.values:
        fault = each.expression.fault
        if fault is not None:
            raise ConfigError(fault.message, remedy=fault.remedy, **fault.context)


def _value_filters(rule: EventRule, info: TableInfo, zone: str) -> list[ValueFilter]:
    value_filters = []
    for option, op, image in _EXPRESSIONS:
        text = getattr(rule.config, option)
        if text:
            name = f"{rule.name}.{option.replace('_', '-')}"
            value_filters.append(ValueFilter(name, op, image, TableExpression.of(text, info, zone, f"filter.{name}")))
    return value_filters


def _only_columns(rule: EventRule, info: TableInfo, case_sensitive: bool) -> OnlyColumns | None:
    """Return the listed columns that the table has, without key columns."""
    listed = rule.config.ignore_update_only_columns
    names = set(listed) if case_sensitive else {to_lower(name) for name in listed}
    keys = {name for index in info.indexes if index.primary or index.unique for name in index.columns}
    keys |= {column.name for column in info.whole_primary_key}
    columns = {
        column.name
        for column in info.row_columns
        if (column.name if case_sensitive else to_lower(column.name)) in names
    }
    return OnlyColumns(f"{rule.name}.ignore-update-only-columns", frozenset(columns - keys)) if columns else None
