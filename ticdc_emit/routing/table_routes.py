"""Table routing: the names under which a changefeed sends its tables, by the targets of its dispatchers.

Filters, topics, partitions and column selectors go by sources, which a routed table or event keeps (``source``);
encoders and readers know targets only. Rule source: ``pkg/routing`` of pingcap/ticdc: ``router.go``,
``ddl_query_rewriter.go``, ``registry.go``, ``admin.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import DdlError, TableRouteError
from ticdc_emit.routing.filter_rules import Verdict
from ticdc_emit.routing.table_filter import TableFilter
from ticdc_emit.schema.catalog import Catalog
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.sql.nodes.base import ROUTED
from ticdc_emit.sql.renaming import with_targets, with_targets_in_scopes
from ticdc_emit.sql.script import parse_ddl, restored_statements

Name: TypeAlias = "tuple[str, str]"
"""Schema and name of a table; "" for the name of a database."""

_FAILED = "ErrTableRoutingFailed"
_NEW_TABLES = frozenset({"create table", "create tables", "recover table"})


@dataclass(frozen=True)
class _Rule:
    tables: TableFilter
    schema: str
    name: str


@dataclass(frozen=True)
class TableRoutes:
    """The dispatchers with a target, in order: the first one that matches a table names it."""

    rules: tuple[_Rule, ...] = ()
    switches: RoutingSwitches = RoutingSwitches()

    @classmethod
    def of(cls, changefeed: ChangefeedConfig) -> TableRoutes:
        """Read the dispatchers; :class:`~ticdc_emit.errors.ConfigError` for a wrong matcher."""
        rules = tuple(
            _Rule(
                TableFilter.parse(rule.matcher, case_sensitive=changefeed.case_sensitive),
                rule.target_schema,
                rule.target_table,
            )
            for rule in changefeed.dispatchers
            if rule.renames
        )
        return cls(rules, changefeed.release.routing)

    def target(self, schema: str, name: str) -> Name:
        """Return a table's target; of a database (``name`` "") the schema of all its rules, if they agree."""
        if not schema:
            return schema, name
        if not name:
            return self._database(schema), name
        rule = next((rule for rule in self.rules if rule.tables.matches(schema, name)), None)
        if rule is None:
            return schema, name
        return self._filled(rule.schema, schema, name) or schema, self._filled(rule.name, schema, name) or name

    def _database(self, schema: str) -> str:
        given = (
            self._filled(rule.schema, schema, "") if rule.schema else schema
            for rule in self.rules
            if rule.tables.matches_schema(schema)
        )
        first = next(given, schema)
        for other in given:
            if other != first:
                raise _failed(
                    f"ambiguous schema routing for schema {schema}: target schema {other} conflicts with {first}",
                    "Give all rules of a database the same target-schema, or leave its own DDL out of the changefeed",
                )
        return first

    def _filled(self, expression: str, schema: str, name: str) -> str:
        if self.switches.placeholders == "one-by-one":
            return expression.replace("{schema}", schema).replace("{table}", name)
        parts = expression.split("{schema}")
        return schema.join(part.replace("{table}", name) for part in parts)

    def table(self, info: TableInfo) -> TableInfo:
        """Return the table under its target; the same object if that is its own name."""
        source = info.schema, info.name
        target = self.target(*source)
        return info if target == source else replace(info, schema=target[0], name=target[1], source=source)

    def rename(self, catalog: Catalog) -> None:
        """Give a catalog's tables their targets, as a consumer has them, but not a database whose rules differ."""

        def known(schema: str, name: str) -> Name:
            try:
                return self.target(schema, name)
            except TableRouteError:
                return schema, name

        if self.rules:
            catalog.rename(known)

    def event(self, event: DdlEvent) -> DdlEvent:
        """Return a DDL event with targets, as it was if its text has none. Raises where TiCDC's changefeed fails."""
        if not self.rules:
            return event
        try:
            query = self._text(event)
            schema, name = self.target(event.schema, event.table)
        except TableRouteError as error:
            error.context["statement"] = event.query
            raise
        if query == event.query:
            return event
        info, before = event.table_info, event.pre_table_info
        return replace(
            event,
            query=query,
            schema=schema or event.schema,
            table=name,
            table_info=None if info is None else self.table(info),
            pre_table_info=None if before is None else self.table(before),
            source=(event.schema, event.table),
        )

    def _text(self, event: DdlEvent) -> str:
        """Return an event's text with targets; a statement of several in one job is printed once more, as by TiCDC."""
        sql_mode = "" if event.given is None else event.given.sql_mode
        try:
            statement = parse_ddl(event.query, sql_mode)
            renamed = with_targets if self.switches.view_names == "all" else with_targets_in_scopes
            routed = renamed(statement, event.schema, self.target)
            if routed is statement:
                return event.query
            text = routed.restore(ROUTED)
            return text if not event.query.endswith(";") else restored_statements(text, "", "utf8mb4")[0] + ";"
        except DdlError as error:
            raise _failed(f"table routing failed: {error.message}", error.remedy, event) from None
        except RecursionError:
            raise _failed("table routing failed: DDL is nested too deeply", "Use fewer parentheses", event) from None


def _failed(text: str, remedy: str, event: DdlEvent | None = None) -> TableRouteError:
    statement = None if event is None else event.query
    return TableRouteError(f"[CDC:{_FAILED}]{text}", remedy=remedy, code=f"CDC:{_FAILED}", statement=statement)


@dataclass
class TargetOwners:
    """Which table has which target, through a changefeed's DDL: no two tables may have the same one."""

    routes: TableRoutes
    _owners: dict[Name, Name] = field(default_factory=dict, init=False)
    _targets: dict[Name, Name] = field(default_factory=dict, init=False)

    def begin(self, tables: Iterable[TableInfo]) -> None:
        """Take the tables that exist; :class:`~ticdc_emit.errors.TableRouteError` for two with one target."""
        if self.routes.rules:
            for info in tables:
                self._replace([], [(info.schema, info.name)], None)

    def follow(self, verdicts: Sequence[Verdict]) -> None:
        """Follow one statement, which may take a target from its owner, but not for a new table."""
        if not self.routes.rules:
            return
        events = [verdict.event for verdict in verdicts if verdict.result != "discarded"]
        gone: list[Name] = []
        new: list[Name] = []
        for event in events:
            before = event.pre_table_info
            if event.action == "drop schema":
                gone += [source for source in self._targets if source[0] == event.schema]
            elif event.action == "drop table":
                gone.append((event.schema, event.table))
            elif event.action == "rename table" and before is not None:
                gone.append((before.schema, before.name))
                new.append((event.schema, event.table))
            elif event.action in _NEW_TABLES:
                new.append((event.schema, event.table))
        self._replace(gone, new, events[0].query if events else None)

    def _replace(self, gone: Sequence[Name], new: Sequence[Name], statement: str | None) -> None:
        added: dict[Name, Name] = {}
        for source in new:
            target = self.routes.target(*source)
            owner = self._owners.get(target, source)
            if owner == source or owner in gone:
                owner = added.get(target, source)
            if owner != source:
                raise _conflict(target, owner, source, statement)
            added[target] = source
        for source in gone:
            if source in self._targets:
                self._owners.pop(self._targets.pop(source), None)
        for target, source in added.items():
            self._owners[target] = source
            self._targets[source] = target


def _conflict(target: Name, owner: Name, source: Name, statement: str | None) -> TableRouteError:
    code = "CDC:ErrTableRouteConflict"
    named, first, second = ("`.`".join(name) for name in (target, owner, source))
    return TableRouteError(
        f"[{code}]table route conflict: target `{named}` is mapped by both source `{first}` and source `{second}`",
        remedy="Use {schema} and {table} in target-schema and target-table",
        table=".".join(source),
        statement=statement,
        code=code,
    )
