"""Constants: numbers, strings with their introducers, hex and bit literals. Tokens in, :class:`Constant` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``Literal``, ``StringLiteral``), ``pkg/parser/yy_parser.go``
(``toInt``, ``toDecimal``, ``toFloat``).
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.base import BaseGrammar
from ticdc_emit.schema.nodes.literals import Constant, decimal_digits

__all__ = ["ConstantGrammar"]

_MAX_INTEGER_DIGITS = 20
_NO_LEGACY_INTRODUCER = ("gbk", "gb18030")


class ConstantGrammar(BaseGrammar):
    def _constant_string(self, value: str) -> Constant:
        return Constant("string", value, self._session_charset)

    def _literal(self) -> Constant | None:
        token = self._curr
        if token.kind == "string":
            parts = []
            while self._curr.kind == "string":  # adjacent literals are one
                parts.append(self._string())
            return self._constant_string("".join(parts))
        if token.kind == "word":
            return self._word_literal()
        if token.kind == "introducer":
            if self._peek().kind not in ("string", "hex", "bits"):
                return None
            if token.value in _NO_LEGACY_INTRODUCER:
                self._fail("not a character set for an introducer")
            self._advance()
            if self._curr.kind == "string":
                return Constant("string", self._string(), token.value)
            return self._binary_constant(token.value)
        if token.kind in ("hex", "bits"):
            return self._binary_constant()
        return self._number()

    def _binary_constant(self, introducer: str = "") -> Constant:
        kind = self._curr.kind
        return Constant("hex" if kind == "hex" else "bits", self._binary_literal(), introducer)

    def _word_literal(self) -> Constant | None:
        word = self._curr.text
        if word not in ("NULL", "TRUE", "FALSE"):
            return None
        self._advance()
        return Constant("null" if word == "NULL" else "true" if word == "TRUE" else "false")

    def _number(self) -> Constant | None:
        """Consume an unsigned number if one follows."""
        token = self._curr
        if token.kind == "integer":
            digits = token.value.lstrip("0") or "0"
            self._advance()
            if len(digits) <= _MAX_INTEGER_DIGITS and int(digits) < 1 << 64:
                return Constant("integer", digits)
            return Constant("decimal", decimal_digits(digits))
        if token.kind == "decimal":
            self._advance()
            return Constant("decimal", decimal_digits(token.value))
        if token.kind == "float":
            number = float(token.value)
            if number == float("inf"):
                self._fail("a number is too big")
            self._advance()
            return Constant("float", number)
        return None
