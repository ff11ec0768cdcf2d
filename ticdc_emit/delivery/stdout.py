"""Messages on standard output, each with topic, partition and offset, for a program at the other end of a pipe.

``framing``, a parameter of ``stdout://``, says how:

- ``json``: a line of JSON for each message, with key and value as in the files of a ``jsonl://`` sink.
- ``base64``: the same, but key and value are always base64 or ``null``: one type for typed languages.
- ``binary``: topic, partition, offset, key, value. Partition (4 bytes) and offset (8 bytes) are signed numbers,
  big-endian; topic, key and value follow their length, 4 bytes, -1 for null.
"""

from __future__ import annotations

import base64
import struct
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import orjson

from ticdc_emit.config.kafka import DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_PARTITION_NUM
from ticdc_emit.delivery.base import Message, PartitionBatch, Target, TaskWriter, unknown_partition, unknown_topic
from ticdc_emit.delivery.files import printable_bytes
from ticdc_emit.errors import DeliveryError

_NULL = struct.pack(">i", -1)

_partitions: dict[str, int] = {}
_offsets: Counter[Target] = Counter()
_lock = threading.Lock()


@dataclass(frozen=True)
class StdoutSink:
    """A :class:`~ticdc_emit.delivery.base.Sink` on the standard output of the process that opens it.

    Offsets count the messages of this process. ``in_process``: what tells Spark to deliver from the driver.
    """

    in_process: ClassVar[bool] = True
    framing: str = "json"
    max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES
    new_partitions: int = DEFAULT_PARTITION_NUM

    def prepare(self, topics: Mapping[str, int | None]) -> dict[str, int]:
        with _lock:
            for topic, asked in topics.items():
                _partitions[topic] = max(asked or self.new_partitions, _partitions.get(topic, 0))
            return {topic: asked or _partitions[topic] for topic, asked in topics.items()}

    def message_limit(self, topics: Iterable[str]) -> int:
        return self.max_message_bytes

    def open(self, message_limit: int | None = None) -> StdoutWriter:
        return StdoutWriter(self)


class StdoutWriter(TaskWriter):
    """Writes each batch at once; a flush waits for the pipe. Raises ``BrokenPipeError`` if nobody reads any more."""

    def __init__(self, sink: StdoutSink) -> None:
        super().__init__(sink.max_message_bytes)
        self._framed = FRAMINGS[sink.framing]

    def check_target(self, topic: str, partition: int) -> None:
        if topic not in _partitions:
            raise unknown_topic(topic)
        if partition >= _partitions[topic]:
            raise unknown_partition(topic, partition)

    def enqueue(self, batch: PartitionBatch) -> None:
        target = batch.topic, batch.partition
        with _lock:
            first = _offsets[target]
            messages = (
                Message(*target, offset, key, value)
                for offset, (key, value) in enumerate(zip(batch.keys, batch.values, strict=True), first)
            )
            self._write(b"".join(map(self._framed, messages)))
            _offsets[target] = first + len(batch.keys)

    def settle(self) -> None:
        self._write(None)

    def release(self, failed: bool) -> None:
        pass

    def _write(self, data: bytes | None) -> None:
        """Write data; ``None``: wait until it has gone."""
        try:
            sys.stdout.flush()  # text that the program itself has printed comes first
            if data is None:
                sys.stdout.buffer.flush()
            else:
                sys.stdout.buffer.write(data)
        except BrokenPipeError:
            raise
        except (OSError, AttributeError, ValueError) as fault:
            cause = "it is closed" if sys.stdout is None else fault
            raise DeliveryError(
                f"standard output cannot be written to: {cause}", remedy="Check where it is redirected to"
            ) from fault


def _line(shown: Callable[[bytes | None], object], message: Message) -> bytes:
    key, value = shown(message.key), shown(message.value)
    return orjson.dumps({**message._asdict(), "key": key, "value": value}, option=orjson.OPT_APPEND_NEWLINE)


def _binary(message: Message) -> bytes:
    place = struct.pack(">iq", message.partition, message.offset)
    return b"".join((_sized(message.topic.encode()), place, _sized(message.key), _sized(message.value)))


def _sized(data: bytes | None) -> bytes:
    return _NULL if data is None else struct.pack(">i", len(data)) + data


FRAMINGS: Mapping[str, Callable[[Message], bytes]] = {
    "json": partial(_line, printable_bytes),
    "base64": partial(_line, lambda data: None if data is None else base64.b64encode(data).decode()),
    "binary": _binary,
}
"""By the name of a framing, the bytes of a message."""
