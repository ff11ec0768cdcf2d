"""Parse SQL text to :data:`Statement` nodes; split scripts at their semicolons.

The grammar is :mod:`ticdc_emit.schema.grammar`, over the tokens of :mod:`ticdc_emit.schema.tokens`.
"""

from __future__ import annotations

from collections.abc import Iterator

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.grammar.other import OtherGrammar
from ticdc_emit.schema.nodes.style import PLAIN, WIRE, Node, Style
from ticdc_emit.schema.other_statements import OtherStatement
from ticdc_emit.schema.script import check_text, script_statements
from ticdc_emit.schema.sql_mode import sql_mode_of
from ticdc_emit.schema.statements import CreateTable, CreateTables, Statement
from ticdc_emit.schema.tokens import Token, scan

__all__ = ["parse_ddl", "parse_expression", "plain_statements", "restored_statements", "split_statements"]


def parse_ddl(sql: str, sql_mode: str = "", charset: str = "utf8mb4") -> Statement | OtherStatement:
    """Parse one DDL statement (a trailing semicolon is fine) that the catalog can run, or several CREATE TABLE.

    Raises ``DdlError`` with ``statement`` and ``position`` (offset in characters) if it cannot be parsed.
    """
    mode = sql_mode_of(sql_mode)
    try:
        found = [
            (text, OtherGrammar(sql, tokens, mode, charset).job_statement()) for text, tokens in _split(sql, sql_mode)
        ]
    except RecursionError:
        raise DdlError("DDL is nested too deeply", remedy="Use fewer parentheses", statement=sql, position=0) from None
    if len(found) == 1:
        return found[0][1]
    tables = tuple(statement for _, statement in found if isinstance(statement, CreateTable))
    if found and len(tables) == len(found):
        return CreateTables(tables, tuple(text for text, _ in found))
    what = "no statement" if not found else f"{len(found)} statements"
    message = f"expected one DDL statement, found {what}"
    raise DdlError(message, remedy="Give them one by one; only CREATE TABLE may be several", statement=sql, position=0)


def parse_expression(text: str) -> Node:
    """Parse a single expression; ``DdlError`` if TiDB cannot parse it."""
    check_text(text)
    mode = sql_mode_of("")
    try:
        grammar = OtherGrammar(text, scan(text, mode, "the expression"), mode)
        return grammar.whole_expression()
    except RecursionError:
        raise DdlError(
            "the expression is nested too deeply", remedy="Use fewer parentheses", statement=text, position=0
        ) from None


def plain_statements(sql: str) -> list[str]:
    """Return the text of every statement as TiDB prints it for itself, read in its default SQL mode."""
    return restored_statements(sql, "", "utf8mb4", PLAIN)


def restored_statements(sql: str, sql_mode: str, charset: str, style: Style = WIRE) -> list[str]:
    """Return TiDB's canonical text of every statement in ``sql``, also of those that are not DDL if it is known."""
    mode = sql_mode_of(sql_mode)
    try:
        return [
            OtherGrammar(sql, tokens, mode, charset).any_statement().restore(style)
            for _, tokens in _split(sql, sql_mode)
        ]
    except RecursionError:
        raise DdlError("DDL is nested too deeply", remedy="Use fewer parentheses", statement=sql, position=0) from None


def split_statements(sql: str, sql_mode: str = "") -> list[str]:
    """Split a script at its semicolons (not those in strings or comments) or DELIMITERs; no empty statements."""
    return [statement.text for statement in script_statements(sql, sql_mode)]


def _split(sql: str, sql_mode: str) -> Iterator[tuple[str, list[Token]]]:
    check_text(sql)
    start, chunk = 0, list[Token]()
    for token in scan(sql, sql_mode_of(sql_mode)):
        ends = token.kind == "end"
        if not ends and not (token.kind == "symbol" and token.text == ";"):
            chunk.append(token)
            continue
        if chunk:
            yield sql[start : token.start].strip(), [*chunk, Token("end", "", "", token.start, token.start)]
        start, chunk = token.end, []
