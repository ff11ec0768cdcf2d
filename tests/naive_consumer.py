"""Consumers that are wrong in one thing each: what scenarios must find out.

A :class:`NaiveConsumer` reads correctly and applies what arrives as it arrives. Each subclass believes one more thing
that is not so, and says it in its name.
"""

from __future__ import annotations

import io
import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ticdc_emit import load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.canonical_text import decimal_of_scale, in_zone
from ticdc_emit.protocols.consumer_tables import Carrier
from ticdc_emit.protocols.events import DdlEvent, RowEvent, WatermarkEvent
from ticdc_emit.protocols.registered_avro import split_header
from ticdc_emit.protocols.simple.values import SimpleTimestamp
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.sql.types import MySQLType
from ticdc_emit.traffic.scenarios import Scenario

Row = dict[str, Any]


class WatermarkError(Exception):
    """What a consumer ends with that wants watermarks to rise."""


class PreviousChecksumError(Exception):
    """What a consumer ends with that compares ``previous`` with the ``current`` that came before."""


class NaiveConsumer:
    """Applies every message when it arrives: no watermarks, no commit_ts, no checksums.

    ``highest`` and ``dropped``: what a subclass keeps of timestamps, and of what it takes for nothing new.
    """

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.zone = scenario.config.time_zone
        self.reader = self.make_reader()
        self.catalog = scenario.history.catalog(config=scenario.config)
        self.rows: dict[tuple[str, str], list[Row]] = {(info.schema, info.name): [] for info in self.catalog.tables()}
        self.statements: set[tuple[int | None, str]] = set()
        self.highest: defaultdict[Any, int] = defaultdict(int)
        self.dropped: list[Any] = []

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

    def wants(self, event: RowEvent, message: Message) -> bool:
        if event.commit_ts is None:
            return True
        table = event.schema, event.table
        if event.commit_ts < self.highest[table]:
            self.dropped.append(event)
            return False
        self.highest[table] = event.commit_ts
        return True


class OneWatermarkHoldsForAll(NaiveConsumer):
    """``dropped``: places of rows at or below the highest watermark of any partition."""

    def watermark(self, event: WatermarkEvent, message: Message) -> None:
        self.highest["any"] = max(self.highest["any"], event.commit_ts)

    def wants(self, event: RowEvent, message: Message) -> bool:
        if (event.commit_ts or 0) > self.highest["any"]:
            return True
        self.dropped.append((message.topic, message.partition))
        return False


class WatermarksOnlyRise(NaiveConsumer):
    def watermark(self, event: WatermarkEvent, message: Message) -> None:
        if event.commit_ts <= self.highest[message.partition]:
            raise WatermarkError("a watermark goes back")
        self.highest[message.partition] = event.commit_ts


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


class OneCommitTsIsOneTransaction(NaiveConsumer):
    """Takes the clerk of a sale from the shift that has its commit_ts."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.clerks: dict[int, set[str]] = {}
        self.commits: dict[str, int] = {}

    def row(self, event: RowEvent) -> None:
        super().row(event)
        row = self.text(event, event.after, self.catalog.table(event.schema, event.table)) or {}
        assert event.commit_ts is not None
        if event.table == "shifts":
            self.clerks.setdefault(event.commit_ts, set()).add(row["clerk"])
        else:
            self.commits[row["id"]] = event.commit_ts

    @property
    def tables(self) -> dict[tuple[str, str], list[Row]]:
        sales = [row | {"clerk": max(self.clerks[self.commits[row["id"]]])} for row in self.rows["shop", "sales"]]
        return {**self.rows, ("shop", "sales"): sales}


class StatementsComeBeforeTheirWatermark(OneWatermarkHoldsForAll):
    """``dropped``: statements at or below the watermark, taken for repeated ones."""

    def wants(self, event: RowEvent, message: Message) -> bool:
        return True

    def ddl(self, event: DdlEvent) -> None:
        if (event.commit_ts or 0) > self.highest["any"]:
            super().ddl(event)
        else:
            self.dropped.append(event.query)

    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        known = {column.name for column in info.columns}
        return super().text(event, image and {name: value for name, value in image.items() if name in known}, info)


class PreviousIsTheLastCurrent(NaiveConsumer):
    """``checked``: how many updates had the checksum of their row's last message."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self.current: dict[str, int] = {}
        self.checked = 0

    def row(self, event: RowEvent) -> None:
        super().row(event)
        stated, number = event.message["checksum"], str((event.after or {})["id"])
        if event.op == "update":
            if stated.previous != self.current[number]:
                raise PreviousChecksumError(f"row {number} is not the one before")
            self.checked += 1
        self.current[number] = stated.current


class OneSchemaReadsAll(NaiveConsumer):
    """Reads every Avro value with the first schema of its topic."""

    def make_reader(self) -> Any:
        schemas = self.scenario.schemas
        values = [number for number, text in schemas.items() if "_tidb_op" in text]
        return reader_for(self.scenario.config, schemas={**schemas, **dict.fromkeys(values, schemas[values[0]])})


class MisfitsAreSkipped(NaiveConsumer):
    """Reads integers by the types of the tables before the first message, and skips rows that do not fit.

    ``dropped``: the handle keys of those rows.
    """

    def row(self, event: RowEvent) -> None:
        info = self.scenario.history.catalog().table(event.schema, event.table)
        row = self.text(event, event.after, info) or {}
        if any(int(text) >= 2**31 for name, text in row.items() if info.column(name).type is MySQLType.LONG):
            self.dropped.append(row["id"])
        else:
            super().row(event)


class ChecksumsCoverTimesAsShown(TimesAreInUtc):
    """Checks the checksums of rows, and takes the text of a TIMESTAMP as it is in the message."""

    def row(self, event: RowEvent) -> None:
        self.reader.check(replace(event, before=_in_utc(event.before), after=_in_utc(event.after)))


def _in_utc(image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return an image of Simple with another time zone beside the times."""
    return image and {
        name: replace(value, location="UTC") if isinstance(value, SimpleTimestamp) else value
        for name, value in image.items()
    }


class UpdatesKeepTheirKey(NaiveConsumer):
    def apply(self, rows: list[Row], op: str, names: list[str], old_key: list[Any], after: Row | None) -> None:
        key = [after[name] for name in names] if op == "update" and after is not None else old_key
        super().apply(rows, op, names, key, after)


class EveryMessageHasTheWholeRow(NaiveConsumer):
    """Takes what a message lacks for NULL. ``dropped``: the handle keys of rows with the handle key alone."""

    def row(self, event: RowEvent) -> None:
        if event.handle_key_only:
            self.dropped.append(str((event.after or {})["id"]))
        super().row(event)

    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found = super().text(event, image, info)
        return found and {column.name: found.get(column.name) for column in info.row_columns}


class DecimalsAreDoubles(NaiveConsumer):
    def text(self, event: RowEvent, image: Any, info: TableInfo) -> Row | None:
        found = super().text(event, image, info)
        return found and {name: _through_a_double(info.column(name), text) for name, text in found.items()}


def _through_a_double(column: Column, text: str | None) -> str | None:
    if text is None or column.type is not MySQLType.NEWDECIMAL:
        return text
    return decimal_of_scale(format(float(text), f".{column.fraction_digits}f"), column.fraction_digits)
