"""TiDB's filters of tables and columns: ``shop.*``, ``!*.tmp_[0-9]``, ``/^t\\d+$/.x``, ``"quoted".`name```.

The last pattern that matches decides. Regular expressions and character classes need the extra ``re2``.
Source: ``pkg/util/table-filter`` of pingcap/tidb.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from ticdc_emit.config.document import refused
from ticdc_emit.sql.regexp import GoRegexp, GoRegexpError, compile_regexp
from ticdc_emit.sql.words import to_lower


class _Mark(Enum):
    STAR = "*"
    ONE = "?"
    END = "$"
    """TiDB passes an unescaped ``$`` on to a regular expression, so it is the end of the name there."""


@dataclass(frozen=True)
class _Wildcards:
    """A pattern with wildcards. A token is a mark, a letter, or the regular expression of a class of characters.

    One number's bits are the positions that the name so far can reach, so the time is linear in its length.
    """

    tokens: tuple[_Mark | str | GoRegexp, ...]
    ignore_case: bool

    def search(self, name: str) -> bool:
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
            token = self.tokens[place] if place < len(self.tokens) else _Mark.END
            if token is _Mark.STAR:
                moved |= 1 << place
            elif token is _Mark.ONE or (not isinstance(token, _Mark) and self._holds(token, char)):
                moved |= 2 << place
        return moved

    def _holds(self, token: str | GoRegexp, char: str) -> bool:
        if isinstance(token, GoRegexp):
            return token.search(char)
        return token == char or (self.ignore_case and token.casefold() == char.casefold())

    def _skipped(self, places: int, *, at_end: bool) -> int:
        for place, token in enumerate(self.tokens):
            if places >> place & 1 and (token is _Mark.STAR or (token is _Mark.END and at_end)):
                places |= 2 << place
        return places


Matcher: TypeAlias = "str | GoRegexp | _Wildcards | None"
"""A literal name, a pattern, or ``None`` for every name."""

_REGEXP = re.compile(r"/(?:\\.|\\(?=\n)|[^/\\])+/")
_QUOTED = {'"': re.compile(r'"(?:""|[^"])+"'), "`": re.compile(r"`(?:``|[^`])+`")}
_RANGE = re.compile(r"\[!?(?:\\[^0-9a-zA-Z]|[^\\\]])+\]")
_EVERYTHING = "(?s)^.*$"


class _SyntaxError(ValueError):
    """A rule that TiDB refuses; ``str()`` is TiDB's message."""


@dataclass(frozen=True)
class _Rule:
    matchers: tuple[Matcher, ...]
    positive: bool


@dataclass(frozen=True)
class TableFilter:
    """Accepts tables by schema and table name."""

    rules: tuple[_Rule, ...]
    """The rules, last first."""
    case_sensitive: bool

    @classmethod
    def parse(cls, patterns: Sequence[str], *, case_sensitive: bool, option: str = "matcher") -> TableFilter:
        """Read the rules of ``option``; :class:`~ticdc_emit.errors.ConfigError` for a wrong one."""
        return cls(_parse(patterns, not case_sensitive, option), case_sensitive)

    def matches(self, schema: str, table: str) -> bool:
        """Return whether the rules accept a table."""
        return _accepted(self.rules, (schema, table) if self.case_sensitive else (to_lower(schema), to_lower(table)))

    def matches_schema(self, schema: str) -> bool:
        """Return whether the rules accept a schema: a rule names it, and no later rule refuses all of its tables."""
        name = schema if self.case_sensitive else to_lower(schema)
        for rule in self.rules:
            if _matches(rule.matchers[0], name) and (rule.positive or rule.matchers[1] is None):
                return rule.positive
        return False


@dataclass(frozen=True)
class ColumnFilter:
    """Accepts columns by name, ignoring case."""

    rules: tuple[_Rule, ...]
    """The rules, last first."""

    @classmethod
    def parse(cls, patterns: Sequence[str]) -> ColumnFilter:
        """Read rules; :class:`~ticdc_emit.errors.ConfigError` (CDC:ErrFilterRuleInvalid) for a wrong one."""
        return cls(_parse(patterns, True, "columns"))

    def matches(self, name: str) -> bool:
        """Return whether the rules accept a column."""
        return _accepted(self.rules, (to_lower(name),))


def _accepted(rules: tuple[_Rule, ...], names: tuple[str, ...]) -> bool:
    for rule in rules:
        if all(map(_matches, rule.matchers, names)):
            return rule.positive
    return False


def _matches(matcher: Matcher, name: str) -> bool:
    if matcher is None:
        return True
    return matcher == name if isinstance(matcher, str) else matcher.search(name)


def _parse(patterns: Sequence[str], ignore_case: bool, option: str) -> tuple[_Rule, ...]:
    rules = []
    try:
        for pattern in patterns:
            line = pattern.strip(" \t")
            if line.startswith("@"):
                raise _SyntaxError("importing filter files is not allowed")
            if line and not line.startswith("#"):
                positive = not line.startswith("!")
                rule = line if positive else line[1:]
                matchers = _column_matcher(rule) if option == "columns" else _table_matchers(rule, ignore_case)
                rules.append(_Rule(matchers, positive))
    except _SyntaxError as fault:
        # TiDB counts lines in files only: every rule of a changefeed is line 1
        text = f"filter rule is invalid [{' '.join(patterns)}]: at <cmdline>:1: {fault}"
        remedy = "A rule is a column pattern" if option == "columns" else "The syntax is that of TiDB's table filter"
        raise refused("ErrFilterRuleInvalid", text, option=option, remedy=remedy) from None
    return tuple(reversed(rules))


def _table_matchers(line: str, ignore_case: bool) -> tuple[Matcher, ...]:
    schema, rest = _pattern(line, ignore_case, dotted=True)
    if not rest:
        raise _SyntaxError("wrong table pattern")
    if rest[0] != ".":
        raise _SyntaxError("syntax error: missing '.' between schema and table patterns")
    table, rest = _pattern(rest[1:], ignore_case, dotted=True)
    if rest:
        raise _SyntaxError("syntax error: stray characters after table pattern")
    return schema, table


def _column_matcher(line: str) -> tuple[Matcher, ...]:
    column, rest = _pattern(line, True, dotted=False)
    if rest:
        raise _SyntaxError("syntax error: stray characters after column pattern")
    return (column,)


def _pattern(line: str, ignore_case: bool, *, dotted: bool) -> tuple[Matcher, str]:
    """Read one pattern; return it and the rest of the line. ``dotted``: a dot ends it."""
    if not line:
        raise _SyntaxError("syntax error: missing pattern")
    if line[0] == "/":
        end = _end_of_regexp(line)
        if not end:
            raise _SyntaxError("syntax error: incomplete regexp")
        regexp = line[1 : end - 1]
        return None if regexp == _EVERYTHING else _compiled(regexp, ignore_case), line[end:]
    if line[0] in _QUOTED:
        mark = line[0]
        found = _QUOTED[mark].match(line)
        if found is None:
            raise _SyntaxError("syntax error: incomplete quoted identifier")
        name = found.group()[1:-1].replace(mark * 2, mark)
        return to_lower(name) if ignore_case else name, line[found.end() :]
    return _wildcards(line, ignore_case, dotted=dotted)


def _end_of_regexp(line: str) -> int:
    """Return the end of ``/.../``: the first unescaped slash, else the last one, as TiDB's expression, or 0."""
    match = _REGEXP.match(line)
    if match is not None:
        return match.end()
    last = line.rfind("/")
    return last + 1 if last > 1 and line[1] != "/" else 0


def _wildcards(line: str, ignore_case: bool, *, dotted: bool) -> tuple[Matcher, str]:
    literal, regexp = "", "(?s)^"
    tokens: list[_Mark | str] = []
    classes: dict[int, str] = {}
    place = 0
    while place < len(line):
        char, width = line[place], 1
        if char == "." and dotted:
            break
        if char == "\\":
            char, width = _escaped(line[place + 1 :]), 2
            literal += char
            tokens.append(char)
            regexp += f"\\{char}" if char.isascii() else char
        elif char in "*?":
            if char == "?" or tokens[-1:] != [_Mark.STAR]:
                tokens.append(_Mark(char))
            regexp += ".*" if char == "*" else "."
        elif char == "[":
            match = _RANGE.match(line, place)
            if match is None:
                raise _SyntaxError("syntax error: failed to parse character class")
            width = len(match.group())
            classes[len(tokens)] = _character_class(match.group())
            regexp += classes[len(tokens)]
            tokens.append(char)
        elif char in "$_" or char.isalnum() or not char.isascii():
            literal += char
            regexp += char
            tokens.append(_Mark.END if char == "$" else char)
        else:
            raise _SyntaxError(f"unexpected special character '{char}'")
        place += width
    if not classes and not {_Mark.STAR, _Mark.ONE}.intersection(tokens):
        return to_lower(literal) if ignore_case else literal, line[place:]
    if tokens == [_Mark.STAR]:
        return None, line[place:]
    if classes:  # checked as one regular expression, as in TiDB
        _compiled(regexp + "$", ignore_case)
    parts = (_compiled(f"(?s)^{classes[i]}$", ignore_case) if i in classes else token for i, token in enumerate(tokens))
    return _Wildcards(tuple(parts), ignore_case), line[place:]


def _escaped(rest: str) -> str:
    if not rest:
        raise _SyntaxError("syntax error: cannot place \\ at end of line")
    if rest[0].isascii() and rest[0].isalnum():
        raise _SyntaxError(f"cannot escape a letter or number (\\{rest[0]}), it is reserved for future extension")
    return rest[0]


def _character_class(text: str) -> str:
    """Return ``[...]`` of wildcards as a regular expression: ``!`` negates, ``^`` is an ordinary character."""
    if text[1] == "!":
        return f"[^{text[2:]}"
    return rf"[\^{text[2:]}" if text[1] == "^" else text


def _compiled(regexp: str, ignore_case: bool) -> GoRegexp:
    try:
        return compile_regexp(regexp, ignore_case=ignore_case)
    except GoRegexpError as fault:
        raise _SyntaxError(f"invalid pattern: {fault}") from None
