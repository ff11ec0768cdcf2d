"""Batches for a changefeed over Arrow, and what it sent: rows as mappings in, messages out of a sink in memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

import pyarrow as pa

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.delivery.base import Message
from ticdc_emit.delivery.memory import MemorySink, clear, messages
from ticdc_emit.pipeline.direct import ArrowBatch
from ticdc_emit.pipeline.report import RunReport
from ticdc_emit.pipeline.run import Changefeed

MAPS = pa.map_(pa.string(), pa.string())
GENERIC = {
    "schema": pa.string(),
    "table": pa.string(),
    "op": pa.string(),
    "commit_ts": pa.int64(),
    "seq": pa.int64(),
    "start_ts": pa.int64(),
    "physical_table_id": pa.int64(),
    "query": pa.string(),
    "before": MAPS,
    "after": MAPS,
}
"""The columns of the generic form."""


def generic(rows: Sequence[Mapping[str, Any]], *names: str) -> pa.Table:
    """Return rows in the generic form, with these columns, by default those that any row has; images are mappings."""
    kinds = {name: kind for name, kind in GENERIC.items() if name in (names or set().union(*rows))}
    return pa.Table.from_pylist([{name: _cell(row.get(name)) for name in kinds} for row in rows], pa.schema(kinds))


def _cell(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return [(name, None if each is None else str(each)) for name, each in value.items()]


def sent(
    config: ChangefeedConfig, schema: str, rows: Any, table: str | None = None, **given: Any
) -> tuple[list[Message], RunReport]:
    """Return what a changefeed sends of one batch, and its report; ``given``: more of :class:`Changefeed`."""
    store = f"sent-{uuid4()}"
    try:
        report = Changefeed(config, MemorySink(store), schema, **given).run(ArrowBatch(rows, table), 0, final=True)
        return messages(store), report
    finally:
        clear(store)


def by_target(found: Iterable[Message]) -> dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]]:
    """Return keys and values by topic-partition."""
    targets: dict[tuple[str, int], list[tuple[bytes | None, bytes | None]]] = {}
    for message in found:
        targets.setdefault((message.topic, message.partition), []).append((message.key, message.value))
    return targets


def values_of_rows(found: Iterable[Message]) -> list[bytes]:
    """Return the values of Canal-JSON that are row changes."""
    values = (message.value or b"" for message in found)
    return [value for value in values if b'"isDdl":false' in value and b'"type":"TIDB_WATERMARK"' not in value]
