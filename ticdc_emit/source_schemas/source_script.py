"""Scripts of other systems as statements and tokens.

In: the text of a script, and how its dialect writes names, strings and comments. Out: :class:`SourceStatement`, each
with its place in the script, and their tokens.

Statements end where the system's own client ends them: at semicolons, ``GO``, a ``/`` on a line of its own, the cells
of a notebook. A line that begins with CREATE TABLE begins a statement, whatever came before it: where an end is
missing, no table is lost. The data of ``COPY``, commands of psql and SQL*Plus and the bodies of routines are no
statements.
sqlglot's tokenizers read the words of each dialect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, NoReturn

from sqlglot import TokenType, tokenize
from sqlglot.errors import TokenError

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.script import place_in

Case = Literal["upper", "lower", "kept"]


@dataclass(frozen=True)
class Lexicon:
    """How a dialect writes its text.

    ``title``: the name of the system. ``reader``: sqlglot's name of the dialect. ``unquoted``, ``quoted``: the case
    that names get. ``schema``: the schema of names without one, which scripts also write out. ``pieces``: expressions
    for strings, names and comments beyond SQL's own. ``ends``: where statements end beside semicolons. ``client``:
    lines that only the system's client reads. ``routine``: the start of a statement with a body, which has
    semicolons. ``joins_strings``: strings that follow each other are one. ``doubles_quotes``: two quotes in a string
    are one, as in SQL. ``has_identifiers``: ``IDENTIFIER('name')`` is a name. ``enforces_keys``: whether the system
    refuses a second row with the same key.
    """

    title: str
    reader: str
    unquoted: Case = "kept"
    quoted: Case = "kept"
    schema: str = ""
    pieces: tuple[str, ...] = ()
    backslashes: bool = False
    ends: str = r"(?!)"
    client: str = r"(?!)"
    routine: str = r"(?!)"
    routine_end: str = r"(?!)"
    nests_comments: bool = False
    joins_strings: bool = False
    doubles_quotes: bool = True
    has_identifiers: bool = False
    enforces_keys: bool = True

    def name(self, text: str, *, is_quoted: bool) -> str:
        """Return a name as the system keeps it."""
        case = self.quoted if is_quoted else self.unquoted
        if case == "kept":
            return text
        return text.upper() if case == "upper" else text.lower()

    @cached_property
    def scanner(self) -> re.Pattern[str]:
        """Finds what is more than a character of code; the group ``end`` is the end of a statement."""
        if self.backslashes:
            strings = [rf"{quote}(?:\\.|{quote}{quote}|[^{quote}\\])*{quote}" for quote in "'\""]
        else:
            strings = [rf"{quote}(?:{quote}{quote}|[^{quote}])*{quote}" for quote in "'\""]
        ends = rf"(?P<end>;|{self.ends}|(?P<table>{_TABLE_BEGINS}))"
        parts = [*self.pieces, *strings, ends, r"--[^\n]*", r"/\*(?P<comment>)"]
        return re.compile("|".join(parts), re.DOTALL | re.MULTILINE | re.IGNORECASE)

    @cached_property
    def blank(self) -> re.Pattern[str]:
        """What may stand before a statement: spaces, comments, lines for the client."""
        line_comments = [piece for piece in self.pieces if piece in (HASH_COMMENT, SLASH_COMMENT)]
        parts = [r"[\s;]+", r"--[^\n]*", *line_comments, rf"^[ \t]*(?:{self.client})[^\n]*"]
        return re.compile(f"(?:{'|'.join(parts)})+", re.MULTILINE | re.IGNORECASE)

    @cached_property
    def body(self) -> re.Pattern[str]:
        return re.compile(self.routine, re.IGNORECASE)

    @cached_property
    def body_end(self) -> re.Pattern[str]:
        return re.compile(self.routine_end, re.IGNORECASE | re.MULTILINE)


_TABLE_BEGINS = r"^[ \t]*(?=CREATE\s+(?:\w+\s+){0,5}?TABLE\s)"
_SCHEMA_BEGINS = re.compile(r"CREATE\s+SCHEMA\b", re.IGNORECASE)
HASH_COMMENT, SLASH_COMMENT = r"#[^\n]*", r"//[^\n]*"
DOLLARS = r"\$(?P<tag>\w*)\$.*?\$(?P=tag)\$"
BACKQUOTES = r"`(?:``|[^`])*`"


class Token(NamedTuple):
    """``kind``: a word, a name in quotes, a string (its value), a number, a symbol, or the end. ``start``, ``end``:
    offsets in the script.
    """

    kind: Literal["word", "quoted", "string", "number", "symbol", "end"]
    text: str
    start: int
    end: int

    @property
    def word(self) -> str:
        """The word in upper case, "" for everything else."""
        return self.text.upper() if self.kind == "word" else ""


@dataclass(frozen=True)
class SourceStatement:
    """``start``: the offset of its first word in ``script``. ``text``: from there on."""

    script: str
    start: int
    text: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The first words in upper case, as far as they are words."""
        found = _WORDS.match(_COMMENTS.sub(" ", self.text[:400]))
        return tuple(found[0].upper().split()) if found is not None else ()

    def tokens(self, lexicon: Lexicon) -> list[Token]:
        """Return the tokens, the last of which is the end. Raises :class:`DdlError` for text that has none."""
        try:
            found = tokenize(self.text, read=lexicon.reader)
        except TokenError:
            self.fail("the statement cannot be read: a string, name or comment is wrong", self.start)
        tokens: list[Token] = []
        for each in found:
            start, end = self.start + each.start, self.start + each.end + 1
            source = self.script[start:end]
            if each.token_type is TokenType.IDENTIFIER:
                tokens.append(Token("quoted", each.text, start, end))
            elif each.token_type in _STRINGS:
                before = tokens[-1] if tokens and lexicon.joins_strings else None
                if before is not None and before.kind == "string":
                    quote = source[0] if lexicon.doubles_quotes and before.end == start else ""
                    tokens[-1] = Token("string", f"{before.text}{quote}{each.text}", before.start, end)
                else:
                    tokens.append(Token("string", each.text, start, end))
            elif each.token_type is TokenType.NUMBER:
                tokens.append(Token("number", each.text, start, end))
            elif source[:1].isalnum() or (source[:1] in "_@" and source != "@"):
                tokens += [
                    Token("word", part[0], start + part.start(), start + part.end()) for part in _WORD.finditer(source)
                ]
            else:
                tokens.append(Token("symbol", source, start, end))
        last = self.start + len(self.text)
        return [*tokens, Token("end", "", last, last)]

    def fail(self, message: str, offset: int, *, remedy: str = "", table: str = "", column: str = "") -> NoReturn:
        """Raise :class:`DdlError` with the place of an offset in the script."""
        context = {"table": table, "column": column}
        raise DdlError(
            message,
            remedy=remedy or "Correct it, or leave the statement out",
            statement=self.text,
            position=offset - self.start,
            place=place_in(self.script, offset),
            **{name: value for name, value in context.items() if value},
        )


_COMMENT_EDGES = re.compile(r"/\*|\*/")
_WORD = re.compile(r"\S+")
_WORDS = re.compile(r"\s*(?:[A-Za-z_]+\s*)+")
_COMMENTS = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_STRINGS = frozenset(
    {
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.RAW_STRING,
        TokenType.BYTE_STRING,
        TokenType.HEREDOC_STRING,
        TokenType.UNICODE_STRING,
        TokenType.BIT_STRING,
        TokenType.HEX_STRING,
    }
)


def statements(script: str, lexicon: Lexicon) -> Iterator[SourceStatement]:
    """Yield the statements of a script, without empty ones. Raises :class:`DdlError` for a comment without an end."""
    position = 1 if script.startswith("\ufeff") else 0
    while (start := _first(script, position, lexicon)) < len(script):
        if data := _COPY.match(script, start):
            position = data.end()
            continue
        if lexicon.body.match(script, start):
            found = lexicon.body_end.search(script, start)
            end, position = (len(script),) * 2 if found is None else found.span()
        else:
            end, position = _end(script, start, lexicon)
        if text := script[start:end].rstrip():
            yield SourceStatement(script, start, text)


_COPY = re.compile(
    r"COPY\b[^;]*\bFROM\s+stdin\b[^;]*;[^\n]*\n(?:.*?^\\\.[ \t]*\r?$|.*)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


def _first(script: str, position: int, lexicon: Lexicon) -> int:
    """Return where the next statement begins."""
    while True:
        if blank := lexicon.blank.match(script, position):
            position = blank.end()
        if not script.startswith("/*", position):
            return position
        position = _after_comment(script, position, lexicon)


def _after_comment(script: str, start: int, lexicon: Lexicon) -> int:
    """Return where a comment ends that begins at ``start``, with the comments inside it if the dialect nests them."""
    depth = 0
    for found in _COMMENT_EDGES.finditer(script, start):
        if found[0] == "*/":
            depth = depth - 1 if lexicon.nests_comments else 0
        else:
            depth += 1
        if depth == 0:
            return found.end()
    raise DdlError(
        "a comment never ends",
        remedy="Close it",
        statement=script[start : start + 60],
        position=0,
        place=place_in(script, start),
    )


def _end(script: str, position: int, lexicon: Lexicon) -> tuple[int, int]:
    """Return where a statement ends, and where to look for the next one."""
    has_elements = _SCHEMA_BEGINS.match(script, position) is not None  # of which tables are some
    position += 1  # the statement's own first word may be what ends others
    while found := lexicon.scanner.search(script, position):
        if found["table"] is not None and has_elements:
            position = found.end() + 1
        elif found["end"] is not None:
            return found.span("end")
        else:
            position = _after_comment(script, found.start(), lexicon) if found["comment"] is not None else found.end()
    return len(script), len(script)
