"""CAST, CONVERT and the types they take. Tokens in, :class:`Cast` nodes out.

Rule source: pingcap/tidb ``pkg/parser/parser.y`` (``CastType``), ``pkg/parser/types/field_type.go``
(``RestoreAsCastType``): a type without a length gets TiDB's default.
"""

from __future__ import annotations

from ticdc_emit.schema.grammar.aggregate import AggregateGrammar
from ticdc_emit.schema.nodes import calls
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.style import Node

__all__ = ["CastGrammar"]

_MAX_FLOAT_PRECISION, _MAX_DOUBLE_PRECISION = 24, 53
_DEFAULT_DECIMAL = 10


class CastGrammar(AggregateGrammar):
    def _opened(self) -> str:
        """Step over a function's name and its parenthesis; return the name as written."""
        name = self._curr.value
        self._advance()
        self._expect_symbol("(")
        return name

    def _closed(self, name: str, *pieces: Node) -> Node:
        self._expect_symbol(")")
        return calls.KeywordCall(name, pieces)

    def _cast(self) -> Node:
        form = self._opened().upper()
        operand = self._expression()
        self._expect("AS")
        kind = self._cast_type()
        if form == "JSON_SUM_CRC32":
            self._expect("ARRAY")
            kind = calls.CastType(kind.word, kind.precision, kind.charset, array=True)
        elif self._accept("ARRAY"):
            kind = calls.CastType(kind.word, kind.precision, kind.charset, array=True)
        self._expect_symbol(")")
        return calls.Cast(form, operand, kind)

    def _convert(self) -> Node:
        name = self._opened()
        operand = self._expression()
        if self._accept("USING"):
            return self._closed(name, operand, calls.Word("USING"), Constant("string", self._charset_name()))
        self._expect_symbol(",")
        kind = self._cast_type()
        self._expect_symbol(")")
        return calls.Cast("CONVERT", operand, kind)

    def _cast_type(self) -> calls.CastType:
        word = self._any_word("a type to cast to")
        if word == "BINARY":
            return calls.CastType("BINARY", self._numbers(1))
        if word in ("CHAR", "CHARACTER"):
            precision = self._numbers(1)
            binary, charset = self._binary_and_charset()
            return calls.CastType("CHAR", precision, "binary" if binary else charset)
        if word in ("DATE", "YEAR", "JSON", "DOUBLE"):
            return calls.CastType(word)
        if word in ("DATETIME", "TIME"):
            return calls.CastType(word, tuple(number for number in self._numbers(1) if number))
        if word in ("DECIMAL", "DEC"):
            return calls.CastType("DECIMAL", _decimal_precision(self._numbers(2)))
        if word in ("SIGNED", "UNSIGNED"):
            self._accept_any("INTEGER", "INT")
            return calls.CastType(word)
        if word == "FLOAT":
            return self._cast_float(self._numbers(2))
        if word == "REAL":
            return calls.CastType("FLOAT" if self._mode.real_as_float else "DOUBLE")
        if word != "VECTOR":
            self._fail("expected a type to cast to", self._prev)
        self._vector_element()
        self._numbers(1)
        return calls.CastType(word)

    def _cast_float(self, precision: tuple[int, ...]) -> calls.CastType:
        width = precision[0] if precision else 0
        if width > _MAX_DOUBLE_PRECISION:
            self._fail(f"a precision is at most {_MAX_DOUBLE_PRECISION}", self._prev)
        return calls.CastType("DOUBLE" if width > _MAX_FLOAT_PRECISION else "FLOAT")

    def _numbers(self, most: int) -> tuple[int, ...]:
        """``(n)`` or ``(n, m)`` if it follows."""
        if not self._accept_symbol("("):
            return ()
        numbers = [self._integer("a length")]
        if most > 1 and self._accept_symbol(","):
            numbers.append(self._integer("a number of decimals"))
        self._expect_symbol(")")
        return tuple(numbers)

    def _vector_element(self) -> None:
        if self._accept_symbol("<"):
            self._expect("FLOAT")
            self._expect_symbol(">")

    def _binary_and_charset(self) -> tuple[bool, str]:
        """BINARY [CHARSET x] | CHARSET x [BINARY]."""
        if self._accept("BINARY"):
            return True, self._charset_name() if self._charset_keyword() else ""
        if self._charset_keyword():
            charset = self._charset_name()
            return self._accept("BINARY"), charset
        return False, ""


def _decimal_precision(given: tuple[int, ...]) -> tuple[int, ...]:
    width, *scale = given or (_DEFAULT_DECIMAL,)
    if width <= 0:
        return ()
    return (width, scale[0]) if scale and scale[0] > 0 else (width,)
