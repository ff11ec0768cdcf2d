"""Rows in the generic form, where they go, and what an engine's shuffle does with chunks: each task gets those of its
bucket.
"""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

RULES = {
    "sink": {
        "dispatchers": [
            {"matcher": ["s.a"], "topic": "a", "partition": "index-value"},
            {"matcher": ["*.*"], "topic": "rest", "partition": "table"},
        ]
    }
}
_MAPS = pa.map_(pa.string(), pa.string())
FORM = pa.schema(
    {
        "schema": pa.string(),
        "table": pa.string(),
        "op": pa.string(),
        "commit_ts": pa.int64(),
        "seq": pa.int64(),
        "before": _MAPS,
        "after": _MAPS,
    }
)


def in_bucket(chunks: Iterable[pa.RecordBatch], bucket: int) -> list[pa.RecordBatch]:
    return [batch.filter(pc.equal(batch.column("bucket"), bucket)) for batch in chunks]
