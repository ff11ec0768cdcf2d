"""How far enqueuing one partition may run ahead of its acknowledgements.

In: how much is to be enqueued, and how many messages of all partitions are outstanding. Out: how many may be.
librdkafka does not tell them apart by partition, so what was outstanding before a partition's first message is taken
for others' for as long as it may be: what is left of another partition may lie there until ``linger.ms`` is over.
"""

from __future__ import annotations

import math
from collections import deque

__all__ = ["BATCHES_AHEAD", "PIECES", "Pace"]

BATCHES_AHEAD = 3
"""How many batches of a partition are enqueued at most: one on its way, one that is complete, and one that grows."""

PIECES = 5
"""How many pieces a batch is enqueued in."""


class Pace:
    """The pieces of one partition that were enqueued last. ``outstanding``: messages of other partitions."""

    def __init__(self, outstanding: int) -> None:
        self._others = outstanding
        self._begun: deque[int] = deque(maxlen=BATCHES_AHEAD * PIECES - 1)
        self._filled = 1.0

    def most(self, share: float, enqueued: int, outstanding: int) -> int | None:
        """Return how many messages may be outstanding when ``share`` of a piece is enqueued; ``None``: any number.

        ``enqueued``: the number of messages, of all partitions, that were enqueued before. Small shares fill a piece
        together: else a few messages would wait for others that librdkafka does not send before it has a batch.
        """
        self._others = min(self._others, outstanding)
        if self._filled + share <= 1:
            self._filled += share
            return None
        is_full = len(self._begun) == self._begun.maxlen
        most = enqueued - self._begun[0] + self._others if is_full else None
        self._begun.extend([enqueued] * math.ceil(share))
        self._filled = share
        return most
