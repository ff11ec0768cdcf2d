"""Orders in which messages legally arrive: repeated, mixed between partitions, late; with new offsets. Delivery is at
least once: after a restart everything after some checkpoint may come again.

A plan is a list of faults (:class:`Fault`); each one draws its places from its own seed, so a plan without one of them
is a plan, too, and fits a smaller history. Nothing waits: all of it is order.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.consume.readers import reader_for
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.protocols.events import Event, RowEvent, WatermarkEvent
from ticdc_emit.protocols.registered_avro import SchemaSource

_BEFORE_ALL = -1
_MOST_FAULTS = 3
_LONGEST_RETRY = 5

_Each = TypeVar("_Each")

Queues: TypeAlias = "dict[Target, list[SentMessage]]"


class SentMessage(NamedTuple):
    """``newest``: the highest commit of its partition so far."""

    message: Message
    event: Event
    newest: int


def read_sent(
    messages: Iterable[Message], config: ChangefeedConfig, schemas: SchemaSource | None
) -> Iterator[SentMessage]:
    reader, highest = reader_for(config, schemas=schemas), dict[Target, int]()
    for message in messages:
        newest = highest.get(message[:2], 0)
        for key, value in reader.parts(message.key, message.value):
            event = reader.read(key, value)
            # a BOOTSTRAP belongs to the row after it, and some deletes of Avro have no commit
            commit = event.commit_ts if event.commit_ts is not None else getattr(event, "commit_ms", None)
            newest = max(newest, commit or 0)
            if isinstance(event, RowEvent) and event.commit_ts is None and event.commit_ms is None:
                newest += 1
        highest[message[:2]] = newest
        yield SentMessage(message, event, newest)


def by_partition(sent: Iterable[SentMessage]) -> Queues:
    queues: Queues = {}
    for each in sent:
        queues.setdefault(each.message[:2], []).append(each)
    return queues


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


def renumber(sent: Iterable[Message]) -> list[Message]:
    counts: Counter[Target] = Counter()
    messages = []
    for each in sent:
        messages.append(each._replace(offset=counts[each[:2]]))
        counts[each[:2]] += 1
    return messages


# -- restarts of TiCDC -------------------------------------------------------------------------------------------------


def restarted(sent: Queues, chance: random.Random, restarts: int) -> Queues:
    """Return the messages of each partition as they arrive if TiCDC restarts so often."""
    checkpoint, starts = _BEFORE_ALL, dict.fromkeys(sent, 0)
    arrived: Queues = {target: [] for target in sent}
    for _ in range(restarts):
        ends = {target: chance.randint(starts[target], len(queue)) for target, queue in sent.items()}
        for target, queue in sent.items():
            arrived[target] += queue[starts[target] : ends[target]]
        checkpoint = chance.choice(_checkpoints(sent, ends, checkpoint))
        starts = {target: sum(each.newest <= checkpoint for each in queue) for target, queue in sent.items()}
    for target, queue in sent.items():
        arrived[target] += queue[starts[target] :]
    return arrived


def _checkpoints(sent: Queues, ends: Mapping[Target, int], last: int) -> list[int]:
    missing = min(
        (queue[ends[target]].newest for target, queue in sent.items() if ends[target] < len(queue)), default=1 << 64
    )
    return [last, *sorted({each.newest for queue in sent.values() for each in queue if last < each.newest < missing})]


# -- faults -----------------------------------------------------------------------------------------------------------


FAULTS: Mapping[str, str] = {
    "restart": "TiCDC restarts at a checkpoint and sends what came after it again",
    "retry": "an acknowledgement is lost: TiCDC sends some messages of a partition again",
    "slow-partition": "one partition is read last",
    "rebalance": "another member of the group takes a partition over from its last commit: same offsets again",
    "connection": "the connection breaks: everything since the last commit of offsets is read again",
    "held-watermark": "a partition has no watermark for a while",
    "repeated-watermark": "a watermark comes again, after a higher one",
    "wandering-key": "the dispatcher is ts: changes of a row come in different partitions",
}
"""The kinds of faults, and what happens."""

_WATERMARKS = ("held-watermark", "repeated-watermark")


class Fault(NamedTuple):
    """``kind``: one of :data:`FAULTS`."""

    kind: str
    seed: int

    def __str__(self) -> str:
        return f"{self.kind}: {FAULTS[self.kind]}"


def drawn_plan(chance: random.Random, kinds: Sequence[str]) -> tuple[Fault, ...]:
    return tuple(Fault(chance.choice(kinds), chance.getrandbits(32)) for _ in range(chance.randint(1, _MOST_FAULTS)))


def kinds_of(config: ChangefeedConfig) -> tuple[str, ...]:
    has_watermarks = config.codec.sends_watermarks
    several = (config.kafka.partition_num or 1) > 1
    return tuple(
        kind
        for kind in FAULTS
        if (has_watermarks or kind not in _WATERMARKS) and (several or kind not in ("slow-partition", "wandering-key"))
    )


def arrived(
    messages: Sequence[Message], config: ChangefeedConfig, schemas: SchemaSource, plan: Sequence[Fault]
) -> list[Message]:
    """Return the messages of a changefeed as they arrive with the faults of a plan, with their offsets."""
    order = random.Random(plan[0].seed if plan else 0)
    seeds = [fault.seed for fault in plan if fault.kind == "restart"]
    sent = by_partition(read_sent(messages, config, schemas))
    queues, last = restarted(sent, random.Random(seeds[0] if seeds else 0), len(seeds)), list[SentMessage]()
    for fault in plan:
        if queues and (of_producer := _OF_PRODUCER.get(fault.kind)) is not None:
            chance = random.Random(fault.seed)
            target = chance.choice(list(queues))
            queues[target] = of_producer(queues[target], chance)
    for fault in plan:
        if fault.kind == "slow-partition" and len(queues) > 1:
            last += queues.pop(random.Random(fault.seed).choice(list(queues)))
    received = renumber(each.message for each in [*interleave(order, queues.values()), *last])
    for fault in plan:
        if fault.kind in ("rebalance", "connection"):
            received = _read_again(received, random.Random(fault.seed), of_all=fault.kind == "connection")
    return received


def _retry(queue: list[SentMessage], chance: random.Random) -> list[SentMessage]:
    start = chance.randrange(len(queue))
    return redeliver(queue, start, start + chance.randint(1, _LONGEST_RETRY))


def _hold_watermarks(queue: list[SentMessage], chance: random.Random) -> list[SentMessage]:
    start, stop = sorted(chance.choices(range(len(queue)), k=2))  # the last message stays
    held = [each for each in queue[start:stop] if not isinstance(each.event, WatermarkEvent)]
    return [*queue[:start], *held, *queue[stop:]]


def _repeat_watermark(queue: list[SentMessage], chance: random.Random) -> list[SentMessage]:
    marks = [at for at, each in enumerate(queue) if isinstance(each.event, WatermarkEvent)]
    if not marks:
        return queue
    first, later = sorted(chance.choices(marks, k=2))
    return [*queue[: later + 1], queue[first], *queue[later + 1 :]]


_OF_PRODUCER: Mapping[str, Callable[[list[SentMessage], random.Random], list[SentMessage]]] = {
    "retry": _retry,
    "held-watermark": _hold_watermarks,
    "repeated-watermark": _repeat_watermark,
}
"""What some kinds make of one partition."""


def _read_again(received: list[Message], chance: random.Random, *, of_all: bool) -> list[Message]:
    """Return the messages where some up to a place, of one partition or of all, are read a second time there."""
    stop = chance.randint(1, len(received)) if received else 0
    start = chance.randrange(stop) if stop else 0
    again = received[start:stop]
    if again and not of_all:
        chosen = chance.choice(again)
        again = [each for each in again if each[:2] == chosen[:2]]
    return [*received[:stop], *again, *received[stop:]]
