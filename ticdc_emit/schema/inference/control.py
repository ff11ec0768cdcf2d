"""IF, IFNULL, NULLIF, COALESCE, CASE, GREATEST, LEAST, ANY_VALUE: arguments in, the result's type out.

Rule source: pingcap/tidb ``pkg/expression/builtin_control.go``, ``builtin_compare.go`` (``coalesce``, ``greatest``,
``least``), ``constant_fold.go`` (``ifFoldHandler``, ``ifNullFoldHandler``, ``caseWhenHandler``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.casts import as_eval
from ticdc_emit.schema.inference.collations import derived
from ticdc_emit.schema.inference.merging import aggregated_type, merged_operand
from ticdc_emit.schema.inference.operands import CONNECTION, UNSPECIFIED, Coercibility, Eval, Operand, with_length
from ticdc_emit.schema.inference.signatures import Arguments, folded, result_of
from ticdc_emit.schema.types import BINARY_CHARSET, TEMPORAL_TYPES, ColumnFlag, MySQLType

__all__ = ["any_value", "case", "coalesce", "extremum", "if_", "ifnull", "nullif"]


def if_(arguments: Arguments) -> Operand:
    """IF(condition, then, else)."""
    condition, then, otherwise = _counted(arguments, 3)
    _check_condition(condition)
    return _finished(merged_operand((then, otherwise)), (then, otherwise))


def ifnull(arguments: Arguments) -> Operand:
    """IFNULL(value, otherwise)."""
    left, right = _counted(arguments, 2)
    _check_condition(left)
    return _first_not_null((left, right))


def coalesce(arguments: Arguments) -> Operand:
    """COALESCE(value, ...)."""
    if not arguments:
        raise DdlError("COALESCE in it has no arguments")
    result = _first_not_null(arguments)
    return folded(result, arguments)


def _first_not_null(arguments: Arguments) -> Operand:
    not_null = any(argument.is_not_null for argument in arguments)
    result = merged_operand(arguments)
    return _finished(result.flag(ColumnFlag.NOT_NULL) if not_null else result, arguments)


def nullif(arguments: Arguments) -> Operand:
    """NULLIF(value, other), which TiDB reads as IF(value = other, NULL, value)."""
    left, right = _counted(arguments, 2)
    if left.is_constant and right.is_constant:
        raise DdlError("NULLIF in it compares constants")
    null = Operand(MySQLType.NULL, 0, 0, coercibility=Coercibility.IGNORABLE, is_constant=True)
    return _finished(merged_operand((null, left)), (null, left))


def case(arguments: Arguments) -> Operand:
    """CASE: conditions and values in turn, and the value of ELSE at the end if there is one."""
    if len(arguments) < 2:
        raise DdlError("CASE in it has no WHEN")
    _check_condition(arguments[0])
    values = [*arguments[1::2], *(arguments[-1:] if len(arguments) % 2 else ())]
    result = merged_operand(values, by_case=True).flag(ColumnFlag.NOT_NULL, on=False)
    result = replace(result, maybe_null=False)
    charset, collate = BINARY_CHARSET, BINARY_CHARSET
    if result.eval is Eval.STRING:
        collation = derived(values)
        charset, collate = collation.charset, collation.collate
    elif result.eval is Eval.JSON:
        charset, collate = CONNECTION
    return _finished(replace(result, charset=charset, collate=collate), values)


def extremum(arguments: Arguments) -> Operand:
    """GREATEST and LEAST."""
    if len(arguments) < 2:
        raise DdlError("GREATEST and LEAST take two arguments or more")
    kinds = {argument.type for argument in arguments}
    if any(argument.is_null for argument in arguments) or kinds & (TEMPORAL_TYPES | {MySQLType.JSON}):
        raise DdlError("GREATEST or LEAST of dates, times, JSON or NULL")
    aggregate = Operand(aggregated_type(arguments), 0, 0)
    result_eval = aggregate.eval
    collation = derived(arguments, gives_text=result_eval is Eval.STRING)
    converted = [as_eval(argument, result_eval) for argument in arguments]
    result = result_of(result_eval, collation)
    decimal = max(0, *(argument.decimal for argument in converted))
    if result_eval is Eval.STRING:
        decimal = max(UNSPECIFIED, decimal)
    result = replace(with_length(result, max(0, *(argument.flen for argument in converted))), decimal=decimal)
    if result_eval is Eval.INT and all(argument.is_unsigned for argument in arguments):
        result = result.flag(ColumnFlag.UNSIGNED)
    return folded(result, arguments)


def any_value(arguments: Arguments) -> Operand:
    """ANY_VALUE(value)."""
    (value,) = _counted(arguments, 1)
    text = value.eval is Eval.STRING
    if text or value.eval in (Eval.DATETIME, Eval.TIMESTAMP, Eval.JSON):
        raise DdlError("ANY_VALUE of text, JSON, dates or times")
    return replace(value, is_constant=False, value=None, is_column=False)


def _counted(arguments: Arguments, count: int) -> Arguments:
    if len(arguments) != count:
        raise DdlError(f"a function in it takes {count} arguments, not {len(arguments)}")
    return arguments


def _check_condition(condition: Operand) -> None:
    if condition.is_constant:
        raise DdlError("a condition in it is constant: TiDB keeps only one branch")


def _finished(result: Operand, sources: Arguments) -> Operand:
    """Give the result the derivation that follows from its sources, and blobs their type."""
    if result.eval is Eval.STRING:
        collation = derived(sources)
        result = replace(result, coercibility=collation.coercibility, is_ascii=collation.is_ascii)
    else:
        result = replace(result, coercibility=Coercibility.NUMERIC, is_ascii=True)
    return with_length(result, result.flen)
