"""The type of an expression index's hidden column: expression text and the table in, a nameless :class:`Column` out.

No message shows hidden columns, so this is for ``table_info`` alone. Functions whose result type is not known here give
``UNSPECIFIED`` rather than a guess. Rule source: pingcap/tidb ``pkg/expression`` (``builtin_string.go``,
``builtin_arithmetic.go``, ``builtin_cast.go``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.types import INTEGER_TYPES, STRING_TYPES, ColumnFlag, MySQLType

__all__ = ["infer_column"]

_BIGINT = Column(0, "", MySQLType.LONGLONG, 20, 0)
_UNKNOWN = Column(0, "", MySQLType.UNSPECIFIED, -1, -1)


def infer_column(text: str, state: TableState) -> Column:
    """Return the type of ``text`` as a column; ``DdlError`` if it is no expression or names a column alone."""
    try:
        expression = sqlglot.parse_one(text, dialect="mysql")
    except (SqlglotError, RecursionError) as error:
        raise DdlError(f"expression {text!r} is not understood: {error}") from None
    if isinstance(expression.unnest(), exp.Column):
        raise DdlError("an expression index on a bare column is not allowed; name the column without parentheses")
    return _infer(expression, state) or _UNKNOWN


def _infer(expression: exp.Expr, state: TableState) -> Column | None:
    expression = expression.unnest()
    if isinstance(expression, exp.Column):
        return state.find_column(expression.name)
    if isinstance(expression, exp.Literal):
        if expression.is_string:
            return Column(0, "", MySQLType.VAR_STRING, len(expression.name), -1, "utf8mb4", "utf8mb4_bin")
        return replace(_BIGINT, flags=ColumnFlag.NOT_NULL) if expression.name.isdigit() else None
    for kinds, rule in _RULES:
        if isinstance(expression, kinds):
            return rule(expression, state)
    return None


def _same_text(expression: exp.Expr, state: TableState) -> Column | None:
    """LOWER, UPPER: the argument's length and charset."""
    argument = _infer(expression.this, state)
    if argument is None or argument.type not in STRING_TYPES or argument.is_binary:
        return None
    return Column(0, "", MySQLType.VAR_STRING, argument.flen, -1, argument.charset, argument.collate)


def _concatenated(expression: exp.Expr, state: TableState) -> Column | None:
    arguments = [_infer(argument, state) for argument in expression.expressions]
    first = arguments[0] if arguments else None
    if first is None or any(
        argument is None or argument.type not in STRING_TYPES or argument.collate != first.collate
        for argument in arguments
    ):
        return None
    length = sum(argument.flen for argument in arguments if argument is not None)
    return Column(0, "", MySQLType.VAR_STRING, length, -1, first.charset, first.collate)


def _arithmetic(expression: exp.Expr, state: TableState) -> Column | None:
    left, right = _infer(expression.this, state), _infer(expression.expression, state)
    if left is None or right is None or not {left.type, right.type} <= INTEGER_TYPES:
        return None
    flags = (left.flags & right.flags & ColumnFlag.NOT_NULL) | ((left.flags | right.flags) & ColumnFlag.UNSIGNED)
    return replace(_BIGINT, flags=flags)


_Rule: TypeAlias = Callable[[exp.Expr, TableState], "Column | None"]
_RULES: tuple[tuple[type[exp.Expr] | tuple[type[exp.Expr], ...], _Rule], ...] = (
    ((exp.Lower, exp.Upper), _same_text),
    (exp.Concat, _concatenated),
    ((exp.Add, exp.Sub, exp.Mul), _arithmetic),
)
