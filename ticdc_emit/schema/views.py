"""CREATE VIEW: the columns of its SELECT, without types, which TiDB resolves when the view is read.

Rule source: pingcap/tidb ``pkg/planner/core`` (a column without alias is named by its own text), ``pkg/ddl``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from ticdc_emit.errors import DdlError, SchemaError, UnprintableDdlError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.tables import check_identifier, unique_names
from ticdc_emit.sql.nodes.base import TableName, every_node, with_children
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, Parenthesised, Subquery, Unary
from ticdc_emit.sql.nodes.queries import (
    CommonTable,
    Field,
    Join,
    Query,
    Select,
    SetOperation,
    TableQuery,
    ValuesQuery,
    WildCard,
    sources,
)
from ticdc_emit.sql.nodes.statements import CreateView
from ticdc_emit.sql.types import MySQLType


def build_view(
    statement: CreateView, sql: str, schema: str, database: tuple[str, str], table: Callable[[TableName], TableInfo]
) -> TableInfo:
    """Build a view's ``TableInfo`` (id 0). ``table`` looks up the tables of its SELECT, for ``*``."""
    check_identifier(statement.table.name, "view")
    select, names = _first_select(statement.query), list[str]()
    for field in select.fields:
        if isinstance(field.value, WildCard):
            names += _star_names(select, field.value.qualifier, table)
        else:
            names.append(field_name(field, sql))
    if statement.columns:
        if len(statement.columns) != len(names):
            raise DdlError(
                "the view's SELECT and its column list have different column counts",
                remedy="Give one name for each column of the SELECT",
            )
        names = list(statement.columns)
    unique_names(names, "column")
    columns = tuple(
        Column(number, name, MySQLType.UNSPECIFIED, 0, 0, "", "") for number, name in enumerate(names, start=1)
    )
    return TableInfo(schema, statement.table.name, 0, columns, charset=database[0], collate=database[1], is_view=True)


def _first_select(query: Query) -> Select:
    while isinstance(query, SetOperation) and query.common is None:
        first = query.clauses[0].queries[0]
        if not isinstance(first, Query):
            break
        query = first
    if query.common is not None or not isinstance(query, Select):
        raise DdlError(
            "a view over WITH, TABLE or VALUES is not understood; give it a plain SELECT",
            remedy="Give it a plain SELECT",
        )
    return query


def field_name(field: Field, sql: str) -> str:
    if field.alias:
        return field.alias
    value, text = field.value, sql[field.start : field.end]
    while isinstance(value, Parenthesised) or (isinstance(value, Unary) and value.operator == "+"):
        value = value.operand
    if isinstance(value, ColumnName):
        return value.name
    if not isinstance(value, Constant):
        return text
    if value.kind == "string":
        return str(value.value)
    if value.kind in ("null", "true", "false"):
        return value.kind.upper()
    return text.lstrip("\t\n +(").rstrip("\t\n )") if value.kind in ("decimal", "float") else text


def _star_names(select: Select, qualifier: tuple[str, ...], table: Callable[[TableName], TableInfo]) -> list[str]:
    names: list[str] = []
    for source in sources(select.tables):
        if isinstance(source.origin, Subquery):
            raise DdlError(
                "a view with * over a subquery is not understood; name its columns", remedy="Name its columns"
            )
        if qualifier and qualifier[-1].lower() != (source.alias or source.origin.name).lower():
            continue
        names.extend(column.name for column in table(source.origin).columns if not column.hidden)
    if not names:
        raise DdlError("the view's * has no table", remedy="Name the columns, or add FROM")
    return names


_N = TypeVar("_N")
_IN_TABLE = 2  # parts of a column's name with its table


def stored_select(
    statement: CreateView, sql: str, database: str, table: Callable[[TableName], TableInfo]
) -> Query | UnprintableDdlError:
    """Return the SELECT that TiDB stores; an error if its planner rewrites more than is known here."""
    try:
        return _Stored(sql, database, table).of(statement.query)
    except UnprintableDdlError as error:
        return error
    except SchemaError as error:
        return UnprintableDdlError(f"the SELECT that TiDB stores is unknown: {error.message}")


def sent_view(statement: CreateView, stored: Query | UnprintableDdlError, schema: str, database: str) -> CreateView:
    """Return the statement as the new architecture sends it; ``UnprintableDdlError`` for a SELECT that is not known."""
    if isinstance(stored, UnprintableDdlError):
        if _may_be_replaced(statement.query, schema, database):
            raise stored
        return statement
    query = _with_databases(stored)
    elsewhere = any(
        isinstance(node, TableName) and node.schema.lower() != schema.lower() for node in every_node(stored)
    )
    return replace(statement, query=query) if elsewhere or query != stored else statement


class _Stored:
    def __init__(self, sql: str, database: str, table: Callable[[TableName], TableInfo]) -> None:
        self._sql = sql
        self._database = database
        self._table = table

    def of(self, node: _N) -> _N:
        if isinstance(node, TableName):
            return node if node.schema else replace(node, schema=self._database)
        if isinstance(node, CommonTable | TableQuery | ValuesQuery):
            raise UnprintableDdlError("what TiDB stores for WITH, TABLE and VALUES in a view is unknown")
        if isinstance(node, Select):
            self._check(node)
            outputs = tuple(each for field in node.fields for each in self._outputs(field, node))
            return with_children(replace(node, fields=outputs), self.of)
        return with_children(node, self.of)

    def _outputs(self, field: Field, select: Select) -> Iterator[Field]:
        if not isinstance(field.value, WildCard):
            yield field if field.alias else replace(field, alias=field_name(field, self._sql))
            return
        qualifier = field.value.qualifier
        for source in sources(select.tables):
            if not isinstance(source.origin, TableName):
                raise UnprintableDdlError("what TiDB stores for * over a subquery is unknown")
            info = self._table(source.origin)
            schema, name = source.origin.schema or self._database, source.alias or info.name
            if (
                qualifier
                and tuple(map(str.lower, qualifier)) != tuple(map(str.lower, (schema, name)))[-len(qualifier) :]
            ):
                continue
            for column in info.columns:
                if not column.hidden:
                    yield Field(ColumnName((schema, name, column.name)), column.name)

    def _check(self, select: Select) -> None:
        joins = [node for node in every_node(select.tables) if isinstance(node, Join)]
        has_star = any(isinstance(field.value, WildCard) for field in select.fields)
        if has_star and any(join.natural or join.using for join in joins):
            raise UnprintableDdlError("what TiDB stores for * over NATURAL JOIN and USING is unknown")
        if not select.group_by:
            return
        known = set()
        for source in sources(select.tables):
            if isinstance(source.origin, TableName):
                known |= {column.name.lower() for column in self._table(source.origin).columns}
        for item in select.group_by:
            names = [node.name.lower() for node in every_node(item.value) if isinstance(node, ColumnName)]
            if not names or not known.issuperset(names):
                raise UnprintableDdlError("what TiDB stores for GROUP BY with an alias or a position is unknown")


def _with_databases(node: _N, scope: dict[str, str] | None = None) -> _N:
    if isinstance(node, Select):
        scope = _scope(node)
    if isinstance(node, ColumnName) and scope and len(node.parts) == _IN_TABLE:
        schema = scope.get(node.parts[0].lower(), "")
        return ColumnName((schema, *node.parts)) if schema else node  # type: ignore[return-value]
    return with_children(node, lambda child: _with_databases(child, scope))


def _scope(select: Select) -> dict[str, str]:
    databases: dict[str, str] = {}
    aliases = set()
    for source in sources(select.tables):
        if source.alias:
            aliases.add(source.alias.lower())
        elif isinstance(source.origin, TableName):
            name = source.origin.name.lower()
            databases[name] = "" if name in databases else source.origin.schema
    return databases | dict.fromkeys(aliases, "")


def _may_be_replaced(query: Query, schema: str, database: str) -> bool:
    for node in every_node(query):
        if isinstance(node, ColumnName) and len(node.parts) > 1:
            return True
        if isinstance(node, TableName) and (node.schema or database).lower() != schema.lower():
            return True
    return False
