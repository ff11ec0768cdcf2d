"""ALTER TABLE, columns: a clause and a :class:`TableState` in, the next state and the job's action out.

Rule source: pingcap/tidb ``pkg/ddl/executor.go``, ``add_column.go``, ``modify_column.go``. ``zone``: the session's, of
TIMESTAMP defaults. Each raises :class:`DdlError` for what TiDB refuses.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import nodes
from ticdc_emit.schema.alteration import Alteration
from ticdc_emit.schema.columns import build_column, with_default
from ticdc_emit.schema.expressions import column_names, function_name
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.reorg import needs_reorg
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.tables import MAX_COLUMNS, check_generated
from ticdc_emit.schema.types import ColumnFlag

__all__ = ["add_column", "change_column", "drop_column", "rename_column", "set_default"]

_NOT_IN_ADD = frozenset({"auto_increment", "auto_random", "primary key", "unique"})
_NOT_IN_MODIFY = frozenset({"primary key", "unique", "references"})
_CALLS_NOT_IN_ADD = frozenset({"rand", "uuid", "uuid_to_bin", "replace", "upper", "nextval"})


def add_column(spec: nodes.AddColumn, state: TableState, zone: dt.tzinfo) -> Alteration:
    definition = spec.column
    if state.find_column(definition.name):
        if spec.if_not_exists:
            return Alteration(state)
        raise DdlError(
            f"duplicate column name {definition.name!r}",
            remedy="Choose another name, or write ADD COLUMN IF NOT EXISTS",
            column=definition.name,
        )
    if len(state.info.columns) >= MAX_COLUMNS:
        raise DdlError(
            f"a table has at most {MAX_COLUMNS} columns", remedy="Drop a column first", column=definition.name
        )
    for option in definition.options:
        if option.kind in _NOT_IN_ADD:
            raise DdlError(
                f"TiDB cannot add a column with {option.kind.upper()}",
                remedy="Add the column without it; a key needs a separate statement",
                column=definition.name,
            )
        if option.kind == "generated stored":
            raise DdlError(
                "TiDB cannot add a stored generated column",
                remedy="Make it VIRTUAL, or declare it in CREATE TABLE",
                column=definition.name,
            )
        value = option.value
        if isinstance(value, nodes.DefaultExpression) and function_name(value.text) in _CALLS_NOT_IN_ADD:
            raise DdlError(
                "TiDB cannot add a column with that default",
                remedy="Give a constant as the default, or add the column without one and set it afterwards",
                column=definition.name,
            )
    info = state.info
    column = build_column(definition, info.charset, info.collate, zone).column
    check_generated(definition, state)
    state = _moved(state.append_columns(column), column.name, spec.position)
    return Alteration(state, "add column")


def drop_column(spec: nodes.DropColumn, state: TableState) -> Alteration:
    known = state.find_column(spec.name)
    if spec.if_exists and (known is None or known.hidden):
        return Alteration(state)
    column = state.column(spec.name)
    wanted = column.name.lower()
    _refuse_dependents(state, column.name)
    if sum(not other.hidden for other in state.info.columns) == 1:
        raise DdlError(
            "a table must keep one column", remedy="Use DROP TABLE, or add another column first", column=spec.name
        )
    if column.is_primary_key:
        raise DdlError(
            f"column {spec.name!r} is in the primary key", remedy="Drop the primary key first", column=spec.name
        )
    covering = [i for i in state.info.indexes if wanted in (name.lower() for name in i.columns)]
    if any(len(index.columns) > 1 for index in covering):
        raise DdlError(
            f"column {spec.name!r} is in a composite index", remedy="Drop that index first", column=spec.name
        )
    if any(wanted in (name.lower() for name in key.columns) for key in state.foreign_keys):
        raise DdlError(
            f"column {spec.name!r} is in a foreign key", remedy="Drop the foreign key first", column=spec.name
        )
    if wanted in (name.lower() for name in state.partition_columns):
        raise DdlError(
            f"column {spec.name!r} is used by the partitioning",
            remedy="Remove the partitioning first (REMOVE PARTITIONING)",
            column=spec.name,
        )
    if state.ttl_column.lower() == wanted:
        raise DdlError(
            f"column {spec.name!r} is the TTL column", remedy="Remove the TTL first (REMOVE TTL)", column=spec.name
        )
    state = state.with_indexes(tuple(index for index in state.info.indexes if index not in covering))
    columns = tuple(other for other in state.info.columns if other is not column)
    return Alteration(state.with_columns(columns), "drop column")


def change_column(spec: nodes.ChangeColumn, state: TableState, zone: dt.tzinfo) -> Alteration:
    known = state.find_column(spec.old_name)
    if spec.if_exists and (known is None or known.hidden):
        return Alteration(state)
    old = state.column(spec.old_name)
    definition = spec.column
    _check_change(old, definition, state)
    new = build_column(definition, state.info.charset, state.info.collate, zone).column
    if bool(new.flags & ColumnFlag.AUTO_INCREMENT) != bool(old.flags & ColumnFlag.AUTO_INCREMENT):
        raise DdlError(
            "TiDB cannot set or remove AUTO_INCREMENT",
            remedy="Leave AUTO_INCREMENT as it is on the column",
            column=old.name,
        )
    if (old.generated == "stored") != (new.generated == "stored") or (old.generated is None) != (new.generated is None):
        raise DdlError(
            "TiDB cannot change whether a column is generated",
            remedy="Drop the column and add it again",
            column=old.name,
        )
    if old.is_primary_key:
        new = replace(new, flags=new.flags | ColumnFlag.PRIMARY_KEY | ColumnFlag.NOT_NULL)
    indexed = any(old.name in index.columns for index in state.info.indexes)
    reorganised = needs_reorg(old, new, indexed=indexed)
    if reorganised:
        state = replace(state, max_column_id=state.max_column_id + 1)
    state = state.replace_column(old.name, replace(new, id=state.max_column_id if reorganised else old.id))
    if reorganised:
        state = _renumber_indexes(state, new.name)
    return Alteration(_moved(state, new.name, spec.position), "modify column")


def _check_change(old: Column, definition: nodes.ColumnDef, state: TableState) -> None:
    for option in definition.options:
        if option.kind in _NOT_IN_MODIFY:
            raise DdlError(
                f"TiDB cannot change {option.kind.upper()} with the column",
                remedy="Add or drop the key in a separate clause",
                column=old.name,
            )
    if definition.name.lower() != old.name.lower():
        _check_rename(state, old.name, definition.name)
    check_generated(definition, state)


def rename_column(spec: nodes.RenameColumn, state: TableState) -> Alteration:
    old = state.column(spec.old_name)
    if spec.old_name == spec.new_name:
        return Alteration(state)
    if spec.old_name.lower() != spec.new_name.lower():
        _check_rename(state, old.name, spec.new_name)
    return Alteration(state.replace_column(old.name, replace(old, name=spec.new_name)), "modify column")


def set_default(spec: nodes.SetColumnDefault, state: TableState, zone: dt.tzinfo) -> Alteration:
    column = state.column(spec.column)
    changed = with_default(column, spec.default, zone)
    return Alteration(state.replace_column(column.name, changed), "set default value")


def _moved(state: TableState, name: str, position: nodes.Position | None) -> TableState:
    if position is None:
        return state
    column = state.column(name)
    rest = [other for other in state.info.columns if other is not column]
    at = 0
    if position.after:
        anchor = state.column(position.after)
        if anchor is column:
            raise DdlError(
                f"column {name!r} cannot come after itself", remedy="Name another column after AFTER", column=name
            )
        at = rest.index(anchor) + 1
    return state.with_columns((*rest[:at], column, *rest[at:]))


def _refuse_dependents(state: TableState, name: str) -> None:
    for column in state.info.columns:
        if column.generated and name.lower() in (used.lower() for used in column_names(column.generated_expr)):
            raise DdlError(
                f"column {name!r} is used by generated column {column.name!r}",
                remedy="Drop the generated column first",
                column=name,
            )


def _check_rename(state: TableState, old: str, new: str) -> None:
    if state.find_column(new):
        raise DdlError(f"duplicate column name {new!r}", remedy="Choose another name", column=new)
    _refuse_dependents(state, old)


def _renumber_indexes(state: TableState, column: str) -> TableState:
    """If a column's data is rewritten, its indexes are rebuilt with new ids in their old positions."""
    indexes = []
    number = state.max_index_id
    for index in state.info.indexes:
        if column.lower() in (name.lower() for name in index.columns):
            number += 1
            index = replace(index, id=number)
        indexes.append(index)
    return replace(state.with_indexes(tuple(indexes)), max_index_id=number)
