"""Character classes of Go's regular expressions, as ascending ranges of code points.

In: the name of a class. Out: its ranges, their complement, or the text of a class of Python's ``re``. All are ASCII.
Source: the documentation of Go's package ``regexp/syntax``.
"""

from __future__ import annotations

__all__ = ["LAST", "PERL", "POSIX", "Ranges", "body", "complement"]

Ranges = tuple[tuple[int, int], ...]
"""The first and last code point of each range."""

LAST = 0x10FFFF
"""The last code point of Unicode."""

PERL: dict[str, Ranges] = {
    "d": ((0x30, 0x39),),
    "s": ((0x09, 0x0A), (0x0C, 0x0D), (0x20, 0x20)),
    "w": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}
POSIX: dict[str, Ranges] = {
    "alnum": ((0x30, 0x39), (0x41, 0x5A), (0x61, 0x7A)),
    "alpha": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x00, 0x7F),),
    "blank": ((0x09, 0x09), (0x20, 0x20)),
    "cntrl": ((0x00, 0x1F), (0x7F, 0x7F)),
    "digit": PERL["d"],
    "graph": ((0x21, 0x7E),),
    "lower": ((0x61, 0x7A),),
    "print": ((0x20, 0x7E),),
    "punct": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    "space": ((0x09, 0x0D), (0x20, 0x20)),
    "upper": ((0x41, 0x5A),),
    "word": PERL["w"],
    "xdigit": ((0x30, 0x39), (0x41, 0x46), (0x61, 0x66)),
}


def complement(ranges: Ranges) -> Ranges:
    """Return the complement of ascending ranges."""
    starts = [0, *(high + 1 for _, high in ranges)]
    ends = [*(low - 1 for low, _ in ranges), LAST]
    return tuple((low, high) for low, high in zip(starts, ends, strict=True) if low <= high)


def body(ranges: Ranges) -> str:
    """Return the text between the brackets of a class of ``re``."""
    return "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges)
