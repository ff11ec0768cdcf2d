"""CREATE VIEW: the columns of its SELECT. They have a name but no type, because TiDB resolves types when the view is
read.

Rule source: pingcap/tidb ``pkg/planner/core`` (``buildProjection``: a column without alias is named by its own text)
and ``pkg/ddl`` (``CreateView``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.nodes.expressions import ColumnName, Parenthesised, Subquery, Unary
from ticdc_emit.schema.nodes.joins import Join, Source, TableFactor
from ticdc_emit.schema.nodes.literals import Constant
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.queries import Field, Query, Select, SetOperation, WildCard
from ticdc_emit.schema.statements import CreateView
from ticdc_emit.schema.tables import check_identifier, unique_names
from ticdc_emit.schema.types import MySQLType

__all__ = ["build_view", "field_name", "sources"]


def build_view(
    statement: CreateView, sql: str, schema: str, database: tuple[str, str], table: Callable[[TableName], TableInfo]
) -> TableInfo:
    """Build a view's ``TableInfo`` (id 0) from its statement in ``sql``.

    ``table`` looks up the tables of its SELECT, for ``*``.
    """
    check_identifier(statement.table.name, "view")
    names = tuple(_output_names(statement.query, sql, table))
    if statement.columns:
        if len(statement.columns) != len(names):
            raise DdlError(
                "the view's SELECT and its column list have different column counts",
                remedy="Give one name for each column of the SELECT",
            )
        names = statement.columns
    unique_names(names, "column")
    columns = tuple(
        Column(number, name, MySQLType.UNSPECIFIED, 0, 0, "", "") for number, name in enumerate(names, start=1)
    )
    return TableInfo(schema, statement.table.name, 0, columns, charset=database[0], collate=database[1], is_view=True)


def _output_names(query: Query, sql: str, table: Callable[[TableName], TableInfo]) -> Iterator[str]:
    select = _first_select(query)
    for field in select.fields:
        if isinstance(field.value, WildCard):
            yield from _star_names(select, field.value.qualifier, table)
        else:
            yield field_name(field, sql)


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
    """Return the name of a column of a SELECT in ``sql``."""
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


def sources(factor: TableFactor | object | None) -> Iterator[Source]:
    """Yield the sources of a FROM, from left to right."""
    if isinstance(factor, Source):
        yield factor
    elif isinstance(factor, Join):
        yield from sources(factor.left)
        yield from sources(factor.right)
