"""Default values and constants. Tokens in, syntax trees with their values out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``DefaultValueExpr``, ``SignedLiteral``, ``NowSymOptionFraction``).
"""

from __future__ import annotations

from decimal import Decimal

from ticdc_emit.schema.grammar.query import QueryGrammar
from ticdc_emit.schema.nodes.calls import Call
from ticdc_emit.schema.nodes.columns import ComputedOption
from ticdc_emit.schema.nodes.expressions import ColumnName, Unary
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.style import Node
from ticdc_emit.schema.nodes.values import DefaultExpression, Expression, Literal, negated

__all__ = ["LiteralGrammar"]

_NOW_WORDS = ("CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP")


class LiteralGrammar(QueryGrammar):
    # -- defaults ------------------------------------------------------------------------------------------------

    def _default(self) -> ComputedOption:
        """DEFAULT has been consumed."""
        start = self._curr
        opened = 0
        while self._symbol_at("("):
            self._advance()
            opened += 1
        value, node = self._default_value(opened)
        for _ in range(opened):
            self._expect_symbol(")")
        if value is None:
            self._fail("expected a default value", start)
        in_parentheses = (isinstance(node, Call) and node.name != "CURRENT_TIMESTAMP") or isinstance(node, ColumnName)
        return ComputedOption("default", value, node, in_parentheses)

    def _default_value(self, opened: int) -> tuple[Literal | DefaultExpression | None, Node]:
        moment = self._moment()
        if moment is not None:
            return moment
        start = self._curr
        if self._at_words("NEXT", "VALUE", "FOR") or (self._at_words("NEXTVAL") and self._symbol_at("(", 1)):
            node = self._next_value()
            return DefaultExpression("call", text=self._text_from(start.start)), node
        if self._symbol_at("(", 1) and (self._at_plain_name() or self._at_words("REPLACE")):
            node = self._plain_call()
            return DefaultExpression("call", text=self._text_from(start.start)), node
        signed = self._signed_literal() if opened <= 1 else None
        if signed is not None:
            return datum_of(signed), signed
        if opened != 1:
            self._fail("expected a default value")
        name = self._name("a default value")
        return DefaultExpression("call", text=name), ColumnName((name,))

    def _as_default(self, expression: Expression) -> DefaultExpression:
        """The value of an expression that ALTER COLUMN sets as the default."""
        node = expression.node
        if isinstance(node, Call) and node.name.upper() in ("CURRENT_TIMESTAMP", "NOW", *_NOW_WORDS):
            fsp = node.arguments[0] if node.arguments else None
            return DefaultExpression("now", int(str(fsp.value)) if isinstance(fsp, Constant) else 0)
        if isinstance(node, Call) and node.name.upper() in ("CURRENT_DATE", "CURDATE"):
            return DefaultExpression("today")
        return DefaultExpression("call", text=expression.text)

    def _moment(self) -> tuple[DefaultExpression, Call] | None:
        """Consume CURRENT_TIMESTAMP, CURRENT_DATE or a synonym if one follows."""
        word = self._word_at()
        if word in _NOW_WORDS or self._call_at("NOW"):
            self._advance()
            if not self._accept_symbol("("):
                return DefaultExpression("now"), Call("CURRENT_TIMESTAMP")
            arguments: tuple[Node, ...] = ()
            fsp = 0
            if not self._symbol_at(")"):
                fsp = self._integer("fractional seconds")
                arguments = (Constant("integer", str(fsp)),)
            self._expect_symbol(")")
            return DefaultExpression("now", fsp), Call("CURRENT_TIMESTAMP", arguments)
        if word == "CURRENT_DATE" or self._call_at("CURDATE"):
            self._advance()
            if self._accept_symbol("("):
                self._expect_symbol(")")
            return DefaultExpression("today"), Call("CURRENT_DATE")
        return None

    def _on_update(self) -> ComputedOption:
        moment = self._moment()
        if moment is None:
            self._fail("expected CURRENT_TIMESTAMP")
        return ComputedOption("on update", *moment)

    # -- constants -----------------------------------------------------------------------------------------------

    def _signed_literal(self) -> Node | None:
        for sign in ("-", "+"):
            if self._accept_symbol(sign):
                number = self._number()
                if number is None:
                    self._fail("expected a number")
                return Unary(sign, number)
        return self._literal()

    def _with_text(self) -> Expression:
        """An expression with its source text."""
        start = self._curr.start
        node = self._expression()
        return Expression(self._text_from(start), node)

    def _bit_with_text(self) -> Expression:
        start = self._curr.start
        node = self._bit_expression()
        return Expression(self._text_from(start), node)

    def _parenthesised(self) -> Expression:
        return self._in_parentheses(self._with_text)


def datum_of(node: Node) -> Literal:
    """Return the constant of a signed literal."""
    if isinstance(node, Unary):
        assert isinstance(node.operand, Constant)
        datum = datum_of(node.operand)
        if node.operator == "+":
            return datum
        assert isinstance(datum.value, (int, float, Decimal))
        return Literal(datum.kind, negated(datum.value))
    assert isinstance(node, Constant)
    kind, value = node.kind, node.value
    if kind == "null":
        return Literal("null", None)
    if kind in ("true", "false"):
        return Literal("integer", int(kind == "true"))
    if isinstance(value, bytes):
        return Literal("bits", value)
    if isinstance(value, float):
        return Literal("float", value)
    assert isinstance(value, str)
    if kind == "integer":
        return Literal("integer", int(value))
    return Literal("decimal", Decimal(value)) if kind == "decimal" else Literal("string", value)
