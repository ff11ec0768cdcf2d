"""The plan of one table name: its row encoders over time, where its messages go, and which of its rows are left out.

Made by :func:`ticdc_emit.plan.tables.make_plan`; what arranges and encodes rows asks it for the encoder of a commit_ts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.peers import arrangement, likeness
from ticdc_emit.changes.row_encoder import RowEncoder
from ticdc_emit.config.switches import RoutingSwitches
from ticdc_emit.errors import DispatcherError, SchemaError, UnknownTableError
from ticdc_emit.filtering.replication import LeftOut
from ticdc_emit.filtering.rows import RowFilter
from ticdc_emit.filtering.verdicts import KEYLESS
from ticdc_emit.routing.rules import PartitionRule
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.tso import MAX_TSO

__all__ = ["TablePlan"]

_KEYLESS_TABLE = "the table has no primary key and no unique key over NOT NULL columns, so TiCDC does not replicate it"
_KEYLESS_REMEDY = "Add a key, or set force-replicate = true in the changefeed's TOML (force_replicate=True in Python)"


@dataclass(frozen=True)
class TablePlan:
    """The row encoders of one table name over time, and where its messages go.

    ``rule`` and ``partitions`` give the partition of each row; ``partition`` is that of all rows, ``None`` if it
    depends on the row.
    """

    schema: str
    name: str
    since: tuple[int, ...]
    encoders: tuple[RowEncoder | None, ...]
    topic: str
    partition: int | None = 0
    rule: PartitionRule = PartitionRule()  # noqa: RUF009 - frozen
    partitions: int = 1
    routing: RoutingSwitches = RoutingSwitches()
    left_out: tuple[LeftOut, ...] = ()
    """The spans of time in which the table has rows that TiCDC does not replicate, and why."""
    filters: tuple[RowFilter | None, ...] = ()
    """Of each version, what event filters say of its rows; empty if they say nothing of the table."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made from the rest."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def refuse_keyless(self) -> None:
        """Raise :class:`SchemaError` if no version of the table is replicated because none has a handle key."""
        if self.left_out and all(span.reason == KEYLESS for span in self.left_out) and not any(self.encoders):
            raise SchemaError(_KEYLESS_TABLE, remedy=_KEYLESS_REMEDY, table=f"{self.schema}.{self.name}")

    def rows_left_out(
        self, commit_ts: pa.Array, physical_ids: pa.Array | None, *, keyless: bool
    ) -> Iterator[tuple[str, npt.NDArray[np.bool_]]]:
        """Yield for each span why it is left out, and which rows fall into it.

        ``physical_ids``: the rows' physical table ids, if they are given. ``keyless``: whether spans of versions
        without a handle key count too. Raises :class:`SchemaError` for rows that TiCDC sends as those of another table.
        """
        for span in self.left_out:
            if keyless or span.reason != KEYLESS:
                numbers = commit_ts.to_numpy(zero_copy_only=False).astype(np.uint64)
                last = MAX_TSO if span.until is None else span.until
                rows = (numbers > np.uint64(span.since)) & (numbers <= np.uint64(last))
                if span.physical:
                    given = np.zeros(len(rows), np.int64) if physical_ids is None else physical_ids.to_numpy()
                    rows &= np.isin(given, list(span.physical))
                if span.shown_as and rows.any():
                    raise SchemaError(
                        f"TiCDC sends the rows of this partition as rows of {span.shown_as}, with which it was "
                        "exchanged in a statement that filter.rules discard",
                        remedy="Add the partitioned table's name in the other table's database to filter.rules, or "
                        "leave these rows out",
                        table=f"{self.schema}.{self.name}",
                        physical_table_id=min(span.physical),
                    )
                yield span.reason, rows

    @property
    def newest(self) -> TableInfo:
        """The last schema of the table that rows can have."""
        return next(encoder.table for encoder in reversed(self.encoders) if encoder is not None)

    @property
    def versions(self) -> Iterator[TableInfo]:
        """Every schema of the table that rows can have, in the order of time."""
        return (encoder.table for encoder in self.encoders if encoder is not None)

    @cached_property
    def column_names(self) -> frozenset[str]:
        """The name of every column that any version has, those without values included."""
        unused = frozenset(name for span in self.left_out for name in span.columns)
        return unused | frozenset(column.name for info in self.versions for column in info.columns)

    @cached_property
    def order_columns(self) -> tuple[Column, ...]:
        """What orders changes of equal commit_ts: the columns that do so in any version, by name."""
        return tuple({column.name: column for info in self.versions for column in info.order_columns}.values())

    @cached_property
    def overhead(self) -> int:
        """The greatest ``overhead`` of any version's encoder, in bytes."""
        return max((each.overhead for each in self.encoders if each is not None), default=0)

    @cached_property
    def likeness(self) -> Hashable:
        """What tables have in common whose rows can be encoded together (``changes.peers``): of one version."""
        return likeness(self.newest)

    @cached_property
    def arrangement(self) -> Hashable | None:
        """What tables have in common whose rows are arranged alike; ``None`` where there is more to decide."""
        encoder = self.encoders[0] if len(self.encoders) == 1 else None
        if encoder is None or self.left_out or any(self.filters):
            return None
        return arrangement(encoder.table)

    @cached_property
    def spreading(self) -> Hashable:
        """What tables of one likeness have in common whose rows are spread over partitions alike."""
        if self.partition is not None:
            return None
        try:
            hashed = [(name, column.name) for name, column in self.rule.hashed(self.newest, self.routing)]
        except DispatcherError:  # which is raised where it is asked for a row's partition
            return self.schema, self.name
        return self.rule, self.partitions, tuple(hashed)

    def filter_of(self, encoder: RowEncoder) -> RowFilter | None:
        """Return the event filters for rows of this encoder's version."""
        places = (place for place, each in enumerate(self.encoders) if each is encoder)
        return self.filters[next(places)] if self.filters else None

    def encoder_at(self, commit_ts: int) -> RowEncoder:
        """Return the encoder for rows committed at ``commit_ts``: a DDL shapes the rows after its own TSO."""
        place = bisect_right(self.since, commit_ts - 1) - 1
        encoder = self.encoders[place] if place >= 0 else None
        if encoder is None:
            if any(
                not each.physical and each.since < commit_ts and (each.until is None or commit_ts <= each.until)
                for each in self.left_out
            ):
                raise SchemaError(
                    _KEYLESS_TABLE, remedy=_KEYLESS_REMEDY, table=f"{self.schema}.{self.name}", commit_ts=commit_ts
                )
            raise UnknownTableError(
                "the table does not exist at this commit_ts",
                remedy="Check the order of the DDL statements and the rows",
                table=f"{self.schema}.{self.name}",
                commit_ts=commit_ts,
            )
        return encoder

    def spans(self, commit_ts: pa.Array) -> list[tuple[int, int, RowEncoder]]:
        """Cut rows into (start, length, encoder) runs of one table version, in whatever order they come."""
        numbers = commit_ts.to_numpy()
        if len(numbers) == 0:
            return []
        if len(self.since) == 1:
            return [(0, len(numbers), self.encoder_at(int(numbers.min())))]
        # as uint64: numpy would compare a Python int with uint64 by way of float64
        versions = np.searchsorted(np.array(self.since[1:], np.uint64), numbers.astype(np.uint64), side="left")
        cuts = [0, *(np.flatnonzero(np.diff(versions)) + 1).tolist(), len(numbers)]
        return [(start, end - start, self.encoder_at(int(numbers[start]))) for start, end in pairwise(cuts)]
