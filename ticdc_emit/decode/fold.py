"""A reference consumer of the Simple protocol: messages of all partitions of a topic in, tables out.

It knows only what the messages say, as "TiCDC Simple Protocol" (message consumption methods) wants it. Rows and DDL
wait until the watermarks of all partitions have passed them and are then applied by commit_ts: after RENAME TABLE, rows
of one key may come from another partition. It may begin anywhere; rows of a table version that no DDL or BOOTSTRAP has
shown by then are skipped.

What no consumer can see in the messages, and what is done here:

=========================================== ===========================================================================
rows that a DDL changes (ADD COLUMN ...)    a new column has the schema's DEFAULT, without one NULL or its type's zero
values that only TiDB knows                 the column is missing in the row: DEFAULT CURRENT_TIMESTAMP, MODIFY COLUMN
                                            to another kind of type, defaults that are not UTF-8
new generated columns                       NULL until the row changes
rows that TRUNCATE PARTITION ... takes away :class:`DecodeError`
messages with the handle key only           :class:`DecodeError`
=========================================== ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from heapq import heappop, heappush
from typing import Any, TypeAlias

from ticdc_emit.decode.errors import DecodeError, WatermarkError
from ticdc_emit.decode.simple_columns import converted
from ticdc_emit.decode.simple_ddl import changes_partition_rows, dropped_database
from ticdc_emit.decode.simple_records import (
    SimpleBootstrap,
    SimpleDdl,
    SimpleMessage,
    SimpleRow,
    SimpleTableSchema,
    SimpleWatermark,
)
from ticdc_emit.decode.simple_values import row_values
from ticdc_emit.schema.identifiers import to_lower

__all__ = ["SimpleFold", "TableKey", "key_columns"]

TableKey: TypeAlias = tuple[str, str]
_Rows: TypeAlias = dict[tuple[Any, ...], dict[str, Any]]
# Inside a transaction, deletes make room for inserts; a DDL comes behind the rows of its own commit_ts.
_RANKS = {"DELETE": 0, "UPDATE": 1, "INSERT": 2}
_DDL_RANK = 3


class SimpleFold:
    """Folds messages into tables. ``partitions``: how many the topic has.

    ``tables``: by (database, table) the rows as :func:`~ticdc_emit.decode.simple_values.row_values` reads them, by the
    values of their key; of a table without key, by all values and the number of the row among equal ones. It holds what
    every partition's watermark has passed. ``schemas``: by (database, table, version). ``watermarks``: by partition.
    ``skipped``: rows of unknown table versions.
    """

    def __init__(self, partitions: int = 1) -> None:
        self.tables: dict[TableKey, _Rows] = {}
        self.schemas: dict[tuple[str, str, int], SimpleTableSchema] = {}
        self.watermarks: dict[int, int] = {}
        self.skipped = 0
        self._partitions = partitions
        self._pending: list[tuple[int, int, int, SimpleRow | SimpleDdl]] = []
        self._pending_ddl: set[SimpleDdl] = set()
        self._names: dict[int, TableKey] = {}  # by table id, which RENAME TABLE keeps
        self._arrived = 0

    def apply(self, message: SimpleMessage, partition: int = 0) -> None:
        """Take the next message of a partition.

        Raises :class:`~ticdc_emit.decode.errors.WatermarkError` for a watermark that goes back, and for a row or DDL at
        or below its partition's watermark; :class:`DecodeError` for what cannot be followed.
        """
        if not 0 <= partition < self._partitions:
            raise DecodeError(f"the topic has {self._partitions} partitions", partition=partition)
        if isinstance(message, SimpleBootstrap):
            self._learn(message.table_schema)
        elif isinstance(message, SimpleWatermark):
            self._check_place(message.commit_ts + 1, partition, "a watermark")
            self.watermarks[partition] = message.commit_ts
            if len(self.watermarks) == self._partitions:
                self._fold_until(min(self.watermarks.values()))
        elif isinstance(message, SimpleDdl):
            self._check_place(message.commit_ts, partition, "a DDL")
            self._learn(message.table_schema, message.pre_table_schema)
            once = replace(message, build_ts=0)
            if once not in self._pending_ddl:  # every partition has it
                self._pending_ddl.add(once)
                self._wait(message.commit_ts, _DDL_RANK, once)
        else:
            self._check_place(message.commit_ts, partition, "a row")
            self._wait(message.commit_ts, _RANKS[message.op], message)

    def finish(self) -> None:
        """Fold what is left, whatever the watermarks say: no message will follow."""
        self._fold_until(None)

    def _check_place(self, commit_ts: int, partition: int, what: str) -> None:
        watermark = self.watermarks.get(partition, -1)
        if commit_ts <= watermark:
            raise WatermarkError(
                f"{what} came behind a watermark that excludes it",
                partition=partition,
                watermark=watermark,
                commit_ts=commit_ts,
            )

    def _learn(self, *schemas: SimpleTableSchema | None) -> None:
        for schema in schemas:
            if schema is not None:
                self.schemas[schema.schema, schema.table, schema.version] = schema

    def _wait(self, commit_ts: int, rank: int, message: SimpleRow | SimpleDdl) -> None:
        self._arrived += 1
        heappush(self._pending, (commit_ts, rank, self._arrived, message))

    def _fold_until(self, commit_ts: int | None) -> None:
        while self._pending and (commit_ts is None or self._pending[0][0] <= commit_ts):
            message = heappop(self._pending)[-1]
            if isinstance(message, SimpleRow):
                self._row(message)
            else:
                self._pending_ddl.remove(message)
                self._ddl(message)

    def _row(self, row: SimpleRow) -> None:
        name = row.database, row.table
        schema = self.schemas.get((*name, row.schema_version))
        if schema is None:
            self.skipped += 1
            return
        if row.handle_key_only:
            raise DecodeError(
                "the message has only the handle key of its row",
                remedy="Read the whole message where claim_check says, or the row from its source",
                table=f"{row.database}.{row.table}",
                claim_check=row.claim_check,
            )
        self._names[schema.table_id] = name
        rows = self.tables.setdefault(name, {})
        for image, change in ((row.old, _remove), (row.data, _add)):
            if image is not None:
                values = row_values(schema, image)
                change(rows, key_columns(schema, values), values)

    def _ddl(self, ddl: SimpleDdl) -> None:
        table = ddl.table_schema
        if table is None:
            database = dropped_database(ddl.sql)
            lowered = None if database is None else to_lower(database)
            self.tables = {name: rows for name, rows in self.tables.items() if to_lower(name[0]) != lowered}
            return
        name = table.schema, table.table
        self._check_partitions(ddl, name)
        before = ddl.pre_table_schema if ddl.type == "TRUNCATE" else None  # TRUNCATE gives the table a new id
        source = self._names.get((before or table).table_id, name)
        self._names[table.table_id] = name
        if ddl.type == "ERASE":
            self.tables.pop(source, None)
        elif ddl.type in ("CREATE", "TRUNCATE"):
            self.tables.pop(source, None)
            self.tables[name] = {}
        elif source in self.tables:
            rows: _Rows = {}
            for values in converted(self.tables.pop(source).values(), ddl):
                _add(rows, key_columns(table, values), values)
            self.tables[name] = rows

    def _check_partitions(self, ddl: SimpleDdl, name: TableKey) -> None:
        other = ddl.pre_table_schema  # of EXCHANGE PARTITION, the other table's
        names = {name, name if other is None else (other.schema, other.table)}
        if any(self.tables.get(each) for each in names) and changes_partition_rows(ddl.sql):
            raise DecodeError(
                "the messages do not say which rows are in a partition", table=f"{name[0]}.{name[1]}", sql=ddl.sql
            )


def key_columns(schema: SimpleTableSchema, shown: Iterable[str]) -> tuple[str, ...] | None:
    """Return columns that identify a row: those of the primary key, else of the shortest unique index without NULLs.

    ``shown``: the columns that rows have; virtual columns are none of them. ``None`` for a table without such an index.
    """
    present = set(shown)
    unique = [
        index for index in schema.indexes if index.unique and not index.nullable and present.issuperset(index.columns)
    ]
    best = min(unique, key=lambda index: (not index.primary, len(index.columns)), default=None)
    return None if best is None else best.columns


def _add(rows: _Rows, key: tuple[str, ...] | None, values: dict[str, Any]) -> None:
    if key is not None:
        rows[tuple(values[name] for name in key)] = values
        return
    rows[_nth(values, _equal_rows(rows, values))] = values


def _remove(rows: _Rows, key: tuple[str, ...] | None, values: Mapping[str, Any]) -> None:
    """Take a row away; one from before the beginning is not there."""
    if key is not None:
        rows.pop(tuple(values[name] for name in key), None)
        return
    rows.pop(_nth(values, _equal_rows(rows, values) - 1), None)


def _nth(values: Mapping[str, Any], number: int) -> tuple[Any, ...]:
    return *(values[name] for name in sorted(values)), number


def _equal_rows(rows: _Rows, values: Mapping[str, Any]) -> int:
    count = 0
    while _nth(values, count) in rows:
        count += 1
    return count
