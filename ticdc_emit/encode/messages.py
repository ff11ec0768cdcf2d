"""Messages as record batches of ``delivery.contract.MESSAGE_SCHEMA``: encoded rows, and control messages."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from ticdc_emit.changes.codec import ControlMessage
from ticdc_emit.changes.model import Encoded
from ticdc_emit.delivery.contract import MESSAGE_SCHEMA
from ticdc_emit.routing.topic import Target

__all__ = ["control_batch", "message_batch"]


def message_batch(encoded: Encoded, topic: str, partition: int | pa.Array, commit_ts: pa.Array) -> pa.RecordBatch:
    """Return encoded rows; a protocol without keys sends zero-length ones.

    ``partition``: of all rows, or an ``int32`` array of each.
    """
    count, encoded = len(encoded), encoded.whole()
    columns = [
        pa.repeat(pa.scalar(topic, pa.string()), count),
        pa.repeat(pa.scalar(partition, pa.int32()), count) if isinstance(partition, int) else partition,
        encoded.filled_keys(),
        encoded.values,
        commit_ts.cast(pa.int64(), safe=False),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=MESSAGE_SCHEMA)


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
