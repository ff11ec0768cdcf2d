"""Arrow record batches as a batch of a changefeed: the whole pipeline in one process, without Spark.

    feed = Changefeed(load_changefeed(sink_uri), sink, "create table test.t (id int primary key)")
    report = feed.run(ArrowBatch(batches), 0, final=True)

In: row changes in a public form (``changes.forms``), in any order. Out: what PLAN asks of a batch, and the changefeed's
two tasks run over the rows one after the other, in memory up to a limit and in temporary files beyond it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.arrange.reader import positioned
from ticdc_emit.changefeed.batch import null_in_ddl, typed_table
from ticdc_emit.changefeed.deliver_task import DEFAULT_MEMORY_LIMIT, DeliverTask
from ticdc_emit.changefeed.encode_task import EncodeTask
from ticdc_emit.changefeed.results import TaskResult, read_results
from ticdc_emit.changefeed.state import DdlStatement
from ticdc_emit.changes.commits import commit_ts_array
from ticdc_emit.changes.forms import GENERIC_NAMES, check_columns, is_ddl
from ticdc_emit.changes.normal_form import normal_form
from ticdc_emit.changes.tabular import changes_table, is_tabular
from ticdc_emit.encode.fit import check_images
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.plan.tables import Plan
from ticdc_emit.routing.topic import Target

__all__ = ["ArrowBatch"]

_GREATEST_LIMIT = 1024 * 1024 * 1024  # what is sorted at once must stay below the 2 GiB of an Arrow array


class ArrowBatch:
    """``batches``: an iterable of record batches with one schema, which can be iterated more than once; or a table:
    Arrow's, a pandas or polars DataFrame, or anything else with Arrow's C interface (``changes.tabular``). Or a mapping
    of these, each in the typed form, by the ``schema.name`` of their tables.

    ``table``: ``schema.name`` of rows in the typed form, needed if the changefeed has several tables. ``memory_limit``:
    bytes of compressed messages that are held at once; more go to temporary files. The memory used is a small multiple
    of it.
    """

    def __init__(
        self,
        batches: pa.Table | Iterable[pa.RecordBatch] | Mapping[str, Iterable[pa.RecordBatch]] | Any,
        table: str | None = None,
        *,
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> None:
        if not 0 < memory_limit <= _GREATEST_LIMIT:
            raise ConfigError(
                f"memory_limit={memory_limit!r} is out of range", remedy="Use 1 byte to 1 GiB", option="memory_limit"
            )
        by_table: Mapping[Any, Any] = batches if isinstance(batches, Mapping) else {table: batches}
        self._parts = [_Part(each, name) for name, each in by_table.items()]
        self._limit = memory_limit

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
        """Return the rows with ``op = 'ddl'``; their current database is their ``schema``, if any."""
        statements: list[DdlStatement] = []
        for part in self._parts:
            if "query" in part.names:
                for batch in part.rows():
                    rows = _selected(batch, [name for name in part.names if name not in ("before", "after")])
                    ddl = rows.filter(is_ddl(rows))
                    if ddl.num_rows:
                        statements += _statements(ddl, database)
        return sorted(statements)

    def check(self, plan: Plan) -> None:
        """Check columns and their types, and the tables' names if rows name them."""
        for part in self._parts:
            part.check(plan)

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the tables of the rows."""
        return sorted({table for part in self._parts for table in part.tables(plan)})

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Run both tasks here: nothing is sent before every row of the batch is encoded."""
        chunks = (
            chunk for part in self._parts for chunk in replace(encode, table=part.table_of(encode.plan))(part.rows())
        )
        return read_results(replace(deliver, memory_limit=self._limit)(chunks))


class _Part:
    """Rows with the same columns: all of a batch, or those of one table."""

    def __init__(self, batches: Any, table: str | None) -> None:
        if is_tabular(batches):
            batches = changes_table(batches).to_batches()
        if isinstance(batches, Iterator):
            raise ConfigError(
                "the record batches come from an iterator, which can be read once only",
                remedy="Give a list, a table, or an object whose __iter__ begins anew",
                option="batches",
            )
        self._batches: Iterable[pa.RecordBatch] = batches
        self._table = table

    @cached_property
    def _schema(self) -> pa.Schema | None:
        first = next(iter(self._batches), None)
        return None if first is None else first.schema

    @property
    def names(self) -> list[str]:
        return [] if self._schema is None else self._schema.names

    def table_of(self, plan: Plan) -> tuple[str, str] | None:
        """Return the table of rows in the typed form; ``None`` for the generic form, and without rows."""
        return typed_table(self.names, self._table, plan) if self.names else None

    def rows(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            if batch.schema != self._schema:
                raise SchemaError(
                    "the record batches have different columns",
                    remedy="Give them one schema: the same names, types and order",
                )
            yield batch

    def check(self, plan: Plan) -> None:
        if self._schema is None:
            return
        key = self.table_of(plan)
        where = "the changefeed" if key is None else ".".join(key)
        check_columns(self.names, where)
        rows = normal_form(next(iter(self._batches)).slice(0, 0), where)
        positioned(rows, where)
        if key is not None:
            check_images(rows, plan.table(*key), plan.rendering)
        elif isinstance(self._batches, list):
            for name in self.tables(plan):
                plan.table(*name)

    def tables(self, plan: Plan) -> set[tuple[str, str]]:
        table = self.table_of(plan)
        if table is not None or not self.names:
            return set() if table is None else {table}
        names: set[tuple[str, str]] = set()
        for batch in self.rows():
            rows = _selected(batch, (*GENERIC_NAMES, "op", "query"))
            rows = rows.filter(pc.invert(is_ddl(rows))) if "query" in self.names else rows
            named = pa.table({name: rows.column(name) for name in GENERIC_NAMES}).group_by(list(GENERIC_NAMES))
            names |= {tuple(row.values()) for row in named.aggregate([]).to_pylist() if None not in row.values()}
        return names


def _selected(batch: pa.RecordBatch, names: Collection[str]) -> pa.RecordBatch:
    """Return those of the columns that there are, in normal form."""
    places = [place for place, name in enumerate(batch.schema.names) if name in names]
    return normal_form(batch.select(places), "the changefeed")


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
