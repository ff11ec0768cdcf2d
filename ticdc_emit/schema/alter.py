"""ALTER TABLE: clauses and a :class:`TableState` in, the next states and the actions of their jobs out.

Rule source: pingcap/tidb ``pkg/ddl/executor.go`` (``AlterTable``). Clauses about columns are in ``alter_columns``,
about keys in ``alter_keys``, about partitions in ``partitions``; options of the table are here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ticdc_emit.errors import DdlError
from ticdc_emit.schema import nodes
from ticdc_emit.schema.alter_columns import add_column, change_column, drop_column, rename_column, set_default
from ticdc_emit.schema.alter_keys import add_constraint, drop_foreign_key, drop_index, rename_index, set_visibility
from ticdc_emit.schema.alteration import MULTI_SCHEMA_CHANGE, Alteration
from ticdc_emit.schema.charsets import resolve
from ticdc_emit.schema.model import Column
from ticdc_emit.schema.partitions import alter_partitions
from ticdc_emit.schema.state import TableState
from ticdc_emit.schema.tables import charset_of_options, unique_names, with_ttl
from ticdc_emit.schema.types import BINARY_CHARSET, LABEL_TYPES, STRING_TYPES

__all__ = ["TableAlterer"]

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
        kind = type(spec)
        if isinstance(spec, nodes.AlterOptions):
            return self._alter_options(spec, state)
        if isinstance(spec, nodes.NoSchemaChange):
            return (Alteration(state, spec.action),)
        if kind in _IN_ZONE:
            return (_IN_ZONE[kind](spec, state, self._zone),)
        if kind in _STEPS:
            return (_STEPS[kind](spec, state),)
        raise DdlError(f"{kind.__name__} is not understood in ALTER TABLE", remedy="Leave this change out")

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
                raise DdlError(
                    f"TiDB cannot change character set {before!r} to {charset!r}",
                    remedy="Change only utf8 or latin1 to utf8mb4; create a new table for others",
                    table=info.full_name,
                )
        if spec.convert:
            columns = tuple(
                replace(column, charset=charset, collate=collate) if _has_charset(column) else column
                for column in info.columns
            )
            state = state.with_columns(columns)
        state = replace(state, info=replace(state.info, charset=charset, collate=collate))
        return Alteration(state, _ALTER_CHARSET)


def _remove_ttl(spec: nodes.RemoveTtl, state: TableState) -> Alteration:
    return Alteration(replace(state, ttl_column=""), "alter table no_ttl" if state.ttl_column else "")


def _partitions(spec: nodes.AddPartitions | nodes.ChangePartitions, state: TableState) -> Alteration:
    return Alteration(*alter_partitions(state, spec))


def _has_charset(column: Column) -> bool:
    is_text = column.type in STRING_TYPES and not column.is_binary
    return is_text or column.type in LABEL_TYPES


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
    nodes.RemoveTtl: _remove_ttl,
    nodes.AddPartitions: _partitions,
    nodes.ChangePartitions: _partitions,
}
