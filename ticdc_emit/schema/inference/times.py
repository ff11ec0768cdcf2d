"""Functions that give dates and times: their type and fractional digits. Arguments in, the result's type out.

Rule source: pingcap/tidb ``pkg/expression/builtin_time.go`` (``getFunction`` of each class, ``getExpressionFsp``) and
``pkg/types/time.go`` (``IsClockUnit``, ``IsDateUnit``, ``GetFormatType``).
"""

from __future__ import annotations

import re
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.casts import as_eval, datetime_width, decimal_digits, duration_width
from ticdc_emit.schema.inference.collations import BYTES, TEXT
from ticdc_emit.schema.inference.operands import MAX_FSP, UNSPECIFIED, Eval, Operand
from ticdc_emit.schema.inference.signatures import Arguments, folded, result_of
from ticdc_emit.schema.types import MOMENT_TYPES, MySQLType

__all__ = [
    "CLOCK_UNITS",
    "DATE_UNITS",
    "add_time",
    "convert_tz",
    "date_add",
    "from_unixtime",
    "make_time",
    "sec_to_time",
    "str_to_date",
    "time",
    "time_diff",
    "timestamp",
    "timestamp_add",
]

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
_FULL_DATETIME_WIDTH, _NO_FSP_WIDTH, _FSP_WIDTH = 29, 19, 26
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


def timestamp_add(arguments: Arguments) -> Operand:
    """TIMESTAMPADD(unit, amount, date), which is text."""
    flen = _FSP_WIDTH if str(arguments[0].known()) == "MICROSECOND" else _NO_FSP_WIDTH
    return folded(result_of(Eval.STRING, TEXT, flen), arguments[1:], may_be_null=True)


def timestamp(arguments: Arguments) -> Operand:
    """TIMESTAMP(date) and TIMESTAMP(date, time)."""
    return folded(_datetime(max(_fsp(argument) for argument in arguments)), arguments, may_be_null=True)


def time(arguments: Arguments) -> Operand:
    """TIME(value)."""
    return folded(_duration(_fsp(arguments[0])), arguments, may_be_null=True)


def time_diff(arguments: Arguments) -> Operand:
    """TIMEDIFF."""
    return folded(_duration(max(_fsp(argument) for argument in arguments)), arguments, may_be_null=True)


def sec_to_time(arguments: Arguments) -> Operand:
    """SEC_TO_TIME."""
    return folded(_duration(_scale(arguments[0])), arguments, may_be_null=True)


def make_time(arguments: Arguments) -> Operand:
    """MAKETIME: the digits are the seconds'."""
    return folded(_duration(_scale(arguments[2])), arguments, may_be_null=True)


def _scale(operand: Operand) -> int:
    open_scale = operand.eval is Eval.STRING or operand.decimal == UNSPECIFIED
    return MAX_FSP if open_scale else min(operand.decimal, MAX_FSP)


def from_unixtime(arguments: Arguments) -> Operand:
    """FROM_UNIXTIME(seconds), or text with a format."""
    if len(arguments) == 2:
        return folded(result_of(Eval.STRING, TEXT), arguments, may_be_null=True)
    seconds = arguments[0]
    fsp = MAX_FSP
    if seconds.eval is not Eval.STRING:
        scale = decimal_digits(seconds)[1] if seconds.is_constant else as_eval(seconds, Eval.DECIMAL).decimal
        fsp = MAX_FSP if scale == UNSPECIFIED else min(scale, MAX_FSP)
    return folded(_datetime(fsp), arguments, may_be_null=True)


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


def convert_tz(arguments: Arguments) -> Operand:
    """CONVERT_TZ."""
    return folded(_datetime(_fsp(arguments[0]) if arguments[0].is_constant else MAX_FSP), arguments, may_be_null=True)
