"""Calls in an expression: functions with their own grammar (CAST, TRIM, EXTRACT ...) and those with plain arguments.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``FunctionCallKeyword``, ``FunctionCallNonKeyword``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

from ticdc_emit.schema.inference.cast_types import cast_type
from ticdc_emit.schema.inference.cursor import Cursor
from ticdc_emit.schema.inference.syntax import Call, Cast, CastType, Constant, Node
from ticdc_emit.schema.inference.times import CLOCK_UNITS, DATE_UNITS
from ticdc_emit.schema.types import MySQLType

__all__ = ["CallParser"]

_UNITS = CLOCK_UNITS | DATE_UNITS
_DATE_ARITHMETIC = ("DATE_ADD", "DATE_SUB", "ADDDATE", "SUBDATE")
_CONSTANTS = {"NULL": None, "TRUE": True, "FALSE": False}
_NOW = ("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "CURRENT_USER")
_TRIM_SIDES = ("BOTH", "LEADING", "TRAILING")


class CallParser(Cursor, ABC):
    """The rules for calls; those for operators are the subclass's."""

    @abstractmethod
    def expression(self) -> Node: ...

    @abstractmethod
    def primary(self) -> Node: ...

    @abstractmethod
    def bit_expression(self, level: int = 0) -> Node: ...

    def arguments(self) -> tuple[Node, ...]:
        """Step over ``(a, b, ...)``."""
        self.expect("(")
        if self.accept(")"):
            return ()
        nodes = [self.expression()]
        while self.accept(","):
            nodes.append(self.expression())
        self.expect(")")
        return tuple(nodes)

    def interval(self) -> tuple[Node, Constant]:
        """Step over ``INTERVAL amount UNIT``."""
        self.expect("INTERVAL")
        return self.expression(), self._unit()

    def _unit(self) -> Constant:
        unit = self.token.text.removeprefix("SQL_TSI_")
        if self.token.kind != "word" or unit not in _UNITS:
            self.fail("expected a unit of time")
        self.advance()
        return Constant(unit)

    def word_call(self) -> Node | None:
        """Step over a keyword that is an operand, or a call; ``None`` if the word is the name of a column."""
        word = self.token.text
        if word in _CONSTANTS:
            self.advance()
            return Constant(_CONSTANTS[word])
        if word == "CASE":
            return self._case()
        if word == "BINARY":
            self.advance()
            return Cast(self.primary(), CastType(MySQLType.VAR_STRING, charset="binary"))
        if word in _NOW:
            return self._now(word)
        if self.peek().text != "(":
            return None
        self.advance()
        if special := _SPECIAL.get(word):
            self.expect("(")
            node = special(self, word)
            self.expect(")")
            return node
        return Call(word.lower(), self.arguments())

    def _now(self, word: str) -> Node:
        if self.advance().text == "(":
            self.arguments()
        return Call(word.lower(), ())

    def _case(self) -> Node:
        self.expect("CASE")
        subject = None if self.token.text == "WHEN" else self.expression()
        nodes: list[Node] = []
        while self.accept("WHEN"):
            condition = self.expression()
            nodes.append(condition if subject is None else Call("=", (subject, condition)))
            self.expect("THEN")
            nodes.append(self.expression())
        if self.accept("ELSE"):
            nodes.append(self.expression())
        self.expect("END")
        return Call("case", tuple(nodes))

    def _cast(self, _: str) -> Node:
        node = self.expression()
        self.expect("AS")
        return Cast(node, cast_type(self, may_be_array=True))

    def _convert(self, _: str) -> Node:
        node = self.expression()
        if self.accept("USING"):
            return Call("convert_using", (node, Constant(self.charset_name())))
        self.expect(",")
        return Cast(node, cast_type(self, may_be_array=False))

    def _date_arithmetic(self, word: str) -> Node:
        date = self.expression()
        self.expect(",")
        if self.token.text == "INTERVAL" and self.peek().text != "(":
            return Call("date_add", (date, *self.interval()))
        if self.token.text == "INTERVAL":
            position = self._position
            self.advance()
            amount = self.expression()
            if self.token.text in _UNITS:
                return Call("date_add", (date, amount, self._unit()))
            self._position = position
        if word in ("DATE_ADD", "DATE_SUB"):
            self.fail("expected INTERVAL")
        return Call("date_add", (date, self.expression(), Constant("DAY")))

    def _timestamp_arithmetic(self, word: str) -> Node:
        nodes: list[Node] = [self._unit()]
        for _ in range(2):
            self.expect(",")
            nodes.append(self.expression())
        return Call(word.lower(), tuple(nodes))

    def _extract(self, _: str) -> Node:
        unit = self._unit()
        self.expect("FROM")
        return Call("extract", (unit, self.expression()))

    def _trim(self, _: str) -> Node:
        side = self.accept_any(*_TRIM_SIDES)
        if side and self.accept("FROM"):
            return Call("trim", (self.expression(), Constant(" "), Constant(_TRIM_SIDES.index(side))))
        node = self.expression()
        if not self.accept("FROM"):
            if side:
                self.fail("expected FROM")
            return Call("trim", (node,))
        return Call("trim", (self.expression(), node, Constant(_TRIM_SIDES.index(side or "BOTH"))))

    def _substring(self, _: str) -> Node:
        nodes = [self.expression()]
        for word in ("FROM", "FOR"):
            if self.accept(word) or self.accept(","):
                nodes.append(self.expression())
        return Call("substr", tuple(nodes))

    def _position_of(self, _: str) -> Node:
        needle = self.bit_expression()
        self.expect("IN")
        return Call("locate", (needle, self.expression()))

    def _char(self, _: str) -> Node:
        nodes = [self.expression()]
        while self.accept(","):
            nodes.append(self.expression())
        using = self.charset_name() if self.accept("USING") else None
        return Call("char", (*nodes, Constant(using)))


_SPECIAL: Mapping[str, Callable[[CallParser, str], Node]] = {
    "CAST": CallParser._cast,
    "CHAR": CallParser._char,
    "CONVERT": CallParser._convert,
    "EXTRACT": CallParser._extract,
    "POSITION": CallParser._position_of,
    "SUBSTR": CallParser._substring,
    "SUBSTRING": CallParser._substring,
    "TIMESTAMPADD": CallParser._timestamp_arithmetic,
    "TIMESTAMPDIFF": CallParser._timestamp_arithmetic,
    "TRIM": CallParser._trim,
} | dict.fromkeys(_DATE_ARITHMETIC, CallParser._date_arithmetic)
