"""Where rows go, what an engine's shuffle does with chunks (each task gets those of its bucket), and what comes out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

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


def in_bucket(chunks: Iterable[pa.RecordBatch], bucket: int) -> list[pa.RecordBatch]:
    return [batch.filter(pc.equal(batch.column("bucket"), bucket)) for batch in chunks]


def told_by_target(batches: Iterable[pa.RecordBatch]) -> dict[tuple[str, int], list[Any]]:
    """Return key, value and commit_ts of messages by topic-partition."""
    found: dict[tuple[str, int], list[Any]] = {}
    for row in (row for batch in batches for row in batch.to_pylist()):
        found.setdefault((row["topic"], row["partition"]), []).append((row["key"], row["value"], row["commit_ts"]))
    return found
