"""The type of a value that comes from one of several operands: IF, IFNULL, COALESCE, NULLIF, CASE, GREATEST, LEAST.

Rule source: pingcap/tidb ``pkg/types/field_type.go`` (``AggFieldType``, ``AggregateEvalType``),
``pkg/types/field_type_merge_rules.go`` and ``pkg/expression/builtin_control.go`` (``InferType4ControlFuncs``).
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.schema.inference.casts import datetime_width
from ticdc_emit.schema.inference.collations import derived
from ticdc_emit.schema.inference.operands import (
    CONNECTION,
    MAX_DECIMAL,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    UNSPECIFIED,
    Eval,
    Operand,
)
from ticdc_emit.schema.inference.signatures import Arguments
from ticdc_emit.schema.types import (
    BINARY_CHARSET,
    BLOB_TYPES,
    INTEGER_BITS,
    INTEGER_TYPES,
    LABEL_TYPES,
    TEMPORAL_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["aggregated_type", "merged_operand"]

_NUMBERS = INTEGER_TYPES | {
    MySQLType.YEAR,
    MySQLType.BIT,
    MySQLType.FLOAT,
    MySQLType.DOUBLE,
    MySQLType.NEWDECIMAL,
}
_VARCHARS = (MySQLType.VARCHAR, MySQLType.VAR_STRING)
_WIDE = frozenset({MySQLType.LONG, MySQLType.LONGLONG})
_NEXT_WIDER = {
    MySQLType.TINY: MySQLType.SHORT,
    MySQLType.SHORT: MySQLType.INT24,
    MySQLType.INT24: MySQLType.LONG,
    MySQLType.LONG: MySQLType.LONGLONG,
    MySQLType.LONGLONG: MySQLType.NEWDECIMAL,
}


def _merged_types(left: MySQLType, right: MySQLType) -> MySQLType:
    """Return the type that holds values of both. It is asymmetric where TiDB's table is."""
    pair = (left, right)
    if left in BLOB_TYPES or right in BLOB_TYPES:
        if MySQLType.JSON in pair or MySQLType.VECTOR_FLOAT32 in pair:
            return MySQLType.LONG_BLOB
        return max((kind for kind in pair if kind in BLOB_TYPES), key=BLOB_TYPES.index)
    if left in _VARCHARS or right in _VARCHARS:
        return MySQLType.VARCHAR
    if MySQLType.STRING in pair:
        return MySQLType.STRING
    if left in TEMPORAL_TYPES and right in TEMPORAL_TYPES:
        return left if left is right else MySQLType.DATETIME
    if left in _NUMBERS and right in _NUMBERS:
        return _merged_numbers(left, right)
    is_itself = left is right and left in (MySQLType.JSON, MySQLType.VECTOR_FLOAT32)
    return left if is_itself else MySQLType.VARCHAR


def _merged_numbers(left: MySQLType, right: MySQLType) -> MySQLType:
    pair = {left, right}
    if left is right:
        return left
    if MySQLType.DOUBLE in pair or pair in ({MySQLType.FLOAT, MySQLType.NEWDECIMAL}, {MySQLType.FLOAT, MySQLType.BIT}):
        return MySQLType.DOUBLE
    if MySQLType.NEWDECIMAL in pair:
        return MySQLType.NEWDECIMAL
    if MySQLType.FLOAT in pair:
        is_first = left is MySQLType.FLOAT and right is MySQLType.LONGLONG  # in one order only
        return MySQLType.DOUBLE if pair & _WIDE and not is_first else MySQLType.FLOAT
    if MySQLType.BIT in pair:
        return MySQLType.LONGLONG
    if MySQLType.YEAR in pair:
        return right if left is MySQLType.YEAR else left
    if (left, right) == (MySQLType.LONGLONG, MySQLType.INT24):
        return MySQLType.LONG
    return max(left, right, key=INTEGER_BITS.__getitem__)


def aggregated_type(operands: Arguments) -> MySQLType:
    """Return the type of a value that is one of the operands; a wider type if signs are mixed."""
    kind, is_unsigned, is_mixed = operands[0].type, operands[0].is_unsigned, False
    for operand in operands[1:]:
        kind = _merged_types(kind, operand.type)
        is_mixed = is_mixed or is_unsigned != operand.is_unsigned
        is_unsigned = is_unsigned and operand.is_unsigned
    if is_mixed and kind in INTEGER_TYPES:
        fills = any(o.is_unsigned and (o.type is kind or o.type is MySQLType.BIT) for o in operands)
        return _NEXT_WIDER[kind] if fills else kind
    return kind


def _aggregated_eval(operands: Arguments) -> tuple[Eval, bool]:
    """Return the common evaluation type of the operands, and whether it is unsigned."""
    total, is_unsigned = operands[0].eval, operands[0].is_unsigned
    for operand in operands[1:]:
        pair = {total, operand.eval}
        if any(each.is_text for each in pair):
            total = Eval.STRING
        elif Eval.REAL in pair:
            total = Eval.REAL
        elif Eval.DECIMAL in pair or is_unsigned != operand.is_unsigned:
            total = Eval.DECIMAL
        else:
            total = Eval.INT
        is_unsigned = is_unsigned and operand.is_unsigned
    return total, is_unsigned


def merged_operand(operands: Arguments, *, by_case: bool = False) -> Operand:
    """Return the type of a value that is one of the operands, including NULL literals; ``by_case``: in a CASE."""
    present = [operand for operand in operands if not operand.is_null]
    if not present:
        return replace(operands[0], flen=0, decimal=0)
    if len(present) == 1:
        result = replace(present[0], is_constant=False, value=None, is_column=False)
    else:
        result = _merged(present, operands, by_case=by_case)
    if len(present) < len(operands):
        result = replace(result.flag(ColumnFlag.NOT_NULL, on=False), maybe_null=False)
    if result.eval is Eval.INT:
        result = replace(result, decimal=0)
    elif result.eval is Eval.STRING:
        kind = MySQLType.VARCHAR if result.type in LABEL_TYPES else result.type
        result = replace(result, decimal=UNSPECIFIED, type=kind, elems=())
    if result.type is MySQLType.DATETIME:
        result = replace(result, flen=datetime_width(result.decimal))
    return result


def _merged(present: Arguments, operands: Arguments, *, by_case: bool) -> Operand:
    kind = aggregated_type(present)
    total, is_unsigned = _aggregated_eval(present)
    decimal = _decimals(total, kind, present)
    charset, collate = _charset(total, operands, by_case=by_case)
    result = Operand(kind, _length(total, decimal, present), decimal, charset, collate)
    if kind is MySQLType.NEWDECIMAL:
        result = replace(result, flen=min(result.flen, MAX_DECIMAL))
    return result.flag(ColumnFlag.UNSIGNED, is_unsigned)


def _decimals(total: Eval, kind: MySQLType, operands: Arguments) -> int:
    if total is Eval.INT:
        return 0
    if any(operand.decimal == UNSPECIFIED for operand in operands):
        return UNSPECIFIED
    most = max(operand.decimal for operand in operands)
    return min(most, MAX_SCALE) if kind is MySQLType.NEWDECIMAL else most


def _length(total: Eval, decimal: int, operands: Arguments) -> int:
    if total in (Eval.DECIMAL, Eval.INT):
        digits = 0
        for operand in operands:
            scale = 0 if operand.decimal == UNSPECIFIED else operand.decimal
            digits = _longer(digits, operand.flen - (not operand.is_unsigned) - scale)
        return digits + decimal + 1
    if total is Eval.STRING and any(operand.flen == UNSPECIFIED for operand in operands):
        return UNSPECIFIED
    length = 0
    for operand in operands:
        length = _longer(operand.flen, length)
    return length


def _longer(left: int, right: int) -> int:
    return MAX_REAL_WIDTH if left < 0 or right < 0 else max(left, right)


def _charset(total: Eval, operands: Arguments, *, by_case: bool) -> tuple[str, str]:
    has_bytes = any(operand.is_binary_string for operand in operands)
    has_text = any(operand.is_string and not operand.is_binary_string for operand in operands)
    is_text = total is Eval.STRING
    if by_case or (has_text and not has_bytes):
        collation = derived(operands, gives_text=is_text)
        return collation.charset, collation.collate
    return (BINARY_CHARSET, BINARY_CHARSET) if has_bytes or not total.is_text else CONNECTION
