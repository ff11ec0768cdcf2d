"""How far apart the commands let watermarks stand: at most one watermark message per hundred rows.

A running TiCDC sends one about every second to every partition, whatever rows there are. In what the commands show,
most messages would be watermarks then.
"""

from __future__ import annotations

import math

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig

__all__ = ["sparse_interval"]

_ROWS_PER_MESSAGE = 100


def sparse_interval(config: ChangefeedConfig, rows: int, seconds: float) -> float:
    """Return the interval, in whole seconds of commit time, for ``rows`` changes that take ``seconds`` of it.

    0, which is one watermark at the end, for fewer rows than a watermark on each partition may take.
    """
    partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
    ticks = rows // (_ROWS_PER_MESSAGE * partitions)
    return float(max(1, math.ceil(seconds / ticks))) if ticks else 0.0
