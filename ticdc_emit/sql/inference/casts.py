"""CAST and the conversions that TiDB wraps around arguments (pingcap/tidb: ``pkg/expression/builtin_cast.go``)."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, InvalidOperation

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.inference.operands import (
    CONNECTION,
    MAX_DECIMAL,
    MAX_INT_WIDTH,
    MAX_LONG_BLOB_WIDTH,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    UNKNOWN,
    UNSPECIFIED,
    Coercibility,
    Eval,
    Operand,
)
from ticdc_emit.sql.types import BINARY_CHARSET, ColumnFlag, MySQLType

_DATE_WIDTH, _DATETIME_WIDTH, _DURATION_WIDTH = 10, 19, 10
_KEPT_FLAGS = ColumnFlag.UNSIGNED | ColumnFlag.NOT_NULL
_CAST_JSON_WIDTH = 12582912
# type -> (digits that hold every value, characters of a signed value, of an unsigned one)
_INTEGER_WIDTHS = {
    MySQLType.TINY: (3, 4, 3),
    MySQLType.SHORT: (5, 6, 5),
    MySQLType.INT24: (8, 9, 8),
    MySQLType.LONG: (10, 11, 10),
    MySQLType.LONGLONG: (20, 20, 20),
    MySQLType.YEAR: (4, 4, 4),
}
_BLOB_WIDTHS = {
    MySQLType.TINY_BLOB: 255,
    MySQLType.BLOB: 65535 * 4,
    MySQLType.MEDIUM_BLOB: 16777215 * 4,
    MySQLType.LONG_BLOB: MAX_LONG_BLOB_WIDTH,
}


def datetime_width(fsp: int) -> int:
    return _DATETIME_WIDTH + (1 + fsp if fsp > 0 else 0)


def duration_width(fsp: int) -> int:
    return _DURATION_WIDTH + (1 + fsp if fsp > 0 else 0)


def as_eval(operand: Operand, wanted: Eval) -> Operand:
    """Return an argument in the type that a function takes; unchanged if it already has it."""
    match wanted:
        case Eval.INT:
            is_int = operand.eval is Eval.INT or operand.type is MySQLType.ENUM
            return operand if is_int else _number(operand, MySQLType.LONGLONG, operand.flen, 0)
        case Eval.REAL:
            return operand if operand.eval is Eval.REAL else _number(operand, MySQLType.DOUBLE, MAX_REAL_WIDTH, -1)
        case Eval.DECIMAL:
            return _as_decimal(operand)
        case Eval.STRING:
            return _as_string(operand)
        case Eval.JSON:
            return operand if operand.eval is Eval.JSON else _as_json(operand)
    raise DdlError(f"it converts to {wanted.value}")


def _number(operand: Operand, kind: MySQLType, flen: int, decimal: int) -> Operand:
    return Operand(
        kind,
        flen,
        decimal,
        flags=operand.flags & _KEPT_FLAGS,
        coercibility=operand.coercibility,
        is_constant=operand.is_constant,
        value=operand.value,
        maybe_null=operand.maybe_null,
    )


def _as_decimal(operand: Operand) -> Operand:
    if operand.eval is Eval.DECIMAL:
        return operand
    flen, decimal = operand.flen, min(operand.decimal, MAX_SCALE)
    if operand.is_constant:
        flen, decimal = decimal_digits(operand)
    elif operand.eval is Eval.INT:
        flen, decimal = _INTEGER_WIDTHS.get(operand.type, (MAX_INT_WIDTH,))[0], 0
    elif flen == UNSPECIFIED:
        flen = MAX_DECIMAL
    return _number(operand, MySQLType.NEWDECIMAL, min(flen, MAX_DECIMAL), min(decimal, MAX_SCALE))


def decimal_digits(operand: Operand) -> tuple[int, int]:
    """Return (precision, scale) of a constant's value as a decimal."""
    value = operand.known()
    try:
        number = Decimal(int.from_bytes(value, "big") if isinstance(value, bytes) else str(value).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise DdlError(f"the constant {value!r} in it is not a number")
    _, digits, exponent = number.as_tuple()
    scale = max(0, -int(exponent))
    whole = len(digits) + int(exponent) if any(digits) else 0
    return max(max(whole, 0) + scale, 1), scale


def _as_string(operand: Operand) -> Operand:
    if operand.eval is Eval.STRING:
        return operand
    flen, (charset, collate) = operand.flen, CONNECTION
    if operand.type is MySQLType.BIT:
        flen, charset, collate = (operand.flen + 7) // 8, BINARY_CHARSET, BINARY_CHARSET
    elif operand.eval is Eval.INT:
        flen = MAX_INT_WIDTH
    elif operand.eval is Eval.REAL:
        flen = UNSPECIFIED
    elif operand.eval is Eval.DECIMAL and flen != UNSPECIFIED:
        flen += 3
    if operand.coercibility is Coercibility.EXPLICIT:
        charset, collate = operand.charset, operand.collate
    text = Operand(MySQLType.VAR_STRING, flen, UNSPECIFIED, charset, collate, coercibility=operand.coercibility)
    text = replace(text, is_constant=operand.is_constant, value=operand.value, maybe_null=operand.maybe_null)
    if operand.is_constant and not operand.maybe_null:
        text = text.flag(ColumnFlag.NOT_NULL, operand.is_not_null)
    return _with_text_length(text, operand)


def _with_text_length(text: Operand, source: Operand) -> Operand:
    if text.flen != UNSPECIFIED or text.type is MySQLType.STRING or source.is_null or source.is_hybrid:
        return text
    flen, kind = UNSPECIFIED, text.type
    match source.eval:
        case Eval.INT:
            _, signed, unsigned = _INTEGER_WIDTHS[source.type]
            flen = unsigned if source.is_unsigned else signed
        case Eval.REAL:
            flen = 87 if source.type is MySQLType.FLOAT else 370  # all digits of the smallest value
        case Eval.DECIMAL if UNSPECIFIED not in (source.flen, source.decimal):
            sign = not source.is_unsigned and source.flen > 0
            flen = max(source.flen + (source.decimal > 0) + sign, 1)
        case Eval.DATETIME | Eval.TIMESTAMP:
            flen = _DATE_WIDTH if source.type is MySQLType.DATE else datetime_width(source.decimal)
        case Eval.DURATION:
            flen = duration_width(source.decimal)
        case Eval.JSON:
            flen, kind = MAX_LONG_BLOB_WIDTH, MySQLType.LONG_BLOB
        case Eval.STRING:
            flen = _BLOB_WIDTHS.get(source.type, source.flen if source.flen > 0 else UNSPECIFIED)
    return replace(text, type=kind, flen=flen)


def _as_json(operand: Operand) -> Operand:
    return Operand(MySQLType.JSON, _CAST_JSON_WIDTH, UNSPECIFIED, *CONNECTION, coercibility=operand.coercibility)


def cast(operand: Operand, target: Operand) -> Operand:
    if target.is_array and operand.eval is not Eval.JSON:
        raise DdlError("CAST ... AS ... ARRAY takes JSON")
    if target.eval is Eval.STRING and operand.type is MySQLType.BIT:
        result = replace(target, flen=(operand.flen + 7) // 8)
    elif target.eval is Eval.STRING:
        result = _with_text_length(target, operand)
    else:
        result = target
    is_text = result.eval is Eval.STRING
    result = replace(result, coercibility=Coercibility.IMPLICIT if is_text else Coercibility.NUMERIC)
    if not operand.is_constant or result.eval is Eval.JSON:
        return result
    always = result.eval in (Eval.STRING, Eval.INT, Eval.REAL) and not operand.is_null
    folded = replace(result, is_constant=True, value=UNKNOWN, maybe_null=not always)
    return folded.flag(ColumnFlag.NOT_NULL) if always else folded
