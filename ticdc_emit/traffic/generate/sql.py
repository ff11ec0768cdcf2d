"""Building blocks of Spark SQL text for generated values.

Expressions are text, not ``Column`` objects, so they are planned without Spark, and a hundred columns take one call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

__all__ = [
    "EPOCH",
    "Alternating",
    "between",
    "hashed",
    "listed",
    "numbers",
    "pick",
    "salt_of",
    "text_of",
    "units",
]

EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
_DIVIDERS = ("|", ";", "~", "\x01")


def salt_of(*parts: object) -> int:
    """Return a number of 60 bits that differs for different parts, the same in every process."""
    digest = hashlib.blake2b("\0".join(map(str, parts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 4


def hashed(salt: int, *of: str) -> str:
    """Return a hash of 64 bits of expressions of type bigint."""
    return f"xxhash64({', '.join([f'{salt}L', *of])})"


class Alternating(str):
    """A hash whose :func:`units` differ between two neighbouring steps: even numbers at even ones, else odd ones."""

    __slots__ = ("parity",)

    def __new__(cls, bits: str, step: str) -> Alternating:
        """``bits``: the hash. ``step``: SQL of the step (bigint)."""
        self = super().__new__(cls, bits)
        self.parity = f"pmod({step}, 2L)"
        return self

    parity: str
    """SQL of 0 at even steps and 1 at odd ones (bigint)."""


def units(bits: str, count: int) -> str:
    """Return a number from 0 to ``count - 1`` (bigint) out of a hash."""
    if not isinstance(bits, Alternating) or count == 1:
        return f"pmod({bits}, {count}L)"
    numbers_of_parity = f"{count // 2}L" if count % 2 == 0 else f"({count // 2 + 1}L - {bits.parity})"
    return f"(pmod({bits}, {numbers_of_parity}) * 2L + {bits.parity})"


def between(bits: str, low: int, high: int) -> str:
    """Return a number from ``low`` to ``high``, both included, out of a hash; their distance is below 2**63."""
    assert low <= high
    return f"({units(bits, high - low + 1)} + {low}L)" if low else units(bits, high - low + 1)


def pick(words: Sequence[str], bits: str) -> str:
    """Return one of the words, out of a hash."""
    return f"get({listed(words)}, cast({units(bits, len(words))} as int))"


def listed(words: Sequence[str]) -> str:
    """Return a constant array of texts.

    It is one literal that Spark splits while planning, because a plan with a node per word is slow to optimise.
    """
    divider = next((sign for sign in _DIVIDERS if not any(sign in word for word in words)), None)
    if divider is None:
        return f"array({', '.join(map(text_of, words))})"
    return f"split({text_of(divider.join(words))}, '[{divider}]')"


def not_in_whole_stage(value: str) -> str:
    """Return the value, and keep its projection out of Spark's whole-stage code.

    In whole-stage code, all columns of a projection are one method, which the JVM runs slowly or refuses if it is
    large. Otherwise each column has its own method. Spark's code generation supports ``transform`` since 4.3, but not
    ``zip_with``.
    """
    return f"element_at(zip_with(array({value}), array(0), (x, y) -> x), 1)"


def numbers(values: Sequence[int], index: str) -> str:
    """Return the number at ``index`` (int, from 0 on) of a constant list, as bigint; NULL outside of it."""
    return f"get(cast({listed([str(value) for value in values])} as array<bigint>), {index})"


def text_of(text: str) -> str:
    """Return a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
