"""The watermark interval of the commands: at most one watermark message per hundred rows.

A running TiCDC sends about one per second to every partition, however few rows there are. Most messages that the
commands show would then be watermarks.
"""

from __future__ import annotations

import math

from ticdc_emit.config import DEFAULT_PARTITION_NUM, ChangefeedConfig

__all__ = ["sparse_interval"]

_ROWS_PER_MESSAGE = 100


def sparse_interval(config: ChangefeedConfig, rows: int, seconds: float) -> float:
    """Return the interval, in whole seconds of commit time, for ``rows`` changes that take ``seconds`` of it.

    Returns 0, one watermark at the end, if there are too few rows for a watermark on each partition.
    """
    partitions = config.kafka.partition_num or DEFAULT_PARTITION_NUM
    ticks = rows // (_ROWS_PER_MESSAGE * partitions)
    return float(max(1, math.ceil(seconds / ticks))) if ticks else 0.0
