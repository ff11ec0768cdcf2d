"""DDL events of the catalog, and TiDB's names and codes of DDL actions.

Rule source: pingcap/tidb ``pkg/meta/model/job.go`` (``ActionType`` and ``ActionMap``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.queries import Query

ACTION_CODES = {
    "create schema": 1,
    "drop schema": 2,
    "create table": 3,
    "drop table": 4,
    "add column": 5,
    "drop column": 6,
    "add index": 7,
    "drop index": 8,
    "add foreign key": 9,
    "drop foreign key": 10,
    "truncate table": 11,
    "modify column": 12,
    "rebase auto_increment ID": 13,
    "rename table": 14,
    "set default value": 15,
    "shard row ID": 16,
    "modify table comment": 17,
    "rename index": 18,
    "add partition": 19,
    "drop partition": 20,
    "create view": 21,
    "modify table charset and collate": 22,
    "truncate partition": 23,
    "drop view": 24,
    "recover table": 25,
    "modify schema charset and collate": 26,
    "lock table": 27,
    "unlock table": 28,
    "repair table": 29,
    "set tiflash replica": 30,
    "update tiflash replica status": 31,
    "add primary key": 32,
    "drop primary key": 33,
    "create sequence": 34,
    "alter sequence": 35,
    "drop sequence": 36,
    "modify auto id cache": 39,
    "rebase auto_random ID": 40,
    "alter index visibility": 41,
    "exchange partition": 42,
    "add check constraint": 43,
    "drop check constraint": 44,
    "alter check constraint": 45,
    "rename tables": 47,
    "alter table attributes": 49,
    "alter table partition attributes": 50,
    "create placement policy": 51,
    "alter placement policy": 52,
    "drop placement policy": 53,
    "alter table partition placement": 54,
    "modify schema default placement": 55,
    "alter table placement": 56,
    "alter table cache": 57,
    "alter table statistics options": 58,
    "alter table nocache": 59,
    "create tables": 60,
    "alter table multi-schema change": 61,
    "flashback cluster": 62,
    "flashback schema": 63,
    "alter table reorganize partition": 64,
    "alter table ttl": 65,
    "alter table no_ttl": 67,
    "create resource group": 68,
    "alter resource group": 69,
    "drop resource group": 70,
    "alter table partition by": 71,
    "alter table remove partitioning": 72,
    "add columnar index": 73,
    "modify engine attribute": 74,
    "alter table mode": 75,
    "refresh meta": 76,
    "modify schema read only": 77,
    "create masking policy": 81,
    "alter masking policy": 82,
    "drop masking policy": 83,
}


def action_code(action: str) -> int:
    """Return the ActionType number of an action name; ``KeyError`` if TiDB has no such action."""
    return ACTION_CODES[action]


@dataclass(frozen=True)
class GivenText:
    """The parts of the text to send.

    ``canonical``: the whole statement as TiDB prints it, or the error of printing it. ``several``: the statement
    renames or drops more than one object. ``database``: the current database. ``renamed_from``: schema and name before
    a RENAME; ``renamed_as``: the same as written in the statement; ``renames``: the old and new names of several
    tables. ``batch``: the texts of all CREATE TABLE of one job. ``part``: the number among several. ``sql_mode``: the
    session's. ``stored``: a view's SELECT as TiDB stores it, or why it is not known.
    """

    canonical: str | UnprintableDdlError
    several: bool = False
    database: str = ""
    renamed_from: tuple[str, str] = ("", "")
    renamed_as: tuple[str, str] = ("", "")
    renames: tuple[tuple[tuple[str, str], tuple[str, str]], ...] = ()
    batch: tuple[str, ...] = ()
    part: int = 0
    sql_mode: str = ""
    stored: Query | UnprintableDdlError | None = None

    def restored(self, event: DdlEvent) -> str:
        """Return the canonical text; raises TiDB's error."""
        if isinstance(self.canonical, UnprintableDdlError):
            error = self.canonical
            context = {"statement": event.query, **error.context}
            raise UnprintableDdlError(error.message, remedy=error.remedy, **context)
        return self.canonical


@dataclass(frozen=True)
class DdlEvent:
    """A DDL event, as an encoder receives it.

    ``query`` is the statement exactly as given (one per table if it renames or drops several); ``action`` is TiDB's
    ActionType by name; ``schema`` and ``table`` are those after the DDL, ``table`` "" for a database. ``table_info`` is
    the version after it, ``pre_table_info`` the one before; None where TiCDC has none. ``commit_ts`` is a TSO.
    ``filter_text``: the text that event filters match instead of ``query``; "" for the same. ``given``: the input of
    :class:`~ticdc_emit.schema.ddl_texts.DdlTexts`. ``others``: further tables that the job changes, as they are after
    it: the exchanged table of EXCHANGE PARTITION, the tables restored by FLASHBACK DATABASE.
    """

    query: str
    action: str
    schema: str
    table: str
    table_info: TableInfo | None = None
    pre_table_info: TableInfo | None = None
    commit_ts: int = 0
    filter_text: str = field(default="", compare=False)
    given: GivenText | None = field(default=None, compare=False, repr=False)
    others: tuple[TableInfo, ...] = field(default=(), compare=False, repr=False)

    @property
    def action_code(self) -> int:
        """The number of TiDB's ActionType."""
        return action_code(self.action)


def renamed_together(events: Sequence[DdlEvent]) -> list[DdlEvent]:
    """Return the events of one job that renames several tables, with all its names.

    At its end, TiDB reads each table again. So a table that is renamed twice (where two are swapped) has its last name
    in both events.
    """
    given = [(event, event.given) for event in events if event.given is not None]
    renames = tuple((each.renamed_as, (event.schema, event.table)) for event, each in given)
    last = {event.table_info.id: event.table for event in events if event.table_info is not None}
    found = []
    for part, (event, each) in enumerate(given):
        if event.table_info is not None and event.table != last[event.table_info.id]:
            name = last[event.table_info.id]
            event = replace(event, table=name, table_info=replace(event.table_info, name=name))
        found.append(replace(event, given=replace(each, renames=renames, part=part)))
    return found
