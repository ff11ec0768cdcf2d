"""CREATE TABLE, with ids that are still 0 (pingcap/tidb: ``pkg/ddl/create_table.go``).

A primary key is clustered unless it is NONCLUSTERED (``tidb_enable_clustered_index = ON``, TiDB's default).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.columns import MAX_NAME, build_column
from ticdc_emit.schema.defaults import named_columns
from ticdc_emit.schema.indexes import (
    add_foreign_key,
    add_primary_key,
    add_secondary_index,
    flag_primary_key,
    names_for_create,
)
from ticdc_emit.schema.model import Partition, TableInfo
from ticdc_emit.schema.store import TableState
from ticdc_emit.sql.charsets import charset_of_collation, resolve
from ticdc_emit.sql.nodes.expressions import Expression
from ticdc_emit.sql.nodes.statements import CreateTable
from ticdc_emit.sql.nodes.tables import MAX_PARTITIONS, ColumnDef, Constraint, Partitioning, TableOption
from ticdc_emit.sql.types import CALENDAR_TYPES, ColumnFlag

MAX_COLUMNS = 1017


def check_identifier(name: str, what: str) -> None:
    """Refuse names that TiDB refuses: empty, too long, or ending in a space."""
    if not name or len(name) > MAX_NAME or name.endswith(" "):
        raise DdlError(f"incorrect {what} name {name!r}", remedy=f"A name has 1 to {MAX_NAME} characters")


def unique_names(names: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise DdlError(f"duplicate {what} name {name!r}", remedy="Name each once; case does not count")
        seen.add(name.lower())


def charset_of_options(options: Iterable[TableOption]) -> tuple[str, str]:
    charset = collate = ""
    for option in options:
        if option.name == "charset":
            if option.value is None:  # DEFAULT: what the database has
                continue
            given = resolve(str(option.value), "")[0]
            if charset and charset != given:
                raise DdlError(
                    f"conflicting declarations: character set {charset!r} and {given!r}", remedy="Keep one of them"
                )
            charset = given
        elif option.name == "collate":
            collate = str(option.value)
            owner = charset_of_collation(collate)
            if charset and charset != owner:
                raise DdlError(
                    f"collation {collate!r} is not valid for character set {charset!r}",
                    remedy="Choose a collation of that character set",
                )
            charset = owner
    return charset, collate


def build_table(statement: CreateTable, schema: str, database: tuple[str, str], zone: dt.tzinfo) -> TableState:
    """Build the first version of a table under the database's (charset, collation)."""
    check_identifier(statement.table.name, "table")
    if not statement.columns:
        raise DdlError("a table must have at least one column", remedy="Declare a column", table=statement.table.name)
    if len(statement.columns) > MAX_COLUMNS:
        raise DdlError(
            f"a table has at most {MAX_COLUMNS} columns", remedy="Use fewer columns", table=statement.table.name
        )
    unique_names((definition.name for definition in statement.columns), "column")
    charset, collate = resolve(*charset_of_options(statement.options), database)
    comment = next((str(o.value) for o in reversed(statement.options) if o.name == "comment"), "")
    info = TableInfo(schema, statement.table.name, 0, (), charset=charset, collate=collate, comment=comment)
    built = [build_column(each, charset, collate, zone, number) for number, each in enumerate(statement.columns, 1)]
    info = replace(info, columns=tuple(column for column, _ in built))
    first = next((int(o.value) for o in reversed(statement.options) if o.name == "auto_increment" and o.value), 1)
    random = [each.name for each in statement.columns if any(o.kind == "auto_random" for o in each.options)]
    state = TableState(info, len(built), temporary=statement.temporary, auto_increment=first)
    state = replace(state, auto_random="".join(random[:1]))
    constraints = [*statement.constraints, *(constraint for _, own in built for constraint in own)]
    for definition in statement.columns:
        check_generated(definition, state)
    if sum(bool(column.flags & ColumnFlag.AUTO_INCREMENT) for column in info) > 1:
        raise DdlError(
            "there can be only one auto-increment column",
            remedy="Keep AUTO_INCREMENT on one column",
            table=statement.table.name,
        )
    _check_nullable_key(statement.columns, constraints)
    state = _with_constraints(state, names_for_create(tuple(constraints)))
    _check_auto_random(random, state)
    if statement.partitioning is not None:
        state = with_partitioning(state, statement.partitioning)
    return with_ttl(state, statement.options)


def _with_constraints(state: TableState, constraints: tuple[Constraint, ...]) -> TableState:
    foreign: list[Constraint] = []
    for constraint in constraints:  # before any expression is typed
        if constraint.kind == "primary":
            state = flag_primary_key(state, constraint)
    for constraint in constraints:
        if constraint.kind == "primary":
            state = add_primary_key(state, constraint, clustered=constraint.clustered is not False)
        elif constraint.kind == "foreign":
            foreign.append(constraint)
        elif constraint.kind in ("unique", "index", "columnar"):
            state = add_secondary_index(state, constraint)
    for constraint in foreign:
        state, with_index = add_foreign_key(state, constraint)
        if with_index:
            *others, added = state.info.indexes
            state = state.with_indexes((*others, replace(added, marks=False)))
    return state


def check_generated(definition: ColumnDef, state: TableState) -> None:
    """A generated column may only use existing columns; of generated ones, only earlier ones."""
    option = next((o for o in definition.options if o.kind.startswith("generated")), None)
    if option is None or not isinstance(option.value, Expression):
        return
    positions = {column.name.lower(): number for number, column in enumerate(state.info.columns)}
    own = positions.get(definition.name.lower(), len(positions))
    for name in named_columns(option.value.node):
        column = state.column(name)
        if column.generated and positions[name.lower()] >= own:
            raise DdlError(
                "a generated column can refer only to generated columns before it",
                remedy="Declare it after the columns that it uses",
                column=definition.name,
            )
        if column.flags & ColumnFlag.AUTO_INCREMENT:
            raise DdlError(
                "a generated column cannot refer to an auto-increment column",
                remedy="Use another column",
                column=definition.name,
            )


def _check_nullable_key(definitions: tuple[ColumnDef, ...], constraints: list[Constraint]) -> None:
    keys = {part.column.lower() for c in constraints if c.kind == "primary" for part in c.keys}
    for definition in definitions:
        kinds = [option.kind for option in definition.options if option.kind in ("null", "not null")]
        if definition.name.lower() in keys and "null" in kinds:
            raise DdlError(
                "all parts of a PRIMARY KEY must be NOT NULL",
                remedy="Remove NULL from the column",
                column=definition.name,
            )


def _check_auto_random(names: list[str], state: TableState) -> None:
    for name in names:
        clustered = next((i.columns[0] for i in state.info.indexes if i.primary and state.info.common_handle), "")
        is_handle = state.info.pk_is_handle and state.column(name).is_primary_key
        if not is_handle and clustered.lower() != name.lower():
            raise DdlError(
                "AUTO_RANDOM needs a clustered primary key",
                remedy="Declare PRIMARY KEY CLUSTERED with this column first",
                column=name,
            )


def with_partitioning(state: TableState, by: Partitioning) -> TableState:
    """Partition a table; the columns of the partitioning must exist."""
    _check_partitioning(by)
    unique_names(by.names, "partition")
    key = by.key
    named = [each.name for each in key.columns] if key.expression is None else named_columns(key.expression.node)
    columns = tuple(state.column(name).name for name in named)
    partitions = tuple(Partition(0, name) for name in by.names)
    info = replace(state.info, partitions=partitions)
    state = replace(state, info=info, partitioning=key, partition_columns=columns, partition_values={})
    return state.with_partition_values(by.definitions)


def _check_partitioning(by: Partitioning) -> None:
    if by.key.method == "system_time":
        raise DdlError("TiDB has no SYSTEM_TIME partitions", remedy="Use RANGE, LIST, HASH or KEY", position=by.offset)
    if by.sub is not None and by.key.method not in ("range", "list"):
        message = "TiDB allows subpartitions only in RANGE and LIST partitions, and ignores them there"
        raise DdlError(message, remedy="Leave SUBPARTITION out", position=by.offset)
    if max(by.key.count, len(by.definitions)) > MAX_PARTITIONS:
        raise DdlError(f"more than {MAX_PARTITIONS} partitions", remedy="Use fewer partitions", position=by.offset)


def with_ttl(state: TableState, options: tuple[TableOption, ...]) -> TableState:
    name = next((str(option.value) for option in options if option.name == "ttl"), "")
    if not name:
        if not state.ttl_column and any(option.name.startswith("ttl") for option in options):
            raise DdlError("TTL options need a table with TTL", remedy="Give TTL = column + INTERVAL ... too")
        return state
    column = state.column(name)
    if column.type not in CALENDAR_TYPES:
        raise DdlError(
            f"TTL column {name!r} must be a DATE, DATETIME or TIMESTAMP", remedy="Choose another column", column=name
        )
    return replace(state, ttl_column=column.name)


def clone_table(source: TableState, schema: str, name: str, temporary: str) -> TableState:
    """CREATE TABLE ... LIKE: everything but the foreign keys, with new ids of table and partitions."""
    check_identifier(name, "table")
    if source.info.is_view:
        raise DdlError(
            f"{source.info.full_name} is a view, LIKE needs a table", remedy="Name a table, or declare the columns"
        )
    partitions = tuple(Partition(0, partition.name) for partition in source.info.partitions)
    info = replace(source.info, schema=schema, name=name, id=0, partitions=partitions)
    return replace(source, info=info, foreign_keys=(), auto_increment=1, temporary=temporary)
