"""Regular expressions of TiDB's filters, matched in time linear in the length of a name or a value.

In: a pattern of Go's ``regexp`` package.  Out: a :class:`GoRegexp`, whose ``search`` returns whether it matches.  It
uses RE2 if the extra ``re2`` is installed. Otherwise it uses Python's ``re`` for patterns that can match in few ways;
other patterns could take years and raise :class:`CostlyRegexpError`. A value may be long, so for values ``re`` only
matches patterns without ``*``, ``+`` and other long repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

from ticdc_emit.routing.go_regexp import GoRegexpError, translate
from ticdc_emit.routing.match_ways import NAME_LENGTH

__all__ = ["CostlyRegexpError", "GoRegexp", "compile_regexp"]

_MOST_WAYS = 2 * 64**2
"""Two repetitions over a name of 64 characters, and a choice."""
_UNICODE_CLASS = "Unicode classes"


class CostlyRegexpError(ValueError):
    """A pattern that Python's ``re`` cannot match in linear time; ``str()`` is the pattern."""


class _Searches(Protocol):
    def search(self, text: str, /) -> Any: ...


@dataclass(frozen=True)
class GoRegexp:
    """A pattern that compiles without error; each process compiles it again."""

    pattern: str
    ignore_case: bool = False
    for_values: bool = False

    def search(self, text: str) -> bool:
        """Return whether there is a match in ``text``."""
        return _compiled(self.pattern, self.ignore_case, self.for_values).search(text) is not None


def compile_regexp(pattern: str, *, ignore_case: bool = False, for_values: bool = False) -> GoRegexp:
    """Check a Go pattern; ``ignore_case`` as if ``(?i)`` stood before it, ``for_values`` if texts may be long.

    Raises :class:`~ticdc_emit.routing.go_regexp.GoRegexpError` for one that Go refuses, :class:`CostlyRegexpError` for
    one that needs the extra ``re2``.
    """
    _compiled(pattern, ignore_case, for_values)
    return GoRegexp(pattern, ignore_case, for_values)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, ignore_case: bool, for_values: bool) -> _Searches:
    by_re2 = _re2(f"(?i){pattern}" if ignore_case else pattern)
    try:
        translated = translate(pattern, ignore_case=ignore_case)
    except GoRegexpError as fault:  # its text is that of Go; Python alone lacks the classes
        if by_re2 is not None and _UNICODE_CLASS in str(fault):
            return by_re2
        raise
    if by_re2 is not None:
        return by_re2
    if translated.ways > _MOST_WAYS or (for_values and translated.ways >= NAME_LENGTH):
        raise CostlyRegexpError(pattern)
    return translated.regexp


def _re2(pattern: str) -> _Searches | None:
    """Return the pattern compiled by RE2; ``None`` if RE2 is not installed or refuses it."""
    try:
        import re2
    except ImportError:
        return None
    options = re2.Options()
    options.log_errors = False
    try:
        compiled: _Searches = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError):
        return None
    return compiled
