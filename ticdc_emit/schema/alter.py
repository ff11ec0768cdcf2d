"""ALTER TABLE, column side and dispatch: a spec and a :class:`TableState` in, the next state and its action out.

Rule source: pingcap/tidb ``pkg/ddl/executor.go`` (``AlterTable``), ``add_column.go``, ``modify_column.go``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatchmethod

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import nodes
from ticdc_emit.schema.charsets import resolve
from ticdc_emit.schema.columns import build_column, with_default
from ticdc_emit.schema.expressions import column_names, function_name
from ticdc_emit.schema.indexes import (
    PRIMARY,
    add_foreign_key,
    add_primary_key,
    add_secondary_index,
    drop_index,
    name_for_alter,
)
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.partitions import alter_partitions
from ticdc_emit.schema.reorg import needs_reorg
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.tables import MAX_COLUMNS, charset_of_options, check_generated, unique_names, with_ttl
from ticdc_emit.schema.types import BINARY_CHARSET, LABEL_TYPES, STRING_TYPES, ColumnFlag

__all__ = ["Alteration", "TableAlterer"]

MULTI_SCHEMA_CHANGE = "alter table multi-schema change"
_ALTER_CHARSET = "modify table charset and collate"
_OPTION_ACTIONS = {
    "charset": _ALTER_CHARSET,
    "collate": _ALTER_CHARSET,
    "auto_increment": "rebase auto_increment ID",
    "auto_id_cache": "modify auto id cache",
    "auto_random_base": "rebase auto_random ID",
    "shard_row_id_bits": "shard row ID",
    "comment": "modify table comment",
    "ttl": "alter table ttl",
    "ttl_enable": "alter table ttl",
    "ttl_job_interval": "alter table ttl",
    "placement_policy": "alter table placement",
}
_NOT_IN_ADD = frozenset({"auto_increment", "auto_random", "primary key", "unique"})
_NOT_IN_MODIFY = frozenset({"primary key", "unique", "references"})
_CALLS_NOT_IN_ADD = frozenset({"rand", "uuid", "uuid_to_bin", "replace", "upper", "nextval"})


@dataclass(frozen=True)
class Alteration:
    """One step of an ALTER TABLE; ``action`` is "" if TiDB runs no job."""

    state: TableState
    action: str = ""


class TableAlterer:
    """Applies specs under a database's (charset, collation) and a session time zone."""

    def __init__(self, database: tuple[str, str], zone: dt.tzinfo) -> None:
        self._database = database
        self._zone = zone

    def alter(self, state: TableState, specs: tuple[nodes.AlterSpec, ...]) -> tuple[Alteration, ...]:
        """Return the jobs that TiDB runs, in order: one for several specs, otherwise one per option, or none."""
        steps: list[Alteration] = []
        worked = [spec for spec in specs if not (isinstance(spec, nodes.NoSchemaChange) and not spec.action)]
        if len(worked) > 1:
            _check_disjoint(worked)
        current = state
        for spec in worked:
            for step in self._steps(spec, current):
                current = step.state
                steps.append(step)
        jobs = [step for step in steps if step.action]
        if len(worked) > 1 and jobs:
            return (Alteration(current, MULTI_SCHEMA_CHANGE),)
        return tuple(jobs)

    def _steps(self, spec: nodes.AlterSpec, state: TableState) -> tuple[Alteration, ...]:
        if isinstance(spec, nodes.AlterOptions):
            return self._alter_options(spec, state)
        return (self._step(spec, state),)

    @singledispatchmethod
    def _step(self, spec: object, state: TableState) -> Alteration:
        raise DdlError(f"{type(spec).__name__} is not understood in ALTER TABLE")

    # -- columns -------------------------------------------------------------------------------------------------

    @_step.register
    def _add_column(self, spec: nodes.AddColumn, state: TableState) -> Alteration:
        definition = spec.column
        if state.find_column(definition.name):
            if spec.if_not_exists:
                return Alteration(state)
            raise DdlError(f"duplicate column name {definition.name!r}", column=definition.name)
        if len(state.info.columns) >= MAX_COLUMNS:
            raise DdlError(f"a table has at most {MAX_COLUMNS} columns", column=definition.name)
        for option in definition.options:
            if option.kind in _NOT_IN_ADD:
                raise DdlError(f"TiDB cannot add a column with {option.kind.upper()}", column=definition.name)
            if option.kind == "generated stored":
                raise DdlError("TiDB cannot add a stored generated column", column=definition.name)
            value = option.value
            if isinstance(value, nodes.DefaultExpression) and function_name(value.text) in _CALLS_NOT_IN_ADD:
                raise DdlError("TiDB cannot add a column with that default", column=definition.name)
        info = state.info
        column = build_column(definition, info.charset, info.collate, self._zone).column
        check_generated(definition, state)
        state = _moved(state.append_columns(column), column.name, spec.position)
        return Alteration(state, "add column")

    @_step.register
    def _drop_column(self, spec: nodes.DropColumn, state: TableState) -> Alteration:
        found = state.find_column(spec.name)
        if spec.if_exists and (found is None or found.hidden):
            return Alteration(state)
        column = state.column(spec.name)
        wanted = column.name.lower()
        _refuse_dependents(state, column.name)
        if sum(not other.hidden for other in state.info.columns) == 1:
            raise DdlError("a table must keep one column", column=spec.name)
        if column.is_primary_key:
            raise DdlError(f"column {spec.name!r} is in the primary key", column=spec.name)
        covering = [i for i in state.info.indexes if wanted in (name.lower() for name in i.columns)]
        if any(len(index.columns) > 1 for index in covering):
            raise DdlError(f"column {spec.name!r} is in a composite index", column=spec.name)
        if any(wanted in (name.lower() for name in key.columns) for key in state.foreign_keys):
            raise DdlError(f"column {spec.name!r} is in a foreign key", column=spec.name)
        if wanted in (name.lower() for name in state.partition_columns):
            raise DdlError(f"column {spec.name!r} is used by the partitioning", column=spec.name)
        if state.ttl_column.lower() == wanted:
            raise DdlError(f"column {spec.name!r} is the TTL column", column=spec.name)
        state = state.with_indexes(tuple(index for index in state.info.indexes if index not in covering))
        columns = tuple(other for other in state.info.columns if other is not column)
        return Alteration(state.with_columns(columns), "drop column")

    @_step.register
    def _change_column(self, spec: nodes.ChangeColumn, state: TableState) -> Alteration:
        found = state.find_column(spec.old_name)
        if spec.if_exists and (found is None or found.hidden):
            return Alteration(state)
        old = state.column(spec.old_name)
        definition = spec.column
        self._check_change(old, definition, state)
        new = build_column(definition, state.info.charset, state.info.collate, self._zone).column
        if bool(new.flags & ColumnFlag.AUTO_INCREMENT) != bool(old.flags & ColumnFlag.AUTO_INCREMENT):
            raise DdlError("TiDB cannot set or remove AUTO_INCREMENT", column=old.name)
        if (old.generated == "stored") != (new.generated == "stored") or (old.generated is None) != (
            new.generated is None
        ):
            raise DdlError("TiDB cannot change whether a column is generated", column=old.name)
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

    def _check_change(self, old: Column, definition: nodes.ColumnDef, state: TableState) -> None:
        for option in definition.options:
            if option.kind in _NOT_IN_MODIFY:
                raise DdlError(f"TiDB cannot change {option.kind.upper()} with the column", column=old.name)
        if definition.name.lower() != old.name.lower():
            _check_rename(state, old.name, definition.name)
        check_generated(definition, state)

    @_step.register
    def _rename_column(self, spec: nodes.RenameColumn, state: TableState) -> Alteration:
        old = state.column(spec.old_name)
        if spec.old_name == spec.new_name:
            return Alteration(state)
        if spec.old_name.lower() != spec.new_name.lower():
            _check_rename(state, old.name, spec.new_name)
        return Alteration(state.replace_column(old.name, replace(old, name=spec.new_name)), "modify column")

    @_step.register
    def _set_default(self, spec: nodes.SetColumnDefault, state: TableState) -> Alteration:
        column = state.column(spec.column)
        changed = with_default(column, spec.default, self._zone)
        return Alteration(state.replace_column(column.name, changed), "set default value")

    # -- keys ----------------------------------------------------------------------------------------------------

    @_step.register
    def _add_constraint(self, spec: nodes.AddConstraint, state: TableState) -> Alteration:
        constraint = spec.constraint
        if constraint.kind in ("check", "fulltext"):
            return Alteration(state)  # off by default: parsed, warned about and dropped
        if constraint.kind == "primary":
            if constraint.clustered:
                raise DdlError("TiDB cannot add a clustered primary key", position=constraint.offset)
            return Alteration(add_primary_key(state, constraint, clustered=False), "add primary key")
        if constraint.kind == "foreign":
            changed, with_index = add_foreign_key(state, constraint)
            return Alteration(changed, MULTI_SCHEMA_CHANGE if with_index else "add foreign key")
        if constraint.if_not_exists and constraint.name and state.find_index(constraint.name):
            return Alteration(state)
        named = constraint if constraint.name else replace(constraint, name=name_for_alter(state, constraint))
        action = "add columnar index" if constraint.kind == "columnar" else "add index"
        return Alteration(add_secondary_index(state, named), action)

    @_step.register
    def _drop_index(self, spec: nodes.DropIndex, state: TableState) -> Alteration:
        if spec.if_exists and not state.find_index(spec.name):
            return Alteration(state)
        if spec.name.upper() == PRIMARY and state.info.pk_is_handle:
            raise DdlError("a clustered primary key cannot be dropped", index=spec.name)
        primary = state.index(spec.name).primary
        return Alteration(drop_index(state, spec.name), "drop primary key" if primary else "drop index")

    @_step.register
    def _drop_foreign_key(self, spec: nodes.DropForeignKey, state: TableState) -> Alteration:
        kept = tuple(key for key in state.foreign_keys if key.name.lower() != spec.name.lower())
        if len(kept) == len(state.foreign_keys):
            raise DdlError(f"table {state.info.full_name} has no foreign key {spec.name!r}")
        return Alteration(replace(state, foreign_keys=kept), "drop foreign key")

    @_step.register
    def _rename_index(self, spec: nodes.RenameIndex, state: TableState) -> Alteration:
        index = state.index(spec.old_name)
        other = state.find_index(spec.new_name)
        if index.primary or spec.new_name.upper() == PRIMARY or (other is not None and other is not index):
            raise DdlError(f"cannot rename index {spec.old_name!r} to {spec.new_name!r}", index=spec.old_name)
        renamed = tuple(replace(i, name=spec.new_name) if i is index else i for i in state.info.indexes)
        return Alteration(state.with_indexes(renamed), "rename index" if index.name != spec.new_name else "")

    @_step.register
    def _set_visibility(self, spec: nodes.SetIndexVisibility, state: TableState) -> Alteration:
        index = state.index(spec.name)
        if index.primary and not spec.visible:
            raise DdlError("a primary key cannot be invisible", index=spec.name)
        if index.visible == spec.visible:
            return Alteration(state)
        changed = tuple(replace(i, visible=spec.visible) if i is index else i for i in state.info.indexes)
        return Alteration(state.with_indexes(changed), "alter index visibility")

    # -- the table -----------------------------------------------------------------------------------------------

    def _alter_options(self, spec: nodes.AlterOptions, state: TableState) -> tuple[Alteration, ...]:
        """Each option is a job of its own, except that charset and collation are one, and so are the TTL options."""
        steps: list[Alteration] = []
        done: set[str] = set()
        for option in spec.options:
            action = _OPTION_ACTIONS.get(option.name, "")
            if action and action in done:
                continue
            done.add(action)
            if action == _ALTER_CHARSET:
                step = self._alter_charset(spec, state)
            elif action == "alter table ttl":
                step = Alteration(with_ttl(state, spec.options), action)
            elif option.name == "comment":
                step = Alteration(replace(state, info=replace(state.info, comment=str(option.value))), action)
            else:
                step = Alteration(state, action)
            state = step.state
            steps.append(step)
        return tuple(steps)

    def _alter_charset(self, spec: nodes.AlterOptions, state: TableState) -> Alteration:
        charset, collate = resolve(*charset_of_options(spec.options), self._database)
        info = state.info
        target = (charset, collate)
        settled = all(column.charset == BINARY_CHARSET or (column.charset, column.collate) == target for column in info)
        if (info.charset, info.collate) == target and settled:
            return Alteration(state)
        changed = [column.charset for column in info if _has_charset(column)] if spec.convert else []
        for before in (info.charset, *changed):
            if before != charset and (before not in ("utf8", "latin1") or charset != "utf8mb4"):
                raise DdlError(f"TiDB cannot change character set {before!r} to {charset!r}", table=info.full_name)
        if spec.convert:
            columns = tuple(
                replace(column, charset=charset, collate=collate) if _has_charset(column) else column
                for column in info.columns
            )
            state = state.with_columns(columns)
        state = replace(state, info=replace(state.info, charset=charset, collate=collate))
        return Alteration(state, _ALTER_CHARSET)

    @_step.register
    def _remove_ttl(self, spec: nodes.RemoveTtl, state: TableState) -> Alteration:
        action = "alter table no_ttl" if state.ttl_column else ""
        return Alteration(replace(state, ttl_column=""), action)

    @_step.register
    def _no_change(self, spec: nodes.NoSchemaChange, state: TableState) -> Alteration:
        return Alteration(state, spec.action)

    @_step.register
    def _add_partitions(self, spec: nodes.AddPartitions, state: TableState) -> Alteration:
        return Alteration(*alter_partitions(state, spec))

    @_step.register
    def _change_partitions(self, spec: nodes.ChangePartitions, state: TableState) -> Alteration:
        return Alteration(*alter_partitions(state, spec))


def _has_charset(column: Column) -> bool:
    is_text = column.type in STRING_TYPES and not column.is_binary
    return is_text or column.type in LABEL_TYPES


def _moved(state: TableState, name: str, position: nodes.Position | None) -> TableState:
    if position is None:
        return state
    column = state.column(name)
    rest = [other for other in state.info.columns if other is not column]
    at = 0
    if position.after:
        anchor = state.column(position.after)
        if anchor is column:
            raise DdlError(f"column {name!r} cannot come after itself", column=name)
        at = rest.index(anchor) + 1
    return state.with_columns((*rest[:at], column, *rest[at:]))


def _refuse_dependents(state: TableState, name: str) -> None:
    for column in state.info.columns:
        if column.generated and name.lower() in (used.lower() for used in column_names(column.generated_expr)):
            raise DdlError(f"column {name!r} is used by generated column {column.name!r}", column=name)


def _check_rename(state: TableState, old: str, new: str) -> None:
    if state.find_column(new):
        raise DdlError(f"duplicate column name {new!r}", column=new)
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


def _check_disjoint(specs: list[nodes.AlterSpec]) -> None:
    """One ALTER may change each column and index only once."""
    columns: list[str] = []
    indexes: list[str] = []
    touched: dict[type, Callable[..., str]] = {
        nodes.AddColumn: lambda spec: spec.column.name,
        nodes.DropColumn: lambda spec: spec.name,
        nodes.SetColumnDefault: lambda spec: spec.column,
        nodes.RenameColumn: lambda spec: spec.old_name,
        nodes.ChangeColumn: lambda spec: spec.old_name,
    }
    for spec in specs:
        if type(spec) in touched:
            columns.append(touched[type(spec)](spec))
        if isinstance(spec, nodes.DropIndex):
            indexes.append(spec.name)
        if isinstance(spec, (nodes.AddPartitions, nodes.ChangePartitions, nodes.ExchangePartition, nodes.RenameTo)):
            raise DdlError(f"{type(spec).__name__} cannot be combined with other changes in one ALTER TABLE")
    unique_names(columns, "changed column")
    unique_names(indexes, "changed index")
