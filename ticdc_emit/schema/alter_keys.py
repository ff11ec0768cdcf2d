"""ALTER TABLE, keys: a clause about an index or foreign key in, the next state and the job's action out.

Rule source: pingcap/tidb ``pkg/ddl/executor.go``. Each raises :class:`DdlError` for what TiDB refuses.
"""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import nodes
from ticdc_emit.schema.alteration import MULTI_SCHEMA_CHANGE, Alteration
from ticdc_emit.schema.indexes import (
    add_foreign_key,
    add_primary_key,
    add_secondary_index,
    without_index,
)
from ticdc_emit.schema.key_names import PRIMARY, name_for_alter
from ticdc_emit.schema.state import TableState

__all__ = ["add_constraint", "drop_foreign_key", "drop_index", "rename_index", "set_visibility"]


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
