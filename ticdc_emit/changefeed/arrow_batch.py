"""Arrow record batches as a batch of a changefeed: the whole pipeline in one process, without Spark.

    feed = Changefeed(load_changefeed(sink_uri), sink, "create table test.t (id int primary key)")
    report = feed.run(ArrowBatch(batches), 0, final=True)

In: row changes in a public form, in any order. **Typed**: ``op``, ``commit_ts`` (TSO) or ``commit_time`` (a timestamp
with a zone), optional ``seq`` and what ``changes.attributes`` lists, and ``before`` / ``after`` as structs or maps of
one table's columns. **Generic**: the same with the columns ``schema`` and ``table``, and images as
``map<string, string>`` of canonical text. Rows with ``op = 'ddl'`` and a ``query`` are DDL, in both. Out: what PLAN
asks of a batch, and a task run over the rows: updates of keys split, partitions told, rows in total order, in memory
up to a limit and by sorted runs on disk beyond it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.reader import POSITION, positioned
from ticdc_emit.arrange.sorted_runs import SortedRuns
from ticdc_emit.arrange.total_order import SORT_KEYS, TotalOrder, by_table
from ticdc_emit.arrange.transactions import numbered, split_updates
from ticdc_emit.changefeed.batch import DDL_OP, counted, null_in_ddl, version_starts
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changefeed.worker import RESULT_SCHEMA, Task, TaskResult, read_results
from ticdc_emit.changes.attributes import PHYSICAL_TABLE_ID
from ticdc_emit.changes.commits import commit_ts_array
from ticdc_emit.changes.normal_form import normal_form
from ticdc_emit.changes.tables import TABLE_NAMES
from ticdc_emit.changes.tabular import changes_table, is_tabular
from ticdc_emit.encode.blocks import GATHER_ROWS, gathered
from ticdc_emit.encode.first_fault import first_fault
from ticdc_emit.encode.fit import check_images
from ticdc_emit.encode.run import prepare
from ticdc_emit.encoder import split_name
from ticdc_emit.errors import (
    ConfigError,
    MissingColumnError,
    RowError,
    SchemaError,
)
from ticdc_emit.plan.tables import Plan, TablePlan
from ticdc_emit.routing.topic import Target
from ticdc_emit.schedule.bootstrap_replay import CountedRows
from ticdc_emit.tso import LOGICAL_BITS

__all__ = ["DEFAULT_MEMORY_LIMIT", "ArrowBatch", "check_columns"]

DEFAULT_MEMORY_LIMIT = 256 * 1024 * 1024
_GREATEST_LIMIT = 1024 * 1024 * 1024  # what is sorted at once must stay below the 2 GiB of an Arrow array
_GIVEN_NAMES = ("schema", "table")


class ArrowBatch:
    """``batches``: record batches of one schema in anything that can be iterated over again, or a table: Arrow's, a
    pandas or polars DataFrame, or anything else with Arrow's C interface (``changes.tabular``).

    ``table``: ``schema.name`` of rows in the typed form, needed if the changefeed has several tables.
    ``memory_limit``: bytes of rows that are held at once; beyond it sorted runs go to temporary files. Memory is a
    small multiple of it.
    """

    def __init__(
        self,
        batches: pa.Table | Iterable[pa.RecordBatch] | Any,
        table: str | None = None,
        *,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> None:
        if is_tabular(batches):
            batches = changes_table(batches).to_batches()
        if isinstance(batches, Iterator):
            raise ConfigError(
                "the record batches come from an iterator, which can be read once only",
                remedy="Give a list, a table, or an object whose __iter__ begins anew",
                option="batches",
            )
        if not 0 < memory_limit <= _GREATEST_LIMIT:
            raise ConfigError(
                f"memory_limit={memory_limit!r} is out of range", remedy="Use 1 byte to 1 GiB", option="memory_limit"
            )
        self._batches: Iterable[pa.RecordBatch] = batches
        self._table = table
        self._limit = memory_limit

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Return the rows with ``op = 'ddl'``; their current database is their ``schema``, if any."""
        found: list[DdlStatement] = []
        if "query" in self._names:
            for rows in self._slices(without=("before", "after")):
                ddl = rows.filter(_is_ddl(rows))
                if ddl.num_rows:
                    found += _statements(ddl, database)
        return sorted(found)

    def table_of(self, plan: Plan) -> tuple[str, str] | None:
        """Return whose changes rows in the typed form are, ``None`` for the generic form and without rows."""
        if not self._names or self._is_generic:
            return None
        return split_name(self._table, [key for key, table in plan.tables.items() if any(table.encoders)])

    def check(self, plan: Plan) -> None:
        """Check columns and their types, and the tables' names where rows are in memory and name them."""
        if self._schema is None:
            return
        key = self.table_of(plan)
        where = "the changefeed" if key is None else ".".join(key)
        check_columns(self._names, where)
        rows = normal_form(next(iter(self._batches)).slice(0, 0), where)
        positioned(rows, where)
        if key is not None:
            check_images(rows, plan.table(*key), plan.rendering)
        elif isinstance(self._batches, list):
            for name in self.tables(plan):
                plan.table(*name)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows."""
        table = self.table_of(plan)
        if table is not None or not self._names:
            return [] if table is None else [table]
        found: set[tuple[str, str]] = set()
        for rows in self._changes():
            named = pa.table({name: rows.column(name) for name in TABLE_NAMES}).group_by(list(TABLE_NAMES))
            found |= {tuple(row.values()) for row in named.aggregate([]).to_pylist() if None not in row.values()}
        return sorted(found)

    def count_rows(self, plan: Plan, tick_ms: int, late_until: int | None) -> list[CountedRows]:
        """Count rows, with split updates as two, per table version, physical table and slot of ``tick_ms``."""
        changes = np.array(version_starts(plan, self.table_of(plan)), np.uint64)
        counts: dict[tuple[str, str, int | None, int, int], tuple[int, int]] = {}
        for table, part in self._parts(plan, late_until):
            for physical, version, slot, first, count in _slots(part, changes, tick_ms, late_until):
                place = (table.schema, table.name, physical, version, slot)
                before = counts.get(place, (first, 0))
                counts[place] = min(first, before[0]), before[1] + count
        return [
            counted(plan, plan.table(schema, name), physical, first, count)
            for (schema, name, physical, _, _), (first, count) in counts.items()
        ]

    def run(self, task: Task) -> dict[Target, TaskResult]:
        """Run the task here, over all rows: nothing is sent before every value of the batch is checked."""
        try:
            return read_results(pa.Table.from_batches(list(task(self._arranged(task))), schema=RESULT_SCHEMA))
        except RowError as fault:
            raise first_fault(fault, lambda count: self._check(task, count)) from None

    def _check(self, task: Task, count: int) -> None:
        """Check the first ``count`` rows, in the order in which they were given, but for the late ones."""
        key = self.table_of(task.plan)
        of_all = None if key is None else task.plan.table(*key)
        late_until = task.controls.late_until if task.late == "drop" else None
        for rows in self._changes():
            first = rows.filter(pc.less(rows.column(POSITION), count))
            if late_until is not None:
                first = first.filter(pc.greater(first.column("commit_ts"), pa.scalar(late_until, pa.uint64())))
            for table, places in by_table(first, task.plan, of_all):
                part = first if places is None else first.take(pa.array(places))
                if key is None and table.unreplicated:
                    part = part.filter(pa.array(table.are_replicated(part.column("commit_ts"))))
                if part.num_rows:
                    prepare(numbered(part, f"{table.schema}.{table.name}"), table, task.plan)
            if first.num_rows < rows.num_rows and late_until is None:
                return

    @cached_property
    def _schema(self) -> pa.Schema | None:
        first = next(iter(self._batches), None)
        return None if first is None else first.schema

    @property
    def _names(self) -> list[str]:
        return [] if self._schema is None else self._schema.names

    @property
    def _is_generic(self) -> bool:
        return set(_GIVEN_NAMES) <= set(self._names)

    @property
    def _where(self) -> str:
        """What errors call the rows' table."""
        return "the changefeed" if self._is_generic or self._table is None else self._table

    def _arranged(self, task: Task) -> Iterator[pa.RecordBatch]:
        """Yield the rows as a task takes them: by topic-partition and in total order."""
        plan, late_until = task.plan, task.controls.late_until if task.late == "drop" else None
        key = self.table_of(plan)
        order = TotalOrder(plan, None if key is None else plan.table(*key))
        with SortedRuns(SORT_KEYS, self._limit) as runs:
            for table, part in self._parts(plan, late_until):
                runs.add(order.placed(part, table))
            for window in runs.windows():
                yield order.ordered(window)

    def _parts(self, plan: Plan, late_until: int | None) -> Iterator[tuple[TablePlan, pa.RecordBatch]]:
        """Yield pieces of one table each, in change form, by commit_ts, with their updates split.

        Rows up to the TSO ``late_until`` are left as they are: they will be dropped, whatever is wrong with them.
        """
        key = self.table_of(plan)
        for rows in self._changes():
            for table, places in by_table(rows, plan, None if key is None else plan.table(*key)):
                own = rows if places is None else rows.take(pa.array(places))
                if key is None and table.unreplicated:
                    own = own.filter(pa.array(table.are_replicated(own.column("commit_ts"))))
                part = numbered(own, f"{table.schema}.{table.name}")
                stamps = np.asarray(part.column("commit_ts"))
                if (stamps[1:] < stamps[:-1]).any():
                    part = part.take(pa.array(np.argsort(stamps, kind="stable")))
                    stamps = np.sort(stamps)
                late = 0 if late_until is None else int(stamps.searchsorted(late_until, side="right"))
                if late:
                    yield table, part.slice(0, late)
                if late < part.num_rows:
                    yield table, split_updates(part.slice(late), table, plan)

    def _changes(self) -> Iterator[pa.RecordBatch]:
        """Yield the row changes in change form with their tables, in pieces that are worth their handling."""
        if not self._names:
            return
        check_columns(self._names, self._where)
        for rows in gathered(self._without_ddl()):
            form = positioned(rows, self._where)
            columns = dict(zip(form.schema.names, form.columns, strict=True))
            columns[POSITION] = rows.column(POSITION)
            if pa.types.is_dictionary(columns["op"].type):
                columns["op"] = columns["op"].dictionary_decode()
            if self._is_generic:
                columns |= dict(zip(TABLE_NAMES, (rows.column(name) for name in _GIVEN_NAMES), strict=True))
            yield pa.record_batch(columns)

    def _without_ddl(self) -> Iterator[pa.RecordBatch]:
        for rows in self._slices():
            yield rows.filter(pc.invert(_is_ddl(rows))) if "query" in self._names else rows

    def _slices(self, without: Collection[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the rows in normal form, with their places but ``without`` some columns."""
        first_row = 0
        for batch in self._batches:
            if batch.schema != self._schema:
                raise SchemaError(
                    "the record batches have different columns", remedy="Bring them to one schema: names, types, order"
                )
            wanted = batch.select([place for place, name in enumerate(batch.schema.names) if name not in without])
            for start in range(0, batch.num_rows, GATHER_ROWS):
                rows = normal_form(wanted.slice(start, GATHER_ROWS), self._where, first_row)
                places = pa.array(np.arange(first_row, first_row + rows.num_rows))
                yield rows.append_column(POSITION, places)
                first_row += rows.num_rows


def check_columns(names: list[str], where: str) -> None:
    """Raise :class:`MissingColumnError` or :class:`SchemaError` if rows with these columns cannot be row changes."""
    for name in (*_GIVEN_NAMES, "query", "op", "before", "after", "commit_ts", "commit_time"):
        if names.count(name) > 1:
            raise SchemaError("the changes have two columns of one name", table=where, column=name)
    if "op" not in names:
        raise MissingColumnError("the changes have no op", remedy="Add op: c, u or d", table=where, column="op")
    if not {"before", "after"} & set(names):
        raise MissingColumnError(
            "the changes have neither before nor after", remedy="Add the rows' images", table=where, column="after"
        )
    if not {"commit_ts", "commit_time"} & set(names):
        raise MissingColumnError(
            "the changes have neither commit_ts nor commit_time",
            remedy="Add commit_ts (TSO) or commit_time (a timestamp with a zone)",
            table=where,
            column="commit_ts",
        )


def _is_ddl(batch: pa.RecordBatch) -> pa.Array:
    ops = batch.column("op") if "op" in batch.schema.names else pa.nulls(batch.num_rows, pa.string())
    if pa.types.is_dictionary(ops.type):
        ops = ops.dictionary_decode()
    if not (pa.types.is_string(ops.type) or pa.types.is_large_string(ops.type)):
        return pa.repeat(pa.scalar(False), batch.num_rows)  # the check of the rows tells what is wrong
    return pc.equal(pc.utf8_lower(ops), pa.scalar(DDL_OP, ops.type)).fill_null(False)


def _statements(rows: pa.RecordBatch, database: str) -> list[DdlStatement]:
    time = "commit_ts" if "commit_ts" in rows.schema.names else "commit_time"
    for name in (time, "query"):
        if name in rows.schema.names and rows.column(name).null_count:
            place = int(np.asarray(rows.column(name).is_null().to_numpy(zero_copy_only=False)).argmax())
            known = None if name == time else rows.column(time)[place].as_py()
            raise null_in_ddl(name, known if time == "commit_ts" else None, rows.column("query")[place].as_py())
    schemas = rows.column("schema").to_pylist() if "schema" in rows.schema.names else [None] * rows.num_rows
    stamps, queries = commit_ts_array(rows, "the changefeed").to_pylist(), rows.column("query").to_pylist()
    return [(stamp, schema or database, query) for stamp, schema, query in zip(stamps, schemas, queries, strict=True)]


def _slots(
    part: pa.RecordBatch, changes: np.ndarray[tuple[int], np.dtype[np.uint64]], tick_ms: int, late_until: int | None
) -> Iterator[tuple[int | None, int, int, int, int]]:
    """Yield (physical table, table version, slot, first commit_ts, count) of one table's rows."""
    stamps = np.asarray(part.column("commit_ts"))
    none = pa.nulls(len(stamps), pa.int64())
    physical = part.column(PHYSICAL_TABLE_ID) if PHYSICAL_TABLE_ID in part.schema.names else none
    columns = pa.table(
        {
            "physical": physical,
            "version": np.searchsorted(changes, stamps, side="left"),
            "slot": (stamps >> np.uint64(LOGICAL_BITS)) // np.uint64(tick_ms),
            "commit_ts": stamps,
        }
    )
    if late_until is not None:
        columns = columns.filter(pa.array(stamps > late_until))
    grouped = columns.group_by(["physical", "version", "slot"])
    for row in grouped.aggregate([("commit_ts", "min"), ("commit_ts", "count")]).to_pylist():
        yield row["physical"], row["version"], row["slot"], row["commit_ts_min"], row["commit_ts_count"]
