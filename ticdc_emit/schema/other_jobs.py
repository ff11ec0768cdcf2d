"""The jobs of statements about sequences, policies, resource groups and the like. Statement in, jobs out.

A changefeed never sends them. The catalog keeps only their names, for IF [NOT] EXISTS, and draws their ids. It accepts
statements about objects that it has not seen. Rule source: pingcap/tidb ``pkg/ddl/executor.go``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ticdc_emit.schema.other_statements import (
    CreateMaskingPolicy,
    DropSequences,
    OtherStatement,
    PlacementPolicy,
    RepairTable,
    ResourceGroup,
    Sequence,
)

__all__ = ["Job", "OtherObjects"]


@dataclass(frozen=True)
class Job:
    """``schema``: the database, or the name of an object outside databases. ``ids``: how many ids it takes from TiDB's
    counter.
    """

    action: str
    schema: str
    table: str = ""
    ids: int = 0


class OtherObjects:
    """The names of all objects that are not tables."""

    def __init__(self) -> None:
        self._names: set[tuple[str, str, str]] = set()

    def run(self, statement: OtherStatement, database: str) -> Iterator[Job]:
        """Yield the jobs of a statement; ``database`` is the current one. LOCK TABLES, for example, is not a job by
        default.
        """
        if isinstance(statement, Sequence):
            schema = statement.name.schema or database
            is_new = statement.verb == "CREATE"
            yield from self._one("sequence", statement, schema, statement.name.name, ids=1 if is_new else 0)
        elif isinstance(statement, DropSequences):
            for name in statement.names:
                yield from self._drop("sequence", name.schema or database, name.name, if_exists=statement.if_exists)
        elif isinstance(statement, PlacementPolicy):  # numbered by their own counter
            yield from self._one("placement policy", statement, statement.name)
        elif isinstance(statement, ResourceGroup):
            is_new = statement.verb == "CREATE"
            yield from self._one("resource group", statement, statement.name, ids=1 if is_new else 0)
        elif isinstance(statement, CreateMaskingPolicy):
            yield from self._mask(statement, database)
        elif isinstance(statement, RepairTable):
            yield Job("repair table", statement.table.schema or database, statement.table.name)

    def _mask(self, statement: CreateMaskingPolicy, database: str) -> Iterator[Job]:
        schema, table = statement.table.schema or database, statement.table.name
        key = ("masking policy", f"{schema}.{table}".lower(), statement.name.lower())
        if not (statement.if_not_exists and key in self._names):
            self._names.add(key)
            yield Job("create masking policy", schema, table)

    def _one(
        self,
        kind: str,
        statement: Sequence | PlacementPolicy | ResourceGroup,
        schema: str,
        table: str = "",
        ids: int = 0,
    ) -> Iterator[Job]:
        verb, condition = statement.verb, statement.condition
        key = (kind, schema.lower(), table.lower())
        if verb == "DROP":
            yield from self._drop(kind, schema, table, if_exists=bool(condition))
        elif not condition or (key in self._names) == (verb == "ALTER"):
            self._names.add(key)
            yield Job(f"{verb.lower()} {kind}", schema, table, ids)

    def _drop(self, kind: str, schema: str, table: str, *, if_exists: bool) -> Iterator[Job]:
        key = (kind, schema.lower(), table.lower())
        if key in self._names or not if_exists:
            self._names.discard(key)
            yield Job(f"drop {kind}", schema, table)
