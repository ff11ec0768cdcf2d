"""Text as keys that compare bytewise like the texts.

In: texts and the collation by which they are compared. Out: string or binary arrays. ``_bin`` collations ignore
trailing blanks. Case-insensitive ones fold ASCII letters. Other letters with a case or an accent need TiDB's weight
tables, and raise an :class:`EvaluationError` that names the text.

Rule source: ``pkg/util/collate`` of pingcap/tidb.
"""

from __future__ import annotations

import unicodedata

import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.filtering.expressions.values import Data, EvaluationError, NotExactError, Value, mapped
from ticdc_emit.schema.inference.operands import Coercibility

__all__ = ["common_collation", "ignores_case", "keys", "weight"]

_PADDED = frozenset({"utf8mb4_bin", "utf8_bin", "latin1_bin", "ascii_bin"})
_EXACT = frozenset({"binary", "utf8mb4_0900_bin"})
_GENERAL = frozenset({"utf8mb4_general_ci", "utf8_general_ci"})
_UNICODE = frozenset({"utf8mb4_unicode_ci", "utf8_unicode_ci", "utf8mb4_0900_ai_ci"})
_BMP = 0x10000
_REPLACEMENT = "\ufffd"


def common_collation(left: Value, right: Value) -> str:
    """Return the collation of a comparison of two texts; :class:`NotExactError` if neither's wins."""
    if left.is_literal or right.is_literal:
        return "binary" if left.is_literal and right.is_literal else (right if left.is_literal else left).collate
    if left.strength != right.strength:
        return (left if left.strength < right.strength else right).collate
    if left.collate == right.collate:
        return left.collate
    if left.strength is not Coercibility.EXPLICIT and "binary" in (left.collate, right.collate):
        return "binary"
    raise NotExactError(f"texts of the collations {left.collate} and {right.collate}")


def ignores_case(collate: str) -> bool:
    """Return whether ``a`` and ``A`` are equal in a collation."""
    return collate.endswith("_ci")


def keys(data: Data, collate: str, *, ordered: bool) -> Data:
    """Return keys of texts. ``ordered``: whether their order matters, not only equality."""
    if pa.types.is_binary(data.type) and collate not in _EXACT:
        raise NotExactError(f"binary text in the collation {collate}")
    if collate in _PADDED:
        return pc.utf8_rtrim(data, characters=" ")
    if collate in _EXACT:
        return data if pa.types.is_binary(data.type) else pc.cast(data, pa.binary())
    if collate in _GENERAL:
        return mapped(_general_key, pa.string(), data)
    if collate in _UNICODE and not ordered:
        pads = collate != "utf8mb4_0900_ai_ci"
        return mapped(lambda text: _unicode_key(text.rstrip(" ") if pads else text), pa.string(), data)
    raise NotExactError(f"{'the order of ' if collate in _UNICODE else ''}texts of the collation {collate}")


def _general_key(text: str) -> str:
    text = text.rstrip(" ")
    return text.upper() if text.isascii() else "".join(map(weight, text))


def weight(char: str) -> str:
    """Return the key of a character in ``utf8mb4_general_ci``; :class:`EvaluationError` if only TiDB knows it."""
    if char.isascii():
        return char.upper()
    if ord(char) >= _BMP:
        return _REPLACEMENT
    if char.upper() == char.lower() and not unicodedata.decomposition(char):
        return char
    raise EvaluationError(f"the weight of {char!r} in a case-insensitive collation is known only to TiDB")


def _unicode_key(text: str) -> str:
    for char in text:
        if not (char.isascii() and char.isprintable()):
            raise EvaluationError(f"the weight of {char!r} in a case-insensitive collation is known only to TiDB")
    return text.upper()
