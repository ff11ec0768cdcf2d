"""The type of an expression. In: its tree of calls, and the types of columns. Out: an :class:`Operand`.

``functions`` has a row for each function, the other modules have the rules that the rows name. Debezium and Simple
messages contain the hidden columns of expression indexes, so an unknown type is a ``DdlError``, never a guess. Rule
source: pingcap/tidb ``pkg/expression`` and ``pkg/types/field_type.go`` (``DefaultTypeForValue``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.call_tree import (
    Call,
    CallTree,
    Cast,
    CastType,
    Collated,
    Constant,
    Reference,
)
from ticdc_emit.sql.charsets import charset_of_collation, default_collation
from ticdc_emit.sql.inference.casts import cast, datetime_width, duration_width
from ticdc_emit.sql.inference.functions import call
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
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    LABEL_TYPES,
    ColumnFlag,
    MySQLType,
)

__all__ = ["type_of"]

_INT64 = 1 << 63
# (length, decimals) of CAST types if the statement has none
_CAST_LENGTHS = {
    MySQLType.DATE: (10, 0),
    MySQLType.DATETIME: (19, 0),
    MySQLType.DURATION: (10, 0),
    MySQLType.NEWDECIMAL: (10, 0),
    MySQLType.LONGLONG: (22, 0),
    MySQLType.DOUBLE: (22, UNSPECIFIED),
    MySQLType.FLOAT: (12, UNSPECIFIED),
    MySQLType.JSON: (4194304, 0),
    MySQLType.YEAR: (4, 0),
}
_NOT_IN_ARRAYS = frozenset({MySQLType.YEAR, MySQLType.JSON, MySQLType.FLOAT, MySQLType.NEWDECIMAL})


def type_of(node: CallTree, column: Callable[[str], Operand]) -> Operand:
    """Return the type of an expression; ``column`` has the types of columns by name.

    Raises ``DdlError`` if TiDB refuses it, or if its type is not known.
    """
    return _Typing(column).of(node)


class _Typing:
    def __init__(self, column: Callable[[str], Operand]) -> None:
        self._column = column
        self._operands: dict[int, Operand] = {}  # by identity: BETWEEN and CASE use a node more than once

    def of(self, node: CallTree) -> Operand:
        pending = [node]  # a chain of operators is as deep as it is long: its innermost call comes first
        while (first := _first_call(pending[-1])) is not None and id(first) not in self._operands:
            pending.append(first)
        for each in reversed(pending):
            if id(each) not in self._operands:
                self._operands[id(each)] = self._typed(each)
        return self._operands[id(node)]

    def _typed(self, node: CallTree) -> Operand:
        match node:
            case Reference(name):
                return self._column(name)
            case Constant():
                return _constant(node)
            case Call(name, arguments):
                return call(name, [self.of(argument) for argument in arguments])
            case Cast(operand, to):
                return cast(self.of(operand), _cast_target(to))
            case Collated(operand, collation):
                return _collated(self.of(operand), collation)


def _first_call(node: CallTree) -> Call | None:
    """Return a call's first argument if it is a call itself."""
    first = node.arguments[0] if isinstance(node, Call) and node.arguments else None
    return first if isinstance(first, Call) else None


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
        is_ascii=value.isascii(),
        is_constant=True,
        value=value,
    )


def _temporal(text: str, kind: MySQLType) -> Operand:
    """DATE, TIME and TIMESTAMP literals."""
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
