"""A running storage sink: which files it writes, with which names, and in which order.

A restart is a new :class:`StorageFiles` over the same folder; what was not flushed is lost then.

**Version.** Rows belong to the version that the last DDL of their table made (its commit_ts), never to one before the
start of the sink. Their folder is that of this version, if a schema file of it exists; else that of the greatest
version whose schema file has the same checksum; else a schema file without a statement is written. Releases differ in
what a newer version with the same checksum means (``StorageSwitches.newer_schemas``). This is decided once for each
version and partition.

**Cut.** Transactions are never torn. A file has all rows of a table version and partition since the last one, up to a
flush, or until they reach ``file-size``.

**Number.** From 1 on for each version, partition and date; what the index file names is read at the first file of a
version (``StorageSwitches.numbers``). A later date begins at 1, because TiCDC's dates only rise; ``dates_return`` says
that they do not here, so its index file is read as well.

**Order.** For each table: schema file, then index and data, in the order of ``StorageSwitches.order``. Tables that are
flushed at the same moment, which TiCDC writes in any order, are written in the order of their paths.

Sources: ``cdc/sink/dmlsink/cloudstorage`` and ``pkg/sink/cloudstorage/path.go`` of pingcap/tiflow;
``downstreamadapter/sink/cloudstorage`` and ``pkg/cloudstorage/generator.go`` of pingcap/ticdc.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from ticdc_emit.config import ChangefeedConfig
from ticdc_emit.config.storage import StorageConfig
from ticdc_emit.config.switches import StorageSwitches
from ticdc_emit.errors import SchemaError
from ticdc_emit.schema.events import DdlEvent
from ticdc_emit.schema.model import TableInfo
from ticdc_emit.storage.folder import Data, Folder
from ticdc_emit.storage.paths import FileNames, SchemaFile, joined
from ticdc_emit.storage.table_definitions import TableDefinition

logger = logging.getLogger(__name__)

EXTENSIONS = {"csv": ".csv", "canal-json": ".json"}
"""How the names of files with rows end, by protocol."""
_DATES = {"none": "", "year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d"}
_FIRST = 1


@dataclass(frozen=True)
class FileRules:
    """What a changefeed's files depend on. ``zone``: of dates in paths, which in TiCDC is that of the server."""

    options: StorageConfig
    switches: StorageSwitches
    extension: str
    zone: str

    @classmethod
    def of(cls, config: ChangefeedConfig) -> FileRules:
        """Return the rules of a changefeed with a storage sink."""
        assert config.storage is not None
        extension = EXTENSIONS[config.codec.protocol.value]
        return cls(config.storage, config.release.storage, extension, config.time_zone)

    def date(self, moment: datetime) -> str:
        """Return the date in paths at a moment; "" without one."""
        return moment.astimezone(ZoneInfo(self.zone)).strftime(_DATES[self.options.date_separator])

    def definitions(self, event: DdlEvent) -> Iterator[tuple[TableDefinition, str]]:
        """Yield a DDL's definitions with their folders; ``SchemaError`` without columns, where TiCDC stops."""
        info = event.table_info
        if not event.table:
            if not self.options.use_table_id_as_path:
                yield TableDefinition(event.schema, "", event.commit_ts, None).by(event), joined(event.schema)
            return
        if info is None or not info.columns:
            if self.switches.empty_schemas == "refused":
                raise SchemaError(
                    "a DDL of a table without columns: TiCDC stops here",
                    remedy="Leave it out with [filter]",
                    table=f"{event.schema}.{event.table}",
                    statement=event.query,
                )
            definition = TableDefinition(event.schema, event.table, event.commit_ts, None).by(event)
            yield definition, joined(event.schema, event.table)
            return
        yield self.definition(info, event.commit_ts).by(event), self.folder(info, info.id)
        if event.action == "exchange partition" and event.pre_table_info is not None:
            exchanged = event.pre_table_info
            yield self.definition(exchanged, event.commit_ts), self.folder(exchanged, exchanged.id)

    def definition(self, info: TableInfo, version: int) -> TableDefinition:
        """Return the definition of a table version."""
        ids, labels = self.options.output_column_id, self.switches.labels
        return TableDefinition.of_table(info, version, shows_ids=ids, shows_labels=labels)

    def folder(self, info: TableInfo, physical_id: int) -> str:
        """Return the folder of a table, or of a partition that has one of its own."""
        return str(physical_id) if self.options.use_table_id_as_path else joined(info.schema, info.name)


def checkpoint_file(ts: int) -> bytes:
    return b'{"checkpoint-ts":%d}' % ts


@dataclass(frozen=True)
class TableRows:
    """Rows of whole transactions in one physical table: ``data`` has their bytes, each row with its end.

    ``physical_id``: of the partition, or the table. ``version``: that which the table's last DDL made (its commit_ts),
    never one before the start of the sink. ``goes_on``: the last transaction may have more rows, so no file can end
    here. ``until``: the TSO of the table's next DDL, whose schema file TiCDC has not written yet. ``count``: of the
    rows.
    """

    table: TableInfo
    physical_id: int
    data: Data
    version: int
    header: bytes = b""
    goes_on: bool = False
    until: int | None = None
    count: int = 0


class _Key(NamedTuple):
    schema: str
    table: str
    version: int
    physical_id: int


@dataclass
class _Pending:
    table: TableInfo
    header: bytes
    until: int | None
    parts: list[Data] = field(default_factory=list)
    size: int = 0
    count: int = 0


class StorageFiles:
    """Writes the files of a changefeed with a storage sink to a folder.

    ``now``: the moment, with its zone, which is the date in paths. ``dispatchers``: ids by physical table, in names
    with ``enable-table-across-nodes``. ``dates_return``: another sink may have written files of later dates.
    ``discarded``: rows and bytes that were discarded, as TiCDC does where a newer version of their table has the same
    columns.
    """

    def __init__(
        self,
        rules: FileRules,
        folder: Folder,
        *,
        now: datetime,
        dispatchers: Callable[[int], str] = str,
        dates_return: bool = False,
    ) -> None:
        self.now = now
        self._rules = rules
        self._options, self._switches = rules.options, rules.switches
        self._folder = folder
        self._dispatchers = dispatchers
        self._dates_return = dates_return
        self._pending: dict[_Key, _Pending] = {}
        self._versions: dict[_Key, int] = {}
        self._numbers: dict[_Key, tuple[str, int]] = {}
        self.discarded = 0, 0

    def start_version(self, info: TableInfo, physical_id: int, start_ts: int, until: int | None) -> int:
        """Return the version of rows of a table that no DDL made, whose sink would start at ``start_ts`` now.

        A table has one start: the version of a schema file with the same columns, the newest one that is not above
        ``start_ts``, or the oldest one for rows that came late.
        """
        definition = self._rules.definition(info, start_ts)
        alike = self._alike(self._rules.folder(info, physical_id), definition, until)
        before = [version for version in alike if version <= start_ts]
        return max(before) if before else min(alike, default=start_ts)

    def rows(self, rows: TableRows) -> None:
        """Take the rows of transactions, write the file that they fill. All that write raise ``DeliveryError``."""
        key = self._key(rows)
        pending = self._pending.get(key)
        if pending is None:
            pending = self._pending[key] = _Pending(rows.table, rows.header, rows.until)
        pending.parts.append(rows.data)
        pending.size += len(rows.data)
        pending.count += rows.count
        if not rows.goes_on:
            self.cut(rows)

    def cut(self, rows: TableRows) -> None:
        """Write the file of the same table, version and partition as these rows, if what waits fills it."""
        key = self._key(rows)
        if key in self._pending and self._pending[key].size >= self._options.file_size:
            self._write_rows([key])

    def waiting(self, rows: TableRows) -> int:
        """Return how many bytes of the same table, version and partition as these rows wait for their file."""
        pending = self._pending.get(self._key(rows))
        return 0 if pending is None else pending.size

    def flush(self) -> None:
        """Write the rows of all tables that wait."""
        self._write_rows(list(self._pending))

    def _key(self, rows: TableRows) -> _Key:
        return _Key(rows.table.schema, rows.table.name, rows.version, rows.physical_id)

    def _write_rows(self, keys: Iterable[_Key]) -> None:
        for key in sorted(keys, key=lambda key: self._rows_folder(key, self._pending[key].table, key.version)[0]):
            pending = self._pending.pop(key)
            version = self._versions.get(key) or self._find_version(key, pending)
            if version is None:
                logger.warning(
                    "rows of %s.%s are discarded, as TiCDC does it: a newer version of the table has the same columns",
                    key.schema,
                    key.table,
                )
                self.discarded = self.discarded[0] + pending.count, self.discarded[1] + pending.size
                continue  # the version is looked for again with the next rows
            self._versions[key] = version
            folder, date = self._rows_folder(key, pending.table, version)
            names = self._names(key)
            name = names.name(self._next_number(key, folder, date, names))
            data = joined(folder, name), [pending.header, *pending.parts]
            index: tuple[str, list[Data]] = joined(folder, names.index_file), [name.encode() + b"\n"]
            for path, parts in (index, data) if self._switches.order == "index-first" else (data, index):
                self._folder.write(path, *parts)

    def _rows_folder(self, key: _Key, info: TableInfo, version: int) -> tuple[str, str]:
        date = self._rules.date(self.now)
        separated = self._options.enable_partition_separator and not self._options.use_table_id_as_path
        separated = separated and bool(info.partitions)
        partition = str(key.physical_id) if separated else ""
        return joined(self._rules.folder(info, key.physical_id), str(version), partition, date), date

    def _names(self, key: _Key) -> FileNames:
        shows = self._options.enable_table_across_nodes and self._switches.dispatcher_ids
        dispatcher = self._dispatchers(key.physical_id) if shows else ""
        return FileNames(self._rules.extension, self._options.file_index_digit, dispatcher)

    def _find_version(self, key: _Key, pending: _Pending) -> int | None:
        info = pending.table
        definition = self._rules.definition(info, key.version)
        folder = self._rules.folder(info, key.physical_id)
        if self._folder.exists(definition.file.path(folder)):
            return key.version
        newest = max(self._alike(folder, definition, pending.until), default=0)
        if newest > key.version and self._switches.newer_schemas == "rows-discarded":
            return None
        if newest:
            return newest
        self._folder.write(definition.file.path(folder), definition.content())
        return key.version

    def _alike(self, folder: str, definition: TableDefinition, until: int | None) -> list[int]:
        """Return the versions in a folder with a definition's columns, below ``until``.

        Where a batch runs again, the schema file of a DDL after its rows is there already.
        """
        present = filter(None, (SchemaFile.parse(path) for path in self._folder.files(joined(folder, "meta"))))
        alike = (each.version for each in present if each.checksum == definition.checksum)
        return [version for version in alike if until is None or version < until]

    def _next_number(self, key: _Key, folder: str, date: str, names: FileNames) -> int:
        last_date, last = self._numbers.get(key, (None, 0))
        if last_date is None or (last_date != date and self._dates_return):
            last = self._last_number(folder, names)
        elif last_date != date:
            last = 0
        number = last + 1
        if self._switches.numbers == "free" and self._folder.exists(joined(folder, names.name(number))):
            number = max(number, self._last_number(folder, names)) + 1
            while self._folder.exists(joined(folder, names.name(number))):
                number += 1
        self._numbers[key] = date, number
        return number

    def _last_number(self, folder: str, names: FileNames) -> int:
        index = joined(folder, names.index_file)
        if not self._folder.exists(index):
            return _FIRST - 1
        number = names.number(self._folder.read(index).decode(errors="replace").removesuffix("\n"))
        if self._switches.numbers == "free":
            return number
        last = joined(folder, names.name(number))
        is_whole = self._folder.exists(last) and bool(self._folder.read(last))
        return number if is_whole else number - 1
