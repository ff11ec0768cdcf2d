"""Packs: rows of one slice and one source, each as one Arrow IPC body in Spark's cache.

In: batches of typed or generic row changes, by commit_ts. Out: batches of :data:`PACK_SCHEMA` with few, large rows,
whatever the tables' columns are; later the rows again, for a changefeed's task. So a slice is found by one column, and
its rows are not converted from Java to Arrow a second time. Runs in Spark's workers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import GENERIC_NAMES, is_ddl, is_generic
from ticdc_emit.changes.model import rows_within
from ticdc_emit.pipeline.chunks import packed, unpacked
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["PACK_SCHEMA", "ROWS_PER_PACK", "ROW_HASH", "PackTask", "UnpackTask", "slice_name", "tables_in"]

PACK_SCHEMA = pa.schema(
    [
        ("slice", pa.string()),
        ("source", pa.string()),
        ("tables", pa.string()),
        ("lane", pa.int32()),
        ("first_ts", pa.int64()),
        ("last_ts", pa.int64()),
        ("rows", pa.int64()),
        ("untimed", pa.int64()),
        ("hash", pa.int64()),
        ("body", pa.binary()),
    ]
)
"""One row per pack. ``slice``: see :func:`slice_name`. ``source``: which DataFrame the rows are of. ``tables``: see
:func:`tables_in`. ``lane``: a number by which the packs of a slice can be spread evenly. ``untimed``: rows without
commit_ts, which are counted and dropped. ``hash``: the sum over the rows."""

ROW_HASH = "_hash"
"""An optional column for the pack's ``hash``; it is not packed."""

ROWS_PER_PACK = 5_000
"""The maximum number of rows in a pack."""

_PACK_BYTES = 8 * 1024 * 1024
_GOLDEN = (5**0.5 - 1) / 2  # its multiples fill a circle evenly, however many there are


def slice_name(number: int) -> str:
    """Return the value of the column ``slice`` for the slice that begins ``number`` widths after 1970.

    It is text, because Spark compiles a filter again for another number, but not for another text.
    """
    return f"{number:020d}"


def tables_in(names: str) -> list[tuple[str, str]]:
    """Return (schema, name) of the tables of a pack's generic rows, from its column ``tables``."""
    return [(schema, name) for schema, name in json.loads(names)]


@dataclass(frozen=True)
class PackTask:
    """Packs the rows of one source, which are sorted by commit_ts within a task.

    ``width_ms``: of a slice; ``None``: all are in one. ``lanes``: the number of lanes over which the packs of a slice
    are spread.
    """

    source: str
    width_ms: int | None
    lanes: int

    def __call__(self, batches: Iterator[pa.RecordBatch], task: int) -> Iterator[pa.RecordBatch]:
        """Yield batches of :data:`PACK_SCHEMA`. ``task``: its number; tasks begin with different lanes."""
        before, turn = None, task
        for batch in batches:
            stamps = batch.column("commit_ts")
            untimed = stamps.null_count
            packs = []
            for number, part in self._slices(batch.filter(stamps.is_valid()) if untimed else batch):
                before, turn = number, task if number != before else turn + 1
                packs.append(self._pack(number, part, int(turn * _GOLDEN % 1 * self.lanes)))
            if untimed:
                packs.append(self._row(0, 0, untimed=untimed))
            yield pa.RecordBatch.from_pylist(packs, schema=PACK_SCHEMA)

    def _slices(self, rows: pa.RecordBatch) -> Iterator[tuple[int, pa.RecordBatch]]:
        """Yield the rows of each slice, and the slice's number, in parts of bounded size."""
        if not rows.num_rows:
            return
        stamps = rows.column("commit_ts").to_numpy()
        numbers = (stamps >> LOGICAL_BITS) // self.width_ms if self.width_ms else np.zeros(len(stamps), np.int64)
        starts = np.flatnonzero(np.append(True, numbers[1:] != numbers[:-1])).tolist()
        for start, end in zip(starts, [*starts[1:], len(numbers)], strict=True):
            part = rows.slice(start, end - start)
            count = min(ROWS_PER_PACK, rows_within(0, part.num_rows, part.nbytes, _PACK_BYTES))
            for first in range(0, part.num_rows, count):
                yield int(numbers[start]), part.slice(first, count)

    def _pack(self, number: int, part: pa.RecordBatch, lane: int) -> dict[str, object]:
        stamps = part.column("commit_ts").to_numpy()
        total = 0
        if ROW_HASH in part.schema.names:
            total = int(part.column(ROW_HASH).to_numpy().sum())
            part = part.drop_columns([ROW_HASH])
        times = {"first_ts": int(stamps.min()), "last_ts": int(stamps.max())}
        names = _named(part) if is_generic(part.schema.names) else []
        return self._row(number, lane, rows=len(stamps), hash=total, names=names, body=packed(part), **times)

    def _row(self, number: int, lane: int, names: Sequence[object] = (), **values: object) -> dict[str, object]:
        place = {"slice": slice_name(number), "source": self.source, "tables": json.dumps(names), "lane": lane}
        return {"rows": 0, "untimed": 0, "hash": 0, **place, **values}


@dataclass(frozen=True)
class UnpackTask:
    """Encodes the rows of packs. ``tables``: the table of a source; ``None`` if its rows name theirs."""

    task: EncodeTask
    tables: Mapping[str, tuple[str, str] | None]

    def __call__(self, packs: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield the output of the task. It gets consecutive packs of one source as one stream of rows."""
        pairs = (pair for batch in packs for pair in zip(batch.column("source"), batch.column("body"), strict=True))
        for source, group in groupby(pairs, lambda pair: pair[0].as_py()):
            yield from replace(self.task, table=self.tables[source])(unpacked(body.as_buffer()) for _, body in group)


def _named(rows: pa.RecordBatch) -> list[tuple[str, str]]:
    """Return the tables named by generic rows; rows without a name are refused later, when they are read."""
    rows = rows.filter(pc.invert(is_ddl(rows))) if "query" in rows.schema.names else rows
    pairs = pa.Table.from_batches([rows.select(list(GENERIC_NAMES))]).group_by(list(GENERIC_NAMES)).aggregate([])
    names = zip(*(pairs.column(name).to_pylist() for name in GENERIC_NAMES), strict=True)
    return sorted((schema, name) for schema, name in names if schema is not None and name is not None)
