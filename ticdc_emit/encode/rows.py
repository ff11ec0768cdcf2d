"""Row changes as Python objects, turned into the change form (``encode.reader``) that the encoder takes.

In: mappings ``{"op": "c", "commit_ts": tso, "before": {...}, "after": {...}}`` with Python values: int, float, Decimal,
str, bytes, bool, datetime, date, timedelta, list of float, None. Values of one column need not be of one type.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ticdc_emit.columnar.labels import label_number
from ticdc_emit.errors import InvalidValueError, MissingColumnError
from ticdc_emit.schema.model import Column, TableInfo
from ticdc_emit.schema.types import MySQLType
from ticdc_emit.tso import tso_from_datetime

__all__ = ["column_array", "rows_to_batch"]

_NUMBERED = {MySQLType.ENUM, MySQLType.SET, MySQLType.BIT}
_NO_IMAGE: dict[str, Any] = {}


def rows_to_batch(rows: Iterable[Mapping[str, Any]], info: TableInfo) -> pa.RecordBatch:
    """Return the rows as one batch in change form.

    A row may give ``commit_time`` (an aware datetime) instead of ``commit_ts``. Raises :class:`MissingColumnError`
    for a row without either, or for an image that lacks a column.
    """
    rows = list(rows)
    columns: dict[str, pa.Array] = {
        "op": pa.array([row.get("op") for row in rows], pa.string()),
        "commit_ts": pa.array([_commit_ts(row, info) for row in rows], pa.uint64()),
    }
    if any(row.get("seq") is not None for row in rows):
        columns["seq"] = pa.array([row.get("seq") for row in rows], pa.int64())
    for name in ("before", "after"):
        if any(row.get(name) is not None for row in rows):
            columns[name] = _image([row.get(name) for row in rows], info)
    return pa.record_batch(columns)


def _commit_ts(row: Mapping[str, Any], info: TableInfo) -> int:
    if row.get("commit_ts") is not None:
        return int(row["commit_ts"])
    moment = row.get("commit_time")
    if isinstance(moment, dt.datetime):
        return tso_from_datetime(moment)
    raise MissingColumnError(
        "a change has neither commit_ts nor commit_time", table=info.full_name, column="commit_ts", row=dict(row)
    )


def _image(images: Sequence[Mapping[str, Any] | None], info: TableInfo) -> pa.StructArray:
    arrays, names = [], []
    for column in info.data_columns:
        for index, image in enumerate(images):
            if image is not None and column.name not in image:
                raise MissingColumnError(
                    "a row's image lacks a column of the table",
                    remedy="An image holds every column; NULL is None",
                    table=info.full_name,
                    column=column.name,
                    row={"position": index},
                )
        values = [(image or _NO_IMAGE).get(column.name) for image in images]
        arrays.append(column_array(column, values, info))
        names.append(column.name)
    mask = pa.array([image is None for image in images])
    return pa.StructArray.from_arrays(arrays, names, mask=mask)


def column_array(column: Column, values: Sequence[Any], info: TableInfo) -> pa.Array:
    """Return Python values of one column as an Arrow array of a type that the column accepts."""
    kinds = {type(value) for value in values if value is not None}
    try:
        if column.type in (MySQLType.ENUM, MySQLType.SET) and len(kinds) > 1:
            values = [label_number(column, value) if isinstance(value, str) else value for value in values]
            kinds = {int}
        if not kinds:
            return pa.nulls(len(values))
        if kinds <= {int, bool}:
            unsigned = column.unsigned or column.type in _NUMBERED
            return pa.array([None if v is None else int(v) for v in values], pa.uint64() if unsigned else pa.int64())
        if kinds <= {int, float, bool}:
            return pa.array([None if v is None else float(v) for v in values], pa.float64())
        if Decimal in kinds or (str in kinds and len(kinds) > 1):
            return pa.array([None if v is None else str(v) for v in values], pa.string())
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, LookupError, UnicodeEncodeError) as fault:
        raise InvalidValueError(str(fault), table=info.full_name, column=column.name) from None
