"""Character classes of Go's regular expressions, as ascending ranges of code points.

In: the name of a class. Out: its ranges, their complement, or the text of a class of Python's ``re``. All are ASCII.
Source: the documentation of Go's package ``regexp/syntax``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Protocol

__all__ = [
    "LAST",
    "NAME_LENGTH",
    "PERL",
    "POSIX",
    "CostlyRegexpError",
    "GoRegexp",
    "GoRegexpError",
    "Ranges",
    "Translated",
    "Ways",
    "body",
    "compile_regexp",
    "complement",
    "translate",
]


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


NAME_LENGTH = 64
"""Characters of the longest name in TiDB, which limits an unbounded repetition."""

_COUNTLESS = 10**9


@dataclass
class Ways:
    """In how many ways a group can match: the previous branches, this branch, its last atom, and the part before that.

    ``repeats``: how often the counted repetitions in the group repeat an atom, one inside of the other.
    """

    branches: int = 0
    branch: int = 1
    atom: int = 1
    before: int = 1
    repeats: int = 1
    atom_repeats: int = 1

    def add(self, atom: int = 1, repeats: int = 1) -> None:
        self.before, self.atom, self.atom_repeats = self.branch, atom, repeats
        self.branch = min(self.branch * atom, _COUNTLESS)
        self.repeats = max(self.repeats, repeats)

    def end_branch(self) -> None:
        self.branches += self.branch
        self.branch = 1

    def repeat(self, low: int, high: int) -> None:
        """Repeat the last atom ``low`` to ``high`` times."""
        high = max(low, min(high, NAME_LENGTH))
        ways = high - low + 1 if self.atom == 1 else _COUNTLESS if high > 9 else high * self.atom**high
        self.branch = min(self.before * ways, _COUNTLESS)

    @property
    def all(self) -> int:
        return min(self.branches + self.branch, _COUNTLESS)


_MAX_REPEAT = 1000
_CONTROLS = {"a": 0x07, "f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_LETTERS_I = "iI\u0131\u0130"
_ASSERTIONS = {"A": r"(?:\A)", "z": r"(?:\Z)", "b": r"(?a:\b)", "B": r"(?!(?a:\b))"}

_NAMED_GROUP = re.compile(r"\(\?P?<[A-Za-z0-9_]+>")
_FLAGS = re.compile(r"\(\?(?P<on>[imsU]*)(?:-(?P<off>[imsU]+))?(?P<end>[:)])")
_UP_TO_WRONG_FLAG = re.compile(r"\(\?[imsU]*(?:-[imsU]*)?.?", re.DOTALL)
_REPEAT = re.compile(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
_POSIX_CLASS = re.compile(r"\[:(?P<not>\^?)(?P<name>[^\]]*?):\]")
_OCTAL = re.compile(r"0[0-7]{0,2}|[1-7][0-7]{1,2}")
_HEX = re.compile(r"x(?:\{([0-9A-Fa-f]+)\}|([0-9A-Fa-f]{2}))")


class GoRegexpError(ValueError):
    """A pattern that Go or Python cannot compile; ``str()`` begins like Go's message."""

    def __init__(self, cause: str, part: str) -> None:
        super().__init__(f"error parsing regexp: {cause}: `{part}`")


@dataclass(frozen=True)
class Translated:
    """A pattern of ``re``, and in how many ways it can match a name from one position."""

    regexp: re.Pattern[str]
    ways: int


def translate(pattern: str, *, ignore_case: bool = False) -> Translated:
    """Translate a Go pattern; ``ignore_case``: as if it began with ``(?i)``. Raises :class:`GoRegexpError`."""
    translation = _Translation(pattern, ignore_case)
    text = translation.run()
    try:
        return Translated(re.compile(text, re.IGNORECASE if ignore_case else 0), translation.ways)
    except (re.error, OverflowError, RecursionError) as fault:
        raise GoRegexpError(f"not supported ({fault})", pattern) from None


@dataclass(frozen=True)
class _Flags:
    i: bool
    m: bool = False
    s: bool = False


class _Translation:
    """One pass over a pattern; ``_at`` is the index of the next character."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._pattern = pattern
        self._at = 0
        self._outer = ignore_case
        self._flags = _Flags(ignore_case)
        self._enclosing: list[tuple[_Flags, Ways]] = []
        self._ways = Ways()
        self._out: list[str] = []
        self._repeatable = False
        self._repeated_from: int | None = None

    @property
    def ways(self) -> int:
        return self._ways.all

    def run(self) -> str:
        while self._at < len(self._pattern):
            self._step(self._pattern[self._at])
        if self._enclosing:
            raise GoRegexpError("missing closing )", self._pattern)
        return "".join(self._out)

    def _step(self, char: str) -> None:
        if char == "(":
            self._open()
        elif char == ")":
            if not self._enclosing:
                raise GoRegexpError("unexpected )", self._pattern)
            inner = self._ways
            self._flags, self._ways = self._enclosing.pop()
            self._atom(")", 1)
            self._ways.add(inner.all, inner.repeats)
        elif char == "|":
            self._plain("|", 1)
            self._ways.end_branch()
        elif char in "*+?":
            self._repeat(char, 1)
            self._ways.repeat(int(char == "+"), 1 if char == "?" else NAME_LENGTH)
        elif char == "{" and (found := _REPEAT.match(self._pattern, self._at)):
            low, comma, high = found.groups()
            if max(int(low), int(high or 0)) > _MAX_REPEAT or (high is not None and int(high) < int(low)):
                raise GoRegexpError("invalid repeat count", found.group())
            self._repeat(f"{{{low}{comma or ''}{high or ''}}}", len(found.group()))
            most = int(high) if high is not None else NAME_LENGTH if comma else int(low)
            self._count(int(low), most, int(high or low), found.group())
        elif char == "[":
            self._class()
        elif char == "\\":
            self._escape()
        elif char == ".":
            self._atom("(?s:.)" if self._flags.s else r"[^\n]", 1)
        elif char == "^":
            self._atom("(?m:^)" if self._flags.m else _ASSERTIONS["A"], 1)
        elif char == "$":
            self._atom("(?m:$)" if self._flags.m else _ASSERTIONS["z"], 1)
        else:
            self._atom(self._literal(char), 1)

    def _count(self, low: int, high: int, repeats: int, operator: str) -> None:
        repeats = max(repeats, 1) * self._ways.atom_repeats
        if repeats > _MAX_REPEAT:
            raise GoRegexpError("invalid repeat count", operator)
        self._ways.repeat(low, high)
        self._ways.repeats = max(self._ways.repeats, repeats)

    def _plain(self, text: str, width: int) -> None:
        """Emit what cannot be repeated."""
        self._out.append(text)
        self._at += width
        self._repeatable, self._repeated_from = False, None

    def _atom(self, text: str, width: int) -> None:
        self._plain(text, width)
        self._repeatable = True
        if text != ")":
            self._ways.add()

    def _cased(self, text: str) -> str:
        """Return ``text`` with the current value of the flag ``i``."""
        if self._flags.i == self._outer:
            return text
        return f"(?{'i' if self._flags.i else '-i'}:{text})"

    def _literal(self, char: str) -> str:
        if char in _LETTERS_I:
            return self._set(((ord(char), ord(char)),), negated=False)
        return self._cased(re.escape(char))

    def _set(self, ranges: Ranges, *, negated: bool) -> str:
        """Return one character of a set. When ignoring case, Python treats all letters i as equal; Go keeps ``ı`` and
        ``İ`` apart.
        """
        text = self._cased(f"[{'^' if negated else ''}{body(ranges)}]")
        if not self._flags.i:
            return text
        held = {char for char in _LETTERS_I if any(low <= ord(char) <= high for low, high in ranges)}
        held |= {"i", "I"} if held & {"i", "I"} else set()
        letters = "".join(char for char in _LETTERS_I if (char in held) != negated)
        others = f"(?-i:(?![{_LETTERS_I}])){text}"
        return f"(?:{others}|(?-i:[{letters}]))" if letters else f"(?:{others})"

    def _repeat(self, operator: str, width: int) -> None:
        end = self._at + width
        if self._pattern.startswith("?", end):
            end += 1
        if not self._repeatable:
            raise GoRegexpError("missing argument to repetition operator", self._pattern[self._at : end])
        if self._repeated_from is not None:
            raise GoRegexpError("invalid nested repetition operator", self._pattern[self._repeated_from : end])
        self._out.append(operator)
        self._repeated_from, self._at = self._at, end

    def _open(self) -> None:
        rest = self._pattern[self._at :]
        if not rest.startswith("(?"):
            width, flags = 1, self._flags
        elif match := _NAMED_GROUP.match(rest):
            width, flags = len(match.group()), self._flags
        elif match := _FLAGS.match(rest):
            width, flags = len(match.group()), self._changed(match["on"], match["off"] or "")
            if match["end"] == ")":
                self._flags = flags
                self._at += width
                return
        elif rest.startswith(("(?P<", "(?<")):
            name, closed, _ = rest.partition(">")
            raise GoRegexpError("invalid named capture", name + closed)
        else:
            raise GoRegexpError("invalid or unsupported Perl syntax", _UP_TO_WRONG_FLAG.findall(rest)[0])
        self._enclosing.append((self._flags, self._ways))
        self._flags, self._ways = flags, Ways()
        self._plain("(?:", width)

    def _changed(self, on: str, off: str) -> _Flags:
        # U swaps greedy and reluctant, which decides what is matched but not whether anything is
        changes = {flag: True for flag in on if flag != "U"} | {flag: False for flag in off if flag != "U"}
        return replace(self._flags, **changes)

    def _escape(self) -> None:
        kind = self._pattern[self._at + 1 : self._at + 2]
        if kind == "Q":
            quoted, _, _ = self._pattern[self._at + 2 :].partition("\\E")
            end = min(self._at + len(quoted) + 4, len(self._pattern))
            for char in quoted:
                self._atom(self._literal(char), 0)
            self._at = end
        elif kind in _ASSERTIONS:
            self._atom(_ASSERTIONS[kind], 2)
        elif kind and kind.lower() in PERL:
            self._atom(self._set(PERL[kind.lower()], negated=kind.isupper()), 2)
        else:
            code, end = self._character(self._at)
            self._atom(self._literal(chr(code)), end - self._at)

    def _class(self) -> None:
        start = self._at
        self._at += 1
        negated = self._pattern.startswith("^", self._at)
        self._at += negated
        ranges: list[tuple[int, int]] = []
        first = True
        while first or not self._pattern.startswith("]", self._at):
            if self._at >= len(self._pattern):
                raise GoRegexpError("missing closing ]", self._pattern[start:])
            ranges += self._member(start)
            first = False
        self._plain("", 1)
        self._atom(self._set(tuple(ranges), negated=negated), 0)

    def _member(self, start: int) -> Ranges:
        """Read one member of a class: a set by name, a range or a character."""
        match = _POSIX_CLASS.match(self._pattern, self._at)
        if match:
            known = POSIX.get(match["name"])
            if known is None:
                raise GoRegexpError("invalid character class range", match.group())
            self._at = match.end()
            return complement(known) if match["not"] else known
        kind = self._pattern[self._at + 1 : self._at + 2] if self._pattern[self._at] == "\\" else ""
        if kind and kind.lower() in PERL:
            self._at += 2
            known = PERL[kind.lower()]
            return complement(known) if kind.isupper() else known
        begin = self._at
        low = high = self._class_character(start)
        if self._pattern.startswith("-", self._at) and not self._pattern.startswith("-]", self._at):
            self._at += 1
            high = self._class_character(start)
        if high < low:
            raise GoRegexpError("invalid character class range", self._pattern[begin : self._at])
        return ((low, high),)

    def _class_character(self, start: int) -> int:
        if self._at >= len(self._pattern):
            raise GoRegexpError("missing closing ]", self._pattern[start:])
        if self._pattern[self._at] != "\\":
            self._at += 1
            return ord(self._pattern[self._at - 1])
        code, self._at = self._character(self._at)
        return code

    def _character(self, start: int) -> tuple[int, int]:
        """Return the code point of the escape at ``start``, and the index after it."""
        place = start + 1
        char = self._pattern[place : place + 1]
        if not char:
            raise GoRegexpError("trailing backslash at end of expression", "")
        if char in "pP":
            raise GoRegexpError("Unicode classes are not supported", f"\\{char}")
        if char in _CONTROLS:
            return _CONTROLS[char], place + 1
        if char.isascii() and not char.isalnum():
            return ord(char), place + 1
        if match := _OCTAL.match(self._pattern, place):
            return int(match.group(), 8), match.end()
        if (match := _HEX.match(self._pattern, place)) and (code := int(match[1] or match[2], 16)) <= LAST:
            return code, match.end()
        raise GoRegexpError("invalid escape sequence", self._pattern[start : place + 1])


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

    Raises :class:`~ticdc_emit.routing.regexp.GoRegexpError` for one that Go refuses, :class:`CostlyRegexpError` for
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
