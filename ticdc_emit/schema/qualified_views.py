"""A view's SELECT as TiDB stores it: every column with its table and database, every output with a name.

In: CREATE VIEW and its event. Out: the statement that the new architecture sends, whose SELECT is the stored one where
it reads another database or names columns by their table. Rule source: the new architecture's
``logservice/schemastore/ddl_query_normalizer.go``, pingcap/tidb ``pkg/ddl`` (``BuildViewInfo``). What TiDB stores is
known of columns of one table; the planner writes the rest of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.nodes.expressions import ColumnName
from ticdc_emit.schema.nodes.joins import Join, Source
from ticdc_emit.schema.nodes.names import TableName
from ticdc_emit.schema.nodes.queries import Field, Query, Select, WildCard
from ticdc_emit.schema.statements import CreateView

__all__ = ["qualified_view"]


def qualified_view(statement: CreateView, event: DdlEvent, database: str) -> CreateView:
    """Return the statement as the new architecture sends it; ``database`` is the current one.

    Raises ``UnprintableDdlError`` where the stored SELECT is not known: it is more than columns of one table.
    """
    if not _is_replaced(statement, database):
        return statement
    source = _only_source(statement.query)
    if source is None:
        raise UnprintableDdlError(
            "the SELECT that TiDB stores of this view is not known, and the new architecture sends that one",
            statement=event.query,
            position=0,
            table=f"{event.schema}.{event.table}",
            remedy='Name no tables before columns and read no other database, or set ddl_text = "as-given"',
        )
    assert isinstance(statement.query, Select)
    table = replace(source, schema=source.schema or database)
    outputs = tuple(_output(field, table) for field in statement.query.fields)
    return replace(statement, query=replace(statement.query, fields=outputs, tables=Source(table)))


def _is_replaced(statement: CreateView, database: str) -> bool:
    """Whether the SELECT reads another database or names a column by its table."""
    home = (statement.table.schema or database).lower()
    for node in _nodes(statement.query):
        if isinstance(node, ColumnName) and len(node.parts) > 1:
            return True
        if isinstance(node, WildCard) and node.qualifier:
            return True
        if isinstance(node, TableName) and (node.schema or database).lower() != home:
            return True
    return False


def _nodes(node: object) -> Iterator[object]:
    yield node
    if isinstance(node, tuple):
        for member in node:
            yield from _nodes(member)
    elif is_dataclass(node):
        for each in fields(node):
            yield from _nodes(getattr(node, each.name))


def _only_source(query: Query) -> TableName | None:
    """Return the table of a SELECT that is nothing but columns of it."""
    if not isinstance(query, Select) or not isinstance(query.tables, Join):
        return None
    if query != Select(fields=query.fields, tables=query.tables):
        return None
    source = query.tables.left
    if not isinstance(source, Source) or not isinstance(source.origin, TableName) or query.tables != Join(source):
        return None
    if source != Source(source.origin) or not all(isinstance(field.value, ColumnName) for field in query.fields):
        return None
    return source.origin


def _output(field: Field, table: TableName) -> Field:
    assert isinstance(field.value, ColumnName)
    name = field.value.name
    return replace(field, value=ColumnName((table.schema, table.name, name)), alias=field.alias or name)
