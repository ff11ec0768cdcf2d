"""Wildcards of TiDB's filters. In: tokens of a pattern and a name. Out: whether it matches, without backtracking.

The bits of one number are the positions of the pattern that the name's characters so far can reach. So the time is
linear in the name's length, however many stars there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from ticdc_emit.routing.linear_regexp import GoRegexp

__all__ = ["END", "STAR", "Wildcards"]

STAR = "*"
"""The token for any number of characters."""
END = "$"
"""The token for the end of the name: TiDB passes an unescaped ``$`` on to a regular expression."""


@dataclass(frozen=True)
class Wildcards:
    """Tokens: :data:`STAR`, :data:`END`, or a regular expression of one character."""

    tokens: tuple[str | GoRegexp, ...]

    def search(self, name: str) -> bool:
        """Return whether the whole name matches."""
        places = self._skipped(1, at_end=not name)
        for number, char in enumerate(name, start=1):
            places = self._skipped(self._moved(places, char), at_end=number == len(name))
            if not places:
                return False
        return bool(places >> len(self.tokens) & 1)

    def _moved(self, places: int, char: str) -> int:
        moved = 0
        while places:
            place = places.bit_length() - 1
            places ^= 1 << place
            token = self.tokens[place] if place < len(self.tokens) else END
            if token == STAR:
                moved |= 1 << place
            elif isinstance(token, GoRegexp) and token.search(char):
                moved |= 2 << place
        return moved

    def _skipped(self, places: int, *, at_end: bool) -> int:
        """Add the positions after tokens that need no character."""
        for place, token in enumerate(self.tokens):
            if places >> place & 1 and (token == STAR or (token == END and at_end)):
                places |= 2 << place
        return places
