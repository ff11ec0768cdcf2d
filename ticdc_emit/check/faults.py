"""Faults of delivery: what a consumer of Kafka has to bear, drawn from a seed.

In: the messages of a changefeed as TiCDC sends them. Out: the same messages as they arrive, each at least once and
those of a partition legally ordered. A plan is a list of :class:`Fault`; each one draws its places from its own seed,
so a plan without one of them is a plan, too, and fits a smaller history. Nothing waits: all of it is order.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Message, Target
from ticdc_emit.protocols.events import WatermarkEvent
from ticdc_emit.strategies.deliveries import restarted, sent_by_partition
from ticdc_emit.traffic.scenarios.delivery_order import SentMessage, interleave, redeliver, renumber

__all__ = ["FAULTS", "Fault", "arrived", "drawn_plan"]

Queues: TypeAlias = "dict[Target, list[SentMessage]]"
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
    messages: Sequence[Message], config: ChangefeedConfig, schemas: Mapping[int | str, str], plan: Sequence[Fault]
) -> list[Message]:
    """Return the messages of a changefeed as they arrive with the faults of a plan, with their offsets."""
    order = random.Random(plan[0].seed if plan else 0)
    sent = sent_by_partition(messages, config, schemas)
    restarts = [fault for fault in plan if fault.kind == "restart"]
    queues = restarted(sent, random.Random(restarts[0].seed), len(restarts)) if restarts else _plain(sent)
    for fault in plan:
        if (of_producer := _OF_PRODUCER.get(fault.kind)) is not None:
            of_producer(queues, random.Random(fault.seed))
    last = []
    for fault in plan:
        if fault.kind == "slow-partition" and len(queues) > 1:
            last += queues.pop(random.Random(fault.seed).choice(list(queues)))
    received = renumber(each.message for each in [*interleave(order, queues.values()), *last])
    for fault in plan:
        if fault.kind in ("rebalance", "connection"):
            received = _read_again(received, random.Random(fault.seed), of_all=fault.kind == "connection")
    return received


def _plain(sent: Mapping[Target, Sequence[tuple[int, SentMessage]]]) -> Queues:
    return {target: [message for _, message in queue] for target, queue in sent.items()}


def _retry(queues: Queues, chance: random.Random) -> None:
    target = chance.choice(list(queues))
    start = chance.randrange(len(queues[target]))
    queues[target] = redeliver(queues[target], start, start + chance.randint(1, _LONGEST_RETRY))


def _hold_watermarks(queues: Queues, chance: random.Random) -> None:
    target = chance.choice(list(queues))
    queue = queues[target]
    start, stop = sorted(chance.choices(range(len(queue)), k=2))  # the last message stays
    held = [each for each in queue[start:stop] if not isinstance(each.event, WatermarkEvent)]
    queues[target] = [*queue[:start], *held, *queue[stop:]]


def _repeat_watermark(queues: Queues, chance: random.Random) -> None:
    queue = queues[chance.choice(list(queues))]
    marks = [at for at, each in enumerate(queue) if isinstance(each.event, WatermarkEvent)]
    if marks:
        first, later = sorted(chance.choices(marks, k=2))
        queue.insert(later + 1, queue[first])


_OF_PRODUCER: Mapping[str, Callable[[Queues, random.Random], None]] = {
    "retry": _retry,
    "held-watermark": _hold_watermarks,
    "repeated-watermark": _repeat_watermark,
}


def _read_again(received: list[Message], chance: random.Random, *, of_all: bool) -> list[Message]:
    """Return the messages where some up to a place, of one partition or of all, are read a second time there."""
    stop = chance.randint(1, len(received)) if received else 0
    start = chance.randrange(stop) if stop else 0
    again = received[start:stop]
    if again and not of_all:
        chosen = chance.choice(again)
        again = [each for each in again if (each.topic, each.partition) == (chosen.topic, chosen.partition)]
    return [*received[:stop], *again, *received[stop:]]
