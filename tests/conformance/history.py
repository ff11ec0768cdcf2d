"""The schemas of a case: its DDL events, applied to a :class:`Catalog` and compared with TiDB's.

In: a :class:`Case`. Out: the :class:`DdlEvent` of every DDL event (or the error) and the history of every table. Ids
and versions, which only TiDB can know, are taken from the recorded ``table_info``; everything else follows from the
SQL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ticdc_emit.errors import SchemaError, UnknownTableError
from ticdc_emit.pipeline.plan.ddl import ddl_texts
from ticdc_emit.routing.replication import TableHistory
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.store import AssignedIds
from ticdc_emit.sql.nodes.statements import RenameTables
from ticdc_emit.sql.script import parse_ddl

from .compare import first_difference
from .table_infos import table_info_to_dict
from .vectors import Case


class CaseHistory:
    """``ddl``: by event index, the event or the exception. ``differences``: the differences from TiDB by event
    index. ``tables``: the versions of each table.
    """

    def __init__(self, case: Case) -> None:
        self.ddl: dict[int, DdlEvent | Exception] = {}
        self.differences: dict[int, str] = {}
        try:
            catalog = Catalog(time_zone=case.time_zone, renamed_schema=case.release.ddl.renamed_schema)
        except SchemaError as fault:
            self.tables: dict[tuple[str, str], TableHistory] = {}
            places = (index for index, event in enumerate(case.events) if event["kind"] == "ddl")
            self.ddl = dict.fromkeys(places, fault)
        else:
            self._apply(catalog, case)
            self.tables = dict(catalog.histories())
        self._histories = {(schema.lower(), name.lower()): each for (schema, name), each in self.tables.items()}
        self.differences |= {
            index: f"{type(fault).__name__}: {fault}"
            for index, fault in self.ddl.items()
            if isinstance(fault, Exception)
        }

    def table(self, schema: str, name: str) -> TableHistory:
        """Return the versions of a table name, in any case; :class:`UnknownTableError` if it never existed."""
        try:
            return self._histories[schema.lower(), name.lower()]
        except KeyError:
            raise UnknownTableError("the DDL of the case made no such table", table=f"{schema}.{name}") from None

    def version(self, schema: str, name: str, commit_ts: int) -> TableInfo:
        """Return the version of a table for rows committed at ``commit_ts``; :class:`UnknownTableError` if there is
        none.
        """
        since = [info for start, info in self.table(schema, name) if start < commit_ts]
        if not since or since[-1] is None:
            raise UnknownTableError("the table does not exist at this commit_ts", table=f"{schema}.{name}")
        return since[-1]

    def _apply(self, catalog: Catalog, case: Case) -> None:
        release = case.release
        texts = ddl_texts(release, restored=False)
        for indexes in _jobs(case):
            parts = [case.events[index] for index in indexes]
            ids = [given for each in parts if (given := _ids(each)) is not None]
            try:
                known = {"schema": "test", "commit_ts": parts[0]["commit_ts"], "ids": ids}
                found = catalog.apply(_statement(parts), of_job=True, **known)
                if len(found) != len(parts):
                    raise SchemaError(f"the statement gave {len(found)} events, TiDB gave {len(parts)}")
                made = [texts.named(each) for each in found]
            except Exception as fault:  # a crash is the result of these events; the case continues
                self.ddl |= dict.fromkeys(indexes, fault)
                continue
            for index, event in zip(indexes, made, strict=True):
                self.ddl[index] = event
                difference = first_difference(_shown(event), _recorded(case.events[index]))
                if difference:
                    self.differences[index] = difference


def _jobs(case: Case) -> list[list[int]]:
    """Return the DDL events by their jobs. Those of a RENAME of several tables share a commit_ts, and in one lineage
    they name a database otherwise than the same statements do one by one.
    """
    jobs: list[list[int]] = []
    for index, event in enumerate(case.events):
        if event["kind"] != "ddl":
            continue
        last = case.events[jobs[-1][-1]] if jobs else {}
        together = all(each.get("action") == "rename table" for each in (last, event))
        if together and last["commit_ts"] == event["commit_ts"] and case.release.ddl.renamed_schema == "lower-case":
            jobs[-1].append(index)
        else:
            jobs.append([index])
    return jobs


def _statement(parts: Sequence[Mapping[str, Any]]) -> str:
    """Return the statement of a job; that of several renames is made of their texts."""
    if len(parts) == 1:
        return str(parts[0]["query"])
    pairs: list[Any] = []
    for each in parts:
        statement = parse_ddl(each["query"])
        if not isinstance(statement, RenameTables):
            raise SchemaError("one of several renames is not a RENAME TABLE", statement=each["query"])
        pairs += statement.pairs
    return RenameTables(tuple(pairs)).restore()


def _ids(event: Mapping[str, Any]) -> AssignedIds | None:
    info = event.get("table_info")
    if not info:
        return None
    columns = {column["name"]: column["id"] for column in info["columns"] or ()}
    return AssignedIds(info["table_id"], columns, {}, info["version"], info["update_ts"])


def _recorded(event: Mapping[str, Any]) -> dict[str, Any]:
    named = ("action", "action_code", "schema", "table", "query")
    shown = {name: event[name] for name in named if name in event}
    return shown | {name: event.get(name) or None for name in ("table_info", "pre_table_info")}


def _shown(event: DdlEvent) -> dict[str, Any]:
    return {
        "action": event.action,
        "action_code": event.action_code,
        "schema": event.schema,
        "table": event.table,
        "query": event.query,
        "table_info": _info(event.table_info),
        "pre_table_info": _info(event.pre_table_info),
    }


def _info(info: TableInfo | None) -> dict[str, Any] | None:
    return None if info is None else table_info_to_dict(info)
