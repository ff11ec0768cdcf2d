"""Row changes as Python objects, turned into the change form (``arrange.reader``) that the encoder takes.

In: mappings ``{"op": "c", "commit_ts": tso, "before": {...}, "after": {...}}`` with Python values
(``changes.canonical``), of which those of one column need not be of one type. A row's images hold the columns of the
table's version at the row's commit_ts; rows of several versions may come together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ticdc_emit.arrange.image_reader import column_names
from ticdc_emit.changes.attributes import ATTRIBUTES
from ticdc_emit.changes.canonical import canonical_text, one_kind_array
from ticdc_emit.changes.commits import commit_ts_of
from ticdc_emit.changes.images import refused_value
from ticdc_emit.columnar.faults import ValueFault, shown
from ticdc_emit.errors import InvalidValueError, MissingColumnError, UnsupportedTypeError
from ticdc_emit.plan.table_plan import TablePlan
from ticdc_emit.schema.model import Column, TableInfo

__all__ = ["rows_to_batch"]

_Image = Mapping[str, Any]
_IMAGES = ("before", "after")
_INT64 = range(-(1 << 63), 1 << 63)


def rows_to_batch(rows: Iterable[Mapping[str, Any]], table: TableInfo | TablePlan, zone: str = "UTC") -> pa.RecordBatch:
    """Return the rows as one batch in change form.

    A row may give ``commit_time`` (an aware datetime) instead of ``commit_ts``. ``table``: the rows' one version, or
    the plan of all versions. ``zone``: the changefeed's, whose wall clock aware datetimes are shown in. Raises the
    :class:`~ticdc_emit.errors.RowError` family with the row's place, ``UnknownTableError`` for a row of no version.
    """
    reader = _RowReader(table, zone)
    if not isinstance(rows, Iterable):
        raise UnsupportedTypeError(
            f"{type(rows).__name__} is not a collection of changes",
            remedy="Give a list of mappings",
            table=reader.name,
        )
    changes = [reader.mapping(row, "change", position) for position, row in enumerate(rows)]
    stamps = [commit_ts_of(row, position, reader.name) for position, row in enumerate(changes)]
    columns: dict[str, pa.Array] = {
        "op": pa.array([reader.op(row.get("op"), position) for position, row in enumerate(changes)], pa.string()),
        "commit_ts": pa.array(stamps, pa.uint64()),
    }
    if any(row.get("seq") is not None for row in changes):
        seq = [reader.seq(row.get("seq"), position) for position, row in enumerate(changes)]
        columns["seq"] = pa.array(seq, pa.int64())
    columns |= {
        name: reader.attribute(name, [row.get(name) for row in changes])
        for name in ATTRIBUTES
        if any(row.get(name) is not None for row in changes)
    }
    at = {stamp: reader.version(stamp) for stamp in dict.fromkeys(stamps)}
    versions = [at[stamp] for stamp in stamps]
    images = {name: [reader.image(row, name, position) for position, row in enumerate(changes)] for name in _IMAGES}
    columns |= reader.image_columns(images, versions)
    return pa.record_batch(columns)


@dataclass(frozen=True)
class _RowReader:
    """What the rows of one table are read against."""

    table: TableInfo | TablePlan
    zone: str

    @property
    def name(self) -> str:
        return f"{self.table.schema}.{self.table.name}"

    def version(self, commit_ts: int) -> TableInfo:
        return self.table if isinstance(self.table, TableInfo) else self.table.encoder_at(commit_ts).table

    def mapping(self, value: Any, what: str, position: int, column: str | None = None) -> _Image:
        if isinstance(value, Mapping):
            return value
        raise InvalidValueError(
            f"a {what} is of type {type(value).__name__}, not a mapping",
            remedy="Give each change as {'op': ..., 'commit_ts': ..., 'before': {...}, 'after': {...}}",
            table=self.name,
            column=column,
            row={"position": position},
        )

    def op(self, value: Any, position: int) -> str | None:
        if value is None or isinstance(value, str):
            return value
        raise InvalidValueError(
            f"{shown(value)} is not an operation",
            remedy="Use c, u, d or insert, update, delete",
            table=self.name,
            column="op",
            row={"position": position},
        )

    def seq(self, value: Any, position: int) -> int | None:
        if value is None:
            return None
        if isinstance(value, int | np.integer) and not isinstance(value, bool) and int(value) in _INT64:
            return int(value)
        raise InvalidValueError(
            f"seq is {value!r}, not a whole number of 64 bits",
            remedy="Give an int",
            table=self.name,
            column="seq",
            row={"position": position},
        )

    def attribute(self, name: str, given: Sequence[Any]) -> pa.Array:
        values = [dict(value) if isinstance(value, Mapping) else value for value in given]
        try:
            return pa.array(values, ATTRIBUTES[name])
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as fault:
            raise InvalidValueError(
                f"the {name} of a change cannot be read: {fault}",
                remedy=f"It is of the form {ATTRIBUTES[name]}",
                table=self.name,
                column=name,
            ) from None

    def image(self, row: _Image, name: str, position: int) -> _Image | None:
        given = row.get(name)
        return None if given is None else self.mapping(given, f"{name} image", position, name)

    def image_columns(
        self, images: Mapping[str, Sequence[_Image | None]], versions: Sequence[TableInfo]
    ) -> dict[str, pa.Array]:
        """Return before and after as structs of one type, so that their values can be compared; without empty ones."""
        given = {name: rows for name, rows in images.items() if any(row is not None for row in rows)}
        used = {id(info): info for info in versions}
        needed = {key: {column.name: column for column in info.data_columns} for key, info in used.items()}
        for rows in given.values():
            self._check_names(rows, [needed[id(info)] for info in versions])
        readings = {key: _carried(info, needed[key], given.values(), versions) for key, info in used.items()}
        names = list(dict.fromkeys(name for reading in readings.values() for name in reading))
        of_row = [readings[id(info)] for info in versions]
        fields = [
            self._field(name, list(given.values()), [columns.get(name) for columns in of_row], list(readings.values()))
            for name in names
        ]
        count = len(versions)
        return {
            name: pa.StructArray.from_arrays(
                [field.slice(place * count, count) for field in fields],
                names,
                mask=pa.array([row is None for row in rows], pa.bool_()),
            )
            for place, (name, rows) in enumerate(given.items())
        }

    def _check_names(self, rows: Sequence[_Image | None], of_row: Sequence[Mapping[str, Column]]) -> None:
        known = column_names(self.table)
        for position, (row, columns) in enumerate(zip(rows, of_row, strict=True)):
            if row is None or (row.keys() >= columns.keys() and row.keys() <= known):
                continue
            missing = next((name for name in columns if name not in row), None)
            unknown = next((name for name in row if name not in known), None)
            if unknown is not None:
                raise InvalidValueError(
                    "a row's image has a column that the table never had",
                    remedy="Names are case-sensitive; remove it, or complete the schema",
                    table=self.name,
                    column=unknown,
                    row={"position": position},
                )
            if missing is not None:
                raise MissingColumnError(
                    "a row's image lacks a column of the table",
                    remedy="An image holds every column; NULL is None",
                    table=self.name,
                    column=missing,
                    row={"position": position},
                )

    def _field(
        self,
        name: str,
        images: Sequence[Sequence[_Image | None]],
        columns: Sequence[Column | None],
        readings: Sequence[Mapping[str, Column]],
    ) -> pa.Array:
        """Return one column of all images, one after the other; null where the row's version has no such column."""
        values = [
            None if row is None or column is None else row[name]
            for rows in images
            for row, column in zip(rows, columns, strict=True)
        ]
        known = [reading[name] for reading in readings if name in reading]
        kinds = {(column.type, column.is_binary, column.unsigned, column.elems) for column in known}
        try:
            if len(kinds) == 1:
                return one_kind_array(known[0], values, self.zone)
            filled = [column or known[0] for column in columns]
            return canonical_text(filled * len(images), values, self.zone)
        except ValueFault as fault:
            position = fault.index % len(columns)
            raise refused_value(fault, columns[position] or known[0], self.name, {"position": position}) from None


def _carried(
    info: TableInfo,
    needed: Mapping[str, Column],
    images: Iterable[Sequence[_Image | None]],
    versions: Sequence[TableInfo],
) -> Mapping[str, Column]:
    """Return the columns of a version's images: also those that selectors drop, for keys and dispatchers may use them,
    if every image has them.
    """
    if info.selected is None:
        return needed
    own = [row for rows in images for row, version in zip(rows, versions, strict=True) if version is info and row]
    return {
        column.name: column
        for column in info.row_columns
        if column.name in needed or all(column.name in row for row in own)
    }
