"""Expressions of ``[[filter.event-filters]]`` over the rows of a table, evaluated column by column.

In: an expression's text and a table version; then an image of rows. Out: the rows that it ignores: those for which its
value *holds the integer 1* in TiDB's datum. So ``n`` ignores only rows with n = 1; a decimal, float or text ignores
none, an ENUM its first label, and JSON its objects.

An expression that cannot be evaluated exactly is refused when it is read, by evaluating it over zero rows.

Rule source: ``pkg/filter/expr_filter.go`` of pingcap/tiflow and pingcap/ticdc; ``pkg/types/datum.go`` of pingcap/tidb.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import (
    ConfigError,
    DdlError,
    InvalidValueError,
    RowError,
    SchemaError,
    TicdcEmitError,
    shortened,
)
from ticdc_emit.filtering.expressions.evaluate import evaluate
from ticdc_emit.filtering.expressions.json_values import is_object
from ticdc_emit.filtering.expressions.values import EvaluationError, Kind, NotExactError, Value, of_column, to_integer
from ticdc_emit.schema.inference.tree import Reference, TypedNode, expression_of
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = ["TableExpression", "UnknownColumnError"]

_REMEDY = "docs/filters.md lists what can be evaluated; filter the rows before they come here, or remove the expression"
# what evaluating raises besides its own errors: Arrow's, Python's for numbers, and those of a nested value
_FAULTS = (ValueError, ArithmeticError, TypeError, LookupError, AttributeError, RecursionError, pa.ArrowException)
_MAX_DEPTH = 8  # nesting of virtual columns made from virtual columns


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
            _parsed(text)
        except DdlError as fault:
            cause = fault.message.removeprefix("the expression ")
            cause = cause if cause != fault.message else f"is not understood: {cause}"
            part = shortened(text, fault.context.get("position", 0))
            raise ConfigError(f"the expression {part!r} {cause}", remedy=_REMEDY, option=option) from None
        expression = cls(text, info, zone, option)
        try:
            expression._mask(_NoRows(info, zone), 0)
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
        """Return which of ``count`` rows the expression ignores.

        Raises the :class:`~ticdc_emit.errors.RowError` family for a value at which TiDB fails, and
        :class:`UnknownColumnError` for a column that the table lacks.
        """
        if self.fault is not None:
            raise self.fault
        try:
            return self._mask(image, count)
        except _FAULTS as fault:
            _reraise_others(fault)
        # a fault of single rows, or of a result too large for one array
        ignored, causes = np.zeros(count, np.bool_), self._causes_for_all(image, count)
        parts = [] if causes or not count else [(0, count)]
        while parts:
            start, stop = parts.pop()
            try:
                ignored[start:stop] = self._mask(_Rows(image, start, stop), stop - start)
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
        """Return the cause of every row if the expression fails without a row, else nothing."""
        try:
            self._mask(_Rows(image, 0, 0), 0)
        except _FAULTS as fault:
            return dict.fromkeys(range(count), _cause(fault))
        return {}

    def _refusal(self, image: Image, causes: dict[int, str]) -> RowError:
        """Return the error of the first row at which the expression fails, with all such rows."""
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

    def _mask(self, image: Any, count: int) -> Mask:
        value = evaluate(_parsed(self.text), lambda reference: self._column(reference, image, 0))
        filled = pc.fill_null(_holds_one(value), False)
        if isinstance(filled, pa.Scalar):
            return np.full(count, filled.as_py(), np.bool_)
        return np.asarray(filled.to_numpy(zero_copy_only=False), np.bool_)

    def _column(self, reference: Reference, image: Any, depth: int) -> Value:
        column = self._named(reference)
        if not column.is_virtual:
            return of_column(column, image.values(column))
        if depth == _MAX_DEPTH:
            raise NotExactError(f"the virtual column {column.name}")
        value = evaluate(_parsed(column.generated_expr), lambda named: self._column(named, image, depth + 1))
        shape = of_column(column, accept(column, _none_of(column), Rendering(self.zone)))
        if value.kind is not shape.kind or value.kind not in (Kind.INT, Kind.TEXT, Kind.NULL):
            raise NotExactError(f"the virtual column {column.name}, which is {value.kind.value}")
        return Value(value.kind, value.data, shape.collate, shape.strength, column=column)

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


@lru_cache(maxsize=256)
def _parsed(text: str) -> TypedNode:
    """Return the tree of an expression. Each process makes its own: a chain of operators is too deep to be pickled."""
    return expression_of(text)


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


class _Rows:
    """Some rows of an image, without a look at their values again."""

    def __init__(self, image: Image, start: int, stop: int) -> None:
        self._image, self._start, self._length = image, start, stop - start

    def values(self, column: Column) -> pa.Array:
        return self._image.values(column).slice(self._start, self._length)


class _NoRows:
    """An image without rows, with the types of accepted columns."""

    def __init__(self, info: TableInfo, zone: str) -> None:
        self._how = Rendering(zone)

    def values(self, column: Column) -> pa.Array:
        try:
            return accept(column, _none_of(column), self._how)
        except TypeError as fault:
            raise NotExactError(f"the column {column.name}: {fault}") from None


def _none_of(column: Column) -> pa.Array:
    return pa.array([], pa.binary() if column.is_binary else pa.string())


def _holds_one(value: Value) -> Any:
    """Return the rows whose datum has the integer 1."""
    if value.kind is Kind.INT and pa.types.is_boolean(value.data.type):
        return value.data
    if value.kind in (Kind.INT, Kind.LABEL):
        data = to_integer(value)
        return pc.equal(data, pa.scalar(1, data.type))  # a plain 1 would turn uint64 into int64
    return is_object(value.data) if value.kind is Kind.JSON else pa.scalar(False)
