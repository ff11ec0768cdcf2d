"""An operand: the type of an expression in TiDB's type inference, with its collation and constant value.

Rule source: pingcap/tidb ``pkg/parser/types``
(``EvalType``, ``Hybrid``), ``pkg/expression/builtin.go`` (``getRetTp``), ``pkg/expression/collation.go``
(``deriveCoercibilityForColumn``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from typing import Final

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.charsets import python_codec
from ticdc_emit.sql.types import BINARY_CHARSET, STRING_TYPES, TYPES, ColumnFlag, MySQLType

UNSPECIFIED: Final = -1
MAX_INT_WIDTH, MAX_REAL_WIDTH, MAX_DECIMAL, MAX_SCALE, MAX_FSP = 20, 23, 65, 30, 6
MAX_BLOB_WIDTH, MAX_LONG_BLOB_WIDTH = 16777216, 4294967295
_MEDIUM_BLOB_WIDTH = 65536
CONNECTION = ("utf8mb4", "utf8mb4_bin")  # charset and collation of the session that runs DDL
UNKNOWN: Final = object()  # the value of a constant that TiDB folds and this library does not evaluate


class Eval(Enum):
    """TiDB's evaluation types."""

    INT = "int"
    REAL = "real"
    DECIMAL = "decimal"
    STRING = "string"
    DATETIME = "datetime"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    JSON = "json"
    VECTOR = "vector"

    @property
    def is_text(self) -> bool:
        """TiDB's ``IsStringKind``: everything but numbers."""
        return self not in (Eval.INT, Eval.REAL, Eval.DECIMAL)


class Coercibility(IntEnum):
    """The precedence of collations; a lower value is stronger."""

    EXPLICIT = 0
    NONE = 1
    IMPLICIT = 2
    SYSTEM = 3
    COERCIBLE = 4
    NUMERIC = 5
    IGNORABLE = 6


_EVALS = {kind: Eval(facts.eval) for kind, facts in TYPES.items()}
_HYBRIDS = frozenset({MySQLType.BIT, MySQLType.ENUM, MySQLType.SET})


@dataclass(frozen=True)
class Operand:
    """The type of a (sub)expression. ``collate`` is "" if TiDB leaves it open until a COLLATE defines it."""

    type: MySQLType
    flen: int
    decimal: int
    charset: str = BINARY_CHARSET
    collate: str = BINARY_CHARSET
    flags: ColumnFlag = ColumnFlag.NONE
    elems: tuple[str, ...] = ()
    is_array: bool = False
    coercibility: Coercibility = Coercibility.NUMERIC
    is_ascii: bool = True  # all its possible characters are ASCII ("repertoire")
    is_constant: bool = False
    value: object = None  # of a constant; ``UNKNOWN`` if only TiDB can fold it
    is_column: bool = False
    maybe_null: bool = False  # a folded constant; only TiDB knows whether it is NULL

    @property
    def eval(self) -> Eval:
        return Eval.JSON if self.is_array else _EVALS[self.type]

    @property
    def is_hybrid(self) -> bool:
        return self.type in _HYBRIDS and not self.is_array

    @property
    def is_unsigned(self) -> bool:
        return bool(self.flags & ColumnFlag.UNSIGNED)

    @property
    def is_not_null(self) -> bool:
        if self.maybe_null:
            raise DdlError("whether a constant in it is NULL is known only to TiDB")
        return bool(self.flags & ColumnFlag.NOT_NULL)

    @property
    def is_null(self) -> bool:
        """Whether it is the literal NULL."""
        return self.type is MySQLType.NULL

    @property
    def is_string(self) -> bool:
        return self.type in STRING_TYPES and not self.is_array

    @property
    def is_binary_string(self) -> bool:
        return self.is_string and self.collate == BINARY_CHARSET

    def flag(self, flag: ColumnFlag, on: bool = True) -> Operand:
        """Return it with ``flag`` set or cleared."""
        return replace(self, flags=self.flags | flag if on else self.flags & ~flag)

    def known(self) -> object:
        """Return the value of a constant; ``DdlError`` if only TiDB knows it."""
        if self.value is UNKNOWN:
            raise DdlError("its type depends on the value of a constant that only TiDB computes")
        return self.value


def with_length(operand: Operand, flen: int) -> Operand:
    """Return a function's result with its length; text that is too long for a VARCHAR becomes a blob."""
    kind = operand.type
    if operand.eval is Eval.STRING and flen >= MAX_BLOB_WIDTH:
        kind = MySQLType.LONG_BLOB
    elif operand.eval is Eval.STRING and flen >= _MEDIUM_BLOB_WIDTH:
        kind = MySQLType.MEDIUM_BLOB
    if kind is MySQLType.NEWDECIMAL:
        flen = min(flen, MAX_DECIMAL)
    return replace(operand, type=kind, flen=flen)


_UNICODE = frozenset({"utf8", "utf8mb4"})
_BIN_COLLATIONS = {"utf8": "utf8_bin", "utf8mb4": "utf8mb4_bin", "gbk": "gbk_bin", "gb18030": "gb18030_bin"}
_ARE_BIN = frozenset({"ascii_bin", "latin1_bin", *_BIN_COLLATIONS.values()})


@dataclass(frozen=True)
class Collation:
    charset: str
    collate: str
    coercibility: Coercibility
    is_ascii: bool


TEXT = Collation(*CONNECTION, Coercibility.COERCIBLE, is_ascii=False)
ASCII_TEXT = Collation(*CONNECTION, Coercibility.COERCIBLE, is_ascii=True)
BYTES = Collation(BINARY_CHARSET, BINARY_CHARSET, Coercibility.NUMERIC, is_ascii=True)


def derived(operands: Sequence[Operand], *, gives_text: bool = True) -> Collation:
    """Return the collation that the operands agree on; else ``DdlError``, like TiDB's "illegal mix of collations"."""
    collation = _of(operands[0])
    has_unknown = False
    for operand in operands[1:]:
        merged = _merged(collation, _of(operand))
        if merged is None:
            has_unknown = True
            merged = Collation(BINARY_CHARSET, BINARY_CHARSET, Coercibility.NONE, collation.is_ascii)
        collation = merged
    if has_unknown and collation.coercibility is not Coercibility.EXPLICIT:
        raise _illegal_mix(operands)
    if collation.coercibility is Coercibility.NONE and not gives_text:
        raise _illegal_mix(operands)
    if collation.coercibility is Coercibility.NUMERIC and gives_text:
        return ASCII_TEXT
    if not all(_converts(operand, collation) for operand in operands):
        raise _illegal_mix(operands)
    return collation


def _of(operand: Operand) -> Collation:
    if not operand.collate:
        raise DdlError(
            f"CHARACTER SET {operand.charset} in it leaves the collation open",
            remedy="Add a COLLATE clause to the expression",
        )
    charset, collate = operand.charset, operand.collate
    if operand.eval is Eval.JSON:
        charset, collate = CONNECTION
    elif operand.type is MySQLType.BIT:
        charset = collate = BINARY_CHARSET
    return Collation(charset, collate, operand.coercibility, operand.is_ascii)


def _merged(left: Collation, right: Collation) -> Collation | None:
    ascii_both = left.is_ascii and right.is_ascii

    def won(winner: Collation) -> Collation:
        return Collation(winner.charset, winner.collate, winner.coercibility, ascii_both)

    if BINARY_CHARSET in (left.collate, right.collate):
        same = left.coercibility == right.coercibility
        right_wins = left.coercibility > right.coercibility or (same and right.collate == BINARY_CHARSET)
        return won(right if right_wins else left)
    if left.charset == right.charset:
        return _same_charset(left, right, won(left), won(right), ascii_both)
    if left.coercibility < right.coercibility:
        return won(left) if _gives_way(right) or left.charset in _UNICODE else None
    if left.coercibility > right.coercibility:
        return won(right) if _gives_way(left) or right.charset in _UNICODE else None
    if _is_wider(left.charset, right.charset):
        return won(left)
    if _is_wider(right.charset, left.charset):
        return won(right)
    if left.is_ascii != right.is_ascii:
        return won(right if left.is_ascii else left)
    return None


def _same_charset(
    left: Collation, right: Collation, left_won: Collation, right_won: Collation, ascii_both: bool
) -> Collation:
    if left.coercibility != right.coercibility:
        return right_won if left.coercibility > right.coercibility else left_won
    if left.collate == right.collate:
        return left_won
    if left.coercibility is Coercibility.EXPLICIT:
        raise DdlError(f"illegal mix of collations {left.collate} and {right.collate}")
    if left.collate in _ARE_BIN:
        return left_won
    if right.collate in _ARE_BIN:
        return right_won
    binary = _BIN_COLLATIONS.get(right.charset, CONNECTION[1])
    return Collation(right.charset, binary, Coercibility.NONE, ascii_both)


def _gives_way(weaker: Collation) -> bool:
    return weaker.is_ascii or weaker.coercibility >= Coercibility.SYSTEM


def _is_wider(charset: str, other: str) -> bool:
    return (charset in _UNICODE and other not in _UNICODE) or (charset == "utf8mb4" and other == "utf8")


def _converts(operand: Operand, collation: Collation) -> bool:
    if operand.charset == collation.charset or operand.is_ascii or operand.is_binary_string:
        return True
    if operand.is_constant:
        return operand.value is UNKNOWN or _encodes(str(operand.value), collation.charset)
    return BINARY_CHARSET in (operand.collate, collation.charset) or collation.charset in _UNICODE


def _encodes(text: str, charset: str) -> bool:
    if charset == "ascii":
        return text.isascii()
    try:
        text.encode(python_codec(charset) or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _illegal_mix(operands: Sequence[Operand]) -> DdlError:
    return DdlError("illegal mix of collations " + ", ".join(operand.collate for operand in operands))
