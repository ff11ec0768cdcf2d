"""The tables of a script as the generator needs them, referenced tables first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter

from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.defaults import named_columns
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.store import ForeignKey, TableState
from ticdc_emit.sql.nodes.base import Node, every_node
from ticdc_emit.sql.nodes.expressions import ColumnName, Constant, Default, TemporalLiteral, Unary
from ticdc_emit.sql.nodes.statements import AlterTable, CreateTable
from ticdc_emit.sql.nodes.tables import CheckOption, Constraint
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
    """A foreign key to ``parent``. ``closes_loop``: the parent refers back, so no order of the tables has it first."""

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
    """``depth``: the number of foreign keys on the way from the table to one without any. ``checked``: columns that
    CHECK constraints name, in lower case, if they were asked for.
    """

    state: TableState
    references: tuple[Reference, ...] = ()
    unique_keys: tuple[UniqueKey, ...] = ()
    depth: int = 0
    checked: frozenset[str] = frozenset()

    @property
    def info(self) -> TableInfo:
        return self.state.info

    @property
    def name(self) -> Name:
        return self.info.schema, self.info.name

    @cached_property
    def listed(self) -> tuple[str, list[str]] | None:
        """The column of LIST partitions and the values that have one; ``None`` without them, or if all values have."""
        by = self.state.partitioning
        if by is None or by.method != "list":
            return None
        nodes = [row[0] for each in self.info.partitions for row in self.state.partition_values[each.name].rows]
        if any(isinstance(node, Default) for node in nodes):
            return None
        by_name = by.columns[0] if len(by.columns) == 1 else by.expression and by.expression.node
        wanted = by_name.name.lower() if isinstance(by_name, ColumnName) else None
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
    if isinstance(node, Unary):
        text = _literal(node.operand)
        return text if text is None or node.operator == "+" else node.operator + text
    node = node.value if isinstance(node, TemporalLiteral) else node
    if not isinstance(node, Constant) or isinstance(node.value, bytes):
        return None
    return str(node.value or "")


def checked_columns(schema: str) -> dict[str, frozenset[str]]:
    """Return the columns that CHECK constraints of SQL text name, by table; a catalog has no constraints, as TiDB."""
    checked: dict[str, frozenset[str]] = {}
    for each in schema_statements(schema):
        statement = parse_ddl(each.text) if "check" in each.text.lower() else None
        if isinstance(statement, CreateTable | AlterTable):
            constraints = (node for node in every_node(statement) if isinstance(node, CheckOption | Constraint))
            found = (named_columns(node) for node in constraints if node.kind == "check")
            name = statement.table.name.lower()
            checked[name] = checked.get(name, frozenset()) | {column.lower() for names in found for column in names}
    return checked


def source_tables(catalog: Catalog, wanted: set[Name] | None, refusals: Refusals) -> list[SourceTable]:
    """Return the ``wanted`` tables, parents first; foreign keys to others are left out and among the ``refusals``."""
    states = [state for state in catalog.states() if not state.info.is_view]
    tables = {(each.info.schema, each.info.name): SourceTable(each) for each in states}
    tables = {name: table for name, table in tables.items() if wanted is None or name in wanted}
    names = {_folded(name): name for name in tables}
    for name, table in list(tables.items()):
        foreign = []
        for key in table.state.foreign_keys:
            with refusals.collected():
                foreign.append(_reference(table, key, tables, names))
        tables[name] = replace(table, references=tuple(foreign), unique_keys=tuple(_unique_keys(table.info)))
    return _by_depth(tables)


def _folded(name: Name) -> Name:
    return name[0].lower(), name[1].lower()


def _reference(
    table: SourceTable, key: ForeignKey, tables: dict[Name, SourceTable], names: dict[Name, Name]
) -> Reference:
    name, parent = f"the foreign key {key.name} ({', '.join(key.columns)})", names.get(_folded(key.parent))
    if parent is None:
        raise SchemaError(
            f"{name} refers to {'.'.join(key.parent)}, which is not generated",
            remedy="Add that table to the schema and to tables, or leave the foreign key out",
            table=table.info.full_name,
        )
    columns = tuple(_exact(table.info, each) for each in key.columns)
    held = tuple(_exact(tables[parent].info, each) for each in key.referred)
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


def _unique_keys(info: TableInfo) -> Iterator[UniqueKey]:
    primary = tuple(column.name for column in info.whole_primary_key)
    keys = {primary: UniqueKey("PRIMARY", primary)} if info.pk_is_handle else {}
    for index in info.indexes:
        if index.unique or index.primary:
            prefixes = {name: length for name, length in zip(index.columns, index.lengths, strict=False) if length > 0}
            keys.setdefault(index.columns, UniqueKey(index.name, index.columns, prefixes))
    return iter(sorted(keys.values(), key=lambda key: key.columns != primary))


def _by_depth(tables: dict[Name, SourceTable]) -> list[SourceTable]:
    """Return the tables with their depths, parents first; a reference that closes a loop is marked."""
    for may_be_any in (False, True):
        for name, table in tables.items():
            for number, each in enumerate(table.references):
                loops = each.parent != name and name in _ancestors(each.parent, tables)
                if loops and (may_be_any or all(table.column(column).nullable for column in each.columns)):
                    _mark(tables, name, number)

    def depth(name: Name) -> int:
        own = (each for each in tables[name].references if each.parent != name and not each.closes_loop)
        return max((depth(each.parent) + 1 for each in own), default=0)

    return sorted((replace(table, depth=depth(name)) for name, table in tables.items()), key=attrgetter("depth"))


def _mark(tables: dict[Name, SourceTable], name: Name, number: int) -> None:
    references = list(tables[name].references)
    references[number] = replace(references[number], closes_loop=True)
    tables[name] = replace(tables[name], references=tuple(references))


def _ancestors(name: Name, tables: dict[Name, SourceTable]) -> set[Name]:
    ancestors, waiting = set[Name](), [name]
    while waiting:
        here = waiting.pop()
        if here not in ancestors:
            ancestors.add(here)
            waiting += [each.parent for each in tables[here].references if not each.closes_loop]
    return ancestors
