"""Orders in which messages legally arrive: repeated, mixed between partitions, late; with new offsets. Delivery is at
least once: after a restart everything after some checkpoint may come again.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import NamedTuple, TypeVar

from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.protocols.events import Event, RowEvent, WatermarkEvent

_Each = TypeVar("_Each")


class SentMessage(NamedTuple):
    message: Message
    event: Event

    @property
    def target(self) -> Target:
        return self.message.topic, self.message.partition


def by_partition(sent: Iterable[SentMessage]) -> dict[Target, list[SentMessage]]:
    messages_by_partition: dict[Target, list[SentMessage]] = {}
    for each in sent:
        messages_by_partition.setdefault(each.target, []).append(each)
    return messages_by_partition


def merge_by_commit_ts(queues: Iterable[Sequence[SentMessage]]) -> list[SentMessage]:
    """Return all messages as a consumer sees them if it reads all partitions at the same pace."""

    def with_newest(messages: Sequence[SentMessage]) -> Iterator[tuple[int, bool, SentMessage]]:
        newest = 0
        for each in messages:
            newest = max(newest, each.event.commit_ts or 0)
            yield newest, isinstance(each.event, WatermarkEvent), each

    return [each for _, _, each in merge(*map(with_newest, queues), key=lambda entry: entry[:2])]


def interleave(chance: random.Random, queues: Iterable[Sequence[_Each]]) -> list[_Each]:
    """Return all messages in some order between partitions, keeping the order within each partition."""
    waiting = [list(reversed(queue)) for queue in queues if queue]
    messages: list[_Each] = []
    while waiting:
        queue = chance.choice(waiting)
        messages += [queue.pop() for _ in range(min(len(queue), chance.choice((1, 1, 2, 5))))]
        waiting = [each for each in waiting if each]
    return messages


def redeliver(messages: Sequence[SentMessage], start: int, stop: int) -> list[SentMessage]:
    """Return a partition whose producer restarts after message ``stop`` and goes back to ``start``: 1 2 3 2 3 4."""
    return [*messages[:stop], *messages[start:]]


def rows_between_watermarks(messages: Sequence[SentMessage]) -> list[list[int]]:
    """Return the positions of rows, grouped by the watermarks around them."""
    runs: list[list[int]] = [[]]
    for at, each in enumerate(messages):
        if isinstance(each.event, RowEvent):
            runs[-1].append(at)
        elif isinstance(each.event, WatermarkEvent):
            runs.append([])
    return [run for run in runs if run]


def renumber(sent: Iterable[Message]) -> list[Message]:
    """Return the messages with the offsets that they get in this order."""
    counts: dict[Target, int] = {}
    messages = []
    for each in sent:
        target = each.topic, each.partition
        offset = counts.get(target, 0)
        counts[target] = offset + 1
        messages.append(each._replace(offset=offset))
    return messages
