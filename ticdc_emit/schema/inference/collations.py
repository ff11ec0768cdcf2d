"""The charset and collation of a function's result, from those of its operands.

Rule source: pingcap/tidb ``pkg/expression/collation.go`` (``inferCollation``, ``CheckAndDeriveCollationFromExprs``,
``safeConvert``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.charsets import python_codec
from ticdc_emit.schema.inference.operands import CONNECTION, UNKNOWN, Coercibility, Eval, Operand
from ticdc_emit.schema.types import BINARY_CHARSET, MySQLType

__all__ = ["ASCII_TEXT", "BYTES", "TEXT", "Collation", "derived"]

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
    """Return the winner of two, ``None`` if there is none."""
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
