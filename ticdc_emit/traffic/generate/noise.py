"""At-least-once delivery as it is on bad days: messages that come again, and tables that others overtake, within a
batch. Chance is a hash of the seed and the message, so the same messages meet the same fate in any batch, task and
process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import DeliveryReport, PartitionBatch, Sink, Target, TaskWriter
from ticdc_emit.protocols.events import RowEvent, table_of

if TYPE_CHECKING:
    from ticdc_emit.protocols.decoder import EventReader

_MOST = 8
"""How many messages come again at once, and how many of other tables a slow one lets pass, at most."""
_MEAN = (_MOST + 1) / 2
_MOST_HELD = 1_000
_COLUMNS = ["topic", "partition", "key", "value"]


@dataclass(frozen=True)
class NoisySink:
    """A sink that sends a share of the messages again, and lets tables overtake others. ``redelivery``: the share of
    messages that come again, 1 to 8 in a row, as after a restart. ``lag``: the share of row changes that wait until 1
    to 8 messages of other tables have passed, later ones of their table with them; they come before the next DDL or
    watermark.
    """

    sink: Sink
    config: ChangefeedConfig
    redelivery: float = 0.0
    lag: float = 0.0
    seed: int = 0

    @property
    def in_process(self) -> bool:
        return getattr(self.sink, "in_process", False)

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        return self.sink.prepare(topics)

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.sink.message_limit(topics)

    def open(self, message_limit: int | None = None) -> NoisyWriter:
        return NoisyWriter(self, message_limit)


class _Record(NamedTuple):
    key: bytes | None
    value: bytes | None


class NoisyWriter(TaskWriter):
    """Writes to a writer of the sink; its report counts the messages that came again, too."""

    def __init__(self, sink: NoisySink, message_limit: int | None) -> None:
        self._writer = sink.sink.open(message_limit)
        super().__init__(1 << 62)  # the writer checks sizes
        self._sink = sink
        # with Avro a topic has one table
        has_tables = sink.lag and not sink.config.codec.protocol.spec.registers_schemas
        self._reader = reader_for(sink.config) if has_tables else None
        self._fates: dict[Target, _Fate] = {}
        self._report = DeliveryReport()

    def check_target(self, topic: str, partition: int) -> None:
        """The writer checks it."""

    def enqueue(self, batch: PartitionBatch) -> None:
        target = batch.topic, batch.partition
        fate = self._fates.get(target)
        if fate is None:
            fate = self._fates[target] = _Fate(self._sink, self._reader)
        records = map(_Record, batch.keys, batch.values)
        self._send(target, [each for record in records for each in fate.after(record)])

    def settle(self) -> None:
        for target, fate in self._fates.items():
            self._send(target, list(fate.rest()))
        self._fates.clear()
        self._report = self._writer.flush()

    def flush(self) -> DeliveryReport:
        super().flush()
        return self._report

    def release(self, failed: bool) -> None:
        self._writer.close()

    def _send(self, target: Target, records: list[_Record]) -> None:
        if records:
            topic, partition = target
            places = [pa.repeat(topic, len(records)), pa.repeat(pa.scalar(partition, pa.int32()), len(records))]
            parts = [pa.array(part, pa.binary()) for part in zip(*records, strict=True)]
            self._writer.write(pa.RecordBatch.from_arrays([*places, *parts], names=_COLUMNS))


class _Fate:
    """What becomes of the messages of one topic-partition in a batch."""

    def __init__(self, sink: NoisySink, reader: EventReader | None) -> None:
        self._sink = sink
        self._reader = reader
        self._sent: deque[_Record] = deque(maxlen=_MOST)
        self._held: list[_Record] = []
        self._slow: set[str] = set()
        self._passing = 0

    def after(self, record: _Record) -> Iterator[_Record]:
        """Yield what goes out when a message has come."""
        for each in self._in_order(record):
            yield from self._with_repetitions(each)

    def rest(self) -> Iterator[_Record]:
        for each in self._released():
            yield from self._with_repetitions(each)

    def _in_order(self, record: _Record) -> Iterator[_Record]:
        if self._reader is None:
            yield record
            return
        tables = self._tables(record)
        if not tables:  # a control message: rows before it stay before it
            yield from self._released()
            yield record
        elif self._held and not tables.isdisjoint(self._slow):
            self._held.append(record)
            self._slow |= tables
            if len(self._held) == _MOST_HELD:
                yield from self._released()
        elif self._held:
            yield record
            self._passing -= 1
            if not self._passing:
                yield from self._released()
        elif (number := self._happens(record, b"lag", self._sink.lag)) is not None:
            self._held, self._slow, self._passing = [record], tables, number
        else:
            yield record

    def _released(self) -> list[_Record]:
        held, self._held = self._held, []
        return held

    def _tables(self, record: _Record) -> set[str]:
        assert self._reader is not None
        if record.value is None:
            return set()
        events = [self._reader.read(*part) for part in self._reader.parts(record.key, record.value)]
        return {table_of(event) for event in events if isinstance(event, RowEvent)}

    def _with_repetitions(self, record: _Record) -> Iterator[_Record]:
        yield record
        self._sent.append(record)
        number = self._happens(record, b"redelivery", self._sink.redelivery / _MEAN)
        if number is not None:
            yield from list(self._sent)[-number:]

    def _happens(self, record: _Record, what: bytes, share: float) -> int | None:
        """Return whether it happens at this message: 1 to 8, else ``None``."""
        if not share:
            return None
        start = crc32(b"%s %d" % (what, self._sink.seed))
        drawn = crc32(record.value or b"", crc32(record.key or b"", start))
        return drawn % _MOST + 1 if drawn // _MOST < share * (2**32 // _MOST) else None
