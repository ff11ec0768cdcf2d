"""Partition changes (pingcap/tidb: ``pkg/ddl/partition.go``). New partitions have id 0, and so has a new table."""

from __future__ import annotations

from dataclasses import replace

from ticdc_emit.errors import DdlError
from ticdc_emit.schema.model import Partition
from ticdc_emit.schema.store import TableState
from ticdc_emit.schema.tables import unique_names, with_partitioning
from ticdc_emit.sql.nodes.alter import AddPartitions, ChangePartitions
from ticdc_emit.sql.nodes.tables import MAX_PARTITIONS

_REORGANIZE = "alter table reorganize partition"


def find_partition(state: TableState, name: str) -> Partition:
    if not state.info.partitions:
        raise DdlError(
            f"table {state.info.full_name} is not partitioned", remedy="Use ALTER TABLE ... PARTITION BY first"
        )
    for partition in state.info.partitions:
        if partition.name.lower() == name.lower():
            return partition
    raise DdlError(f"table {state.info.full_name} has no partition {name!r}", remedy="Check its name", partition=name)


def alter_partitions(state: TableState, spec: AddPartitions | ChangePartitions) -> tuple[TableState, str]:
    if isinstance(spec, ChangePartitions) and spec.by is not None:
        state = with_partitioning(state, spec.by)
        return replace(state, info=replace(state.info, id=0)), "alter table partition by"
    if not state.info.partitions:
        raise DdlError(
            f"table {state.info.full_name} is not partitioned", remedy="Use ALTER TABLE ... PARTITION BY first"
        )
    if isinstance(spec, AddPartitions):
        return _add(state, spec)
    if spec.kind == "remove":
        bare = replace(state.info, partitions=(), id=0)
        state = replace(state, info=bare, partitioning=None, partition_columns=())
        return state, "alter table remove partitioning"
    if spec.kind == "coalesce":
        return _coalesce(state, spec.count)
    by_name = {partition.name.lower(): partition for partition in state.info.partitions}
    if spec.if_exists and not all(name.lower() in by_name for name in spec.names):
        return state, ""
    unique_names(spec.names, "partition")
    chosen = [by_name.get(name.lower()) or find_partition(state, name) for name in spec.names or by_name]
    names = {partition.name for partition in chosen}
    if spec.kind == "truncate":
        fresh = tuple(Partition(0, p.name) if p.name in names else p for p in state.info.partitions)
        return _with_partitions(state, fresh), "truncate partition"
    if spec.kind == "drop":
        _needs_ranges(state)
        if len(chosen) == len(state.info.partitions):
            raise DdlError("cannot drop all partitions, use DROP TABLE instead", remedy="Use DROP TABLE")
        return _with_partitions(state, tuple(p for p in state.info.partitions if p.name not in names)), "drop partition"
    return _reorganize(state, chosen, spec.into).with_partition_values(spec.definitions), _REORGANIZE


def _with_partitions(state: TableState, partitions: tuple[Partition, ...]) -> TableState:
    if len(partitions) > MAX_PARTITIONS:
        raise DdlError(f"more than {MAX_PARTITIONS} partitions", remedy="Use fewer partitions")
    unique_names((partition.name for partition in partitions), "partition")
    return replace(state, info=replace(state.info, partitions=partitions))


def _needs_ranges(state: TableState) -> None:
    if state.partition_method not in ("range", "list"):
        raise DdlError("this needs RANGE or LIST partitions", remedy="Use COALESCE PARTITION or TRUNCATE PARTITION")


def _add(state: TableState, spec: AddPartitions) -> tuple[TableState, str]:
    present = state.info.partitions
    if not spec.count and not spec.names:
        raise DdlError(
            "ADD PARTITION needs definitions, or a number of partitions above 0",
            remedy="Write PARTITION p VALUES ..., or PARTITIONS n",
        )
    if spec.count > MAX_PARTITIONS:  # before they are named
        raise DdlError(f"more than {MAX_PARTITIONS} partitions", remedy="Use fewer partitions")
    if state.partition_method in ("hash", "key"):
        added = spec.names or tuple(f"p{number}" for number in range(len(present), len(present) + spec.count))
        names = (*(partition.name for partition in present), *added)  # all rows move, so all partitions are new
        return _with_partitions(state, tuple(Partition(0, name) for name in names)), _REORGANIZE
    if spec.count:
        raise DdlError(
            "ADD PARTITION PARTITIONS is for HASH and KEY partitions",
            remedy="Write PARTITION p VALUES ... for each new partition",
        )
    known_names = {partition.name.lower() for partition in present}
    if spec.if_not_exists and any(name.lower() in known_names for name in spec.names):
        return state, ""
    state = state.with_partition_values(spec.definitions)
    return _with_partitions(state, present + tuple(Partition(0, name) for name in spec.names)), "add partition"


def _coalesce(state: TableState, count: int) -> tuple[TableState, str]:
    if state.partition_method not in ("hash", "key"):
        raise DdlError("COALESCE PARTITION is for HASH and KEY partitions", remedy="Use DROP PARTITION")
    if not 0 < count < len(state.info.partitions):
        raise DdlError(
            f"cannot coalesce {count} of {len(state.info.partitions)} partitions",
            remedy="Give a number from 1 to one less than it has",
        )
    partitions = state.info.partitions[: len(state.info.partitions) - count]
    return _with_partitions(state, tuple(Partition(0, partition.name) for partition in partitions)), _REORGANIZE


def _reorganize(state: TableState, chosen: list[Partition], into: tuple[str, ...]) -> TableState:
    _needs_ranges(state)
    at = state.info.partitions.index(chosen[0])
    names = {partition.name for partition in chosen}
    rest = [partition for partition in state.info.partitions if partition.name not in names]
    return _with_partitions(state, (*rest[:at], *(Partition(0, name) for name in into), *rest[at:]))
