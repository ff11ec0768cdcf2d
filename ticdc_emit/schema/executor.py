"""Run one parsed DDL statement against the store; return its :class:`DdlEvent` tuple.

Rule source: pingcap/tidb ``pkg/ddl/executor.go``. What a statement does is in ``table_jobs`` and ``database_jobs``.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

from ticdc_emit.errors import DdlError, SchemaError
from ticdc_emit.schema import statements
from ticdc_emit.schema.database_jobs import DatabaseJobs
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.ids import AssignedIds, IdSource
from ticdc_emit.schema.job_recorder import canonical_text
from ticdc_emit.schema.other_jobs import OtherObjects
from ticdc_emit.schema.other_statements import (
    CreateMaskingPolicy,
    DropSequences,
    Flashback,
    LockTables,
    OtherStatement,
    PlacementPolicy,
    Recover,
    RepairTable,
    ResourceGroup,
    Sequence,
)
from ticdc_emit.schema.store import SchemaStore
from ticdc_emit.schema.table_jobs import TableJobs

__all__ = ["DdlExecutor"]


class DdlExecutor(TableJobs, DatabaseJobs):
    """``store``: the databases and tables, ``ids``: TiDB's counters; both are as before if a statement fails."""

    def __init__(self, store: SchemaStore, zone: dt.tzinfo, ids: IdSource, *, renamed_schema: str) -> None:
        super().__init__(store, zone, ids, renamed_schema=renamed_schema)
        self._others = OtherObjects()

    def execute(
        self,
        statement: statements.Statement | OtherStatement,
        query: str,
        schema: str | None,
        commit_ts: int,
        assigned: tuple[AssignedIds, ...],
        sql_mode: str = "",
    ) -> tuple[DdlEvent, ...]:
        """Apply ``statement``, whose text is ``query``, completely or not at all.

        ``schema``: the current database, ``None`` for that of the last USE. ``assigned``: ids that TiDB gave, for each
        job. Raises the family of :class:`SchemaError`.
        """
        self._query, self._commit_ts, self._assigned, self._sql_mode = query, commit_ts, assigned, sql_mode
        self._canonical = canonical_text(statement)
        self._schema = self._store.current if schema is None else schema
        self._events = []
        ids_before = self._ids.save()
        try:
            run = _JOBS.get(type(statement))
            if run is None:
                raise DdlError(f"{type(statement).__name__} is not understood", remedy="Leave the statement out")
            run(self, statement)
        except (SchemaError, RecursionError):
            self._store.rollback()
            self._ids.restore(ids_before)
            raise
        self._store.commit(commit_ts)
        return tuple(self._events)

    def other_objects(self, statement: OtherStatement) -> None:
        """Record the jobs of a statement about objects that are not tables."""
        for job in self._others.run(statement, self._schema):
            for _ in range(job.ids):
                self._ids.next_id()
            self._database_event(job.action, job.schema, job.table)


_JOBS: dict[type, Callable[[DdlExecutor, Any], None]] = {
    statements.UseDatabase: DdlExecutor.use,
    statements.CreateDatabase: DdlExecutor.create_database,
    statements.AlterDatabase: DdlExecutor.alter_database,
    statements.DropDatabase: DdlExecutor.drop_database,
    Recover: DdlExecutor.recover,
    Flashback: DdlExecutor.flashback,
    statements.CreateTable: DdlExecutor.create_table,
    statements.CreateTables: DdlExecutor.create_tables,
    statements.CreateTableLike: DdlExecutor.create_like,
    statements.CreateView: DdlExecutor.create_view,
    statements.DropTables: DdlExecutor.drop_tables,
    statements.TruncateTable: DdlExecutor.truncate,
    statements.RenameTables: DdlExecutor.rename_tables,
    statements.AlterTable: DdlExecutor.alter_table,
    statements.CreateIndex: DdlExecutor.alter_table,
    statements.DropIndexOn: DdlExecutor.alter_table,
    **dict.fromkeys(
        (CreateMaskingPolicy, DropSequences, LockTables, PlacementPolicy, RepairTable, ResourceGroup, Sequence),
        DdlExecutor.other_objects,
    ),
}
