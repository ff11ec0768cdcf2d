"""Messages as record batches of ``delivery.contract.MESSAGE_SCHEMA``: encoded rows, and control messages."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.changes.row_encoder import Encoded
from ticdc_emit.columnar.buffers import to_number
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA
from ticdc_emit.routing.topic import Target

__all__ = ["control_batch", "message_batch"]


def message_batch(encoded: Encoded, topic: str, partition: int | pa.Array, commit_ts: pa.Array) -> pa.RecordBatch:
    """Return encoded rows; a protocol without keys sends zero-length ones.

    ``partition``: of all rows, or an ``int32`` array of each.
    """
    count, encoded = len(encoded), encoded.whole()
    columns = [
        pa.repeat(_topic(topic), count),
        pa.repeat(_partition(partition), count) if isinstance(partition, int) else partition,
        encoded.filled_keys(),
        encoded.values,
        to_number(commit_ts, pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)


@lru_cache(maxsize=1024)
def _topic(name: str) -> pa.Scalar:
    return pa.scalar(name, pa.string())


@lru_cache(maxsize=1024)
def _partition(number: int) -> pa.Scalar:
    return pa.scalar(number, pa.int32())


def control_batch(messages: Sequence[tuple[Target, ControlMessage]]) -> pa.RecordBatch:
    """Return control messages with their targets."""
    return pa.RecordBatch.from_arrays(
        [
            pa.array([topic for (topic, _), _ in messages], pa.string()),
            pa.array([partition for (_, partition), _ in messages], pa.int32()),
            pa.array([message.key for _, message in messages], pa.binary()),
            pa.array([message.value for _, message in messages], pa.binary()),
            pa.array([message.commit_ts for _, message in messages], pa.uint64()).cast(pa.int64(), safe=False),
        ],
        schema=MESSAGE_SCHEMA,
    )
