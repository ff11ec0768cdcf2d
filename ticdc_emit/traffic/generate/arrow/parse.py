"""Parse the expressions of Spark SQL that the generator writes.

In: the text of one expression, with or without ``as name``. Out: :class:`Node`. Only the generator's syntax is
supported. Equal parts of the expressions that one :class:`Parser` reads share one node, so they are computed once. Rule
source of the precedences: ``valueExpression`` in Spark's ``SqlBaseParser.g4``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ticdc_emit.traffic.needs_spark import NeedsSparkError

__all__ = ["Node", "Parser"]

_TOKEN = re.compile(
    r"\s*(?:"
    r"(?P<typed>(?:timestamp_ntz|date|X)'(?:[^'\\]|\\.)*')"
    r"|(?P<string>'(?:[^'\\]|\\.)*')"
    r"|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?:BD|L|D)?)"
    r"|(?P<name>[A-Za-z_]\w*|`(?:[^`]|``)*`)"
    r"|(?P<sign>->|<=|>=|<>|[-+*/%&|=<>(),])"
    r")",
    re.DOTALL,
)
_LEVELS = (
    ("or",),
    ("and",),
    ("=", "<>", "<", "<=", ">", ">="),
    ("|",),
    ("&",),
    ("+", "-"),
    ("*", "/", "%", "div"),
)
_NOT_LEVEL = 2  # `not` binds less than a comparison


@dataclass(frozen=True, eq=False)
class Node:
    """``kind``: ``column``, ``number``, ``string``, ``typed``, ``null``, ``cast``, ``case``, an operator, or the name
    of a function. ``value``: the name, literal or type. ``parts``: operands.
    """

    kind: str
    value: str
    parts: tuple[Node, ...]


class Parser:
    """Reads expressions. Raises :class:`NeedsSparkError` for unknown syntax."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Node] = {}
        self._tokens: list[tuple[str, str]] = []
        self._at = 0

    def layer(self, expressions: list[str]) -> dict[str, Node]:
        """Return the expressions of one ``SELECT`` by their names."""
        return dict(map(self._named, expressions))

    def _named(self, text: str) -> tuple[str, Node]:
        self._tokens, self._at = _tokens(text), 0
        node = self._expression()
        name = _unquoted(self._take()[1]) if self._skip("as") else node.value
        if self._at < len(self._tokens):
            raise NeedsSparkError(f"{self._peek()!r} was not expected")
        return name, node

    def _expression(self, level: int = 0) -> Node:
        if level == len(_LEVELS):
            return self._signed()
        if level == _NOT_LEVEL and self._skip("not"):
            return self._node("not", "", self._expression(level))
        left = self._expression(level + 1)
        while (sign := self._peek()) in _LEVELS[level]:
            self._at += 1
            left = self._node(sign, "", left, self._expression(level + 1))
        if level == _NOT_LEVEL and self._skip("is"):
            self._expect("null")
            left = self._node("is null", "", left)
        return left

    def _signed(self) -> Node:
        if not self._skip("-"):
            return self._primary()
        operand = self._signed()
        if operand.kind == "number":
            return self._node("number", f"-{operand.value}")
        return self._node("negative", "", operand)

    def _primary(self) -> Node:
        kind, text = self._take()
        if kind in ("string", "typed", "number"):
            return self._node(kind, text)
        if text == "(":
            inside = self._expression()
            self._expect(")")
            return inside
        if kind != "name":
            raise NeedsSparkError(f"{text!r} was not expected")
        if text == "null":
            return self._node("null", "")
        if text == "case":
            return self._case()
        if text == "MICROSECOND":
            return self._node("string", f"'{text}'")
        if not self._skip("("):
            return self._node("column", _unquoted(text))
        if text == "cast":
            return self._cast()
        if text == "zip_with":
            return self._first_of_zip()
        arguments: list[Node] = []
        while not self._skip(")"):
            arguments.append(self._expression())
            if self._peek() != ")":
                self._expect(",")
        return self._node(text, "", *arguments)

    def _case(self) -> Node:
        """Return pairs of a condition and a value, and the value of ELSE."""
        subject = None if self._peek() == "when" else self._expression()
        parts: list[Node] = []
        while self._skip("when"):
            condition = self._expression()
            self._expect("then")
            parts += [condition if subject is None else self._node("=", "", subject, condition), self._expression()]
        parts.append(self._expression() if self._skip("else") else self._node("null", ""))
        self._expect("end")
        return self._node("case", "", *parts)

    def _cast(self) -> Node:
        operand = self._expression()
        self._expect("as")
        words: list[str] = []
        depth = 0
        while depth or self._peek() != ")":
            word = self._take()[1]
            depth += (word == "(") - (word == ")")
            words.append(word)
        self._expect(")")
        return self._node("cast", "".join(words), operand)

    def _first_of_zip(self) -> Node:
        """Return the first list of ``zip_with(a, b, (x, y) -> x)``, which is its value."""
        first = self._expression()
        self._expect(",")
        self._expression()
        for sign in (",", "(", "x", ",", "y", ")", "->", "x", ")"):
            self._expect(sign)
        return first

    def _node(self, kind: str, value: str, *parts: Node) -> Node:
        return self._known.setdefault((kind, value, *map(id, parts)), Node(kind, value, parts))

    def _peek(self) -> str:
        return self._tokens[self._at][1] if self._at < len(self._tokens) else ""

    def _take(self) -> tuple[str, str]:
        if self._at == len(self._tokens):
            raise NeedsSparkError("the expression ends early")
        self._at += 1
        return self._tokens[self._at - 1]

    def _skip(self, word: str) -> bool:
        is_next = self._peek() == word
        self._at += is_next
        return is_next

    def _expect(self, word: str) -> None:
        if not self._skip(word):
            raise NeedsSparkError(f"{word!r} was expected, not {self._peek()!r}")


def _tokens(text: str) -> list[tuple[str, str]]:
    tokens: list[tuple[str, str]] = []
    at = 0
    while at < len(text.rstrip()):
        match = _TOKEN.match(text, at)
        if match is None:
            raise NeedsSparkError(f"{text[at : at + 20]!r} was not expected")
        tokens.append((str(match.lastgroup), match[str(match.lastgroup)]))
        at = match.end()
    return tokens


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name
