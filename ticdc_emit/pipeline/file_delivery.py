"""DELIVER to a storage sink: the rows of a table in total order into its files.

In: what other sinks get, where every table is a topic of one partition (``routing.topics``): merged rows, with the DDL
of the table among them. Keys of rows are the ids of their partitions, if rows have any; messages of DDL are schema
files, and the watermark after a batch is the checkpoint (:class:`FileCodec`). Out: files, in the order of
:class:`~ticdc_emit.storage.StorageFiles`, and counts.

What TiCDC takes from its clock comes from the commits: the flush interval passes whenever commit times cross a multiple
of it, and a file has the date of its rows. With ``file_dates = "wall"`` files have the date at which they are written,
and only their size and the end of a batch cut them. Every batch ends with a flush. Tables that no DDL made have the
version just before their first row of the batch, as if the changefeed had started there: later batches find the schema
file of the first one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.changes.codec import Codec, ControlMessage, Encoded, HeadedRows, RowEncoder
from ticdc_emit.changes.model import Changes
from ticdc_emit.columnar.buffers import text_buffers
from ticdc_emit.columnar.integers import integer_text
from ticdc_emit.delivery.base import DeliveryReport, PartitionCount, Target
from ticdc_emit.delivery.storage_files import StorageSink, as_message, files_in
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage import FileRules, StorageFiles, TableRows
from ticdc_emit.storage.files import checkpoint_file
from ticdc_emit.storage.paths import METADATA
from ticdc_emit.tso import physical_ms

if TYPE_CHECKING:
    from ticdc_emit.pipeline.merge import MergedRows
    from ticdc_emit.pipeline.plan import Plan, TablePlan

_Stamps = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class FileCodec:
    """A protocol whose rows go to files (see ``changes.codec.Codec``): control messages are whole files."""

    codec: Codec
    rules: FileRules
    compressed_parts: tuple[str, ...] = ()
    refuses_large_schemas: bool = False

    def rows(self, table: TableInfo) -> RowEncoder:
        return self.codec.rows(table)

    def ddl(self, event: DdlEvent, build_ts: int) -> ControlMessage | None:
        """Return the schema files of a DDL: their paths are the key. Raises what ``FileRules.definitions`` raises."""
        files = [(made.file.path(folder), made.content()) for made, folder in self.rules.definitions(event)]
        return ControlMessage(*as_message(files), event.commit_ts) if files else None

    def watermark(self, ts: int, build_ts: int) -> ControlMessage:
        """Return the file of the checkpoint."""
        return ControlMessage(METADATA.encode(), checkpoint_file(ts), ts)


def with_partition_ids(changes: Changes, encoded: Encoded) -> Encoded:
    """Return encoded rows with the ids of their partitions as keys, where rows have them."""
    if PHYSICAL_TABLE_ID not in changes.attributes:
        return encoded
    keys = integer_text(changes.physical_table_ids).cast(pa.binary())
    return Encoded(encoded.values, keys, encoded.claims, encoded.ends)


def write_files(sink: StorageSink, plan: Plan, rows: Mapping[Target, Iterable[MergedRows]]) -> DeliveryReport:
    """Write the rows of each table, and the DDL among them. Raises :class:`~ticdc_emit.errors.DeliveryError`."""
    counts = {}
    for target, of_table in rows.items():
        tables = [table for table in plan.tables.values() if table.topic == target[0]]
        files = _TableFiles(sink, tables)
        for each in of_table:
            files.add(each)
        files.end()
        counts[target] = files.count
    return DeliveryReport(counts)


@dataclass(frozen=True)
class _Rows:
    """Rows of one table, in order: values, keys (``None``: no row has one) and commit_ts."""

    values: pa.Array
    keys: pa.Array | None
    stamps: _Stamps

    def __len__(self) -> int:
        return len(self.stamps)

    def slice(self, start: int, end: int) -> _Rows:
        keys = None if self.keys is None else self.keys.slice(start, end - start)
        return _Rows(self.values.slice(start, end - start), keys, self.stamps[start:end])

    def take(self, rows: npt.NDArray[np.int64]) -> _Rows:
        return _Rows(self.values.take(pa.array(rows)), None, self.stamps[rows])

    def behind(self, before: _Rows | None) -> _Rows:
        """Return the rows after others."""
        if before is None or not len(before):
            return self
        keys = None
        if self.keys is not None or before.keys is not None:
            keys = pa.concat_arrays([before.filled_keys(), self.filled_keys()])
        return _Rows(pa.concat_arrays([before.values, self.values]), keys, np.concatenate([before.stamps, self.stamps]))

    def filled_keys(self) -> pa.Array:
        return pa.repeat(pa.scalar(b"", pa.binary()), len(self)) if self.keys is None else self.keys

    def partition_ids(self, own: int) -> npt.NDArray[np.int64] | None:
        """Return the physical table id of each row; ``None`` if all are the table's ``own``."""
        if self.keys is None:
            return None
        return np.array([int(key) if key else own for key in self.keys.to_pylist()], np.int64)


class _TableFiles:
    """The files of one table. ``count``: what was written."""

    def __init__(self, sink: StorageSink, tables: list[TablePlan]) -> None:
        self._sink = sink
        self._tables = tables
        self._folder = sink.folder()
        self._interval = sink.rules.options.flush_interval_ms
        self._files: StorageFiles | None = None
        self._start_ts = 0
        self._span: tuple[int, str] | None = None
        self._held: _Rows | None = None
        self.count = PartitionCount()

    def add(self, merged: MergedRows) -> None:
        """Take the next rows, and what is due among them. The last transaction is held, for it may go on."""
        values, keys = merged.column("value"), merged.column("key")
        has_keys = bool(text_buffers(keys).data.size)
        rows = _Rows(values, keys if has_keys else None, merged.stamps)
        self.count = self.count.plus(PartitionCount(len(rows) + len(merged.due), len(text_buffers(values).data)))
        if self._files is None and len(rows):
            self._start_ts = int(rows.stamps[0]) - 1
            self._files = StorageFiles(
                self._sink.rules, self._folder, start_ts=self._start_ts, now=_moment(self._start_ts)
            )
        start = 0
        for message, place in zip(merged.due, merged.places.tolist(), strict=True):
            self._write(rows.slice(start, place).behind(self._held))
            self._held, start = None, place
            self._flush()
            for path, content in files_in(message.key, message.value):
                self._folder.write(path, content)
        rest = rows.slice(start, len(rows)).behind(self._held)
        whole = int(np.searchsorted(rest.stamps, rest.stamps[-1])) if len(rest) else 0
        self._write(rest.slice(0, whole))
        self._held = rest.slice(whole, len(rest))

    def end(self) -> None:
        """Write what is left."""
        if self._held is not None:
            self._write(self._held)
        self._flush()

    def _flush(self) -> None:
        if self._files is not None:
            self._tick()
            self._files.flush()

    def _tick(self) -> None:
        assert self._files is not None
        if self._sink.dates == "wall":
            self._files.now = datetime.now(timezone.utc)

    def _write(self, rows: _Rows) -> None:
        """Give rows of whole transactions to the files, cut where the flush interval passes or the date changes."""
        for span in self._spans(rows) if len(rows) else ():
            for table, part in self._by_version(span):
                self._write_version(table, part)

    def _spans(self, rows: _Rows) -> Iterator[_Rows]:
        if self._sink.dates == "wall":
            yield rows
            return
        assert self._files is not None
        ticks = (rows.stamps >> np.uint64(18)) // np.uint64(self._interval)
        cuts = [0, *(np.flatnonzero(ticks[1:] != ticks[:-1]) + 1).tolist(), len(rows)]
        for start, end in pairwise(cuts):
            while start < end:
                date = self._date(int(rows.stamps[start]))
                stop = end
                if self._date(int(rows.stamps[end - 1])) != date:
                    stop = next(place for place in range(start, end) if self._date(int(rows.stamps[place])) != date)
                span = int(ticks[start]), date
                if span != self._span:
                    self._files.flush()
                    self._files.now, self._span = _moment(int(rows.stamps[start])), span
                yield rows.slice(start, stop)
                start = stop

    def _date(self, commit_ts: int) -> str:
        return self._sink.rules.date(_moment(commit_ts))

    def _by_version(self, rows: _Rows) -> Iterator[tuple[RowEncoder, _Rows]]:
        table = self._tables[0]
        if len(self._tables) > 1:  # names in different case, which one table had one after the other
            alive = [each for each in self._tables if each.since[0] < int(rows.stamps[0])]
            table = max(alive or self._tables, key=lambda each: each.since[0])
        ids = rows.partition_ids(table.newest.id) if table.survivors else None
        stamps = pa.array(rows.stamps, pa.uint64())
        for start, length, encoder in table.spans(stamps, None if ids is None else pa.array(ids)):
            yield encoder, rows.slice(start, start + length)

    def _write_version(self, encoder: RowEncoder, rows: _Rows) -> None:
        info = encoder.table
        header = encoder.header if isinstance(encoder, HeadedRows) else b""
        version = info.version if physical_ms(info.version) else self._start_ts
        ids = rows.partition_ids(info.id)
        if ids is None:
            self._write_partition(TableRows(info, info.id, b"", header, version), rows)
            return
        for number in dict.fromkeys(ids.tolist()):
            own = rows.take(np.flatnonzero(ids == number))
            self._write_partition(TableRows(info, number, b"", header, version), own)

    def _write_partition(self, like: TableRows, rows: _Rows) -> None:
        """Give rows to the files in pieces of whole transactions, each of which may fill a file."""
        assert self._files is not None
        self._tick()
        parts = text_buffers(rows.values)
        ends = np.append(np.flatnonzero(rows.stamps[1:] != rows.stamps[:-1]) + 1, len(rows))
        start = 0
        while start < len(rows):
            missing = self._sink.rules.options.file_size - self._files.waiting(like)
            later = ends[ends > start]
            sizes = parts.offsets[later] - parts.offsets[start]
            end = int(later[min(int(np.searchsorted(sizes, missing)), len(later) - 1)])
            data = parts.data[parts.offsets[start] : parts.offsets[end]].tobytes()
            self._files.rows(TableRows(like.table, like.physical_id, data, like.header, like.version))
            start = end


def _moment(commit_ts: int) -> datetime:
    return datetime.fromtimestamp(max(physical_ms(commit_ts), 0) / 1000, timezone.utc)
