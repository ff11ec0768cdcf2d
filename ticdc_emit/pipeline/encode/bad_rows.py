"""Bad rows: which rows of a batch they are, and what is told of them.

The rows of a block are tried together, and halved until the bad ones are alone. Out: the sound rows, and either one
error that tells of all bad rows, the same however the rows were dealt out to tasks (:func:`combine_failures`), or,
where bad rows are skipped, a line of JSON for each in a :class:`SkippedFile`.
"""

from __future__ import annotations

import heapq
import json
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ticdc_emit.changes.commit_ts import commit_ts_array, commit_ts_of
from ticdc_emit.changes.model import REFUSED
from ticdc_emit.config.secrets import Secret, foreign_text
from ticdc_emit.errors import (
    CorruptedRowError,
    DeliveryError,
    DuplicateChangeError,
    LateRowError,
    RowError,
    TicdcEmitError,
    importing,
    shown,
)
from ticdc_emit.pipeline.arrange.row_batch import POSITION

_SHOWN = 10  # bad rows that an error lists

Rows: TypeAlias = npt.NDArray[np.int64]
"""The numbers of rows in what was given."""


@dataclass(frozen=True)
class BadRow:
    """A row that was refused or skipped; ``op`` and ``commit_ts``: as given, ``None`` where they cannot be read.

    ``error``: the name of the error's class, ``reason`` its message. ``position``: its place in what the caller gave.
    """

    schema: str
    table: str
    op: str | None
    commit_ts: int | None
    key: Mapping[str, Any]
    column: str | None
    reason: str
    error: str
    position: int | None = field(default=None, compare=False)
    order: bytes = field(default=b"", repr=False)

    def __str__(self) -> str:
        key = ", ".join(f"{name}={value!r}" for name, value in self.key.items())
        place = "" if self.position is None else f"row {self.position}, "
        shown_key = f" ({key})" if key else ""
        return f"{place}{self.schema}.{self.table}{shown_key}, commit_ts={self.commit_ts}: {self.reason}"

    def line(self) -> bytes:
        shown = {
            "schema": self.schema,
            "table": self.table,
            "commit_ts": self.commit_ts,
            "op": self.op,
            "key": dict(self.key),
            "column": self.column,
            "error": self.error,
            "reason": self.reason,
        }
        text = json.dumps(
            shown, ensure_ascii=False, default=lambda cell: cell.hex() if isinstance(cell, bytes) else str(cell)
        )
        return text.encode(errors="backslashreplace") + b"\n"


@dataclass(frozen=True)
class BadRows:
    """``tables``: how many rows of each ``schema.name`` are bad. ``first``: the first ten of all of them, in order."""

    tables: Mapping[str, int]
    first: tuple[BadRow, ...]

    @property
    def count(self) -> int:
        return sum(self.tables.values())

    def __str__(self) -> str:
        """Return what an error says beside its own row: nothing where that is the only one."""
        if self.count == 1:
            return ""
        tables = ", ".join(f"{name}: {count:,}" for name, count in sorted(self.tables.items()))
        which = "" if self.count == len(self.first) else f". The first {len(self.first)}"
        lines = "".join(f"\n  {row}" for row in self.first)
        return f"{self.count:,} rows are bad ({tables}){which}:{lines}"


@dataclass(frozen=True)
class ArrowRows:
    """Rows in normal form, whatever is wrong with them; ``name``: (schema, name), ``None`` where each names its own."""

    rows: pa.RecordBatch
    name: tuple[str, str] | None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def some(self, rows: Rows) -> pa.RecordBatch:
        """Return some of the rows, with their places among these where they had any."""
        taken = self.rows.take(pa.array(rows))
        at = taken.schema.get_field_index(POSITION)
        return taken if at < 0 else taken.set_column(at, POSITION, pa.array(np.arange(len(rows))))

    def table(self, row: int) -> tuple[str, str]:
        return self.name or (self._value("schema", row), self._value("table", row))

    def place(self, row: int) -> int | None:
        """Return where the row is in what the caller gave."""
        return self._value(POSITION, row) if POSITION in self.rows.schema.names else row

    def op(self, row: int) -> str | None:
        op = self._value("op", row) if "op" in self.rows.schema.names else None
        return None if isinstance(op, str) and op.startswith(REFUSED) else op

    def commit_ts(self, row: int) -> int | None:
        try:
            stamp: int = commit_ts_array(self.rows.slice(row, 1), "")[0].as_py()
        except (TicdcEmitError, pa.ArrowException):
            return None
        return stamp

    def content(self, row: int) -> bytes:
        at = self.rows.schema.get_field_index(POSITION)
        alone = self.rows.slice(row, 1)
        alone = alone if at < 0 else alone.remove_column(at)
        try:
            return repr(alone.to_pylist()).encode(errors="backslashreplace")
        except UnicodeDecodeError:
            return bytes(alone.serialize().to_pybytes())

    def _value(self, name: str, row: int) -> Any:
        return self.rows.column(name)[row].as_py()


@dataclass(frozen=True)
class MappedRows:
    """Rows as Python objects, which should be mappings, of one table. ``read`` makes a batch of them."""

    rows: Sequence[Any]
    name: tuple[str, str]
    read: Callable[[Sequence[Any]], pa.RecordBatch]

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, rows: Rows) -> pa.RecordBatch:
        """Return some of the rows, read as a batch with their places among these."""
        return self.read([self.rows[row] for row in rows.tolist()])

    def table(self, row: int) -> tuple[str, str]:
        return self.name

    def place(self, row: int) -> int | None:
        return row

    def op(self, row: int) -> str | None:
        given = self.rows[row]
        op = given.get("op") if isinstance(given, Mapping) else None
        return op if isinstance(op, str) else None

    def commit_ts(self, row: int) -> int | None:
        given = self.rows[row]
        try:
            return commit_ts_of(given, row, "") if isinstance(given, Mapping) else None
        except TicdcEmitError:
            return None

    def content(self, row: int) -> bytes:
        return shown(self.rows[row]).encode(errors="backslashreplace")


InputRows: TypeAlias = ArrowRows | MappedRows


class Refused(NamedTuple):
    """A bad row: its table (``schema.name``), its order key, and its description."""

    table: str
    order: bytes
    tell: Callable[[], tuple[BadRow, RowError]]


_Arranged: TypeAlias = Iterable[tuple[pa.RecordBatch, pa.Array]]
"""Rows with their places among those that were arranged, and their order keys."""


def separate_bad_rows(
    given: InputRows, arrange: Callable[[Rows], _Arranged], make: Callable[[Rows], object], *, placed: bool
) -> tuple[Rows, list[Refused]]:
    """Return the numbers of the rows that can be arranged and made into messages, and the others.

    ``placed``: whether a row's place means anything to the caller. Raises what is wrong with no one row.
    """
    every = np.arange(len(given))
    unread = _find_bad_rows(every, arrange)
    read = _without(every, unread)
    wrong = _find_bad_rows(read, make)
    orders: dict[int, bytes] = {}
    if wrong:
        some = [each.row for each in wrong]
        for rows, keys in arrange(np.array(some, np.int64)):
            for number, key in zip(rows.column(POSITION).to_pylist(), keys.to_pylist(), strict=True):
                orders[some[number]] = min(key, orders.get(some[number], key))  # the halves of an update have one each
    refused = [_refused(given, each, orders.get(each.row), placed=placed) for each in (*unread, *wrong)]
    return _without(read, wrong), refused


def _without(rows: Rows, bad_rows: Sequence[_Found]) -> Rows:
    bad = np.array([each.row for each in bad_rows], np.int64)
    return np.setdiff1d(rows, bad, assume_unique=True)


def _refused(given: InputRows, bad_row: _Found, order: bytes | None, *, placed: bool) -> Refused:
    row, names, stamp = bad_row.row, given.table(bad_row.row), given.commit_ts(bad_row.row)
    if order is None:
        order = (stamp or 0).to_bytes(8, "big") + given.content(row)

    def tell() -> tuple[BadRow, RowError]:
        error = bad_row.error()
        key = dict(error.context.get("row", {}))
        if key.pop("position", None) is not None:
            error.context["row"] = {**key, "position": given.place(row)}
        place = given.place(row) if placed else None
        column, kind = error.context.get("column"), type(error).__name__
        return BadRow(*names, given.op(row), stamp, key, column, error.message, kind, place, order), error

    return Refused(".".join(names), order, tell)


@dataclass(frozen=True)
class _Found:
    """A bad row by its number; ``error`` makes its error, and is called only if it is shown."""

    row: int
    error: Callable[[], RowError]


def _find_bad_rows(rows: Rows, attempt: Callable[[Rows], object]) -> list[_Found]:
    """Return the bad rows by number. Raises what is wrong with no one row, such as a late row or a missing column."""
    bad_rows: list[_Found] = []
    left = [rows]
    while left:
        tried = left.pop()
        if not len(tried):
            continue
        try:
            attempt(tried)
        except RowError as fault:
            if "row" not in fault.context or isinstance(fault, LateRowError | DuplicateChangeError):
                raise
            bad = _alike(tried, fault)
            if bad:
                bad_rows += bad
                left.append(np.setdiff1d(tried, [each.row for each in bad], assume_unique=True))
            elif len(tried) == 1:
                bad_rows.append(_Found(int(tried[0]), partial(lambda error: error, fault)))
            else:
                left += [tried[len(tried) // 2 :], tried[: len(tried) // 2]]
    return sorted(bad_rows, key=lambda each: each.row)


def _alike(tried: Rows, fault: RowError) -> list[_Found]:
    if fault.alike is None:
        return []
    numbers = {place: number for number, place in enumerate(fault.alike.places)}  # both halves of an update may be bad
    return [_Found(int(tried[place]), partial(fault.alike.error, number)) for place, number in numbers.items()]


@dataclass
class Refusals:
    """Gathers the bad rows of a task, how many by table; holds no more of them than an error shows."""

    tables: Counter[str] = field(default_factory=Counter)
    _first: list[tuple[BadRow, RowError]] = field(default_factory=list)

    def add(self, refused: Sequence[Refused]) -> None:
        """Add bad rows; errors are made only for those that will be shown."""
        self.tables.update(each.table for each in refused)
        nearest = heapq.nsmallest(_SHOWN, refused, key=lambda each: each.order)
        first = [*self._first, *(each.tell() for each in nearest)]
        self._first = sorted(first, key=lambda each: _rank(each[0]))[:_SHOWN]

    def error(self) -> RowError:
        """Return the error of the first bad row, which lists the others."""
        error = self._first[0][1]
        error.alike = None
        error.bad_rows = BadRows(dict(self.tables), tuple(row for row, _ in self._first))
        return error


def combine_failures(failures: Iterable[TicdcEmitError]) -> TicdcEmitError:
    """Return the error of a batch: one that concerns more than single rows, else the bad rows of all tasks."""
    errors = list(failures)
    refused = [error for error in errors if isinstance(error, RowError) and error.bad_rows is not None]
    if len(refused) < len(errors):
        return next(error for error in errors if error not in refused)
    tables: Counter[str] = Counter()
    for each in refused:
        tables.update(each.bad_rows.tables)
    rows = sorted((row for each in refused for row in each.bad_rows.first), key=_rank)
    error = min(refused, key=lambda each: _rank(each.bad_rows.first[0]))
    error.bad_rows = BadRows(dict(tables), tuple(rows[:_SHOWN]))
    return error


def skipped_rows(refused: Iterable[Refused]) -> list[BadRow]:
    """Return what a batch skips; raises CorruptedRowError where ``corruption-handle-level`` says it is an error."""
    described = [each.tell() for each in refused]
    for _, error in described:
        if isinstance(error, CorruptedRowError):
            raise error from None
    return [row for row, _ in described]


def _rank(row: BadRow) -> tuple[bytes, str, str, str]:
    return row.order, row.schema, row.table, row.reason


def new_run_name() -> str:
    """Return a name for a run that begins now. Names are in the order of their runs' beginnings."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{uuid.uuid4().hex[:8]}"


@dataclass(frozen=True)
class SkippedFile:
    """The file of one batch in the folder ``path``; picklable, connects when it is used."""

    path: Secret[str]
    run: str
    batch_id: int

    def write(self, lines: Iterable[bytes]) -> None:
        """Write the lines in place of what the file held."""
        with self._storage("written") as (files, name):
            files.makedirs(name.rpartition("/")[0], exist_ok=True)
            with files.open(name, "wb") as file:
                file.writelines(lines)

    def remove(self) -> None:
        """Remove what an earlier attempt at the batch wrote."""
        # exists() would say no where the storage refuses to answer
        with self._storage("removed") as (files, name), suppress(FileNotFoundError):
            files.rm_file(name)

    @contextmanager
    def _storage(self, what: str) -> Iterator[tuple[Any, str]]:
        with importing("bad_rows_path needs fsspec", extra="state", package="fsspec"):
            import fsspec
        name = f"{self.run}-batch-{self.batch_id:08d}.jsonl"
        try:
            files, root = fsspec.core.url_to_fs(self.path.reveal())
            yield files, f"{root.rstrip('/')}/{name}"
        except Exception as error:
            raise DeliveryError(
                f"the skipped rows cannot be {what}: {type(error).__name__}: {foreign_text(str(error))}",
                remedy="Give bad_rows_path a folder that every worker and the driver may write to",
                file=name,
            ) from None
