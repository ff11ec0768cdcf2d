"""What a changefeed needs of a micro-batch: its DDL, its tables, and a way to run tasks over its rows.

An engine brings one implementation (``spark.batch``: a DataFrame). The results of a batch must not depend on its
partitioning, because a batch that is replayed after a restart must give the same results.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ticdc_emit.changes.arrow_input import (
    GENERIC_NAMES,
    changes_table,
    check_columns,
    is_ddl,
    is_generic,
    is_tabular,
    normal_form,
    rows_by_table,
)
from ticdc_emit.changes.commit_ts import commit_ts_array
from ticdc_emit.delivery.base import Target
from ticdc_emit.errors import ConfigError, InvalidValueError, SchemaError, StateError
from ticdc_emit.pipeline.ddl import DdlStatement, ddl_statements
from ticdc_emit.pipeline.deliver_task import DEFAULT_MEMORY_LIMIT, DeliverTask, TaskResult, read_results
from ticdc_emit.pipeline.encode_task import EncodeTask
from ticdc_emit.pipeline.plan import Plan
from ticdc_emit.pipeline.row_reader import change_form, check_images
from ticdc_emit.pipeline.state import BatchState
from ticdc_emit.schema.model import schema_and_name


class Batch(Protocol):
    """Row changes, wherever they are, and the DDL among them."""

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> Sequence[DdlStatement]:
        """Return the batch's DDL in an order that no partitioning changes; ``database``: of those that name none.

        ``names_tables``: whether :meth:`tables` will be asked for; an engine to which each question is a job may find
        them out in the same one. Raises :class:`~ticdc_emit.errors.InvalidValueError` for a NULL where a DDL needs a
        value.
        """
        ...

    def check(self, plan: Plan) -> None:
        """Check what can be checked without a pass over the rows: which columns there are, and of which types.

        Raises the family of :class:`~ticdc_emit.errors.TicdcEmitError`. Nothing outside is touched before.
        """
        ...

    def tables(self, plan: Plan) -> Sequence[tuple[str, str]]:
        """Return the tables that the batch's rows belong to, in order."""
        ...

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> Mapping[Target, TaskResult]:
        """Run the first task over the rows, with the table of the rows, and the second over all its chunks.

        No task delivers before every row is encoded. Raises the error of either.
        """
        ...


class CommitHooks(Protocol):
    """Records that a run has begun to send."""

    def begin(self) -> None:
        """Called before the first message of a batch, after the batch's own record."""
        ...

    def undo(self) -> None:
        """Called where the batch's rows were refused, and no message was sent."""
        ...


def typed_table(columns: Sequence[str], table: str | None, plan: Plan) -> tuple[str, str] | None:
    """Return whose changes rows with these columns are: ``table``, or the only one; ``None`` for the generic form."""
    if is_generic(columns):
        return None
    key = schema_and_name(table, [key for key, planned in plan.tables.items() if any(planned.encoders)])
    plan.table(*key)  # refused here rather than by a task
    return key


def null_in_ddl(column: str, commit_ts: int | None, query: str | None) -> InvalidValueError:
    """Return the error of a DDL row that is NULL in ``column``."""
    return InvalidValueError(
        "a DDL row is NULL where it needs a value",
        remedy="Give every row with op = 'ddl' its commit time and its statement",
        column=column,
        commit_ts=commit_ts,
        statement=query,
    )


_HELD_BYTES = 16 * 1024 * 1024  # of rows, whose messages fit one Arrow array
_GREATEST_LIMIT = 1024 * 1024 * 1024  # what is sorted at once must stay below the 2 GiB of an Arrow array


class ArrowBatch:
    """``batches``: an iterable of record batches with one schema, which can be iterated more than once; or a table:
    Arrow's, a pandas or polars DataFrame, or anything else with Arrow's C interface (``changes.arrow_input``). Or a
    mapping of these, each in the typed form, by the ``schema.name`` of their tables.

    ``table``: ``schema.name`` of rows in the typed form, needed if the changefeed has several tables. ``ddl``: the DDL
    among the rows, as :class:`~ticdc_emit.pipeline.run.Changefeed` takes it, beside the rows with ``op = 'ddl'``.
    ``memory_limit``: bytes of compressed messages that are held at once; more go to temporary files. The memory used is
    a small multiple of it.
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

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
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
        """Run both tasks here: nothing is sent before every row of the batch is encoded.

        Few rows of one part are held as they are; others, as chunks, are merged in bounded memory.
        """
        if len(self._parts) == 1 and self._parts[0].size < min(_HELD_BYTES, self._limit):
            (part,) = self._parts
            return deliver.here(replace(encode, table=part.table_of(encode.plan)).held(part.rows()))
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

    @property
    def size(self) -> float:
        """Bytes of the rows, if they are in memory."""
        return sum(batch.nbytes for batch in self._batches) if isinstance(self._batches, list) else math.inf

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


@dataclass(frozen=True)
class Encoding:
    """How rows of one batch become messages, pickled to wherever they are. ``state``: in which the batch begins."""

    state: BatchState
    encode: EncodeTask

    @classmethod
    def of_table(cls, state: BatchState, encode: EncodeTask, table: tuple[str, str] | None) -> Encoding:
        """Return the encoding of one table's rows, with what they need of the plan, or of rows that name theirs."""
        return cls(state, encode if table is None else replace(encode, table=table, plan=encode.plan.of_table(*table)))


@dataclass(frozen=True)
class EncodedBatch:
    """The chunks of all of a batch's rows. ``chunks`` can be iterated over again; ``state``, ``table`` as encoded."""

    state: BatchState
    table: tuple[str, str] | None
    chunks: Iterable[pa.RecordBatch]

    def ddl_rows(self, database: str, *, names_tables: bool = False) -> list[DdlStatement]:
        """Return none: rows of DDL are not encoded."""
        return []

    def check(self, plan: Plan) -> None:
        """Columns were checked before rows were encoded."""

    def tables(self, plan: Plan) -> list[tuple[str, str]]:
        """Return the table of typed rows; nobody asks for those of others."""
        return [] if self.table is None else [self.table]

    def run(self, encode: EncodeTask, deliver: DeliverTask) -> dict[Target, TaskResult]:
        """Deliver here, in bounded memory."""
        return read_results(deliver(iter(self.chunks)))

    def begin_in(self, state: BatchState) -> BatchState:
        """Return the state in which the batch begins, if it is that of the encoding.

        Raises :class:`StateError` if the changefeed went on meanwhile.
        """
        if replace(state, build_ts=self.state.build_ts, run=self.state.run) != self.state:
            raise StateError(
                "another batch was sent while the rows were encoded",
                remedy="Let one process at a time write to this state_uri, and write the rows again",
                batch_id=state.batch_id,
            )
        return self.state
