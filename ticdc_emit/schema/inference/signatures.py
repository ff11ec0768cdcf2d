"""A row of the function table: the arguments of a function and the type of its result.

The steps are TiDB's (``pkg/expression/builtin.go``: ``newBaseBuiltinFuncWithTp``, ``pkg/expression/constant_fold.go``):
derive the collation, convert the arguments, make the default type of the result, set its length, fold constants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.casts import as_eval
from ticdc_emit.schema.inference.collations import BYTES, TEXT, Collation
from ticdc_emit.schema.inference.operands import (
    CONNECTION,
    MAX_BLOB_WIDTH,
    MAX_FSP,
    MAX_INT_WIDTH,
    MAX_REAL_WIDTH,
    UNKNOWN,
    UNSPECIFIED,
    Eval,
    Operand,
    with_length,
)
from ticdc_emit.schema.types import ColumnFlag, MySQLType

__all__ = ["Arguments", "Function", "Signature", "folded", "result_of"]

Arguments: TypeAlias = "Sequence[Operand]"
Function: TypeAlias = Callable[[Arguments], Operand]

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
    is_never_null: bool = False

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
        return folded(result.flag(ColumnFlag.NOT_NULL, self.is_never_null), converted, may_be_null=self.may_be_null)

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
