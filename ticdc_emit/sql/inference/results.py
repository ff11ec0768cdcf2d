"""A row of the function table: the arguments of a function and the type of its result.

The steps are TiDB's (``pkg/expression/builtin.go``: ``newBaseBuiltinFuncWithTp``, ``pkg/expression/constant_fold.go``):
derive the collation, convert the arguments, make the default type of the result, set its length, fold constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.inference.casts import as_eval, datetime_width
from ticdc_emit.sql.inference.operands import (
    BYTES,
    CONNECTION,
    MAX_BLOB_WIDTH,
    MAX_DECIMAL,
    MAX_FSP,
    MAX_INT_WIDTH,
    MAX_REAL_WIDTH,
    MAX_SCALE,
    TEXT,
    UNKNOWN,
    UNSPECIFIED,
    Coercibility,
    Collation,
    Eval,
    Operand,
    derived,
    with_length,
)
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    BLOB_TYPES,
    INTEGER_BITS,
    INTEGER_TYPES,
    LABEL_TYPES,
    NUMBER_TYPES,
    TEMPORAL_TYPES,
    ColumnFlag,
    MySQLType,
)

Arguments: TypeAlias = "Sequence[Operand]"
Rule: TypeAlias = Callable[[Arguments], Operand]

_LETTERS = {
    "i": Eval.INT,
    "r": Eval.REAL,
    "d": Eval.DECIMAL,
    "s": Eval.STRING,
    "t": Eval.DATETIME,
    "u": Eval.DURATION,
    "j": Eval.JSON,
}
# result -> (type, length, decimals) unless a row differs
_DEFAULTS = {
    Eval.INT: (MySQLType.LONGLONG, MAX_INT_WIDTH, 0),
    Eval.REAL: (MySQLType.DOUBLE, MAX_REAL_WIDTH, UNSPECIFIED),
    Eval.DECIMAL: (MySQLType.NEWDECIMAL, 11, 0),
    Eval.STRING: (MySQLType.VAR_STRING, UNSPECIFIED, UNSPECIFIED),
    Eval.DATETIME: (MySQLType.DATETIME, 26, MAX_FSP),
    Eval.DURATION: (MySQLType.DURATION, 17, MAX_FSP),
    Eval.JSON: (MySQLType.JSON, MAX_BLOB_WIDTH, 0),
}


@dataclass(frozen=True)
class Signature:
    """``takes``: a letter per argument (int, real, decimal, string, t datetime, u time, json, ``.`` unchanged).

    Letters in brackets are optional; ``*`` repeats the last one. ``flen`` and ``decimal`` are numbers, or rules over
    the converted arguments. ``collation`` is a rule over the arguments as written.
    """

    result: Eval
    takes: str
    flen: int | Callable[[Arguments], int] | None = None
    decimal: int | None = None
    collation: Collation | Callable[[Arguments], Collation] | None = None
    type: MySQLType | None = None
    is_unsigned: bool = False
    is_binary: bool = False  # bytes whatever the arguments are
    may_be_null: bool = False  # gives NULL for arguments that are not NULL

    def __call__(self, arguments: Arguments) -> Operand:
        letters = self._letters(len(arguments))
        if callable(self.collation):
            collation = self.collation(arguments)
        else:
            collation = self.collation or (TEXT if self.result is Eval.STRING else BYTES)
        converted = [
            argument if letter == "." else as_eval(argument, _LETTERS[letter])
            for argument, letter in zip(arguments, letters, strict=True)
        ]
        if callable(self.collation) and collation.charset != BYTES.charset:  # bytes are read as text of that charset
            converted = [
                replace(argument, charset=collation.charset, collate=collation.collate)
                if argument.is_binary_string
                else argument
                for argument in converted
            ]
        flen = self.flen(converted) if callable(self.flen) else self.flen
        result = result_of(self.result, collation, flen, self.decimal)
        if self.type is not None:
            result = replace(result, type=self.type)
        if self.is_binary:
            result = replace(result, charset=BYTES.charset, collate=BYTES.collate)
        result = result.flag(ColumnFlag.UNSIGNED, self.is_unsigned)
        return folded(result, converted, may_be_null=self.may_be_null)

    def _letters(self, count: int) -> str:
        required, _, optional = self.takes.rstrip("]*").partition("[")
        letters = required + optional
        if self.takes.endswith("*"):
            letters = letters.ljust(count, letters[-1])
        if not len(required) <= count <= len(letters):
            raise DdlError(f"a function in it does not take {count} arguments")
        return letters[:count]


def result_of(result: Eval, collation: Collation, flen: int | None = None, decimal: int | None = None) -> Operand:
    """Return the type that TiDB gives a function's result by default, with its length and decimals."""
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
        is_ascii=collation.is_ascii,
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
    if left in NUMBER_TYPES and right in NUMBER_TYPES:
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
