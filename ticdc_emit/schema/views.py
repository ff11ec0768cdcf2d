"""CREATE VIEW: the columns of its SELECT. They have a name and no type (TiDB finds the types when the view is read).

Rule source: pingcap/tidb ``pkg/planner/core`` (``buildProjection``: a column without alias is named by its own text)
and ``pkg/ddl`` (``CreateView``).
"""

from __future__ import annotations

from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.expressions import tokens_of
from ticdc_emit.schema.identifiers import keyword
from ticdc_emit.schema.lexer import decode_quoted
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.nodes import TableName
from ticdc_emit.schema.statements import CreateView
from ticdc_emit.schema.tables import check_identifier, unique_names
from ticdc_emit.schema.types import MySQLType

__all__ = ["build_view"]

_SELECT_MODIFIERS = frozenset(
    {
        "ALL",
        "DISTINCT",
        "DISTINCTROW",
        "HIGH_PRIORITY",
        "STRAIGHT_JOIN",
        "SQL_SMALL_RESULT",
        "SQL_BIG_RESULT",
        "SQL_BUFFER_RESULT",
        "SQL_CACHE",
        "SQL_NO_CACHE",
        "SQL_CALC_FOUND_ROWS",
    }
)
_CLAUSES = frozenset(
    {
        "FROM",
        "WHERE",
        "GROUP",
        "HAVING",
        "ORDER",
        "LIMIT",
        "UNION",
        "EXCEPT",
        "INTERSECT",
        "FOR",
        "INTO",
        "WINDOW",
    }
)


def build_view(
    statement: CreateView, schema: str, database: tuple[str, str], table: Callable[[TableName], TableInfo]
) -> TableInfo:
    """Build a view's ``TableInfo`` (id 0); ``table`` looks up what its SELECT reads from, for ``*``."""
    check_identifier(statement.table.name, "view")
    if keyword(tokens_of(statement.select)[0].text) not in ("SELECT", "(", "WITH"):
        raise DdlError("a view needs a SELECT")
    try:
        query = sqlglot.parse_one(statement.select, dialect="mysql")
    except (SqlglotError, RecursionError) as error:
        raise DdlError(f"the view's SELECT is not understood: {error}") from None
    if not isinstance(query, exp.Query):
        raise DdlError("a view needs a SELECT")
    names = _output_names(statement.select, query, table)
    if statement.columns:
        if len(statement.columns) != len(names):
            raise DdlError("the view's SELECT and its column list have different column counts")
        names = statement.columns
    unique_names(names, "column")
    columns = tuple(
        Column(number, name, MySQLType.UNSPECIFIED, 0, 0, "", "") for number, name in enumerate(names, start=1)
    )
    return TableInfo(schema, statement.table.name, 0, columns, charset=database[0], collate=database[1], is_view=True)


def _output_names(sql: str, query: exp.Query, table: Callable[[TableName], TableInfo]) -> tuple[str, ...]:
    names: list[str] = []
    for item in _select_items(sql):
        if item[-1].text == "*" and (len(item) == 1 or item[-2].token_type is TokenType.DOT):
            names.extend(_star_names(query, _raw(sql, item[-3]) if len(item) > 2 else "", table))
        else:
            names.append(_item_name(sql, item))
    return tuple(names)


def _select_items(sql: str) -> list[list[Token]]:
    """Return the tokens of each item of the first SELECT list."""
    tokens = tokens_of(sql)
    start = next((i for i, token in enumerate(tokens) if keyword(token.text) == "SELECT"), None)
    if start is None or any(keyword(token.text) == "WITH" for token in tokens[:start]):
        raise DdlError("a view over WITH or TABLE is not understood; give it a plain SELECT")
    items: list[list[Token]] = [[]]
    depth = 0
    for token in tokens[start + 1 :]:
        word = keyword(token.text)
        depth += (token.text == "(") - (token.text == ")")
        if depth < 0 or (not depth and word.split(" ")[0] in _CLAUSES and token.token_type is not TokenType.IDENTIFIER):
            break
        if token.text == "," and not depth:
            items.append([])
        elif items != [[]] or word not in _SELECT_MODIFIERS:
            items[-1].append(token)
    if not all(items):
        raise DdlError("the view's SELECT has an empty column")
    return items


def _raw(sql: str, token: Token) -> str:
    raw = sql[token.start : token.end + 1]
    return decode_quoted(raw) if raw[0] in "`'\"" else raw


def _item_name(sql: str, item: list[Token]) -> str:
    last = item[-1]
    quoted = last.token_type in (TokenType.IDENTIFIER, TokenType.STRING)
    is_name = quoted or last.text[:1].isalpha() or last.text[:1] == "_"
    if len(item) > 2 and item[-2].token_type is TokenType.ALIAS:
        return _raw(sql, last)
    path = all(token.token_type is TokenType.DOT for token in item[1::2]) and len(item) % 2 == 1
    if is_name and path and last.token_type is not TokenType.STRING:
        return _raw(sql, last)
    operand = len(item) > 1 and (item[-2].text == ")" or item[-2].text[:1].isalnum() or item[-2].text[:1] == "_")
    if is_name and operand and last.token_type is not TokenType.END and item[-2].token_type is not TokenType.DOT:
        return _raw(sql, last)  # an alias without AS
    if len(item) == 1 and last.token_type is TokenType.STRING:
        return _raw(sql, last)
    return sql[item[0].start : last.end + 1]


def _star_names(query: exp.Query, qualifier: str, table: Callable[[TableName], TableInfo]) -> list[str]:
    select = query if isinstance(query, exp.Select) else query.find(exp.Select)
    assert select is not None
    source = select.args.get("from_") or select.args.get("from")
    sources = [source.this] if source is not None else []
    sources += [join.this for join in select.args.get("joins") or ()]
    names: list[str] = []
    for item in sources:
        if not isinstance(item, exp.Table):
            raise DdlError("a view with * over a subquery is not understood; name its columns")
        if qualifier and qualifier.lower() != item.alias_or_name.lower():
            continue
        info = table(TableName(item.db, item.name))
        names.extend(column.name for column in info.columns if not column.hidden)
    if not names:
        raise DdlError("the view's * has no table")
    return names
