"""The DDL of a changefeed: the tables that it begins with, the statements given to it, and what of them goes out.

Where messages go, ``pipeline.deliver.control_events`` knows. Rule sources: see ``schema.ddl_texts`` and
``routing.filter_rules``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from numbers import Integral
from typing import Any, TypeAlias

from ticdc_emit.config import ChangefeedConfig, Release
from ticdc_emit.errors import ConfigError, DdlError, UnprintableDdlError, shown
from ticdc_emit.hints import values
from ticdc_emit.routing.filter_rules import Verdict
from ticdc_emit.routing.replication import Replication
from ticdc_emit.routing.table_routes import TableRoutes
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.ddl_texts import DdlTexts
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.sql.script import refuse_path, restored_statements

DdlStatement: TypeAlias = "tuple[int, str, str]"
"""commit_ts, current database, statement."""


def catalog_for(config: ChangefeedConfig, schema: str | Catalog) -> Catalog:
    """Return the catalog of a changefeed's tables. Raises :class:`~ticdc_emit.errors.DdlError`, also for a path."""
    if isinstance(schema, Catalog):
        return schema
    refuse_path(schema)
    zone, renamed = config.time_zone, config.release.ddl.renamed_schema
    mode = config.sql_mode
    return catalog_from_sql(schema, time_zone=zone, renamed_schema=renamed, sql_mode=mode)


def ddl_statements(ddl: Iterable[tuple[Any, ...]], database: str) -> tuple[DdlStatement, ...]:
    """Read (commit_ts, statement) or (commit_ts, statement, database) entries; :class:`ConfigError` for others."""
    statements = []
    for entry in values(ddl):
        match entry:
            case (Integral() as commit_ts, str(query)):
                statements.append((int(commit_ts), database, query))
            case (Integral() as commit_ts, str(query), str(schema)):
                statements.append((int(commit_ts), schema or database, query))
            case _:
                raise ConfigError(
                    f"{shown(entry)} is not DDL with its time",
                    remedy="Give a list of (commit_ts, statement) or (commit_ts, statement, schema)",
                    option="ddl",
                )
    return tuple(statements)


def ddl_texts(release: Release, *, restored: bool) -> DdlTexts:
    """Return the texts of a release. Without ``restored``, every text stays as given."""
    filtered, ddl = release.filtering.ignored_text, release.ddl
    views, names, partitions = ddl.view_texts, ddl.quoted_names, ddl.partition_names
    return DdlTexts(ddl.built_texts, filtered, views, names, partitions, restored=restored)


class SentDdl:
    """Which DDL events one changefeed sends, and with which text."""

    def __init__(self, config: ChangefeedConfig) -> None:
        self._table_ids = config.release.ddl.partition_table_id
        self._bdr_role = config.bdr_role
        self._texts = ddl_texts(config.release, restored=config.ddl_text == "restored")
        self._routes = TableRoutes.of(config)

    def verdicts(
        self, replication: Replication, events: Iterable[DdlEvent], commit_ts: int, bdr_role: str | None = None
    ) -> tuple[Verdict, ...]:
        """Return what becomes of each event; filters see the text that TiCDC's see. ``bdr_role``: when it ran."""
        role = self._bdr_role if bdr_role is None else bdr_role
        return tuple(replication.verdicts([self._texts.seen(event) for event in events], commit_ts, role))

    def to_send(self, verdicts: Iterable[Verdict]) -> list[DdlEvent]:
        """Return the events that go out, with the text and the names on the wire; raises where TiCDC stops."""
        going_out = []
        for verdict in verdicts:
            if verdict.result != "discarded":
                self._texts.check(verdict.event)
            if verdict.is_sent:
                going_out.append(self._routes.event(self._with_id(self._texts.sent(verdict.event))))
        return going_out

    def _with_id(self, event: DdlEvent) -> DdlEvent:
        table = event.table_info
        if self._table_ids == "table" or table is None or event.action not in _OF_PARTITIONS:
            return event
        return replace(event, table_info=replace(table, id=0))


_OF_PARTITIONS = frozenset(
    {
        "add partition",
        "alter table partition by",
        "alter table remove partitioning",
        "alter table reorganize partition",
        "drop partition",
        "exchange partition",
        "truncate partition",
    }
)


def restore_ddl(query: str, *, sql_mode: str = "", release: str | Release = "classic", charset: str = "utf8mb4") -> str:
    """Return ``query`` as TiCDC writes it on the wire: TiDB's canonical form.

    Placement policies are left out and TTL is off; a statement that changes nothing else is "". ``sql_mode``: as in SET
    SQL_MODE. ``charset``: the session's, which TiDB keeps for CREATE INDEX and ADD INDEX alone. ``release``: classic
    accepts one statement, next several with ``;`` between. Raises ``DdlError`` with ``statement`` and ``position``, and
    ``UnprintableDdlError`` if TiDB cannot print the statement.
    """
    several = Release.parse(release).ddl.several_statements
    try:
        statements = restored_statements(query, sql_mode, charset)
    except UnprintableDdlError as error:
        context = {"statement": query, **error.context}
        raise UnprintableDdlError(error.message, remedy=error.remedy, **context) from None
    if not statements or (len(statements) > 1 and not several):
        what = "no statement" if not statements else f"{len(statements)} statements"
        raise DdlError(
            f"expected one DDL statement, found {what}",
            remedy="Give each statement its own commit_ts",
            statement=query,
            position=0,
        )
    return ";".join(statements)
