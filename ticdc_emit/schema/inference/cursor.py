"""A cursor over the tokens of an expression, and the parts that all rules share: names, strings, lengths."""

from __future__ import annotations

from typing import NoReturn

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.inference.scanner import Token

__all__ = ["Cursor"]

_MAX_DEPTH = 60


class Cursor:
    """A rule that fails raises ``DdlError`` with what was expected and what is there."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._position]

    def peek(self) -> Token:
        return self._tokens[min(self._position + 1, len(self._tokens) - 1)]

    def advance(self) -> Token:
        """Step over a token; return the next one."""
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return self.token

    def at(self, *kinds: str) -> bool:
        """Whether the token is of one of the kinds."""
        return self.token.kind in kinds

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.advance()
        return True

    def accept_any(self, *texts: str) -> str:
        text = self.token.text
        return text if text in texts and self.accept(text) else ""

    def expect(self, text: str) -> None:
        if not self.accept(text):
            self.fail(f"expected {text}")

    def expect_end(self) -> None:
        if not self.at("end"):
            self.fail("expected the end of the expression")

    def enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise DdlError("it is nested too deeply")

    def leave(self) -> None:
        self._depth -= 1

    def fail(self, message: str) -> NoReturn:
        token = self.token
        place = "the end" if token.kind == "end" else token.text or repr(token.value)
        raise DdlError(f"{message}, found {place}")

    def string(self) -> str:
        """Step over a string literal; adjacent ones are one."""
        if not self.at("string"):
            self.fail("expected a string")
        parts = []
        while self.at("string"):
            parts.append(str(self.token.value))
            self.advance()
        return "".join(parts)

    def charset_name(self) -> str:
        """Step over the name of a charset or collation, perhaps in quotes; return it in lower case."""
        if not self.at("word", "name", "string"):
            self.fail("expected a character set or collation")
        name = str(self.token.value).lower()
        self.advance()
        return name

    def length(self) -> int:
        """Step over ``(n)`` if it follows; -1 if not."""
        if not self.accept("("):
            return -1
        length = self.integer()
        self.expect(")")
        return length

    def integer(self) -> int:
        value = self.token.value
        if self.token.kind != "number" or not isinstance(value, int):
            self.fail("expected an integer")
        self.advance()
        return value
