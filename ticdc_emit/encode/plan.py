"""PLAN: everything that encoding needs to know, fixed before the first row is read.

In: the changefeed's configuration and the history of table schemas. Out: a :class:`Plan`, picklable, the same for every
worker. It knows schemas, options, routes and the clock, and never sees a row.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
import pyarrow as pa

from ticdc_emit.columnar.values import Rendering
from ticdc_emit.config import ChangefeedConfig, Integrity
from ticdc_emit.encode.changes import RowEncoder
from ticdc_emit.errors import ConfigError, SchemaError, UnknownTableError
from ticdc_emit.protocols import codec_for
from ticdc_emit.protocols.base import Codec
from ticdc_emit.routing.topic import Router
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.tso import physical_ms

__all__ = ["Plan", "TableHistory", "TablePlan", "make_plan"]

TableHistory = Iterable[tuple[int, "TableInfo | None"]]
"""Versions of one table name: (commit_ts from which it holds, the schema; ``None`` once dropped), ascending."""


@dataclass(frozen=True)
class TablePlan:
    """The row encoders of one table name over time, and where its messages go."""

    schema: str
    name: str
    since: tuple[int, ...]
    encoders: tuple[RowEncoder | None, ...]
    topic: str
    partition: int

    @property
    def newest(self) -> TableInfo:
        """The last schema of the table that rows can have."""
        return next(encoder.table for encoder in reversed(self.encoders) if encoder is not None)

    @cached_property
    def order_columns(self) -> tuple[Column, ...]:
        """What orders changes of equal commit_ts: the columns that do so in any version, by name."""
        infos = [encoder.table for encoder in self.encoders if encoder is not None]
        return tuple({column.name: column for info in infos for column in info.order_columns}.values())

    def encoder_at(self, commit_ts: int) -> RowEncoder:
        """Return the encoder for rows committed at ``commit_ts``: a DDL shapes the rows after its own TSO."""
        place = bisect_right(self.since, commit_ts - 1) - 1
        encoder = self.encoders[place] if place >= 0 else None
        if encoder is None:
            raise UnknownTableError(
                "the table does not exist at this commit_ts",
                remedy="Check the order of the DDL statements and the rows",
                table=f"{self.schema}.{self.name}",
                commit_ts=commit_ts,
            )
        return encoder

    def spans(self, commit_ts: pa.Array) -> list[tuple[int, int, RowEncoder]]:
        """Cut rows (ascending TSO) into (start, length, encoder) runs of one table version."""
        numbers = commit_ts.to_numpy()
        if len(numbers) == 0:
            return []
        if len(self.since) == 1:
            return [(0, len(numbers), self.encoder_at(int(numbers[0])))]
        # as uint64: numpy would compare a Python int with uint64 by way of float64
        changes = numbers.searchsorted(np.array(self.since[1:], np.uint64), side="right")
        cuts = sorted({0, len(numbers), *changes.tolist()})
        return [
            (start, end - start, self.encoder_at(int(numbers[start]))) for start, end in pairwise(cuts) if end > start
        ]


@dataclass(frozen=True)
class Plan:
    """The whole plan. ``build_ts`` is the wall clock of row messages in ms; ``None`` takes it from each commit_ts."""

    codec: Codec
    tables: Mapping[tuple[str, str], TablePlan]
    router: Router
    rendering: Rendering
    max_message_bytes: int
    build_ts: int | None = None
    integrity: Integrity = field(default_factory=Integrity)

    @cached_property
    def overhead(self) -> int:
        """The greatest ``overhead`` of any encoder, in bytes."""
        return max(
            (each.overhead for table in self.tables.values() for each in table.encoders if each is not None), default=0
        )

    def table(self, schema: str, name: str) -> TablePlan:
        """Return the plan of a table; :class:`UnknownTableError` if the catalog never had it."""
        try:
            return self.tables[schema, name]
        except KeyError:
            known = ", ".join(sorted(f"{s}.{n}" for s, n in self.tables)[:10])
            raise UnknownTableError(
                "no such table in the catalog",
                remedy=f"Known tables: {known or 'none'}. Names are case-sensitive",
                table=f"{schema}.{name}",
            ) from None

    def clock(self, ts: int) -> int:
        """Return the wall clock of a control message for the TSO ``ts``, in ms."""
        return physical_ms(ts) if self.build_ts is None else self.build_ts

    def at(self, build_ts: int | None) -> Plan:
        """Return the plan with another wall clock."""
        return replace(self, build_ts=build_ts)


def make_plan(
    changefeed: ChangefeedConfig,
    tables: Mapping[tuple[str, str], TableHistory],
    partitions: Mapping[str, int],
    *,
    build_ts: int | None = None,
    verbatim_json: bool = False,
    message_limit: int | None = None,
) -> Plan:
    """Plan every version of every table.

    ``partitions`` is the partition count of each topic and ``message_limit`` the largest message that the topics take,
    both from the sink.
    """
    _refuse_unwritten(changefeed)
    codec = codec_for(changefeed)
    router = Router(changefeed.kafka.topic, dict(partitions))
    planned = {}
    for (schema, name), history in tables.items():
        versions = list(history)
        encoders = tuple(_checked(codec, info) for _, info in versions)
        topic, partition = router.route_table(schema, name)
        planned[schema, name] = TablePlan(
            schema, name, tuple(since for since, _ in versions), encoders, topic, partition
        )
    rendering = Rendering(changefeed.time_zone, verbatim_json=verbatim_json)
    limit = changefeed.codec.max_message_bytes
    limit = min(limit, message_limit or limit)
    return Plan(codec, planned, router, rendering, limit, build_ts, changefeed.integrity)


def _checked(codec: Codec, info: TableInfo | None) -> RowEncoder | None:
    if info is None or info.is_view:
        return None
    if not info.data_columns:
        raise SchemaError("the table has no column that a row change could carry", table=info.full_name)
    return codec.rows(info)


def _refuse_unwritten(changefeed: ChangefeedConfig) -> None:
    """Options that would change bytes or routes, and that this version does not act on, are refused, not ignored."""
    handle = changefeed.codec.large_message_handle
    asked = {
        "large-message-handle-option": handle.handle_key_only or handle.claim_check,
        "large-message-handle-compression": handle.compression not in ("", "none"),
        "dispatchers": bool(changefeed.dispatchers),
        "column-selectors": bool(changefeed.column_selectors),
    }
    for option, given in asked.items():
        if given:
            raise ConfigError(
                f"{option} is understood but not acted on by this version", remedy="Remove it", option=option
            )
