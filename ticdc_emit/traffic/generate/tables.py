"""The tables of a script as the generator needs them: columns, unique keys, foreign keys, partitions.

In: SQL text. Out: one :class:`SourceTable` per table, referenced tables first. A catalog keeps only the names of
foreign keys, and no prefix lengths of keys, so both are read from the statements.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.nodes.alter import AddConstraint, DropForeignKey
from ticdc_emit.sql.nodes.base import Node, TableName
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, Default, TemporalLiteral, Unary
from ticdc_emit.sql.nodes.statements import (
    AlterTable,
    CreateTable,
    CreateTableLike,
    UseDatabase,
)
from ticdc_emit.sql.nodes.tables import Constraint, Partitioning
from ticdc_emit.sql.script import parse_ddl, schema_statements

Name = tuple[str, str]
"""Schema and table."""


class Refusals(list[Exception]):
    """The errors of several parts of a schema; with :meth:`raise_all` as one."""

    @contextmanager
    def collected(self) -> Iterator[None]:
        """Go on after an error of the block."""
        try:
            yield
        except (ConfigError, SchemaError) as error:
            self.append(error)

    def raise_all(self) -> None:
        texts = dict.fromkeys(map(str, self))
        if len(texts) > 1:
            listed = "\n".join([f"{len(texts)} parts of the schema cannot be generated:", *texts])
            raise SchemaError(listed, remedy="Name the other tables in tables to generate them alone")
        for error in self:
            raise error


@dataclass(frozen=True)
class Reference:
    """A foreign key: ``columns`` of the table hold the values of ``parent_columns`` of ``parent``.

    ``closes_loop``: the parent refers back, so no order of the tables has it first.
    """

    columns: tuple[str, ...]
    parent: Name
    parent_columns: tuple[str, ...]
    name: str = ""
    closes_loop: bool = False


@dataclass(frozen=True)
class UniqueKey:
    """``prefixes``: the indexed number of characters or bytes of a column, if not all."""

    name: str
    columns: tuple[str, ...]
    prefixes: dict[str, int] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class SourceTable:
    """``depth``: the number of foreign keys on the way from the table to one without any."""

    info: TableInfo
    references: tuple[Reference, ...] = ()
    unique_keys: tuple[UniqueKey, ...] = ()
    partitioning: Partitioning | None = None
    depth: int = 0

    @property
    def name(self) -> Name:
        return self.info.schema, self.info.name

    @cached_property
    def listed(self) -> tuple[str, list[str]] | None:
        """The column of LIST partitions and the values that have one; ``None`` without them, or if all values have."""
        by = self.partitioning
        if by is None or by.method != "list":
            return None
        kept = {partition.name for partition in self.info.partitions}
        values = [each.values.rows for each in by.definitions if each.name in kept and each.values is not None]
        nodes = [row[0] for rows in values for row in rows]
        if any(isinstance(node, Default) for node in nodes):
            return None
        by_name = ColumnName(by.columns) if by.expression is None else by.expression.node
        wanted = by_name.parts[-1].lower() if isinstance(by_name, ColumnName) and len(by.columns) < 2 else None
        name = next((column.name for column in self.info.row_columns if column.name.lower() == wanted), None)
        texts = [_literal(node) for node in nodes]
        if name is None or None in texts:
            raise SchemaError(
                "only LIST partitions of one column with plain values are generated",
                remedy="Partition by one column, by HASH, KEY or RANGE, or leave the partitions out",
                table=self.info.full_name,
            )
        return name, [text for text in texts if text]

    def column(self, name: str) -> Column:
        return self.info.column(name)


def _literal(node: Node) -> str | None:
    """Return the text of a plain value, an empty one for NULL; ``None`` for anything else."""
    if isinstance(node, Unary):
        text = _literal(node.operand)
        return text if text is None or node.operator == "+" else node.operator + text
    node = node.value if isinstance(node, TemporalLiteral) else node
    if not isinstance(node, Constant) or isinstance(node.value, bytes):
        return None
    return str(node.value or "")


@dataclass
class _Definition:
    """The facts of one table's statements besides its columns."""

    constraints: list[Constraint] = field(default_factory=list)
    partitioning: Partitioning | None = None


def source_tables(catalog: Catalog, sql: str, wanted: set[Name] | None, refusals: Refusals) -> list[SourceTable]:
    """Return the tables of ``catalog``, which ``sql`` made (``wanted``: of these only), parents first.

    A foreign key to a table or column that does not exist or is not ``wanted`` is left out and among the ``refusals``.
    """
    sources = _statements(sql)
    tables: dict[Name, SourceTable] = {}
    for info in catalog.tables():
        name = (info.schema, info.name)
        if not info.is_view and (wanted is None or name in wanted):
            tables[name] = SourceTable(info, partitioning=sources.get(_folded(name), _Definition()).partitioning)
    names = {_folded(name): name for name in tables}
    for name, table in list(tables.items()):
        constraints = sources.get(_folded(name), _Definition()).constraints
        foreign = []
        for each in constraints:
            if each.kind == "foreign" and each.reference:
                with refusals.collected():
                    foreign.append(_reference(table, each, tables, names))
        unique = tuple(_unique_keys(table.info, constraints))
        tables[name] = replace(table, references=tuple(foreign), unique_keys=unique)
    return _by_depth(tables)


def _statements(sql: str) -> dict[Name, _Definition]:
    database = "test"
    sources: dict[Name, _Definition] = {}
    for script_statement in schema_statements(sql):
        statement = parse_ddl(script_statement.text)
        if isinstance(statement, UseDatabase):
            database = statement.name
        elif isinstance(statement, CreateTableLike):
            source = sources.get(_qualified(statement.like, database), _Definition())
            constraints = [each for each in source.constraints if each.kind != "foreign"]
            sources[_qualified(statement.table, database)] = _Definition(constraints, source.partitioning)
        elif isinstance(statement, CreateTable):
            qualified = tuple(_with_database(each, statement.table, database) for each in statement.constraints)
            sources[_qualified(statement.table, database)] = _Definition(list(qualified), statement.partitioning)
        elif isinstance(statement, AlterTable):
            entry = sources.setdefault(_qualified(statement.table, database), _Definition())
            for spec in statement.specs:
                if isinstance(spec, AddConstraint):
                    entry.constraints.append(_with_database(spec.constraint, statement.table, database))
                elif isinstance(spec, DropForeignKey):
                    gone = spec.name.lower()
                    entry.constraints = [each for each in entry.constraints if each.name.lower() != gone]
    return sources


def _qualified(name: TableName, database: str) -> Name:
    return _folded((name.schema or database, name.name))


def _folded(name: Name) -> Name:
    return name[0].lower(), name[1].lower()


def _with_database(constraint: Constraint, table: TableName, database: str) -> Constraint:
    """Add the database to the table in a foreign key, by default that of its own table."""
    reference = constraint.reference
    if reference is None or reference.table.schema:
        return constraint
    target = TableName(table.schema or database, reference.table.name)
    return replace(constraint, reference=replace(reference, table=target))


def _reference(
    table: SourceTable, key: Constraint, tables: dict[Name, SourceTable], names: dict[Name, Name]
) -> Reference:
    assert key.reference is not None
    target = key.reference.table
    name = (
        f"foreign key {key.name!r}" if key.name else f"the foreign key ({', '.join(p.column or '' for p in key.keys)})"
    )
    parent = names.get(_folded((target.schema, target.name)))
    if parent is None:
        raise SchemaError(
            f"{name} refers to {target.schema}.{target.name}, which is not generated",
            remedy="Add that table to the schema and to tables, or leave the foreign key out",
            table=table.info.full_name,
        )
    columns = tuple(_exact(table.info, part.column) for part in key.keys)
    held = tuple(_exact(tables[parent].info, name) for name in key.reference.columns)
    if len(columns) != len(held):
        raise SchemaError(
            f"{name} has {len(columns)} columns and refers to {len(held)}",
            remedy="Name as many columns on each side",
            table=table.info.full_name,
        )
    return Reference(columns, parent, held, key.name)


def _exact(info: TableInfo, name: str) -> str:
    for column in info.row_columns:
        if column.name.lower() == name.lower():
            return column.name
    raise SchemaError(
        f"a foreign key names column {name!r}, which the rows of {info.full_name} do not have",
        remedy="Name a column that exists and is not virtual",
        table=info.full_name,
    )


def _unique_keys(info: TableInfo, constraints: list[Constraint]) -> Iterator[UniqueKey]:
    """Yield the primary key if it is not an index of the table, and every unique index."""
    lengths: dict[tuple[str, ...], dict[str, int]] = {}
    for constraint in constraints:
        if constraint.kind in ("primary", "unique"):
            parts = {part.column.lower(): part.length for part in constraint.keys if part.length > 0}
            lengths[tuple(part.column.lower() for part in constraint.keys)] = parts
    columns = [tuple(column.name for column in info.whole_primary_key)] if info.whole_primary_key else []
    named = dict.fromkeys(columns, "PRIMARY")
    for index in info.indexes:
        if index.unique or index.primary:
            named.setdefault(index.columns, index.name)
    for key, name in named.items():
        prefixes = lengths.get(tuple(part.lower() for part in key), {})
        yield UniqueKey(name, key, {part: prefixes[part.lower()] for part in key if part.lower() in prefixes})


def _by_depth(tables: dict[Name, SourceTable]) -> list[SourceTable]:
    """Return the tables with their depths, parents first; references that close a loop are marked.

    In a loop, a reference that can be NULL is marked, if there is one.
    """
    for name, table in tables.items():
        for number, each in enumerate(table.references):
            loops = each.parent != name and name in _ancestors(each.parent, tables)
            if loops and all(table.column(column).nullable for column in each.columns):
                _mark(tables, name, number)
    depths: dict[Name, int] = {}
    on_way: list[Name] = []

    def visit(name: Name) -> int:
        if name in depths:
            return depths[name]
        on_way.append(name)
        depth = 0
        for number, each in enumerate(tables[name].references):
            if each.parent in on_way and each.parent != name:
                _mark(tables, name, number)
            elif each.parent != name and not each.closes_loop:
                depth = max(depth, visit(each.parent) + 1)
        on_way.pop()
        depths[name] = depth
        tables[name] = replace(tables[name], depth=depth)
        return depth

    for name in list(tables):
        visit(name)
    return sorted(tables.values(), key=lambda table: table.depth)


def _mark(tables: dict[Name, SourceTable], name: Name, number: int) -> None:
    references = list(tables[name].references)
    references[number] = replace(references[number], closes_loop=True)
    tables[name] = replace(tables[name], references=tuple(references))


def _ancestors(name: Name, tables: dict[Name, SourceTable]) -> set[Name]:
    """Return the tables that a table's references lead to, including itself."""
    ancestors, waiting = set[Name](), [name]
    while waiting:
        here = waiting.pop()
        if here not in ancestors:
            ancestors.add(here)
            waiting += [each.parent for each in tables[here].references if not each.closes_loop]
    return ancestors
