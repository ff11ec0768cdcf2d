"""Other names for the tables of a statement: in its definitions, references and queries.

In CREATE VIEW, :func:`with_targets` changes a table before a column if its database is written too,
:func:`with_targets_in_scopes` wherever it means a table. Rule source: pingcap/ticdc
``pkg/routing/ddl_query_rewriter.go``, before and after C#6259.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from ticdc_emit.sql.nodes.alter import DropColumn, Position, SetColumnDefault
from ticdc_emit.sql.nodes.base import TableName, every_node, with_children
from ticdc_emit.sql.nodes.expressions import ColumnName
from ticdc_emit.sql.nodes.queries import Hint, Query, Select, SetClause, WildCard, sources
from ticdc_emit.sql.nodes.statements import AlterDatabase, CreateDatabase, DropDatabase
from ticdc_emit.sql.nodes.tables import ColumnDef, KeyPart, UnionOption
from ticdc_emit.sql.words import to_lower

Name: TypeAlias = "tuple[str, str]"
"""Schema and name of a table; "" for the name of a database."""
Target: TypeAlias = Callable[[str, str], Name]

_N = TypeVar("_N")
_UNSEEN = (Hint, UnionOption)  # TiDB's visitors do not come to these names


def with_targets(statement: _N, database: str, target: Target) -> _N:
    """Return the statement with the names that ``target`` gives. Names of WITH are changed like tables, as in TiCDC."""
    if isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase):
        return _with_database(statement, target)
    targets: dict[Name, Name] = {}
    is_changed = False
    tables = (node for node in every_node(statement, besides=_UNSEEN) if isinstance(node, TableName))
    for table in tables:
        source = (table.schema or database, table.name)
        new = targets[to_lower(source[0]), to_lower(source[1])] = target(*source)
        is_changed |= new != source
    if not is_changed:
        return statement

    def known(schema: str, name: str) -> Name:
        return targets.get((to_lower(schema), to_lower(name)), (schema, name))

    def changed(node: object) -> object:
        if isinstance(node, TableName):
            return TableName(*target(node.schema or database, node.name))
        if isinstance(node, _UNSEEN):
            return node
        return with_children(_with_qualifier(node, known), changed)

    return changed(statement)  # type: ignore[return-value]


def _with_database(statement: _N, target: Target) -> _N:
    assert isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase)
    if not statement.name:
        return statement
    new, _ = target(statement.name, "")
    return statement if new == statement.name else replace(statement, name=new)


def _with_qualifier(node: object, target: Target) -> object:
    match node:
        case ColumnName((str(schema), str(table), str(name))):
            return replace(node, parts=(*target(schema, table), name))
        case ColumnDef() | DropColumn() | KeyPart() | Position() | SetColumnDefault():
            both = node.qualifier
            return replace(node, qualifier=target(*both)) if len(both) == len(("schema", "table")) else node
    return node


@dataclass(frozen=True)
class _Scope:
    """``tables``: the new name of each table of FROM without an alias, by its name in lower case, with and without its
    database; ``None`` for another meaning, or two tables. ``common``: the names of WITH.
    """

    tables: Mapping[Name, Name | None]
    common: frozenset[str]
    outer: _Scope | None = None

    def meaning(self, schema: str, name: str) -> Name | None:
        key = (to_lower(schema), to_lower(name))
        scope: _Scope | None = self
        while scope is not None:
            if key in scope.tables:
                return scope.tables[key]
            scope = scope.outer
        return None


def with_targets_in_scopes(statement: _N, database: str, target: Target) -> _N:
    """Return the statement with the names that ``target`` gives to tables: not to aliases, nor to the names of WITH."""
    if isinstance(statement, CreateDatabase | AlterDatabase | DropDatabase):
        return _with_database(statement, target)
    renaming = _Renaming(database, target)
    renamed = renaming.changed(statement, _Scope({}, frozenset()))
    return renamed if renaming.is_changed else statement


class _Renaming:
    def __init__(self, database: str, target: Target) -> None:
        self._database = database
        self._target = target
        self.is_changed = False

    def changed(self, node: Any, scope: _Scope) -> Any:
        if isinstance(node, TableName):
            return TableName(*self._new_name(node)) if _is_table(node, scope) else node
        if isinstance(node, _UNSEEN):
            return node
        if isinstance(node, Query | SetClause):
            return self._query(node, scope)
        if isinstance(node, ColumnName):
            return replace(node, parts=(*_qualifier(node.parts[:-1], scope), node.name))
        if isinstance(node, WildCard):
            return replace(node, qualifier=_qualifier(node.qualifier, scope))
        return with_children(node, lambda child: self.changed(child, scope))

    def _query(self, query: Query | SetClause, outer: _Scope) -> Query | SetClause:
        """Return a query or a part of a set operation. Its WITH sees the queries around it, but not its FROM."""
        common, definitions = outer.common, query.common
        scope = _Scope({}, common, outer)
        if definitions is not None:
            tables = []
            for table in definitions.tables:
                name = frozenset([to_lower(table.name)])
                within = replace(scope, common=common | name if definitions.recursive else common)
                tables.append(replace(table, query=self.changed(table.query, within)))
                common |= name
            definitions = replace(definitions, tables=tuple(tables))
        scope = replace(scope, common=common)
        if isinstance(query, Select):
            scope = replace(scope, tables=self._meanings(query.tables, scope))

        def inner(child: object) -> Any:
            return child if child is query.common else self.changed(child, scope)

        return replace(with_children(query, inner), common=definitions)

    def _meanings(self, factor: object, scope: _Scope) -> dict[Name, Name | None]:
        meanings: dict[Name, Name | None] = {}
        for source in sources(factor):
            table = source.origin
            if source.alias:
                meanings["", to_lower(source.alias)] = None
            elif isinstance(table, TableName):
                name = to_lower(table.name)
                if not _is_table(table, scope):
                    meanings["", name] = None
                    continue
                new = self._new_name(table)
                for key in (("", name), (to_lower(table.schema or self._database), name)):
                    meanings[key] = None if key in meanings else new
        return meanings

    def _new_name(self, table: TableName) -> Name:
        schema = table.schema or self._database
        new = self._target(schema, table.name)
        self.is_changed |= new != (schema, table.name)
        return new


def _is_table(table: TableName, scope: _Scope) -> bool:
    return bool(table.schema) or to_lower(table.name) not in scope.common


def _qualifier(names: tuple[str, ...], scope: _Scope) -> tuple[str, ...]:
    if not names:
        return names
    schema, name = ("", *names)[-2:]
    return scope.meaning(schema, name) or names
