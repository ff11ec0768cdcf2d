"""Consumers that are wrong in one thing each: what scenarios must find out.

A :class:`NaiveConsumer` reads correctly and applies what arrives as it arrives. Each subclass believes one more thing
that is not so, and says it in its name.
"""

from __future__ import annotations

import io
import json
from typing import Any

from ticdc_emit import load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.canonical_text import in_zone
from ticdc_emit.protocols.consumer_tables import Carrier
from ticdc_emit.protocols.events import DdlEvent, RowEvent, WatermarkEvent
from ticdc_emit.protocols.registered_avro import split_header
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.traffic.scenarios import Scenario

Row = dict[str, Any]


class WatermarkError(Exception):
    """What a consumer ends with that wants watermarks to rise."""


class NaiveConsumer:
    """Applies every message when it arrives: no watermarks, no commit_ts, no checksums."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.zone = scenario.config.time_zone
        self.reader = self.make_reader()
        self.catalog = scenario.history.catalog()
        self.rows: dict[tuple[str, str], list[Row]] = {(info.schema, info.name): [] for info in self.catalog.tables()}
        self.statements: set[tuple[int | None, str]] = set()

    def make_reader(self) -> Any:
        return reader_for(self.scenario.config, schemas=self.scenario.schemas)

    @property
    def tables(self) -> dict[tuple[str, str], list[Row]]:
        return self.rows

    def take_all(self, messages: list[Message]) -> None:
        for message in messages:
            self.take(message)

    def take(self, message: Message) -> None:
        event = self.reader.read(message.key, message.value)
        if isinstance(event, WatermarkEvent):
            self.watermark(event, message)
        elif isinstance(event, DdlEvent):
            self.ddl(event)
        elif isinstance(event, RowEvent) and self.wants(event, message):
            self.row(event)

    def wants(self, event: RowEvent, message: Message) -> bool:
        return True

    def watermark(self, event: WatermarkEvent, message: Message) -> None:
        pass

    def row(self, event: RowEvent) -> None:
        info = self.catalog.table(event.schema, event.table)
        names = [column.name for column in info.whole_handle_key]
        after = self.text(event, event.after, info)
        old = self.text(event, event.before or event.key, info) if event.op != "insert" else None
        old_key = [(old or after or {}).get(name, (after or {}).get(name)) for name in names]
        self.apply(self.rows[event.schema, event.table], event.op, names, old_key, after)

    def apply(self, rows: list[Row], op: str, names: list[str], old_key: list[Any], after: Row | None) -> None:
        for place, row in enumerate(rows):
            if [row[name] for name in names] == old_key:
                if after is None:
                    del rows[place]
                else:
                    rows[place] = row | after
                return
        if after is not None:
            rows.append(dict(after))

    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found: Row | None = self.reader.image(event, image, info)
        return found

    def ddl(self, event: DdlEvent) -> None:
        if (event.commit_ts, event.query) not in self.statements:
            self.statements.add((event.commit_ts, event.query))
            self.run(event)

    def run(self, event: DdlEvent) -> None:
        for made in self.catalog.apply(event.query, commit_ts=event.commit_ts or 0):
            info, before = made.table_info, made.pre_table_info
            if info is not None and before is not None:
                rows = self.rows.pop((before.schema, before.name))
                self.rows[info.schema, info.name] = [self.carried(before, info, row) for row in rows]

    def carried(self, before: TableInfo, after: TableInfo, row: Row) -> Row:
        return Carrier(before, after, self.zone).row(row)


class EveryInsertIsNew(NaiveConsumer):
    def apply(self, rows: list[Row], op: str, names: list[str], old_key: list[Any], after: Row | None) -> None:
        if op == "insert":
            rows.append(dict(after or {}))
        else:
            super().apply(rows, op, names, old_key, after)


class CommitsRiseWithOffsets(NaiveConsumer):
    """``dropped``: rows below the highest commit_ts of their table, taken for repeated ones."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.highest: dict[tuple[str, str], int] = {}
        self.dropped: list[RowEvent] = []

    def wants(self, event: RowEvent, message: Message) -> bool:
        if event.commit_ts is None:
            return True
        highest = self.highest.setdefault((event.schema, event.table), 0)
        if event.commit_ts < highest:
            self.dropped.append(event)
            return False
        self.highest[event.schema, event.table] = event.commit_ts
        return True


class OneWatermarkHoldsForAll(NaiveConsumer):
    """``dropped``: places of rows at or below the highest watermark of any partition."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.highest = 0
        self.dropped: list[tuple[str, int]] = []

    def watermark(self, event: WatermarkEvent, message: Message) -> None:
        self.highest = max(self.highest, event.commit_ts)

    def wants(self, event: RowEvent, message: Message) -> bool:
        if (event.commit_ts or 0) > self.highest:
            return True
        self.dropped.append((message.topic, message.partition))
        return False


class WatermarksOnlyRise(NaiveConsumer):
    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.known: dict[int, int] = {}

    def watermark(self, event: WatermarkEvent, message: Message) -> None:
        if event.commit_ts <= self.known.get(message.partition, 0):
            raise WatermarkError("a watermark goes back")
        self.known[message.partition] = event.commit_ts


class StatementsComeOnce(NaiveConsumer):
    def ddl(self, event: DdlEvent) -> None:
        self.run(event)


class NewColumnsAreEmpty(NaiveConsumer):
    def carried(self, before: TableInfo, after: TableInfo, row: Row) -> Row:
        return {column.name: row.get(column.name) for column in after.row_columns}

    @property
    def tables(self) -> dict[tuple[str, str], list[Row]]:
        names = {name for rows in self.rows.values() for row in rows for name in row}
        return {table: [dict.fromkeys(names) | row for row in rows] for table, rows in self.rows.items()}


class EveryMessageHasAValue(NaiveConsumer):
    def take(self, message: Message) -> None:
        if message.value is not None:
            super().take(message)


class IntegersHaveASign(NaiveConsumer):
    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found = super().text(event, image, info)
        return found and {name: _signed(info.column(name), text) for name, text in found.items()}


def _signed(column: Column, text: str | None) -> str | None:
    if text is None or column.type is not MySQLType.LONGLONG:
        return text
    return str((int(text) + 2**63) % 2**64 - 2**63)


class TimesAreInUtc(NaiveConsumer):
    """Text without a zone is taken for UTC; where a message shows the zone, UTC is what it keeps."""

    def make_reader(self) -> Any:
        shown = self.scenario
        options = {"schema_registry": "http://127.0.0.1:1", "release": shown.config.release}
        return reader_for(load_changefeed(shown.sink_uri, shown.changefeed, **options), schemas=shown.schemas)

    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found = super().text(event, image, info)
        if found is None or self.scenario.protocol not in ("canal-json", "avro", "open-protocol"):
            return found
        return {
            name: in_zone(text, "UTC", self.zone) if info.column(name).type is MySQLType.TIMESTAMP else text
            for name, text in found.items()
        }


class TheTextNullIsNull(NaiveConsumer):
    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found = super().text(event, image, info)
        return found and {name: None if text == "null" else text for name, text in found.items()}


class NewestSchemaReadsAll(NaiveConsumer):
    """Reads every Avro value with the newest schema of its topic."""

    def take(self, message: Message) -> None:
        import fastavro

        if message.value is None:
            return
        number, body = split_header(message.value)
        newest = [text for text in self.scenario.schemas.values() if "_tidb_op" in text][-1]
        fastavro.schemaless_reader(io.BytesIO(body), json.loads(self.scenario.schemas[number]), json.loads(newest))
