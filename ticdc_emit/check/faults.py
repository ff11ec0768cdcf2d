"""Faults of delivery: what a consumer of Kafka has to bear, drawn from a seed.

In: the messages of a changefeed as TiCDC sends them. Out: the same messages as they arrive, each at least once and
those of a partition legally ordered. A plan is a list of :class:`Fault`; each one draws its places from its own seed,
so a plan without one of them is a plan, too, and fits a smaller history. Nothing waits: all of it is order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Message
from ticdc_emit.protocols.events import WatermarkEvent
from ticdc_emit.protocols.registered_avro import SchemaSource
from ticdc_emit.strategies.deliveries import restarted, sent_by_partition
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage, interleave, redeliver, renumber

_MOST_FAULTS = 3
_LONGEST_RETRY = 5

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
    """Return a plan of one to three faults of these kinds."""
    return tuple(Fault(chance.choice(kinds), chance.getrandbits(32)) for _ in range(chance.randint(1, _MOST_FAULTS)))


def kinds_of(config: ChangefeedConfig) -> tuple[str, ...]:
    """Return the kinds of faults that a changefeed can have."""
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
    sent = sent_by_partition(messages, config, schemas)
    queues, last = restarted(sent, random.Random(seeds[0] if seeds else 0), len(seeds)), list[SentMessage]()
    for fault in plan:
        if (of_producer := _OF_PRODUCER.get(fault.kind)) is not None:
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
        again = [each for each in again if (each.topic, each.partition) == (chosen.topic, chosen.partition)]
    return [*received[:stop], *again, *received[stop:]]
