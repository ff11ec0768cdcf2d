"""What an engine's shuffle does with chunks: each task gets those of its bucket."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["in_bucket"]


def in_bucket(chunks: Iterable[pa.RecordBatch], bucket: int) -> list[pa.RecordBatch]:
    return [batch.filter(pc.equal(batch.column("bucket"), bucket)) for batch in chunks]
