"""DELIVER to a storage sink: the rows of a table in total order into its files.

In: merged rows and DDL of tables, each a topic of one partition (``routing.topics``). Out: files, in the order of
``storage.files``. What TiCDC takes from its clock comes from the commits: the flush interval passes whenever commit
times cross a multiple of it, and a file has the date of its rows. Every batch ends with a flush.

Tables that no DDL made have the version just before their first row. Later batches, and other runs into the folder,
find it in the schema files: in TiCDC a changefeed has one start, which the versions of no row are below.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.codec import HeadedRows
from ticdc_emit.changes.model import RowEncoder
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.delivery.base import DeliveryReport, PartitionCount, Target
from ticdc_emit.delivery.storage_files import StorageSink, files_in
from ticdc_emit.errors import TicdcEmitWarning, warn_caller
from ticdc_emit.hints import counted
from ticdc_emit.pipeline.deliver.merge import MergedRows
from ticdc_emit.pipeline.plan.table_plans import Plan, TablePlan
from ticdc_emit.storage.files import StorageFiles, TableRows
from ticdc_emit.tso import LOGICAL_BITS, physical_ms

logger = logging.getLogger(__name__)

_Stamps = npt.NDArray[np.uint64]
_QUARTER_MS = 15 * 60 * 1000


class DiscardedRowsWarning(TicdcEmitWarning):
    """Rows that a storage sink discards, as TiCDC's does: a newer version of their table has the same columns."""


def warn_discarded(counts: Mapping[str, int]) -> None:
    """Warn of discarded rows, given how many each table has; it is logged too."""
    tables = ", ".join(f"{name} ({counted(count, 'row')})" for name, count in sorted(counts.items()))
    message = (
        f"Rows are discarded, as TiCDC's storage sink does it: {tables}. The folder has a schema file of a newer "
        "version with the same columns. Write to an empty folder"
    )
    logger.info(message)
    warn_caller(message, DiscardedRowsWarning)


def write_files(
    sink: StorageSink, plan: Plan, rows: Mapping[Target, Iterable[MergedRows]]
) -> tuple[DeliveryReport, Mapping[Target, Mapping[str, int]]]:
    """Write the rows of each table and the DDL among them; return also how many rows of which table were discarded."""
    counts, discarded = {}, {}
    for target, of_table in rows.items():
        tables = [table for table in plan.tables.values() if table.topic == target[0]]
        files = _TableFiles(sink, tables)
        for each in of_table:
            files.add(each)
        files.end()
        counts[target] = files.count
        if files.discarded:
            discarded[target] = {tables[0].full_name: files.discarded}
    return DeliveryReport(counts), discarded


@dataclass(frozen=True)
class _Rows:
    values: pa.Array
    keys: pa.Array | None
    stamps: _Stamps

    @classmethod
    def of(cls, values: pa.Array, keys: pa.Array, stamps: _Stamps) -> _Rows:
        return cls(values, keys if text_buffers(keys).data.size else None, stamps)

    def __len__(self) -> int:
        return len(self.stamps)

    def slice(self, start: int, end: int) -> _Rows:
        keys = None if self.keys is None else self.keys.slice(start, end - start)
        return _Rows(self.values.slice(start, end - start), keys, self.stamps[start:end])

    def take(self, rows: npt.NDArray[np.int64]) -> _Rows:
        return _Rows(self.values.take(pa.array(rows)), None, self.stamps[rows])

    def partition_ids(self, own: int) -> npt.NDArray[np.int64] | None:
        if self.keys is None:
            return None
        given = pc.greater(pc.binary_length(self.keys), 0)
        ids: npt.NDArray[np.int64] = np.full(len(self), own, np.int64)
        ids[np.asarray(given.fill_null(False))] = self.keys.filter(given).cast(pa.string()).cast(pa.int64())
        return ids


class _TableFiles:
    def __init__(self, sink: StorageSink, tables: list[TablePlan]) -> None:
        self._sink = sink
        self._tables = tables
        self._folder = sink.folder()
        self._interval = sink.rules.options.flush_interval_ms
        self._files: StorageFiles | None = None
        self._start_ts = 0
        self._starts: dict[tuple[int, int | None], int] = {}  # by encoder, and by partition where it has a folder
        self._span: tuple[int, str] | None = None
        self._last: dict[tuple[int | None, int], int] = {}  # by version and partition: the last commit_ts
        self._headers: dict[int, bytes] = {}
        self._dates: dict[int, str] = {}
        self.count = PartitionCount()
        self.discarded = 0

    def add(self, merged: MergedRows) -> None:
        if self._files is None and merged.num_rows:
            self._start_ts = int(merged.stamps[0]) - 1
            self._files = StorageFiles(
                self._sink.rules,
                self._folder,
                now=_moment(self._start_ts),
                dates_return=True,  # batches overlap by allowed_lateness, and may run again
            )
        rows, start = _Rows.of(merged.column("value"), merged.column("key"), merged.stamps), 0
        size = len(text_buffers(rows.values).data)
        for place, message in zip(merged.places.tolist(), merged.due, strict=True):
            self._write(rows.slice(start, place))
            start = place
            self._flush()
            for path, content in files_in(message.key, message.value):
                self._folder.write(path, content)
        self._write(rows.slice(start, len(rows)))
        self.count = self.count.plus(PartitionCount(merged.num_rows + len(merged.due), size))

    def end(self) -> None:
        self._flush()
        if self._files is not None:
            self.discarded, size = self._files.discarded
            self.count = PartitionCount(self.count.messages - self.discarded, self.count.bytes - size)

    def _flush(self) -> None:
        if self._files is not None:
            self._files.flush()

    def _write(self, rows: _Rows) -> None:
        for span in self._spans(rows) if len(rows) else ():
            for encoder, until, part in self._by_version(span):
                self._write_version(encoder, until, part)

    def _spans(self, rows: _Rows) -> Iterator[_Rows]:
        assert self._files is not None
        for start, end, tick in self._ticks(rows.stamps):
            while start < end:
                date = self._date(int(rows.stamps[start]))
                stop = end
                if self._date(int(rows.stamps[end - 1])) != date:
                    stop = next(place for place in range(start, end) if self._date(int(rows.stamps[place])) != date)
                span = tick, date
                if span != self._span:
                    self._files.flush()
                    self._files.now, self._span = _moment(int(rows.stamps[start])), span
                yield rows.slice(start, stop)
                start = stop

    def _ticks(self, stamps: _Stamps) -> Iterator[tuple[int, int, int]]:
        first, last = (physical_ms(int(stamp)) // self._interval for stamp in (stamps[0], stamps[-1]))
        if first == last:
            yield 0, len(stamps), first
            return
        ticks = (stamps >> np.uint64(LOGICAL_BITS)) // np.uint64(self._interval)
        for start, end in pairwise([0, *(np.flatnonzero(ticks[1:] != ticks[:-1]) + 1).tolist(), len(ticks)]):
            yield start, end, int(ticks[start])

    def _date(self, commit_ts: int) -> str:
        """Return the date in the folder of a commit. No zone begins a day within a quarter of an hour."""
        quarter = physical_ms(commit_ts) // _QUARTER_MS
        if quarter not in self._dates:
            self._dates[quarter] = self._sink.rules.date(_moment(commit_ts))
        return self._dates[quarter]

    def _by_version(self, rows: _Rows) -> Iterator[tuple[RowEncoder, int | None, _Rows]]:
        table = self._tables[0]
        if len(self._tables) > 1:  # names in different case, which one table had one after the other
            alive = [each for each in self._tables if each.since[0] < int(rows.stamps[0])]
            table = max(alive or self._tables, key=lambda each: each.since[0])
        if not table.survivors and (
            len(table.since) == 1 or len(set(table.versions_at(rows.stamps[[0, -1]]).tolist())) == 1
        ):
            yield table.encoder_at(int(rows.stamps[0])), table.next_ddl(int(rows.stamps[0])), rows
            return
        ids = rows.partition_ids(table.newest.id) if table.survivors else None
        stamps = pa.array(rows.stamps, pa.uint64())
        for start, length, encoder in table.spans(stamps, None if ids is None else pa.array(ids)):
            yield encoder, table.next_ddl(int(rows.stamps[start])), rows.slice(start, start + length)

    def _write_version(self, encoder: RowEncoder, until: int | None, rows: _Rows) -> None:
        info, header = encoder.table, self._header(encoder)
        ids = rows.partition_ids(info.id)
        for number in [info.id] if ids is None else dict.fromkeys(ids.tolist()):
            version = info.version if physical_ms(info.version) else self._start_of(encoder, number, until)
            like = TableRows(info, number, b"", version, header, until=until)
            self._write_partition(like, rows if ids is None else rows.take(np.flatnonzero(ids == number)))

    def _start_of(self, encoder: RowEncoder, physical_id: int, until: int | None) -> int:
        assert self._files is not None
        key = id(encoder), physical_id if self._sink.rules.options.use_table_id_as_path else None
        if key not in self._starts:
            self._starts[key] = self._files.start_version(encoder.table, physical_id, self._start_ts, until)
        return self._starts[key]

    def _header(self, encoder: RowEncoder) -> bytes:
        if id(encoder) not in self._headers:  # a look at the methods of a protocol costs as much as a small piece
            self._headers[id(encoder)] = encoder.header if isinstance(encoder, HeadedRows) else b""
        return self._headers[id(encoder)]

    def _write_partition(self, like: TableRows, rows: _Rows) -> None:
        """Give rows to the files in pieces, where they are: each ends a transaction and fills a file, but the last."""
        assert self._files is not None
        version_and_partition = like.version, like.physical_id
        if self._last.get(version_and_partition) != int(rows.stamps[0]):
            self._files.cut(like)
        self._last[version_and_partition] = int(rows.stamps[-1])
        parts, start = text_buffers(rows.values), 0
        while start < len(rows):
            missing = max(1, self._sink.rules.options.file_size - self._files.waiting(like))
            end, first = len(rows), int(parts.offsets[start])
            if len(parts.data) - first >= missing:
                filling = int(np.searchsorted(parts.offsets[1:], np.int32(first + missing)))
                end = int(np.searchsorted(rows.stamps, rows.stamps[filling], side="right"))
            data = parts.data[first : int(parts.offsets[end])].data
            goes_on = end == len(rows)
            self._files.rows(replace(like, data=data, goes_on=goes_on, count=end - start))
            start = end


def _moment(commit_ts: int) -> datetime:
    return datetime.fromtimestamp(max(physical_ms(commit_ts), 0) / 1000, timezone.utc)
