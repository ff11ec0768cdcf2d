"""The one shape of a message: what every sink, reader and test of this library hands out or takes.

In: record batches of messages (``delivery.contract.MESSAGE_SCHEMA``), which encoders return. Out: :class:`Message`
records.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import pyarrow as pa

from ticdc_emit.pictures.shown import facts_html, short_bytes

__all__ = ["Message", "to_messages"]


class Message(NamedTuple):
    """One record as a consumer sees it; ``offset`` counts from 0 in its topic-partition."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None

    def __repr__(self) -> str:
        place = f"{self.topic}/{self.partition}@{self.offset}"
        return f"<Message {place} key={short_bytes(self.key)} value={short_bytes(self.value)}>"

    def _repr_html_(self) -> str:
        facts = [("key", short_bytes(self.key, 1000)), ("value", short_bytes(self.value, 1000))]
        return facts_html(f"{self.topic}/{self.partition}@{self.offset}", facts)


def to_messages(*batches: pa.RecordBatch | pa.Table) -> list[Message]:
    """Return the messages of batches as they would be on empty topics: offsets count from 0 through all batches.

    ``batches``: what :class:`~ticdc_emit.Encoder` returns, or any other with the columns ``topic`` (string),
    ``partition`` (integer), ``key`` and ``value`` (binary).
    """
    offsets: Counter[tuple[str, int]] = Counter()
    messages: list[Message] = []
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in ("topic", "partition", "key", "value"))
        for topic, partition, key, value in zip(*columns, strict=True):
            messages.append(Message(topic, partition, offsets[topic, partition], key, value))
            offsets[topic, partition] += 1
    return messages
