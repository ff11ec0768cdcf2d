"""Operators on numbers, and the numeric functions whose type follows their argument's.

Rule source: pingcap/tidb ``pkg/expression/builtin_arithmetic.go``, ``builtin_op.go`` (``unaryMinus``) and
``builtin_math.go``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.inference.casts import as_eval, datetime_width, duration_width
from ticdc_emit.sql.inference.operands import (
    ASCII_TEXT,
    BYTES,
    MAX_BLOB_WIDTH,
    MAX_DECIMAL,
    MAX_FSP,
    MAX_INT_WIDTH,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    TEXT,
    UNKNOWN,
    UNSPECIFIED,
    Collation,
    Eval,
    Operand,
    derived,
    with_length,
)
from ticdc_emit.sql.inference.results import Arguments, Rule, Signature, case, folded, result_of
from ticdc_emit.sql.nodes.expressions import negated
from ticdc_emit.sql.types import (
    INTEGER_TYPES,
    MOMENT_TYPES,
    TEMPORAL_TYPES,
    ColumnFlag,
    MySQLType,
    integer_range,
)

_DIVISION_SCALE = 4  # div_precision_increment
_INT64 = 1 << 63
_ABS_REAL_WIDTH = 22


def plus_like(*, multiplies: bool = False) -> Rule:
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


and_ = Signature(Eval.INT, "..", 1)


def in_(arguments: Arguments) -> Operand:
    """IN: with one value, TiDB uses a comparison."""
    if len(arguments) == 2:
        return compare("=", arguments)
    if arguments[0].eval is Eval.STRING:
        derived(arguments, gives_text=False)
    return folded(_truth(), arguments)


def between(arguments: Arguments) -> Operand:
    """BETWEEN, which is two comparisons to TiDB."""
    value, low, high = arguments
    return and_((compare(">=", (value, low)), compare("<=", (value, high))))


def matches(arguments: Arguments) -> Operand:
    """LIKE and REGEXP."""
    derived(arguments[:2], gives_text=False)
    return folded(_truth(), arguments)


def case_of(arguments: Arguments) -> Operand:
    """CASE with an operand, which is a CASE by comparisons to TiDB."""
    subject, *values = arguments
    conditions = range(0, len(values) - 1, 2)
    return case([compare("=", (subject, each)) if at in conditions else each for at, each in enumerate(values)])


def is_null(arguments: Arguments) -> Operand:
    """IS NULL."""
    (argument,) = arguments
    if argument.is_constant:
        return replace(_truth(not_null=True), is_constant=True, value=UNKNOWN)
    return _ZERO if argument.is_not_null else _truth(not_null=True)


_UTF8_BYTES = 4


def of_arguments(*positions: int, since: int | None = None) -> Callable[[Arguments], Collation]:
    """Return the rule "the collation of these arguments": all of them, those at ``positions``, or all ``since`` one."""

    def rule(arguments: Arguments) -> Collation:
        chosen = [arguments[position] for position in positions if position < len(arguments)]
        return derived(chosen or list(arguments[since or 0 :]))

    return rule


def length_of(times: int = 1, plus: int = 0) -> Callable[[Arguments], int]:
    """Return the rule "as long as the first argument", times and plus a constant."""

    def rule(arguments: Arguments) -> int:
        flen = arguments[0].flen
        if flen == UNSPECIFIED:
            return UNSPECIFIED if (times, plus) == (1, 0) else _unknown_length()
        return flen * times + plus

    return rule


def _unknown_length() -> int:
    raise DdlError("the length of an argument in it is open")


def concat(arguments: Arguments, *, separated: bool = False) -> Operand:
    """CONCAT, and CONCAT_WS where the first argument separates the others."""
    collation = derived(arguments)
    converted = [as_eval(argument, Eval.STRING) for argument in arguments]
    flen = 0
    for argument in converted[separated:]:
        flen = MAX_BLOB_WIDTH if UNSPECIFIED in (argument.flen, flen) else flen + argument.flen
    if separated:
        separator = converted[0].flen
        flen = MAX_BLOB_WIDTH if separator == UNSPECIFIED else flen + separator * (len(arguments) - 2)
    return folded(result_of(Eval.STRING, collation, min(flen, MAX_BLOB_WIDTH)), converted)


def replaced_length(arguments: Arguments) -> int:
    """REPLACE: every character may be a match."""
    text, old, new = (argument.flen for argument in arguments)
    if UNSPECIFIED in (text, old, new):
        return _unknown_length()
    return text + (text // old) * (new - old) if new > old > 0 else text


def padded_length(arguments: Arguments) -> int:
    """LPAD and RPAD: the number of characters in the literal, else a blob."""
    text, length, pad = arguments
    width = MAX_BLOB_WIDTH
    if length.is_constant:
        value = length.known()
        if not isinstance(value, int):
            raise DdlError("LPAD or RPAD to a length that is not an integer literal")
        width = min(value, MAX_BLOB_WIDTH)
    if text.is_binary_string or pad.is_binary_string:
        return width
    return min(width * _UTF8_BYTES, MAX_BLOB_WIDTH)


def hex_(arguments: Arguments) -> Operand:
    """HEX: the digits of a number, or two for each byte of text."""
    if arguments[0].eval in (Eval.INT, Eval.REAL, Eval.DECIMAL):
        flen = arguments[0].flen * 2
        return Signature(Eval.STRING, "i", flen, collation=ASCII_TEXT)(arguments)
    return Signature(Eval.STRING, "s", length_of(times=2 * _UTF8_BYTES), collation=ASCII_TEXT)(arguments)


def unhex(arguments: Arguments) -> Operand:
    """UNHEX: a byte for two digits."""
    argument = arguments[0]
    if argument.flen == UNSPECIFIED:
        _unknown_length()
    is_number = argument.eval in (Eval.INT, Eval.REAL, Eval.DECIMAL)
    flen = (argument.flen * (1 if is_number else _UTF8_BYTES) + 1) // 2
    return Signature(Eval.STRING, "s", flen, is_binary=True, may_be_null=True)(arguments)


_DAYS_TO_CLOCK = frozenset({"DAY_MICROSECOND", "DAY_SECOND", "DAY_MINUTE", "DAY_HOUR"})
CLOCK_UNITS = _DAYS_TO_CLOCK | {
    "MICROSECOND",
    "SECOND",
    "MINUTE",
    "HOUR",
    "SECOND_MICROSECOND",
    "MINUTE_MICROSECOND",
    "HOUR_MICROSECOND",
    "MINUTE_SECOND",
    "HOUR_SECOND",
    "HOUR_MINUTE",
}
DATE_UNITS = _DAYS_TO_CLOCK | {"DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "YEAR_MONTH"}
_FULL_DATETIME_WIDTH, _FSP_WIDTH = 29, 26
_FORMAT_CODE = re.compile(r"%(.)", re.DOTALL)
_CLOCK_CODES, _DATE_CODES = frozenset("hHiIsSklfrT"), frozenset("yYmMcbDde")


def _datetime(fsp: int) -> Operand:
    return result_of(Eval.DATETIME, BYTES, datetime_width(fsp), fsp)


def _duration(fsp: int) -> Operand:
    return result_of(Eval.DURATION, BYTES, duration_width(fsp), fsp)


def _fsp(operand: Operand) -> int:
    """Return the fractional digits of a value that is read as a date and time."""
    if not operand.is_constant:
        return min(as_eval(operand, Eval.DATETIME).decimal, MAX_FSP)
    text = str(operand.known())
    return min(len(text.rpartition(".")[2]), MAX_FSP) if "." in text else 0


def date_add(arguments: Arguments) -> Operand:
    """DATE_ADD and its kin; the last argument is the unit."""
    date, amount, unit_operand = arguments
    unit = str(unit_operand.known())
    if date.eval is Eval.JSON or amount.eval is Eval.JSON:
        raise DdlError("date arithmetic with JSON")
    has_day = unit in DATE_UNITS and unit != "DAY_MICROSECOND"
    if date.eval not in (Eval.DATETIME, Eval.TIMESTAMP, Eval.DURATION):
        result = result_of(Eval.STRING, TEXT, _FULL_DATETIME_WIDTH, 0)
    elif date.type is MySQLType.DATE and unit not in CLOCK_UNITS:
        result = replace(_datetime(0), type=MySQLType.DATE, flen=10)
    elif date.type is MySQLType.DURATION and not has_day:
        result = _duration(_sum_fsp(date, amount, unit))
    else:
        result = _datetime(_sum_fsp(date, amount, unit))
    return folded(result, (date, amount), may_be_null=True)


def _sum_fsp(date: Operand, amount: Operand, unit: str) -> int:
    if unit.endswith("MICROSECOND"):
        return MAX_FSP
    fsp = 0
    if unit == "SECOND":
        if amount.eval in (Eval.STRING, Eval.REAL):
            fsp = MAX_FSP
        elif amount.eval is Eval.DECIMAL:
            fsp = min(amount.decimal, MAX_FSP)
    return min(max(date.decimal, fsp), MAX_FSP)


def add_time(arguments: Arguments) -> Operand:
    """ADDTIME and SUBTIME."""
    first, _ = arguments
    fsp = max(_fsp(argument) for argument in arguments)
    if first.type in MOMENT_TYPES:
        result = _datetime(fsp)
    elif first.type is MySQLType.DURATION:
        result = _duration(fsp)
    else:
        result = replace(result_of(Eval.STRING, TEXT, _FSP_WIDTH), type=MySQLType.STRING)
    return folded(result, arguments, may_be_null=True)


def str_to_date(arguments: Arguments) -> Operand:
    """STR_TO_DATE: a literal format decides whether it is a date, a time or both."""
    text, pattern = arguments
    if not pattern.is_constant:
        return _datetime(MAX_FSP)
    codes = set(_FORMAT_CODE.findall(str(pattern.known())))
    fsp = MAX_FSP if "f" in codes else 0
    if codes & _CLOCK_CODES and not codes & _DATE_CODES:
        result = _duration(fsp)
    elif codes & _DATE_CODES and not codes & _CLOCK_CODES:
        result = replace(_datetime(0), type=MySQLType.DATE, flen=10)
    else:
        result = _datetime(fsp)
    return folded(result, (text, pattern), may_be_null=True)
