"""The steps of an ALTER TABLE, and their jobs (pingcap/tidb: ``pkg/ddl/executor.go``, ``pkg/ddl/modify_column.go``)."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.columns import build_column, with_default
from ticdc_emit.schema.defaults import column_names, function_name, original_default
from ticdc_emit.schema.indexes import (
    PRIMARY,
    add_foreign_key,
    add_primary_key,
    add_secondary_index,
    name_for_alter,
    without_index,
)
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.partitions import alter_partitions
from ticdc_emit.schema.store import TableState
from ticdc_emit.schema.tables import MAX_COLUMNS, charset_of_options, check_generated, unique_names, with_ttl
from ticdc_emit.sql import nodes
from ticdc_emit.sql.charsets import resolve
from ticdc_emit.sql.types import (
    BINARY_CHARSET,
    INTEGER_TYPES,
    LABEL_TYPES,
    STRING_TYPES,
    TYPES,
    UNSPECIFIED_LENGTH,
    ColumnFlag,
    MySQLType,
)

MULTI_SCHEMA_CHANGE = "alter table multi-schema change"


@dataclass(frozen=True)
class Alteration:
    """One step; ``action`` is "" if TiDB runs no job."""

    state: TableState
    action: str = ""


_CHAR, _VARCHARS = MySQLType.STRING, (MySQLType.VARCHAR, MySQLType.VAR_STRING)


def needs_reorg(old: Column, new: Column, *, indexed: bool) -> bool:
    """Return whether the stored data of ``old`` must be rewritten. ``indexed``: whether an index has the column."""
    if old.type is new.type:
        return _same_type_differs(old, new)
    if {old.type, new.type} <= STRING_TYPES:
        to_char = old.type in _VARCHARS and new.type is _CHAR
        index_changes = indexed and old.type is _CHAR and new.type in _VARCHARS
        return to_char or index_changes or _shrinks(old, new)
    if {old.type, new.type} <= INTEGER_TYPES:
        return TYPES[new.type].length < TYPES[old.type].length or old.unsigned != new.unsigned
    return True


def _same_type_differs(old: Column, new: Column) -> bool:
    kind = old.type
    if kind is MySQLType.NEWDECIMAL:
        return (old.flen, old.decimal, old.unsigned) != (new.flen, new.decimal, new.unsigned)
    if kind in LABEL_TYPES:
        return old.elems != new.elems[: len(old.elems)]
    if kind in INTEGER_TYPES:
        return old.unsigned != new.unsigned
    if kind is _CHAR and old.is_binary:
        return old.flen != new.flen
    if kind is MySQLType.VECTOR_FLOAT32:
        return new.flen not in (UNSPECIFIED_LENGTH, old.flen)
    return _shrinks(old, new)


def _shrinks(old: Column, new: Column) -> bool:
    shorter = new.flen > 0 and (new.flen < old.flen or new.decimal < old.decimal)
    return shorter or old.unsigned != new.unsigned


# -- keys --------------------------------------------------------------------------------------------------------------


def add_constraint(spec: nodes.AddConstraint, state: TableState) -> Alteration:
    constraint = spec.constraint
    if constraint.kind in ("check", "fulltext"):
        return Alteration(state)  # off by default: parsed, warned about and dropped
    if constraint.kind == "primary":
        if constraint.clustered:
            raise DdlError(
                "TiDB cannot add a clustered primary key",
                remedy="Write NONCLUSTERED, or declare the key in CREATE TABLE",
                position=constraint.offset,
            )
        return Alteration(add_primary_key(state, constraint, clustered=False), "add primary key")
    if constraint.kind == "foreign":
        changed, with_index = add_foreign_key(state, constraint)
        return Alteration(changed, MULTI_SCHEMA_CHANGE if with_index else "add foreign key")
    if constraint.if_not_exists and constraint.name and state.find_index(constraint.name):
        return Alteration(state)
    named = constraint if constraint.name else replace(constraint, name=name_for_alter(state, constraint))
    action = "add columnar index" if constraint.kind == "columnar" else "add index"
    return Alteration(add_secondary_index(state, named), action)


def drop_index(spec: nodes.DropIndex, state: TableState) -> Alteration:
    if spec.if_exists and not state.find_index(spec.name):
        return Alteration(state)
    if spec.name.upper() == PRIMARY and state.info.pk_is_handle:
        raise DdlError(
            "a clustered primary key cannot be dropped", remedy="Create a new table with another key", index=spec.name
        )
    primary = state.index(spec.name).primary
    return Alteration(without_index(state, spec.name), "drop primary key" if primary else "drop index")


def drop_foreign_key(spec: nodes.DropForeignKey, state: TableState) -> Alteration:
    others = tuple(key for key in state.foreign_keys if key.name.lower() != spec.name.lower())
    if len(others) == len(state.foreign_keys):
        raise DdlError(f"table {state.info.full_name} has no foreign key {spec.name!r}", remedy="Check its name")
    return Alteration(replace(state, foreign_keys=others), "drop foreign key")


def rename_index(spec: nodes.RenameIndex, state: TableState) -> Alteration:
    index = state.index(spec.old_name)
    other = state.find_index(spec.new_name)
    if index.primary or spec.new_name.upper() == PRIMARY or (other is not None and other is not index):
        raise DdlError(
            f"cannot rename index {spec.old_name!r} to {spec.new_name!r}",
            remedy="Choose a name that no other index has; a primary key keeps its own",
            index=spec.old_name,
        )
    renamed = tuple(replace(i, name=spec.new_name) if i is index else i for i in state.info.indexes)
    return Alteration(state.with_indexes(renamed), "rename index" if index.name != spec.new_name else "")


def set_visibility(spec: nodes.SetIndexVisibility, state: TableState) -> Alteration:
    index = state.index(spec.name)
    if index.primary and not spec.visible:
        raise DdlError("a primary key cannot be invisible", remedy="Make another index invisible", index=spec.name)
    if index.visible == spec.visible:
        return Alteration(state)
    changed = tuple(replace(i, visible=spec.visible) if i is index else i for i in state.info.indexes)
    return Alteration(state.with_indexes(changed), "alter index visibility")


# -- columns -----------------------------------------------------------------------------------------------------------

_NOT_IN_ADD = {
    **{
        kind: (kind.upper(), "Add the column without it; a key needs a separate statement")
        for kind in ("auto_increment", "auto_random", "primary key", "unique")
    },
    "generated stored": ("a stored generated expression", "Make it VIRTUAL, or declare it in CREATE TABLE"),
}
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
        value = option.value
        what, remedy = _NOT_IN_ADD.get(option.kind, ("", ""))
        if isinstance(value, nodes.DefaultExpression) and function_name(value.text) in _CALLS_NOT_IN_ADD:
            what = "that default"
            remedy = "Give a constant as the default, or add the column without one and set it afterwards"
        if what:
            raise DdlError(f"TiDB cannot add a column with {what}", remedy=remedy, column=definition.name)
    info = state.info
    column, _ = build_column(definition, info.charset, info.collate, zone)
    column = replace(column, original_default=original_default(column))
    check_generated(definition, state)
    state = _move(state.append_columns(column), column.name, spec.position)
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
    covering = [i for i in state.info.indexes if wanted in (name.lower() for name in i.columns)]
    of_foreign_keys = (name.lower() for key in state.foreign_keys for name in key.columns)
    for is_so, what, remedy in (
        (column.is_primary_key, "is in the primary key", "Drop the primary key first"),
        (any(len(index.columns) > 1 for index in covering), "is in a composite index", "Drop that index first"),
        (wanted in of_foreign_keys, "is in a foreign key", "Drop the foreign key first"),
        (
            wanted in (name.lower() for name in state.partition_columns),
            "is used by the partitioning",
            "Remove the partitioning first (REMOVE PARTITIONING)",
        ),
        (state.ttl_column.lower() == wanted, "is the TTL column", "Remove the TTL first (REMOVE TTL)"),
    ):
        if is_so:
            raise DdlError(f"column {spec.name!r} {what}", remedy=remedy, column=spec.name)
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
    new, _ = build_column(definition, state.info.charset, state.info.collate, zone)
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
    new = replace(new, original_default=None if reorganised else old.original_default)
    if reorganised:
        state = replace(state, max_column_id=state.max_column_id + 1)
    state = state.replace_column(old.name, replace(new, id=state.max_column_id if reorganised else old.id))
    if reorganised:
        state = _renumber_indexes(state, new.name)
    return Alteration(_move(state, new.name, spec.position), "modify column")


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


def _move(state: TableState, name: str, position: nodes.Position | None) -> TableState:
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
    indexes = []
    number = state.max_index_id
    for index in state.info.indexes:
        if column.lower() in (name.lower() for name in index.columns):
            number += 1
            index = replace(index, id=number)
        indexes.append(index)
    return replace(state.with_indexes(tuple(indexes)), max_index_id=number)


# -- the whole statement -----------------------------------------------------------------------------------------------

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


def alter(
    state: TableState, specs: tuple[nodes.AlterSpec, ...], database: tuple[str, str], zone: dt.tzinfo
) -> list[Alteration]:
    """Return the jobs that TiDB runs, in order: one for several specs, otherwise one per option, or none.
    ``database``: its charset and collation. ``zone``: of TIMESTAMP defaults.
    """
    jobs: list[Alteration] = []
    worked = [spec for spec in specs if not (isinstance(spec, nodes.NoSchemaChange) and not spec.action)]
    if len(worked) > 1:
        _check_disjoint(worked)
    for spec in worked:
        kind = type(spec)
        if isinstance(spec, nodes.AlterOptions):
            steps = _alter_options(spec, state, database)
        elif isinstance(spec, nodes.NoSchemaChange):
            steps = [Alteration(state, spec.action)]
        elif kind in _IN_ZONE:
            steps = [_IN_ZONE[kind](spec, state, zone)]
        elif kind in _STEPS:
            steps = [_STEPS[kind](spec, state)]
        else:
            raise DdlError(f"{kind.__name__} is not understood in ALTER TABLE", remedy="Leave this change out")
        jobs += (step for step in steps if step.action)
        state = steps[-1].state if steps else state
    return [Alteration(state, MULTI_SCHEMA_CHANGE)] if len(worked) > 1 and jobs else jobs


def _alter_options(spec: nodes.AlterOptions, state: TableState, database: tuple[str, str]) -> list[Alteration]:
    steps: list[Alteration] = []
    done: set[str] = set()
    for option in spec.options:
        action = _OPTION_ACTIONS.get(option.name, "")
        if action and action in done:
            continue
        done.add(action)
        if action == _ALTER_CHARSET:
            step = _alter_charset(spec, state, database)
        elif action == "alter table ttl":
            step = Alteration(with_ttl(state, spec.options), action)
        elif option.name == "comment":
            step = Alteration(replace(state, info=replace(state.info, comment=str(option.value))), action)
        elif option.name == "auto_increment":
            step = Alteration(replace(state, auto_increment=max(int(option.value or 1), 1)), action)
        else:
            step = Alteration(state, action)
        state = step.state
        steps.append(step)
    return steps


def _alter_charset(spec: nodes.AlterOptions, state: TableState, database: tuple[str, str]) -> Alteration:
    info, target = state.info, resolve(*charset_of_options(spec.options), database)
    charset, collate = target
    settled = all(column.charset == BINARY_CHARSET or (column.charset, column.collate) == target for column in info)
    if (info.charset, info.collate) == target and settled:
        return Alteration(state)
    changed = [column.charset for column in info if _has_charset(column)] if spec.convert else []
    for before in (info.charset, *changed):
        if before != charset and (before not in ("utf8", "latin1") or charset != "utf8mb4"):
            raise DdlError(
                f"TiDB cannot change character set {before!r} to {charset!r}",
                remedy="Change only utf8 or latin1 to utf8mb4; create a new table for others",
                table=info.full_name,
            )
    columns = tuple(
        replace(column, charset=charset, collate=collate) if spec.convert and _has_charset(column) else column
        for column in info
    )
    changed_info = replace(info, columns=columns, charset=charset, collate=collate)
    return Alteration(replace(state, info=changed_info), _ALTER_CHARSET)


def _has_charset(column: Column) -> bool:
    is_text = column.type in STRING_TYPES and not column.is_binary
    return is_text or column.type in LABEL_TYPES


def _check_disjoint(specs: list[nodes.AlterSpec]) -> None:
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
            raise DdlError(
                "a change of partitions or of the table's name cannot be combined with others in one ALTER TABLE",
                remedy="Write a separate ALTER TABLE for it",
            )
    unique_names(columns, "changed column")
    unique_names(indexes, "changed index")


_IN_ZONE: dict[type, Callable[[Any, TableState, dt.tzinfo], Alteration]] = {
    nodes.AddColumn: add_column,
    nodes.ChangeColumn: change_column,
    nodes.SetColumnDefault: set_default,
}
_STEPS: dict[type, Callable[[Any, TableState], Alteration]] = {
    nodes.DropColumn: drop_column,
    nodes.RenameColumn: rename_column,
    nodes.AddConstraint: add_constraint,
    nodes.DropIndex: drop_index,
    nodes.DropForeignKey: drop_foreign_key,
    nodes.RenameIndex: rename_index,
    nodes.SetIndexVisibility: set_visibility,
    nodes.RemoveTtl: lambda spec, state: Alteration(
        replace(state, ttl_column=""), "alter table no_ttl" if state.ttl_column else ""
    ),
    **dict.fromkeys(
        (nodes.AddPartitions, nodes.ChangePartitions), lambda spec, state: Alteration(*alter_partitions(state, spec))
    ),
}
