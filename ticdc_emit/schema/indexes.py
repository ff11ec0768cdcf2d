"""The keys of a table: their names, what TiDB refuses in them, and the table with and without them.

Rule source: pingcap/tidb ``pkg/ddl/create_table.go``, ``pkg/ddl/index.go`` (``GetName4AnonymousIndex`` ...).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.columns import MAX_NAME
from ticdc_emit.schema.defaults import stored_text
from ticdc_emit.schema.expression_types import infer_column
from ticdc_emit.schema.model import Column, Index
from ticdc_emit.schema.store import ForeignKey, TableState
from ticdc_emit.sql.nodes.expressions import Call, ColumnName, Expression
from ticdc_emit.sql.nodes.tables import Constraint, KeyPart
from ticdc_emit.sql.types import BLOB_TYPES, INTEGER_TYPES, STRING_TYPES, ColumnFlag, MySQLType

PRIMARY = "PRIMARY"

_MOST = {"indexes": 512, "foreign keys": 4096}
"""Of a table: the most that TiDB's ``index-limit`` can be set to; for foreign keys TiDB has no limit. This one bounds
the work; no real table comes near it.
"""
_INDEX_KINDS = ("unique", "index", "columnar")
_ANONYMOUS_EXPRESSION, _ANONYMOUS_VECTOR = "expression_index", "vector_index"


# -- names -------------------------------------------------------------------------------------------------------------


def names_for_create(constraints: tuple[Constraint, ...]) -> tuple[Constraint, ...]:
    """Name the anonymous keys of a CREATE TABLE after their first column, with a number if that name is taken."""
    _check_count("indexes", sum(constraint.kind in _INDEX_KINDS for constraint in constraints))
    _check_count("foreign keys", sum(constraint.kind == "foreign" for constraint in constraints))
    known_names: set[str] = set()
    foreign: set[str] = set()
    for constraint in constraints:
        names = foreign if constraint.kind == "foreign" else known_names
        if constraint.kind == "primary" or not constraint.name:
            continue
        if constraint.name.lower() in names:
            raise DdlError(
                f"duplicate key name {constraint.name!r}", remedy="Choose another name", position=constraint.offset
            )
        names.add(constraint.name.lower())
    named: list[Constraint] = []
    for constraint in constraints:
        if constraint.kind in ("primary", "foreign", "check") or constraint.name:
            named.append(constraint)
            continue
        has_expression = any(part.expression is not None for part in constraint.keys)
        base = _anonymous(constraint) if has_expression else constraint.keys[0].column
        name, number = (f"{base}_2", 3) if base.upper() == PRIMARY else (base, 2)
        while name.lower() in known_names:
            name, number = f"{base}_{number}", number + 1
        known_names.add(name.lower())
        named.append(replace(constraint, name=name))
    return tuple(named)


def name_for_alter(state: TableState, constraint: Constraint) -> str:
    _check_count("indexes", len(state.info.indexes) + 1)
    base = constraint.keys[0].column or _anonymous(constraint)
    name, number = (f"{base}_2", 3) if base.upper() == PRIMARY else (base, 2)
    while state.find_index(name):
        name, number = f"{base}_{number}", number + 1
    return name


def _check_count(things: str, count: int) -> None:
    if count > _MOST[things]:
        raise DdlError(f"a table has at most {_MOST[things]} {things}", remedy="Leave some of them out")


def _anonymous(constraint: Constraint) -> str:
    return _ANONYMOUS_VECTOR if constraint.kind == "columnar" else _ANONYMOUS_EXPRESSION


# -- keys --------------------------------------------------------------------------------------------------------------

HIDDEN_PREFIX = "_V$_"
"""The beginning of the names of columns that TiDB makes for indexes on expressions."""

_MAX_KEY_PARTS = 16
_DISTANCES = ("vec_l2_distance", "vec_cosine_distance")


def add_primary_key(state: TableState, constraint: Constraint, *, clustered: bool) -> TableState:
    """Add the PRIMARY KEY: flags on its columns, and an index unless it is the integer row id."""
    if state.info.pk_is_handle or any(index.primary for index in state.info.indexes):
        raise DdlError("multiple primary keys defined", remedy="Keep one of them", position=constraint.offset)
    has_expression = any(part.expression is not None for part in constraint.keys)
    columns = [] if has_expression else _key_columns(state, constraint)
    is_virtual = any(column.is_virtual for column in columns)
    for is_so, what, remedy in (
        (has_expression, "a primary key cannot hold an expression", "Use columns, or make it a UNIQUE KEY"),
        (is_virtual, "a primary key cannot hold a virtual generated column", "Make it STORED, or choose another"),
        (
            clustered and not constraint.visible,
            "a clustered primary key cannot be invisible",
            "Write NONCLUSTERED, or leave INVISIBLE out",
        ),
    ):
        if is_so:
            raise DdlError(what, remedy=remedy, position=constraint.offset)
    state = flag_primary_key(state, constraint)
    if clustered and len(columns) == 1 and columns[0].type in INTEGER_TYPES:
        return replace(state, info=replace(state.info, pk_is_handle=True))
    state = replace(state, info=replace(state.info, common_handle=clustered))
    names = tuple(column.name for column in columns)
    index = Index(0, PRIMARY, names, unique=True, primary=True, visible=constraint.visible)
    return state.append_index(replace(index, lengths=_lengths(constraint.keys)))


def _lengths(keys: Sequence[KeyPart]) -> tuple[int, ...]:
    lengths = tuple(part.length for part in keys)
    return lengths if max(lengths) > 0 else ()


def flag_primary_key(state: TableState, constraint: Constraint) -> TableState:
    for part in constraint.keys:
        column = state.find_column(part.column)
        flags = ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL
        if column is not None and column.flags & flags != flags:
            flags |= column.flags
            state = state.replace_column(column.name, replace(column, flags=flags))
    return state


def add_secondary_index(state: TableState, constraint: Constraint) -> TableState:
    name = constraint.name
    if constraint.clustered is not None:
        raise DdlError(
            "CLUSTERED and NONCLUSTERED are for the primary key",
            remedy="Leave the word out",
            position=constraint.offset,
        )
    if name.upper() == PRIMARY or len(name) > MAX_NAME:
        raise DdlError(
            f"incorrect index name {name!r}",
            remedy=f"Choose a name of 1 to {MAX_NAME} characters other than PRIMARY",
            index=name,
            position=constraint.offset,
        )
    if state.find_index(name):
        raise DdlError(
            f"duplicate key name {name!r}", remedy="Choose another name", index=name, position=constraint.offset
        )
    _check_count("indexes", len(state.info.indexes) + 1)
    _check_parts(constraint)
    keys: list[KeyPart] = []
    for number, part in enumerate(constraint.keys):
        if part.expression is not None and constraint.kind == "columnar":
            part = _vector_part(part.expression, constraint)
        elif part.expression is not None:
            hidden = _hidden_column(state, part, f"{HIDDEN_PREFIX}{name}_{number}", name)
            state = state.append_columns(hidden)
            part = KeyPart(column=hidden.name)
        keys.append(part)
    columns = _key_columns(state, replace(constraint, keys=tuple(keys)))
    names = tuple(column.name for column in columns)
    index = Index(0, name, names, unique=constraint.kind == "unique", visible=constraint.visible)
    return state.append_index(replace(index, lengths=_lengths(keys)))


def _vector_part(expression: Expression, constraint: Constraint) -> KeyPart:
    node = expression.node
    if isinstance(node, Call) and node.name.lower() in _DISTANCES and len(node.arguments) == 1:
        (column,) = node.arguments
        if isinstance(column, ColumnName):
            return KeyPart(column=column.name)
    message = f"a {constraint.word} index on {expression.text[:100]!r}"
    remedy = "Index VEC_L2_DISTANCE or VEC_COSINE_DISTANCE of a column"
    raise DdlError(message, index=constraint.name, position=constraint.offset, remedy=remedy)


def _hidden_column(state: TableState, part: KeyPart, name: str, index: str) -> Column:
    assert part.expression is not None
    if state.find_column(name):
        raise DdlError(f"duplicate column name {name!r}", remedy="Choose another name for the index", column=name)
    if len(name) > MAX_NAME:
        raise DdlError(
            f"hidden column name {name!r} is too long", remedy="Choose a shorter name for the index", column=name
        )
    column = infer_column(part.expression, state, index)
    return replace(
        column, name=name, generated="virtual", generated_expr=stored_text(part.expression.node), hidden=True
    )


def _check_parts(constraint: Constraint) -> None:
    if len(constraint.keys) > _MAX_KEY_PARTS:
        raise DdlError(
            f"a key has at most {_MAX_KEY_PARTS} parts", remedy="Leave some of them out", position=constraint.offset
        )


def _key_columns(state: TableState, constraint: Constraint) -> list[Column]:
    _check_parts(constraint)
    columns: list[Column] = []
    for part in constraint.keys:
        column = state.find_column(part.column)
        if column is None or (column.hidden and not part.column.startswith(HIDDEN_PREFIX)):
            message = f"key column {part.column!r} doesn't exist in table"
            raise DdlError(message, remedy="Check its name", column=part.column, position=constraint.offset)
        if column in columns:
            raise DdlError(
                f"duplicate column name {part.column!r} in a key", remedy="Name the column once", column=part.column
            )
        if constraint.kind not in ("fulltext", "columnar"):
            _check_key_part(column, part)
        columns.append(column)
    return columns


def _check_key_part(column: Column, part: KeyPart) -> None:
    name = column.name
    if column.type in (MySQLType.JSON, MySQLType.VECTOR_FLOAT32) and not column.hidden:
        raise DdlError(
            f"{column.type.name} column {name!r} cannot be in a key",
            remedy="Index an expression over it, or leave it out",
            column=name,
        )
    if part.length == 0:
        raise DdlError(
            f"key part {name!r} length cannot be 0",
            remedy="Give a length of at least 1, or leave the length out",
            column=name,
        )
    if part.length < 0:
        if column.type in BLOB_TYPES and not column.hidden:
            raise DdlError(
                f"BLOB/TEXT column {name!r} used in key without a key length",
                remedy=f"Give a length, such as {name}(64)",
                column=name,
            )
        return
    if column.type not in STRING_TYPES or (column.type not in BLOB_TYPES and part.length > column.flen):
        raise DdlError(
            f"incorrect prefix key on column {name!r}",
            remedy="Leave the length out, or give one of at most the column's",
            column=name,
        )


def covering_index(state: TableState, columns: tuple[str, ...]) -> bool:
    """Return whether an index (or the integer row id) starts with ``columns``."""
    wanted = [name.lower() for name in columns]
    if state.info.pk_is_handle:
        handle = [column.name.lower() for column in state.info.columns if column.is_primary_key]
        if handle == wanted:
            return True
    return any([name.lower() for name in index.columns[: len(wanted)]] == wanted for index in state.info.indexes)


def add_foreign_key(state: TableState, constraint: Constraint) -> tuple[TableState, bool]:
    number = state.max_foreign_key_id + 1
    name = constraint.name or f"fk_{number}"
    _check_count("foreign keys", len(state.foreign_keys) + 1)
    if any(key.name.lower() == name.lower() for key in state.foreign_keys):
        raise DdlError(f"duplicate foreign key {name!r}", remedy="Choose another name", position=constraint.offset)
    columns, to = tuple(state.column(part.column).name for part in constraint.keys), constraint.reference
    assert to is not None
    parent = to.table.schema or state.info.schema, to.table.name
    key = ForeignKey(name, columns, parent, to.columns, to.on_delete, to.on_update)
    state = replace(state, foreign_keys=(*state.foreign_keys, key), max_foreign_key_id=number)
    if covering_index(state, columns):
        return state, False
    index = replace(constraint, kind="index", name=name, keys=tuple(KeyPart(column=column) for column in columns))
    return add_secondary_index(state, index), True


def without_index(state: TableState, name: str) -> TableState:
    index = state.index(name)
    if index.primary:
        if state.info.common_handle:
            raise DdlError(
                "a clustered primary key cannot be dropped", remedy="Create a new table with another key", index=name
            )
        for member in index.columns:
            column = state.column(member)
            state = state.replace_column(member, replace(column, flags=column.flags & ~ColumnFlag.PRIMARY_KEY))
    else:
        for key in state.foreign_keys:
            rest = _without(state, index)
            first = [column.lower() for column in index.columns[: len(key.columns)]]
            if first == [column.lower() for column in key.columns] and not covering_index(rest, key.columns):
                raise DdlError(
                    f"index {name!r} is needed by foreign key {key.name!r}",
                    remedy="Drop the foreign key first",
                    index=name,
                )
    hidden = {column for column in index.columns if column.startswith(HIDDEN_PREFIX)}
    state = state.with_columns(
        tuple(column for column in state.info.columns if not (column.hidden and column.name in hidden))
    )
    return _without(state, index)


def _without(state: TableState, index: Index) -> TableState:
    return state.with_indexes(tuple(other for other in state.info.indexes if other.id != index.id))
