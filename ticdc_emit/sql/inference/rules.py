"""The types of results: a function's :class:`Signature`, and a rule for each operator.

The steps are TiDB's (``pkg/expression/builtin.go``: ``newBaseBuiltinFuncWithTp``, ``constant_fold.go``): derive the
collation, convert the arguments, make the default type, set its length, fold constants. Rule source of the operators:
``builtin_arithmetic.go``, ``builtin_op.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.inference.casts import as_eval
from ticdc_emit.sql.inference.operands import (
    BYTES,
    CONNECTION,
    MAX_BLOB_WIDTH,
    MAX_DECIMAL,
    MAX_INT_WIDTH,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    TEXT,
    UNKNOWN,
    UNSPECIFIED,
    Collation,
    Eval,
    Operand,
    text_collation,
    with_length,
)
from ticdc_emit.sql.nodes.expressions import negated
from ticdc_emit.sql.types import LABEL_TYPES, TEMPORAL_TYPES, ColumnFlag, MySQLType

Arguments: TypeAlias = "Sequence[Operand]"
Rule: TypeAlias = Callable[[Arguments], Operand]

_LETTERS = {"i": Eval.INT, "s": Eval.STRING, "j": Eval.JSON}
# result -> (type, length, decimals) unless a row differs
_DEFAULTS = {
    Eval.INT: (MySQLType.LONGLONG, MAX_INT_WIDTH, 0),
    Eval.REAL: (MySQLType.DOUBLE, MAX_REAL_WIDTH, UNSPECIFIED),
    Eval.DECIMAL: (MySQLType.NEWDECIMAL, 11, 0),
    Eval.STRING: (MySQLType.VAR_STRING, UNSPECIFIED, UNSPECIFIED),
    Eval.JSON: (MySQLType.JSON, MAX_BLOB_WIDTH, 0),
}


@dataclass(frozen=True)
class Signature:
    """``takes``: a letter for each argument (``.``: unchanged), optional in brackets; ``*`` repeats the last one."""

    result: Eval
    takes: str
    flen: int | Callable[[Arguments], int] | None = None
    as_first: bool = False  # its text has the collation of the first argument
    is_unsigned: bool = False

    def __call__(self, arguments: Arguments) -> Operand:
        letters = self._letters(len(arguments))
        collation = TEXT if self.result is Eval.STRING else BYTES
        if self.as_first:
            collation = text_collation(arguments[0])
        converted = [
            argument if letter == "." else as_eval(argument, _LETTERS[letter])
            for argument, letter in zip(arguments, letters, strict=True)
        ]
        flen = self.flen(converted) if callable(self.flen) else self.flen
        result = result_of(self.result, collation, flen)
        return folded(result.flag(ColumnFlag.UNSIGNED, self.is_unsigned), converted)

    def _letters(self, count: int) -> str:
        required, _, optional = self.takes.rstrip("]*").partition("[")
        letters = required + optional
        if self.takes.endswith("*"):
            letters = letters.ljust(count, letters[-1])
        if not len(required) <= count <= len(letters):
            raise DdlError(f"a function in it does not take {count} arguments")
        return letters[:count]


def result_of(result: Eval, collation: Collation, flen: int | None = None, decimal: int | None = None) -> Operand:
    kind, default_flen, default_decimal = _DEFAULTS[result]
    charset, collate = BYTES.charset, BYTES.collate
    if result is Eval.STRING:
        charset, collate = collation.charset, collation.collate
    elif result is Eval.JSON:
        charset, collate = CONNECTION
    operand = Operand(
        kind,
        default_flen,
        default_decimal if decimal is None else decimal,
        charset,
        collate,
        coercibility=collation.coercibility,
    )
    return with_length(operand, default_flen if flen is None else flen)


def folded(result: Operand, arguments: Arguments, *, may_be_null: bool = False) -> Operand:
    """Return the result as a constant if all arguments are: TiDB computes it and knows whether it is NULL."""
    if not arguments or not all(argument.is_constant for argument in arguments) or result.eval is Eval.JSON:
        return result
    constant = replace(result, is_constant=True, value=UNKNOWN)
    if may_be_null or not all(_has_value(argument) for argument in arguments):
        return replace(constant, maybe_null=True)
    return constant.flag(ColumnFlag.NOT_NULL)


def _has_value(constant: Operand) -> bool:
    if constant.value is UNKNOWN:
        return not constant.maybe_null and constant.is_not_null
    return constant.value is not None


# -- operators ---------------------------------------------------------------------------------------------------------

_DIVISION_SCALE = 4  # div_precision_increment
_INT64 = 1 << 63


def plus_like(*, multiplies: bool = False) -> Rule:
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
    _pair(arguments)
    result = result_of(Eval.INT, BYTES).flag(ColumnFlag.UNSIGNED, any(a.is_unsigned for a in arguments))
    return folded(result, arguments, may_be_null=True)


def modulo(arguments: Arguments) -> Operand:
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


# TiDB's replacement for "x IS NULL" if x is NOT NULL; the constant is not marked NOT NULL
_ZERO = Operand(MySQLType.TINY, 1, 0, flags=ColumnFlag.UNSIGNED, is_constant=True, value=0)


def _truth(*, not_null: bool = False) -> Operand:
    return result_of(Eval.INT, BYTES, 1).flag(ColumnFlag.NOT_NULL, not_null)


_FOLDED = (Eval.REAL, Eval.DECIMAL, Eval.STRING)


def compare(operator: str, arguments: Arguments) -> Operand:
    left, right = arguments
    for value, constant in ((left, right), (right, left)):
        is_alike = constant.is_null or isinstance(constant.value, bytes) or constant.eval not in _FOLDED
        if value.eval is Eval.INT and constant.is_constant and not (value.is_constant or is_alike):
            raise DdlError("an integer compared with a constant of another type, for which TiDB may know the result")
    return folded(_truth(not_null=operator == "<=>"), arguments)


and_ = Signature(Eval.INT, "..", 1)


def in_(arguments: Arguments) -> Operand:
    """IN: with one value, TiDB uses a comparison."""
    if len(arguments) == 2:
        return compare("=", arguments)
    return folded(_truth(), arguments)


def between(arguments: Arguments) -> Operand:
    value, low, high = arguments
    return and_((compare(">=", (value, low)), compare("<=", (value, high))))


def is_null(arguments: Arguments) -> Operand:
    if len(arguments) != 1:
        raise DdlError(f"a function in it does not take {len(arguments)} arguments")
    (argument,) = arguments
    if argument.is_constant:
        return replace(_truth(not_null=True), is_constant=True, value=UNKNOWN)
    return _ZERO if argument.is_not_null else _truth(not_null=True)


def case(arguments: Arguments) -> Operand:
    """CASE with one value, which is NULL otherwise, as partial unique keys have it; TiDB merges the types of more."""
    conditions, values = arguments[:-1:2], [*arguments[1::2], *(arguments[-1:] if len(arguments) % 2 else ())]
    if any(condition.is_constant for condition in conditions):
        raise DdlError("a condition in it is constant: TiDB keeps only one branch")
    present = [value for value in values if not value.is_null]
    if len(present) != 1:
        raise DdlError("CASE in it has more than one value, or none")
    result = replace(present[0], is_constant=False, value=None, is_column=False, maybe_null=False, elems=())
    result = result.flag(ColumnFlag.NOT_NULL, on=False)
    if result.eval is Eval.STRING:
        collation = text_collation(result)
        kind = MySQLType.VARCHAR if result.type in LABEL_TYPES else result.type
        text = replace(result, type=kind, decimal=UNSPECIFIED, charset=collation.charset, collate=collation.collate)
        return with_length(text, result.flen)
    return replace(result, decimal=0) if result.eval is Eval.INT else result


def length_of(times: int = 1, plus: int = 0) -> Callable[[Arguments], int]:
    """Return the rule "as long as the first argument", times and plus a constant."""

    def rule(arguments: Arguments) -> int:
        flen = arguments[0].flen
        if flen == UNSPECIFIED:
            if (times, plus) == (1, 0):
                return UNSPECIFIED
            raise DdlError("the length of an argument in it is open")
        return flen * times + plus

    return rule
