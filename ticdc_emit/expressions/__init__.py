"""Evaluate an expression over a batch. In: its syntax tree. Out: one :class:`Value`.

The text is read by the grammar of TiDB's expressions (``sql.parser``). Arrow kernels are used where they give
TiDB's results; other functions run once per distinct value. Existing engines do not have MySQL's rules: in DuckDB ``'a
'`` and ``'a'`` differ and comparing text with a number is an error; sqlglot's executor uses Python's operators.

Rule source: pingcap/tidb ``pkg/expression``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.images import Image
from ticdc_emit.columnar.assemble import Mask
from ticdc_emit.columnar.values import Rendering, accept
from ticdc_emit.errors import ConfigError, DdlError, InvalidValueError, RowError, SchemaError, TicdcEmitError, shortened
from ticdc_emit.expressions import functions, operators
from ticdc_emit.expressions.functions import is_object
from ticdc_emit.expressions.values import (
    EvaluationError,
    Kind,
    NotExactError,
    Value,
    constant,
    null,
    of_column,
    to_integer,
    to_real,
    to_text,
)
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.call_tree import ALIASES, Call, CallTree, Cast, Collated, Constant, Reference, parse_call_tree
from ticdc_emit.sql.inference.operands import Coercibility
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.sql.words import to_lower

__all__ = ["KERNELS", "TableExpression", "UnknownColumnError", "evaluate"]


_ALIASES = {**ALIASES, "rlike": "regexp", "ifnull": "coalesce"}
_OPERANDS = 2
Function = Callable[[Sequence[Value]], Value]


def evaluate(node: CallTree, column: Callable[[Reference], Value]) -> Value:
    """Return the value of an expression; ``column`` returns the values of columns.

    Raises :class:`NotExactError` if it cannot be evaluated exactly, :class:`EvaluationError` if TiDB fails.
    """
    chain: list[tuple[Function, CallTree]] = []
    while isinstance(node, Call) and len(node.arguments) == _OPERANDS and isinstance(node.arguments[0], Call):
        chain.append((_function(node), node.arguments[1]))  # a chain of operators is as deep as it is long
        node = node.arguments[0]
    value = _evaluated(node, column)
    for compute, right in reversed(chain):
        value = compute([value, evaluate(right, column)])
    return value


def _evaluated(node: CallTree, column: Callable[[Reference], Value]) -> Value:
    match node:
        case Reference():
            return column(node)
        case Constant():
            return _constant(node)
        case Collated(operand, collation):
            return _collated(to_text(evaluate(operand, column)), collation)
        case Cast(operand):
            return _cast(node, evaluate(operand, column))
        case Call("negated", (Constant(int() as number),)):
            return constant(-number)
        case Call(_, arguments):
            compute = _function(node)
            return compute([evaluate(each, column) for each in arguments])


def _function(call: Call) -> Function:
    name = _ALIASES.get(call.name, call.name)
    function = KERNELS.get(name)
    if function is None:
        raise NotExactError(f"{call.name.upper()}()" if call.name.isidentifier() else f"the operator {call.name}")
    least, most, compute = function
    if not least <= len(call.arguments) <= most:
        raise NotExactError(f"{name.upper()}() of {len(call.arguments)} arguments")
    return compute


def _constant(node: Constant) -> Value:
    if node.kind is MySQLType.DURATION:
        micros = functions.parsed_duration(str(node.value))
        return Value(Kind.DURATION, pa.scalar(micros, pa.int64()))
    value = constant(node.value)
    if node.kind is not None:
        return functions.moment_of(str(node.value))
    if node.charset and node.charset not in ("utf8mb4", "utf8", "ascii", "binary"):
        raise NotExactError(f"a text of the character set {node.charset}")
    if node.charset == "binary":
        return replace(value, data=value.data.cast(pa.binary()), collate="binary")
    return value


def _collated(value: Value, collation: str) -> Value:
    return replace(value, collate=collation, strength=Coercibility.EXPLICIT)


def _case(values: Sequence[Value]) -> Value:
    """Return CASE WHEN 0 THEN 1 WHEN 2 THEN 3 ... ELSE last."""
    values = list(values)
    found = values.pop() if len(values) % 2 else null()
    while values:
        result, condition = values.pop(), values.pop()
        found = operators.chosen(condition, result, found)
    return found


def _cast(node: Cast, value: Value) -> Value:
    to = node.to
    if to.is_array:
        raise NotExactError("CAST ... AS ARRAY")
    if value.kind is Kind.NULL:
        return null()
    if to.type is MySQLType.LONGLONG:
        return operators.cast_integer(value, to.is_unsigned)
    if to.type is MySQLType.NEWDECIMAL:
        return operators.cast_decimal(value, max(to.flen, 0) or 10, max(to.decimal, 0))
    if to.type is MySQLType.DOUBLE:
        return Value(Kind.REAL, to_real(value))
    if to.type is MySQLType.DATE:
        return functions.day_of(value)
    if to.type in (MySQLType.VAR_STRING, MySQLType.STRING) and to.flen < 0:
        text = to_text(value)
        if to.charset == "binary":
            return Value(Kind.TEXT, text.data.cast(pa.binary()), strength=Coercibility.IMPLICIT)
        if not text.is_binary and to.charset in ("", "utf8mb4"):
            return replace(text, collate="utf8mb4_bin", strength=Coercibility.IMPLICIT)
    raise NotExactError(f"a CAST of {value.kind.value} to {to.type.name}")


def _comparison(operator: str) -> Function:
    return lambda args: operators.compare(operator, args[0], args[1])


def _arithmetic(operator: str) -> Function:
    return lambda args: operators.arithmetic(operator, args[0], args[1])


def _bitwise(operator: str) -> Function:
    return lambda args: operators.bitwise(operator, args[0], args[1])


def _part_of_moment(name: str) -> Function:
    return lambda args: null() if args[0].kind is Kind.NULL else functions.part_of(name, args[0])


def _like(args: Sequence[Value]) -> Value:
    if len(args) == 3 and not (args[2].kind is Kind.TEXT and args[2].is_constant):
        raise NotExactError("LIKE with an ESCAPE that is not a constant")
    return operators.like(args[0], args[1], *(args[2].data.as_py() for _ in args[2:]))


_ANY = 1 << 30
KERNELS: Mapping[str, tuple[int, int, Function]] = {
    **{name: (2, 2, _comparison(name)) for name in ("=", "<>", "<", "<=", ">", ">=")},
    **{name: (2, 2, _arithmetic(name)) for name in ("+", "-", "*", "/", "div", "mod")},
    **{name: (2, 2, _bitwise(name)) for name in ("&", "|", "^", "<<", ">>")},
    **{
        name: (1, 1, _part_of_moment(name))
        for name in (
            *("year", "month", "dayofmonth", "hour", "minute", "second"),
            *("quarter", "dayofweek", "weekday", "dayofyear"),
        )
    },
    "<=>": (2, 2, lambda args: operators.same(args[0], args[1])),
    "and": (2, 2, lambda args: operators.both(args[0], args[1])),
    "or": (2, 2, lambda args: operators.either(args[0], args[1])),
    "xor": (2, 2, lambda args: operators.one_of_two(args[0], args[1])),
    "not": (1, 1, lambda args: operators.negation(args[0])),
    "isnull": (1, 1, lambda args: operators.is_null(args[0])),
    "istrue": (1, 1, lambda args: operators.is_true(args[0], True)),
    "isfalse": (1, 1, lambda args: operators.is_true(args[0], False)),
    "in": (2, _ANY, lambda args: operators.is_among(args[0], list(args[1:]))),
    "like": (2, 3, _like),
    "regexp": (2, 2, lambda args: operators.regexp(args[0], args[1])),
    "case": (2, _ANY, _case),
    "if": (3, 3, lambda args: operators.chosen(args[0], args[1], args[2])),
    "coalesce": (1, _ANY, operators.coalesce),
    "nullif": (2, 2, lambda args: operators.null_if(args[0], args[1])),
    "negated": (1, 1, lambda args: operators.negated(args[0])),
    "abs": (1, 1, lambda args: operators.absolute(args[0])),
    "ceil": (1, 1, lambda args: operators.rounded_to_integer(args[0], "ceil")),
    "floor": (1, 1, lambda args: operators.rounded_to_integer(args[0], "floor")),
    "length": (1, 1, lambda args: functions.length(args[0], characters=False)),
    "char_length": (1, 1, lambda args: functions.length(args[0], characters=True)),
    "lower": (1, 1, lambda args: functions.letters(args[0], "lower")),
    "upper": (1, 1, lambda args: functions.letters(args[0], "upper")),
    "concat": (1, _ANY, functions.concat),
    "concat_ws": (2, _ANY, lambda args: functions.concat_ws(args[0], args[1:])),
    "left": (2, 2, lambda args: functions.part("left", args)),
    "right": (2, 2, lambda args: functions.part("right", args)),
    "substr": (2, 3, lambda args: functions.part("substr", args)),
    "trim": (1, 3, lambda args: functions.trimmed("trim", args)),
    "ltrim": (1, 1, lambda args: functions.trimmed("ltrim", args)),
    "rtrim": (1, 1, lambda args: functions.trimmed("rtrim", args)),
    "replace": (3, 3, functions.replaced),
    "locate": (2, 2, lambda args: functions.locate(args[0], args[1])),
    "instr": (2, 2, lambda args: functions.locate(args[1], args[0])),
    "date": (1, 1, lambda args: functions.day_of(args[0])),
    "date_format": (2, 2, lambda args: functions.date_format(args[0], args[1])),
    "json_extract": (2, 2, lambda args: functions.extract(args[0], args[1])),
    "json_unquote": (1, 1, lambda args: functions.unquote(args[0])),
}


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
def _parsed(text: str) -> CallTree:
    """Return the tree of an expression. Each process makes its own: a chain of operators is too deep to be pickled."""
    return parse_call_tree(text)


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
