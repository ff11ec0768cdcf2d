"""The effect of ``[[filter.event-filters]]`` on the rows of one table version; ``row_filter`` applies it to rows.

Rule source: ``pkg/filter/{expr_filter,sql_event_filter,update_only_columns_filter}.go`` of pingcap/tiflow and
pingcap/ticdc.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.images import Image
from ticdc_emit.changes.model import Op
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.expressions import ColumnValues
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.errors import ConfigError, DdlError, InvalidValueError, RowError, SchemaError, TicdcEmitError, shortened
from ticdc_emit.routing.filter_rules import EventFilters, EventRule
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import Reference, parse_call_tree
from ticdc_emit.sql.evaluation.documents import is_object
from ticdc_emit.sql.evaluation.values import EvaluationError, Kind, NotExactError, Value, to_integer
from ticdc_emit.sql.expressions import evaluate
from ticdc_emit.sql.words import to_lower

# -- the filters of a table version ------------------------------------------------------------------------------------

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
        """Return a version's filter, ``None`` without one. Raises ``ConfigError`` for an inexact expression."""
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
    """Refuse expressions that cannot be evaluated for a table at the start, and those that TiCDC refuses then."""
    row_filter = RowFilter.of(filters, info, case_sensitive=config.case_sensitive, zone=config.time_zone)
    if row_filter is None or config.release.filtering.checked_expressions != "at-start":
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


# -- expressions -------------------------------------------------------------------------------------------------------

_REMEDY = "docs/config.md lists what can be evaluated; filter the rows before they come here, or remove the expression"
# what evaluating raises besides its own errors: Arrow's, Python's for numbers, and those of a nested value
_FAULTS = (ValueError, ArithmeticError, TypeError, LookupError, AttributeError, RecursionError, pa.ArrowException)


class UnknownColumnError(SchemaError):
    """An expression names a column that the table does not have (CDC:ErrExpressionColumnNotFound)."""


@dataclass(frozen=True)
class TableExpression:
    """One expression over one version of a table. ``fault``: why TiCDC fails at the first row."""

    text: str
    info: TableInfo
    zone: str
    option: str
    fault: UnknownColumnError | None = None

    @classmethod
    def of(cls, text: str, info: TableInfo, zone: str, option: str) -> TableExpression:
        """Read an expression; :class:`~ticdc_emit.errors.ConfigError` for one that cannot be evaluated exactly."""
        try:
            parse_call_tree(text)
        except DdlError as fault:
            cause = fault.message.removeprefix("the expression ")
            cause = cause if cause != fault.message else f"is not understood: {cause}"
            part = shortened(text, fault.context.get("position", 0))
            raise ConfigError(f"the expression {part!r} {cause}", remedy=_REMEDY, option=option) from None
        expression = cls(text, info, zone, option)
        try:
            expression._mask(expression._no_values, 0)
        except UnknownColumnError as fault:
            return cls(text, info, zone, option, fault)
        except EvaluationError:
            pass  # only constants: TiCDC also fails only at the first row
        except _FAULTS as fault:
            raise ConfigError(
                f"the expression {shortened(text)!r} cannot be evaluated exactly: {_cause(fault)}",
                remedy=getattr(fault, "remedy", "") or _REMEDY,
                option=option,
                table=info.full_name,
            ) from None
        return expression

    def ignored(self, image: Image, count: int) -> Mask:
        """Return which of ``count`` rows the expression ignores; raises where TiDB fails at a value."""
        if self.fault is not None:
            raise self.fault
        try:
            return self._mask(image.values, count)
        except _FAULTS as fault:
            _reraise_others(fault)
        # a fault of single rows, or of a result too large for one array
        ignored, causes = np.zeros(count, np.bool_), self._causes_for_all(image, count)
        parts = [] if causes or not count else [(0, count)]
        while parts:
            start, stop = parts.pop()
            try:
                ignored[start:stop] = self._mask(_values_of(image, start, stop), stop - start)
            except _FAULTS as fault:
                _reraise_others(fault)
                if stop - start == 1:
                    causes[start] = _cause(fault)
                else:
                    middle = (start + stop) // 2
                    parts += [(middle, stop), (start, middle)]
        if causes:
            raise self._refusal(image, causes)
        return ignored

    def _causes_for_all(self, image: Image, count: int) -> dict[int, str]:
        try:
            self._mask(_values_of(image, 0, 0), 0)
        except _FAULTS as fault:
            return dict.fromkeys(range(count), _cause(fault))
        return {}

    def _refusal(self, image: Image, causes: dict[int, str]) -> RowError:
        rows = np.fromiter(causes, np.int64, len(causes))

        def error(number: int) -> InvalidValueError:
            row = int(rows[number])
            return InvalidValueError(
                f"the expression {shortened(self.text)!r} fails: {causes[row]}",
                remedy="Correct the value, or the expression",
                table=self.info.full_name,
                row=image.row_key(row),
                option=self.option,
            )

        return image.refused(rows, error)

    def _mask(self, values: Callable[[Column], pa.Array], count: int) -> Mask:
        def held(column: Column) -> pa.Array | None:
            return None if column.is_virtual else values(column)

        columns = ColumnValues(self.info, held, count, Rendering(self.zone))

        def value(reference: Reference) -> Value:
            column = self._named(reference)
            try:
                return columns.value(column)
            except (NotExactError, EvaluationError) as fault:
                if not column.is_virtual:
                    raise
                raise type(fault)(f"the virtual column {column.name}: {fault}") from None

        ignored = pc.fill_null(_holds_one(evaluate(parse_call_tree(self.text), value)), False)
        if isinstance(ignored, pa.Scalar):
            return np.full(count, ignored.as_py(), np.bool_)
        return np.asarray(ignored.to_numpy(zero_copy_only=False), np.bool_)

    def _no_values(self, column: Column) -> pa.Array:
        try:
            return accept(column, pa.array([], pa.binary() if column.is_binary else pa.string()), Rendering(self.zone))
        except TypeError as fault:
            raise NotExactError(f"the column {column.name}: {fault}") from None

    def _named(self, reference: Reference) -> Column:
        info = self.info
        visible = [column for column in info.columns if not column.hidden]
        fits = not reference.table or to_lower(reference.table) == to_lower(info.name)
        if reference.schema and fits and to_lower(reference.schema) == to_lower(info.schema):
            return visible[0]  # TiDB's rewriter loses the offset of a column that is qualified by its database
        wanted = to_lower(reference.name)
        match = next((column for column in visible if to_lower(column.name) == wanted), None)
        if match is None or not fits or reference.schema:
            raise UnknownColumnError(
                f"[CDC:ErrExpressionColumnNotFound]invalid filter expression(s). Cannot find column '{reference.name}' "
                f"from table '{info.full_name}' in: {self.text}",
                remedy="Name a column of the table",
                table=info.full_name,
                column=reference.name,
                option=self.option,
            )
        return match


def _reraise_others(fault: Exception) -> None:
    """Raise again what is an error of the library already: that of a column's value, or of a missing column."""
    if isinstance(fault, TicdcEmitError):
        raise fault


def _cause(fault: Exception) -> str:
    if isinstance(fault, TicdcEmitError):
        return fault.message
    if isinstance(fault, NotExactError | EvaluationError):
        return str(fault)
    return "it is nested too deeply" if isinstance(fault, RecursionError) else f"{type(fault).__name__}: {fault}"[:200]


def _values_of(image: Image, start: int, stop: int) -> Callable[[Column], pa.Array]:
    return lambda column: image.values(column).slice(start, stop - start)


def _holds_one(value: Value) -> Any:
    if value.kind is Kind.INT and pa.types.is_boolean(value.data.type):
        return value.data
    if value.kind in (Kind.INT, Kind.LABEL):
        data = to_integer(value)
        return pc.equal(data, pa.scalar(1, data.type))  # a plain 1 would turn uint64 into int64
    return is_object(value.data) if value.kind is Kind.JSON else pa.scalar(False)
