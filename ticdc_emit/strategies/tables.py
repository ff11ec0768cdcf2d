"""CREATE TABLE statements: columns of every type, keys of every kind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Any

from hypothesis import strategies as st

from ticdc_emit.errors import StrategyError
from ticdc_emit.sql.words import quoted
from ticdc_emit.strategies.columns import NEVER_KEYS, TYPES, ColumnType, column_types, without_backslashes
from ticdc_emit.strategies.names import chosen, same_name
from ticdc_emit.strategies.names import names as plain_names

__all__ = ["TableShape", "column_clause", "named_tables", "tables", "told_of"]

_MOST_COLUMNS = 1000
_MOST_KEY_COLUMNS = 3
_KEYS = ("primary key ({})", "primary key ({}) nonclustered", "unique key ({})")
_ADDABLE = frozenset({"tinyint", "smallint", "mediumint", "int"})


@dataclass(frozen=True, repr=False)
class TableShape:
    """The checked arguments of :func:`tables`."""

    types: tuple[str, ...] = TYPES
    names: st.SearchStrategy[str] | None = None
    max_columns: int = 6
    allow_keyless: bool = False
    allow_defaults: bool = True
    allow_virtual: bool = True
    allow_backslashes: bool = True

    @classmethod
    def of(
        cls,
        types: str | Collection[str] | None,
        names: st.SearchStrategy[str] | None,
        max_columns: int,
        allow_keyless: bool,
        allow_defaults: bool,
        allow_virtual: bool = True,
        allow_backslashes: bool = True,
    ) -> TableShape:
        """Raises :class:`StrategyError` for an unknown type, if no type can be in a key, and for a wrong number."""
        if not 1 <= max_columns <= _MOST_COLUMNS:
            raise StrategyError(
                f"max_columns={max_columns!r} is out of its range",
                remedy=f"Give a number from 1 to {_MOST_COLUMNS}",
                argument="max_columns",
            )
        type_names = chosen(types, TYPES, what="column types", argument="types")
        shape = cls(type_names, names, max_columns, allow_keyless, allow_defaults, allow_virtual, allow_backslashes)
        if not shape.in_keys:
            raise StrategyError("none of the types can be in a key", remedy="Add one, such as int", argument="types")
        return shape

    def __repr__(self) -> str:
        return told_of(self)

    def column_types(self, names: tuple[str, ...] | None = None) -> st.SearchStrategy[ColumnType]:
        """Return the types of columns; ``names``: some of ``types``."""
        kinds = column_types(self.types if names is None else names)
        return kinds if self.allow_backslashes else kinds.map(without_backslashes)

    @property
    def in_keys(self) -> tuple[str, ...]:
        return tuple(name for name in self.types if name not in NEVER_KEYS)

    @property
    def identifiers(self) -> st.SearchStrategy[str]:
        return plain_names() if self.names is None else self.names


def tables(
    *,
    schema: str = "test",
    types: str | Collection[str] | None = None,
    names: st.SearchStrategy[str] | None = None,
    max_columns: int = 6,
    allow_keyless: bool = False,
    allow_defaults: bool = True,
    allow_virtual: bool = True,
) -> st.SearchStrategy[str]:
    """Return CREATE TABLE statements of tables in the database ``schema``.

    A table has a primary key, clustered or not, or a unique key whose columns are NOT NULL; some have another unique
    key, and a virtual column. ``types``: the names of the column types (:data:`~ticdc_emit.strategies.TYPES`), ``None``
    for all. ``names``: of tables and columns, default :func:`~ticdc_emit.strategies.names`. ``max_columns``: not
    counting the virtual one. ``allow_keyless``: also tables without a handle key, which TiCDC replicates with
    ``force-replicate`` only. ``allow_defaults``: columns with a DEFAULT. ``allow_virtual``: virtual columns, with which
    debezium-avro refuses all rows. Raises :class:`~ticdc_emit.errors.StrategyError` for an unknown type, if none of the
    types can be in a key, and for ``max_columns`` outside 1..1000.
    """
    shape = TableShape.of(types, names, max_columns, allow_keyless, allow_defaults, allow_virtual)
    return named_tables(schema, shape).map(lambda made: made[1])


@st.composite
def named_tables(
    draw: st.DrawFn, schema: str, shape: TableShape, taken: frozenset[str] = frozenset()
) -> tuple[str, str]:
    """Return tables' names and statements; ``taken``: names that tables must not have, as returned by ``same_name``."""
    is_keyed = not (shape.allow_keyless and draw(st.booleans()))
    key_count = draw(st.integers(1, min(shape.max_columns, _MOST_KEY_COLUMNS))) if is_keyed else 0
    types = [draw(shape.column_types(shape.in_keys)) for _ in range(key_count)]
    others = st.lists(shape.column_types(), min_size=0 if is_keyed else 1, max_size=shape.max_columns - key_count)
    types += draw(others)
    table, virtual, *columns = draw(_names(shape, len(types) + 2, taken))
    clauses = []
    for place, (name, kind) in enumerate(zip(columns, types, strict=True)):
        default = draw(st.sampled_from(["", *kind.defaults])) if shape.allow_defaults else ""
        clauses.append(column_clause(name, kind, nullable=place >= key_count and draw(st.booleans()), default=default))
    numbers = [name for name, kind in zip(columns, types, strict=True) if kind.name in _ADDABLE]
    if shape.allow_virtual and numbers and bool(draw(st.booleans())):
        expression = f"{quoted(draw(st.sampled_from(numbers)))} + 1"
        clauses.append(f"{quoted(virtual)} bigint generated always as ({expression}) virtual")
    if is_keyed:
        clauses.append(draw(st.sampled_from(_KEYS)).format(",".join(map(quoted, columns[:key_count]))))
    unique = [name for name, kind in zip(columns[key_count:], types[key_count:], strict=True) if kind.key]
    if unique and is_keyed and draw(st.booleans()):
        clauses.append(f"unique key ({quoted(draw(st.sampled_from(unique)))})")
    return table, f"create table {quoted(schema, table)} ({', '.join(clauses)})"


def told_of(arguments: Any) -> str:
    """Return the arguments in a dataclass that differ from their defaults, for reports of failing examples."""
    given = {field.name: getattr(arguments, field.name) for field in fields(arguments) if field.repr}
    defaults = {field.name: field.default for field in fields(arguments)}
    shown = ", ".join(f"{name}={value!r}" for name, value in given.items() if value != defaults[name])
    return f"{type(arguments).__name__}({shown})"


def _names(shape: TableShape, count: int, taken: frozenset[str]) -> st.SearchStrategy[list[str]]:
    """Return different names; the first one is the table's."""
    several = st.lists(shape.identifiers, min_size=count, max_size=count, unique_by=same_name)
    return several.filter(lambda drawn: same_name(drawn[0]) not in taken)


def column_clause(name: str, kind: ColumnType, *, nullable: bool, default: str) -> str:
    """Return a column's definition; ``default``: an SQL literal, "" for none."""
    null = "null" if nullable else "not null"
    return f"{quoted(name)} {kind.sql} {null}{f' default {default}' if default else ''}"
