"""Tokens of an expression: its text in, words, names, literals and symbols out, with TiDB's lexical rules.

Rule source: pingcap/tidb ``pkg/parser/lexer.go``. Whitespace and comments are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeAlias

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.identifiers import keyword
from ticdc_emit.schema.lexer import decode_bits, decode_hex, decode_quoted, unmask_comments

__all__ = ["Token", "scan"]

Kind: TypeAlias = Literal["word", "name", "number", "string", "hex", "bits", "introducer", "symbol", "end"]

_MAX_NUMBER_TEXT = 400
_TOKEN = re.compile(
    r"""
    (?P<space>\s+ | /\*.*?(?:\*/|\Z) | --(?=\s|$)[^\n]* | \#[^\n]*)
  | (?P<hex>0x[0-9a-fA-F]+(?![\w$]) | [xX]'[0-9a-fA-F]*')
  | (?P<bits>0b[01]+(?![\w$]) | [bB]'[01]*')
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?(?![\w$]))
  | (?P<string>[nN]?'(?:[^'\\]|\\.|'')*' | "(?:[^"\\]|\\.|"")*")
  | (?P<name>`(?:[^`]|``)*`)
  | (?P<introducer>_[a-zA-Z0-9]+(?=\s*(?:'|"|[xXbB]'|0x|0b)))
  | (?P<word>[\w$]+)
  | (?P<symbol><=>|->>|->|<<|>>|<=|>=|<>|!=|\|\||&&|[-+*/%^&|~!<>=(),.])
    """,
    re.VERBOSE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    """``text``: a word in upper case, a symbol as it is, else ""; ``value``: what a name or literal stands for."""

    kind: Kind
    text: str = ""
    value: int | Decimal | float | str | bytes = ""


def scan(text: str) -> list[Token]:
    """Return the tokens of an expression, the last one of kind ``end``; ``DdlError`` for a character of no token."""
    text = unmask_comments(text)
    tokens: list[Token] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise DdlError(f"it cannot be read from {text[position : position + 20]!r} on")
        position = match.end()
        if match.lastgroup != "space":
            tokens.append(_token(match.lastgroup or "", match.group()))
    return [*tokens, Token("end")]


def _token(kind: str, raw: str) -> Token:
    match kind:
        case "word":
            return Token("word", keyword(raw), raw)
        case "name":
            return Token("name", value=decode_quoted(raw))
        case "string":
            return Token("string", value=decode_quoted(raw[1:] if raw[0] in "nN" else raw))
        case "hex":
            return Token("hex", value=decode_hex(raw[2:].rstrip("'")))
        case "bits":
            return Token("bits", value=decode_bits(raw[2:].rstrip("'")))
        case "introducer":
            return Token("introducer", value=raw[1:].lower())
        case "number":
            return Token("number", value=_number(raw))
    return Token("symbol", raw)


def _number(raw: str) -> int | Decimal | float:
    if len(raw) > _MAX_NUMBER_TEXT:
        raise DdlError("a number in it is too long")
    if raw.isdigit():
        return int(raw) if int(raw) < 1 << 64 else Decimal(raw)
    if "e" in raw.lower():
        number = float(raw)
        if number in (float("inf"), float("-inf")):
            raise DdlError(f"the number {raw} in it is too big")
        return number
    return Decimal(raw)
