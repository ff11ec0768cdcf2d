"""Expressions inside DDL: their canonical text and the columns they name. Expression text in, text or names out.

Rule source: pingcap/tidb's AST ``Restore`` with the flags that ``pkg/ddl`` uses for defaults and generated columns:
lower-case functions and keywords, back-quoted columns without table, spaces around operators, ``_utf8mb4'...'``.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.dialect import TiDB
from ticdc_emit.schema.identifiers import keyword, quoted
from ticdc_emit.schema.lexer import decode_quoted
from ticdc_emit.schema.reserved import RESERVED_WORDS

__all__ = ["column_names", "function_name", "restore", "tokens_of"]

_DIALECT = TiDB()
_STRINGS = (TokenType.STRING, TokenType.NATIONAL_STRING)
_TIGHT = frozenset({"(", ")", ",", "."})
_NO_CALLS = frozenset({"AND", "OR", "IN", "NOT", "OF"})  # words before a parenthesis that call nothing
# Words that may follow an operand without being a column, beside the reserved ones.
_KEYWORDS = RESERVED_WORDS | frozenset(
    {
        "UNKNOWN",
        "ESCAPE",
        "DATE",
        "TIME",
        "TIMESTAMP",
        "DATETIME",
        "SIGNED",
        "YEAR",
        "MONTH",
        "DAY",
        "HOUR",
        "MINUTE",
        "SECOND",
        "WEEK",
        "QUARTER",
        "MICROSECOND",
        "JSON",
        "NULL",
        "TRUE",
        "FALSE",
        "ARRAY",
        "END",
    }
)


def tokens_of(text: str) -> list[Token]:
    """Tokenize an expression; ``DdlError`` if it has no tokens or cannot be read."""
    try:
        tokens = _DIALECT.tokenize(text)
    except SqlglotError as error:
        raise DdlError(f"expression {text!r} cannot be read: {error}") from None
    if not tokens:
        raise DdlError("the expression is empty")
    return tokens


def function_name(text: str) -> str:
    """Return the lower-case name of the function that ``text`` calls."""
    return text.split("(", 1)[0].strip().lower()


def column_names(text: str) -> tuple[str, ...]:
    """Return the columns that an expression names, in order of appearance, unquoted, without their table."""
    tokens = tokens_of(text)
    names = [_name_of(token, text) for index, token in enumerate(tokens) if _is_column(tokens, index, text)]
    return tuple(dict.fromkeys(names))


def restore(text: str) -> str:
    """Return the canonical text of an expression."""
    tokens = tokens_of(text)
    out: list[str] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        if token.text in ("->", "->>") and token.token_type not in _STRINGS:
            if not _extracts(tokens, index, text):
                raise DdlError(f"{token.text} takes a column before it and a string after it")
            extract = f"json_extract({out.pop()}, {_string(tokens[index + 1], text)})"
            out.append(f"json_unquote({extract})" if token.text == "->>" else extract)
            index += 2
            continue
        if not _is_qualifier(tokens, index):
            word = _restored(tokens, index, text)
            out.append(word.lstrip(" ") if out and out[-1].endswith(" ") else word)
        index += 1
    return "".join(out).strip()


def _extracts(tokens: Sequence[Token], index: int, text: str) -> bool:
    """Whether the arrow is between a column and a string: TiDB has no chains of arrows."""
    has_string = index + 1 < len(tokens) and tokens[index + 1].token_type in _STRINGS
    return has_string and index > 0 and _is_column(tokens, index - 1, text)


def _is_qualifier(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token is the ``t.`` of ``t.column``: its name or its dot."""
    dot = TokenType.DOT
    follows = index + 1 < len(tokens) and tokens[index + 1].token_type is dot
    return tokens[index].token_type is dot or (follows and tokens[index].token_type is not TokenType.NUMBER)


def _restored(tokens: Sequence[Token], index: int, text: str) -> str:
    token = tokens[index]
    raw = text[token.start : token.end + 1]
    previous = tokens[index - 1] if index else None
    if token.token_type in _STRINGS:
        return _string(token, text)
    if _is_column(tokens, index, text):
        return quoted(_name_of(token, text))
    if token.token_type in (TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING):
        return raw
    if raw[0].isalpha() or raw[0] == "_":
        lowered = " ".join(raw.lower().split())
        if (
            index + 1 < len(tokens)
            and tokens[index + 1].text == "("
            and keyword(raw) not in ("AND", "OR", "IN", "NOT", "OF")
        ):
            return lowered
        before = "" if previous is None or previous.text in ("(", ",") else " "
        after = "" if index + 1 == len(tokens) or tokens[index + 1].text in (")", ",") else " "
        return before + lowered + after
    if raw == ",":
        return ", "
    is_prefix = previous is None or (previous.token_type not in _STRINGS and _is_operator(previous))
    return raw if raw in _TIGHT or (is_prefix and raw in "+-!~") else f" {raw} "


def _is_operator(token: Token) -> bool:
    return not (token.text[:1].isalnum() or token.text[:1] in "_)$") and token.token_type is not TokenType.IDENTIFIER


def _string(token: Token, text: str) -> str:
    raw = text[token.start : token.end + 1]
    value = decode_quoted(raw[1:] if token.token_type is TokenType.NATIONAL_STRING else raw)
    return "_utf8mb4'" + value.replace("'", "''") + "'"


def _name_of(token: Token, text: str) -> str:
    raw = text[token.start : token.end + 1]
    return decode_quoted(raw) if raw.startswith("`") else raw


def _word(tokens: Sequence[Token], index: int) -> str:
    return keyword(tokens[index].text) if 0 <= index < len(tokens) else ""


def _names_collation(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token follows COLLATE, CHARSET, CHARACTER SET or USING."""
    before = _word(tokens, index - 1)
    is_set = before == "SET" and _word(tokens, index - 2) in ("CHARACTER", "CHAR")
    return is_set or before in ("COLLATE", "CHARSET", "USING")


def _is_column(tokens: Sequence[Token], index: int, text: str) -> bool:
    token = tokens[index]
    raw = text[token.start : token.end + 1]
    if index + 1 < len(tokens) and tokens[index + 1].token_type is TokenType.DOT:
        return False
    if _names_collation(tokens, index) or (keyword(raw), _word(tokens, index + 1)) == ("MEMBER", "OF"):
        return False
    if raw.startswith("`"):
        return True
    if token.token_type in _STRINGS or not (raw[0].isalpha() or raw[0] == "_" or raw[0] > "\x7f"):
        return False
    if token.token_type in (TokenType.HEX_STRING, TokenType.BIT_STRING, TokenType.INTRODUCER):
        return False
    if index and tokens[index - 1].token_type is TokenType.DOT:
        return True
    is_call = index + 1 < len(tokens) and tokens[index + 1].text == "("
    return not is_call and keyword(raw) not in _KEYWORDS and " " not in raw
