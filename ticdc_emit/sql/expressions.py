"""The type (:func:`type_of`) and the value over Arrow (:func:`evaluate`) of a tree of calls.

Debezium and Simple messages contain the hidden columns of expression indexes, so an unknown type is a ``DdlError``,
never a guess. Existing engines do not have MySQL's rules: in DuckDB ``'a '`` and ``'a'`` differ and comparing text with
a number is an error; sqlglot's executor uses Python's operators. Rule source: pingcap/tidb ``pkg/expression`` and
``pkg/types/field_type.go`` (``DefaultTypeForValue``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from decimal import Decimal

import pyarrow as pa

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.call_tree import Call, CallTree, Cast, CastType, Collated, Constant, Reference
from ticdc_emit.sql.charsets import charset_of_collation, default_collation
from ticdc_emit.sql.evaluation.arithmetic import cast_decimal, cast_integer
from ticdc_emit.sql.evaluation.dates import date, parse_date
from ticdc_emit.sql.evaluation.values import (
    Kind,
    NotExactError,
    Value,
    byte_size,
    check_bytes,
    constant,
    null,
    parse_duration,
    to_real,
    to_text,
)
from ticdc_emit.sql.functions import kernel_of, result_type
from ticdc_emit.sql.inference.casts import cast, datetime_width, duration_width
from ticdc_emit.sql.inference.operands import (
    CONNECTION,
    MAX_DECIMAL,
    MAX_FSP,
    MAX_SCALE,
    UNSPECIFIED,
    Coercibility,
    Eval,
    Operand,
)
from ticdc_emit.sql.types import BINARY_CHARSET, FLOAT_TYPES, LABEL_TYPES, TYPES, ColumnFlag, MySQLType

# -- values ------------------------------------------------------------------------------------------------------------

_UNICODE = ("utf8mb4", "utf8", "ascii", "binary")


def evaluate(node: CallTree, column: Callable[[Reference], Value]) -> Value:
    """Return the value of an expression. Raises :class:`NotExactError` and :class:`EvaluationError`."""
    chain = []
    while isinstance(node, Call) and len(node.arguments) == 2 and isinstance(node.arguments[0], Call):
        chain.append((kernel_of(node), node.arguments[1]))  # a chain of operators is as deep as it is long
        node = node.arguments[0]
    value = _value(node, column)
    for compute, right in reversed(chain):
        value = compute(*_bounded([value, evaluate(right, column)]))
    return value


def _value(node: CallTree, column: Callable[[Reference], Value]) -> Value:
    match node:
        case Reference():
            return column(node)
        case Constant():
            return _constant_value(node)
        case Collated(operand, collation):
            text = to_text(evaluate(operand, column))
            return replace(text, collate=collation, strength=Coercibility.EXPLICIT)
        case Cast(operand, to):
            return _cast_value(evaluate(operand, column), to)
        case Call("negated", (Constant(int() as number),)):
            return constant(-number)
        case Call(_, arguments):
            compute = kernel_of(node)
            return compute(*_bounded(evaluate(each, column) for each in arguments))


def _bounded(arguments: Iterable[Value]) -> list[Value]:
    values, total = list[Value](), 0
    for value in arguments:
        values.append(value)
        total += byte_size(value.data)
        check_bytes("arguments", total)
    return values


def _constant_value(node: Constant) -> Value:
    if node.kind is MySQLType.DURATION:
        return Value(Kind.DURATION, pa.scalar(parse_duration(str(node.value)), pa.int64()))
    value = constant(node.value)
    if node.kind is not None:
        return parse_date(str(node.value))
    if node.charset and node.charset not in _UNICODE:
        raise NotExactError(f"a text of the character set {node.charset}")
    if node.charset == BINARY_CHARSET:
        return replace(value, data=value.data.cast(pa.binary()), collate=BINARY_CHARSET)
    return value


def _cast_value(value: Value, to: CastType) -> Value:
    if to.is_array:
        raise NotExactError("CAST ... AS ARRAY")
    if value.kind is Kind.NULL:
        return null()
    if to.type is MySQLType.LONGLONG:
        return cast_integer(value, to.is_unsigned)
    if to.type is MySQLType.NEWDECIMAL:
        return cast_decimal(value, max(to.flen, 0) or 10, max(to.decimal, 0))
    if to.type is MySQLType.DOUBLE:
        return Value(Kind.REAL, to_real(value))
    if to.type is MySQLType.DATE:
        return date(value)
    if to.type in (MySQLType.VAR_STRING, MySQLType.STRING) and to.flen < 0:
        text = to_text(value)
        if to.charset == BINARY_CHARSET:
            return Value(Kind.TEXT, text.data.cast(pa.binary()), strength=Coercibility.IMPLICIT)
        if not text.is_binary and to.charset in ("", "utf8mb4"):
            return replace(text, collate="utf8mb4_bin", strength=Coercibility.IMPLICIT)
    raise NotExactError(f"a CAST of {value.kind.value} to {to.type.name}")


# -- types -------------------------------------------------------------------------------------------------------------

_INT64 = 1 << 63
_OF_THEIR_TYPES = (MySQLType.DATE, MySQLType.DATETIME, MySQLType.DURATION, MySQLType.NEWDECIMAL, MySQLType.YEAR)
# (length, decimals) of CAST types if the statement has none
_CAST_LENGTHS = {kind: (TYPES[kind].length, TYPES[kind].decimals) for kind in (*_OF_THEIR_TYPES, *FLOAT_TYPES)} | {
    MySQLType.LONGLONG: (22, 0),
    MySQLType.JSON: (4194304, 0),
}
_NOT_IN_ARRAYS = frozenset({MySQLType.YEAR, MySQLType.JSON, MySQLType.FLOAT, MySQLType.NEWDECIMAL})


def type_of(node: CallTree, column: Callable[[str], Operand]) -> Operand:
    """Return the type of an expression; ``DdlError`` if TiDB refuses it, or if its type is not known."""
    chain = []
    while isinstance(node, Call) and node.arguments and isinstance(node.arguments[0], Call):
        chain.append(node)  # a chain of operators is as deep as it is long
        node = node.arguments[0]
    operand = _type(node, column)
    for call in reversed(chain):
        operand = result_type(call.name, [operand, *(type_of(each, column) for each in call.arguments[1:])])
    return operand


def _type(node: CallTree, column: Callable[[str], Operand]) -> Operand:
    match node:
        case Reference(name):
            return column(name)
        case Constant():
            return _constant(node)
        case Call(name, arguments):
            return result_type(name, [type_of(argument, column) for argument in arguments])
        case Cast(operand, to):
            return cast(type_of(operand, column), _cast_target(to))
        case Collated(operand, collation):
            return _collated(type_of(operand, column), collation)


def _constant(node: Constant) -> Operand:
    value = node.value
    if node.kind is not None:
        return _temporal(str(value), node.kind)
    if value is None:
        return Operand(MySQLType.NULL, 0, 0, coercibility=Coercibility.IGNORABLE, is_constant=True)
    if isinstance(value, str):
        return _text(value, node.charset)
    literal = _number(value, is_hex=node.is_hex).flag(ColumnFlag.NOT_NULL)
    return replace(literal, is_constant=True, value=int(value) if isinstance(value, bool) else value)


def _number(value: int | Decimal | float | bytes, *, is_hex: bool) -> Operand:
    if isinstance(value, bytes):
        flags = ColumnFlag.UNSIGNED if is_hex else ColumnFlag.NONE
        return Operand(MySQLType.VAR_STRING, len(value) * 3, 0, flags=flags, coercibility=Coercibility.COERCIBLE)
    if isinstance(value, int):
        flags = ColumnFlag.UNSIGNED if value >= _INT64 else ColumnFlag.NONE
        return Operand(MySQLType.LONGLONG, len(str(int(value))), 0, flags=flags)
    if isinstance(value, float):
        text = format(Decimal(repr(value)), "f")
        return Operand(MySQLType.DOUBLE, len(text.rstrip("0").rstrip(".") if "." in text else text), UNSPECIFIED)
    text = format(value, "f")
    scale = len(text.partition(".")[2])
    if len(text) - (scale > 0) > MAX_DECIMAL or scale > MAX_SCALE:
        raise DdlError("a decimal in it has too many digits")
    return Operand(MySQLType.NEWDECIMAL, len(text) + 1, scale)


def _text(value: str, introducer: str) -> Operand:
    charset, collate = (introducer, default_collation(introducer)) if introducer else CONNECTION
    return Operand(
        MySQLType.VAR_STRING,
        len(value.encode()),
        UNSPECIFIED,
        charset,
        collate,
        ColumnFlag.NOT_NULL,
        coercibility=Coercibility.COERCIBLE,
        is_constant=True,
        value=value,
    )


def _temporal(text: str, kind: MySQLType) -> Operand:
    fsp = min(len(text.rpartition(".")[2]), MAX_FSP) if "." in text else 0
    width = {MySQLType.DATE: 10, MySQLType.DURATION: duration_width(fsp)}.get(kind, datetime_width(fsp))
    fsp = 0 if kind is MySQLType.DATE else fsp
    return Operand(kind, width, fsp, flags=ColumnFlag.NOT_NULL, is_constant=True, value=text)


def _cast_target(to: CastType) -> Operand:
    flen, decimal = _CAST_LENGTHS.get(to.type, (UNSPECIFIED, UNSPECIFIED))
    if to.type in (MySQLType.DATETIME, MySQLType.DURATION):
        if to.decimal > MAX_FSP:
            raise DdlError(f"{to.decimal} fractional digits in CAST are too many")
        decimal = max(to.decimal, 0)
        flen = datetime_width(decimal) if to.type is MySQLType.DATETIME else duration_width(decimal)
    elif to.flen >= 0:
        flen, decimal = to.flen, to.decimal
    is_number = to.type is not MySQLType.NEWDECIMAL or max(decimal, 1) <= flen <= MAX_DECIMAL
    if not is_number or decimal > MAX_SCALE:
        raise DdlError(f"DECIMAL({flen},{decimal}) in CAST is not valid")
    charset, collate = _cast_charset(to)
    if to.is_array:
        _check_array(to, flen, charset)
    flags = ColumnFlag.UNSIGNED if to.is_unsigned else ColumnFlag.NONE
    return Operand(to.type, flen, decimal, charset, collate, flags, is_array=to.is_array)


def _cast_charset(to: CastType) -> tuple[str, str]:
    if to.charset == BINARY_CHARSET:
        return BINARY_CHARSET, BINARY_CHARSET
    if to.type in (MySQLType.VAR_STRING, MySQLType.STRING):
        if not to.charset:
            return CONNECTION
        default_collation(to.charset)  # refuses names that TiDB does not know
        return to.charset, ""
    return CONNECTION if to.type is MySQLType.JSON else (BINARY_CHARSET, BINARY_CHARSET)


def _check_array(to: CastType, flen: int, charset: str) -> None:
    if to.type in _NOT_IN_ARRAYS:
        raise DdlError("TiDB has no multi-valued index of that type")
    if to.type in (MySQLType.VAR_STRING, MySQLType.STRING):
        if charset not in (CONNECTION[0], BINARY_CHARSET):
            raise DdlError("TiDB has no multi-valued index of that character set")
        if flen == UNSPECIFIED:
            raise DdlError("a multi-valued index of CHAR or BINARY needs a length")


def _collated(operand: Operand, collation: str) -> Operand:
    charset = "utf8mb4" if operand.eval is Eval.JSON else operand.charset
    owner = charset_of_collation(collation)
    if operand.type is MySQLType.BIT:
        operand = replace(operand, type=MySQLType.VAR_STRING, flen=(operand.flen + 7) // 8)
    elif owner != charset:
        raise DdlError(f"collation {collation!r} is not valid for character set {charset!r}")
    if operand.type in LABEL_TYPES and operand.is_column:
        raise DdlError("COLLATE of an ENUM or a SET column")
    if operand.is_column and operand.eval is not Eval.STRING:
        raise DdlError("COLLATE of a column that is not text")
    return replace(operand, collate=collation, coercibility=Coercibility.EXPLICIT, is_column=False)
