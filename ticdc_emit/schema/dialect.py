"""The ``TiDB`` SQL dialect: sqlglot's MySQL with TiDB's DDL grammar. SQL text in, :data:`Statement` nodes out.

sqlglot supplies the tokenizer and the parser frame; :mod:`ticdc_emit.schema.grammar` overrides the statements. Queries
inside a DDL (a view's SELECT, a generated column) are left as text and read with the plain MySQL dialect where needed.
"""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.grammar.statement import StatementGrammar
from ticdc_emit.schema.lexer import unmask_comments
from ticdc_emit.schema.statements import Statement

__all__ = ["DdlStatement", "TiDB", "parse_ddl", "split_statements"]


class DdlStatement(exp.Expression):
    """A parsed DDL statement; ``args["node"]`` is the :data:`Statement`."""

    arg_types: ClassVar[dict[str, bool]] = {"node": True}


class TiDB(MySQL):
    """TiDB's dialect; ``sqlglot.parse(sql, dialect=TiDB)`` works for DDL statements."""

    class Tokenizer(MySQL.Tokenizer):
        # TiDB's grammar reads word by word: no "PRIMARY KEY", no "CHARACTER VARYING" in one token.
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            text: kind
            for text, kind in MySQL.Tokenizer.KEYWORDS.items()
            if " " not in text and kind is not TokenType.COMMAND and not text.startswith(("{", "/*+"))
        }
        COMMANDS: ClassVar[set[TokenType]] = set()

        def tokenize(self, sql: str) -> list[Token]:
            return super().tokenize(unmask_comments(sql))

    class Parser(StatementGrammar):
        def _parse_statement(self) -> exp.Expr | None:
            if self._at_end:
                return None
            return DdlStatement(node=self._ddl_statement())


_DIALECT = TiDB()


def parse_ddl(sql: str) -> Statement:
    """Parse one DDL statement (a trailing semicolon is fine).

    Raises ``DdlError`` with ``statement`` and ``position`` (offset in characters) if it is not understood.
    """
    statements = [tokens for _, tokens in _split(sql)]
    if len(statements) != 1:
        what = "no statement" if not statements else f"{len(statements)} statements"
        raise DdlError(f"expected one DDL statement, found {what}", statement=sql, position=0)
    parser = _DIALECT.parser()
    try:
        parsed = parser.parse(statements[0], sql)
    except ParseError as error:
        place = error.errors[0] if error.errors else {}
        message = place.get("description") or str(error)
        raise DdlError(
            f"DDL is not understood: {error.args[0] if error.args else message}",
            statement=sql,
            position=place.get("col", 0),
            remedy="Check the syntax against TiDB's",
        ) from None
    except RecursionError:
        raise DdlError("DDL is nested too deeply", statement=sql, position=0) from None
    node = parsed[0].args["node"] if parsed and parsed[0] is not None else None
    assert node is not None
    return node  # type: ignore[no-any-return]


def split_statements(sql: str) -> list[str]:
    """Split a script at its semicolons (not those in strings or comments); empty statements are dropped."""
    return [text for text, _ in _split(sql)]


def _split(sql: str) -> list[tuple[str, list[Token]]]:
    _check_text(sql)
    try:
        sql.encode()
        tokens = _DIALECT.tokenize(sql)
    except UnicodeEncodeError as error:
        raise DdlError("DDL has a lone surrogate", statement=sql, position=error.start) from None
    except SqlglotError as error:
        raise DdlError(f"DDL cannot be read: {error}", statement=sql, position=0) from None
    chunks: list[tuple[str, list[Token]]] = []
    start, chunk = 0, list[Token]()
    for token in tokens:
        if token.token_type is not TokenType.SEMICOLON:
            chunk.append(token)
            continue
        if chunk:
            chunks.append((sql[start : token.start].strip(), chunk))
        start, chunk = token.end + 1, []
    if chunk:
        chunks.append((sql[start:].strip(), chunk))
    return chunks


def _check_text(sql: object) -> None:
    if not isinstance(sql, str):
        what = f"a DDL statement must be str, not {type(sql).__name__}"
        raise DdlError(what, remedy="Decode it as UTF-8 first" if isinstance(sql, bytes) else "", position=0)
