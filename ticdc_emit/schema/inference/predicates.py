"""Comparisons. The type is always a BIGINT of length 1; the rules decide when TiDB folds it or makes it NOT NULL.

Rule source: pingcap/tidb ``pkg/expression/builtin_compare.go`` (``refineArgs``, ``RefineComparedConstant``),
``builtin_like.go``, ``builtin_other.go`` (``in``), ``constant_fold.go`` (``isNullHandler``).
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.collations import BYTES, derived
from ticdc_emit.schema.inference.operands import UNKNOWN, Eval, Operand
from ticdc_emit.schema.inference.signatures import Arguments, folded, result_of
from ticdc_emit.schema.types import INTEGER_TYPES, ColumnFlag, MySQLType, integer_range

__all__ = ["compare", "in_", "is_null", "matches"]

# TiDB's replacement for "x IS NULL" if x is NOT NULL; the constant is not marked NOT NULL
_ZERO = Operand(MySQLType.TINY, 1, 0, flags=ColumnFlag.UNSIGNED, is_constant=True, value=0)


def _truth(*, not_null: bool = False) -> Operand:
    return result_of(Eval.INT, BYTES, 1).flag(ColumnFlag.NOT_NULL, not_null)


def compare(operator: str, arguments: Arguments) -> Operand:
    """``=``, ``<``, ... and ``<=>``, which is never NULL."""
    left, right = arguments
    if left.eval is Eval.STRING and right.eval is Eval.STRING:
        derived(arguments, gives_text=False)
    for value, constant in ((left, right), (right, left)):
        _check_range(value, constant)
        if value.eval is Eval.INT and constant.is_constant and not value.is_constant and _is_never(operator, constant):
            return replace(_truth(not_null=True), is_constant=True, value=0)
    return folded(_truth(not_null=operator == "<=>"), arguments)


def _is_never(operator: str, constant: Operand) -> bool:
    """Return whether an integer never equals the constant."""
    if operator not in ("=", "<=>") or constant.eval in (Eval.INT, Eval.DATETIME, Eval.TIMESTAMP, Eval.DURATION):
        return False
    if constant.is_null or isinstance(constant.value, bytes):
        return False
    value = constant.known()
    if isinstance(value, str):
        if value.strip().lstrip("+-").isdigit():
            return False
        raise DdlError("an integer compared with text that is not an integer")
    number = Decimal(str(value))
    return number != number.to_integral_value()


def _check_range(value: Operand, constant: Operand) -> None:
    """Refuse a constant beyond the integers of a column: TiDB folds some of these comparisons."""
    is_open = value.is_constant or not constant.is_constant or constant.eval not in (Eval.REAL, Eval.DECIMAL)
    if is_open or value.type not in INTEGER_TYPES:
        return
    if constant.value is UNKNOWN:
        raise DdlError("an integer compared with a constant that only TiDB computes")
    low, high = integer_range(value.type, unsigned=value.is_unsigned)
    if not low <= Decimal(str(constant.value)) <= high:
        raise DdlError("an integer compared with a constant beyond its range")


def in_(arguments: Arguments) -> Operand:
    """IN: with one value, TiDB uses a comparison."""
    if len(arguments) == 2:
        return compare("=", arguments)
    if arguments[0].eval is Eval.STRING:
        derived(arguments, gives_text=False)
    return folded(_truth(), arguments)


def matches(arguments: Arguments) -> Operand:
    """LIKE and REGEXP."""
    derived(arguments[:2], gives_text=False)
    return folded(_truth(), arguments)


def is_null(arguments: Arguments) -> Operand:
    """IS NULL."""
    (argument,) = arguments
    if argument.is_constant:
        return replace(_truth(not_null=True), is_constant=True, value=UNKNOWN)
    return _ZERO if argument.is_not_null else _truth(not_null=True)
