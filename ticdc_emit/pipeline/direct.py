"""The direct path: a batch of Arrow rows in this process.

Few rows go from their sorter to their place among control messages as they are; more, as chunks, in bounded memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import (
    GENERIC_NAMES,
    changes_table,
    check_columns,
    is_ddl,
    is_tabular,
    normal_form,
    rows_by_table,
)
from ticdc_emit.changes.commit_ts import commit_ts_array
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import ConfigError, SchemaError
from ticdc_emit.pipeline.arrange.row_reader import change_form, check_images
from ticdc_emit.pipeline.batch import null_in_ddl, typed_table
from ticdc_emit.pipeline.deliver.deliver_task import DEFAULT_MEMORY_LIMIT, DeliverTask, TaskResult, read_results
from ticdc_emit.pipeline.encode.encode_task import EncodeTask
from ticdc_emit.pipeline.plan.ddl import DdlStatement, ddl_statements
from ticdc_emit.pipeline.plan.table_plans import Plan

_HELD_BYTES = 16 * 1024 * 1024  # of rows, whose messages fit one Arrow array
_GREATEST_LIMIT = 1024 * 1024 * 1024  # what is sorted at once must stay below the 2 GiB of an Arrow array


class ArrowBatch:
    """``batches``: an iterable of record batches with one schema, which can be iterated more than once; a table (Arrow,
    pandas, polars, or anything with Arrow's C interface); or a mapping of these by the ``schema.name`` of their tables.

    ``table``: ``schema.name`` of rows in the typed form, needed if the changefeed has several tables. ``ddl``: as
    :class:`~ticdc_emit.pipeline.run.Changefeed` takes it, beside the rows with ``op = 'ddl'``. ``memory_limit``: bytes
    of compressed messages that are held at once; more go to temporary files. Memory is a small multiple of it.
    """

    def __init__(
        self,
        batches: pa.Table | Iterable[pa.RecordBatch] | Mapping[str, Iterable[pa.RecordBatch]] | Any,
        table: str | None = None,
        *,
        ddl: Iterable[tuple[Any, ...]] = (),
        memory_limit: int = DEFAULT_MEMORY_LIMIT,
    ) -> None:
        if not 0 < memory_limit <= _GREATEST_LIMIT:
            raise ConfigError(
                f"memory_limit={memory_limit!r} is out of range", remedy="Use 1 byte to 1 GiB", option="memory_limit"
            )
        by_table: Mapping[Any, Any] = batches if isinstance(batches, Mapping) else {table: batches}
        self._parts = [_Part(each, name) for name, each in by_table.items()]
        self._ddl = tuple(ddl)
        self._limit = memory_limit

    def ddl_rows(self, database: str) -> list[DdlStatement]:
        """Return the DDL given and the rows with ``op = 'ddl'``; their current database is their ``schema``, if any."""
        statements = list(ddl_statements(self._ddl, database))
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
        if len(self._parts) == 1 and self._parts[0].size < min(_HELD_BYTES, self._limit):
            (part,) = self._parts
            return deliver.here(replace(encode, table=part.table_of(encode.plan)).held(part.rows()))
        chunks = (
            chunk for part in self._parts for chunk in replace(encode, table=part.table_of(encode.plan))(part.rows())
        )
        return read_results(replace(deliver, memory_limit=self._limit)(chunks))


class _Part:
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

    @property
    def size(self) -> float:
        return sum(batch.nbytes for batch in self._batches) if isinstance(self._batches, list) else math.inf

    def table_of(self, plan: Plan) -> tuple[str, str] | None:
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
        change_form(rows, where)
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
            names |= {name for name, _ in rows_by_table(*map(rows.column, GENERIC_NAMES)) if None not in name}
        return names


def _selected(batch: pa.RecordBatch, names: Collection[str]) -> pa.RecordBatch:
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
