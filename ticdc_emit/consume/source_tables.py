"""Whether messages fit the tables of their source: their keys, columns, and the labels of ENUM and SET, where messages
show numbers. In: a schema file; tables that a statement in the messages names are not compared, for they have changed.
"""

from __future__ import annotations

from collections.abc import Iterable

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.invariants import Finding, Invariant, Seen, Stream
from ticdc_emit.hints import counted
from ticdc_emit.protocols.decoder import EventReader
from ticdc_emit.protocols.events import DdlEvent, DecodeError, RowEvent
from ticdc_emit.protocols.names import sanitize
from ticdc_emit.schema.catalog import catalog_from_sql


class SourceTables(Invariant):
    """``schema``: DDL of the tables. Raises the errors of :func:`~ticdc_emit.schema.catalog.catalog_from_sql`."""

    name = "schema"

    def __init__(self, config: ChangefeedConfig, reader: EventReader, schema: str) -> None:
        from ticdc_emit.routing.table_routes import TableRoutes  # here, as readers do without

        catalog = catalog_from_sql(schema, time_zone=config.time_zone)
        TableRoutes.of(config).rename(catalog)
        self._shown = sanitize if config.codec.protocol.spec.registers_schemas else str
        names = self._shown
        self._tables = {(names(each.schema), names(each.name)): each for each in catalog.tables()}
        self._reader = reader
        self._statements: list[str] = []
        self._findings: dict[str, list[Finding]] = {}
        self.limits: list[str] = []

    def key_names(self, event: RowEvent) -> tuple[str, ...]:
        """Return the handle key of a row's table, for messages that do not show it; () if it has none."""
        table = self._tables.get((event.schema, event.table))
        return () if table is None else tuple(map(self._shown, table.handle_key_names))

    def see(self, seen: Seen) -> Iterable[Finding]:
        if isinstance(seen.event, DdlEvent):
            self._statements.append(f"{seen.event.table} {seen.event.query}".lower())
        elif seen.row is not None and (text := self._problem(seen.row)):
            self._findings.setdefault(seen.row.table.lower(), []).append(seen.finding(self.name, text))
        return ()

    def _problem(self, row: RowEvent) -> str:
        table = self._tables.get((row.schema, row.table))
        if table is None:
            return ""
        names, stored = self._reader.key_names(row), {column.name for column in table.row_columns}
        keys = [stored.intersection(index.columns) for index in table.indexes if index.unique or index.primary]
        keys += [{*table.handle_key_names}] if table.handle_key_names else []
        if names and not any({*names}.issuperset(map(self._shown, key)) for key in keys):
            handle = ", ".join(table.handle_key_names) or "none"
            return f"the key ({', '.join(names)}) holds no key of the schema, where it is ({handle})"
        try:
            image = self._reader.text(row, table).after or {}
        except DecodeError as fault:
            return f"{fault.context.get('field', 'the row')} does not fit the schema: {fault.message}"
        strange = sorted({*image}.difference(column.name for column in table.columns))
        return f"the schema has no column {', '.join(strange)}" if strange else ""

    def end(self, stream: Stream) -> Iterable[Finding]:
        for table, findings in self._findings.items():
            if any(table in statement for statement in self._statements):
                rows = counted(len(findings), "row")
                self.limits.append(f"whether {rows} of {table} fit the schema: a statement has changed the table")
            else:
                yield from findings
