"""The tables and databases that a changefeed knows from its DDL so far.

TiCDC's classic lineage keeps a schema snapshot. An object whose DDL was never applied (filtered out, or in an ignored
transaction) is not in it, and a later statement about it fails the changefeed. In: tables and databases at the start,
then each DDL that is applied. Out: the known objects, and :class:`UnknownObjectError` for a statement about others.

Rule source: ``cdc/entry/schema/snapshot.go`` of pingcap/tiflow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.words import to_lower

__all__ = ["Snapshot", "UnknownObjectError"]

_CREATES = ("create table", "create tables", "create view", "recover table")
_DROPS = ("drop table", "drop view")
_NEW_IDS = ("truncate table", "alter table partition by", "alter table remove partitioning")


class UnknownObjectError(LookupError):
    """A statement is about a table or database that the changefeed does not know; ``str()`` names it."""


class Snapshot:
    """Tables by id, databases by name in lower case."""

    def __init__(self, schemas: Iterable[str], tables: Iterable[TableInfo]) -> None:
        self._schemas = {to_lower(name) for name in schemas}
        self._tables = {info.id: info for info in tables}

    def has_schema(self, name: str) -> bool:
        return to_lower(name) in self._schemas

    def table(self, table_id: int) -> TableInfo | None:
        """Return a table as it was last applied."""
        return self._tables.get(table_id)

    def physical(self, table_id: int) -> TableInfo | None:
        """Return the table whose rows have this id: its own or that of a partition."""
        table = self._tables.get(table_id)
        if table is not None:
            return table
        return next((info for info in self._tables.values() if any(p.id == table_id for p in info.partitions)), None)

    def apply_schema(self, event: DdlEvent) -> None:
        """Apply the DDL of a database."""
        name = to_lower(event.schema)
        if event.action == "create schema":
            self._schemas.add(name)
            return
        if name not in self._schemas:
            raise UnknownObjectError(f"database {event.schema}")
        if event.action == "drop schema":
            self._schemas.remove(name)
            self._tables = {key: info for key, info in self._tables.items() if to_lower(info.schema) != name}

    def apply(self, event: DdlEvent) -> None:
        """Apply the DDL of one table, except RENAME and EXCHANGE PARTITION."""
        info, before = event.table_info, event.pre_table_info
        assert info is not None
        if event.action in _CREATES:
            self._tables[info.id] = info
            return
        old_id = before.id if before is not None and event.action in (*_DROPS, *_NEW_IDS) else info.id
        self._known(old_id, info)
        if event.action in (*_DROPS, *_NEW_IDS):
            del self._tables[old_id]
        if event.action not in _DROPS:
            self._tables[info.id] = info

    def rename(self, info: TableInfo) -> None:
        """Rename one table; a table that moves to an unknown database is forgotten."""
        self._known(info.id, info)
        del self._tables[info.id]
        if self.has_schema(info.schema):
            self._tables[info.id] = info

    def rename_all(self, infos: Iterable[TableInfo]) -> None:
        """Rename the tables of one statement at once; each must move to a known database."""
        renamed = list(infos)
        for info in renamed:
            self._known(info.id, info)
            del self._tables[info.id]
        for info in renamed:
            if not self.has_schema(info.schema):
                raise UnknownObjectError(f"database {info.schema}")
            self._tables[info.id] = info

    def exchange(self, partitioned: TableInfo) -> None:
        """Exchange a table with a partition; ``partitioned`` is the partitioned table afterwards."""
        old = self._known(partitioned.id, partitioned)
        left, joined = ({each.id for each in info.partitions} for info in (old, partitioned))
        (normal_id,) = joined - left
        (partition_id,) = left - joined
        normal = self._known(normal_id, partitioned)
        self._tables[partitioned.id] = partitioned
        del self._tables[normal_id]
        self._tables[partition_id] = replace(normal, id=partition_id, version=partitioned.version)

    def _known(self, table_id: int, info: TableInfo) -> TableInfo:
        if table_id not in self._tables:
            raise UnknownObjectError(f"table {info.full_name}")
        return self._tables[table_id]
