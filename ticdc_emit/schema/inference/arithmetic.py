"""Operators on numbers, and the numeric functions whose type follows their argument's.

Rule source: pingcap/tidb ``pkg/expression/builtin_arithmetic.go``, ``builtin_op.go`` (``unaryMinus``) and
``builtin_math.go``.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.casts import as_eval
from ticdc_emit.schema.inference.collations import BYTES
from ticdc_emit.schema.inference.operands import (
    MAX_DECIMAL,
    MAX_INT_WIDTH,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    UNKNOWN,
    UNSPECIFIED,
    Eval,
    Operand,
    with_length,
)
from ticdc_emit.schema.inference.signatures import Arguments, Function, folded, result_of
from ticdc_emit.schema.nodes.values import negated
from ticdc_emit.schema.types import TEMPORAL_TYPES, ColumnFlag, MySQLType

__all__ = ["abs_", "divide", "floor", "int_divide", "modulo", "plus_like", "round_", "truncate", "unary_minus"]

_DIVISION_SCALE = 4  # div_precision_increment
_INT64 = 1 << 63
_ABS_REAL_WIDTH = 22


def plus_like(*, multiplies: bool = False) -> Function:
    """Return the rule of ``+`` and ``-``, or that of ``*``."""

    def rule(arguments: Arguments) -> Operand:
        evals = [_numeric(argument) for argument in _pair(arguments)]
        total = next((e for e in (Eval.REAL, Eval.DECIMAL) if e in evals), Eval.INT)
        left, right = (as_eval(argument, total) for argument in arguments)
        if total is Eval.INT:
            result = result_of(total, BYTES).flag(ColumnFlag.UNSIGNED, left.is_unsigned or right.is_unsigned)
        else:
            result = _with_digits(total, left, right, multiplies=multiplies)
        not_null = left.is_not_null and right.is_not_null
        return folded(result.flag(ColumnFlag.NOT_NULL, not_null), (left, right))

    return rule


def _pair(arguments: Arguments) -> Arguments:
    if len(arguments) != 2:
        raise DdlError("an operator in it takes two arguments")
    if any(argument.eval is Eval.VECTOR or argument.is_null for argument in arguments):
        raise DdlError("arithmetic with NULL or a vector")
    return arguments


def _numeric(operand: Operand) -> Eval:
    """Return the kind of number of an operand in arithmetic: ``INT``, ``DECIMAL`` or ``REAL``."""
    if operand.type in TEMPORAL_TYPES:
        return Eval.DECIMAL if operand.decimal > 0 else Eval.INT
    if operand.type is MySQLType.BIT or (operand.is_constant and isinstance(operand.value, bytes)):
        return Eval.INT
    is_exact = operand.eval in (Eval.INT, Eval.DECIMAL) and not operand.is_hybrid
    return operand.eval if is_exact else Eval.REAL


def _with_digits(total: Eval, left: Operand, right: Operand, *, multiplies: bool) -> Operand:
    result = result_of(total, BYTES)
    is_real = total is Eval.REAL
    if UNSPECIFIED in (left.decimal, right.decimal):
        flen, decimal = (UNSPECIFIED, UNSPECIFIED) if is_real else (MAX_DECIMAL, MAX_SCALE)
        return replace(result, flen=flen, decimal=decimal)
    decimal = left.decimal + right.decimal if multiplies else max(left.decimal, right.decimal)
    decimal = decimal if is_real else min(decimal, MAX_SCALE)
    if UNSPECIFIED in (left.flen, right.flen):
        return replace(result, flen=UNSPECIFIED, decimal=decimal)
    whole = (left.flen - left.decimal, right.flen - right.decimal)
    flen = sum(whole) + decimal if multiplies else max(whole) + decimal + 1
    return replace(result, flen=min(flen, MAX_REAL_WIDTH if is_real else MAX_DECIMAL), decimal=decimal)


def divide(arguments: Arguments) -> Operand:
    """``/``."""
    if Eval.REAL in [_numeric(argument) for argument in _pair(arguments)]:
        return folded(result_of(Eval.REAL, BYTES), arguments, may_be_null=True)
    left, right = (as_eval(argument, Eval.DECIMAL) for argument in arguments)
    scale = max(left.decimal, 0) + _DIVISION_SCALE
    precision = MAX_DECIMAL
    if left.flen != UNSPECIFIED:
        digits = left.flen - (left.decimal > 0) - (not left.is_unsigned and left.flen - (left.decimal > 0) != 0)
        precision = min(digits + max(right.decimal, 0) + _DIVISION_SCALE, MAX_DECIMAL)
        precision += (scale > 0) + (precision != 0)
    result = result_of(Eval.DECIMAL, BYTES, precision, min(scale, MAX_SCALE))
    return folded(result, (left, right), may_be_null=True)


def int_divide(arguments: Arguments) -> Operand:
    """DIV."""
    _pair(arguments)
    result = result_of(Eval.INT, BYTES).flag(ColumnFlag.UNSIGNED, any(a.is_unsigned for a in arguments))
    return folded(result, arguments, may_be_null=True)


def modulo(arguments: Arguments) -> Operand:
    """``%`` and MOD."""
    left, right = _pair(arguments)
    evals = [_numeric(argument) for argument in arguments]
    total = next((e for e in (Eval.REAL, Eval.DECIMAL) if e in evals), Eval.INT)
    result = result_of(total, BYTES)
    if total is not Eval.INT:
        open_scale = UNSPECIFIED in (left.decimal, right.decimal)
        decimal = UNSPECIFIED if open_scale else max(left.decimal, right.decimal)
        flen = UNSPECIFIED if UNSPECIFIED in (left.flen, right.flen) else max(left.flen, right.flen)
        limit, scale_limit = (MAX_REAL_WIDTH, decimal) if total is Eval.REAL else (MAX_DECIMAL, MAX_SCALE)
        result = replace(result, flen=min(flen, limit), decimal=min(decimal, scale_limit))
    return folded(result.flag(ColumnFlag.UNSIGNED, left.is_unsigned), arguments, may_be_null=True)


def unary_minus(arguments: Arguments) -> Operand:
    """``-x``: an integer literal without a negative counterpart becomes a decimal."""
    (argument,) = arguments
    if argument.is_null:
        raise DdlError("a negated NULL")
    total = argument.eval
    if total is Eval.INT and argument.is_constant and isinstance(argument.value, int) and argument.value > _INT64:
        total, decimal = Eval.DECIMAL, 0
    elif total in (Eval.INT, Eval.REAL):
        decimal = 0 if total is Eval.INT else UNSPECIFIED
    elif total is Eval.DECIMAL or argument.type in TEMPORAL_TYPES:
        total, decimal = Eval.DECIMAL, min(argument.decimal, MAX_SCALE)
    else:
        total, decimal = Eval.REAL, UNSPECIFIED
    result = folded(with_length(result_of(total, BYTES, None, decimal), argument.flen + 1), arguments)
    value = argument.value
    is_number = argument.is_constant and value is not UNKNOWN and not isinstance(value, (str, bytes))
    return replace(result, value=negated(value)) if is_number else result  # type: ignore[arg-type]


def _number(argument: Operand) -> Eval:
    return argument.eval if argument.eval in (Eval.INT, Eval.DECIMAL) else Eval.REAL


def abs_(arguments: Arguments) -> Operand:
    """ABS."""
    (argument,) = arguments
    total = _number(argument)
    result = result_of(total, BYTES, _ABS_REAL_WIDTH)
    if total is not Eval.REAL:
        decimal = min(argument.decimal, MAX_SCALE) if total is Eval.DECIMAL else argument.decimal
        result = replace(with_length(result, argument.flen), decimal=decimal)
    return folded(result.flag(ColumnFlag.UNSIGNED, argument.is_unsigned), arguments)


def floor(arguments: Arguments) -> Operand:
    """FLOOR and CEILING: an integer, except for decimals that an integer may not hold."""
    (argument,) = arguments
    total = _number(argument)
    if total is Eval.REAL:
        return folded(result_of(Eval.REAL, BYTES), arguments)
    is_long = total is Eval.DECIMAL and argument.flen - argument.decimal > MAX_INT_WIDTH - 2
    result = result_of(Eval.DECIMAL, BYTES, argument.flen, 0) if is_long else result_of(Eval.INT, BYTES)
    return folded(result.flag(ColumnFlag.UNSIGNED, argument.is_unsigned), arguments)


def round_(arguments: Arguments) -> Operand:
    """ROUND."""
    argument = arguments[0]
    total = _number(argument)
    result = result_of(total, BYTES)
    if total is Eval.DECIMAL:
        decimal = _rounded_scale(arguments)
        flen = min(argument.flen, MAX_DECIMAL)
        if argument.decimal != UNSPECIFIED:
            flen += max(decimal - argument.decimal, 0)
        else:
            flen = argument.flen + decimal
        result = replace(with_length(result, flen), decimal=decimal)
    return folded(result.flag(ColumnFlag.UNSIGNED, argument.is_unsigned), arguments)


def truncate(arguments: Arguments) -> Operand:
    """TRUNCATE."""
    argument = arguments[0]
    total = _number(argument)
    result = result_of(total, BYTES)
    if total is Eval.DECIMAL:
        decimal = _rounded_scale(arguments)
        result = replace(with_length(result, argument.flen - argument.decimal + decimal), decimal=decimal)
    if argument.is_unsigned:
        raise DdlError("TRUNCATE of an unsigned number")
    return folded(result, arguments)


def _rounded_scale(arguments: Arguments) -> int:
    if len(arguments) == 1:
        return 0
    digits = arguments[1]
    if not digits.is_constant:
        return arguments[0].decimal
    value = digits.known()
    if not isinstance(value, int):
        raise DdlError("ROUND or TRUNCATE to a number of digits that is not an integer literal")
    return max(0, min(value, MAX_SCALE))
