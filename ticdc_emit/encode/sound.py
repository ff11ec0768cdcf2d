"""The sound rows among those that a caller gave, and the bad ones, with what errors call each and what orders it.

In: rows of which some is bad, and the two things that are done to them: arranging, which gives every row its order key,
and making messages. Out: the rows that both take. A bad row that cannot be arranged has no order key: its commit_ts
orders it, and what it holds; where that cannot be read either, it is before all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.row_places import POSITION
from ticdc_emit.changes.commits import commit_ts_array, commit_ts_of
from ticdc_emit.columnar.faults import shown
from ticdc_emit.encode.bad_rows import BadRow, Refused
from ticdc_emit.encode.sift import Found, Rows, sift
from ticdc_emit.errors import RowError, TicdcEmitError

__all__ = ["ArrowRows", "GivenRows", "MappedRows", "sound_rows"]

Arranged: TypeAlias = Iterable[tuple[pa.RecordBatch, pa.Array]]
"""Rows with their places among those that were arranged, and their order keys."""


class GivenRows(Protocol):
    """Rows as they came, whatever is wrong with them. What cannot be read of one is ``None``."""

    def __len__(self) -> int: ...
    def table(self, row: int) -> tuple[str, str]: ...
    def place(self, row: int) -> int | None:
        """Return where the row is in what the caller gave."""
        ...

    def op(self, row: int) -> str | None: ...
    def commit_ts(self, row: int) -> int | None: ...
    def held(self, row: int) -> bytes:
        """Return what the row holds."""
        ...


def sound_rows(
    given: GivenRows,
    arrange: Callable[[Rows], Arranged],
    make: Callable[[Rows], object],
    *,
    placed: bool,
) -> tuple[Rows, list[Refused]]:
    """Return the numbers of the rows that can be arranged and made into messages, and the others.

    ``arrange`` and ``make`` take numbers of rows; places in their errors count within these. ``placed``: whether a
    row's place means anything to the caller, and is told. Raises what is wrong with no one row.
    """
    every = np.arange(len(given))
    unread = sift(every, arrange)
    read = _without(every, unread)
    wrong = sift(read, make)
    orders: dict[int, bytes] = {}
    if wrong:
        some = [each.row for each in wrong]
        for rows, keys in arrange(np.array(some, np.int64)):
            for number, key in zip(rows.column(POSITION).to_pylist(), keys.to_pylist(), strict=True):
                orders[some[number]] = min(key, orders.get(some[number], key))  # the halves of an update have one each
    refused = [_refused(given, each, orders.get(each.row), placed=placed) for each in (*unread, *wrong)]
    return _without(read, wrong), refused


def _without(rows: Rows, bad_rows: Sequence[Found]) -> Rows:
    bad = np.array([each.row for each in bad_rows], np.int64)
    return np.setdiff1d(rows, bad, assume_unique=True)


def _refused(given: GivenRows, bad_row: Found, order: bytes | None, *, placed: bool) -> Refused:
    row, names, stamp = bad_row.row, given.table(bad_row.row), given.commit_ts(bad_row.row)
    if order is None:
        order = (stamp or 0).to_bytes(8, "big") + given.held(row)

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
class ArrowRows:
    """Rows in normal form. ``name``: (schema, name) of their table, ``None`` where each names its own."""

    rows: pa.RecordBatch
    name: tuple[str, str] | None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    def some(self, rows: Rows) -> pa.RecordBatch:
        """Return some of the rows, with their places among them where they had any."""
        taken = self.rows.take(pa.array(rows))
        at = taken.schema.get_field_index(POSITION)
        return taken if at < 0 else taken.set_column(at, POSITION, pa.array(np.arange(len(rows))))

    def table(self, row: int) -> tuple[str, str]:
        return self.name or (self._value("schema", row), self._value("table", row))

    def place(self, row: int) -> int | None:
        return self._value(POSITION, row) if POSITION in self.rows.schema.names else row

    def op(self, row: int) -> str | None:
        return self._value("op", row) if "op" in self.rows.schema.names else None

    def commit_ts(self, row: int) -> int | None:
        try:
            stamp: int = commit_ts_array(self.rows.slice(row, 1), "")[0].as_py()
        except (TicdcEmitError, pa.ArrowException):
            return None
        return stamp

    def held(self, row: int) -> bytes:
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
    """Rows as Python objects, which should be mappings, of one table."""

    rows: Sequence[Any]
    name: tuple[str, str]

    def __len__(self) -> int:
        return len(self.rows)

    def some(self, rows: Rows) -> list[Any]:
        """Return some of the rows."""
        return [self.rows[row] for row in rows.tolist()]

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

    def held(self, row: int) -> bytes:
        return shown(self.rows[row]).encode(errors="backslashreplace")
