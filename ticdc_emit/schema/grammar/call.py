"""Calls of functions, each by its own rule. Tokens in, the nodes of :mod:`~ticdc_emit.schema.nodes.calls` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``FunctionCallKeyword``, ``FunctionCallNonKeyword``,
``FunctionCallGeneric``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from ticdc_emit.schema.grammar.cast import CastGrammar
from ticdc_emit.schema.grammar.time_call import TimeCallGrammar
from ticdc_emit.schema.nodes import calls, expressions
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.reserved import RESERVED_WORDS, UNRESERVED_WORDS

__all__ = ["CallGrammar"]

_WITHOUT_RULES = frozenset(
    """
    ASCII CHARSET COALESCE COLLATION DATE DATABASE SCHEMA DAY HOUR IF INTERVAL LOG FORMAT LEFT MICROSECOND MINUTE MONTH
    PASSWORD POINT QUARTER REPEAT REPLACE REVERSE RIGHT ROW_COUNT SECOND TIME TIMESTAMP TRUNCATE USER WEEK YEAR COMPRESS
    """.split()  # noqa: SIM905 (a table of words)
)
_MAYBE_PARENTHESES = ("CURRENT_USER", "CURRENT_DATE", "CURRENT_ROLE", "UTC_DATE", "TIDB_CURRENT_TSO")
_MAYBE_PRECISION = ("CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP", "UTC_TIME", "UTC_TIMESTAMP")
_RENAMED = {"INSERT": "INSERT_FUNC"}


class CallGrammar(TimeCallGrammar):
    def _call(self) -> Node | None:
        """Consume a call, or a keyword that is one without parentheses, if one follows."""
        if self._curr.kind == "call":
            aggregate = self._aggregate()
            return aggregate if aggregate is not None else self._call_rule()
        word = self._word_at()
        if self._symbol_at("(", 1):
            rule = self._RULES.get(word)
            if rule is not None:
                return rule(self)
            if word in _WITHOUT_RULES or word in _RENAMED:
                return self._plain_call(_RENAMED.get(word, ""))
            if (aggregate := self._aggregate()) is not None:
                return aggregate
            if self._at_plain_name():
                return self._plain_call()
        if word in _MAYBE_PARENTHESES:
            return self._bare_call(precision=False)
        if word in _MAYBE_PRECISION:
            return self._bare_call(precision=True)
        if word in ("DATE", "TIME", "TIMESTAMP") and self._peek().kind == "string":
            self._advance()
            return calls.TemporalLiteral(word, Constant("string", self._string()))
        return self._odd_call(word)

    def _odd_call(self, word: str) -> Node | None:
        if word == "CASE":
            return self._case()
        if word == "EXISTS":
            self._advance()
            return expressions.Exists(self._subselect())
        if word == "NEXT" and self._word_at(1) == "VALUE" and self._word_at(2) == "FOR":
            return self._next_value()
        if self._curr.kind == "name" and self._symbol_at(".", 1) and self._symbol_at("(", 3):
            schema = self._name()
            self._advance()
            name = self._name("a function")
            is_word = name.upper() in RESERVED_WORDS or name.upper() in UNRESERVED_WORDS
            return calls.QualifiedCall(schema, name, is_word, self._arguments())
        return None

    def _arguments(self) -> tuple[Node, ...]:
        self._expect_symbol("(")
        if self._accept_symbol(")"):
            return ()
        arguments = self._expressions()
        self._expect_symbol(")")
        return arguments

    def _plain_call(self, name: str = "") -> Node:
        name = name or self._curr.value
        self._advance()
        arguments = self._arguments()
        if name.upper() == "JSON_MEMBEROF" and len(arguments) == 2:  # TiDB's name for the operator
            return calls.MemberOf(*arguments)
        return calls.Call(name, arguments)

    def _bare_call(self, *, precision: bool) -> Node:
        name = self._curr.value
        self._advance()
        if not self._accept_symbol("("):
            return calls.Call(name)
        arguments: tuple[Node, ...] = ()
        if precision and not self._symbol_at(")"):
            arguments = (Constant("integer", str(self._integer("a precision"))),)
        self._expect_symbol(")")
        return calls.Call(name, arguments)

    def _next_value(self) -> Node:
        if self._accept("NEXT", "VALUE", "FOR"):
            return calls.Call("NEXTVAL", (self._table_name(),))
        self._advance()
        return calls.Call("NEXTVAL", (self._in_parentheses(self._table_name),))

    # -- calls that have a grammar -------------------------------------------------------------------------------

    def _call_rule(self) -> Node:
        rule = self._RULES.get(self._curr.text)
        if rule is None:
            self._fail("expected an expression")
        return rule(self)

    def _now_call(self) -> Node:
        return self._plain_call()

    def _no_arguments(self) -> Node:
        name = self._opened()
        self._expect_symbol(")")
        return calls.Call(name)

    def _position_call(self) -> Node:
        name = self._opened()
        needle = self._bit_expression()
        self._expect("IN")
        return self._closed(name, needle, calls.Word("IN"), self._expression())

    def _substring(self) -> Node:
        name = self._opened()
        arguments = [self._expression()]
        word = "FOR" if self._accept("FROM") else ""
        if not word:
            self._expect_symbol(",")
        arguments.append(self._expression())
        if self._accept(word) if word else self._accept_symbol(","):
            arguments.append(self._expression())
        self._expect_symbol(")")
        return calls.Call(name, tuple(arguments))

    def _trim(self) -> Node:
        name = self._opened()
        pieces: list[Node] = []
        if direction := self._accept_any("BOTH", "LEADING", "TRAILING"):
            pieces.append(calls.Word(direction))
            pieces.append(self._constant_string(" ") if self._word_at() == "FROM" else self._expression())
            self._expect("FROM")
            pieces += [calls.Word("FROM"), self._expression()]
        else:
            pieces.append(self._expression())
            if self._accept("FROM"):
                pieces += [calls.Word("FROM"), self._expression()]
        return self._closed(name, *pieces)

    def _translate(self) -> Node:
        return self._counted_call(3)

    def _counted_call(self, count: int) -> Node:
        node = self._plain_call()
        assert isinstance(node, calls.Call)
        if len(node.arguments) != count:
            self._fail(f"expected {count} arguments", self._prev)
        return node

    def _modulo(self) -> Node:
        self._opened()
        left = self._expression()
        self._expect_symbol(",")
        right = self._expression()
        self._expect_symbol(")")
        return expressions.Binary(left, (("%", right),))

    def _char(self) -> Node:
        self._opened()
        arguments = self._expressions()
        last = Constant("null")
        if self._accept("USING"):
            last = Constant("string", self._charset_name())
        self._expect_symbol(")")
        return calls.Call("CHAR_FUNC", (*arguments, last))

    def _weight_string(self) -> Node:
        name = self._opened()
        value = self._expression()
        if not self._accept("AS"):
            return self._closed(name, value)
        word = self._expect_any("CHAR", "CHARACTER", "BINARY")
        length = self._in_parentheses(self._integer)
        kind = calls.CastType("BINARY" if word == "BINARY" else "CHAR", (length,))
        return self._closed(name, value, calls.Word("AS"), kind)

    def _sequence_call(self) -> Node:
        if self._word_at() == "NEXTVAL":
            return self._next_value()
        is_set = self._word_at() == "SETVAL"
        name = self._opened()
        arguments: tuple[Node, ...] = (self._table_name(),)
        if is_set:
            self._expect_symbol(",")
            sign = "-" if self._accept_symbol("-") else ""
            if not sign:
                self._accept_symbol("+")
            arguments += (Constant("integer", sign + str(self._integer())),)
        self._expect_symbol(")")
        return calls.Call("SETVAL" if is_set else name, arguments)

    def _default_call(self) -> Node:
        self._advance()
        return expressions.Default(self._in_parentheses(self._column))

    def _values_call(self) -> Node:
        self._advance()
        return expressions.Values(self._in_parentheses(self._column))

    def _row_call(self) -> Node:
        self._advance()
        members = self._parenthesised_expressions()
        if len(members) == 1:
            self._fail("a row has two columns or more", self._prev)
        return expressions.Row(members)

    def _case(self) -> Node:
        self._advance()
        operand = None if self._word_at() == "WHEN" else self._expression()
        whens: list[tuple[Node, Node]] = []
        while self._accept("WHEN"):
            condition = self._expression()
            self._expect("THEN")
            whens.append((condition, self._expression()))
        if not whens:
            self._fail("expected WHEN")
        otherwise = self._expression() if self._accept("ELSE") else None
        self._expect("END")
        return expressions.Case(operand, tuple(whens), otherwise)

    _RULES: ClassVar[dict[str, Callable[[CallGrammar], Node]]] = {
        "ADDDATE": TimeCallGrammar._date_arithmetic,
        "CAST": CastGrammar._cast,
        "CHAR": _char,
        "CONVERT": CastGrammar._convert,
        "CURDATE": _no_arguments,
        "CURTIME": TimeCallGrammar._precise_time,
        "DATE_ADD": TimeCallGrammar._date_arithmetic,
        "DATE_SUB": TimeCallGrammar._date_arithmetic,
        "DEFAULT": _default_call,
        "EXTRACT": TimeCallGrammar._extract,
        "GET_FORMAT": TimeCallGrammar._get_format,
        "JSON_SUM_CRC32": CastGrammar._cast,
        "LASTVAL": _sequence_call,
        "MID": _substring,
        "MOD": _modulo,
        "NEXTVAL": _sequence_call,
        "NOW": _now_call,
        "POSITION": _position_call,
        "ROW": _row_call,
        "SETVAL": _sequence_call,
        "SUBDATE": TimeCallGrammar._date_arithmetic,
        "SUBSTR": _substring,
        "SUBSTRING": _substring,
        "SYSDATE": TimeCallGrammar._precise_time,
        "TIMESTAMPADD": TimeCallGrammar._timestamp_call,
        "TIMESTAMPDIFF": TimeCallGrammar._timestamp_call,
        "TRANSLATE": _translate,
        "TRIM": _trim,
        "VALUES": _values_call,
        "WEIGHT_STRING": _weight_string,
    }
