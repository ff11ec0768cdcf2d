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

    ``canonical``: TiDB's text, or the error of printing it. ``several``: more than one object is renamed or dropped.
    ``database``: the current one. ``renamed_from``: schema and name before a RENAME; ``renamed_as``: as the statement
    has them; ``renames``: all old and new names. ``batch``: the CREATE TABLE of one job, ``part``: its number among
    them. ``stored``: a view's SELECT as TiDB stores it, or why it is not known.
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
        if isinstance(self.canonical, UnprintableDdlError):
            error = self.canonical
            context = {"statement": event.query, **error.context}
            raise UnprintableDdlError(error.message, remedy=error.remedy, **context)
        return self.canonical


@dataclass(frozen=True)
class DdlEvent:
    """A DDL event, as an encoder receives it.

    ``query``: the statement exactly as given (one per table if it renames or drops several). ``action``: TiDB's name of
    it (:data:`~ticdc_emit.sql.actions.ACTIONS`). ``schema`` and ``table``: those after the DDL, ``table`` "" for a
    database. ``table_info``, ``pre_table_info``: the versions after and before; None where TiCDC has none.
    ``commit_ts``: a TSO. ``filter_text``: what event filters match, "" for ``query``. ``given``: for ``DdlTexts``.
    ``others``: further tables after the job: the exchanged one. ``source``: the own schema and name,
    if table routing changed them.
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
    """Return the events of one job that renames several tables, with all its names. TiDB reads each table again at its
    end, so a table that is renamed twice has its last name in both events.
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
