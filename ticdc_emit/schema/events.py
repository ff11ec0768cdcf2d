"""DDL events of the catalog: what a statement's job did, and the parts of the text to send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ticdc_emit.errors import UnprintableDdlError
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.actions import ACTIONS
from ticdc_emit.sql.nodes.queries import Query


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
    name of it (:data:`~ticdc_emit.sql.actions.ACTIONS`); ``schema`` and ``table`` are those after the DDL, ``table`` ""
    for a database. ``table_info`` is the version after it, ``pre_table_info`` the one before; None where TiCDC has
    none. ``commit_ts`` is a TSO. ``filter_text``: the text that event filters match instead of ``query``; "" for the
    same. ``given``: the input of :class:`~ticdc_emit.schema.ddl_texts.DdlTexts`. ``others``: further tables that the
    job changes, as they are after it: the exchanged table of EXCHANGE PARTITION, the tables restored by FLASHBACK
    DATABASE. ``source``: the own schema and name, if table routing gave the event those that messages show.
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
    source: tuple[str, str] | None = None

    @property
    def source_name(self) -> tuple[str, str]:
        """The schema and name before table routing, which topics depend on."""
        return self.source or (self.schema, self.table)

    @property
    def action_code(self) -> int:
        """The number of TiDB's ActionType."""
        return ACTIONS[self.action].code


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
