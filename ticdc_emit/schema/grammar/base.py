"""Ground layer of the TiDB grammar: words, names, numbers and strings on sqlglot's token stream.

Each layer of this package adds rules to :class:`sqlglot.parsers.mysql.MySQLParser`. The rules match words by their
text, not by sqlglot's token types, since TiDB takes most keywords as identifiers too.
"""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import NoReturn

from sqlglot.errors import ParseError
from sqlglot.parsers.mysql import MySQLParser
from sqlglot.tokenizer_core import Token, TokenType

from ticdc_emit.schema.identifiers import keyword
from ticdc_emit.schema.lexer import decode_bits, decode_hex, decode_quoted
from ticdc_emit.schema.nodes import Expression, TableName
from ticdc_emit.schema.reserved import RESERVED_WORDS

__all__ = ["BaseGrammar"]

_LITERALS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.NUMBER,
        TokenType.BIT_STRING,
        TokenType.HEX_STRING,
        TokenType.IDENTIFIER,
        TokenType.SENTINEL,
    }
)
_MAX_DIGITS, _MAX_NUMBER_TEXT = 20, 400
_MAX_QUALIFIERS = 2  # schema and table


class BaseGrammar(MySQLParser):
    """Rules over single tokens; one that fails raises ``sqlglot.errors.ParseError`` with line and column."""

    def _fail(self, message: str, token: Token | None = None) -> NoReturn:
        place = token or (self._prev if self._at_end else self._curr)
        found = "the end of the statement" if self._at_end and token is None else repr(self._raw(place))
        raise ParseError.new(f"{message}, found {found}", description=message, line=place.line, col=place.start)

    @property
    def _at_end(self) -> bool:
        return self._index >= self._tokens_size

    def _raw(self, token: Token) -> str:
        return self.sql[token.start : token.end + 1]

    def _word_at(self, ahead: int = 0) -> str:
        """The unquoted word ``ahead`` tokens from here in upper case, or ""."""
        index = self._index + ahead
        if index >= self._tokens_size:
            return ""
        token = self._tokens[index]
        if token.token_type in _LITERALS:
            return ""
        first = token.text[0]
        return keyword(token.text) if first.isalnum() or first in "_$" or first > "\x7f" else ""

    def _symbol_at(self, symbol: str, ahead: int = 0) -> bool:
        index = self._index + ahead
        if index >= self._tokens_size:
            return False
        token = self._tokens[index]
        return token.text == symbol and token.token_type not in _LITERALS

    def _accept(self, *words: str) -> bool:
        """Consume the given words if all of them follow."""
        if self._word_at() != words[0]:
            return False
        if any(self._word_at(ahead) != word for ahead, word in enumerate(words[1:], start=1)):
            return False
        self._advance(len(words))
        return True

    def _accept_any(self, *words: str) -> str:
        """Consume one of the given words; return it in upper case, or ""."""
        word = self._word_at()
        if word not in words:
            return ""
        self._advance()
        return word

    def _expect(self, *words: str) -> None:
        if not self._accept(*words):
            self._fail(f"expected {' '.join(words)}")

    def _any_word(self, what: str) -> str:
        """Consume a word, whichever it is; return it in upper case."""
        word = self._word_at()
        if not word:
            self._fail(f"expected {what}")
        self._advance()
        return word

    def _accept_symbol(self, symbol: str) -> bool:
        if not self._symbol_at(symbol):
            return False
        self._advance()
        return True

    def _expect_symbol(self, symbol: str) -> None:
        if not self._accept_symbol(symbol):
            self._fail(f"expected {symbol!r}")

    def _name(self, what: str = "a name", *, after_dot: bool = False) -> str:
        """Consume an identifier; unquoted, it must not be a reserved word (but may be one after a dot)."""
        if self._is_quoted_identifier():
            name = decode_quoted(self._raw(self._curr))
            if not name:
                self._fail(f"{what} is empty")
        else:
            word = self._word_at()
            if not word or (word in RESERVED_WORDS and not after_dot) or word.isdigit():
                self._fail(f"expected {what}")
            name = self._curr.text
        self._advance()
        return name

    def _is_quoted_identifier(self) -> bool:
        return self._curr.token_type is TokenType.IDENTIFIER and self.sql[self._curr.start] == "`"

    def _table_name(self) -> TableName:
        first = self._name("a table name")
        if self._accept_symbol("."):
            return TableName(first, self._name("a table name", after_dot=True))
        return TableName("", first)

    def _column_name(self) -> str:
        """A column name, perhaps qualified by table and schema (which TiDB checks and drops)."""
        name = self._name("a column name")
        for _ in range(_MAX_QUALIFIERS):
            if self._accept_symbol("."):
                name = self._name("a column name", after_dot=True)
        return name

    def _names(self, what: str) -> tuple[str, ...]:
        names = [self._name(what)]
        while self._accept_symbol(","):
            names.append(self._name(what))
        return tuple(names)

    def _integer(self, what: str = "a number") -> int:
        text = self._curr.text
        is_integer = self._curr.token_type is TokenType.NUMBER and text.isdigit() and text.isascii()
        if not is_integer or len(text) > _MAX_DIGITS:
            self._fail(f"expected {what}")
        self._advance()
        return int(text)

    def _decimal(self, what: str = "a number") -> Decimal:
        """Consume an unsigned number of any form, of a size that some column could hold."""
        text = self._curr.text
        is_number = self._curr.token_type is TokenType.NUMBER and len(text) <= _MAX_NUMBER_TEXT and text.isascii()
        try:
            number = Decimal(text) if is_number else None
        except InvalidOperation:
            number = None
        if number is None or float(number) == float("inf"):
            self._fail(f"expected {what}")
        self._advance()
        return number

    def _string(self, what: str = "a string") -> str:
        if not self._at_string():
            self._fail(f"expected {what}")
        parts = []
        while self._at_string():  # adjacent literals are one
            parts.append(decode_quoted(self._raw(self._curr)))
            self._advance()
        return "".join(parts)

    def _at_string(self) -> bool:
        return self._curr.token_type is TokenType.STRING

    def _bits(self) -> bytes | None:
        """Consume a hex or bit literal if one follows."""
        kind = self._curr.token_type
        if kind is not TokenType.HEX_STRING and kind is not TokenType.BIT_STRING:
            return None
        digits = self._curr.text
        try:
            value = decode_hex(digits) if kind is TokenType.HEX_STRING else decode_bits(digits)
        except ValueError:
            self._fail("malformed hex or bit literal")
        self._advance()
        return value

    def _name_or_string(self, what: str) -> str:
        return self._string(what) if self._curr.token_type is TokenType.STRING else self._name(what)

    def _charset_keyword(self) -> bool:
        return self._accept("CHARACTER", "SET") or self._accept("CHARSET") or self._accept("CHAR", "SET")

    def _charset_or_collation_name(self) -> str:
        if self._curr.token_type is TokenType.STRING:
            return self._string()
        if self._word_at() == "BINARY":
            self._advance()
            return "binary"
        return self._name("a character set or collation")

    def _parenthesised(self, what: str = "an expression") -> Expression:
        """Consume ``( ... )`` with balanced parentheses; return the text inside."""
        opening = self._curr
        self._expect_symbol("(")
        start, depth = self._index, 1
        while depth:
            if self._at_end:
                self._fail("unbalanced parenthesis", opening)
            depth += 1 if self._symbol_at("(") else -1 if self._symbol_at(")") else 0
            self._advance()
        if self._index - start == 1:
            self._fail(f"expected {what}", opening)
        return Expression(self.sql[opening.end + 1 : self._prev.start].strip())
