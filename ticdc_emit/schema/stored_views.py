"""A view's SELECT as TiDB stores it, and the CREATE VIEW that the new architecture sends for it.

In: CREATE VIEW, and the tables that it reads. Out: the SELECT with every table qualified by its database, every output
named, and ``*`` expanded; columns stay as written. The new architecture sends that SELECT if it reads another database
than the view's, or qualifies a column by its table, which then gets its database. Rule source: pingcap/tidb
``pkg/planner/core/logical_plan_builder.go`` (``unfoldWildStar``, ``addAliasName``), ``pkg/ddl`` (``BuildViewInfo``);
pingcap/ticdc ``pkg/common/event/ddl_query_normalizer.go``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from ticdc_emit.errors import SchemaError, UnprintableDdlError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.nodes.expressions import ColumnName
from ticdc_emit.schema.nodes.joins import Join
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.queries import CommonTable, Field, Query, Select, TableQuery, ValuesQuery, WildCard
from ticdc_emit.schema.nodes.walk import every_node, with_children
from ticdc_emit.schema.statements import CreateView
from ticdc_emit.schema.views import field_name, sources

__all__ = ["sent_view", "stored_select"]

_N = TypeVar("_N")
_IN_TABLE = 2  # parts of a column's name with its table


def stored_select(
    statement: CreateView, sql: str, database: str, table: Callable[[TableName], TableInfo]
) -> Query | UnprintableDdlError:
    """Return the SELECT that TiDB stores; an error if its planner rewrites more than is known here.

    ``sql`` is the statement's text, ``database`` the current one; ``table`` looks up the columns of ``*``.
    """
    try:
        return _Stored(sql, database, table).of(statement.query)
    except UnprintableDdlError as error:
        return error
    except SchemaError as error:
        return UnprintableDdlError(f"the SELECT that TiDB stores is unknown: {error.message}")


def sent_view(statement: CreateView, stored: Query | UnprintableDdlError, schema: str, database: str) -> CreateView:
    """Return the statement as the new architecture sends it; ``schema`` is the view's database.

    Raises :class:`~ticdc_emit.errors.UnprintableDdlError` if it sends a SELECT that is not known.
    """
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
        """Return the node with its tables and SELECTs as they are stored."""
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
        """Raise an error if the planner replaces what was written."""
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
    """Return a query in which columns qualified by a table of its FROM (not by an alias) have the database too."""
    if isinstance(node, Select):
        scope = _scope(node)
    if isinstance(node, ColumnName) and scope and len(node.parts) == _IN_TABLE:
        schema = scope.get(node.parts[0].lower(), "")
        return ColumnName((schema, *node.parts)) if schema else node  # type: ignore[return-value]
    return with_children(node, lambda child: _with_databases(child, scope))


def _scope(select: Select) -> dict[str, str]:
    """Return the database of each table name; "" if the name is also an alias, or that of two tables."""
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
