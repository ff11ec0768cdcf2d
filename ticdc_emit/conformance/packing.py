"""Events of a case whose messages hold several rows.

In: the outcome of each event, row by row. Out: the same with messages of several rows. The vectors have one group of
rows between two statements or watermarks. Its messages belong to the group's last event. A refused row is in no
message.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from ticdc_emit.changes.codec import Encoded
from ticdc_emit.conformance.vectors import DML_KINDS, Outcome, Record
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.row_batching import packed

__all__ = ["packed_outcomes"]

_BREAKS = frozenset({"ddl", "watermark"})


def packed_outcomes(events: Iterable[Mapping[str, Any]], outcomes: Iterable[Outcome], plan: Plan) -> list[Outcome]:
    """Return the outcomes of a case's events with packed messages; the given ones have one row per message."""
    packed: list[Outcome] = []
    group: list[Record] = []
    last = None
    for event, outcome in zip(events, outcomes, strict=True):
        if event["kind"] in _BREAKS and last is not None:
            packed[last] = _with(packed[last], _packed(group, plan))
            group, last = [], None
        if event["kind"] in DML_KINDS and outcome.left_out is None and not outcome.crashed:
            group += [record for record in outcome.records if record.error is None]
            outcome = Outcome(tuple(record for record in outcome.records if record.error is not None), outcome.error)
            last = len(packed)
        packed.append(outcome)
    if last is not None:
        packed[last] = _with(packed[last], _packed(group, plan))
    return packed


def _with(outcome: Outcome, records: Iterator[Record]) -> Outcome:
    return Outcome((*outcome.records, *records), outcome.error)


def _packed(rows: list[Record], plan: Plan) -> Iterator[Record]:
    keys, values = (pa.array([record[part] for record in rows], pa.binary()) for part in range(2))
    stamps = pa.array([0] * len(rows), pa.int64())
    messages = packed(Encoded(values, keys), "", 0, stamps, plan)
    return map(Record, messages.column("key").to_pylist(), messages.column("value").to_pylist())
