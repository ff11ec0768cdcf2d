"""Default values and constants. Tokens in, :class:`Literal` or :class:`DefaultExpression` out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``DefaultValueExpr``, ``SignedLiteral``, ``NowSymOptionFraction``).
"""

from __future__ import annotations

from decimal import Decimal

from sqlglot.tokenizer_core import TokenType

from ticdc_emit.schema.grammar.base import BaseGrammar
from ticdc_emit.schema.lexer import decode_quoted
from ticdc_emit.schema.nodes import DefaultExpression, Literal

__all__ = ["LiteralGrammar"]

_NOW_WORDS = ("CURRENT_TIMESTAMP", "NOW", "LOCALTIME", "LOCALTIMESTAMP")
_TODAY_WORDS = ("CURRENT_DATE", "CURDATE")


class LiteralGrammar(BaseGrammar):
    def _default(self) -> Literal | DefaultExpression:
        if self._symbol_at("("):
            self._advance()
            value = self._default()
            self._expect_symbol(")")
            return value
        if (now := self._now_or_none()) is not None:
            return now
        if self._word_at() in _TODAY_WORDS and (self._word_at() != "CURDATE" or self._symbol_at("(", 1)):
            self._advance()
            if self._accept_symbol("("):
                self._expect_symbol(")")
            return DefaultExpression("today")
        literal = self._signed_literal()
        return literal if literal is not None else self._default_call()

    def _default_call(self) -> DefaultExpression:
        start = self._curr
        if self._accept("NEXT", "VALUE", "FOR"):
            self._table_name()
        elif self._word_at() and (self._symbol_at("(", 1)):
            self._advance()
            self._skip_parentheses()
        else:
            self._fail("expected a default value")
        return DefaultExpression("call", text=self.sql[start.start : self._prev.end + 1])

    def _skip_parentheses(self) -> None:
        if self._symbol_at("(") and self._symbol_at(")", 1):
            self._advance(2)
        else:
            self._parenthesised()

    def _now(self) -> DefaultExpression:
        now = self._now_or_none()
        if now is None:
            self._fail("expected CURRENT_TIMESTAMP")
        return now

    def _now_or_none(self) -> DefaultExpression | None:
        word = self._word_at()
        if word not in _NOW_WORDS or (word == "NOW" and not self._symbol_at("(", 1)):
            return None
        self._advance()
        fsp = 0
        if self._accept_symbol("(") and not self._accept_symbol(")"):
            fsp = self._integer("fractional seconds")
            self._expect_symbol(")")
        return DefaultExpression("now", fsp)

    def _signed_literal(self) -> Literal | None:
        sign = "-" if self._symbol_at("-") else "+" if self._symbol_at("+") else ""
        if sign:
            self._advance()
            return self._number(sign)
        if self._accept("NULL"):
            return Literal("null", None)
        if word := self._accept_any("TRUE", "FALSE"):
            return Literal("integer", int(word == "TRUE"))
        if (bits := self._bits()) is not None:
            return Literal("bits", bits)
        if self._curr.token_type is TokenType.NATIONAL_STRING:
            raw = self._raw(self._curr)
            self._advance()
            return Literal("string", decode_quoted(raw[1:]))
        if self._curr.token_type is TokenType.STRING:
            return Literal("string", self._string())
        if self._curr.token_type is TokenType.NUMBER or self._symbol_at("."):
            return self._number("")
        return self._prefixed_literal()

    def _prefixed_literal(self) -> Literal | None:
        """``_utf8mb4'x'``, ``DATE '2020-01-01'`` and their like."""
        following = self._tokens[self._index + 1].token_type if self._index + 1 < self._tokens_size else None
        word = self._word_at()
        introducer = word.startswith("_") and len(word) > 1
        if following is TokenType.STRING and (introducer or word in ("DATE", "TIME", "TIMESTAMP")):
            self._advance()
            return Literal("string", self._string())
        if introducer and following in (TokenType.HEX_STRING, TokenType.BIT_STRING):
            self._advance()
            return Literal("bits", self._bits())
        return None

    def _number(self, sign: str) -> Literal:
        leading_dot = self._accept_symbol(".")
        text = self._curr.text
        if leading_dot and "." in text:
            self._fail("expected a number")
        self._decimal()
        text = sign + ("." if leading_dot else "") + text
        if "e" in text.lower():
            return Literal("float", float(text))
        if "." in text:
            return Literal("decimal", Decimal(text))
        return Literal("integer", int(text))
