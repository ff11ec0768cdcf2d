"""SQL text to tokens, with the code in comments (pingcap/tidb: ``pkg/parser/{lexer,mysql/const}.go``)."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple, NoReturn

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.sql.charsets import CHARSETS
from ticdc_emit.sql.words import CALL_WORDS, keyword

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def decode_quoted(raw: str, *, escapes: bool = True) -> str:
    """Return the value of a quoted string or identifier, ``raw`` with its quotes (``'``, ``"`` or a backtick)."""
    quote, body = raw[0], raw[1:-1]
    if quote != "`" and escapes and "\\" in body:
        # Split at escapes first: a quote that a backslash escapes must not pair with the next one.
        parts = _ESCAPE.split(body)
        for index, part in enumerate(parts):
            parts[index] = _ESCAPES.get(part, part) if index % 2 else part.replace(quote * 2, quote)
        return "".join(parts)
    return body.replace(quote * 2, quote)


def decode_hex(digits: str) -> bytes:
    return bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits)


class JobText(bytes):
    """A text in UTF-8 that TiDB shows as a hex literal in the text of a job, as it has a control character."""

    @classmethod
    def found_in(cls, raw: bytes) -> bytes:
        try:
            return cls(raw) if re.search("[\0-\x1f\x7f-\x9f]", raw.decode()) else raw
        except UnicodeDecodeError:
            return raw


def decode_bits(digits: str) -> bytes:
    return int(digits or "0", 2).to_bytes((len(digits) + 7) // 8, "big")


_DIALECT = ("PIPES_AS_CONCAT", "ANSI_QUOTES", "IGNORE_SPACE")
_COMBINATIONS = {
    "ANSI": ("REAL_AS_FLOAT", *_DIALECT),
    **dict.fromkeys(("DB2", "MAXDB", "MSSQL", "ORACLE", "POSTGRESQL"), _DIALECT),
    **dict.fromkeys(("MYSQL323", "MYSQL40"), ("HIGH_NOT_PRECEDENCE",)),
}
_WITHOUT_EFFECT = frozenset(
    """
    ALLOW_INVALID_DATES ERROR_FOR_DIVISION_BY_ZERO NO_AUTO_CREATE_USER NO_AUTO_VALUE_ON_ZERO NO_DIR_IN_CREATE
    NO_ENGINE_SUBSTITUTION NO_FIELD_OPTIONS NO_KEY_OPTIONS NO_TABLE_OPTIONS NO_UNSIGNED_SUBTRACTION NO_ZERO_DATE
    NO_ZERO_IN_DATE ONLY_FULL_GROUP_BY PAD_CHAR_TO_FULL_LENGTH STRICT_ALL_TABLES STRICT_TRANS_TABLES TRADITIONAL
    """.split()  # noqa: SIM905 (a table of words)
)


@dataclass(frozen=True)
class SqlMode:
    """The flags of the parser; by default none, as in TiDB's default mode."""

    ansi_quotes: bool = False
    high_not_precedence: bool = False
    ignore_space: bool = False
    no_backslash_escapes: bool = False
    pipes_as_concat: bool = False
    real_as_float: bool = False
    of_job: bool = False
    """Whether a hex literal may be a :class:`JobText`: of no SQL mode, but of the texts that TiDB keeps."""


_FLAGS = {field.name.upper() for field in fields(SqlMode)} - {"OF_JOB"}


@lru_cache(maxsize=256)
def sql_mode_of(names: str) -> SqlMode:
    """Return the flags of ``ANSI_QUOTES,STRICT_TRANS_TABLES``; ``SchemaError`` for a name that is not an SQL mode."""
    flags: set[str] = set()
    for name in (keyword(part.strip()) for part in names.split(",")):
        if name in _COMBINATIONS or name in _FLAGS:
            flags.update(member.lower() for member in _COMBINATIONS.get(name, (name,)))
        elif name and name not in _WITHOUT_EFFECT:
            raise SchemaError(f"unknown SQL mode {name!r}", remedy="Give modes as in SET SQL_MODE", mode=name)
    return SqlMode(**dict.fromkeys(flags, True))


def reading_mode(names: str) -> str:
    """Return only the modes that decide how statements are read, for those that a session has executed."""
    return ",".join(name for name in names.split(",") if keyword(name.strip()) not in _WITHOUT_EFFECT)


FEATURES = frozenset(
    {
        "affinity",
        "auto_id_cache",
        "auto_rand",
        "auto_rand_base",
        "clustered_index",
        "force_inc",
        "global_index",
        "placement",
        "pre_split",
        "region_split",
        "ttl",
    }
)
"""A /*T![feature] ... */ comment is code if TiDB knows all of its features, else a comment like any other."""
_INTRODUCERS = {f"_{name}": name for name in CHARSETS} | {"_utf8mb3": "utf8"}
_HINTED = frozenset({"SELECT", "INSERT", "REPLACE", "UPDATE", "DELETE", "CREATE", "PARTITION"})
_OPENER = re.compile(r"/\*(?:T!(?:\[(?P<features>[\w$]+(?:,[\w$]+)*)\])?|!(?:\d{5})?)", re.ASCII)
_LETTERS = r"[\w$\x80-\U0010ffff]"
_WORD = re.compile(rf"{_LETTERS}+", re.ASCII)
_TOKEN = r"""
    [ \t\n\v\f\r]*(?:
    (?P<space>--(?=[ \t\n\v\f\r]|\Z)[^\n]* | \#[^\n]* | \Z)
  | (?P<open>/\*)
  | (?P<close>\*/)
  | (?P<national>[nN](?='))
  | (?P<hex>0[xX][0-9a-fA-F]+ | [xX]'[0-9a-fA-F]*')
  | (?P<bits>0b[01]+(?![0-9]) | [bB]'[01]*')
  | (?P<float>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)
  | (?P<decimal>[0-9]+\.[0-9]*|\.[0-9]+)
  | (?P<integer>[0-9]+(?!LETTERS))
  | (?P<word>LETTERS+)
  | (?P<string>'STRING' | "QUOTED")
  | (?P<name>`[^`]*(?:``[^`]*)*`)
  | (?P<system>@@(?:(?:global|session|local)\.)?(?:`[^`]*(?:``[^`]*)*`|'STRING'|"QUOTED"|[\w$.\x80-\U0010ffff]+))
  | (?P<variable>@(?:`[^`]*(?:``[^`]*)*`|'STRING'|"QUOTED"|[\w$.\x80-\U0010ffff]*))
  | (?P<symbol><=>|->>|->|<<|>>|<=|>=|<>|!=|:=|\|\||&&|&\^|\\N|[-+*/%^&|~!<>=(),.;:?{}\[\]])
    )
"""


# unrolled: a step for each escape, not for each character
_STRINGS = {True: r"[^'\\]*(?:(?:\\.|'')[^'\\]*)*", False: r"[^']*(?:''[^']*)*"}


class Token(NamedTuple):
    """``text``: a word in upper case or a symbol, "" for the rest; ``value``: a name or literal without its quotes. A
    ``call`` is a name before a parenthesis; a word next to a dot is a ``name``, even if the dot ends a number.
    """

    kind: str
    text: str
    value: str
    start: int
    end: int


@cache
def _pattern(*, backslash: bool) -> re.Pattern[str]:
    single = _STRINGS[backslash]
    text = _TOKEN.replace("LETTERS", _LETTERS).replace("STRING", single).replace("QUOTED", single.replace("'", '"'))
    return re.compile(text, re.VERBOSE | re.DOTALL | re.ASCII)


def scan(sql: str, mode: SqlMode, subject: str = "DDL", *, joins_rows: bool = False) -> list[Token]:
    """Return all tokens; ``DdlError`` with ``position`` for a string or comment that never ends, or a stray sign.
    ``joins_rows``: rows of literals after VALUES that have the same number of values are one token ``rows``.
    """
    return _Scanner(sql, mode, subject, joins_rows=joins_rows).tokens()


_ROW_LITERAL = (
    r"'STRING'|0[xX][0-9a-fA-F]+|[xX]'(?:[0-9a-fA-F]{2})*'|(?i:NULL|TRUE|FALSE)"
    r"|-?[0-9]{1,20}(?:\.[0-9]{1,20})?(?:[eE][+-]?[0-9]{1,2})?"
)


@cache
def _row_pattern(more: str, *, backslash: bool) -> re.Pattern[str]:
    literal = f"(?:{_ROW_LITERAL})".replace("STRING", _STRINGS[backslash])
    return re.compile(rf"\s*(,?)\s*\(\s*{literal}(?:\s*,\s*{literal}){more}\s*\)", re.DOTALL | re.ASCII)


@cache
def _literal_pattern(*, backslash: bool) -> re.Pattern[str]:
    return re.compile(_ROW_LITERAL.replace("STRING", _STRINGS[backslash]), re.DOTALL | re.ASCII)


def literal_columns(rows: str, mode: SqlMode) -> tuple[list[str], ...]:
    backslash = not mode.no_backslash_escapes
    first = _row_pattern("*", backslash=backslash).match(rows)
    assert first is not None
    literals = _literal_pattern(backslash=backslash)
    width, found = len(literals.findall(first[0])), literals.findall(rows)
    return tuple(found[column::width] for column in range(width))


def literal_content(literal: str, mode: SqlMode) -> str | int | Decimal | float | bytes | bool | None:
    if literal[0] == "'":
        return decode_quoted(literal, escapes=not mode.no_backslash_escapes)
    if literal[-1] == "'" or literal[1:2] in ("x", "X"):
        return decode_hex(literal[2:].rstrip("'"))
    word = literal.upper()
    if word in _WORDS:
        return _WORDS[word]
    if "E" in word:
        return float(literal)
    number = Decimal(literal)
    return (number or abs(number)) if "." in literal else int(literal)  # a decimal has no negative zero


_WORDS = {"NULL": None, "TRUE": True, "FALSE": False}


class _Scanner:
    def __init__(self, sql: str, mode: SqlMode, subject: str, *, joins_rows: bool) -> None:
        self._sql = sql
        self._joins_rows = joins_rows
        self._subject = subject  # in errors
        self._mode = mode
        self._escapes = not mode.no_backslash_escapes
        self._tokens: list[Token] = []
        self._in_code_comment = False

    def tokens(self) -> list[Token]:
        sql, tokens = self._sql, self._tokens
        match = _pattern(backslash=self._escapes).match
        position, size, after_dot = 0, len(sql), False
        depth, in_rows = 0, False
        while position < size:
            token = match(sql, position)
            if token is None:
                self._fail(position)
            kind = token.lastgroup or ""
            start, position = token.span(kind)
            after_name = bool(tokens) and tokens[-1].kind == "name" and tokens[-1].end == start
            if kind == "word" and not after_dot:
                tokens.append(self._word(sql[start:position], start, position, after_dot=False))
                if self._joins_rows and not depth and tokens[-1].text in ("VALUES", "VALUE"):
                    position, in_rows = self._rows(position), True
                continue
            if kind == "space":
                continue
            qualified, after_dot = after_dot, False
            if qualified and sql[start].isdigit() and self._qualifies():
                digits = _WORD.match(sql, start)
                position = digits.end() if digits is not None else position
                tokens.append(Token("name", "", sql[start:position], start, position))
                continue
            if kind == "open":
                position, after_dot = self._comment(start), qualified
            elif kind == "close" and self._in_code_comment:
                self._in_code_comment, after_dot = False, qualified
            elif kind == "close":
                tokens.append(Token("symbol", "*", "*", start, start + 1))
                position = start + 1
            elif kind == "decimal" and sql[start] == "." and after_name:
                tokens.append(Token("symbol", ".", ".", start, start + 1))
                position, after_dot = start + 1, True
            elif kind == "symbol":
                symbol = sql[start:position]
                after_dot = symbol == "."
                if symbol == "\\N":
                    tokens.append(Token("word", "NULL", symbol, start, position))
                else:
                    tokens.append(Token("symbol", symbol, symbol, start, position))
                    depth += (symbol == "(") - (symbol == ")")
                    if in_rows and not depth and symbol == ",":
                        position = self._rows(position)
            elif kind == "word":
                tokens.append(self._word(sql[start:position], start, position, after_dot=True))
            else:
                tokens.append(self._token(kind, sql[start:position], start, position))
                after_dot = sql[position - 1] == "."  # the one that ends a number, too
        tokens.append(Token("end", "", "", size, size))
        return tokens

    def _rows(self, start: int) -> int:
        row = _row_pattern("*", backslash=self._escapes).match(self._sql, start)
        if row is None or row[1]:
            return start
        more = len(_literal_pattern(backslash=self._escapes).findall(row[0])) - 1
        match = _row_pattern(f"{{{more}}}", backslash=self._escapes).match
        position = row.end()
        while (row := match(self._sql, position)) is not None and row[1]:
            position = row.end()
        self._tokens.append(Token("rows", "", self._sql[start:position], start, position))
        return position

    def _qualifies(self) -> bool:
        """Return whether the last dot directly follows a name: then digits after it are a name too."""
        if len(self._tokens) < 2 or self._tokens[-1].text != ".":
            return False
        return self._tokens[-2].kind == "name" and self._tokens[-2].end == self._tokens[-1].start

    def _after_dot(self, position: int) -> bool:
        while position and self._sql[position - 1] == " ":
            position -= 1
        return self._sql[position - 1 : position] == "."

    def _fail(self, position: int) -> NoReturn:
        position += len(self._sql[position:]) - len(self._sql[position:].lstrip(" \t\n\v\f\r"))
        rest = self._sql[position : position + 20]
        what, remedy = "an unexpected character", "Remove it, or write the name in backticks"
        if rest[0] in "'\"`":
            what, remedy = "a string or name that never ends", "Close it with the quote that opened it"
        message = f"{self._subject} cannot be read: {what} at {rest!r}"
        raise DdlError(message, remedy=remedy, statement=self._sql, position=position)

    def _comment(self, start: int) -> int:
        code = code_after(self._sql, start)
        if code is not None:
            self._in_code_comment = True
            return code
        end = self._sql.find("*/", start + 2) + 2
        if end < 2:
            raise DdlError(
                f"{self._subject} cannot be read: a comment never ends",
                remedy="Close it with */",
                statement=self._sql,
                position=start,
            )
        if self._sql.startswith("/*+", start) and self._tokens and self._tokens[-1].text in _HINTED:
            self._tokens.append(Token("hint", "", self._sql[start + 3 : end - 2], start, end))
        return end

    def _token(self, kind: str, raw: str, start: int, end: int) -> Token:
        if kind == "string":
            is_name = raw[0] == '"' and self._mode.ansi_quotes
            return Token("name" if is_name else "string", "", decode_quoted(raw, escapes=self._escapes), start, end)
        if kind == "name":
            return Token("name", "", decode_quoted(raw), start, end)
        if kind == "national":
            return Token("introducer", "", "utf8", start, end)
        if kind in ("hex", "bits"):
            return Token(kind, "", raw, start, end)
        if kind in ("variable", "system"):
            value = raw[2:] if kind == "system" else raw[1:]
            head, dot, tail = value.partition(".") if kind == "system" else ("", "", value)
            if tail[:1] in ("`", "'", '"') and tail:
                value = head + dot + decode_quoted(tail, escapes=self._escapes)
            elif value[:1] in ("`", "'", '"') and value:
                value = decode_quoted(value, escapes=self._escapes)
            return Token(kind, "", value, start, end)
        return Token(kind, "", raw, start, end)

    def _word(self, raw: str, start: int, end: int, *, after_dot: bool) -> Token:
        sql = self._sql
        following = sql[end : end + 1]
        if following == "." or (after_dot and self._after_dot(start)):
            return Token("name", "", raw, start, end)
        if raw[0] == "_" and (charset := _INTRODUCERS.get(raw.lower())):
            return Token("introducer", "", charset, start, end)
        text = raw.upper() if raw.isascii() else raw
        if text in CALL_WORDS:
            if following != "(" and self._mode.ignore_space:
                following = sql[end:].lstrip()[:1]
            if following == "(":
                return Token("call", text, raw, start, end)
        return Token("word", text, raw, start, end)


def code_after(sql: str, start: int) -> int | None:
    """Return where the code of a ``/*! */`` or ``/*T! */`` comment at ``start`` begins; ``None`` for other comments."""
    opener = _OPENER.match(sql, start)
    if opener is None:
        return None
    features = opener["features"]
    return opener.end() if features is None or all(name in FEATURES for name in features.split(",")) else None
