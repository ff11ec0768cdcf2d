"""Split scripts into statements like the ``mysql`` client (MySQL's ``client/mysql.cc``); dumps are scripts too."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from typing import NamedTuple, NoReturn

from ticdc_emit.errors import DdlError
from ticdc_emit.sql.lexer import Token, code_after, scan, sql_mode_of
from ticdc_emit.sql.nodes.base import PLAIN, WIRE, Node, Style
from ticdc_emit.sql.nodes.statements import ChangeStatement, CreateTable, CreateTables, OtherStatement, Statement
from ticdc_emit.sql.parser.changes import ChangeParser
from ticdc_emit.sql.parser.statements import Parser

_OF_ROWS_AND_SESSIONS = frozenset(
    """
    SET LOCK UNLOCK INSERT REPLACE UPDATE DELETE WITH TABLE VALUES SELECT BEGIN START COMMIT ROLLBACK SAVEPOINT RELEASE
    """.split()  # noqa: SIM905 (a table of words)
)
_SANDBOX = re.compile(r"\ufeff?(?:/\*M?!999999\\-[^\n]*\n)?")  # a byte-order mark, and MariaDB's first line
_BLANK = re.compile(r"(?:\s|--(?=\s|\Z)[^\n]*|\#[^\n]*|\*/)+")
_DELIMITER = re.compile(r"DELIMITER[ \t]+(\S+)[^\n]*", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z]+")
_NAME = r"(?:`(?:[^`]|``)*`|\w+)"
_USER = r"""(?:`(?:[^`]|``)*`|'[^']*'|"[^"]*"|\w+(?:\(\))?)"""
_WITHOUT_EFFECT = re.compile(
    rf"""
    (?: ANALYZE | BACKUP | CACHE\s+INDEX | CALL | CHANGE | CHECK | CHECKSUM | FLUSH | GRANT | HELP | INSTALL | KILL
      | LOAD\s+(?:INDEX|STATS) | OPTIMIZE | PLAN\s+REPLAYER | PURGE | REFRESH | REPAIR | RESET | RESTART | REVOKE | SHOW
      | SHUTDOWN | SPLIT | STOP | UNINSTALL | RENAME\s+USER | ADMIN(?!\s+REPAIR\b) | START(?!\s+TRANSACTION\b)
      | (?:DESC|DESCRIBE|EXPLAIN)(?!\s+ANALYZE\b) | DO(?!\b.*(?::=|VAL\s*\())
      | SET\s+(?:ROLE|DEFAULT\s+ROLE|PASSWORD|RESOURCE\s+GROUP|CONFIG)
      | ALTER\s+TABLE\s+(?:{_NAME}\.)?{_NAME}\s+(?:ANALYZE\s+PARTITION|COMPACT)
    )\b
    | (?:CREATE|ALTER|DROP)\b
      (?:\s | /\*!\d* | \*/ | OR\s+REPLACE\b | AGGREGATE\b | DEFINER\s*=\s*{_USER}(?:\s*@\s*{_USER})?)*
      (?P<object>TRIGGER|PROCEDURE|FUNCTION|EVENT|USER|ROLE|(?:GLOBAL\s+|SESSION\s+)?BINDING|SERVER|STATISTICS|STATS
      |(?:UNDO\s+)?TABLESPACE|LOGFILE|INSTANCE|SPATIAL)\b
    """,
    re.IGNORECASE | re.VERBOSE | re.DOTALL,
)
"""The statements that change neither rows nor tables that a changefeed sends. TiDB has no triggers and routines."""
SKIPPED: ContextVar[Counter[str]] = ContextVar("skipped")
"""Counts what a session skips of them, by their kind."""
_SOURCE = re.compile(r"(?:SOURCE\s|\\\.)\s*([^\s;]+)", re.IGNORECASE)
_BODY = re.compile(r"\bBEGIN\b", re.IGNORECASE)
_ENDED = re.compile(r"\bEND\W*\Z", re.IGNORECASE)
_SHOWN = 60


class ScriptStatement(NamedTuple):
    """``start``: the offset of the text in the script. ``word``: its first word in upper case, at ``first``."""

    text: str
    start: int
    word: str
    first: int

    @property
    def is_schema(self) -> bool:
        return self.word not in _OF_ROWS_AND_SESSIONS and not self.without_effect()

    def without_effect(self) -> str:
        """Return the kind of statement, such as CREATE TRIGGER, if it changes neither rows nor tables, else "". Raises
        ``DdlError`` for SOURCE, and for a trigger or routine with a body and no DELIMITER around it.
        """
        first = self.first - self.start
        found = _WITHOUT_EFFECT.match(self.text, first)
        remedy = message = ""
        if found is not None and found["object"] and _BODY.search(self.text):
            if ";" not in self.text and not _ENDED.search(self.text):
                message = "a trigger or routine with BEGIN ... END has no DELIMITER around it"
                remedy = "Write DELIMITER ;; before it and DELIMITER ; after it, as mysqldump does, or leave it out"
        elif found is None and (source := _SOURCE.match(self.text, first)):
            message = f"the file {source[1]}, which SOURCE names, is not read"
            remedy = "Put its statements in place of SOURCE, or give the files together"
        if message:
            raise DdlError(message, remedy=remedy, statement=self.text, position=0)
        if found is None:
            return ""
        return " ".join((f"{self.word} {found['object']}" if found["object"] else found[0]).upper().split())


@cache
def _pieces(delimiter: str, *, escapes: bool) -> re.Pattern[str]:
    body = r"[^{0}\\]*(?:(?:\\.|{0}{0})[^{0}\\]*)*" if escapes else r"[^{0}]*(?:{0}{0}[^{0}]*)*"
    strings = "|".join(quote + body.format(quote) + quote for quote in "'\"")
    comments = r"--(?=\s|\Z)[^\n]*|\#[^\n]*|(?P<open>/\*)"
    return re.compile(
        rf"{strings}|`[^`]*(?:``[^`]*)*`|{comments}|(?P<end>{re.escape(delimiter)})|(?P<lone>['\"`])", re.DOTALL
    )


def script_statements(script: str, sql_mode: str = "") -> Iterator[ScriptStatement]:
    """Yield the statements that are not empty. Raises ``DdlError`` with ``position`` and ``place``."""
    check_text(script)
    escapes = not sql_mode_of(sql_mode).no_backslash_escapes
    opening = _SANDBOX.match(script)
    start, delimiter = opening.end() if opening is not None else 0, ";"
    while start < len(script):
        first = _first(script, start)
        if given := _DELIMITER.match(script, first):
            start, delimiter = given.end(), given[1]
            continue
        end, after = _end(script, first, _pieces(delimiter, escapes=escapes))
        if first < end:
            text = script[start:end]
            word = _WORD.match(script, first)
            place = start + len(text) - len(text.lstrip())
            yield ScriptStatement(text.strip(), place, word[0].upper() if word is not None else "", first)
        start = after


def _first(script: str, position: int) -> int:
    while True:
        if blank := _BLANK.match(script, position):
            position = blank.end()
        if not script.startswith("/*", position):
            return position
        position = _after_opener(script, position)


def _after_opener(script: str, position: int) -> int:
    code = code_after(script, position)
    end = script.find("*/", position + 2) + 2
    if code is None and end < 2:
        _fail("a comment never ends", script, position)
    return end if code is None else code


def _end(script: str, position: int, pieces: re.Pattern[str]) -> tuple[int, int]:
    while found := pieces.search(script, position):
        if found["end"] is not None:
            return found.span()
        if found["lone"] is not None:
            _fail("a string or name never ends", script, found.start())
        position = found.end() if found["open"] is None else _after_opener(script, found.start())
    return len(script), len(script)


def schema_statements(script: str, sql_mode: str = "") -> Iterator[ScriptStatement]:
    """Yield the statements that may concern schemas, without SET, rows, triggers, routines, events and users."""
    return (statement for statement in script_statements(script, sql_mode) if statement.is_schema)


def check_text(sql: object) -> None:
    """Raise ``DdlError`` for a value that is not text, or cannot be encoded as UTF-8."""
    if not isinstance(sql, str):
        what = f"a DDL statement must be str, not {type(sql).__name__}"
        raise DdlError(
            what, remedy="Decode it as UTF-8 first" if isinstance(sql, bytes) else "Give its text", position=0
        )
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise DdlError(
            "DDL has a lone surrogate", remedy="Decode the text as UTF-8 first", statement=sql, position=error.start
        ) from None


def place_in(script: str, offset: int) -> str:
    return f"line {script.count(chr(10), 0, offset) + 1}, column {offset - script.rfind(chr(10), 0, offset)}"


def _fail(message: str, script: str, offset: int) -> NoReturn:
    start = script.rfind("\n", 0, offset) + 1
    shown = script[start : offset + _SHOWN].partition("\n")[0]
    raise DdlError(message, remedy="Close it", statement=shown, position=offset - start, place=place_in(script, offset))


_PATH = re.compile(r"\s*(?:[^\s;]*[/\\][^\s;]*|[^\s;]+\.\w{1,5})\s*")


def refuse_path(schema: object) -> None:
    """Raise :class:`DdlError` for a path, or anything else that is not DDL text."""
    if isinstance(schema, str) and not _PATH.fullmatch(schema):
        return
    if isinstance(schema, str | os.PathLike):
        path = os.fspath(schema)
        raise DdlError(
            f"the schema {path!r} is a path, not DDL",
            remedy="Read the file first: pathlib.Path(...).read_text(encoding='utf-8')",
            statement=path,
        )
    raise DdlError(
        f"the schema is of type {type(schema).__name__}, not DDL",
        remedy="Give the text of CREATE TABLE statements, or a Catalog",
        statement=repr(schema),
    )


def parse_ddl(
    sql: str, sql_mode: str = "", charset: str = "utf8mb4", *, of_job: bool = False
) -> Statement | OtherStatement:
    """Parse a DDL statement or several CREATE TABLE; ``DdlError`` with ``position``. ``of_job``: TiDB wrote it."""
    mode = replace(sql_mode_of(sql_mode), of_job=of_job)
    with _bounded_depth(sql, "DDL"):
        found = [(text, Parser(sql, tokens, mode, charset).job_statement()) for text, tokens in _split(sql, sql_mode)]
    if len(found) == 1:
        return found[0][1]
    tables = tuple(statement for _, statement in found if isinstance(statement, CreateTable))
    if found and len(tables) == len(found):
        return CreateTables(tables, tuple(text for text, _ in found))
    what = "no statement" if not found else f"{len(found)} statements"
    message = f"expected one DDL statement, found {what}"
    raise DdlError(message, remedy="Give them one by one; only CREATE TABLE may be several", statement=sql, position=0)


def parse_change(sql: str, sql_mode: str = "", *, joins_rows: bool = False) -> ChangeStatement:
    """Parse one statement that is not DDL: INSERT, COMMIT, SET ...; ``DdlError`` with ``position``. ``joins_rows``: an
    INSERT has its rows of literals as :class:`~ticdc_emit.sql.nodes.statements.LiteralRows`.
    """
    mode = sql_mode_of(sql_mode)
    found = list(_split(sql, sql_mode, joins_rows=joins_rows))
    if len(found) != 1:
        raise DdlError(f"expected one statement, found {len(found)}", remedy="Give them one by one", statement=sql)
    with _bounded_depth(sql, "the statement"):
        return ChangeParser(sql, [token for token in found[0][1] if token.kind != "hint"], mode).statement()


def parse_expression(text: str) -> Node:
    check_text(text)
    mode = sql_mode_of("")
    with _bounded_depth(text, "the expression"):
        return Parser(text, scan(text, mode, "the expression"), mode).whole_expression()


def plain_statements(sql: str) -> list[str]:
    """Return the text of every statement as TiDB prints it for itself, read in its default SQL mode."""
    return restored_statements(sql, "", "utf8mb4", PLAIN)


def restored_statements(sql: str, sql_mode: str, charset: str, style: Style = WIRE) -> list[str]:
    """Return TiDB's canonical text of every statement in ``sql``, also of those that are not DDL if it is known."""
    mode = sql_mode_of(sql_mode)
    with _bounded_depth(sql, "DDL"):
        return [
            Parser(sql, tokens, mode, charset).any_statement().restore(style) for _, tokens in _split(sql, sql_mode)
        ]


def split_statements(sql: str, sql_mode: str = "") -> list[str]:
    """Split a script at its semicolons (not those in strings or comments) or DELIMITERs; no empty statements."""
    return [statement.text for statement in script_statements(sql, sql_mode)]


@contextmanager
def _bounded_depth(sql: str, subject: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        message = f"{subject} is nested too deeply"
        raise DdlError(message, remedy="Use fewer parentheses", statement=sql, position=0) from None


def _split(sql: str, sql_mode: str, *, joins_rows: bool = False) -> Iterator[tuple[str, list[Token]]]:
    check_text(sql)
    start, chunk = 0, list[Token]()
    for token in scan(sql, sql_mode_of(sql_mode), joins_rows=joins_rows):
        ends = token.kind == "end"
        if not ends and not (token.kind == "symbol" and token.text == ";"):
            chunk.append(token)
            continue
        if chunk:
            yield sql[start : token.start].strip(), [*chunk, Token("end", "", "", token.start, token.start)]
        start, chunk = token.end, []
