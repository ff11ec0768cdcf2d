"""A reference consumer: makes tables of messages of all topics and partitions of a changefeed.

It holds rows and DDL until the watermarks of all partitions have passed them and applies them by commit_ts, so neither
redelivery nor the order between partitions matters. Without watermarks (Canal-JSON and Debezium without TiDB extension,
Avro) it applies messages as they arrive, and a row does not overwrite one of a later commit.
"""

from __future__ import annotations

import copy
import gc
from collections.abc import Callable, Iterable, Mapping
from heapq import heappop, heappush
from operator import itemgetter

from ticdc_emit.config import ChangefeedConfig, load_changefeed
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.delivery.claims import ClaimStore
from ticdc_emit.errors import SchemaError
from ticdc_emit.protocols.consumer_tables import Lookup, Outcome, Redelivery, RowKey, TableName
from ticdc_emit.protocols.events import DdlEvent, DecodeError, Event, RowEvent, WatermarkEvent, as_decode_error
from ticdc_emit.protocols.registered_avro import SchemaSource
from ticdc_emit.schema.catalog import Catalog, catalog_from_sql
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.schema.row_versions import Row
from ticdc_emit.tso import LOGICAL_BITS


class ReferenceConsumer:
    """Folds messages into tables.

    ``config``: the changefeed that sends, or its sink URI. ``catalog``: the tables before the first message, as a
    :class:`Catalog` (it is copied) or DDL text; Simple needs none. ``partitions``: the partition count of each topic by
    name, for all of which rows then wait, or one for every topic. ``schemas``: Avro schema texts by id; default: the
    changefeed's registry. ``claims``: returns the object of a ``claimCheckLocation``; default: the changefeed's
    storage. ``lookup``: returns the whole row, in canonical text, of an event with the handle key only.

    ``duplicates``: the number of repeated rows, DDL and watermarks. ``skipped``: the number of tombstones, and of rows
    of tables or columns that no DDL has shown. ``watermarks``: the highest of each (topic, partition), a TSO.
    """

    def __init__(
        self,
        config: ChangefeedConfig | str,
        catalog: Catalog | str = "",
        *,
        partitions: Mapping[str, int] | int = 1,
        schemas: SchemaSource | None = None,
        claims: Callable[[str], bytes] | None = None,
        lookup: Lookup | None = None,
    ) -> None:
        config = load_changefeed(config, own_registry=schemas is not None) if isinstance(config, str) else config
        zone = config.time_zone
        own_catalog = catalog_from_sql(catalog, time_zone=zone) if isinstance(catalog, str) else copy.deepcopy(catalog)
        store = ClaimStore.of(config.codec.large_message_handle)
        if claims is None and store is not None:
            claims = store.get
        self._reader = reader_for(config, schemas=schemas, claims=claims)
        self._tables = self._reader.make_tables(own_catalog, zone, lookup)
        self._check = self._reader.check if config.integrity.enabled else None
        self._tombstones = config.codec.protocol.spec.registers_schemas
        self._waits = config.codec.sends_watermarks
        self._partitions = partitions
        self._known_partitions = set() if isinstance(partitions, int) else _partitions_of(partitions)
        self._watermark = -1
        self._pending: list[tuple[int, bool, int, RowEvent | DdlEvent, Target]] = []
        self._waiting_ddl: list[tuple[int, DdlEvent]] = []
        self._rows_without_table: list[tuple[RowEvent, int | None, Target]] = []
        self._known_ddl: set[tuple[int | None, str, str, str]] = set()
        self._redelivery: dict[Target, dict[TableName, Redelivery]] = {}
        self._arrivals = 0
        self.duplicates = 0
        self.skipped = 0
        self.watermarks: dict[Target, int] = {}

    @property
    def tables(self) -> dict[TableName, dict[RowKey, Row]]:
        """The tables by (schema, table). Each maps handle keys (their texts in table order) to rows in canonical text.
        Without a handle key, the key is the texts of all columns, and the number of the row among equal ones.
        """
        return self._tables.rows()

    @property
    def pending(self) -> int:
        """How many rows and statements wait for watermarks."""
        return len(self._pending)

    def version(self, schema: str, table: str) -> TableInfo:
        """Return the version of one of :attr:`tables`."""
        return self._tables.version(schema, table)

    def take_all(self, messages: Iterable[Message]) -> None:
        """Take messages one after the other. Those of one partition must be in order."""
        collects = gc.isenabled()
        gc.disable()  # folding makes no reference cycles, and searching for them takes a third of the time
        try:
            for message in messages:
                self.take(message)
        finally:
            if collects:
                gc.enable()

    def take(self, message: Message) -> None:
        """Take the next message of its partition.

        Raises :class:`DecodeError` for a message that cannot be read or applied,
        :class:`~ticdc_emit.protocols.events.ChecksumMismatchError` with integrity checks on, and
        :class:`~ticdc_emit.errors.SchemaError` for DDL that does not fit the tables.
        """
        target = message.topic, message.partition
        if target not in self._known_partitions:
            self._add_topic(*target)
        if message.value is None and not (self._tombstones and message.key):
            self.skipped += 1
            return
        with as_decode_error:
            parts = self._reader.parts(message.key, message.value)
            events = [self._reader.read(key, value) for key, value in parts]
        for event in events:
            if isinstance(event, RowEvent):
                self._receive_row(event, target)
            elif isinstance(event, WatermarkEvent):
                self._receive_watermark(event.commit_ts, target)
            elif isinstance(event, DdlEvent):
                self._receive_ddl(event, target)

    def finish(self) -> None:
        """Apply everything that still waits for watermarks. No message will follow."""
        self._apply_until(None)
        for commit, statement in sorted(self._waiting_ddl, key=itemgetter(0)):
            self._tables.ddl(statement, commit)
        self._waiting_ddl.clear()
        left, self._rows_without_table = self._rows_without_table, []
        for event, stamp, target in left:
            self._apply_row(event, stamp, target, last=True)
        self._tables.finish()

    # -- messages ------------------------------------------------------------------------------------------------

    def _add_topic(self, topic: str, partition: int) -> None:
        count = self._partitions if isinstance(self._partitions, int) else self._partitions.get(topic, 0)
        if not 0 <= partition < count:
            raise DecodeError(
                f"the topic has {count} partitions", remedy="Give partitions=", topic=topic, partition=partition
            )
        self._known_partitions |= _partitions_of({topic: count})

    def _receive_row(self, event: RowEvent, target: Target) -> None:
        if self._check is not None:
            self._check(event)
        commit = commit_of(event)
        if commit is not None and self._is_repeated(event, commit, target):
            self.duplicates += 1
        elif not self._waits or commit is None or commit <= self._watermark:
            # at or below that watermark: from a partition that was unknown when the others were already further
            self._apply_row(event, commit, target)
        else:
            self._arrivals += 1
            heappush(self._pending, (commit, False, self._arrivals, event, target))

    def _is_repeated(self, event: RowEvent, commit: int, target: Target) -> bool:
        if self._waits and commit <= self.watermarks.get(target, -1):
            for redelivery in self._redelivery.get(target, {}).values():
                redelivery.begin_again()
            return True
        if self._tables.has_handle_key(event):
            return False
        known = self._redelivery.setdefault(target, {}).setdefault((event.schema, event.table), Redelivery())
        return known.is_repeated(event, commit)

    def _receive_ddl(self, event: DdlEvent, target: Target) -> None:
        commit = commit_of(event)
        statement = commit, event.schema, event.table, event.query
        if statement in self._known_ddl:  # every partition has it, perhaps several times
            self.duplicates += 1
            return
        self._known_ddl.add(statement)
        if self._waits and commit is not None and commit > self._watermark:
            self._arrivals += 1
            heappush(self._pending, (commit, True, self._arrivals, event, target))  # after the rows of its commit
        else:
            self._apply_ddl(event, commit, may_wait=True)

    def _receive_watermark(self, commit_ts: int, target: Target) -> None:
        known = self.watermarks.get(target, -1)
        if commit_ts <= known:
            self.duplicates += 1
            return
        self.watermarks[target] = commit_ts
        for redelivery in self._redelivery.get(target, {}).values():
            if self._waits:
                redelivery.forget(commit_ts)
        if known > self._watermark or len(self.watermarks) < len(self._known_partitions):
            return
        watermark = min(self.watermarks.values())
        if watermark > self._watermark:
            self._watermark = watermark
            self._apply_until(watermark)

    # -- folding -------------------------------------------------------------------------------------------------

    def _apply_until(self, commit: int | None) -> None:
        pending = self._pending
        while pending and (commit is None or pending[0][0] <= commit):
            stamp, _, _, event, target = heappop(pending)
            if isinstance(event, RowEvent):
                self._apply_row(event, stamp, target)
            else:
                self._apply_ddl(event, stamp)

    def _apply_ddl(self, event: DdlEvent, commit: int | None, *, may_wait: bool = False) -> None:
        try:
            self._tables.ddl(event, commit)
        except SchemaError:
            if not may_wait:
                raise
            self._waiting_ddl.append((commit or 0, event))
            return
        early, self._waiting_ddl = self._waiting_ddl, []
        for stamp, statement in sorted(early, key=itemgetter(0)):
            self._apply_ddl(statement, stamp, may_wait=True)
        left, self._rows_without_table = self._rows_without_table, []
        for row in left:
            self._apply_row(*row)

    def _apply_row(self, event: RowEvent, commit: int | None, target: Target, *, last: bool = False) -> None:
        outcome = self._tables.row(event, commit, target)
        if outcome is Outcome.REPEATED:
            self.duplicates += 1
        elif outcome is Outcome.UNKNOWN:
            if last:
                self.skipped += 1
            else:
                self._rows_without_table.append((event, commit, target))


def _partitions_of(partitions: Mapping[str, int]) -> set[Target]:
    return {(topic, number) for topic, count in partitions.items() for number in range(count)}


def commit_of(event: Event) -> int | None:
    """Return a commit's TSO, or one of its millisecond: for a row the last, so that it comes after DDL in it."""
    if event.commit_ts is not None or not isinstance(event, RowEvent | DdlEvent) or event.commit_ms is None:
        return event.commit_ts
    first = event.commit_ms << LOGICAL_BITS
    return first if isinstance(event, DdlEvent) else first + (1 << LOGICAL_BITS) - 1
