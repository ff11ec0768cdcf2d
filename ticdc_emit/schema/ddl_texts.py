"""The text of a DDL event as each lineage of TiCDC sends it, and as its event filters match it.

Most texts are TiDB's canonical form. Those with several objects, or with objects without their database, are rebuilt:
DROP, RENAME, EXCHANGE PARTITION, and in the new architecture CREATE TABLE ... LIKE and views. Rule source: TiCDC
classic ``cdc/model/sink.go`` (``DDLEvent.FromJob``), ``cdc/owner/ddl_manager.go``, ``pkg/ddl/util.go``; the new
architecture ``logservice/schemastore/persist_storage_ddl_handlers.go``, ``pkg/common/event/util.go``.
"""

from __future__ import annotations

import re
from dataclasses import replace
from string import ascii_lowercase, ascii_uppercase
from typing import Literal

from ticdc_emit.errors import DdlError, UnprintableDdlError
from ticdc_emit.schema.events import DdlEvent, GivenText
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.views import sent_view
from ticdc_emit.sql.nodes.alter import ExchangePartition
from ticdc_emit.sql.nodes.statements import AlterTable, CreateTableLike, CreateView
from ticdc_emit.sql.script import parse_ddl, plain_statements, restored_statements
from ticdc_emit.sql.words import quoted, to_lower

_UTF8 = "utf8mb4"
_DROPS = {"drop table": "TABLE", "drop view": "VIEW"}
_LIKE = re.compile(r"CREATE (?:TEMPORARY )?TABLE (?:IF NOT EXISTS )?`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)? LIKE ")
_UPPER = str.maketrans(ascii_lowercase, ascii_uppercase)  # one character for one, so positions stay
_EXCHANGE = "EXCHANGE PARTITION"
_NEW_TABLES = ("create table", "create tables", "recover table")


class DdlTexts:
    """The parameters are switches of the release. Without ``restored``, every text stays as given."""

    def __init__(
        self,
        built: Literal["by-owner", "by-store"],
        filtered: Literal["given", "restored"],
        views: Literal["given", "stored"],
        names: Literal["doubled", "as-given"],
        partitions: Literal["kept", "stripped"],
        *,
        restored: bool,
    ) -> None:
        self._by_store = built == "by-store"
        self._filters_restored = filtered == "restored"
        self._stores_views = views == "stored"
        self._doubles_backquotes = names == "doubled"
        self._strips_partitions = partitions == "stripped"
        self._restored = restored

    def seen(self, event: DdlEvent) -> DdlEvent:
        """Return the event with the text that event filters match: canonical in next, the original in classic."""
        if not self._restored or event.given is None:
            return event
        try:
            return replace(event, filter_text=self._seen(event, event.given))
        except DdlError:
            return event  # it fails only if it is sent

    def sent(self, event: DdlEvent) -> DdlEvent:
        """Return the event with the text to send; :class:`~ticdc_emit.errors.DdlError` if TiCDC stops at it."""
        given = event.given
        if self._by_store and event.action == "create tables":
            event = replace(event, action="create table")
        if not self._restored or given is None:
            return self.named(event)
        named = self.named(event)
        return replace(named, query=self._text(named if event.action == "drop view" else event, given), given=None)

    def named(self, event: DdlEvent) -> DdlEvent:
        """Return the event with an exchanged table's names, a RENAME's old ones as written, a view's in lower case."""
        before, given = event.pre_table_info, event.given
        if self._by_store and event.action in ("create view", "drop view"):
            return replace(event, table=to_lower(event.table))
        if not self._by_store or before is None:
            return event
        if event.action == "exchange partition":
            return replace(event, schema=before.schema, table=before.name)
        if event.action == "rename table" and given is not None:
            schema, name = given.renamed_as
            return replace(event, pre_table_info=replace(before, schema=schema, name=name))
        return event

    def check(self, event: DdlEvent) -> None:
        """Raise ``DdlError`` if TiCDC stops at a DDL even without sending it: next parses a new table again, in the
        default SQL mode, where a comment may not end with a backslash.
        """
        given = event.given
        if not (self._restored and self._by_store) or given is None or event.action not in _NEW_TABLES:
            return
        text = self._printed(event, given)
        if text is not event.query and "\\" not in text:
            return  # no other printed text has another meaning in that mode
        try:
            parse_ddl(text)
        except DdlError as error:
            message = f"the new architecture cannot read its own text of the statement: {error.message}"
            remedy = "Write no backslash in comments, labels and options"
            raise DdlError(message, statement=event.query, remedy=remedy) from None

    def _seen(self, event: DdlEvent, given: GivenText) -> str:
        if not self._filters_restored:
            return self._built(event, given)
        if given.renames:  # the text of the whole job
            return "".join(f"RENAME TABLE {self._name(*old)} TO {self._name(*new)};" for old, new in given.renames)
        if given.batch:
            return ";".join(text for part in given.batch for text in restored_statements(part, given.sql_mode, _UTF8))
        return self._text(event, given)

    def _text(self, event: DdlEvent, given: GivenText) -> str:
        if self._by_store:
            return self._stored(event, given)
        built = self._built(event, given)
        if given.batch:
            return restored_statements(built, given.sql_mode, _UTF8)[0]
        return given.restored(event) if built is event.query and not given.several else built

    # -- by owner ------------------------------------------------------------------------------------------------

    def _built(self, event: DdlEvent, given: GivenText) -> str:
        """Return classic's text before it is restored; it splits several CREATE TABLE twice: for rules and events."""
        if given.batch:
            return plain_statements(plain_statements(given.batch[given.part])[0])[0] + ";"
        if kind := _DROPS.get(event.action):
            return f"DROP {kind} " + self._unescaped(event, event.schema, event.table)
        if event.action == "rename table" and given.several:
            old = self._unescaped(event, *given.renamed_from)
            return f"RENAME TABLE {old} TO {self._unescaped(event, event.schema, event.table)}"
        if event.action == "exchange partition" and event.pre_table_info is not None:
            return self._exchanged(event, event.pre_table_info)
        return event.query

    def _exchanged(self, event: DdlEvent, other: TableInfo) -> str:
        """Return the text that classic makes by cutting the original at fixed words, wrongly after two blanks."""
        upper = event.query.translate(_UPPER)
        start, end = upper.find(_EXCHANGE) + len(_EXCHANGE), upper.find("WITH TABLE")
        partition = event.query[start:end].strip() if end >= start else ""
        if not partition or "`" in partition:
            message = "classic finds no partition in EXCHANGE PARTITION that it can quote: its changefeed stops"
            raise DdlError(message, statement=event.query, remedy="Write one blank, and the name without quotes")
        table = self._unescaped(event, event.schema, event.table)
        exchanged = self._unescaped(event, other.schema, other.name)
        without = " WITHOUT VALIDATION" if upper.endswith("WITHOUT VALIDATION") else ""
        return f"ALTER TABLE {table} {_EXCHANGE} {quoted(partition)} WITH TABLE {exchanged}{without}"

    @staticmethod
    def _unescaped(event: DdlEvent, schema: str, table: str) -> str:
        """Return a name as classic quotes it: it does not escape a backquote inside."""
        if "`" in schema + table:
            message = f"classic does not escape the backquote in {schema}.{table}: its changefeed stops"
            raise DdlError(message, statement=event.query, table=f"{schema}.{table}", remedy="Rename the table")
        return quoted(schema, table)

    # -- by schema store ---------------------------------------------------------------------------------------

    @staticmethod
    def _printed(event: DdlEvent, given: GivenText) -> str:
        """Return TiDB's text; if it prints none, the original."""
        if isinstance(given.canonical, UnprintableDdlError) and not given.batch:
            return event.query
        return given.restored(event)

    def _stored(self, event: DdlEvent, given: GivenText) -> str:
        if kind := _DROPS.get(event.action):
            return f"DROP {kind} {self._name(event.schema, event.table)}"
        if event.action == "rename table":
            new = given.renames[given.part][1] if given.renames else (event.schema, event.table)
            names = f"{self._name(*given.renamed_as)} TO {self._name(*new)}"
            if given.several and not self._doubles_backquotes and "`" in "".join((*given.renamed_as, *new)):
                message = "the release does not escape a backquote in several renames, and cannot read its own text"
                raise DdlError(message, statement=event.query, remedy="Rename this table in a statement of its own")
            return f"RENAME TABLE {names}{';' if given.several else ''}"
        text = self._printed(event, given)
        if given.batch:  # split for the rules and for the events
            for _ in range(2):
                text = restored_statements(text, "", _UTF8)[0]
            return text + ";"
        if event.action == "exchange partition" and event.pre_table_info is not None:
            other = self._name(event.pre_table_info.schema, event.pre_table_info.name)
            exchange, table = _exchange_of(text), self._name(event.schema, event.table)
            partition = exchange.partition.replace("`", "") if self._strips_partitions else exchange.partition
            without = "" if exchange.validate else " WITHOUT VALIDATION"
            return f"ALTER TABLE {table} {_EXCHANGE} {quoted(partition)} WITH TABLE {other}{without}"
        if not self._stores_views:
            return text
        if event.action == "create table" and _LIKE.match(text):
            return self._like(text, event, given)
        return self._view(text, event, given) if event.action == "create view" else text

    def _name(self, *parts: str) -> str:
        return quoted(*parts) if self._doubles_backquotes else ".".join(f"`{part}`" for part in parts)

    @staticmethod
    def _like(text: str, event: DdlEvent, given: GivenText) -> str:
        statement = parse_ddl(text)
        assert isinstance(statement, CreateTableLike)
        source = statement.like
        if source.schema or given.database.lower() == event.schema.lower():
            return text
        return replace(statement, like=replace(source, schema=given.database)).restore()

    @staticmethod
    def _view(text: str, event: DdlEvent, given: GivenText) -> str:
        try:
            statement = parse_ddl(text)
        except DdlError:
            return text  # as in the new architecture for a text that it cannot parse again
        assert isinstance(statement, CreateView)
        if given.stored is None:
            return text
        try:
            return sent_view(statement, given.stored, event.schema, given.database).restore()
        except UnprintableDdlError as error:
            raise UnprintableDdlError(
                error.message,
                statement=event.query,
                position=0,
                table=f"{event.schema}.{event.table}",
                remedy='Name no tables before columns, use no other database, or set ddl_text = "as-given"',
            ) from None
        except RecursionError:
            raise DdlError(
                "DDL is nested too deeply", remedy="Use fewer parentheses", statement=event.query, position=0
            ) from None


def _exchange_of(text: str) -> ExchangePartition:
    statement = parse_ddl(text)
    assert isinstance(statement, AlterTable)
    (spec,) = statement.specs
    assert isinstance(spec, ExchangePartition)
    return spec
