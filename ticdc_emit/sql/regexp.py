r"""Go's regular expressions, matched in linear time by RE2, of which Go's ``regexp`` is a translation (extra ``re2``).

RE2 and Go accept the same syntax but for ``\C``, which Go lacks; their Unicode tables may differ in the newest letters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ticdc_emit.errors import importing

_GO_CAUSES = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "invalid repetition size": "invalid repeat count",
    "invalid perl operator": "invalid or unsupported Perl syntax",
    "invalid named capture group": "invalid named capture",
    "trailing \\": "trailing backslash at end of expression",
    "pattern too large - compile failed": "expression too large",
}
"""Go's words for RE2's; the other causes have the same words."""
_ESCAPES = re.compile(r"\\Q.*?(?:\\E|\Z)|\\.", re.DOTALL)
_MEMORY = 64 << 20
"""Bytes for one program, about what Go allows, and for its states."""


class GoRegexpError(ValueError):
    """A pattern that Go cannot compile; ``str()`` is Go's message, or close to it."""

    def __init__(self, cause: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {cause}: `{part}`")


@dataclass(frozen=True)
class GoRegexp:
    pattern: str
    ignore_case: bool = False

    def search(self, text: str) -> bool:
        return _compiled(self.pattern, self.ignore_case).search(text) is not None


def compile_regexp(pattern: str, *, ignore_case: bool = False) -> GoRegexp:
    """Check a Go pattern. Raises :class:`GoRegexpError`; ``MissingDependencyError`` without the extra ``re2``."""
    _compiled(pattern, ignore_case)
    return GoRegexp(pattern, ignore_case)


@lru_cache(maxsize=1024)
def _compiled(pattern: str, ignore_case: bool) -> Any:
    with importing(f"the regular expression {pattern!r} needs google-re2", extra="re2"):
        import re2
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not ignore_case
    options.max_mem = _MEMORY
    if r"\C" in _ESCAPES.findall(pattern):  # RE2 alone takes it for any byte
        raise GoRegexpError("invalid escape sequence", r"\C")
    try:
        return re2.compile(pattern, options)
    except UnicodeEncodeError:
        raise GoRegexpError("invalid UTF-8", pattern) from None
    except re2.error as fault:
        cause, _, part = fault.args[0].decode().partition(": ")
        raise GoRegexpError(_GO_CAUSES.get(cause, cause), part) from None
